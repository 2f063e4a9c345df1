#!/usr/bin/env bash
# Builds libFuzzer's target with Clang into build/fuzz and runs its modes parse and plan side by side. Seeds and
# dictionary are made here. Skips (77) where there is no clang++-19 with its runtime.
# Usage: libfuzzer.sh <root of the repository> <fuzz_spec> <seconds that each mode runs>
set -euo pipefail
root=$(realpath "$1") fuzz_spec=$(realpath "$2") seconds=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$root"

command -v clang++-19 >/dev/null || { echo "skipped: no clang++-19 here"; exit 77; }
echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' >"$dir/empty.cpp"
if ! clang++-19 -fsanitize=fuzzer,address,undefined "$dir/empty.cpp" -o "$dir/empty" 2>/dev/null; then
  echo "skipped: clang++-19 has no libFuzzer here (package libclang-rt-19-dev)"
  exit 77
fi

cmake --preset fuzz >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cmake --build build/fuzz --target fuzz_plan -j 2 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }

"$fuzz_spec" --dictionary >"$dir/dictionary"
mkdir "$dir/seeds"
number=0
while IFS= read -r -d '' spec; do
  cp "$spec" "$dir/seeds/$((number += 1))"
done < <(find tests examples -name '*.yaml' -size -4k -print0)

# run <mode>: runs one mode and leaves its findings in build/fuzz.
run() {
  mkdir "$dir/$1"
  TILEPOST_FUZZ_MODE=$1 build/fuzz/bin/fuzz_plan "$dir/$1" "$dir/seeds" -dict="$dir/dictionary" -max_len=4096 \
    -max_total_time="$seconds" -timeout=300 -rss_limit_mb=4096 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/finding-$1-" >"$dir/$1.log" 2>&1
}
run parse &
parse=$!
run plan &
plan=$!
failed=0
wait "$parse" || failed=1
wait "$plan" || failed=1
for mode in parse plan; do
  [ "$failed" = 0 ] || tail -60 "$dir/$mode.log"
  echo "$mode: $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$mode.log") executions in $seconds s," \
    "$(sed -n 's/.*\(cov: [0-9]*\).*/\1/p' "$dir/$mode.log" | tail -1)"
done
exit $failed
