# shellcheck shell=bash disable=SC2034 # measure.sh, build.sh and parts.sh read the variables
# What `tilepost bench` measures for measure.sh: sets of specs, shapes and flags, each a harness. To be sourced.

# Those of docs/benchmarks-four-h200.md.
six=(4096x8192x2048 8192x8192x2048 16384x8192x2048 8192x8192x7168 8192x4096x3584 4096x12288x3072)
few=(1x8192x2048 16x8192x2048 64x8192x2048 256x8192x2048 512x8192x2048 64x8192x7168)
# Rows for which bench makes graphs, and so many that copies behind the GEMM pay.
graphs=(1024x8192x2048 2048x8192x2048 1024x12288x3072 2048x16384x2048 1024x4096x8192 2048x4096x8192 1536x8192x4096
  2048x8192x4096)
patterns=(reduce_scatter.yaml all_reduce.yaml all_to_all.yaml all_gather.yaml)
scaled=(-D gemm.a=e4m3 -D gemm.scales=blocks)

# bench_sets PART: prints the sets of a part.
bench_sets() {
  case $1 in
    sums)
      printf '%s\n' sums_transports sums_one_expert sums_one_rank sums_qwen3 sums_layers sums_layers_qwen3
      ;;
    scales) printf '%s\n' scales_random scales_few ;;
    graphs) echo graphs ;;
    bench) printf '%s\n' bench_six bench_random bench_few ;;
  esac
}

# Writes the specs of all sets with this number of ranks. Tiles of an All-to-All go into outputs that are registered.
bench_specs() {
  local name
  mkdir -p "$out/specs/bench"
  for name in "${patterns[@]}" sums.yaml tokens.yaml; do
    sed "s/^ranks: .*/ranks: $ranks/" "$root/tests/bench/shapes/$name" >"$out/specs/bench/$name"
  done
  echo 'registered: true' >>"$out/specs/bench/all_to_all.yaml"
}

# drawn KIND COUNT: prints random shapes (bench_points.py).
drawn() { "$python" "$here/measure/bench_points.py" shapes "$1" "$seed" "$2"; }

# bench_set NAME: sets `files` to the specs of a set, `shapes` to its shapes, and `flags` to what `tilepost bench` is
# told with them.
bench_set() {
  local transports=(--sweep "transport=none,nccl,copy_engine,peer") shape
  # Qwen3-30B with 8192 tokens of each rank.
  local qwen3=(-D "gemm.m.max=$((8192 * ranks))" -D gemm.experts=128 -D gemm.top=8)
  files=("${patterns[@]}") shapes=() flags=(--mode cool)
  case $1 in
    bench_six) flags+=(--rounds 2 --registered) shapes=("${six[@]}") ;;
    bench_random) flags+=(--rounds 2 --registered) && mapfile -t shapes < <(drawn large 10) ;;
    bench_few) flags+=(--rounds 4) shapes=("${few[@]}") ;;
    scales_random) flags+=(--rounds 5 --registered "${scaled[@]}") && mapfile -t shapes < <(drawn scaled 6) ;;
    scales_few) flags+=(--rounds 5 --registered "${scaled[@]}") && mapfile -t shapes < <(drawn scaled_few 6) ;;
    graphs)
      files=(all_gather.yaml) shapes=("${graphs[@]}")
      flags+=(--rounds 5 --sweep "transport=copy_engine,peer,auto")
      ;;
    sums_transports) files=(sums.yaml) flags+=(--rounds 5 "${transports[@]}") ;;
    sums_one_*) files=(sums.yaml) flags+=(--rounds 5 -D transport=peer --load "${1#sums_}") ;;
    sums_qwen3) files=(sums.yaml) flags+=(--rounds 5 "${transports[@]}" "${qwen3[@]}" -D gemm.n=2048 -D gemm.k=768) ;;
    sums_layers) files=(tokens.yaml) flags+=(--rounds 5 -D pattern=moe) ;;
    sums_layers_qwen3)
      files=(tokens.yaml) flags+=(--rounds 5 -D pattern=moe "${qwen3[@]}" -D gemm.n=768 -D gemm.k=2048)
      ;;
  esac
  for shape in "${shapes[@]}"; do flags+=(--shape "$shape"); done
  files=("${files[@]/#/$out/specs/bench/}")
}
