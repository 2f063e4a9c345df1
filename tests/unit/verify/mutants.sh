#!/usr/bin/env bash
# What tests of verify have in common that make a program of the host target wrong in its headers. They source it, and
# set dir, a folder for what it writes.
failures=0

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# mutant <folder> <header> <checks> <name> <text> <replacement>: the text is in one line of a header of the program in
# this folder, and is replaced there. Then so many checks must fail. Afterwards the header is as before.
mutant() {
  local kept=$dir/$1 name=$4
  local header=$kept/include/tilepost/$2
  cp "$header" "$dir/right.h"
  grep -qF -- "$5" "$header" || { fail "$name: $2 has changed, adapt this test"; return; }
  TEXT=$5 NEW=$6 awk '{ at = index($0, ENVIRON["TEXT"])
    if (at) $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["TEXT"]))
    print }' "$dir/right.h" >"$header"
  if ! (cd "$kept" && grep -E -- '^set|unit_0|-o .*/harness ' build.sh | sh) >"$dir/out" 2>&1; then
    fail "$name does not compile"
    tail -20 "$dir/out"
  else
    timeout 120 "$kept/harness" --deadline 20 >"$dir/out" 2>&1
    if [ "$(grep -c '^FAIL ' "$dir/out")" = "$3" ] && grep -q 'first difference at' "$dir/out"; then
      echo "caught: $name"
    else
      fail "$name passes"
      cat "$dir/out"
    fi
  fi
  cp "$dir/right.h" "$header"
}
