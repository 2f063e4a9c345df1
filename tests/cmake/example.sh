#!/usr/bin/env bash
# Builds an example as its reader would, against the installed tilepost, and runs it.
# Usage: example.sh <example>[_cuda]; the CUDA ones are run only where there are GPUs enough.
. "$(dirname "$0")/common.sh"
export PATH=$PREFIX/bin:$PATH
examples=$SOURCE/examples

gpus() { nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true; }

# run_on_gpus <needed> <text> <program>
run_on_gpus() {
  if [ "$(gpus)" -ge "$1" ]; then
    step "run" "$3"
    says "$2" "$scratch/log"
  else
    echo "# built; not run: needs $1 GPUs, this machine has $(gpus)"
  fi
}

case $1 in
  two_gpus_cuda)
    # The README's commands, with this prefix in the place of ~/.local.
    command -v pkg-config >/dev/null || exit 77
    mkdir -p "$scratch/home"
    ln -s "$PREFIX" "$scratch/home/.local"
    ln -s "$examples" "$scratch/examples"
    sed -n '/^tilepost generate .*-D ranks=2 -o build\/first$/,/^```/p' "$SOURCE/README.md" | grep -v '^```' >"$scratch/commands"
    grep -q '^build/first/two_gpus$' "$scratch/commands" || fail "README.md does not run build/first/two_gpus"
    sed -i '/^build\/first\/two_gpus$/d' "$scratch/commands"
    cd "$scratch" || exit
    HOME=$scratch/home step "README's first program" bash -e "$scratch/commands"
    [ -x build/first/two_gpus ] || fail "no program"
    run_on_gpus 2 "rank 0: 0 elements wrong" "$scratch/build/first/two_gpus"
    ;;
  build_time)
    build "$scratch/tree" -S "$examples/01_build_time" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX"
    step "run" "$scratch/tree/build_time"
    says "512 x 384 summed over 4 ranks, 0 elements wrong" "$scratch/log"
    ;;
  build_time_cuda)
    # In a project that has relocatable device code everywhere else, which kernels for sm_90a refuse.
    build "$scratch/tree" -S "$examples/01_build_time" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX" \
      "-DARCHS=80;90a" -DCMAKE_CUDA_SEPARABLE_COMPILATION=ON
    run_on_gpus 4 "summed over 4 GPUs, 0 elements wrong" "$scratch/tree/build_time"
    [ -x "$scratch/tree/build_time_torchrun" ] || fail "no program for torchrun"
    [ -x "$scratch/tree/build_time_mpi" ] || echo "# no MPI here: main_mpi.cpp is not compiled"
    ;;
  command_line)
    for shape in "512 320 96" "129 65 7"; do
      # shellcheck disable=SC2086
      step "run.sh $shape" bash "$examples/02_command_line/run.sh" -o "$scratch/out" $shape
      says "right on all 4 ranks" "$scratch/log"
      says "plan: ${shape// / x }, tiles of" "$scratch/log"
    done
    PATH=$BUILD/bin:$PATH step "run.sh from the build folder" bash "$examples/02_command_line/run.sh" -o "$scratch/built"
    says "right on all 4 ranks" "$scratch/log"
    ;;
  command_line_cuda)
    for arch in 80 90a; do
      step "run.sh -a $arch" bash "$examples/02_command_line/run.sh" -a "$arch" -o "$scratch/out"
      [ -x "$scratch/out/proj" ] || fail "no program"
    done
    ;;
  run_time)
    step "catalogue" tilepost catalogue "$examples/09_run_time/any_shape.yaml" -o "$scratch/kernels"
    # The program plans and runs where neither a compiler nor tilepost is.
    build "$scratch/tree" -S "$examples/09_run_time" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX"
    for shape in "4 500 320 96" "2 77 1000 64" "3 1 1 1"; do
      # shellcheck disable=SC2086
      step "run $shape" env -i "$scratch/tree/run_time" "$scratch/kernels" $shape
      says ", 0 elements wrong" "$scratch/log"
    done
    env -i "$scratch/tree/run_time" "$scratch/kernels" 2 0 64 64 >"$scratch/log" 2>&1 && fail "0 rows are planned"
    says "tilepost_program_make: gemm.m={max: 0}: " "$scratch/log"
    ldd "$scratch/tree/run_time" | grep -iE 'llvm|clang|fmt|cuda' && fail "it needs libraries that it must not"
    ;;
  embedded)
    step "bundles" bash "$examples/03_embedded/make_bundles.sh" "$scratch/bundle"
    # Nothing of tilepost and of this environment is there. A unity build without optimisation takes a third of the
    # time; tests/bundle has the files one by one.
    alone=(env -i PATH=/usr/bin:/bin "$CMAKE")
    step "configure" "${alone[@]}" -S "$examples/03_embedded" -B "$scratch/tree" \
      -DEMBEDDED_BUNDLES="$scratch/bundle" -DTILEPOST_BUNDLE_CHECK=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_UNITY_BUILD=ON
    step "build" "${alone[@]}" --build "$scratch/tree" -j "$(nproc)"
    step "run" "$scratch/tree/embedded"
    says "attn_out: 3 steps on 4 ranks, right" "$scratch/log"
    step "self-check" env -i PATH=/usr/bin:/bin "$(dirname "$CMAKE")/ctest" --test-dir "$scratch/tree" -V
    says "# 2 checks, 0 failed, 0 of 1 programs skipped" "$scratch/log"
    ;;
  embedded_cuda)
    # The generated sources; the whole runtime is for tests/full.sh.
    step "bundles" bash "$examples/03_embedded/make_bundles.sh" "$scratch/bundle"
    step "configure" "$CMAKE" -S "$examples/03_embedded" -B "$scratch/tree" -G Ninja \
      -DEMBEDDED_BUNDLES="$scratch/bundle" -DEMBEDDED_CUDA=ON
    step "build" "$CMAKE" --build "$scratch/tree" --target tilepost_operation_attn_out_cuda
    ;;
  experts)
    build "$scratch/tree" -S "$examples/08_experts" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX"
    step "run" "$scratch/tree/experts"
    says "rank 1: 54 tokens by 4 of 16 experts each, off by 0.00" "$scratch/log"
    says "right" "$scratch/log"
    ;;
  mlp)
    build "$scratch/tree" -S "$examples/04_tensor_parallel_mlp" -G Ninja \
      -DCMAKE_PREFIX_PATH="$PREFIX"
    step "run" "$scratch/tree/tensor_parallel_mlp"
    says "603 tokens, hidden 128, inner 352 on 4 ranks, 0 elements wrong" "$scratch/log"
    ;;
  mlp_cuda)
    build "$scratch/tree" -S "$examples/04_tensor_parallel_mlp" -G Ninja \
      -DCMAKE_PREFIX_PATH="$PREFIX" "-DARCHS=80;90a"
    run_on_gpus 4 "on 4 GPUs, 0 elements wrong" "$scratch/tree/tensor_parallel_mlp"
    ;;
  own_kernel)
    spec=$examples/05_own_kernel/down_proj.yaml
    step "check" tilepost check "$spec"
    step "verify on the CPU" tilepost verify "$spec" --target host -D gemm.m=200 -D gemm.n=144 -D gemm.k=40 --runs 1
    says "bits: 28800 elements as my::tiled_gemm<64, 64> gives them" "$scratch/log"
    step "verify marks on the CPU" tilepost verify "${spec/down_proj/persistent}" --target host -D gemm.m=256 \
      -D gemm.n=80 -D gemm.k=24 --runs 1
    says "bits: 20480 elements as my::persistent_gemm<64, 64> gives them" "$scratch/log"
    step "check a launcher" tilepost check "${spec/down_proj/scaled}"
    ;;
  own_kernel_cuda)
    # Without the spec's own: include folders and macros are those of the target.
    cp -r "$examples/05_own_kernel" "$scratch/own"
    sed -i '/include_dirs:/d; /defines:/d' "$scratch"/own/*.yaml
    build "$scratch/tree" -S "$scratch/own" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX" -DARCHS=90a
    run_on_gpus 4 "summed over 4 GPUs, 0 elements wrong" "$scratch/tree/own_kernel"
    woven=$scratch/tree/tilepost/down_proj/down_proj.cu
    before=$(stat -c %Y "$woven")
    sleep 1
    sed -i 's/kPerThread = 4;/kPerThread = 2 * 2;/' "$scratch/own/kernels/include/my/tile.h"
    step "build after an edit of the header" "$CMAKE" --build "$scratch/tree"
    [ "$(stat -c %Y "$woven")" -gt "$before" ] || fail "not woven again after an edit of the kernel's header"
    grep -q "kPerThread = 2 \* 2" "$woven" || fail "the edit is not in what was woven"
    ;;
  cutlass_cuda)
    cutlass=$(bash "$SOURCE/tests/own/find_cutlass.sh" "$BUILD/cutlass") || exit 77
    build "$scratch/tree" -S "$examples/06_cutlass" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_FLAGS=-Xptxas=-v -DCUTLASS_INCLUDE="$cutlass"
    [ "$(grep -c " 0 bytes spill stores" "$scratch/log")" -ge 2 ] || fail "ptxas says nothing of two kernels"
    ! grep -E "[1-9][0-9]* bytes spill|C7510" "$scratch/log" || fail "registers are spilled, or wgmma is serialised"
    ;;
  *) fail "no example '$1'" ;;
esac
echo PASS
