#!/usr/bin/env bash
# Shared by the tests here: a scratch folder, quiet steps that speak up when they fail.
# SOURCE, BUILD, PREFIX and CMAKE come from ctest.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Programs under test must not find another tilepost.
unset tilepost_DIR tilepost_ROOT CMAKE_PREFIX_PATH

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# step <what> <command…>: runs a command; prints its output only if it fails.
step() {
  local what=$1
  shift
  echo "# $what"
  "$@" >"$scratch/log" 2>&1 || { tail -60 "$scratch/log"; fail "$what: $*"; }
}

# build <folder> <cmake argument…>: configures a project and builds it. The first argument that is
# not a flag's is -S.
build() {
  local folder=$1
  shift
  step "configure $(basename "$folder")" "$CMAKE" -B "$folder" "$@"
  step "build $(basename "$folder")" "$CMAKE" --build "$folder"
}

# says <text> <file>: the file contains the text, however it is wrapped.
says() {
  tr -s ' \n' '  ' <"$2" | grep -qF -- "$1" || { cat "$2"; fail "no '$1' in the output"; }
}
