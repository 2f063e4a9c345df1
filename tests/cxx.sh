#!/bin/sh
# The compiler for tests whose time is what the tool compiles, put into CXX in front of the compiler. It compiles with
# -O1 in the place of the -O2 of `tilepost verify` and the -O3 of `tilepost catalogue`. Results are the same.
# Usage: cxx.sh COMPILER ARGUMENT…
for argument; do
  shift
  case $argument in -O2 | -O3) argument=-O1 ;; esac
  set -- "$@" "$argument"
done
exec "$@"
