#!/usr/bin/env bash
# libtilepost_plan.a neither defines nor asks for a symbol of LLVM or Clang.
# Usage: check_symbols.sh <nm> <libtilepost_plan.a>
set -euo pipefail

symbols=$("$1" -C "$2" 2>/dev/null)
for needed in tilepost::read_fields tilepost::make_plans tilepost::explain_plan; do
  if ! grep -Eq " T $needed(\[abi:cxx11\])?\(" <<<"$symbols"; then
    echo "$2 does not define $needed" >&2
    exit 1
  fi
done
if grep -E '\b(llvm|clang)::' <<<"$symbols" >&2; then
  echo "$2 has the symbols above, which are LLVM's" >&2
  exit 1
fi
