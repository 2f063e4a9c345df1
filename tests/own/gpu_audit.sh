#!/usr/bin/env bash
# The audit of `tilepost verify` on a GPU, of right kernels and of kernels whose errors it must find.
# Usage: gpu_audit.sh make TILEPOST OUT  where there are nvcc and NCCL: compiles OUT/right, OUT/lies and OUT/wrongly
#        gpu_audit.sh run OUT            where there is a Hopper GPU: runs them; one GPU will do
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
failed=0

# spec NAME SIZES KERNEL: writes the spec of a product on one GPU.
spec() {
  printf 'tilepost: 1\nname: %s\npattern: gemm\nranks: 1\ngemm: %s\narch: sm_90a\nkernel: {file: %s}\n' "$1" "$2" "$3" \
    >"$out/specs/$1.yaml"
}

kernels_that_are_right() {
  local kernels=$here/kernels every="grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k"
  spec tiled "{m: 1000, n: 1016, k: 256, a: bf16}" \
    "$kernels/tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16], $every}"
  spec tiled_any_m "{m: {max: 1000}, n: 1001, k: 250, a: bf16}" \
    "$kernels/tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16], $every}"
  spec tiled_many "{m: 4096, n: 4096, k: 64, a: bf16}" \
    "$kernels/tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16], $every}"
  spec adds_to_output "{m: 500, n: 330, k: 250, a: bf16}" \
    "$kernels/adds_to_output.cu, function: adds_to_output, tile: [16, 16], threads: [16, 16], $every, beta: 2.5}"
  spec swizzled "{m: 333, n: 250, k: 160, a: f16, layout: nn}" "$kernels/swizzled.cu, function: swizzled, tile: [8, 32], threads: 32,
  grid: 'ceil_div(n, 32) * ceil_div(m, 8)', arguments: {a: a, b: b, c: out, alpha: 1.0, m: m, n: n, k: k}"
  spec staged "{m: 1000, n: 1002, k: 250, a: f16}" "$kernels/staged.cu, function: staged, tile: [16, 32], threads: 128,
  shared_bytes: 1024, requires: {n: 2}, grid: ['ceil_div(m, 16)', 'ceil_div(n, 32)'],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec whole_tiles "{m: 256, n: 192, k: 128, a: bf16}" "$kernels/whole_tiles.cu, function: whole_tiles, tile: [16, 64],
  threads: 64, grid: [m / 16, n / 64], arguments: {a: a, b: b, c: out, n: n, k: k}, requires: {m: 16, n: 64}"
  spec floats "{m: 1000, n: 1024, k: 250, a: f32}" "$kernels/floats.cu, function: 'floats<16, 32>', tile: [16, 32],
  threads: 128, requires: {n: 32}, grid: [n / 32, 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec widening "{m: 220, n: 140, k: 190, a: f16, out: f32}" "$kernels/widening.cu, function: widening, tile: [8, 8],
  threads: [8, 8], grid: ['ceil_div(n, 8)', 'ceil_div(m, 8)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec tensor_cores "{m: 1024, n: 1024, k: 512, a: f16}" "$kernels/tensor_cores.cu, function: tensor_cores,
  tile: [64, 64], threads: [32, 4], grid: [n / 64, m / 64], arguments: {a: a, b: b, c: out, n: n, k: k},
  requires: {m: 64, n: 64, k: 16}"
  spec packed "{m: 1000, n: 1016, k: 256, a: f16, b: user}" "$kernels/packed.cu, function: packed, tile: [16, 16],
  threads: 256, grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], requires: {k: 32}, b_bytes: n * k / 2,
  user: {scales: n * k / 16, zeros: n * k / 32},
  arguments: {a: a, qweight: b, scales: user.scales, zeros: user.zeros, bias: null, c: out, m: m, n: n, k: k}"
  spec marked_packed "{m: 1000, n: 520, k: 250, a: f16, b: user}" "$kernels/marked_packed.cu,
  function: marked_packed, tile: [16, 16], threads: [16, 16], b_bytes: n * k, user: {scales: n * 4},
  arguments: {a: a, weights: b, scales: user.scales, c: out, m: m, n: n, k: k}"
  spec marked_scheduler "{m: 1000, n: 520, k: 250, a: bf16}" "$kernels/marked_scheduler.cu,
  function: 'lib::scheduled<16>', tile: [16, 16], threads: [16, 16], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec marked_warps "{m: 500, n: 200, k: 250, a: f16}" "$kernels/marked_warps.cu, function: warps, tile: [4, 32],
  threads: 128, signals: 4, arguments: {c: out, a: a, b: b, m: m, n: n, k: k}"
  spec marked_block "{m: 480, n: 300, k: 80, a: bf16}" "$kernels/marked_block.cu, function: one_each, tile: [16, 32],
  threads: [32, 8], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec marked_hopper "{m: 1000, n: 2056, k: 512, a: bf16}" "$kernels/marked_hopper.cu, function: 'lib::hopper<128>',
  tile: [128, 128], threads: 384, shared_bytes: 4 * 256 * 128 + 2 * 2 * 64 * 128 + 1024, signals: 2,
  requires: {n: 8, k: 8}, launcher: 'lib::launch_hopper'"
}

kernels_that_lie() {
  local lie fields
  for lie in "$here"/lies/*.cu; do
    grep -q '^// caught by: verify: ' "$lie" || continue
    fields=$(sed -n 's|^// fields: ||p' "$lie")
    spec "lie_$(basename "$lie" .cu)" "{m: 256, n: 200, k: 24, a: bf16}" \
      "$lie, function: lie, tile: [16, 16], ${fields:-threads: [16, 16]}, arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  done
}

# compile NAME SPEC…: compiles a harness for the specs into OUT/NAME, without running it.
compile() {
  local name=$1
  shift
  if "$tool" verify "$@" --target cuda --no-run --keep "$out/$name" >"$out/log" 2>&1; then return; fi
  echo "FAIL $name is not compiled"
  grep -v '^tilepost: compiling' "$out/log" | head -20
  failed=1
}

make_all() {
  mkdir -p "$out/specs"
  kernels_that_are_right
  compile right "$out"/specs/*.yaml
  rm "$out"/specs/*
  kernels_that_lie
  compile lies "$out"/specs/lie_*.yaml
  cp "$here/kernels/tiled.cu" "$out/specs"
  bash "$here/woven_wrongly.sh" spec | sed 's/^arch: .*/arch: sm_90a/' \
    >"$out/specs/wrongly.yaml"
  compile wrongly "$out/specs/wrongly.yaml"
  bash "$here/woven_wrongly.sh" make "$out/wrongly" || failed=1
  rm -rf "$out/specs" "$out/log" "$out"/*/{obj,runtime,include,plain,trial} "$out"/*/*.log
}

run_all() {
  "$out/right/harness" --runs 1 | grep -v '^# .*run' || failed=1
  "$out/lies/harness" --runs 1 >"$out/lies.log"
  local lie name said
  for lie in "$here"/lies/*.cu; do
    said=$(sed -n 's|^// caught by: verify: ||p' "$lie") name=$(basename "$lie" .cu)
    [ -n "$said" ] || continue
    if grep "^FAIL *lie_$name " "$out/lies.log" | grep -F -- "$said"; then continue; fi
    echo "FAIL the lie $name is not caught by '$said':"
    grep " lie_$name " "$out/lies.log"
    failed=1
  done
  bash "$here/woven_wrongly.sh" run "$out/wrongly" || failed=1
}

[ $# -ge 2 ] || { sed -n '3,4p' "$0" >&2; exit 2; }
if [ "$1" = make ]; then
  tool=$2 out=$3
  make_all
else
  out=$2
  run_all
fi
[ $failed = 0 ] && echo "PASS: gpu_audit.sh $1"
exit $failed
