#!/usr/bin/env bash
# The tool as a user runs it: exit codes, messages, files. Usage: test_cli.sh <tilepost>
set -u
tool=$(readlink -f "$1")
specs=$(cd "$(dirname "$0")/../specs" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
  echo "FAIL: $1"
  [ -s "$dir/err" ] && sed 's/^/  stderr: /' "$dir/err" | head -8
  failures=$((failures + 1))
}

# expect CODE 'text in stderr' command…: the exit code and the message.
expect() {
  local code=$1 text=$2
  shift 2
  timeout 20 "$@" >out 2>err </dev/null
  local got=$?
  [ "$got" = "$code" ] || fail "exit $got, expected $code: ${*//$tool/tilepost}"
  grep -qF -- "$text" err || [ -z "$text" ] || fail "no '$text' in stderr: ${*//$tool/tilepost}"
}

echo "# usage"
expect 2 "no command given" "$tool"
expect 2 "did you mean 'generate'" "$tool" genrate x.yaml
expect 2 "no spec given" "$tool" generate
expect 2 "--target is auto, cuda or host, got 'moon'" "$tool" verify x.yaml --target moon
expect 2 "-D takes path=value, got 'gemm.m'" "$tool" check "$specs/ar_sm90.yaml" -D gemm.m
expect 2 "--runs must be at least 1, got 0" "$tool" verify "$specs/ar_host.yaml" --runs 0
expect 2 "" "$tool" generate --no-such-flag x.yaml
expect 0 "" "$tool" --version
grep -q "^tilepost [0-9]" out || fail "--version prints no version"
expect 0 "" "$tool" --help
[ "$(wc -l <out)" -le 60 ] || fail "--help has $(wc -l <out) lines"
expect 2 "" "$tool" check "$specs/ar_sm90.yaml" --color
expect 2 "" "$tool" --print-all-options check "$specs/ar_sm90.yaml"
expect 2 "arguments are not read from files" "$tool" check @/dev/zero
echo "$specs/ar_sm90.yaml" >@names
cp "$specs/ar_sm90.yaml" @spec.yaml
expect 0 "" "$tool" check ./@spec.yaml

echo "# files"
expect 3 "cannot read 'none.yaml'" "$tool" generate none.yaml
expect 3 "it is a folder" "$tool" generate .
expect 3 "bytes, a spec has at most" "$tool" check /dev/zero
touch plain_file
expect 3 "cannot create folder 'plain_file/sub'" "$tool" generate "$specs/ar_sm90.yaml" -o plain_file/sub
mkdir -p blocked/attn_out.plan.json
expect 3 "it is not a regular file" "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o blocked
[ "$(ls blocked)" = attn_out.plan.json ] || fail "something was half-written: $(ls blocked)"
expect 3 "it is not a regular file" "$tool" generate "$specs/ar_sm90.yaml" --name full --depfile /dev/full -o full_out

echo "# names never become paths"
for name in ../up a/b 'a b' '' 1x 'x;y' int std; do
  expect 1 "name" "$tool" generate "$specs/ar_sm90.yaml" --name "$name" -o names
  [ -z "$name" ] || [ ! -e names ] || fail "name '$name' wrote something"
done 2>/dev/null

echo "# output"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o one --depfile one/attn_out.d
[ "$(cd one && ls | tr '\n' ' ')" = "attn_out.cu attn_out.d attn_out.h attn_out.plan.json " ] ||
  fail "files: $(ls one)"
grep -q "^one/attn_out.cu one/attn_out.h one/attn_out.plan.json: $specs/ar_sm90.yaml" one/attn_out.d ||
  fail "depfile: $(cat one/attn_out.d)"
python3 -m json.tool one/attn_out.plan.json >/dev/null || fail "plan.json is not JSON"
grep -nE '/(home|root|work|tmp|usr)/|20[0-9][0-9]-' one/attn_out.cu one/attn_out.h one/attn_out.plan.json &&
  fail "a path or a date in the output"

echo "# deterministic, in another folder, locale and time zone"
mkdir -p other && (cd other && LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o two)
for file in attn_out.cu attn_out.h attn_out.plan.json; do
  cmp -s one/$file other/two/$file || fail "$file differs between two runs"
done

echo "# rewritten only when changed"
touch -d '2001-01-01' one/attn_out.cu
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o one
[ "$(stat -c %Y one/attn_out.cu)" -lt 1000000000 ] || fail "an unchanged file was rewritten"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o one -D gemm.k=4096
[ "$(stat -c %Y one/attn_out.cu)" -gt 1000000000 ] || fail "a changed file was not rewritten"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --dry-run --name dry -o dry
[ "$(tr '\n' ' ' <out)" = "dry/dry.cu dry/dry.h dry/dry.plan.json " ] || fail "dry run: $(cat out)"
[ ! -e dry ] || fail "a dry run wrote files"

echo "# standard input, overrides, several architectures"
"$tool" check - <"$specs/ar_sm90.yaml" || fail "check -"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --arch sm_80,sm_90a --name both -o both
expect 1 "did you mean 'gemm'" "$tool" check "$specs/ar_sm90.yaml" -D gem.m=4
for verb in explain check; do expect 0 "" "$tool" $verb "$specs/ar_sm90.yaml"; done
for transport in auto nccl nccl_symmetric copy_engine peer none; do
  expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" -D transport=$transport
  expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" -D transport=$transport --arch host -o over_$transport
  "$tool" list transports | grep -q "^$transport " || fail "list transports lacks $transport"
done
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" -D transport=peer -D schedule.sum=added -o added
grep -q "plan.sum = TILEPOST_SUM_ADDED" added/*.cu || fail "added sums are not in the plan"
expect 1 "schedule.sum 'added' is for transport 'peer'" "$tool" check "$specs/ar_sm90.yaml" -D schedule.sum=added
expect 1 "stores with TMA" "$tool" check "$specs/ar_sm80.yaml" -D transport=peer
for what in "" patterns archs kernels transports flags variants; do expect 0 "" "$tool" list $what; done
expect 2 "did you mean 'flags'" "$tool" list flgs
expect 0 "" "$tool" schema
python3 -m json.tool out >/dev/null || fail "schema is not JSON"
"$tool" schema >/dev/full 2>err && fail "a full disk went unnoticed"

echo "# generate is quick and needs no CUDA"
start=$(date +%s%N)
env -i PATH=/usr/bin:/bin "$tool" generate "$specs/ar_sm90.yaml" -o quick || fail "generate in an empty environment"
ms=$((($(date +%s%N) - start) / 1000000))
echo "generate took $ms ms (300 on an idle machine is the bound; 1500 fails)"
[ "$ms" -lt 1500 ] || fail "generate took $ms ms"

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
