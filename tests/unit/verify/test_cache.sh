#!/usr/bin/env bash
# What `tilepost verify` keeps between runs. The cache of this build already has the compiled runtime.
# Usage: test_cache.sh <tilepost>
set -euo pipefail
tool=$(readlink -f "$1")
spec=$(cd "$(dirname "$0")/../../specs" && pwd)/ar_host.yaml
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
warm=$XDG_CACHE_HOME/tilepost

fail() { echo "FAIL: $*" >&2; [ ! -s log ] || tail -20 log >&2; exit 1; }
# compiled <folder>: how many sources of the runtime were compiled. Every command that ran left a log.
compiled() { ls "$1"/obj/runtime_*.log 2>/dev/null | wc -l; }
verify() { "$tool" verify "$spec" --runs 1 "$@" >log 2>&1; }
# begins <flag…>: expects that verify compiles the runtime again. It is interrupted once a compiler has run.
begins() {
  rm -rf begun
  "$tool" verify "$spec" --jobs 64 --keep begun "$@" >log 2>&1 &
  local tool_id=$! i
  for i in $(seq 1 600); do
    [ "$(compiled begun)" -eq 0 ] || break
    kill -0 $tool_id 2>/dev/null || break
    sleep 0.1
  done
  kill -INT $tool_id 2>/dev/null || true
  wait $tool_id || true
  [ "$(compiled begun)" -gt 0 ] || fail "not compiled again: $*"
}

[ -n "$(ls "$warm"/*.objects)" ] || fail "the cache is not warm"
verify --keep second || fail "the second run failed"
[ "$(compiled second)" -eq 0 ] || fail "the second run compiled $(compiled second) sources of the runtime"
[ -s second/obj/runtime_core_api.cpp.o ] || fail "no objects in the kept folder"
[ -e second/obj/unit_0.cpp.o.log ] || fail "the program was not compiled"

# Three runs at once share one cache folder.
cp -r "$warm" own
for i in 1 2 3; do "$tool" verify "$spec" --runs 1 --cache own >"log$i" 2>&1 & done
for job in $(jobs -p); do wait "$job" || fail "one of three at once: $(cat log?)"; done

begins --no-cache
begins --cache empty
CPATH=$dir begins
(unset XDG_CACHE_HOME HOME && begins)

# One byte of an object is damaged.
entry=$(ls -t own/*.objects | head -1)
printf 'x' | dd of="$entry" bs=1 seek=$(($(stat -c %s "$entry") / 2)) conv=notrunc 2>dd.log
begins --cache own
grep -q "are damaged: they are compiled again" log || fail "nothing said of the damage"

code=0
verify --cache '' || code=$?
[ "$code" = 2 ] || fail "--cache without a folder: exit $code"
code=0
verify --cache own --no-cache || code=$?
[ "$code" = 2 ] || fail "--cache and --no-cache: exit $code"
echo PASS
