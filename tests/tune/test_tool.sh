#!/usr/bin/env bash
# `tilepost tune` and --tuning from outside: what they refuse, and, with stand-ins for driver, compiler and harness, what
# they write and read. Usage: test_tool.sh <tilepost>
set -u
tool=$(readlink -f "$1")
. "$(dirname "$0")/../bench/stand_ins.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}

# expect CODE 'text in the output' command…
expect() {
  local code=$1 text=$2
  shift 2
  timeout 120 "$@" >out 2>&1 </dev/null
  local got=$?
  if [ "$got" = "$code" ] && { [ -z "$text" ] || grep -qF -- "$text" out; }; then return; fi
  fail "exit $got, expected $code and '$text': ${*//$tool/tilepost}"
  sed 's/^/  /' out | head -8
}

cat >layer.yaml <<'Y'
tilepost: 1
name: layer
pattern: gemm_reduce_scatter
ranks: 2
arch: sm_90a
gemm: {m: 4096, n: 4096, k: 2048, a: bf16}
Y
expect 2 "no spec given" "$tool" tune
expect 2 "--shape takes MxNxK, three positive numbers, got '4096'" "$tool" tune layer.yaml --shape 4096
expect 2 "--candidates must be from 1 to 64, got 0" "$tool" tune layer.yaml --candidates 0
expect 2 "--seconds must be from 10 to 3600, got 5" "$tool" tune layer.yaml --seconds 5
expect 2 "-o needs a file" "$tool" tune layer.yaml -o -
expect 2 "which is the spec" "$tool" tune layer.yaml -o ./layer.yaml
expect 2 "--tuning needs a file" "$tool" check layer.yaml --tuning=
expect 3 "cannot read 'none.yaml'" "$tool" tune none.yaml
expect 3 "cannot read 'none.yaml'" "$tool" check layer.yaml --tuning none.yaml
expect 1 "a tuning file begins with 'tilepost_tuning: 1'" "$tool" check layer.yaml --tuning layer.yaml
cp layer.yaml other.yaml
expect 1 "a tuning file begins with 'tilepost_tuning: 1'" "$tool" tune layer.yaml -o other.yaml
cmp -s layer.yaml other.yaml || fail "tune replaced a file that is no tuning file"
expect 0 "--candidates" "$tool" tune --help
if [ ! -e /dev/nvidia0 ]; then
  expect 1 "error: cannot tune: this machine has no GPU (" "$tool" tune layer.yaml -o new/t.yaml
  [ ! -e new ] || fail "a folder is left where nothing was measured"
fi

# ---- Stand-ins: a driver that shows $GPUS GPUs, NVML with $USERS processes, a compiler whose harness says of each plan
# ---- that it takes 100 us, and of plan $FASTEST that it takes 80
mkdir -p fake tmp
cat >fake/harness <<'H'
#!/bin/sh
echo "$@" >"$RECORDS/arguments"
echo run >>"$RECORDS/runs"
[ -z "${SLOW:-}" ] || sleep 30
echo '{"record": "machine", "gpu": "'"$CHIP"'", "gpus": 2, "driver": "570.1", "cuda": "13.0", "nccl": "2.28.3"}'
for file in "$(dirname "$0")"/programs/plan_*.cu; do
  plan=$(basename "$file" .cu)
  us=100
  [ "$plan" != "plan_$FASTEST" ] || us=80
  echo '{"record": "check", "program": "'"$plan"'", "variant": "tune", "against": "x", "elements": 9, "wrong": 0}'
  echo '{"record": "sample", "program": "'"$plan"'", "mode": "tune", "round": 0, "us": {"ours": '$us'}}'
  echo '{"record": "end", "program": "'"$plan"'"}'
done
H
if ! make_stand_ins; then
  echo "skipped here: there is no C compiler for the stand-ins"
  [ "$failures" = 0 ]
  exit
fi
export RECORDS=$dir GPUS=2 USERS=0 BUSY=1 FASTEST=2 CHIP="NVIDIA H200"
cat >fake/bin/tune <<SH
#!/bin/sh
exec ${stand_ins[*]} XDG_CACHE_HOME="$dir/cache" TMPDIR="$dir/tmp" "$tool" tune "\$@"
SH
chmod +x fake/bin/tune
measured=$dir/fake/bin/tune
runs() { grep -c run runs; }

# Refusals say what is there, before anything is compiled or written.
GPUS=1 expect 1 "it has 2 ranks, and this machine has 1 GPU" "$measured" layer.yaml -o new/t.yaml
USERS=3 expect 1 "process 4712 on GPU 1, process 4713 on GPU 1)" "$measured" layer.yaml -o new/t.yaml
CHIP="NVIDIA B200" expect 1 "name its profile with --machine" "$measured" layer.yaml -o new/t.yaml
expect 1 "planned for host" "$measured" layer.yaml --arch host -o new/t.yaml
for left in new runs; do
  [ ! -e $left ] || fail "$left is there, for a spec that was refused"
done
touch plain_file
expect 3 "cannot write 'plain_file/t.yaml'" "$measured" layer.yaml -o plain_file/t.yaml

# Two shapes into one file; the same command measures nothing again.
expect 0 "1.250x as fast as the planner's choice" "$measured" layer.yaml --shape 4096x4096x2048 --shape 64x4096x2048 \
  --candidates 4 --jobs 1 -o tuned/t.yaml
[ "$(runs)" = 2 ] || fail "two shapes took $(runs) runs"
grep -q -- "--tune --seed 1 --rounds" arguments || fail "the harness got $(cat arguments)"
[ "$(grep -c "    pattern: gemm_reduce_scatter\|      pattern: gemm_reduce_scatter" tuned/t.yaml)" = 2 ] ||
  fail "entries: $(cat tuned/t.yaml)"
cp tuned/t.yaml first.yaml
expect 0 "'tuned/t.yaml' has it" "$measured" layer.yaml --shape 4096x4096x2048 --shape 64x4096x2048 -o tuned/t.yaml
[ "$(runs)" = 2 ] || fail "what the file has was measured again"
cmp -s tuned/t.yaml first.yaml || fail "the file changed without a measurement"
expect 0 "" "$measured" layer.yaml --shape 4096x4096x2048 --shape 64x4096x2048 --candidates 4 --again -o tuned/t.yaml
cmp -s tuned/t.yaml first.yaml || fail "the same measurements give another file"
[ "$(ls tuned)" = t.yaml ] || fail "left beside the file: $(ls tuned)"

# Ctrl-C in the middle of the second shape: the file stays as it was, and nothing else is left.
rm -rf tuned runs
expect 0 "" "$measured" layer.yaml --candidates 2 -o tuned/t.yaml
cp tuned/t.yaml first.yaml
rm runs
SLOW=yes "$measured" layer.yaml --shape 4096x4096x2048 --shape 64x4096x2048 --candidates 1 --jobs 1 -o tuned/t.yaml \
  >out 2>&1 </dev/null &
child=$!
for _ in $(seq 600); do
  [ ! -e runs ] || break
  sleep 0.1
done
kill -INT "$child"
wait "$child"
got=$?
[ "$got" = 130 ] || fail "exit $got after Ctrl-C, expected 130: $(cat out)"
grep -q "1 of 2 are in 'tuned/t.yaml'; the same command goes on" out || fail "Ctrl-C: $(cat out)"
cmp -s tuned/t.yaml first.yaml || fail "the file changed without a measurement"
[ -z "$(ls tmp)" ] || fail "left behind after Ctrl-C: $(ls tmp)"
expect 0 "" "$measured" layer.yaml --shape 4096x4096x2048 --candidates 4 -o tuned/t.yaml

# What was tuned is planned, and said.
FASTEST=3 expect 0 "" "$measured" layer.yaml --candidates 4 --again -o t.yaml
expect 0 "chosen by tuning file 't.yaml': 80.0 us measured on 2 x NVIDIA H200" "$tool" explain layer.yaml --tuning t.yaml
"$tool" generate layer.yaml -o without || fail "generate"
"$tool" generate layer.yaml --tuning t.yaml -o with --depfile with.d || fail "generate --tuning"
cmp -s with/layer.plan.json without/layer.plan.json && fail "--tuning changes nothing"
grep -q '"file": "t.yaml"' with/layer.plan.json || fail "the plan does not say that it is tuned"
grep -q " t.yaml" with.d || fail "the depfile lacks the tuning file: $(cat with.d)"
expect 0 "" "$tool" check layer.yaml --tuning t.yaml --werror
expect 0 "has no entry for 'layer' with 64x4096x2048" "$tool" check layer.yaml --tuning t.yaml -D gemm.m=64
expect 1 "has no entry for 'layer' with 64x4096x2048" "$tool" check layer.yaml --tuning t.yaml -D gemm.m=64 --werror
expect 0 "transport is 'none' here" "$tool" check layer.yaml --tuning t.yaml -D transport=none
sed 's/version: .*/version: "0.0.9"/' t.yaml >old.yaml
expect 0 "tilepost 0.0.9" "$tool" check layer.yaml --tuning old.yaml
sed 's/profile: .*/profile: "another machine"/' t.yaml >moved.yaml
expect 0 "'another machine'" "$tool" check layer.yaml --tuning moved.yaml
sed 's/stages: .*/stages: x/; s/ranks: .*/ranks: 0/' t.yaml >bad.yaml
expect 1 "entries[0].choice.stages must be a whole number" "$tool" check layer.yaml --tuning bad.yaml
grep -q "entries\[0\].spec.ranks must be a whole number" out || fail "the second fault is missing"

# A bundle says that it was tuned, and how it is made again.
"$tool" generate layer.yaml --machine h200 --tuning t.yaml --bundle bundle || fail "bundle"
grep -q "tilepost generate layer.yaml --machine h200 --tuning t.yaml --bundle" bundle/README.md ||
  fail "the bundle's command: $(grep 'tilepost generate' bundle/README.md)"
grep -q "sm_90a, tuned" bundle/README.md || fail "the bundle does not say that it was tuned"

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
