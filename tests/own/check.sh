#!/usr/bin/env bash
# Kernels of the user's own. Accepted ones are woven, compiled where there is an nvcc, and run on the CPU beside
# the plain kernel. Refused ones must be refused at their place.
# Usage: check.sh TILEPOST CXX LIBRARY…
# CXX of the environment, which may include flags, compiles what runs, with the flags that `tilepost verify` gives.
# All kernels are woven. RUN_EVERY: 2 has every second of them run on the CPU, and NVCC_EVERY: 3 has nvcc compile every
# third of those, and of the files that are only compiled. VERIFY_EVERY: 2 has every second of the specs that verify
# takes, and of those that it must refute, go through it; the others are only checked. By default all do all.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
shim=$root/runtime/verify/host/shim/include
tool=$1 cxx=$2
read -ra quick <<<"${CXX:-$cxx}"
shift 2
every=${NVCC_EVERY:-1} run_every=${RUN_EVERY:-1} verify_every=${VERIFY_EVERY:-1} number=0 woven=0 verifications=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# spec PATTERN M N K TYPE KERNEL-FIELDS [MORE]: prints the spec of a kernel. MORE: further fields, {path: value, …}
spec() {
  cat <<END
tilepost: 1
name: own
pattern: $1
ranks: 2
gemm: {m: $2, n: $3, k: $4, a: $5}
arch: sm_80
kernel: {file: $here/kernels/$6}
END
  [ -z "${7:-}" ] || sed 's/^{//; s/}$//; s/, schedule:/\nschedule:/' <<<"$7"
}

# accepted WHAT ELEMENT KERNEL PLAIN-FILE GRID LAUNCH: expects that $dir/spec.yaml is accepted, and runs KERNEL: the
# woven kernel, or the author's own if it has marks.
accepted() {
  "$tool" generate "$dir/spec.yaml" -o "$dir" 2>"$dir/log" || { echo "FAIL $1: refused"; cat "$dir/log"; failed=1; return; }
  woven=$((woven + 1))
  if [ $((woven % run_every)) -ne 0 ]; then
    echo "$1: woven"
    return
  fi
  "${quick[@]}" -std=c++20 -O1 -pthread -ffp-contract=off -w -I "$shim" -I "$root/include" -I "$root" -I "$dir" -DWOVEN="\"$dir/own.cu\"" \
    -DPLAIN="\"$(cd "$here/kernels" && realpath "$4")\"" -DElement="$2" -DOutput="${output:-$2}" -DKERNEL="$3" -DKERNEL_SPACE=tilepost_gen_own::sm_80 \
    -DPROGRAM=own_program ${extra[@]+"${extra[@]}"} "-DGRID=$5" "-DLAUNCH=$6" "$here/run_woven.cpp" "${libraries[@]}" -o "$dir/run" >"$dir/log" 2>&1 ||
    { echo "FAIL $1: not compiled"; head -20 "$dir/log"; failed=1; return; }
  "$dir/run" >"$dir/log" || { failed=1; }
  echo "$1: $(tail -1 "$dir/log")"
  number=$((number + 1))
  if [ $((number % every)) -eq 0 ] && command -v nvcc >/dev/null; then
    nvcc -std=c++20 -arch=sm_80 ${fast[@]+"${fast[@]}"} -I "$root/include" -c "$dir/own.cu" -o "$dir/own.o" >"$dir/log" 2>&1 ||
      { echo "FAIL $1: nvcc"; head "$dir/log"; failed=1; }
  fi
}

# compiled WHAT: expects that $dir/spec.yaml is accepted and that nvcc compiles the generated file.
compiled() {
  number=$((number + 1))
  "$tool" generate "$dir/spec.yaml" -o "$dir" 2>"$dir/log" &&
    { [ $((number % every)) -ne 0 ] || nvcc -std=c++20 -arch=sm_80 ${fast[@]+"${fast[@]}"} -I "$root/include" -isystem "$here/library" -c "$dir/own.cu" -o "$dir/own.o" >>"$dir/log" 2>&1; } ||
    { echo "FAIL $1"; head -20 "$dir/log"; failed=1; return; }
  echo "$1: compiled"
}

# refused WHAT MESSAGE: expects that $dir/spec.yaml is refused with MESSAGE.
refused() {
  if "$tool" check "$dir/spec.yaml" >"$dir/log" 2>&1; then
    echo "FAIL $1: accepted"
    failed=1
  elif ! grep -qF -- "$2" "$dir/log"; then
    echo "FAIL $1: expected '$2', got"
    cat "$dir/log"
    failed=1
  else
    echo "$1: refused"
  fi
}

libraries=("$@")
extra=()  # flags that the plain kernel needs, or -DMARKED
command -v nvcc >/dev/null || echo "SKIP compiling with nvcc: there is none"
# nvcc may compile fast: nothing here looks at its output.
fast=()
if nvcc --help 2>/dev/null | grep -q -e --Ofast-compile; then fast=(-Ofc max); fi

tiled="tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
tiled_grid='static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16)'
tiled_call='lib::tiled<16>(a, b, c, m, n, k)'
for case in "gemm_all_reduce 992 520 40 [10, 40, 58]" "gemm_reduce_scatter 512 200 24 [6, 8, 8]" \
  "gemm_all_to_all 480 144 8 [5, 5, 5]" "gemm 77 33 5 auto"; do
  read -r pattern m n k groups <<<"$case"
  for transport in nccl copy_engine none; do
    [ "$pattern" = gemm ] && [ $transport != none ] && continue
    [ $transport = none ] && groups=auto
    schedule="schedule: {sms: 24, comm_sms: 4, groups: $groups}"
    spec "$pattern" "$m" "$n" "$k" bf16 "$tiled" "{transport: $transport, $schedule}" \
      >"$dir/spec.yaml"
    accepted "tiled, $pattern, $transport" __nv_bfloat16 woven_tiled tiled.cu "$tiled_grid" "$tiled_call"
  done
done
for type in nccl none; do
  spec gemm_all_reduce 992 520 40 bf16 "$tiled, loop: true" "{transport: $type, schedule: {sms: 24, comm_sms: 4}}" \
    >"$dir/spec.yaml"
  accepted "tiles in turn, $type" __nv_bfloat16 woven_tiled tiled.cu "$tiled_grid" "$tiled_call"
done
rows_of='ceil_div(m, 16)' columns_of='ceil_div(n, 16)' rows_cpu='static_cast<unsigned>((m + 15) / 16)'
columns_cpu='static_cast<unsigned>((n + 15) / 16)'
orders() {
  spec gemm_all_reduce 200 72 24 bf16 "block_orders.cu, function: 'block_orders<$1>', tile: [16, 16], threads: [16, 16],
  grid: [$2], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}" \
    "{transport: nccl, schedule: {sms: 24, comm_sms: 4}}" >"$dir/spec.yaml"
  accepted "blocks in order $1" __nv_bfloat16 woven_block_orders block_orders.cu "$3" "block_orders<$1>(a, b, c, m, n, k)"
}
orders 0 "'$columns_of', 1, '$rows_of'" "$columns_cpu, 1, $rows_cpu"
orders 1 "'$rows_of', 1, '$columns_of'" "$rows_cpu, 1, $columns_cpu"
orders 2 "1, '$rows_of', '$columns_of'" "1, $rows_cpu, $columns_cpu"
orders 3 "3, 'ceil_div($rows_of * $columns_of, 3)'" "3, ($rows_cpu * $columns_cpu + 2) / 3"
leave="warps_leave.cu, function: warps_leave, tile: [32, 32], threads: 128,
  grid: ['ceil_div(n, 32)', 'ceil_div(m, 32)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_all_reduce 331 250 16 f32 "$leave" "{transport: nccl, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
"$tool" generate "$dir/spec.yaml" -o "$dir" 2>"$dir/log" || { echo "FAIL warps that leave"; cat "$dir/log"; failed=1; }
grep -q "ThreadStores{left}" "$dir/own.cu" || { echo "FAIL warps that leave are waited for"; failed=1; }
spec gemm_all_reduce 331 250 16 f32 "$leave, loop: true" >"$dir/spec.yaml"
refused "warps that leave tiles in turn" "with kernel.loop they would come to the block's next tile"
once="sets_up_barrier.cu, function: sets_up_barrier, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_all_reduce 256 192 8 f32 "$once" >"$dir/spec.yaml"
"$tool" check "$dir/spec.yaml" 2>"$dir/log" || { echo "FAIL a barrier of one tile"; cat "$dir/log"; failed=1; }
spec gemm_all_reduce 256 192 8 f32 "$once, loop: true" >"$dir/spec.yaml"
refused "a barrier of tiles in turn" "sets_up_barrier.cu:6:5: error: a barrier is initialised here, and with kernel.loop"
swizzled="swizzled.cu, function: swizzled, tile: [8, 32], threads: 32, grid: 'ceil_div(n, 32) * ceil_div(m, 8)',
  arguments: {a: a, b: b, c: out, alpha: 0.5, m: m, n: n, k: k}"
spec gemm_all_reduce 333 250 16 f16 "$swizzled" "{transport: nccl, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
accepted "swizzled" half woven_swizzled swizzled.cu 'static_cast<unsigned>((n + 31) / 32 * ((m + 7) / 8))' \
  'swizzled(c, a, b, 0.5f, m, n, k)'
everyday="everyday.cu, function: 'everyday<16, 32>', tile: [16, 32], threads: [16, 16],
  grid: ['ceil_div(n, 32)', 'ceil_div(m, 16)'], requires: {n: 2}, arguments: {a: a, b: b, c: out, m: m, n: n, k: k},
  flags: [--expt-relaxed-constexpr]"
fast+=(--expt-relaxed-constexpr)
spec gemm_all_reduce 333 250 16 f16 "$everyday" "{transport: nccl, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
accepted "what kernels often have" half woven_everyday everyday.cu \
  'static_cast<unsigned>((n + 31) / 32), static_cast<unsigned>((m + 15) / 16)' 'everyday<16, 32>(a, b, c, m, n, k)'
unset 'fast[-1]'
floats="floats.cu, function: 'floats<16, 32>', tile: [16, 32], threads: 128, grid: ['n / 32', 'ceil_div(m, 16)'],
  requires: {n: 32}, arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_reduce_scatter 416 224 24 f32 "$floats" "{transport: copy_engine, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
accepted "fp32" float woven_floats floats.cu \
  'static_cast<unsigned>(n / 32), static_cast<unsigned>((m + 15) / 16)' 'floats<16, 32>(a, b, c, m, n, k)'
"$tool" verify "$dir/spec.yaml" --target host >"$dir/log" 2>&1 || { echo "FAIL fp32 on the host"; cat "$dir/log"; failed=1; }
widening="widening.cu, function: widening, tile: [8, 8], threads: [8, 8], grid: ['ceil_div(n, 8)', 'ceil_div(m, 8)'],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_all_reduce 100 60 24 "f16, out: f32" "$widening" "{transport: nccl, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
output=float accepted "f16 to fp32" half woven_widening widening.cu \
  'static_cast<unsigned>((n + 7) / 8), static_cast<unsigned>((m + 7) / 8)' 'widening(a, b, c, m, n, k)'
spec gemm_all_reduce 100 60 24 "f16, out: f32" "$widening" "{consumer: rms_norm}" >"$dir/spec.yaml"
refused "rows of fp32 to normalise" "consumer 'rms_norm' normalises rows of bf16 and f16, and gemm.out is 'f32'"
adds="adds_to_output.cu, function: adds_to_output, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k, beta: 2.5}"
spec gemm_reduce_scatter 128 200 24 bf16 "$adds" "{transport: copy_engine, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
accepted "adds to its output" __nv_bfloat16 woven_adds_to_output adds_to_output.cu \
  'static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16)' 'adds_to_output(a, b, c, m, n, k, 2.5f)'
biased="biased.cu, function: biased, tile: [16, 16], threads: [16, 16], grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'],
  arguments: {a: a, b: b, bias: null, c: out, m: m, n: n, k: k}"
spec gemm_all_to_all 160 200 24 bf16 "$biased" "{transport: nccl, schedule: {sms: 12, comm_sms: 2}}" >"$dir/spec.yaml"
accepted "no bias" __nv_bfloat16 woven_biased biased.cu \
  'static_cast<unsigned>((n + 15) / 16), static_cast<unsigned>((m + 15) / 16)' 'biased(a, b, nullptr, c, m, n, k)'
spec gemm_all_reduce 160 200 24 bf16 "${biased/k: k/k: null}" >"$dir/spec.yaml"
refused "null for a number" "parameter 'k' is of type 'int', and kernel.arguments gives it null"
spec gemm_all_reduce 160 200 24 bf16 "${biased/b: b/b: null}" >"$dir/spec.yaml"
refused "null that is read" "this reads through 'b', which kernel.arguments gives null"
whole="whole_tiles.cu, function: whole_tiles, tile: [16, 64], threads: 64, grid: [m / 16, n / 64],
  arguments: {a: a, b: b, c: out, n: n, k: k}"
spec gemm_reduce_scatter 256 192 8 bf16 "$whole, requires: {m: 16, n: 64}" >"$dir/spec.yaml"
accepted "whole tiles" __nv_bfloat16 woven_whole_tiles whole_tiles.cu \
  'static_cast<unsigned>(m / 16), static_cast<unsigned>(n / 64)' 'whole_tiles(a, b, c, n, k)'

# Stand-ins for nvcc and NCCL: no GPU check is compiled, only the plain kernel, and that only if there is an nvcc.
mkdir -p "$dir/nccl/include" "$dir/nccl/lib" "$dir/bin"
touch "$dir/nccl/include/nccl.h" "$dir/nccl/lib/libnccl.so"
cat >"$dir/bin/nvcc" <<END
#!/bin/sh
case "\$*" in *" -c "*/plain/*) [ -z "$(command -v nvcc)" ] || exec "$(command -v nvcc)" "\$@" ;; esac
while [ \$# -gt 0 ]; do
  case "\$1" in -o | -MF) : >"\$2" ;; esac
  shift
done
END
chmod +x "$dir/bin/nvcc"
CUDACXX="$dir/bin/nvcc" NCCL_ROOT="$dir/nccl" "$tool" verify "$dir/spec.yaml" --target cuda --no-run --no-cache \
  --keep "$dir/checks" >"$dir/log" 2>&1 || { echo "FAIL the checks are not compiled"; cat "$dir/log"; failed=1; }
grep -q "^not run: $dir/checks/harness --seed 1 --runs 3$" "$dir/log" || { echo "FAIL what is to be run"; failed=1; }
grep -q "whole_tiles<<<\|kernel<<<grid, threads" "$dir/checks/plain/own.cu" || { echo "FAIL no plain launch"; failed=1; }
grep -q "own_program, tilepost_plain_own}" "$dir/checks/registry.cpp" || { echo "FAIL the plain kernel is not listed"; failed=1; }

spec gemm_all_reduce 256 192 8 bf16 "$whole" >"$dir/spec.yaml"
refused "whole tiles without requires" "says so with requires: {m: 16, n: 64}"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/16, 16/16, 32}" >"$dir/spec.yaml"
refused "another tile" "error"
spec gemm_all_reduce 65536 65536 8 bf16 "${tiled/16, 16/1, 1}" >"$dir/spec.yaml"
refused "tiles without number" "the output has 65536x65536 tiles of 1x1, and at most 67108864 are looked at"
spec gemm_all_reduce 256 192 8 f16 "$tiled" >"$dir/spec.yaml"
refused "another type" "points to __nv_bfloat16, and the spec says f16"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/k: k/q: k}" >"$dir/spec.yaml"
refused "an argument too many" "has no parameter 'q'"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/, k: k/}" >"$dir/spec.yaml"
refused "an argument too few" "gives nothing to parameter 'k'"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/tiled.cu/missing.cu}" >"$dir/spec.yaml"
refused "no such file" "cannot read"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/tiled.cu/../kernels}" >"$dir/spec.yaml"
refused "a folder" "it is a folder; kernel.file names the kernel's .cu file"
mkfifo "$dir/pipe"
spec gemm_all_reduce 256 192 8 bf16 "$tiled" | sed "s|$here/kernels/tiled.cu|$dir/pipe|" >"$dir/spec.yaml"
refused "a pipe that nobody writes to" "it is no file of text"
truncate -s 2000000000 "$dir/large.cu"
sed -i "s|$dir/pipe|$dir/large.cu|" "$dir/spec.yaml"
refused "a file without end" "it has 2000000000 bytes; a kernel's file has at most 1048576"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/k: k/k: 4294967304}" >"$dir/spec.yaml"
refused "a number that the parameter does not hold" "gives 4294967304 to parameter 'k' of type 'int', which does not hold it"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/k: k/k: 8.5}" >"$dir/spec.yaml"
refused "a fraction for a whole number" "gives 8.5 to parameter 'k' of type 'int'"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/lib::tiled<16>/lib::tilde<16>}" >"$dir/spec.yaml"
refused "no such function" "tiled.cu"
spec gemm_all_reduce "{max: 300}" 192 8 bf16 "${tiled/ceil_div(m, 16)/(m + 15) \/ 16}" >"$dir/spec.yaml"
"$tool" check "$dir/spec.yaml" 2>"$dir/log" && echo "any m: accepted" || { echo "FAIL any m"; cat "$dir/log"; failed=1; }
spec gemm_all_reduce "{max: 256}" 192 8 bf16 "${tiled/ceil_div(m, 16)/m \/ 16}" >"$dir/spec.yaml"
refused "any m without blocks for few rows" "kernel.grid has no blocks at"
spec gemm_all_reduce "{max: 333}" 250 16 f16 "$swizzled" >"$dir/spec.yaml"
refused "any m in an order of one shape" "follows no simple rule, and m is known at run time only"
spec gemm_reduce_scatter 250 192 8 bf16 "$tiled" "{transport: nccl}" >"$dir/spec.yaml"
refused "shares that are no whole tiles" "every rank has a share of 125 rows"
in_structure() {  # FUNCTION MESSAGE
  spec gemm_all_reduce 256 192 8 bf16 "in_structures.cu, function: $1, tile: [16, 16], threads: [16, 16],
  grid: [n / 16, m / 16], arguments: {params: out${3:-}}" >"$dir/spec.yaml"
  refused "an output in a structure, $1" "$2"
}
in_structure plain "in_structures.cu:15:30: error: parameter 'params' is a structure"
in_structure plain "hand the output over as a pointer, or mark the kernel"
in_structure counts "in_structures.cu:21:25: error: blocks wait for each other or add to one tile here (atomicAdd)" ", count: null"
in_structure stores_in_bulk "in_structures.cu:26:3: error: the kernel stores in bulk here (cp.async.bulk.global."
in_structure makes_maps "in_structures.cu:31:3: error: the kernel makes tensor maps of its own here"
in_structure "'cutlass::device_kernel<16>'" "with kernel.adapter: cutlass"
own="asserts.cu, function: asserts, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_all_reduce 256 192 8 bf16 "$own" >"$dir/spec.yaml"
"$tool" generate "$dir/spec.yaml" -o "$dir" 2>"$dir/log" || { echo "FAIL a macro that headers ask for"; cat "$dir/log"; failed=1; }
grep -v '^//' "$dir/own.cu" | grep . | head -3 | tr '\n' ' ' >"$dir/log"
grep -q '^#define NDEBUG #include <cassert> #include <cuda_bf16.h> $' "$dir/log" ||
  { echo "FAIL a macro that headers ask for stands behind them"; cat "$dir/log"; failed=1; }
[ "$(grep -c '#include <cassert>' "$dir/own.cu")" = 1 ] || { echo "FAIL assertions come back"; failed=1; }
for function in reads_neighbour transposed unguarded; do
  own="refused.cu, function: $function, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k"
  [ $function = reads_neighbour ] && own="$own, beta: 0.0"
  spec gemm_all_reduce 256 192 8 bf16 "$own}" >"$dir/spec.yaml"
  refused "$function" "refused.cu:"
done
spec gemm_all_reduce 256 192 8 f32 "${own//unguarded/whole_numbers}}" >"$dir/spec.yaml"
refused "whole numbers" "parameter 'c' points to int, and the spec says f32"
own=${own//unguarded/at_some_rows}
spec gemm_all_reduce 256 192 8 bf16 "$own}" >"$dir/spec.yaml"
"$tool" check "$dir/spec.yaml" >"$dir/log" 2>&1 || { echo "FAIL rows that are not wrong"; cat "$dir/log"; failed=1; }
spec gemm_all_reduce "{max: 256}" 192 8 bf16 "$own}" >"$dir/spec.yaml"
refused "at_some_rows" "at m=129, n=192"

# Kernels with marks. Each of their blocks computes tiles in turn, or one tile.
extra=(-DMARKED -I "$here/kernels")
scheduled="marked_scheduler.cu, function: 'lib::scheduled<16>', tile: [16, 16], threads: [16, 16],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
warps="marked_warps.cu, function: warps, tile: [4, 32], threads: 128, signals: 4,
  arguments: {c: out, a: a, b: b, m: m, n: n, k: k}"
one_each="marked_block.cu, function: one_each, tile: [16, 32], threads: [32, 8],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
plan="transport: nccl, schedule: {sms: 24, comm_sms: 4, groups: [10, 40, 58]}"
spec gemm_all_reduce 992 520 40 bf16 "$scheduled" "{$plan}" >"$dir/spec.yaml"
accepted "a scheduler" __nv_bfloat16 'lib::scheduled<16>' marked_scheduler.cu 7 'lib::scheduled<16>(a, b, c, m, n, k)'
spec gemm_reduce_scatter 512 200 24 f16 "$warps" "{transport: copy_engine, schedule: {sms: 24}}" >"$dir/spec.yaml"
accepted "warps" half warps marked_warps.cu 5 'warps(c, a, b, m, n, k)'
spec gemm_all_to_all 480 144 8 bf16 "$one_each" "{transport: nccl_symmetric, schedule: {sms: 12}}" >"$dir/spec.yaml"
accepted "a block for each tile" __nv_bfloat16 one_each marked_block.cu \
  'static_cast<unsigned>((n + 31) / 32 * ((m + 15) / 16))' 'one_each(a, b, c, m, n, k)'

spec gemm_all_reduce 992 520 40 bf16 "$scheduled, loop: true" >"$dir/spec.yaml"
refused "a loop around marks" "kernel.loop is for kernels without marks; 'lib::scheduled<16>' has some"
spec gemm_all_reduce 992 520 40 bf16 "$scheduled, grid: 7" >"$dir/spec.yaml"
refused "a grid of a kernel with marks" "kernel.grid is for kernels without marks; 'lib::scheduled<16>' has some"
spec gemm_all_reduce 992 520 40 bf16 "${tiled/grid: */grid: 7, signals: 2, arguments: {a: a, b: b, c: out, m: m, n: n, k: k\}}" \
  >"$dir/spec.yaml"
refused "signals of a kernel without marks" "kernel.signals is for kernels with marks, and 'lib::tiled<16>' reaches none"
spec gemm_all_reduce 992 520 40 bf16 "${tiled/grid: *arguments/arguments}" >"$dir/spec.yaml"
refused "no grid of a kernel without marks" "kernel.grid is missing: 'lib::tiled<16>' has no marks"
spec gemm_all_reduce 992 520 40 bf16 "${scheduled/arguments: *k: k\}/threads_: 1}" | sed 's/, *threads_: 1//' >"$dir/spec.yaml"
refused "neither arguments nor a launcher" "kernel.arguments is missing"
spec gemm_all_reduce 992 520 40 bf16 "$scheduled, launcher: start" >"$dir/spec.yaml"
refused "inputs and a launcher" "kernel.launcher gives the kernel its inputs by itself, 'a' too"
spec gemm_all_reduce 992 520 40 bf16 "${scheduled/a: a, b: b, /}, launcher: start" >"$dir/spec.yaml"
refused "arguments and a launcher" "kernel.launcher gives 'lib::scheduled<16>' its arguments by itself, for it has marks"
launched="launched.cu, function: 'lib::launched<16, 8>', tile: [8, 16], threads: [16, 8], launcher: 'lib::launch',
  grid: 'ceil_div(n, 16) * ceil_div(m, 8)', arguments: {c: out, m: n, n: m, k: k}"
spec gemm_all_reduce 250 200 24 bf16 "${launched/, arguments:*k: k\}/}" >"$dir/spec.yaml"
refused "a launcher of a kernel that nothing is known of" "kernel.arguments is missing: 'lib::launched<16, 8>' has no marks"
spec gemm_all_reduce 250 200 24 bf16 "${launched/m: n, n: m/m: m, n: n}" >"$dir/spec.yaml"
refused "a launcher's kernel with a column-major output" "launched.cu:28:"
spec gemm_all_reduce "{max: 250}" 200 24 bf16 "$launched" >"$dir/spec.yaml"
refused "a launcher's kernel for any m" "is woven for one m"
# Specs for one shape alone: no other shapes are tried, and the proof holds for this one only.
spec gemm_all_reduce 256 192 8 bf16 "$whole, requires: {m: {equals: 256}, n: {equals: 192}}" >"$dir/spec.yaml"
"$tool" check "$dir/spec.yaml" 2>"$dir/log" && echo "one shape: accepted" || { echo "FAIL one shape"; cat "$dir/log"; failed=1; }
spec gemm_all_reduce 250 192 8 bf16 "$whole, requires: {m: {equals: 250}, n: {equals: 192}}" | sed 's/m \/ 16/16/' >"$dir/spec.yaml"
refused "one shape that a kernel without a guard does not take" "whole_tiles.cu:"
spec gemm_all_reduce 256 192 8 bf16 "${tiled/16, 16/16, 32}, requires: {m: {equals: 256}, n: {equals: 192}}" >"$dir/spec.yaml"
refused "another tile for one shape" "error"
spec gemm_all_reduce 992 520 40 bf16 "$one_each, cluster: 2" | sed 's/^arch: .*/arch: sm_90a/' >"$dir/spec.yaml"
refused "a cluster whose blocks have one tile" "kernel.cluster is for kernels whose blocks compute several tiles"
spec gemm_all_reduce 992 520 40 bf16 "$scheduled, cluster: 2" >"$dir/spec.yaml"
refused "a cluster on sm_80" "kernel.cluster is 2, and sm_80 has no clusters"
spec gemm_reduce_scatter 512 256 64 bf16 "$scheduled" "{transport: peer}" | sed 's/^arch: .*/arch: sm_90a/' >"$dir/spec.yaml"
refused "ordinary stores to other ranks" "unless it stores with TMA, takes its maps from tilepost::out_map"
spec gemm_reduce_scatter 512 256 64 bf16 "$scheduled, store_box: [16, 16, 0]" | sed 's/^arch: .*/arch: sm_90a/' >"$dir/spec.yaml"
refused "a box of ordinary stores" "reaches no tilepost::out_map"
extra=()

# only_checked WHAT: of specs that another one stands for (VERIFY_EVERY), expects only that $dir/spec.yaml is accepted.
only_checked() {
  verifications=$((verifications + 1))
  [ $((verifications % verify_every)) -ne 0 ] || return 1
  "$tool" check "$dir/spec.yaml" >"$dir/log" 2>&1 || { echo "FAIL $1: refused"; cat "$dir/log"; failed=1; }
  echo "$1: checked"
}

# verified WHAT [PATTERN]: expects that verify on the CPU passes for $dir/spec.yaml, and says what PATTERN matches.
verified() {
  only_checked "$1" && return
  TMPDIR=$dir "$tool" verify "$dir/spec.yaml" --target host --runs 1 --seed 3 >"$dir/log" 2>&1 && grep -q "footprint: each of" "$dir/log" &&
    grep -q -- "${2:-PASS}" "$dir/log" || { echo "FAIL $1: not verified"; cat "$dir/log"; failed=1; return; }
  echo "$1: $(tail -1 "$dir/log")"
}
for kernel in "$scheduled" "$warps" "$one_each"; do
  type=bf16
  [ "$kernel" = "$warps" ] && type=f16
  spec gemm_reduce_scatter 96 200 24 $type "$kernel" >"$dir/spec.yaml"
  verified "verify: ${kernel%%,*}"
done

spec gemm_all_reduce 75 70 16 f32 "$leave" >"$dir/spec.yaml"
verified "verify: warps that leave"
gather="marked_gather.cu, function: 'gather<16>', tile: [16, 16], threads: [16, 16],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
for transport in nccl copy_engine; do
  spec all_gather_gemm 480 98 40 bf16 "$gather" "{transport: $transport}" >"$dir/spec.yaml"
  verified "verify: rows that arrive, $transport"
done
sed '/tilepost::input_ready/d; s/^    tilepost::tile_done/    tilepost::input_ready(tile, tilepost::BlockLoads{});\n&/' \
  "$here/kernels/marked_gather.cu" >"$dir/late.cu"
sed -i "s|$here/kernels/marked_gather.cu|$dir/late.cu|" "$dir/spec.yaml"
if TMPDIR=$dir "$tool" verify "$dir/spec.yaml" --target host --runs 3 >"$dir/log" 2>&1; then
  echo "FAIL a kernel that waits behind its loads: verified"
  failed=1
else
  echo "a kernel that waits behind its loads: $(grep -o 'exact: .*expected' "$dir/log")"
fi
spec all_gather_gemm 480 200 24 bf16 "$scheduled" >"$dir/spec.yaml"
refused "rows that arrive and are not waited for" "'lib::scheduled<16>' reaches no tilepost::input_ready"
spec all_gather_gemm 480 200 24 bf16 "$tiled" >"$dir/spec.yaml"
refused "rows that arrive at a kernel without marks" "reaches no tilepost::input_ready; call it in front of"
spec all_gather_gemm 480 98 40 bf16 "$gather, blocks_per_sm: 2" >"$dir/spec.yaml"
refused "several blocks on an SM that wait" "say kernel.blocks_per_sm: 1"
spec all_gather_gemm 480 98 40 bf16 "$gather" "{transport: peer}" >"$dir/spec.yaml"
refused "rows that warps of the kernel would send" "whose rows of A warps of the kernel would send; use 'auto'"
spec all_gather_gemm 480 98 40 bf16 "$gather" "{neighbours: true}" >"$dir/spec.yaml"
refused "rows that arrive beside neighbours" "neighbours is not possible with pattern 'all_gather_gemm' and a kernel of your own"
staged="staged.cu, function: staged, tile: [16, 32], threads: 128, shared_bytes: 1024, requires: {n: 2},
  grid: ['ceil_div(m, 16)', 'ceil_div(n, 32)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}, loop: true"
spec gemm_reduce_scatter 96 98 40 f16 "$staged" >"$dir/spec.yaml"
verified "verify: staged tiles in turn"
spec gemm_reduce_scatter 96 200 24 bf16 "$adds, loop: true" >"$dir/spec.yaml"
verified "verify: tiles in turn that are added to"

# Only the kernel knows the format of its weights, so verify compares it with itself, launched as its author does.
packed="packed.cu, function: packed, tile: [16, 16], threads: 256, grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'],
  requires: {k: 32}, b_bytes: n * k / 2, user: {scales: n * k / 16, zeros: n * k / 32},
  arguments: {a: a, qweight: b, scales: user.scales, zeros: user.zeros, bias: null, c: out, m: m, n: n, k: k}"
# refuted WHAT MESSAGE: expects that verify on the CPU fails for $dir/spec.yaml with MESSAGE.
refuted() {
  only_checked "$1" && return
  if TMPDIR=$dir "$tool" verify "$dir/spec.yaml" --target host --runs 1 --seed 3 >"$dir/log" 2>&1; then
    echo "FAIL $1: verified"
    failed=1
  elif ! grep -qF -- "$2" "$dir/log"; then
    echo "FAIL $1: expected '$2', got"
    cat "$dir/log"
    failed=1
  else
    echo "$1: refuted"
  fi
}
spec gemm_reduce_scatter 96 120 64 "f16, b: user" "$packed" "{transport: nccl}" >"$dir/spec.yaml"
verified "verify: packed weights" "original: 11520 elements, largest error"
command -v nvcc >/dev/null && compiled "packed weights"
spec gemm_all_to_all 96 120 64 "f16, b: user" "$packed" "{transport: nccl}" >"$dir/spec.yaml"
verified "verify: packed weights to all" "original: .* elements equal"
spec gemm_all_reduce 96 120 64 "f16, b: user" "${packed/scales: n \* k \/ 16/scales: n * k \/ 32}" >"$dir/spec.yaml"
refuted "too few bytes of scales" "reads outside of user.scales, which has 240 bytes as the spec says"
spec gemm_all_reduce 96 120 64 "f16, b: user" "${packed/n \* k \/ 2/n * k \/ 4}" >"$dir/spec.yaml"
refuted "too few bytes of B" "reads outside of b, which has 1920 bytes as the spec says"
spec gemm_all_reduce 96 120 64 "f16, b: user" "marked_packed.cu, function: marked_packed, tile: [16, 16],
  threads: [16, 16], b_bytes: n * k, user: {scales: n * 4},
  arguments: {a: a, weights: b, scales: user.scales, c: out, m: m, n: n, k: k}" >"$dir/spec.yaml"
verified "verify: packed weights of a kernel with marks"
command -v nvcc >/dev/null && compiled "packed weights of a kernel with marks"
stores="stores_user_data.cu, function: stores_user_data, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], user: {done: 4096},
  arguments: {a: a, b: b, c: out, done: user.done, m: m, n: n, k: k}"
spec gemm_all_reduce 96 120 64 f16 "$stores" >"$dir/spec.yaml"
refused "stores into user data" "this stores into 'done', which is not the output 'c'"
spec gemm_all_reduce 96 120 64 f16 "${stores/done: user.done/done: null}" | sed 's/ user: {done: 4096},//' >"$dir/spec.yaml"
refused "stores into null" "this stores through 'done', which kernel.arguments gives null"

# Marks that lie. Each file names what catches it: the weaver, which refuses it for the reason in the file, or verify
# if only a run shows the lie.
for lie in "$here"/lies/*.cu; do
  name=$(basename "$lie" .cu)
  fields=$(sed -n 's|^// fields: ||p' "$lie")
  [ -n "$fields" ] || fields="threads: [16, 16]"
  spec gemm_all_reduce 256 200 24 bf16 "../lies/$name.cu, function: lie, tile: [16, 16], $fields,
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}" >"$dir/spec.yaml"
  by=$(sed -n 's|^// caught by: ||p' "$lie")
  if [ "${by#weave: }" != "$by" ]; then
    refused "the lie $name" "${by#weave: }"
  else
    sed -i 's/gemm_all_reduce/gemm_reduce_scatter/; s/m: 256/m: 96/' "$dir/spec.yaml"
    refuted "the lie $name" "${by#verify: }"
  fi
done

# Headers of the author's, one of which reads the index of its block.
extra=(-I "$here/kernels/shared")
printf '#define COLUMNS 32\n#include "%s"\n' "$here/kernels/with_headers.cu" >"$dir/plain.cu"
headers="with_headers.cu, function: with_headers, tile: [8, 32], threads: [32, 8], defines: [COLUMNS=32],
  grid: ['ceil_div(n, 32)', 'ceil_div(m, 8)'], arguments: {c: out, a: a, b: b, m: m, n: n, k: k}"
spec gemm_all_reduce 250 200 24 bf16 "$headers, include_dirs: [$here/kernels/shared]" >"$dir/spec.yaml"
accepted "headers" __nv_bfloat16 woven_with_headers "$dir/plain.cu" \
  'static_cast<unsigned>((n + 31) / 32), static_cast<unsigned>((m + 7) / 8)' 'with_headers(c, a, b, m, n, k)'
"$tool" generate "$dir/spec.yaml" -o "$dir" --depfile "$dir/own.d" 2>"$dir/log"
grep -q "kernels/lib/product.h .*kernels/shared/element.h\|kernels/shared/element.h .*kernels/lib/product.h" "$dir/own.d" ||
  { echo "FAIL the depfile names the headers"; cat "$dir/own.d"; failed=1; }
spec gemm_all_reduce 250 200 24 bf16 "$headers" >"$dir/spec.yaml"
refused "a header that is not found" "lib/place.h:3:10: error: header 'element.h' is neither beside"
spec gemm_all_reduce 250 200 24 bf16 "$headers, include_dirs: [nowhere]" >"$dir/spec.yaml"
refused "a folder that is not there" "there is no folder"
spec gemm_all_reduce 250 200 24 bf16 "${headers/COLUMNS=32/=32}" >"$dir/spec.yaml"
refused "a macro without a name" "kernel.defines has NAME or NAME=value on one line; '=32' is neither"
spec gemm_all_reduce 250 200 24 bf16 "${headers/COLUMNS=32/COLUMNS=16}, include_dirs: [$here/kernels/shared]" \
  >"$dir/spec.yaml"
refused "a wrong tile in a header" "with_headers.cu:"
extra=()

# Code that depends on the architecture: only the lines for the spec's architecture are read and compiled.
own="by_arch.cu, function: by_arch, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
spec gemm_all_reduce 256 192 8 bf16 "$own" | sed 's/^arch: .*/arch: sm_90a/' >"$dir/spec.yaml"
refused "lines of an architecture that store elsewhere" "by_arch.cu:17:"
spec gemm_all_reduce 256 192 8 bf16 "$own" | sed 's/^arch: .*/arch: [sm_80, sm_86]/' >"$dir/spec.yaml"
refused "lines of architectures, of which there are several" "by_arch.cu:16:5: error: the kernel depends on the architecture"
spec gemm_all_reduce 256 192 8 bf16 "$own" >"$dir/spec.yaml"
"$tool" generate "$dir/spec.yaml" -o "$dir" 2>"$dir/log" || { echo "FAIL lines of one architecture"; cat "$dir/log"; failed=1; }
# read_as FLAG…: whether the preprocessor accepts the generated file under these flags.
read_as() {
  "$cxx" -E -std=c++20 -I "$shim" -I "$root/include" -I "$root" -I "$dir" "$@" -x c++ "$dir/own.cu" >/dev/null 2>"$dir/log"
}
read_as -D__CUDA_ARCH__=800 || { echo "FAIL read for sm_80"; cat "$dir/log"; failed=1; }
for other in __CUDA_ARCH__=860 TILE=32; do
  read_as -D$other && { echo "FAIL read for $other"; failed=1; }
  grep -q "error.*compile with" "$dir/log" || { echo "FAIL message for $other"; cat "$dir/log"; failed=1; }
done

# Kernels that need the toolkit's own headers: the stand-ins lack what they use.
if command -v nvcc >/dev/null; then
  own="header_place.cu, function: header_place, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec gemm_all_reduce 256 192 8 bf16 "${own//header_place/stores_elsewhere}" >"$dir/spec.yaml"
  refused "a helper that stores elsewhere" "stores_elsewhere.cu:11:"
  spec gemm_all_reduce 256 192 8 bf16 "${own//header_place/header_register}" >"$dir/spec.yaml"
  refused "a header that reads the register" "'cuda::ptx::get_sreg_ctaid_y' of a header"
  spec gemm_all_reduce 256 192 8 bf16 "${own//header_place/waits_for_copy}" >"$dir/spec.yaml"
  refused "threads that leave in front of a group's wait" "waits_for_copy.cu:10:"
  spec gemm_all_reduce 256 192 8 bf16 "${own//header_place/in_clusters}" >"$dir/spec.yaml"
  refused "a kernel of clusters" "in_clusters.cu:6:"
  spec gemm_all_reduce 256 192 8 bf16 "$own" >"$dir/spec.yaml"
  refused "a header that reads blockIdx" "of a header, which reads blockIdx or gridDim"
  # The same spec and kernel in one folder, named by a relative path.
  sed "s|$here/kernels/||" "$dir/spec.yaml" >"$dir/near.yaml"
  cp "$here/kernels/header_place.cu" "$dir"
  (cd "$dir" && ! "$tool" check near.yaml >log 2>&1 && grep -qF "of a header, which reads" log) ||
    { echo "FAIL a header that reads blockIdx, by a path from here"; cat "$dir/log"; failed=1; }
  spec gemm_all_reduce 256 256 64 f16 "tensor_cores.cu, function: tensor_cores, tile: [64, 64], threads: [32, 4],
  grid: [n / 64, m / 64], arguments: {a: a, b: b, c: out, n: n, k: k}, requires: {m: 64, n: 64, k: 16}" >"$dir/spec.yaml"
  compiled "tensor cores"
  spec gemm_all_reduce 75 70 16 f32 "$leave" >"$dir/spec.yaml"
  compiled "warps that leave"
  own="with_library.cu, function: 'with_library<16>', tile: [16, 16], threads: [16, 16],
  arguments: {a: a, b: b, c: out, m: m, n: n, k: k}, system_include_dirs: [$here/library]"
  spec gemm_all_reduce 256 256 64 bf16 "$own" >"$dir/spec.yaml"
  compiled "a library's headers"
  grep -B2 '#include <elements/store.h>' "$dir/own.cu" | tr '\n' ' ' >"$dir/log"
  grep -q '#include <cuda_bf16.h> #define ELEMENTS_HALVED  // .* #include <elements/store.h> $' "$dir/log" ||
    { echo "FAIL the library's header is no inclusion behind its macro"; cat "$dir/log"; failed=1; }
  CUDACXX="$dir/bin/nvcc" NCCL_ROOT="$dir/nccl" "$tool" verify "$dir/spec.yaml" --target cuda --no-run --no-cache \
    --keep "$dir/library" >"$dir/log" 2>&1 || { echo "FAIL checks with a library's headers"; cat "$dir/log"; failed=1; }
  grep -c -- "-I$here/library" "$dir/library/build.sh" >"$dir/log" && grep -qx 2 "$dir/log" ||
    { echo "FAIL checks are compiled without the library's headers"; failed=1; }
  spec gemm_all_reduce 256 256 64 bf16 "$own, defines: [STORE_AROUND_THE_MARK]" >"$dir/spec.yaml"
  refused "a library that stores around the marks" "with_library.cu:33:"
  spec gemm_all_reduce 256 256 64 bf16 "${own/\/library/\/nowhere}" >"$dir/spec.yaml"
  refused "a folder of a library that is not there" "kernel.system_include_dirs: there is no folder"
  spec gemm_all_reduce 256 192 8 bf16 "$tiled, system_include_dirs: [$here/library]" >"$dir/spec.yaml"
  refused "a library of a kernel without marks" "kernel.system_include_dirs is for kernels with marks"
  own="stores_by_library.cu, function: stores_by_library, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}"
  spec gemm_all_reduce 256 192 8 bf16 "$own, include_dirs: [$here/library]" >"$dir/spec.yaml"
  compiled "a library that stores"
  spec gemm_all_reduce 256 192 8 bf16 "$own, system_include_dirs: [$here/library]" >"$dir/spec.yaml"
  refused "a library that stores, and stays an inclusion" "kernel.system_include_dirs is for kernels with marks"
  spec gemm_all_reduce 256 192 8 bf16 "$own, system_include_dirs: [$here/library], defines: [STORE_ONE_COLUMN_ON]" \
    >"$dir/spec.yaml"
  refused "a library that stores elsewhere" "stores_by_library.cu:13:3: error: at m=256, n=192 block"
  spec gemm_all_reduce 250 200 24 bf16 "$launched" >"$dir/spec.yaml"
  compiled "a launcher's kernel without marks"
  sed "s|kernels/marked_hopper|$here/kernels/marked_hopper|; s/64, 64, 128/64, 65, 128/" "$here/hopper.yaml" >"$dir/spec.yaml"
  refused "a box that TMA has not" "kernel.store_box is [rows, columns, swizzle]"
else
  echo "SKIP kernels that need a toolkit's headers: there is no nvcc"
fi
exit $failed
