#!/usr/bin/env bash
# A C++ compiler that compiles the runtime and the harness of `tilepost verify` once for all tests. The
# tool carries their sources and compiles them in every run, though only the programs differ: half a
# minute each time. What it compiles of the programs is always compiled.
#
# Usage: as the compiler's, in CXX. REAL_CXX: the compiler. OBJECTS: where objects are kept, each beside
# others of the very same sources, headers and flags. What is kept of other sources goes.
set -euo pipefail

folder='' source='' object='' flags=()
for ((i = 1; i <= $#; ++i)); do
  case ${!i} in
    -I*/include) ;;
    -I*) folder=${!i#-I} ;;
    -c) ;;
    -o) ((++i)) && object=${!i} ;;
    -*) flags+=("${!i}") ;;
    *) source=${!i} ;;
  esac
done

name=${source#"$folder/"}
case $name in
  runtime/*.cpp | unit_harness.cpp) ;;
  *) exec "$REAL_CXX" "$@" ;;
esac

read -r key _ < <(
  cd "$folder"
  { echo "$REAL_CXX ${flags[*]}"; find include runtime unit_harness.cpp -type f | LC_ALL=C sort | xargs sha256sum; } |
    sha256sum)
kept=$OBJECTS/$key/${name//\//_}.o
cp "$kept" "$object" 2>/dev/null && exit 0

# Another test may be compiling it this minute.
mkdir -p "$OBJECTS"
exec {lock}>"$OBJECTS/${name//\//_}.lock"
flock "$lock"
cp "$kept" "$object" 2>/dev/null && exit 0
find "$OBJECTS" -mindepth 1 -maxdepth 1 -type d ! -name "$key" -exec rm -rf {} +
mkdir -p "$OBJECTS/$key"
"$REAL_CXX" "$@" {lock}>&-
cp "$object" "$kept.new"
mv "$kept.new" "$kept"
