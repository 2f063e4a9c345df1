#!/usr/bin/env bash
# kernel.flags, from the spec to what compiles generated code: the tool, bundles, CMake; and nvcc, where it is.
# Usage: flags.sh TILEPOST CMAKE
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
tool=$1 cmake=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# has WHAT FILE TEXT
has() {
  grep -qF -- "$3" "$2" && return
  echo "FAIL $1: no '$3' in"
  head -50 "$2"
  failed=1
}
# fails WHAT COMMAND…: with its output in $dir/log
fails() {
  local what=$1
  shift
  "$@" >"$dir/log" 2>&1 || return 0
  echo "FAIL $what: accepted"
  failed=1
}
# runs WHAT COMMAND…
runs() {
  local what=$1
  shift
  "$@" >"$dir/log" 2>&1 && return
  echo "FAIL $what"
  head -30 "$dir/log"
  failed=1
}

cat >"$dir/spec.yaml" <<END
tilepost: 1
name: own
pattern: gemm_all_reduce
ranks: 2
gemm: {m: 64, n: 64, k: 32, a: f16}
arch: sm_80
kernel:
  file: $here/kernels/relaxed.cu
  function: relaxed
  tile: [16, 16]
  threads: [16, 16]
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)']
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}
  flags: [-expt-relaxed-constexpr, --fmad=false]
END
flags="--expt-relaxed-constexpr --fmad=false"

runs "it is generated" "$tool" generate "$dir/spec.yaml" -o "$dir"
has "generated code" "$dir/own.cu" "// Flags of nvcc that the kernel needs: $flags"
has "generated code" "$dir/own.cu" '#error "compile own.cu with --expt-relaxed-constexpr: kernel.flags asks for it"'
fails "a flag that is not taken" "$tool" check "$dir/spec.yaml" -D "kernel.flags=['-Iinclude']"
has "a flag that is not taken" "$dir/log" "kernel.flags does not take '-Iinclude': folders of headers are kernel.include_dirs"

# Compilers are called with the flags, for the kernel and for what it is compared with, and for nothing else.
mkdir -p "$dir/nccl/include" "$dir/nccl/lib" "$dir/bin"
touch "$dir/nccl/include/nccl.h" "$dir/nccl/lib/libnccl.so"
cat >"$dir/bin/nvcc" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in -o | -MF) : >"$2" ;; esac
  shift
done
END
chmod +x "$dir/bin/nvcc"
for verb in verify bench; do
  target=(--target cuda)
  [ $verb = verify ] || target=()
  runs "$verb" env CUDACXX="$dir/bin/nvcc" NCCL_ROOT="$dir/nccl" "$tool" $verb "$dir/spec.yaml" --no-run --no-cache \
    --keep "$dir/$verb" ${target[@]+"${target[@]}"}
  grep -F -- "$flags" "$dir/$verb/build.sh" >"$dir/lines"
  has "$verb" "$dir/lines" programs/own.cu
  has "$verb" "$dir/lines" plain/own.cu
  [ "$(wc -l <"$dir/lines")" = 2 ] || { echo "FAIL $verb: other sources get the flags"; failed=1; }
done
runs "a bundle" "$tool" generate "$dir/spec.yaml" --bundle "$dir/bundle"
has "a bundle's CMake" "$dir/bundle/CMakeLists.txt" "set_property(SOURCE generated/own.cu PROPERTY COMPILE_OPTIONS $flags)"
if command -v make >/dev/null; then
  make -C "$dir/bundle" -n >"$dir/log" 2>&1
  grep -F -- "$flags" "$dir/log" >"$dir/lines"
  has "a bundle's Makefile" "$dir/lines" generated/own.cu
  [ "$(wc -l <"$dir/lines")" = 1 ] || { echo "FAIL a bundle: other sources get the flags"; failed=1; }
fi

mkdir -p "$dir/project"
cat >"$dir/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(flags LANGUAGES NONE)
include($root/cmake/TilepostHelpers.cmake)
set(tilepost_GENERATOR_EXECUTABLE "$tool")
tilepost_generate(sources SPEC "$dir/spec.yaml")
tilepost_generate(others SPEC "$dir/spec.yaml" NAME others DEFINES "kernel.flags=['--ftz=true']")
foreach(list IN ITEMS sources others)
  list(GET \${list} 0 source)
  get_property(options SOURCE "\${source}" PROPERTY COMPILE_OPTIONS)
  message(STATUS "\${list}: \${options}.")
endforeach()
END
runs "CMake" "$cmake" -S "$dir/project" -B "$dir/build"
has "CMake" "$dir/log" "sources: -expt-relaxed-constexpr;--fmad=false."
has "CMake, with another field" "$dir/log" "others: --ftz=true."

if command -v nvcc >/dev/null; then
  compile=(nvcc -std=c++20 -arch=sm_80 -I "$root/include" -c "$dir/own.cu" -o "$dir/own.o")
  fails "nvcc without the flags" "${compile[@]}"
  has "nvcc without the flags" "$dir/log" "compile own.cu with --expt-relaxed-constexpr"
  # shellcheck disable=SC2086
  runs "nvcc with the flags" "${compile[@]}" $flags
fi
[ $failed = 0 ] && echo PASS
exit $failed
