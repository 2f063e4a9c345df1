#!/usr/bin/env bash
# Accepts what the generator writes now. Usage: accept.sh <tilepost> [case…]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tool=$(readlink -f "$1")
. "$here/output.sh"
shift
[ $# -gt 0 ] || set -- $(cd "$here" && dirname */spec.yaml)
for case in "$@"; do
  rm -rf "$here/$case/expected"
  write_output "$tool" "$case" "$here/$case/expected"
  echo "accepted $case"
done
