# shellcheck shell=bash disable=SC2034 # measure.sh and build.sh read the variables
# The parts of measure.sh, and what they measure. To be sourced.

parts=(verify sums moe scales few graphs slow chain faults bench layer profile)
# A program for each way in which ranks wait for each other: through memory of the host, tiles in other GPUs' memory,
# and sums by helper warps and in the epilogue.
fault_programs=(ar_host_copies ag_host_copies a2a_rows_host_copies in_rows_host_copies ar_tiles_two ar_tiles_lines
  rs_tiles_one a2a_even_tiles_lines ag_tiles ar_peer rs_peer ar_whole)
few_programs=('*_scales*' '*_quantised*')
layer_options=(--model 70b 8b --rows 8192 2048 64)
moe_options=(--layer qwen3-30b mixtral --tokens 8192 64)
experts_options=(--layer qwen3-30b mixtral --tokens 8192 64)

# gpus_of PART: prints how many GPUs its steps need.
gpus_of() {
  case $1 in
    faults | few | sums) echo "${ONE_GPU:+1}" | grep . || echo "$ranks" ;;
    chain) echo 2 ;;
    profile) echo 1 ;;
    *) echo "$ranks" ;;
  esac
}

# beside_compilers PART: whether it may run while programs are compiled. Of the other parts that would change times
# or miss deadlines.
beside_compilers() { [[ $1 == verify || $1 == few ]]; }

# alone PART: whether this part shows nothing, because one rank exchanges nothing.
alone() { [ "$ranks" = 1 ] && [[ $1 =~ ^(sums|few|graphs|slow|chain|faults)$ ]]; }

# needs PART: prints the builds of a part.
needs() {
  local number
  ! alone "$1" || return 0
  case $1 in
    verify) for ((number = 0; number < sets; ++number)); do echo "verify_$number"; done ;;
    sums)
      echo experts
      [ "${gpus:-$ranks}" -lt "$ranks" ] || bench_sets sums
      ;;
    faults) echo drivers ;;
    layer | moe) echo kernels ;;
    slow) ;; # slow_links.sh compiles for a profile that may be made here
    few | chain | profile) echo "$1" ;;
    *) bench_sets "$1" ;;
  esac
}

# The limits of the parts' steps, in seconds. What is expected is about half.
print_plan() {
  cat <<'TEXT'
Seconds that are expected on two H200 with 32 cores or four with 64, estimated and not measured yet, and the most that
steps may take:
  part     expected   most  steps
  start         60          the first set of verify is compiled; the other builds go on beside part verify
  verify        80    140  for each set, of 99 plans: 33 pairs of pattern and transport with 3 plans each
  sums         180    520  3 drivers of experts; sums by 4 transports of 2 layers, 2 loads, layers of 2 sizes
  moe          120    240  2 layers x 2 numbers of tokens x eager and graph, whole and by halves
  scales       160    320  4 patterns of 6 random shapes and of 6 with few rows
  few          140    300  8 programs with many numbers of rows, in mixed runs, and in graphs
  graphs        80    160  8 shapes x 3 transports
  slow         180    350  4 patterns x 4 shapes x 2 transports, and their compilers
  chain         40     90  4 layers x 3 chains, eager and in graphs
  faults       120    240  12 programs x 3 ways to fail
  bench        260    670  4 patterns of 6 + 10 shapes and of 6 with few rows; 3 patterns of these by PyTorch
  layer        110    200  2 models x 3 numbers of rows x eager and graph x 7 forms
  profile      180    360  with and without peer access
  together    1710         with one set, and 1950 with four; between parts what the next one needs is compiled
`run` ends after LIMIT, 1400 s unless it is told otherwise, and another call goes on with the steps that are left.
TEXT
}

# ---- Where it runs

# Sets `gpus`, and how PyTorch's and NCCL's libraries are found.
find_gpus() {
  local nccl harness
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || true
  echo "== $gpus GPUs here, $ranks ranks, $(nproc) cores; tool: $("$tool" --version)"
  { nvidia-smi; nvidia-smi topo -m; } >"$results/machine.txt" 2>&1 || true
  # A harness that another machine has compiled may look for NCCL where it is not. PyTorch has one, too.
  for harness in "$out"/*/harness; do
    [ -x "$harness" ] && ldd "$harness" 2>/dev/null | grep -q 'libnccl.*not found' || continue
    nccl=$("$python" -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0] + "/lib")') || continue
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nccl
    break
  done
  export PYTHONPATH=$out/package PYTHONUNBUFFERED=1
}

# enough STEP [GPUS]: whether there are as many GPUs as it needs; says so if not.
enough() {
  local needed=${2:-$ranks}
  [ "$gpus" -lt "$needed" ] || return 0
  skip "$1" "needs $needed GPUs, and there are $gpus"
  return 1
}

# ---- Parts

part_verify() {
  local number words
  for ((number = 0; number < sets; ++number)); do
    enough "verify_$number" || continue
    wait_for "verify_$number" || continue
    mapfile -t words <"$out/verify_$number.words"
    step "verify_$number" 140 "$out/verify_$number/harness" "${words[@]}" || continue
    grep '^FAIL' "$results/verify_$number.out" | head -20
  done
}

# driver FOLDER NAME: prints the driver that was compiled with the programs of this folder.
driver() { find "$out/build_$1" -type f -name "$2" -perm -u+x | head -1; }

part_faults() {
  local where=()
  [ -z "${ONE_GPU:-}" ] || where=(--devices same)
  enough faults "$(gpus_of faults)" && wait_for drivers || return 0
  step faults 240 "$(driver programs faults)" --kinds stop,kill,late --modes eager --deadline 2 --seed "$seed" \
    "${where[@]}" --seconds 220 --tsv "$results/faults.tsv" --resume "$results/faults.tsv"
  grep -s $'\tFAIL\t' "$results/faults.tsv"
}

# bench_step SET SECONDS: what `tilepost bench` measures of a set, as a table, RESULTS/SET.txt, and as JSON.
bench_step() {
  local name=$1 words files shapes flags
  enough "$name" && wait_for "$name" || return 1
  mapfile -t words <"$out/$name.words"
  step "$name" "$2" "$out/$name/harness" "${words[@]}" || return 1
  bench_set "$name"
  timeout 60 "$tool" bench "${files[@]}" "${flags[@]}" --from "$results/$name.out" --json "$results/$name.json" \
    >"$results/$name.txt" 2>"$results/$name.table.err"
  cat "$results/$name.txt"
}

# Sums are right before they are fast.
part_sums() {
  local name counts
  for name in expert_sums experts_ranks expert_layers; do
    enough "$name" "$(gpus_of sums)" && wait_for experts || continue
    counts=(60 100)  # routings and replays
    [ "$name" != expert_layers ] || counts=()
    step "$name" 80 "$(driver experts "$name")" "$ranks" "${counts[@]}"
    tail -n 30 "$results/$name.out" 2>/dev/null
  done
  for name in $(bench_sets sums); do
    case $name in
      sums_transports | sums_qwen3) bench_step "$name" 70 ;;
      *) bench_step "$name" 35 ;;
    esac
  done
}

part_scales() {
  local name
  for name in $(bench_sets scales); do bench_step "$name" 160; done
}

part_graphs() { bench_step graphs 160 && "$python" "$here/measure/bench_points.py" below "$results/graphs.json"; }

part_few() {
  local name trust
  trust_of_few "$results/few" "$jobs"
  for name in sweep soak graph; do
    enough "few_$name" "$(gpus_of few)" && wait_for few || continue
    step "few_$name" 100 "${trust[@]}" "$name" && grep $'\tFAIL\t' "$results/few/trust.tsv"
  done
}

part_slow() {
  local profile=()
  enough slow || return 0
  [ ! -f "$results/profile_apart.yaml" ] || profile=(PROFILE="$results/profile_apart.yaml")
  step slow 350 env RANKS="$ranks" TILEPOST="$tool" EACH=170 RESULTS="$results/slow" "${profile[@]}" \
    bash "$here/slow_links.sh" bench "$out" && cat "$results/slow.out"
}

part_chain() {
  enough chain 2 && wait_for chain || return 0
  step chain 90 bash "$here/chain/chain.sh" run "$out/chain" && cat "$results/chain.out"
}

# torch_beside SET SECONDS: PyTorch's fused operations at the points of a set.
torch_beside() {
  local name=${1/bench/torch} files shapes flags
  enough "$name" || return 0
  bench_set "$1"
  # With few rows it also measures graphs, as `tilepost bench` does.
  step "$name" "$2" "$python" "$root/runtime/bench/async_tp.py" --ranks "$ranks" \
    --shapes "$(IFS=,; echo "${shapes[*]}")" --rounds 5 --seed "$seed" --timeout "$2" --json "$results/$name.json"
}

part_bench() {
  local name
  bench_step bench_six 150
  bench_step bench_random 190
  bench_step bench_few 120
  [ "$ranks" -gt 1 ] || return 0
  for name in $(bench_sets bench); do torch_beside "$name" 70; done
  "$python" "$here/measure/bench_points.py" table "$results" | tee "$results/bench.md"
}

# torchrun_step NAME SECONDS PROGRAM WORD …: a program of python/bench on all ranks.
torchrun_step() {
  local name=$1 seconds=$2
  shift 2
  enough "$name" && wait_for kernels || return 1
  step "$name" "$seconds" "$python" -m torch.distributed.run --nproc-per-node "$ranks" --master-port 29711 \
    "$root/python/bench/$1" --catalogue "$out/kernels" "${@:2}"
  cat "$results/$name.out" 2>/dev/null
}

part_layer() {
  torchrun_step layer_70b 110 layer.py --model 70b --rows 8192 2048 64 --rounds 5
  torchrun_step layer_8b 90 layer.py --model 8b --rows 8192 2048 64 --rounds 5
}

# profile_step NAME SECONDS PEER_ACCESS WORD …: measures the machine, and makes its profile of what was measured. The
# first line says whether peers were reached, as `tilepost profile` writes it.
profile_step() {
  local name=$1 seconds=$2 reach=$3
  shift 3
  step "$name" "$seconds" "$out/profile/harness" "$@" || return 1
  { echo "{\"record\": \"measurements\", \"peer_access\": $reach}"; cat "$results/$name.out"; } >"$results/$name.jsonl"
  timeout 60 "$tool" profile --from "$results/$name.jsonl" -o "$results/$name.yaml" >"$results/$name.txt" 2>&1 || {
    note "$name" "FAILED: no profile of what was measured: $(tail -n 1 "$results/$name.txt")"
    failed=1
    return 1
  }
  grep -v '^  ' "$results/$name.txt" | head -40
}

part_profile() {
  local machine pattern shapes=() shape
  enough profile_peers 1 && wait_for profile || return 0
  profile_step profile_peers 180 1
  profile_step profile_apart 180 0 --without-peer-access
  [ "$ranks" -gt 1 ] || return 0
  for shape in "${six[@]}" "${few[@]}"; do shapes+=(--shape "$shape"); done
  for machine in h200 "$results/profile_peers.yaml" "$results/profile_apart.yaml"; do
    [ "$machine" = h200 ] || [ -f "$machine" ] || continue
    echo "# planned for $(basename "$machine")"
    for pattern in "${patterns[@]}"; do
      echo "## ${pattern%.yaml}"
      timeout 60 "$tool" explain "$out/specs/bench/$pattern" --machine "$machine" "${shapes[@]}"
    done
  done 2>"$results/explain.err" | tee "$results/explain.txt"
}

part_moe() {
  torchrun_step moe 140 moe.py "${moe_options[@]}" --rounds 5 --json "$results/moe.jsonl"
  torchrun_step experts 100 experts.py "${experts_options[@]}" --rounds 5
}

# gist NAME: a few words on what a step has found, for the summary.
gist() {
  local file=$results/$1.out
  [ -f "$file" ] || return 0
  case $1 in
    verify_*)
      echo "$(grep -c '^ok' "$file") checks right, $(grep -c '^FAIL' "$file") wrong," \
        "$(grep -c '^skip' "$file") programs skipped"
      ;;
    faults)
      [ ! -f "$results/faults.tsv" ] || echo "$(grep -c $'\tPASS\t' "$results/faults.tsv") cases passed," \
        "$(grep -c $'\tFAIL\t' "$results/faults.tsv") failed"
      ;;
    graphs) "$python" "$here/measure/bench_points.py" below "$results/graphs.json" | head -1 ;;
    bench_* | scales_* | sums_*) grep -s '^# geometric' "$results/$1.txt" | head -3 | paste -sd ';' ;;
    few_*) sed -n 's/^== \([0-9]*\) passed; failed:$/\1 cases passed so far/p' "$file" ;;
    slow) grep -s '^# geometric' "$file" | paste -sd ';' ;;
    layer_* | moe | experts) echo "$(grep -c '^| [a-z0-9]' "$file") lines" ;;
    profile_*) head -1 "$results/$1.txt" 2>/dev/null ;;
    *) tail -n 1 "$file" | cut -c1-100 ;;
  esac
}
