#!/usr/bin/env bash
# The picture in README is what `tilepost explain` draws of the spec that README's commands run.
#
# Usage: picture.sh check|accept TILEPOST
set -euo pipefail
[ $# -eq 2 ] || { sed -n '4p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/../.."
spec=examples/quickstart.yaml picture=docs/quickstart.svg
drawn=$(mktemp)
trap 'rm -f "$drawn"' EXIT
"$2" explain "$spec" --svg - >"$drawn"
case $1 in
  accept) cp "$drawn" "$picture" ;;
  check)
    cmp "$drawn" "$picture" && exit
    echo "$picture is not what 'tilepost explain $spec --svg' draws; if that is right, bash tests/docs/picture.sh accept $2"
    exit 1
    ;;
  *) exit 2 ;;
esac
