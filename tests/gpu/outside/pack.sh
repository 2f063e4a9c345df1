#!/usr/bin/env bash
# Makes a folder that measures how much of an operation lies outside its GEMM kernel, and packs it.
#
#   pack.sh TILEPOST OUT        where there are nvcc, NCCL and CUPTI, but need not be a GPU: OUT/ and OUT.tar.xz
#   OUT/run.sh RESULTS          where there are two GPUs
#   OUT/outside.py RESULTS      anywhere: the figures
#
# Environment: CUDA (/usr/local/cuda), JOBS (1) compilers at a time, WORK (OUT.work) the folder where harnesses are
# built. Harnesses that are there are not built again.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,9p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
tool=$(readlink -f "$1") out=$2 work=${WORK:-$2.work} cuda=${CUDA:-/usr/local/cuda}
mkdir -p "$out" "$work"
: >"$out/stems.txt"
: >"$out/programs.tsv"

# harness STEM "FLAGS OF THE HARNESS" SPEC WORD …: builds a harness. WORDs are arguments of `tilepost bench`.
harness() {
  local stem=$1 flags=$2 spec=$3
  shift 3
  [ -x "$work/$stem/harness" ] ||
    "$tool" bench "$here/../../bench/shapes/$spec.yaml" -D ranks=2 "$@" --no-run --keep "$work/$stem" \
      --jobs "${JOBS:-1}" >"$work/$stem.log" 2>&1 || { tail -5 "$work/$stem.log"; return 1; }
  strip -o "$out/harness_$stem" "$work/$stem/harness"
  echo "$stem $flags" >>"$out/stems.txt"
  python3 - "$stem" "$work/$stem"/programs/*.plan.json >>"$out/programs.tsv" <<'PY'
import json, sys
for path in sys.argv[2:]:
    program = json.load(open(path))
    plan = program["plans"][0]
    print(sys.argv[1], program["name"], f"{plan['pattern'].replace('gemm_', '').replace('_gemm', '')} "
          f"{plan['m']}x{plan['n']}x{plan['k']} {plan['transport']}", sep="\t")
PY
}

# shapes MxNxK …: prints flags of `tilepost bench` for these shapes.
shapes() { printf -- '--shape %s ' "$@"; }

harness ar_few --registered all_reduce $(shapes {1,64,256,1024}x8192x2048)
harness ar --registered all_reduce $(shapes 8192x8192x2048 8192x4096x3584 8192x8192x7168 4096x8192x2048)
harness rs "" reduce_scatter $(shapes 8192x8192x2048 8192x4096x3584 64x8192x2048)
harness a2a "" all_to_all $(shapes 8192x8192x2048 8192x4096x3584)
harness ag "" all_gather $(shapes 8192x8192x2048 64x8192x2048)
harness rs_copy "" reduce_scatter -D transport=copy_engine $(shapes 8192x8192x2048)
harness ar_nccl "" all_reduce -D transport=nccl $(shapes 8192x8192x2048)

# shellcheck disable=SC2016 # $ORIGIN is the loader's
g++ -std=c++20 -O2 -Wall -Wextra -fPIC -shared "$here/kernel_times.cpp" -o "$out/kernel_times.so" \
  -I "$cuda/include" -L "$cuda/lib64" -lcupti -static-libstdc++ -static-libgcc \
  -Wl,-rpath,'$ORIGIN:/usr/local/cuda/lib64'
cp -L "$cuda"/lib64/libcupti.so.1? "$out"
"$cuda/bin/nvcc" -O2 -std=c++20 -gencode arch=compute_90,code=sm_90 "$here/empty.cu" -o "$out/empty"
strip "$out/empty"
for program in empty_none empty_one empty_whole; do printf 'empty\t%s\t%s\n' "$program" "$program"; done \
  >>"$out/programs.tsv"
cp "$here/run.sh" "$here/outside.py" "$out"
tar -C "$(dirname "$out")" -cJf "$out.tar.xz" "$(basename "$out")"
ls -l "$out.tar.xz"
