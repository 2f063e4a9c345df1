#!/usr/bin/env bash
# Checks `measure.sh run` with stand-ins for GPUs and for what runs on them: its order, limits, marks and exit codes.
# TILEPOST is none: it has to plan every set of specs, shapes and flags that `tilepost bench` measures.
# Usage: test_run.sh FOLDER TILEPOST
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$1"
mkdir -p "$1"
work=$(readlink -f "$1") tool=$(readlink -f "$2")
cd "$work"
fail() { echo "FAIL: $*"; tail -n 40 log 2>/dev/null || true; exit 1; }

# stand_in FILE: makes the standard input a program.
stand_in() { mkdir -p "$(dirname "$1")"; { echo '#!/usr/bin/env bash'; cat; } >"$1"; chmod +x "$1"; }

# A folder as `make` leaves it, all compiled, whose programs say what they were called with.
mkdir -p out/made out/logs out/package out/specs/bench
echo 'ranks=4 sets=2 plans=2 seed=1' >out/settings
sets=(sums_transports sums_one_expert sums_one_rank sums_qwen3 sums_layers sums_layers_qwen3 scales_random scales_few
  graphs bench_six bench_random bench_few)
for name in verify_0 verify_1 drivers experts few chain kernels profile "${sets[@]}"; do touch out/made/$name; done
for name in verify_0 verify_1; do
  printf -- '--runs\n1\n' >out/$name.words
  stand_in out/$name/harness <<'SH'
echo "ok    $(basename "$(dirname "$0")") $*"
[ "$NCCL_NVLS_ENABLE$TORCH_SYMM_MEM_DISABLE_MULTICAST$NVSHMEM_DISABLE_NVLS" = 011 ] || exit 1
SH
done
for name in "${sets[@]}"; do
  : >out/$name.words
  stand_in out/$name/harness <<<'echo "{}"'
done
mkdir out/few && touch out/few/ag_tiles_scales.cu
stand_in out/build_few/soak <<<'echo "# soak $*"; printf "soak $*\tPASS\t0\t\n" >>'$work/all/few/trust.tsv
stand_in out/chain/build/chain <<<'echo "# chain $*"'
stand_in bin/cmake <<<':'
stand_in out/profile/harness <<<'echo "{\"record\": \"words\", \"text\": \"$*\"}"'
stand_in out/build_programs/faults <<<'echo "# faults $*"'
for name in experts_ranks expert_sums expert_layers; do stand_in out/build_experts/$name <<<'echo "$0 $*"'; done
# What is measured of a point with 5 us by tilepost, and of one with 20. The sequence takes 10.
stand_in out/tilepost <<'SH'
echo "tilepost $*"
echo "# geometric mean, a stand-in"
while [ $# -gt 0 ] && [ "$1" != --json ]; do shift; done
[ $# = 0 ] || {
  echo '{"points": ['
  for us in 5 20; do
    [ $us = 5 ] || echo ,
    echo '{"name": "takes_'$us'", "pattern": "p", "m": 1, "n": 2, "k": 3, "plan": {"transport": "peer"}, "modes": [
      {"mode": "graph", "us": {"ours": {"median": '$us'}, "sequence": {"median": 10}}}]}'
  done
  echo ']}'
} >"$2"
SH
stand_in bin/nvidia-smi <<'SH'
[ "$1" != -L ] || for ((i = 0; i < ${GPUS:-4}; ++i)); do echo "GPU $i: stand-in"; done
SH
# All of Python but what prints shapes and tables.
stand_in bin/python <<'SH'
case $1 in
  */bench_points.py) exec python3 "$@" ;;
  *) echo "| python $*" ;;
esac
SH
export PATH=$work/bin:$PATH PYTHON=$work/bin/python
# shellcheck disable=SC2034 # bench_sets.sh reads the variables
sets_of_four() { out=$work/out root=$(cd "$here/../../.." && pwd) ranks=4 seed=1 python=python3 here=$here/..; }
(
  . "$here/bench_sets.sh"
  sets_of_four
  bench_specs
)
run() { bash "$here/../measure.sh" run out "$@" >log 2>&1; }

# Everything in its order.
run all || fail "exit code $?"
cut -f1 all/steps.tsv >names
printf '%s\n' verify_0 verify_1 expert_sums experts_ranks expert_layers "${sets[@]:0:6}" moe experts scales_random \
  scales_few few_sweep few_soak few_graph graphs slow chain faults bench_six bench_random bench_few torch_six \
  torch_random torch_few layer_70b layer_8b profile_peers profile_apart |
  cmp - names || fail "other steps: $(cat names)"
grep -q '^ok    verify_1 --runs 1$' all/verify_1.out || fail "verify"
grep -q -- '--without-peer-access' all/profile_apart.out || fail "profile"
head -1 all/profile_apart.jsonl | grep -q '"peer_access": 0' || fail "the first line of a profile"
grep -q '^| python -m torch.distributed.run --nproc-per-node 4 .*/moe.py --catalogue' all/moe.out || fail "moe"
grep -q 'bench_few.out' all/bench_few.txt || fail "the table of bench_few"
[ "$(grep -c '^| .*passed after' all/summary.md)" = "$(wc -l <names)" ] || fail "the summary"
shapes=$(grep -o 'shape [0-9x]*' all/scales_few.txt | cut -c7- | paste -sd ' ')
[ "$shapes" = "$(python3 "$here/bench_points.py" shapes scaled_few 1 6 | paste -sd ' ')" ] || fail "few rows: $shapes"
grep -q 'all_gather.yaml .*gemm.a=e4m3 .*gemm.scales=blocks' all/scales_random.txt || fail "scales"
grep -q 'sums.yaml .*transport=peer --load one_rank' all/sums_one_rank.txt || fail "the load of sums"
grep -q 'tokens.yaml .*pattern=moe -D gemm.m.max=32768 .*gemm.n=768' all/sums_layers_qwen3.txt || fail "layers of Qwen3"
grep -q '^ranks: 4$' out/specs/bench/sums.yaml || fail "ranks of sums"
grep -q '^# soak mixed --seed 1 \*_scales\* \*_quantised\* ' all/few_soak.out || fail "few"
grep -q '^| few_graph | passed .*| 3 cases passed so far |$' all/summary.md || fail "the table of few"
grep -q '^| graphs | passed .*| 1 of 2 points in graphs are below the sequence |' all/summary.md || fail "graphs"
grep -q '^takes_20: 0.500$' log || fail "the point that is below the sequence"
grep -q -- '-D transport=host_copies --machine h200_no_peers' all/slow.out || fail "slow"

# With the profile that was made here, part slow plans by it.
rm all/slow.done && touch all/profile_apart.yaml
run all slow || fail "exit code $? of slow links"
grep -q -- "--machine $work/all/profile_apart.yaml" all/slow.out || fail "slow by the profile"

# What has passed is left out, and what has not is not.
rm all/verify_1.done
run all verify || fail "exit code $? of the second run"
grep -q '^== verify_0: has passed before$' log || fail "verify_0 ran again"
grep -q '^== verify_1: passed after' log || fail "verify_1 did not run again"

# Programs are compiled before a part that measures, and go on behind it, but not beside it.
rm out/made/{kernels,bench_six,bench_random}
mkdir -p out/specs/python_layer
: >events
stand_in out/tilepost <<SH
case "\$*" in
  catalogue*) ;;
  *--no-run*)
    echo "compiler begins" >>$work/events
    while [ \$# -gt 1 ]; do [ "\$1" != --keep ] || folder=\$2; shift; done
    mkdir -p "\$folder" && cp $work/out/bench_few/harness "\$folder/harness"
    sleep 2
    echo "compiler ends" >>$work/events
    ;;
esac
SH
cp bin/python bin/python.quiet
stand_in bin/python <<SH
[[ \$* != *moe.py* ]] || { echo "moe begins" >>$work/events; sleep 1.5; echo "moe ends" >>$work/events; }
exec $work/bin/python.quiet "\$@"
SH
run held moe bench || fail "exit code $? where something is compiled"
[ "$(grep -c '^compiler begins' events)" = 2 ] && grep -A1 '^moe begins' events | grep -q '^moe ends' &&
  ! sed '/^moe begins/,$d' events | tail -1 | grep -q '^compiler begins' ||
  fail "what was compiled when: $(cat events)"
[ -e held/bench_random.done ] || fail "what was compiled behind a part did not run"
mv bin/python.quiet bin/python

# A step that fails leaves the others to run.
stand_in out/verify_0/harness <<<'echo "FAIL  wrong"; exit 1'
rc=0; run failing verify || rc=$?
[ "$rc" = 1 ] || fail "exit code $rc after a failure"
[ ! -e failing/verify_0.done ] && [ -e failing/verify_1.done ] || fail "marks after a failure"
grep -q '^FAIL  wrong$' log || fail "the failure is not shown"

# Of a harness of which some programs do not run here, the others have passed; one that runs nothing has not.
stand_in out/verify_0/harness <<<'echo "ok    one"; echo "# 1 of 2 programs skipped"; exit 77'
stand_in out/verify_1/harness <<<'echo "# 2 of 2 programs skipped"; exit 77'
run partly verify || fail "exit code $? where a program is skipped"
grep -q '^== verify_0: skipped: # 1 of 2 programs skipped$' log || fail "what is skipped is not shown"
[ -e partly/verify_0.done ] && [ ! -e partly/verify_1.done ] || fail "marks where programs are skipped"

# One that hangs is stopped when the time is over, with processes that have left its group; the rest has no time.
stand_in out/verify_0/harness <<<'setsid sleep 987 & echo $! >'"$work"'/orphan; sleep 987'
rc=0; LIMIT=12 run hanging verify || rc=$?
[ "$rc" = 3 ] || fail "exit code $rc after the time was over"
grep -q '^== verify_0: stopped' log || fail "verify_0 was not stopped"
grep -q '^== verify_1: no time left' log || fail "verify_1 had time"
sleep 0.2
# Whether the process has ended, or waits for somebody to ask how.
gone() { [[ $(ps -o stat= -p "$(cat orphan)") != [!Z]* ]]; }
gone || fail "a process of the step is left"

# The same if the script is asked to end.
rm orphan
bash "$here/../measure.sh" run out ended verify >log 2>&1 &
script=$!
for ((i = 0; i < 100; ++i)); do [ -s orphan ] && break || sleep 0.1; done
kill $script
rc=0; wait $script || rc=$?
[ "$rc" = 143 ] || fail "exit code $rc after SIGTERM"
sleep 0.2
gone || fail "a process is left after SIGTERM"

# Without GPUs nothing runs, and with one the parts that need no more. A build that fails is said.
rc=0; GPUS=0 run none || rc=$?
[ "$rc" = 77 ] || fail "exit code $rc without GPUs"
GPUS=1 run one profile || fail "exit code $? with one GPU"
[ -e one/profile_apart.done ] || fail "no profile of one GPU"
sed -i.four 's/^ranks=4/ranks=1/' out/settings
rc=0; GPUS=1 run single sums chain || rc=$?
[ "$rc" = 77 ] && [ "$(grep -c ': skipped: one rank exchanges nothing$' log)" = 2 ] || fail "one rank: exit code $rc"
mv out/settings.four out/settings
rm out/made/profile
stand_in out/tilepost <<<'echo "error: no compiler" >&2; exit 1'
rc=0; run unbuilt profile || rc=$?
[ "$rc" = 1 ] || fail "exit code $rc after a failed build"
grep -q '^== profile: FAILED to compile: .*no compiler' log || fail "the failed build is not shown"
rc=0; run other nothing || rc=$?
[ "$rc" = 2 ] || fail "exit code $rc for a part that is none"

# What the tool says of a set that it has planned and that nobody has measured. Others it refuses before.
planned() {
  . "$here/bench_sets.sh"
  sets_of_four
  bench_set "$2"
  ! "$1" bench "${files[@]}" "${flags[@]}" --from /dev/null >log 2>&1 &&
    grep -q 'has no measurements of these specs' log && ! grep -q 'not planned\|cannot measure' log
}
for name in "${sets[@]}"; do (planned "$tool" "$name") || fail "$name is refused"; done
echo "measure.sh runs its steps, skips, stops and resumes them"
