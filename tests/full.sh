#!/usr/bin/env bash
# Before a release: everything that tests/run.sh does, and what is too long for every change (label
# full): every variant of the kernels that the planner may choose is compiled and looked at, 1000 plans are verified,
# the build has the optimisation that users have, and the sanitizers have all tests that can be built with them.
#
# Usage: bash tests/full.sh [ctest argument…]
exec bash "$(dirname "$0")/run.sh" --full "$@"
