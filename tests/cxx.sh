#!/bin/sh
# The compiler for tests whose time is what `tilepost verify` compiles: with -O1 in the place of -O2, which shows as
# much there; the build has the same sources with -O2, and tests them. It stands in CXX, in front of the compiler.
# Usage: cxx.sh COMPILER ARGUMENT…
for argument; do
  shift
  [ "$argument" != -O2 ] || argument=-O1
  set -- "$@" "$argument"
done
exec "$@"
