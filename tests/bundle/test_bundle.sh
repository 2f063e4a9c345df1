#!/usr/bin/env bash
# `tilepost generate --bundle`. Usage: test_bundle.sh folder|host|cuda|cuda_whole <tilepost>
# The tool is never on PATH when a bundle is built, and nothing of the environment is there.
set -euo pipefail
tool=$(readlink -f "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
specs=$root/tests/specs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "FAIL: $*" >&2
  [ ! -s log ] || tail -30 log >&2
  exit 1
}
# expect CODE 'text' command…: the exit code, and the text in what it says.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" >log 2>&1 </dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit $got, expected $code: ${*//$tool/tilepost}"
  [ -z "$text" ] || grep -qF -- "$text" log || fail "no '$text': ${*//$tool/tilepost}"
}
bundle() { "$tool" generate "$@"; }
alone() { env -i PATH=/usr/bin:/bin "$@"; }
need() { command -v "$1" >/dev/null || { echo "skipped: no $1 here"; exit 77; }; }

# expected_files <host|cuda> <suffix> <name…>: the bundle's files, from this repository and not from the tool.
expected_files() {
  local target=$1 suffix=$2 other name
  shift 2
  if [ "$target" = host ]; then other=cuda; else other=host; fi
  {
    (cd "$root" && find runtime/core runtime/map runtime/schedule "runtime/$target" runtime/harness runtime/verify include -type f \
      -name '*.*' ! -name CMakeLists.txt ! -path "runtime/verify/$other/*" |
      if [ "$target" = host ]; then grep -v '^include/tilepost/device/'; else grep -v '^include/tilepost/host/'; fi)
    printf '%s\n' CMakeLists.txt LICENSE Makefile README.md bundle.list check/check.cpp check/registry.cpp
    [ "$target" = host ] || echo cmake/FindNCCL.cmake
    for name in "$@"; do printf '%s\n' "generated/$name.$suffix" "generated/$name.h" "generated/$name.plan.json"; done
  } | LC_ALL=C sort
}
files_of() { (cd "$1" && find . -type f | sed 's|^\./||' | LC_ALL=C sort); }

check_listing() {
  echo "# what is in it"
  bundle "$specs/ar_host.yaml" "$specs/gemm_host.yaml" --bundle one
  diff <(expected_files host cpp ar_host gemm_host) <(files_of one) || fail "the host bundle holds something else"
  for name in ar_host gemm_host; do grep -q "^| \`$name\` | [0-9]* | .* | host |$" one/README.md || fail "no $name in README"; done
  diff <(files_of one) <(tail -n +2 one/bundle.list) || fail "bundle.list is not what is there"
  bundle "$specs/ar_sm90.yaml" --bundle gpu
  diff <(expected_files cuda cu ar_sm90) <(files_of gpu) || fail "the CUDA bundle holds something else"
  cmp -s one/LICENSE "$root/LICENSE" || fail "another license"
  grep -rnF -e "$dir" -e "$root" -e "$HOME/" one gpu && fail "a path in a bundle"
  (cd one && grep -rn "@[A-Z_]*@" README.md Makefile CMakeLists.txt) && fail "a field was not filled in"
  [ "$(stat -c %a one)" = "$(mkdir plain && stat -c %a plain)" ] || fail "mode $(stat -c %a one)"

  echo "# the same bytes elsewhere"
  mkdir other
  (cd other && LC_ALL=C.UTF-8 TZ=Asia/Tokyo "$tool" generate "$specs/ar_host.yaml" "$specs/gemm_host.yaml" \
    --bundle ./two//)
  diff -r one other/two || fail "another bundle"
  bundle "$specs/ar_host.yaml" --bundle no --dry-run >log
  diff <(expected_files host cpp ar_host | sed 's|^|no/|') log || fail "--dry-run prints something else"
  [ ! -e no ] || fail "--dry-run wrote"
}

check_refusals() {
  echo "# what is refused, and then untouched"
  expect 2 "leave -o and --depfile out" bundle "$specs/ar_host.yaml" --bundle x -o y
  expect 2 "--bundle needs a folder" bundle "$specs/ar_host.yaml" --bundle ""
  mkdir a b && cp "$specs/ar_host.yaml" a && cp "$specs/ar_host.yaml" b
  expect 1 "called 'ar_host', that of 'a/ar_host.yaml' and that of 'b/ar_host.yaml'; change the name in one of the files" \
    bundle a/ar_host.yaml b/ar_host.yaml --bundle x
  expect 1 "called 'both', that of 'a/ar_host.yaml' and that of '$specs/gemm_host.yaml'; --name gives all specs one name" \
    bundle a/ar_host.yaml "$specs/gemm_host.yaml" --name both --bundle x
  sed -i 's/^name: ar_host/name: AR_host/' b/ar_host.yaml
  expect 1 "the operations 'ar_host' of '$specs/ar_host.yaml' and 'AR_host' of 'b/ar_host.yaml' differ in case alone" \
    bundle "$specs/ar_host.yaml" b/ar_host.yaml --bundle x
  expect 1 "a bundle is for one target" bundle "$specs/ar_host.yaml" "$specs/ar_sm90.yaml" --bundle x
  expect 1 "gemm.k" bundle "$specs/ar_host.yaml" -D gemm.k=0 --bundle x
  [ ! -e x ] || fail "a rejected bundle was written"
  mkdir mine && echo kept >mine/notes
  expect 3 "no bundle of tilepost's" bundle "$specs/ar_host.yaml" --bundle mine
  [ "$(files_of mine)" = notes ] || fail "something was written: $(files_of mine)"
  expect 3 "is not a folder" bundle "$specs/ar_host.yaml" --bundle mine/notes
  expect 3 "cannot write bundle" bundle "$specs/ar_host.yaml" --bundle /proc/none/x

  cp -r one bad && echo precious >precious
  for line in ../precious /etc/passwd generated/../../precious a//b .; do
    cp one/bundle.list bad/bundle.list && echo "$line" >>bad/bundle.list
    expect 3 "no path in it" bundle "$specs/ar_host.yaml" --bundle bad
  done
  [ "$(cat precious)" = precious ] || fail "a file outside was touched"
  cp one/bundle.list bad/bundle.list
  echo mine >bad/generated/late.h
  expect 3 "'generated/late.h' is there and not tilepost's" bundle "$specs/ar_host.yaml" --name late --bundle bad
  cp -r one sealed && chmod a-w sealed/generated/ar_host.h
  expect 3 "'generated/ar_host.h': Permission denied: it is read-only" \
    bundle "$specs/ar_host.yaml" "$specs/gemm_host.yaml" -D gemm.k=72 --bundle sealed
  diff -r one sealed || fail "a bundle with a read-only file was changed in part"
  rm -rf sealed
  mkdir outside && rm -r bad/generated && ln -s ../outside bad/generated
  expect 3 "is not a folder" bundle "$specs/ar_host.yaml" --bundle bad
  [ -z "$(ls outside)" ] || fail "written through a link"
}

check_renewal() {
  echo "# what is renewed"
  mkdir empty && bundle "$specs/ar_host.yaml" --bundle empty
  mkdir one/build && echo mine | tee one/build/x.o >one/notes
  touch -d '2001-01-01' one/runtime/core/api.cpp
  echo "// edited" >>one/runtime/core/route.cpp
  rm one/generated/ar_host.h
  # As a renewal that was cut off leaves it.
  mkdir one/.tilepost && echo half >one/.tilepost/half
  mkdir -p one/runtime/older && echo old >one/runtime/older/old.cpp && echo runtime/older/old.cpp >>one/bundle.list
  bundle "$specs/ar_host.yaml" --bundle one
  diff -r -x build -x notes empty one || fail "a renewed bundle is not like a new one"
  [ "$(cat one/notes one/build/x.o)" = "$(printf 'mine\nmine')" ] || fail "a file of the user's was touched"
  [ "$(stat -c %Y one/runtime/core/api.cpp)" -lt 1000000000 ] || fail "an unchanged file was written again"

  echo "# killed, and several at once"
  for delay in 0.02 0.05 0.08 0.11 0.14; do
    { timeout -s KILL $delay "$tool" generate "$specs/ar_host.yaml" --bundle killed; } 2>log || true
    [ ! -e killed ] || diff -r empty killed || fail "killed after $delay s: half a bundle"
    rm -rf killed
  done
  for i in 1 2 3 4; do bundle "$specs/ar_host.yaml" --bundle killed 2>"log$i" & done
  wait
  diff -r empty killed || fail "four at once: half a bundle"
  [ -z "$(find . -name '.*.tilepost' -o -name .tilepost)" ] || fail "left behind: $(find . -name '.*tilepost')"
}

case $1 in
  folder)
    check_listing
    check_refusals
    check_renewal
    ;;
  host)
    need make
    bundle "$specs/ar_host.yaml" "$specs/gemm_host.yaml" "$specs/layer_host.yaml" --bundle bundle
    echo "# make check, alone"
    # The standard library's headers are read once, with the Makefile's own flags. That each file includes what it needs
    # the build shows, and the README's line below.
    cp "$root/cmake/std.h" .
    flags="-O0 -include $dir/std.h"
    expect 0 "" alone c++ -std=c++20 -pthread -fPIC -ffp-contract=off -O0 -x c++-header std.h -o std.h.gch
    expect 0 "# 8 checks, 0 failed" alone make -C bundle -j2 check CXXFLAGS="$flags"
    expect 0 "" alone make -q -C bundle CXXFLAGS="$flags"
    echo "# a program that is linked as the README says"
    cat >app.cpp <<'CODE'
#include "ar_host.h"
#include "gemm_host.h"
int main() {
  tilepost_comm_t comms[4];
  if (tilepost_comm_create_host(4, comms) != TILEPOST_OK) return 1;
  for (tilepost_comm_t comm : comms) tilepost_comm_destroy(comm);
  return ar_host_program() == gemm_host_program();
}
CODE
    sed -n '/^c++ /,/^```/p' bundle/README.md | sed 's/this_folder/bundle/g; /```/d' >link.sh
    expect 0 "" alone sh -e link.sh
    expect 0 "" alone ./app
    echo "# CMake, alone; the whole build is the embedded example's"
    expect 0 "" alone "$(command -v cmake)" -S bundle -B tree
    expect 0 "" alone "$(command -v cmake)" --build tree --target tilepost_operation_gemm_host
    echo "# a fault is found"
    header=bundle/include/tilepost/host/woven.h
    sed -i 's|entry.n, entry.row, |entry.n, view.tiles[view.num_tiles - 1 - position].row, |' $header
    grep -q 'num_tiles - 1 - position' $header || fail "woven.h has changed: adapt this fault"
    expect 2 "first difference at" alone make -C bundle -j2 check CXXFLAGS="$flags"
    ;;
  cuda)
    need make
    [ -x "${CUDA_HOME:=/usr/local/cuda}/bin/nvcc" ] || { echo "skipped: no nvcc in $CUDA_HOME"; exit 77; }
    bundle "$specs/ar_sm90.yaml" --arch sm_80,sm_90a --bundle bundle
    expect 0 "code=sm_90a" alone make -C bundle -n
    echo "# NCCL's header and library come from one folder"
    mkdir -p wheel/include wheel/lib headless
    touch wheel/include/nccl.h wheel/lib/libnccl.so.2
    cp -r wheel/lib headless
    expect 0 "-I$dir/wheel/include" alone make -C bundle -n NCCL_HOME="$dir/wheel"
    expect 0 "$dir/wheel/lib/libnccl.so.2" alone make -C bundle -n NCCL_HOME="$dir/wheel"
    expect 0 "-I$dir/wheel/lib/../include" alone make -C bundle -n NCCL_LIBRARY="$dir/wheel/lib/libnccl.so.2"
    expect 2 "NCCL_HOME: '$dir/headless' has not both include/nccl.h and" alone make -C bundle NCCL_HOME="$dir/headless"
    for object in generated/ar_sm90.cu runtime/core/api.cpp runtime/cuda/op/select.cpp; do
      expect 0 "" alone make -C bundle CXXFLAGS=-O0 CUDA_HOME="$CUDA_HOME" "build/$object.o"
    done
    expect 0 "" alone "$(command -v cmake)" -S bundle -B tree -DCMAKE_CUDA_COMPILER="$CUDA_HOME/bin/nvcc"
    ;;
  cuda_whole)
    need make
    [ -x "${CUDA_HOME:=/usr/local/cuda}/bin/nvcc" ] || { echo "skipped: no nvcc in $CUDA_HOME"; exit 77; }
    bundle "$specs/ar_sm90.yaml" --arch sm_80,sm_90a --bundle bundle
    expect 0 "" alone make -C bundle -j"$(nproc)" CXXFLAGS=-O0 CUDA_HOME="$CUDA_HOME"
    gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU' || true)
    if [ "$gpus" -ge 4 ]; then
      expect 0 "# 2 checks, 0 failed, 0 of 1 programs skipped" bundle/build/self_check
    else
      expect 77 "not run: it takes 4 GPUs, this machine has $gpus" bundle/build/self_check
      expect 2 "Error 77" alone make -C bundle check CUDA_HOME="$CUDA_HOME"
    fi
    ;;
  *) fail "no case '$1'" ;;
esac
echo PASS
