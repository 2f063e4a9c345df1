#!/usr/bin/env bash
# Builds tests under AddressSanitizer with UndefinedBehaviorSanitizer and LeakSanitizer (build/asan), and
# those of threads under ThreadSanitizer (build/tsan), and runs them. Programs run whole, not case by
# case, which is quicker; their cases are counted. What the compiler has no sanitizer for is named as
# skipped. Either sanitizer has the tests that show it most: of memory those that make, lend and free everything
# by itself, of threads random sequences of calls. Each other's, the weaver, the planner's and the reader's tests, and
# the CUDA runtime on stand-ins for CUDA and NCCL, take longer to build than a change should wait: only with --full.
# Ends in a line of counts.
#
# Usage: bash tests/sanitize.sh [--full]
set -euo pipefail

cd "$(dirname "$0")/.."
jobs=$(nproc)
of_memory=(test_map test_host_target)
of_threads=(test_host_sequences)
of_cuda=()
unity=ALL  # many sources as one, as tests/run.sh has it
if [ "${1:-}" = --full ]; then
  of_memory+=(test_host_sequences test_spec test_plan test_exhaustive test_host_pattern test_host_stores test_verify_harness test_weave)
  of_threads+=(test_host_target test_host_pattern test_host_stores test_verify_harness)
  of_cuda+=(test_cuda_runtime)
  unity=ON
  export TILEPOST_EVERY_SHAPE=1
fi
passed=0 failed=0 skipped=0

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
# Catch's handlers of signals, which end the process, allocate.
export TSAN_OPTIONS=report_signal_unsafe=0

# Clang takes two thirds of the time that GCC takes. The generator needs it, though not its compiler.
compiler=c++
for candidate in clang++-19 clang++; do
  if command -v "$candidate" >/dev/null; then
    compiler=$candidate
    break
  fi
done

# works <sanitizers>: whether a program that is built with them runs here.
works() {
  mkdir -p build
  echo 'int main() { return 0; }' >build/sanitized.cpp
  "$compiler" "-fsanitize=$1" build/sanitized.cpp -o build/sanitized >build/sanitized.log 2>&1 &&
    build/sanitized >>build/sanitized.log 2>&1
}

# run_program <tree> <program> [argument…]
run_program() {
  local tree=$1 name=$2 log=build/$1/$2.log status=0 bad cases
  shift 2
  "build/$tree/bin/$name" "$@" >"$log" 2>&1 || status=$?
  cases=$(sed -n -e 's/^All tests passed.* in \([0-9]*\) test cases\{0,1\}).*/\1/p' \
    -e 's/^test cases: *\([0-9]*\) .*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/^test cases:.*| *\([0-9]*\) failed.*/\1/p' "$log" | tail -1)
  if [ "$status" -ne 0 ] || [ -z "$cases" ]; then
    echo "$tree: $name failed with status $status:"
    cat "$log"
    failed=$((failed + ${bad:-1}))
    passed=$((passed + ${cases:-1} - ${bad:-1}))
    return
  fi
  echo "$tree: $name: $cases passed"
  passed=$((passed + cases))
}

# run_tree <tree> <sanitizers> <filter> <program>…
run_tree() {
  local tree=$1 sanitizers=$2 filter=$3 program
  shift 3
  if ! works "$sanitizers"; then
    skipped=$((skipped + $#))
    echo "skipped: tests under -fsanitize=$sanitizers: $compiler cannot build or run them here:" \
      "$(head -1 build/sanitized.log)"
    return
  fi
  if ! cmake --preset "$tree" -DCMAKE_CXX_COMPILER="$compiler" -DTILEPOST_UNITY=$unity >"build/$tree.log" 2>&1 ||
    ! cmake --build --preset "$tree" -j "$jobs" --target "$@" >>"build/$tree.log" 2>&1; then
    cat "build/$tree.log"
    echo "$tree: not built"
    failed=$((failed + $#))
    return
  fi
  for program in "$@"; do run_program "$tree" "$program" "$filter"; done
}

run_tree asan address,undefined '*' "${of_memory[@]}"
# What failed operations cannot free safely they leave to the process by intention (docs/reliability.md).
[ ${#of_cuda[@]} = 0 ] || ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run_tree asan-cuda address,undefined '*' "${of_cuda[@]}"
# Some cases race by intention.
run_tree tsan thread '~[races]' "${of_threads[@]}"
echo "sanitizers: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
