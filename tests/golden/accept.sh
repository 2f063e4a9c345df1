#!/usr/bin/env bash
# Accepts what the generator writes now. Usage: accept.sh <tilepost> [case…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=$(readlink -f "$1")
shift
[ $# -gt 0 ] || set -- $(cd "$here" && dirname */spec.yaml)
for case in "$@"; do
  rm -rf "$here/$case/expected"
  "$tool" generate "$here/$case/spec.yaml" -o "$here/$case/expected"
  "$tool" explain "$here/$case/spec.yaml" >"$here/$case/expected/explain.txt"
  echo "accepted $case"
done
