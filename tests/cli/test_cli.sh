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
expect 2 "did you mean '--version'" "$tool" version
expect 2 "did you mean '--help'" "$tool" help
expect 2 "no spec given" "$tool" generate
expect 2 "unknown flag '-oout'; -o takes what follows it as a word of its own" "$tool" generate "$specs/ar_host.yaml" -oout
grep -q "group" err && fail "LLVM's word for letters behind a letter"
expect 2 "standard input, '-', is given twice" "$tool" check - -
expect 2 "--target is auto, cuda or host, got 'moon'" "$tool" verify x.yaml --target moon
expect 2 "-D takes path=value, got 'gemm.m'" "$tool" check "$specs/ar_sm90.yaml" -D gemm.m
expect 2 "--runs must be at least 1, got 0" "$tool" verify "$specs/ar_host.yaml" --runs 0
expect 2 "--no-run needs a folder for what it compiles: --keep DIR" "$tool" verify "$specs/ar_host.yaml" --no-run
expect 2 "--no-run needs a folder for what it compiles: --keep DIR" "$tool" bench "$specs/ar_sm90.yaml" --no-run
expect 1 "it is planned for host, and GPUs are measured" "$tool" bench "$specs/ar_host.yaml" --no-run --keep kept
expect 2 "" "$tool" generate --no-such-flag x.yaml
expect 0 "" "$tool" --version
grep -q "^tilepost [0-9]" out || fail "--version prints no version"
package=$(cd "$(dirname "$tool")/.." && pwd)
if [ -e "$package/tilepostConfig.cmake" ]; then
  expect 0 "" "$tool" --cmake-dir
  [ "$(cat out)" = "$package" ] || fail "--cmake-dir of a build tree is $(cat out), not $package"
  ln -s "$tool" linked
  expect 0 "" ./linked --cmake-dir
  [ "$(cat out)" = "$package" ] || fail "--cmake-dir of a link is $(cat out), not $package"
fi
mkdir -p moved/bin && cp "$tool" moved/bin
expect 3 "tilepostConfig.cmake is neither in '$PWD/moved/lib" moved/bin/tilepost --cmake-dir
expect 2 "--cmake-dir stands alone: leave the command out" "$tool" check "$specs/ar_sm90.yaml" --cmake-dir
rm -r moved
for arguments in --version --help "check --help"; do
  # shellcheck disable=SC2086
  "$tool" $arguments >/dev/full 2>err
  [ $? = 3 ] || fail "exit code of a full disk: $arguments"
  grep -qx "tilepost: error: cannot write to standard output" err || fail "message of a full disk: $arguments"
done
expect 0 "" "$tool" --help
[ "$(wc -l <out)" -le 60 ] || fail "--help has $(wc -l <out) lines"
for verb in generate check explain weave verify bench list schema; do
  expect 0 "" "$tool" $verb --help
  [ "$(wc -l <out)" -le 60 ] || fail "$verb --help has $(wc -l <out) lines"
done
expect 2 "" "$tool" check "$specs/ar_sm90.yaml" --color
expect 2 "" "$tool" --print-all-options check "$specs/ar_sm90.yaml"
expect 2 "arguments are not read from files" "$tool" check @/dev/zero
echo "$specs/ar_sm90.yaml" >@names
cp "$specs/ar_sm90.yaml" @spec.yaml
expect 0 "" "$tool" check ./@spec.yaml

echo "# memory"
# From too little to be loaded up to enough: an error every time, and no crash. Sanitizers want terabytes.
if (ulimit -v 4000000 && "$tool" --version >/dev/null 2>&1); then
  short=0
  for kib in $(seq 100000 30000 2000000); do
    (ulimit -c 0 -v "$kib" && exec "$tool" check "$specs/ar_sm90.yaml") >out 2>err
    got=$?
    [ "$got" = 0 ] && break
    [ "$got" = 127 ] && grep -q "shared librar" err && continue
    short=$((short + 1))
    if [ "$got" != 3 ] || [ "$(cat err)" != "tilepost: error: out of memory" ]; then
      fail "exit $got with $kib KiB of memory"
    fi
  done
  [ "$got" = 0 ] || fail "2 GB are not enough"
  [ "$short" -gt 0 ] || fail "no amount of memory was too little"
fi

echo "# files"
expect 3 "cannot read 'none.yaml'" "$tool" generate none.yaml
expect 3 "it is a folder" "$tool" generate .
expect 3 "bytes, a spec has at most" "$tool" check /dev/zero
expect 0 "" "$tool" generate "$specs/ar_host.yaml" -o 100%/of%%%%%%
touch plain_file
expect 3 "cannot create folder 'plain_file/sub'" "$tool" generate "$specs/ar_sm90.yaml" -o plain_file/sub
mkdir -p blocked/attn_out.plan.json
expect 3 "it is not a regular file" "$tool" generate "$specs/ar_sm90.yaml" --name attn_out -o blocked
[ "$(ls blocked)" = attn_out.plan.json ] || fail "something was half-written: $(ls blocked)"
expect 0 "" "$tool" generate "$specs/ar_host.yaml" --name kept -o kept
before=$(cat kept/*) && chmod a-w kept/kept.h
expect 0 "" "$tool" generate "$specs/ar_host.yaml" --name kept -o kept
expect 3 "cannot write 'kept/kept.h': Permission denied: it is read-only; remove it or make it writable" \
  "$tool" generate "$specs/ar_host.yaml" --name kept -o kept -D gemm.k=72
[ "$(cat kept/*)" = "$before" ] || fail "a read-only file or one beside it was changed"
[ "$(ls kept | wc -l)" = 3 ] || fail "something was left: $(ls kept)"
chmod u+w kept/kept.h
expect 0 "" "$tool" generate "$specs/ar_host.yaml" --name kept -o kept -D gemm.k=72
echo mine >own.svg && chmod a-w own.svg
expect 3 "cannot write 'own.svg': Permission denied" "$tool" explain "$specs/ar_sm90.yaml" --svg own.svg
[ "$(cat own.svg)" = mine ] || fail "a read-only picture was replaced"
expect 3 "it is not a regular file" "$tool" generate "$specs/ar_sm90.yaml" --name full --depfile /dev/full -o full_out

echo "# a file name never leaves its line, nor reaches a terminal as it is"
evil=$'a\n#error out\x1b[2J\xc2\x9b\xe2\x80\xae\xff.yaml'
shown='a\x0a#error out\x1b[2J\u009b\u202e\xff.yaml'
cp "$specs/ar_host.yaml" "$evil"
expect 0 "" "$tool" generate "$evil" --name evil -o evil
for file in evil.cpp evil.h; do
  [[ $(head -1 evil/$file) = "// Generated by tilepost "*" from $shown; do not edit"* ]] || fail "$(head -1 evil/$file)"
  grep -q '^#error out' evil/$file && fail "the name of a spec became code"
done
printf 'tilepost:\xc2\xa01\n' >blank.yaml
expect 1 "got 'tilepost:\u00a01'" "$tool" check blank.yaml
echo 'name: [' >"$evil"
expect 1 "$shown:1:8: error: " "$tool" check "$evil"
rm "$evil"
expect 3 "cannot read '$shown'" "$tool" check "$evil"
expect 2 "unknown command '$shown'" "$tool" "$evil"
expect 2 "-D takes path=value, got '$shown'" "$tool" check x.yaml -D "$evil"
expect 2 'x1b' "$tool" check x.yaml $'--\x1b[2J'
expect 2 "called '$shown'" "$tool" list "$evil"
for arguments in "check" "check x.yaml -D" "check x.yaml -" "list" ""; do
  # shellcheck disable=SC2086
  "$tool" $arguments "$evil" 2>&1 | LC_ALL=C grep -q $'[\x1b\xff]' && fail "raw bytes: $arguments"
done

echo "# names never become paths"
for name in ../up a/b 'a b' '' 1x 'x;y' x_ string cuda_runtime; do
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

echo "# sets of files are whole, whoever is killed or comes between"
expect 2 "--depfile is 'one/./attn_out.h', which is one of the outputs" \
  "$tool" generate "$specs/ar_host.yaml" --name attn_out -o one --depfile one/./attn_out.h
cp "$specs/ar_host.yaml" 'a b#c$d:e.yaml'
expect 0 "" "$tool" generate 'a b#c$d:e.yaml' --name escaped -o escaped --depfile escaped.d
grep -qF ': a\ b\#c$$d\:e.yaml' escaped.d || fail "depfile: $(cat escaped.d)"
(umask 022 && "$tool" generate "$specs/ar_host.yaml" -o folder/of/mine)
[ "$(stat -c %a folder/of)" = 755 ] || fail "a folder has the mode $(stat -c %a folder/of)"
# one_set <folder>: source and header are of one generation.
one_set() {
  local kept
  kept=$(sed -nE 's/.*kFiles = (0x[0-9a-f]{16}).*/\1/p' "$1/set.h")
  [ -n "$kept" ] && grep -q "kFiles == $kept" "$1/set.cpp"
}
touch folder/set.h.0123ab.tmp folder/other.h.0123ab.tmp
for k in 8 16 24 32; do
  for again in 1 2 3; do "$tool" generate "$specs/ar_host.yaml" --name set -D gemm.k=$((k + again)) -o folder & done
  wait
  one_set folder || fail "racing programs left a mixed set"
done
for ms in 10 20 30 40 50 60 80; do
  "$tool" generate "$specs/ar_host.yaml" --name set -D gemm.k=$((100 + ms)) -o folder &
  sleep 0.0$ms && kill -9 $! && wait $!
done 2>/dev/null
expect 0 "" "$tool" generate "$specs/ar_host.yaml" --name set -o folder
one_set folder || fail "a mixed set after kills"
[ "$(cd folder && echo *)" = "of other.h.0123ab.tmp set.cpp set.h set.plan.json" ] || fail "left: $(ls folder)"
sed -i 's/kFiles = 0x..../kFiles = 0x0123/' folder/set.h
c++ -std=c++20 -fsyntax-only -I"$specs/../../include" folder/set.cpp 2>err && fail "a mixed set compiles"
grep -q "set.h was not generated with this file" err || fail "a mixed set is not named"

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
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --arch 80,90a --name both -o both_by_number
cmp -s both/both.cu both_by_number/both.cu || fail "80,90a is not sm_80,sm_90a"
expect 1 "did you mean 'gemm'" "$tool" check "$specs/ar_sm90.yaml" -D gem.m=4
for verb in explain check; do expect 0 "" "$tool" $verb "$specs/ar_sm90.yaml"; done
for transport in auto nccl nccl_symmetric copy_engine peer peer_tiles host_copies none; do
  expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" -D transport=$transport -D gemm.m=1000
  expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" -D transport=$transport -D gemm.m=1000 --arch host -o over_$transport
  "$tool" list transports | grep -q "^$transport " || fail "list transports lacks $transport"
done
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" -D transport=peer -D schedule.sum=added -o added
grep -q "plan.sum = TILEPOST_SUM_ADDED" added/*.cu || fail "added sums are not in the plan"
expect 1 "schedule.sum 'added' is for transport 'peer'" "$tool" check "$specs/ar_sm90.yaml" -D schedule.sum=added
expect 1 "stores with TMA" "$tool" check "$specs/ar_sm80.yaml" -D transport=peer
for what in "" patterns archs machines kernels transports flags variants machine; do expect 0 "" "$tool" list $what; done
expect 2 "did you mean 'flags'" "$tool" list flgs

# Machines: by name, or from what `list machine` prints; another one changes the plan and is named in it.
"$tool" list machine --machine h200 >"$dir/machine.yaml"
"$tool" generate "$specs/ar_sm90.yaml" -o "$dir/known" --machine h200 --depfile "$dir/known.d" || fail "--machine h200"
"$tool" generate "$specs/ar_sm90.yaml" -o "$dir/read" --machine "$dir/machine.yaml" --depfile "$dir/read.d" ||
  fail "--machine of a file"
diff -r "$dir/known" "$dir/read" >/dev/null || fail "a machine that was written and read gives another plan"
grep -q "machine.yaml" "$dir/read.d" || fail "the depfile lacks the machine"
sed 's/^name: .*/name: "half the links"/; s/us_per_mib: \[\[1, [0-9.]*\]/us_per_mib: [[1, 900]/' "$dir/machine.yaml" >"$dir/other.yaml"
"$tool" explain "$specs/ar_sm90.yaml" --machine "$dir/other.yaml" | grep -q "machine profile: half the links" ||
  fail "explain does not name the machine"
expect 2 "--machine needs the name of a machine or a file" "$tool" check "$specs/ar_sm90.yaml" --machine=
expect 2 "no machine is called 'h20', did you mean 'h200'?" "$tool" check "$specs/ar_sm90.yaml" --machine h20
expect 3 "cannot read" "$tool" check "$specs/ar_sm90.yaml" --machine "$dir/absent.yaml"
sed -i 's/^  max_ghz: .*/  max_ghz: -1/' "$dir/other.yaml"
expect 1 "chip.max_ghz must be a number above 0" "$tool" check "$specs/ar_sm90.yaml" --machine "$dir/other.yaml"
expect 2 "called 'gpus'; the lists are patterns, archs" "$tool" list gpus
expect 0 "" "$tool" schema
python3 -m json.tool out >/dev/null || fail "schema is not JSON"
"$tool" schema >/dev/full 2>err && fail "a full disk went unnoticed"

echo "# the woven kernel alone"
expect 0 "" "$tool" weave "$specs/ar_sm90.yaml" --name both --arch sm_80,sm_90a -o woven/both.cu --depfile woven.d
[ ! -s out ] || fail "weave -o printed something"
[ "$(cat woven.d)" = "woven/both.cu: $specs/ar_sm90.yaml" ] || fail "weave --depfile: $(cat woven.d)"
expect 0 "" "$tool" weave "$specs/ar_sm90.yaml" --name both --arch sm_80,sm_90a
cmp -s out woven/both.cu || fail "weave -o writes something else than weave prints"
# It is what generate has, line by line in the same order, without header and plan.
diff woven/both.cu both/both.cu | grep -q '^<' && fail "weave has lines that generate has not"
grep -q "make_plan\|both\.h\"" woven/both.cu && fail "weave prints the plan"
for arch in sm_80 sm_90a; do
  grep -q "^}  // namespace tilepost_gen_both::$arch" woven/both.cu || fail "weave has nothing for $arch"
done
expect 0 "" "$tool" weave "$specs/gemm_host.yaml"
expect 1 "did you mean 'gemm'" "$tool" weave "$specs/ar_sm90.yaml" -D gem.m=4 -o refused.cu
[ ! -e refused.cu ] || fail "weave wrote a file of what was refused"
expect 2 "one spec at a time, got 2" "$tool" weave "$specs/ar_sm90.yaml" "$specs/ar_sm80.yaml"
expect 2 "--depfile is about a file: name it with -o" "$tool" weave "$specs/ar_sm90.yaml" --depfile woven.d
expect 0 "" "$tool" weave "$specs/ar_sm90.yaml" -o -
grep -q __global__ out || fail "weave -o - prints nothing"
[ ! -e - ] || fail "weave -o - writes a file"
"$tool" weave "$specs/ar_sm90.yaml" >/dev/full 2>err && fail "a full disk went unnoticed"

echo "# pictures and traces"
mkdir -p drawn
expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" --svg drawn/plan.svg --trace drawn/new/plan.json
"$tool" explain "$specs/ar_sm90.yaml" | cmp -s - out || fail "--svg changes the text"
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' drawn/plan.svg || fail "the picture is not XML"
python3 - drawn/new/plan.json <<'END' || fail "the trace is not a trace"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
assert {"GEMM", "exposed"} <= names and any(name.startswith("AllReduce") for name in names), names
assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")
END
total=$(sed -nE 's/^prediction +([0-9]+ us in all).*/\1/p' out)
grep -q "$total" drawn/plan.svg || fail "the picture does not say '$total'"
expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" --svg -
cmp -s out drawn/plan.svg || fail "--svg - prints something else than --svg writes"
expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" --json --svg drawn/json.svg
python3 -m json.tool out >/dev/null || fail "--json with --svg is not JSON"
cmp -s drawn/json.svg drawn/plan.svg || fail "--json changes the picture"
for more in -Dtransport=none -Dpattern=gemm --arch=host --arch=80,90a "-Dgemm.m={max: 4096}"; do
  expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" -D transport=auto "$more" --svg drawn/more.svg
  grep -q "^</svg>" drawn/more.svg || fail "no whole picture with $more"
  rm -f drawn/more.svg
done
expect 1 "--trace has no times to write" "$tool" explain "$specs/ar_host.yaml" --svg drawn/host.svg --trace drawn/host.json
expect 3 "cannot write 'plain_file/a': Not a directory" "$tool" explain "$specs/ar_sm90.yaml" --svg drawn/host.svg --trace plain_file/a
expect 3 "it is not a regular file" "$tool" explain "$specs/ar_sm90.yaml" --svg drawn/host.svg --trace drawn/new
[ ! -s out ] || fail "a text without its picture"
cp "$specs/ar_sm90.yaml" drawn/spec.yaml
expect 3 "--svg is 'drawn/./spec.yaml', which is the spec" "$tool" explain drawn/spec.yaml --svg drawn/./spec.yaml
cmp -s drawn/spec.yaml "$specs/ar_sm90.yaml" || fail "a picture replaced the spec"
expect 1 "did you mean 'gemm'" "$tool" explain "$specs/ar_sm90.yaml" -D gem.m=4 --svg drawn/host.svg
[ ! -e drawn/host.svg ] || fail "a picture was written in spite of an error"
expect 2 "--svg and --trace are both 'x'" "$tool" explain "$specs/ar_sm90.yaml" --svg x --trace x
expect 2 "" "$tool" explain "$specs/ar_sm90.yaml" --json --svg -
grep -q -- "--json prints the document alone" out || fail "--json and --svg - are not told apart"
expect 2 "--trace needs a file" "$tool" explain "$specs/ar_sm90.yaml" --trace=
"$tool" explain "$specs/ar_sm90.yaml" --svg - >/dev/full 2>err && fail "a full disk went unnoticed"

echo "# many shapes at once"
ar=$specs/ar_sm90.yaml
shapes=(--shape 8192x8192x2048 --shape 64x8192x2048)
expect 0 "" "$tool" explain "$ar" "${shapes[@]}"
[ "$(wc -l <out)" = 4 ] || fail "a table of two shapes has $(wc -l <out) lines"
grep -qE '^ +8192x8192x2048( +[0-9.]+){4}  gemm_sm90 [0-9x]+/[0-9], [0-9]+ groups, [a-z]+$' out ||
  fail "the line of a shape: $(cat out)"
"$tool" explain "$ar" -D gemm.m=64 -D gemm.n=8192 -D gemm.k=2048 >alone
expect 0 "" "$tool" explain "$ar" --shape 64x8192x2048
cmp -s out alone || fail "one shape is not explained as its fields are"
expect 0 "" "$tool" explain "$ar" --sweep gemm.m=64,128 --sweep transport=nccl,none --arch 80,90a
[ "$(wc -l <out)" = 10 ] || fail "two sweeps for two architectures have $(wc -l <out) lines"
grep -qE '^ +gemm.m +transport +shape +arch +us' out || fail "the head of a table: $(head -1 out)"
expect 1 "gemm.m must be a whole number" "$tool" explain "$ar" --sweep gemm.m=64,0,128
[ "$(grep -cE ' groups?, ' out)" = 2 ] || fail "a shape that is refused hides others: $(cat out)"
grep -q '^ *0  .*  not planned: gemm.m must be' out || fail "the line of a refused shape: $(cat out)"
grep -q "note: with gemm.m=0" err || fail "a refused shape is not named"
expect 1 "error: slow kernel" "$tool" explain "$ar" --sweep gemm.k=2048,2050 --werror
grep -q '^ *2050  .*  not planned: slow kernel: .*\[--werror\]$' out || fail "--werror plans: $(cat out)"
expect 1 "unknown field 'gem.m', did you mean 'gemm'" "$tool" explain "$ar" --sweep gem.m=1,2
[ "$(grep -c error: err)" = 1 ] || fail "an unknown field is told $(grep -c error: err) times"
for values in "" '1,' ',1' '1,,2' '[1' '1]'; do
  expect 2 "--sweep takes path=value,value" "$tool" explain "$ar" --sweep "gemm.m=$values"
done
expect 2 "--sweep takes path=value, got '=1'" "$tool" explain "$ar" --sweep =1
expect 2 "--shape takes MxNxK" "$tool" generate "$ar" --shape 1x2
expect 2 "--sweep gemm.m is there twice" "$tool" explain "$ar" --sweep gemm.m=1 --sweep gemm.m=2
expect 2 "--shape and --sweep gemm.n contradict" "$tool" generate "$ar" --shape 1x2x3 --sweep gemm.n=1,2
expect 2 "make 10000 combinations, at most 4096" "$tool" explain "$ar" \
  --sweep "gemm.m=$(seq -s, 100)" --sweep "gemm.n=$(seq -s, 100)"
expect 2 "--svg, --trace and --measured show one plan" "$tool" explain "$ar" "${shapes[@]}" --svg many.svg
[ ! -e many.svg ] || fail "a picture of several shapes"
# Programs are called after what they differ in; all of them are written, or none.
expect 0 "" "$tool" generate "$ar" --name many "${shapes[@]}" --sweep ranks=2,4 --depfile many.d -o many
[ "$(cd many && echo *.h)" = "$(printf 'many_%s_ranks_%d.h ' 64x8192x2048 2 64x8192x2048 4 8192x8192x2048 2)$(
  echo many_8192x8192x2048_ranks_4.h)" ] || fail "files: $(ls many)"
grep -q "many_64x8192x2048_ranks_2_program" many/many_64x8192x2048_ranks_2.h || fail "a program lacks its suffix"
[ "$(sed 's/: .*//' many.d | wc -w)" = 12 ] || fail "the depfile lacks files: $(cat many.d)"
expect 1 "with 64x8192x2048, ranks=0" "$tool" generate "$ar" --name some "${shapes[@]}" --sweep ranks=2,0 -o some
expect 1 "would be written twice" "$tool" generate "$ar" --name some --shape 64x64x64 --shape 64x64x64 -o some
expect 1 "has 65 characters, at most 64 are allowed" \
  "$tool" generate "$ar" --name "$(printf 'n%.0s' {1..56})" --shape 64x64x64 -o some
[ ! -e some ] || fail "some programs were written and others not"
expect 0 "" "$tool" generate "$ar" --bundle many_bundle "${shapes[@]}" --sweep ranks=2,4
[ "$(cd many_bundle/generated && ls ./*.cu | wc -l)" = 4 ] || fail "a bundle lacks programs: $(ls many_bundle/generated)"
grep -qF "ar_sm90.yaml --shape 8192x8192x2048 --shape 64x8192x2048 --sweep ranks=2,4 --bundle" many_bundle/README.md ||
  fail "a bundle's README does not say its shapes: $(grep 'tilepost generate' many_bundle/README.md)"

echo "# measured runs"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" -o plain
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --timestamps -o stamped
cmp -s plain/*.plan.json stamped/*.plan.json || fail "--timestamps changes the plan"
[ "$(diff plain/*.cu stamped/*.cu | grep '^[<>]' | grep -vc '[0-9a-f]\{16\}')" = 1 ] ||
  fail "--timestamps changes more than the constant and the hashes"
grep -q "static constexpr bool kStamps = true;" stamped/*.cu || fail "--timestamps stamps nothing"
grep -q kStamps plain/*.cu && fail "kernels note times without --timestamps"
expect 1 "the host target has no device's clock; set --arch to a GPU's" \
  "$tool" generate "$specs/ar_host.yaml" --timestamps -o host_stamped
[ ! -e host_stamped ] || fail "a folder was made in spite of an error"
expect 0 "" "$tool" generate "$specs/ar_sm90.yaml" --timestamps --bundle stamped_bundle
grep -q "kStamps = true" stamped_bundle/generated/*.cu || fail "--bundle forgets --timestamps"
# run.json [name=value]…: a run that took twice what is predicted, as tilepost_op_write_timeline writes it.
make_run() {
  python3 - plain/*.plan.json "$@" >run.json <<'END'
import json, sys
file = json.load(open(sys.argv[1]))
plan = file["plans"][0]
run = {"tilepost_timeline": 1, "name": file["name"], "pattern": plan["pattern"], "rank": 2, "ranks": plan["ranks"],
       "m": plan["m"], "map_hash": plan["map_hash"], "replayed": False, "total_ns": 4000000,
       "groups": [{"tiles_end_ns": 1000 * (i + 1), "steps_begin_ns": -1, "steps_end_ns": 1000 * (i + 3)}
                  for i in range(len(plan["groups"]))]}
for change in sys.argv[2:]:
    key, value = change.split("=")
    run[key] = json.loads(value)
print(json.dumps(run))
END
}
make_run
expect 0 "" "$tool" explain "$specs/ar_sm90.yaml" --measured run.json --svg drawn/run.svg --trace drawn/run.json
grep -q "^measured on rank 2: 4000.0 us, [0-9.]* times the predicted" out || fail "explain does not show the run"
grep -q "As measured on rank 2: 4000 us" drawn/run.svg || fail "the picture does not show the run"
grep -q "as measured on rank 2: 4000 us" drawn/run.json || fail "the trace does not show the run"
python3 -m json.tool drawn/run.json >/dev/null || fail "the trace with a run is not JSON"
[ "$(awk '{ if (length > most) most = length } END { print most }' out)" -le 120 ] || fail "lines are too long"
make_run 'name="mlp"'
expect 1 "'run.json' is not a run of this plan: it is of 'mlp'" "$tool" explain "$specs/ar_sm90.yaml" --measured run.json
make_run m=64
expect 1 "its run had m = 64, and the plan has m = " "$tool" explain "$specs/ar_sm90.yaml" --measured run.json
make_run 'map_hash="0x0"'
expect 1 "generated for another plan" "$tool" explain "$specs/ar_sm90.yaml" --measured run.json
for change in total_ns=0 total_ns=2 tilepost_timeline=2 'groups=[1]' 'groups=0' rank=-1 'rank="2"'; do
  make_run "$change"
  expect 1 "'run.json' is not a timeline" "$tool" explain "$specs/ar_sm90.yaml" --measured run.json
done
expect 3 "--measured: cannot read 'no.json'" "$tool" explain "$specs/ar_sm90.yaml" --measured no.json
expect 2 "--measured needs a file" "$tool" explain "$specs/ar_sm90.yaml" --measured=
expect 2 "" "$tool" explain "$specs/ar_sm90.yaml" --json --measured run.json
grep -q -- "--json has no place for --measured" out || fail "--json and --measured are not told apart"
make_run
expect 1 "predicts no times to show a run beside" "$tool" explain "$specs/ar_host.yaml" --measured run.json

echo "# warnings"
slow=(-D gemm.k=2050)
for verb in check explain weave generate; do
  expect 0 "warning: slow kernel: gemm_sm90 needs K a multiple of 8, not 2050" \
    "$tool" $verb "$specs/ar_sm90.yaml" "${slow[@]}"
  [ "$(grep -c 'warning: ' err)" = 1 ] || fail "$verb: the warning is there $(grep -c 'warning: ' err) times"
done
sed 's/  k: 2048/  k: 2050/' "$specs/ar_sm90.yaml" >slow.yaml
expect 0 "slow.yaml:9:6: warning: slow kernel" "$tool" check slow.yaml
for verb in check explain weave generate verify bench; do
  expect 1 "error: slow kernel: gemm_sm90 needs K" "$tool" $verb slow.yaml --werror
  grep -q "\[--werror\]" err || fail "$verb: an error does not say that it is a warning"
done
expect 1 "" "$tool" generate slow.yaml --werror -o strict
[ ! -e strict ] || fail "something was written in spite of --werror"
expect 0 "" "$tool" check "$specs/ar_sm90.yaml" --werror
expect 1 "schedule.wait has no effect" "$tool" check "$specs/ar_sm90.yaml" --werror -D transport=none -D schedule.wait=poll

echo "# generate is quick and needs no CUDA"
start=$(date +%s%N)
env -i PATH=/usr/bin:/bin "$tool" generate "$specs/ar_sm90.yaml" -o quick || fail "generate in an empty environment"
ms=$((($(date +%s%N) - start) / 1000000))
echo "generate took $ms ms (300 on an idle machine is the bound; 1500 fails)"
[ "$ms" -lt 1500 ] || fail "generate took $ms ms"

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
