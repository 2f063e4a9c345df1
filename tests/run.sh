#!/usr/bin/env bash
# Builds everything with warnings as errors and runs every test that this machine can run; what it
# cannot is named with the reason. Installs missing packages first. Ends in a line of counts.
# Of the variants of the kernels it compiles a sample (tests/kernels/variants.py): all of them take too
# long for every change. `bash tests/full.sh` is all that is here and them.
#
# Usage: bash tests/run.sh [--full] [ctest argument…], for example -R 'unit|golden'
set -euo pipefail

cd "$(dirname "$0")/.."
left_out='gpu|bench|full'
# The runtime's own kernels are the same for every GPU: for the oldest and the newest kind.
architectures=-DTILEPOST_CUDA_ARCHITECTURES="80-real;90"
full=
if [ "${1:-}" = --full ]; then
  left_out='gpu|bench'
  architectures=-UTILEPOST_CUDA_ARCHITECTURES
  full=--full
  shift
fi
jobs=$(nproc)
tree=build/ci
passed=0 failed=0 skipped=0
notes=()

# configure [argument…]: what it says matters only if it fails, or where it says what is left out.
configure() {
  mkdir -p build
  cmake --preset ci "$@" >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
  grep -E 'tilepost:|Found NCCL|CUDA compiler identification' build/configure.log || true
}

# run_tests <report> <ctest argument…>: runs tests and adds their numbers up.
run_tests() {
  local report=$PWD/$tree/$1.xml name
  shift
  ctest --test-dir $tree --output-on-failure --no-tests=ignore --output-junit "$report" "$@" || true
  count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\"\$/\1/p" "$report" | head -1; }
  failed=$((failed + $(count failures)))
  skipped=$((skipped + $(count skipped)))
  passed=$((passed + $(count tests) - $(count failures) - $(count skipped)))
  while IFS= read -r name; do
    notes+=("$name: its output in $tree/Testing/Temporary/LastTest.log says why")
  done < <(sed -n 's/.*<testcase name="\([^"]*\)".*status="notrun".*/\1/p' "$report")
}

# skip <tests> <reason>
skip() {
  skipped=$((skipped + $1))
  notes+=("$2")
}

# sanitize: tests/sanitize.sh, whose last line has its counts.
sanitize() {
  local report=$PWD/build/sanitize.log counts
  bash tests/sanitize.sh ${full:+"$full"} 2>&1 | tee "$report" || true
  read -ra counts < <(sed -n 's/^sanitizers: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$report")
  if [ ${#counts[@]} -ne 3 ]; then
    failed=$((failed + 1))
    return
  fi
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + counts[2]))
  while IFS= read -r name; do notes+=("$name"); done < <(sed -n 's/^skipped: //p' "$report")
}

# Generates what the GPU tests run, for the GPUs that are here.
generate_for_gpus() {
  local ranks=$1 arch=$2 out=$tree/gpu-programs
  generate() {
    local name=$1
    shift
    $tree/bin/tilepost generate examples/quickstart.yaml --arch "$arch" --name "$name" \
      -D ranks="$ranks" -o "$out" "$@"
  }
  rm -rf "$out"
  generate panel -D gemm.m=2048 -D gemm.n=2048 -D gemm.k=512 -D 'transport=nccl'
  generate ragged -D gemm.m=1000 -D gemm.n=1096 -D gemm.k=328 -D 'transport=nccl'
  generate odd -D gemm.m=129 -D gemm.n=257 -D gemm.k=65 -D 'transport=nccl'
  generate tiles -D gemm.m=1024 -D gemm.n=2048 -D gemm.k=256 -D schedule.layout=tile
  generate unpermuted -D gemm.m=1000 -D gemm.n=1096 -D gemm.k=256 -D schedule.layout=tile \
    -D consumer=unpermute
  generate sequence -D gemm.m=1024 -D gemm.n=1024 -D gemm.k=256 -D transport=none
}

echo "== packages"
bash cmake/install_packages.sh build test

# PyTorch comes while the build computes, since it is waited for more than it computes.
torch=
if [ $# -eq 0 ] && [ -z "${TILEPOST_TORCH_PYTHON:-}" ]; then
  mkdir -p $tree
  bash tests/python/install_torch.sh $tree/torch >build/torch.log 2>&1 &
  torch=$!
fi

# Without a GPU nothing runs the runtime's own kernels, so that nvcc may compile fast where it has the flag.
read -r gpus arch < <(bash cmake/find_gpus.sh)
hurry=(-UCMAKE_CUDA_FLAGS)
if [ "$gpus" = 0 ] && [[ $(nvcc --help 2>/dev/null) == *--Ofast-compile* ]]; then
  hurry=('-DCMAKE_CUDA_FLAGS=-Ofc max')
fi
# With -O1 the generator and the runtime take a fifth less to compile. The -O3 that users have, and the warnings that
# GCC gives with it alone, are for --full. With -O1 GCC 12 takes a pointer in Clang's headers for null. Many files as one
# take two thirds of the time; that each of them includes what it needs is for --full.
if [ -n "$full" ]; then
  hurry+=(-UCMAKE_CXX_FLAGS_RELEASE -DTILEPOST_UNITY=ON)
else
  hurry+=('-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -Wno-nonnull' -DTILEPOST_UNITY=ALL)
fi

echo "== build"
configure -UTILEPOST_GENERATED_DIR "$architectures" "${hurry[@]}"
cmake --build --preset ci -j "$jobs"

echo "== tests"
[ -z "$torch" ] || wait "$torch" ||
  notes+=("PyTorch, for the tests of tilepost.torch: pip could not install it: $(tail -1 build/torch.log)")
# One more at a time than there are cores: a part of the tests waits, for deadlines and other processes.
run_tests cpu -j "$((jobs + 1))" -LE "$left_out" "$@"

if [ $# -eq 0 ]; then
  echo "== sanitizers"
  sanitize
fi

echo "== GPU tests"
if [ ! -e $tree/lib/libtilepost_cuda.a ]; then
  skip 2 "gpu tests and all that needs nvcc: no CUDA Toolkit 12.8 or newer, or no NCCL, here"
elif [ "$gpus" -lt 2 ]; then
  skip 2 "gpu tests (stress, dead_rank): two GPUs are needed, this machine has $gpus"
elif [ "$arch" = - ]; then
  skip 2 "gpu tests (stress, dead_rank): tilepost does not generate for these GPUs"
else
  generate_for_gpus $((gpus >= 4 ? 4 : 2)) "$arch"
  configure -DTILEPOST_GENERATED_DIR="$PWD/$tree/gpu-programs"
  cmake --build --preset ci -j "$jobs"
  run_tests gpu -j 1 -L gpu -LE bench "$@"
fi

echo
for note in "${notes[@]}"; do echo "skipped: $note"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
