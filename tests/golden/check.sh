#!/usr/bin/env bash
# Compares what the generator writes for one case with what was accepted.
# Usage: check.sh <tilepost> <case>
set -u
here=$(cd "$(dirname "$0")" && pwd)
tool=$1 case=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$here/output.sh"
write_output "$tool" "$case" "$dir/generated" || exit 1
if grep -n '.\{121,\}' "$dir/generated/explain.txt"; then
  echo "explain has lines of more than 120 columns"
  exit 1
fi
if ! diff -ru "$here/$case/expected" "$dir/generated"; then
  echo "the output of '$case' changed; if it should have: bash tests/golden/accept.sh <tilepost> $case"
  exit 1
fi
