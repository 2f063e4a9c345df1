#!/usr/bin/env bash
# Errors in what a spec says of a kernel are reported at their place in the spec, with a hint that helps.
# Usage: messages.sh TILEPOST
set -u
kernels=$(cd "$(dirname "$0")/kernels" && pwd)
tool=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# spec GEMM KERNEL-FIELDS: writes a spec whose seventh line has the kernel's fields.
spec() {
  printf '%s\n' "tilepost: 1" "name: own" "pattern: gemm_all_reduce" "ranks: 2" "gemm: $1" "arch: sm_80" \
    "kernel: {file: $2}" >"$dir/spec.yaml"
}

# told WHAT CODE MESSAGE…: expects that `check` exits with CODE and prints each MESSAGE, or not if '-' precedes it.
told() {
  local what=$1 code=$2 message
  shift 2
  "$tool" check "$dir/spec.yaml" >"$dir/log" 2>&1
  [ $? = "$code" ] || { echo "FAIL $what: not exit code $code"; cat "$dir/log"; failed=1; }
  for message in "$@"; do
    if [ "${message#-}" = "$message" ]; then grep -qF -- "$message" "$dir/log"; else ! grep -qF -- "${message#-}" "$dir/log"; fi ||
      { echo "FAIL $what: '$message', got"; cat "$dir/log"; failed=1; }
  done
  echo "$what: told"
}

arguments="grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
tiled="$kernels/tiled.cu, tile: [16, 16], threads: [16, 16]"
bf16="{m: 256, n: 192, k: 8, a: bf16}"
spec "$bf16" "$tiled, $arguments, function: 'lib::tilde<16>'"
told "no such function" 1 "spec.yaml:7:" "function 'lib::tilde<16>': no member named 'tilde'"
spec "$bf16" "$tiled, $arguments, function: 'lib::tiled<16'"
told "no name of a function" 1 "spec.yaml:7:"
spec "$bf16" "$tiled, function: 'lib::tiled<16>', grid: [n / 16, m / 16], arguments: {c: out, m: m}, launcher: start"
told "no such launcher" 1 "spec.yaml:7:" "kernel.launcher: there is no function 'start'"

# A field `requires` is proposed only for a kernel that is right for the spec's own shape and wrong for others.
one_row="$kernels/one_row.cu, function: one_row, tile: [1, 4], threads: 128, grid: 'ceil_div(n, 4)',
  arguments: {a: a, b: b, c: out, n: n, k: k}"
spec "{m: 1, n: 192, k: 8, a: f32}" "$one_row"
told "one row alone" 1 "it is proven at m=1, n=192, and tried at m=4, n=9 too" "requires: {m: {equals: 1}}"
spec "{m: 1, n: 192, k: 8, a: f32}" "$one_row, requires: {m: {equals: 1}}"
told "one row, as the spec says" 0
spec "{m: 1, n: 192, k: 8, a: f32}" "${one_row/1, 4/1, 8}"
told "a tile that is wrong at every shape" 1 "-requires:" "error: at m=1, n=192 block (0, 0) stores"
whole="$kernels/whole_tiles.cu, function: whole_tiles, tile: [16, 64], threads: 64, grid: ['ceil_div(m, 16)', n / 64],
  arguments: {a: a, b: b, c: out, n: n, k: k}"
spec "$bf16" "$whole"
told "whole tiles" 1 "says so with requires: {m: 16, n: 64}" "requires: {m: {equals: 256}}"
spec "{m: {max: 256}, n: 192, k: 8, a: bf16}" "$whole"
told "whole tiles of any m" 1 "says so with requires: {n: 64}" "rows need a guard" "-equals"

# Where each run chooses its m, the kernel must store the rows of every m.
any_row="$kernels/any_row.cu, function: any_row, tile: [1, 64], threads: 64, grid: [m, 'ceil_div(n, 64)'],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k, left_out: LEFT}"
spec "{m: {max: 256}, n: 192, k: 8, a: f32}" "${any_row/LEFT/300}"
told "every row" 0
spec "{m: {max: 256}, n: 192, k: 8, a: f32}" "${any_row/LEFT/17}"
told "every row but at one m" 1 "at m=17 nothing is stored through 'c'" "proven at m=256, n=192, and tried at m=17, n=192"
spec "{m: {max: 300000}, n: 192, k: 8, a: f32}" "${any_row/LEFT/17}"
told "more rows than can be tried" 1 "m is bounded by 300000" "every m up to 262144 at most" "give a smaller bound"

# A kernel that needs dynamic shared memory must get some from kernel.shared_bytes.
staged="$kernels/staged.cu, function: staged, tile: [16, 32], threads: 128, requires: {n: 2},
  grid: ['ceil_div(m, 16)', 'ceil_div(n, 32)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec "{m: 96, n: 98, k: 40, a: f16}" "$staged"
told "shared memory that is not given" 0 "staged.cu:" "is dynamic shared memory, of which kernel.shared_bytes gives a block none"
spec "{m: 96, n: 98, k: 40, a: f16}" "$staged, shared_bytes: 1024"
told "shared memory that is given" 0 "-shared memory"

# A short float is a number, though CUDA has a class for it.
spec "$bf16" "$kernels/added.cu, tile: [16, 16], threads: [16, 16], grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'],
  function: scaled, arguments: {d: out, n: n, alpha: null}"
told "null for a number" 1 "parameter 'alpha' is of type '__half', and kernel.arguments gives it null" \
  "it is a number: give one, such as 1.0" "-kernel.launcher"

# A matrix that is added to the product is data of the user's; pointers to matrices are none.
added="$kernels/added.cu, tile: [16, 16], threads: [16, 16], grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], function"
abcd="arguments: {a: a, b: b, d: out, m: m, n: n, k: k, alpha: 1.0, beta: 0.5"
spec "{m: 256, n: 192, k: 8, a: f32}" "$added: added, user: {c: m * n * 4}, $abcd, c: user.c}"
told "a matrix that is added" 0
spec "{m: 256, n: 192, k: 8, a: f32}" "$added: added, $abcd, c: null}"
told "no matrix that is added" 1 "added.cu:10:" "this reads through 'c', which kernel.arguments gives null" \
  "what the kernel only reads may be user.NAME"
spec "{m: 256, n: 192, k: 8, a: f32}" "$added: batched, arguments: {a: a, b: b, d: out, n: n, k: k}"
told "pointers to matrices" 1 "parameter 'a' points to pointers, as of a batch" "name a kernel that takes its pointers"

# A launch that cannot succeed, by what the kernel's declaration says of its blocks.
f32="{m: 256, n: 192, k: 8, a: f32}"
bounded="$kernels/bounded.cu, tile: [16, 16], threads: [16, 16], $arguments"
spec "$f32" "$bounded, function: 'bounded<256, 16>'"
told "as many threads as it is bounded to" 0
spec "$f32" "$bounded, function: 'bounded<64, 16>'"
told "more threads than it is bounded to" 1 "spec.yaml:7:" "kernel.threads says 256 threads in a block" \
  "'bounded<64, 16>' is compiled for 64 at most" "bounded.cu:6:5: note: the kernel is declared here"
spec "$f32" "$bounded, function: both"
told "two bounds" 1 "bounded.cu:17:" "'both' has both __launch_bounds__ and __maxnreg__"
spec "$f32" "$bounded, function: 'bounded<256, 12289>'"
told "more shared variables than a block may have" 1 "have 49156 bytes, and a block has at most 49152"
spec "$f32" "$bounded, function: 'bounded<256, 12288>', shared_bytes: 117760"
told "as much shared memory as a block may have" 0
spec "$f32" "$bounded, function: 'bounded<256, 12288>', shared_bytes: 117776"
told "more shared memory than a block may have" 1 "kernel.shared_bytes is 117776, and the __shared__ variables" \
  "have 49152 bytes more: a block of sm_80 has 166912 in all"
marked="$kernels/bounded.cu, tile: [16, 16], threads: [16, 16], arguments: {a: a, b: b, c: out, m: m, n: n}"
sm_90a() { sed -i 's/^arch: .*/arch: sm_90a/' "$dir/spec.yaml"; }
spec "$f32" "$marked, function: in_pairs, cluster: 2" && sm_90a
told "clusters as it is compiled for" 0
spec "$f32" "$marked, function: in_pairs" && sm_90a
told "other clusters than it is compiled for" 1 "spec.yaml:7:" "kernel.cluster is 1, and 'in_pairs' is compiled for clusters of 2 x 1 x 1"
spec "$f32" "$marked, function: of_sized_blocks" && sm_90a
told "blocks of a compiled size" 1 "bounded.cu:38:" "'of_sized_blocks' has __block_size__, by which a launch counts clusters"

# What the kernel is written for, and the spec is not.
unfit="$kernels/unfit.cu, tile: [16, 16], threads: [16, 16], $arguments, function"
spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'unfit<signed char, half, half, half>'"
told "int8 where the spec says another type" 1 "unfit.cu:6:" \
  "parameter 'a' points to whole numbers of 8 bits (signed char), and the spec says f16" \
  "hand such numbers over as user data, kernel.user: {NAME: m * k} and arguments: {a: user.NAME, …}"
spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'unfit<half, half, signed char, half>'"
told "an output of int8" 1 "parameter 'c' points to whole numbers of 8 bits" "an output of 8 bits is not one of gemm.out's types"
spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'unfit<signed char, half, half, half>', user: {a8: m * k}"
sed -i 's/a: a,/a: user.a8,/' "$dir/spec.yaml"
told "int8 as user data" 0
for case in "f16 half float:say gemm.out: f32" "f16 half int:no gemm.out has such elements: convert each" "f32 float double:no gemm.out"; do
  read -r type a stored <<<"${case%%:*}"
  spec "{m: 256, n: 192, k: 8, a: $type}" "$unfit: 'unfit<$a, $a, void, $stored>'"
  told "$stored stored where elements are $type" 1 "unfit.cu:11:" "'$stored' of " \
    "bytes is stored here, and the output's elements have" "${case#*:}" "if it stands for other elements, at m=256, n=192 block"
done
spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'unfit<half, half, void, half>'"
told "what is stored as the spec says" 0
spec "$bf16" "$kernels/unfit.cu, tile: [16, 16], threads: [16, 16], $arguments, function: of_sm_100" && sm_90a
told "an instruction of another architecture" 1 "unfit.cu:16:3:" \
  "the instruction 'tcgen05.wait::ld.sync.aligned' is of sm_100a and newer ones, and the spec says arch: sm_90a"
spec "$bf16" "$kernels/unfit.cu, tile: [16, 16], threads: [16, 16], $arguments, function: of_sm_90a"
told "an instruction of a newer architecture" 1 "the instruction 'setmaxnreg.inc.sync.aligned.u32' is of sm_90a and newer ones" \
  "and the spec says arch: sm_80"
sm_90a
told "an instruction of the spec's architecture" 0

# By blockIdx and gridDim the woven kernel is told its block. The kernel may hide other variables of CUDA's.
for case in "0:unfit.cu:50:16: error: 'blockIdx' is declared here, the name by which" "1:unfit.cu:36:38: error: 'gridDim' is declared here" \
  "2:unfit.cu:55:11: error: '::blockIdx' is the block that runs, not the one that is told to the kernel; leave out the '::'"; do
  spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'hidden<${case%%:*}>'"
  told "a variable of CUDA's that is hidden, ${case%%:*}" 1 "${case#*:}"
done
for which in 3 4; do
  spec "{m: 256, n: 192, k: 8, a: f16}" "$unfit: 'hidden<$which>'"
  told "a variable of CUDA's that may be hidden, $which" 0
done

# Groups of blocks may be made, which needs CUDA's header. They may not be waited for.
if command -v nvcc >/dev/null; then
  groups="$kernels/groups.cu, tile: [16, 16], threads: [16, 16], $arguments"
  spec "$f32" "$groups, function: 'groups<0>'" && sm_90a
  told "groups of blocks" 0
  spec "$f32" "$groups, function: 'groups<1>'" && sm_90a
  told "all blocks wait" 1 "groups.cu:9:" "all blocks of the grid wait for each other here"
  spec "$f32" "$groups, function: 'groups<2>'" && sm_90a
  told "blocks of a cluster wait" 1 "groups.cu:10:" "blocks of a cluster work together here"
fi

[ $failed = 0 ] && echo PASS
exit $failed
