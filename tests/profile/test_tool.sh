#!/usr/bin/env bash
# `tilepost profile` from outside: what it refuses, and, with stand-ins for driver, NVML, compiler and measuring
# program, what it makes of measurements, and of a measurement that is stopped. Usage: test_tool.sh <tilepost>
set -u
tool=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../bench/stand_ins.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() {
  echo "FAIL: $1"
  sed 's/^/  /' out | head -12
  failures=$((failures + 1))
}
# expect CODE 'text in the output' command…
expect() {
  local code=$1 text=$2
  shift 2
  timeout 100 "$@" >out 2>&1 </dev/null
  local got=$?
  if [ "$got" = "$code" ] && { [ -z "$text" ] || grep -qF -- "$text" out; }; then return; fi
  fail "exit $got, expected $code and '$text': ${*//$tool/tilepost}"
}

expect 2 "-o needs a file" "$tool" profile -o -
expect 2 "--measurements needs a file" "$tool" profile --measurements=
expect 2 "--from measures nothing" "$tool" profile --from x --without-peer-access
expect 2 "-o is 'x', which has measurements" "$tool" profile -o x --measurements x
expect 2 "no machine is called 'h300'" "$tool" profile --machine h300
expect 2 "--no-run needs a folder" "$tool" profile --no-run
expect 3 "cannot read 'none.jsonl'" "$tool" profile --from none.jsonl
echo '{"record": "machine"}' >empty.jsonl
expect 1 "has no measurements of tilepost profile" "$tool" profile --from empty.jsonl
touch plain_file
expect 3 "cannot write 'plain_file/a.yaml': Not a directory" "$tool" profile -o plain_file/a.yaml
if [ ! -e /dev/nvidia0 ]; then
  expect 1 "cannot measure: this machine has no GPU (" "$tool" profile -o never.yaml
fi
[ "$(ls)" = "$(printf 'empty.jsonl\nout\nplain_file')" ] || fail "files are left: $(ls)"

# ---- Stand-ins: a driver that shows $GPUS GPUs, NVML with $USERS processes, a compiler whose program prints $RECORDS
mkdir fake
# The program prints the lines of $RECORDS/records whose steps it is not told to skip, and waits $RECORDS/delay.
cat >fake/harness <<'PY'
#!/usr/bin/env python3
import json, os, sys, time
records = os.environ["RECORDS"]
skip = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--skip"]
open(records + "/arguments", "w").write(" ".join(sys.argv[1:]))
for line in open(records + "/records"):
    if json.loads(line).get("step") in skip:
        continue
    print(line, end="", flush=True)
    if "the last one" in line:
        time.sleep(float(open(records + "/delay").read()))
sys.exit(int(open(records + "/status").read()))
PY
if ! make_stand_ins; then
  echo "skipped here: there is no C compiler for the stand-ins"
  [ "$failures" = 0 ]
  exit
fi
export RECORDS=$dir GPUS=2 CHIP="NVIDIA X900" USERS=0 REACH=0
run=("${stand_ins[@]}" "$tool" profile --no-cache)
# A few measurements: two steps. A record of a product names a kernel that the tool measures.
"${run[@]}" --no-run --keep kept >out 2>&1 || fail "the sources are not written"
kernel=$(ls kept/programs | head -1)
cat >records <<JSON
{"record": "machine", "gpu": "NVIDIA X900", "gpus": 2, "sms": 132, "sm": 90, "driver": "1", "cuda": "13.0", "nccl": "2.28.3"}
{"record": "begin", "step": "chip", "seconds": 1}
{"record": "time", "kind": "chip", "name": "max_ghz", "value": 1.75}
{"record": "end", "step": "chip"}
{"record": "begin", "step": "GEMMs 0", "seconds": 1}
{"record": "time", "kind": "gemm", "mode": "cool", "kernel": "${kernel%.cu}", "m": 4096, "n": 4096, "k": 4096, "ctas": 128, "us": 300}
{"record": "end", "step": "GEMMs 0"}
{"record": "begin", "step": "pairs", "seconds": 1}
{"record": "time", "kind": "pair", "from": 0, "to": 1, "reaches": 0, "note": "the last one"}
{"record": "end", "step": "pairs"}
JSON
echo 0 >delay && echo 0 >status
USERS=2 expect 1 "process 4711 on GPU 0, process 4712 on GPU 0" "${run[@]}" -o never.yaml
[ ! -e never.yaml ] && [ ! -e never.yaml.part ] || fail "written beside other processes"
USERS=2 expect 0 "'some.yaml' is written" "${run[@]}" -o some.yaml --beside-others
expect 0 "'mine.yaml' is written; plan with --machine mine.yaml" "${run[@]}" -o mine.yaml --measurements all.jsonl
grep -q "max_ghz: 1.75" mine.yaml || fail "the clock is not in the profile"
grep -q "peer_access: 0" mine.yaml || fail "missing peer access is not in the profile"
grep -q "taken from h200" mine.yaml || fail "what was not measured is not marked"
grep -q '"kind": "gemm"' all.jsonl || fail "the measurements are not kept"
[ ! -e mine.yaml.part ] || fail "the part is left beside the profile"
spec=$here/../bench/shapes/reduce_scatter.yaml
expect 0 "2 x X900, no peer access" "$tool" explain "$spec" --machine mine.yaml -D ranks=2
expect 0 "" "$tool" profile --from all.jsonl -o again.yaml
cmp -s mine.yaml again.yaml || fail "the same measurements give another profile"
# Without peer access the base is a machine of such GPUs that has none, also for measurements that are read again.
expect 0 "taken from h200_no_peers" "${run[@]}" --without-peer-access -o apart.yaml --measurements apart.jsonl
expect 0 "" "$tool" profile --from apart.jsonl -o apart_again.yaml
cmp -s apart.yaml apart_again.yaml || fail "the same measurements without peer access give another profile"
# The default is machine.yaml, and the base can be named.
expect 0 "taken from a100" "${run[@]}" --machine a100
[ -e machine.yaml ] || fail "there is no machine.yaml"

# ---- Stopped in the last step, and resumed: the steps that have ended are not measured again
echo 30 >delay
env --default-signal=INT "${run[@]:1}" -o stopped.yaml >out 2>&1 </dev/null & # shells let such processes ignore SIGINT
pid=$!
for _ in $(seq 200); do
  grep -q "the last one" stopped.yaml.part 2>/dev/null && break
  sleep 0.1
done
kill -INT $pid
wait $pid
code=$?
[ "$code" = 130 ] || fail "a stopped measurement ends with $code, not 130"
grep -qF "what was measured is in 'stopped.yaml.part'" out || fail "nothing says where the measurements are"
[ ! -e stopped.yaml ] || fail "a stopped measurement wrote a profile"
echo 0 >delay
expect 0 "going on after 2 steps" "${run[@]}" -o stopped.yaml
grep -q -- "--skip GEMMs 0 --skip chip" arguments || fail "the resumed program got: $(cat arguments)"
[ -e stopped.yaml ] && [ ! -e stopped.yaml.part ] || fail "resumed, and no profile"
diff <(grep -v "^# Measured" mine.yaml) <(grep -v "^# Measured" stopped.yaml) >out || fail "resumed, another profile"
# Another machine's measurements are no beginning.
echo 5 >status
expect 1 "the measuring program ended early: exit status 5" "${run[@]}" -o other.yaml
[ -e other.yaml.part ] && [ ! -e other.yaml ] || fail "no part of a program that broke"
echo 0 >status
GPUS=1 expect 0 "" "${run[@]}" -o other.yaml
grep -q "going on" out && fail "measurements of two GPUs were taken for one"
head -1 records >short && mv short records
expect 1 "there are no measurements of GEMMs" "${run[@]}" -o none.yaml
[ ! -e none.yaml ] || fail "a profile of nothing"

# ---- Plans for another machine are measured, and both machines are named
bench=("${run[@]:0:4}" "$tool" bench "$spec" -D ranks=2 --no-cache)
told="the plans are made for the machine"
expect 1 "$told '4 x H200, NVLink', whose GPUs are 'H200', and this GPU is 'NVIDIA X900'" "${bench[@]}"
expect 1 "$told '4 x H200, NVLink', whose GPUs reach each other's memory, and the 2 GPUs here do not" "${bench[@]}"
REACH=1 expect 1 "$told '2 x X900, no peer access', whose GPUs do not reach each other's memory, and the 2 GPUs here do" \
  "${bench[@]}" --machine mine.yaml
expect 1 "" "${bench[@]}" --machine mine.yaml
grep -q "$told" out && fail "a warning on the machine that was measured"
NCCL_P2P_DISABLE=1 REACH=1 expect 1 "" "${bench[@]}" --machine mine.yaml
grep -q "$told" out && fail "a warning where NCCL is kept from peer-to-peer"
GPUS=1 expect 1 "" "${bench[@]}" --machine mine.yaml
grep -q "reach each other" out && fail "a warning of one GPU's links"
rm fake/lib/libnccl.so
expect 1 "cannot measure: there is no NCCL's libnccl.so" "${run[@]}" -o never.yaml

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
