#!/usr/bin/env bash
# A plan that a program makes at run time is, to the byte, the plan that generated code states.
# Usage: test_stated.sh <write_stated> <source folder> <compiler>
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$1" 3 80 >"$dir/stated.cpp"
"$3" -std=c++20 -O0 "-I$2/include" "$dir/stated.cpp" -o "$dir/stated"
"$dir/stated"

# The comparison sees a number that is another one.
sed '0,/plan\.gemm_ctas = [0-9]*;/s//plan.gemm_ctas = 7777;/' "$dir/stated.cpp" >"$dir/other.cpp"
"$3" -std=c++20 -O0 "-I$2/include" "$dir/other.cpp" -o "$dir/other"
if "$dir/other" >"$dir/log"; then
  echo "another number of CTAs is not seen"
  exit 1
fi
grep -q ' plans, 1 differ$' "$dir/log" || { cat "$dir/log"; exit 1; }
