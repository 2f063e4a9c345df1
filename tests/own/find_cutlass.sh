#!/usr/bin/env bash
# Prints the folder of CUTLASS's headers: CUTLASS_INCLUDE, or that of CUTLASS's package, which pip puts into FOLDER.
# If there is neither, it prints why and ends with 77.
# Usage: find_cutlass.sh FOLDER
set -u
include=${CUTLASS_INCLUDE:-$1/cutlass_library/source/include}
exec 9>"$1.lock"
flock 9  # Tests may run side by side.
if [ ! -f "$include/cutlass/cutlass.h" ] && [ -z "${CUTLASS_INCLUDE:-}" ]; then
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$1" nvidia-cutlass==4.2.0 >&2
fi
if [ ! -f "$include/cutlass/cutlass.h" ]; then
  echo "SKIP: no CUTLASS in '$include': pip cannot install nvidia-cutlass; set CUTLASS_INCLUDE" >&2
  exit 77
fi
cd "$include" && pwd
