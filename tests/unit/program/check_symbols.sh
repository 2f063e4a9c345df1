#!/usr/bin/env bash
# libtilepost_program.a defines all functions of tilepost/program.h but the loader of tilepost::cuda, and asks for no
# symbol of LLVM, fmt's library or CUDA. Usage: check_symbols.sh <nm> <libtilepost_program.a>
set -euo pipefail

header=$(dirname "$0")/../../../include/tilepost/program.h
defined=$("$1" "$2" 2>/dev/null | sed -n 's/^[0-9a-f]* T \(tilepost_[a-z_]*\)$/\1/p' | sort -u)
declared=$(grep -oE '\btilepost_(program|catalogue)_[a-z_]+\(' "$header" | tr -d '(' | sort -u)
[ "$defined" = "$declared" ] || { echo "defined: $defined"; echo "declared: $declared"; exit 1; }
wanted=$("$1" -C -u "$2" 2>/dev/null | sort -u)
if grep -E '\b(llvm|clang)::|\bcu(da)?[A-Z]' <<<"$wanted"; then
  echo "$2 asks for the symbols above" >&2
  exit 1
fi
