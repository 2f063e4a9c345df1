#!/usr/bin/env bash
# Compiles CUDA sources to machine code and judges what ptxas says and made. No GPU is needed.
#
# Usage: compile.sh NVCC OPCODES WORK template FILE ARCH [NAME=VALUE…]   a template, un-woven
#        compile.sh NVCC OPCODES WORK woven TOOL SPEC ARCH               what the tool makes of a spec
#        compile.sh NVCC OPCODES WORK probe ARCH                         the opcode counter itself
#        compile.sh NVCC OPCODES WORK mutant FILE SED MESSAGE            gemm_sm90 after a bad edit
# Run in the root. Fails on any warning, spill, stack frame, serialised wgmma (C75xx), and where the
# instructions are not the expected ones.
set -euo pipefail
nvcc=$1 opcodes=$2 work=$3 what=$4
shift 4
mkdir -p "$work"
include=include

fail() { echo "FAIL: $*" >&2; exit 1; }

# compile <source> <arch>: writes kernel.cubin and opcodes.txt.
compile() {
  local log=$work/ptxas.txt
  "$nvcc" -std=c++20 -O3 -I "$include" -I "$work" -cubin -gencode "arch=compute_$2,code=sm_$2" \
    -Xptxas -v -Xcompiler -Wall -Werror all-warnings "$1" -o "$work/kernel.cubin" \
    >"$log" 2>&1 || { cat "$log"; fail "nvcc"; }
  if grep -E 'C75[0-9][0-9]' "$log"; then fail "ptxas serialised wgmma or ignored setmaxnreg"; fi
  grep -q 'bytes stack frame' "$log" || fail "no -v output from ptxas"
  if grep 'bytes stack frame' "$log" | grep -v '^ *0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
  then fail "stack frame or spills"; fi
  sed -n 's/^ptxas info *: Used/used/p' "$log"
  "$opcodes" "$work/kernel.cubin" >"$work/opcodes.txt"
}

# expect <name> <count>: exactly as many of these instructions.
expect() {
  local got
  got=$(sed -n "s/^$1 //p" "$work/opcodes.txt")
  [ "$got" = "$2" ] || fail "$1: $got instructions, expected $2"
}

# expect_matrix <source>: as many matrix instructions as the configuration means. The step loop of
# gemm_sm90 may be unrolled any number of times, that of gemm_sm80 is not.
expect_matrix() {
  local got
  value() { sed -n -E "s/^.*[ (]$1 *= *(tilepost::tunable\(\"[A-Z_]*\", )?([0-9]+)\)?;.*/\2/p" "$2"; }
  if grep -q 'gemm_sm90(' "$1"; then
    expect HMMA 0
    got=$(sed -n 's/^HGMMA //p' "$work/opcodes.txt")
    local per_step=$(($(value kTileM "$1") / 128 * 4))
    [ "$got" -ge $per_step ] && [ $((got % per_step)) -eq 0 ] ||
      fail "HGMMA: $got instructions, expected a multiple of $per_step"
  else
    expect HGMMA 0
    expect HMMA $(($(value kWarpM "$1") / 16 * $(value kWarpN "$1") / 8 * $(value kTileK "$1") / 16))
  fi
  expect MAIN.MEMBAR 0
}

# specialise <template> NAME=VALUE…: writes kernel.cu, the template with other fallbacks.
specialise() {
  local file=$1 setting name
  shift
  cp "templates/$file" "$work/kernel.cu"
  for setting in "$@"; do
    name=${setting%%=*} setting=${setting#*=}
    grep -qE "tunable\(\"$name\"," "$work/kernel.cu" || fail "$file has no tunable '$name'"
    sed -i -E "s/tunable\(\"$name\", [^)]*\)/tunable(\"$name\", $setting)/" "$work/kernel.cu"
  done
}

# Whether SASS can be read: cuobjdump needs nvdisasm beside it.
can_disassemble() { cuobjdump --dump-sass "$work/kernel.cubin" >/dev/null 2>&1; }

# matrix_instructions: those of kernel.cubin in their order, shapes and types included, registers not.
# Where SASS cannot be read only their number.
matrix_instructions() {
  if can_disassemble; then
    cuobjdump --dump-sass "$work/kernel.cubin" | grep -oE '\<(HGMMA|HMMA)[A-Za-z0-9_.]*'
  else
    grep -E '^(HGMMA|HMMA) ' "$work/opcodes.txt"
  fi
}

case $what in
  template)
    file=$1 arch=$2
    shift 2
    specialise "$file" "$@"
    compile "$work/kernel.cu" "$arch"
    expect_matrix "$work/kernel.cu"
    expect MEMBAR.SYS 0
    expect RED 0
    ;;
  woven)
    tool=$1 spec=$2 arch=$3
    "$tool" generate "$spec" --name woven -o "$work"
    compile "$work/woven.cu" "$arch"
    expect_matrix "$work/woven.cu"
    # One place that posts: gemm_sm90's two store warps share its code.
    expect MEMBAR.SYS 1
    expect RED 1
    # Weaving does not touch the main loop: the plain kernel with the same tunables has the same matrix
    # instructions.
    matrix_instructions >"$work/woven.txt"
    mapfile -t tunables < <(python3 -c '
import json, sys
plan = json.load(open(sys.argv[1]))["plans"][0]
print(plan["kernel"]["file"])
for name, value in plan["kernel"]["tunables"].items():
    print(f"{name}={value}")' "$work/woven.plan.json")
    specialise "${tunables[@]}"
    compile "$work/kernel.cu" "$arch"
    matrix_instructions >"$work/plain.txt"
    diff "$work/plain.txt" "$work/woven.txt" || fail "woven and plain differ in matrix instructions"
    can_disassemble || echo "no cuobjdump here: counted, not compared one by one"
    ;;
  probe)
    compile tests/kernels/probe.cu "$1"
    expect HMMA 2
    expect HGMMA "$([ "$1" = 90a ] && echo 1 || echo 0)"
    expect MEMBAR.GPU 1
    expect MEMBAR.SYS 1
    expect RED 1
    expect MAIN.MEMBAR 2
    ;;
  mutant)
    file=$1 edit=$2 message=$3
    rm -rf "$work/include"
    cp -r include "$work/include"
    cp templates/gemm_sm90.cu "$work/kernel.cu"
    include=$work/include
    before=$(cat "$work/$file")
    sed -i -E "$edit" "$work/$file"
    [ "$before" != "$(cat "$work/$file")" ] || fail "'$edit' changes nothing in $file"
    if (compile "$work/kernel.cu" 90a && expect_matrix "$work/kernel.cu") 2>"$work/verdict.txt"; then
      fail "the checks accept $file after '$edit'"
    fi
    grep "$message" "$work/verdict.txt" || { cat "$work/verdict.txt"; fail "not the expected message"; }
    ;;
  *)
    fail "unknown mode '$what'"
    ;;
esac
