#!/usr/bin/env bash
# Before a release: everything that tests/run.sh does, and what is too long for every change (label
# full): every variant of the kernels that the planner may choose is compiled and looked at.
#
# Usage: bash tests/full.sh [ctest argument…]
exec bash "$(dirname "$0")/run.sh" --full "$@"
