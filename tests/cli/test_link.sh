#!/usr/bin/env bash
# Two plans of one name: the header of one neither compiles nor links with the source of the other. What
# headers and sources ask of a compiler. Usage: test_link.sh <tilepost> <include folder> <C++ compiler> [<C compiler>]
set -euo pipefail
tool=$(readlink -f "$1") include=$(readlink -f "$2") cxx=$3 cc=${4:-}
specs=$(cd "$(dirname "$0")/../specs" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() {
  echo "FAIL: $*"
  [ ! -s log ] || head -20 log
  exit 1
}
strict=(-Wall -Wextra -Wpedantic -Werror "-I$include")

for k in 64 96; do
  "$tool" generate "$specs/ar_host.yaml" --name twin -D gemm.k=$k -o $k
  mkdir -p $k.built
  "$cxx" -std=c++20 -O0 "-I$include" -c $k/twin.cpp -o $k.built/twin.o
done
cmp -s 64/twin.h 96/twin.h && fail "the headers are the same"
cat >main.cpp <<'CODE'
#include "twin.h"
int main() { return twin_program()->num_plans == 1 ? 0 : 1; }
CODE
cat >sizes.cpp <<'CODE'
#include "twin.h"
int main() { return static_cast<int>(tilepost_gen_twin::kK) == 0; }
CODE
# The header asks for C++17 or C11, the source for C++20.
for main in main sizes; do
  "$cxx" -std=c++17 "${strict[@]}" -ffunction-sections -fdata-sections -I64 -c $main.cpp -o $main.o
done
cp main.cpp main.c
if [ -n "$cc" ]; then
  printf '#include "twin.h"\nint main(void) { return twin_program() == 0; }\n' >main.c
  "$cc" -std=c11 "${strict[@]}" -I64 -c main.c -o main_c.o
else
  cp main.o main_c.o
fi

# link <folder> <object>: unresolved symbols of the runtime are no matter here.
link() { "$cxx" -Wl,--gc-sections -Wl,--unresolved-symbols=report-all "$2" "$1.built/twin.o" -o program -pthread >log 2>&1; }
for main in main sizes main_c; do
  link 64 $main.o || ! grep -q tilepost_plan_ log || fail "$main does not link with its own source"
  link 96 $main.o && fail "$main links with another plan's source"
  grep -q "undefined reference to .tilepost_plan_twin_[0-9a-f]*'" log || fail "$main: the linker says something else"
done

# A folder with files of both, as two generates at the same time might leave it.
mkdir mixed
cp 64/twin.h 96/twin.cpp mixed
"$cxx" -std=c++20 "-I$include" -fsyntax-only mixed/twin.cpp >log 2>&1 && fail "files of two plans compile together"
grep -q "tilepost_plan_twin_" log || fail "the compiler says something else"
echo PASS
