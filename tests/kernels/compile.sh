#!/usr/bin/env bash
# Compiles CUDA sources to machine code and checks both what ptxas reports and the code. No GPU is needed.
#
# Usage: compile.sh NVCC OPCODES WORK template FILE ARCH [NAME=VALUE…]   a template, un-woven
#        compile.sh NVCC OPCODES WORK plain|stores TOOL WHICH PART PARTS WEAVER
#                                                                        every PARTS-th from PART on of
#                                                                        the variants of variants.py,
#                                                                        which says what they are; stores
#                                                                        by WEAVER (weave_template.cpp)
#        compile.sh NVCC OPCODES WORK woven TOOL SPEC ARCH [ARG…]        what the tool makes of a spec
#        compile.sh NVCC OPCODES WORK own TOOL SPEC ARCH FILE KERNEL [ARG…]
#                                                                        the same of a kernel of a user's own,
#                                                                        which is KERNEL of FILE
#        compile.sh NVCC OPCODES WORK probe ARCH                         the opcode counter itself
#        compile.sh NVCC OPCODES WORK mutant FILE SED MESSAGE            gemm_sm90 after a bad edit
#        compile.sh NVCC OPCODES WORK refused MESSAGE ARCH FILE FLAG…    what preprocessing says under flags;
#                                                                        MESSAGE taken: nothing is said
# Run in the root. Fails on any warning, spill, stack frame or serialised wgmma (C75xx), if the instructions are not
# the expected ones, and if nvcc takes more than ten seconds of CPU time for a file.
set -euo pipefail
nvcc=$1 opcodes=$2 work=$3 what=$4
shift 4
mkdir -p "$work"
include=include

fail() { echo "FAIL: $*" >&2; exit 1; }

limit=10000 slowest=0

# run_nvcc <source> <arch>: compiles the source and writes kernel.cubin and ptxas.txt.
run_nvcc() {
  local log=$work/ptxas.txt TIMEFORMAT=%U seconds ms
  { time "$nvcc" -std=c++20 -O3 -I "$include" -I "$work" -cubin \
    -gencode "arch=compute_$2,code=sm_$2" -Xptxas -v -Xcompiler -Wall -Werror all-warnings "$1" \
    -o "$work/kernel.cubin" >"$log" 2>&1; } 2>"$work/time.txt" || { cat "$log"; fail "nvcc"; }
  seconds=$(tail -1 "$work/time.txt")
  ms=$((10#${seconds/./}))
  [ "$ms" -le "$limit" ] || fail "nvcc took $seconds s, more than $((limit / 1000)) s"
  [ "$ms" -le "$slowest" ] || slowest=$ms
  if grep -E 'C75[0-9][0-9]' "$log"; then fail "ptxas serialised wgmma or ignored setmaxnreg"; fi
}

# judge <log> [TEXT]: fails on stack frames and spills in the log. Writes opcodes.txt, of kernels with TEXT in their
# names.
judge() {
  local log=$1
  grep -q 'bytes stack frame' "$log" || fail "no -v output from ptxas"
  if grep 'bytes stack frame' "$log" | grep -v '^ *0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
  then fail "stack frame or spills"; fi
  sed -n 's/^ptxas info *: Used/used/p' "$log"
  "$opcodes" "$work/kernel.cubin" "${@:2}" >"$work/opcodes.txt"
}

# compile <source> <arch>: writes kernel.cubin and opcodes.txt.
compile() {
  run_nvcc "$@"
  judge "$work/ptxas.txt"
}

number_of() { sed -n "s/^$1 //p" "$work/opcodes.txt"; }

# expect <name> <count>: expects exactly <count> instructions <name>.
expect() {
  local got
  got=$(number_of "$1")
  [ "$got" = "$2" ] || fail "$1: $got instructions, expected $2"
}

# expect_multiple <name> <count>: expects <count> instructions <name> or a multiple of <count>.
expect_multiple() {
  local got
  got=$(number_of "$1")
  [ "$got" -ge "$2" ] && [ $((got % $2)) -eq 0 ] ||
    fail "$1: $got instructions, expected a multiple of $2"
}

expect_more() {
  local got
  got=$(number_of "$1")
  [ "$got" -gt "$2" ] || fail "$1: $got instructions, expected more than $2"
}

# expect_matrix <arch>: expects the matrix instructions that the configuration in kernel.cu means, of the kind that
# its element type has. One instruction takes 32 bytes of K. The wgmma kernels' rows have 128 bytes, and their loops
# over stages may be unrolled any number of times. The loop of gemm_sm80 is not unrolled. sm_90a has no mma of e4m3:
# ptxas makes two of f16.
expect_matrix() {
  local arch=$1 kind=H size=2 name count
  value() { sed -n -E "s/.*tilepost::tunable\(\"$1\", ([0-9]+)\);.*/\1/p" "$work/kernel.cu"; }
  if grep -q 'tunable("ELEMENT", .*DType::e4m3' "$work/kernel.cu"; then kind=Q size=1; fi
  if grep -q 'gemm_sm90(' "$work/kernel.cu"; then
    local divided sharers
    divided=$(value TILE_M)
    if [ "$(value SWAP)" = 1 ]; then divided=$(($(value TILE_N) / $(value ACROSS))); fi
    if [ "$(value PINGPONG)" = 1 ]; then sharers=1; else sharers=$(value CONSUMERS); fi
    name=${kind}GMMA count=$((divided / sharers / 64 * 4))
  elif grep -q 'gemm_sm90_small(' "$work/kernel.cu"; then
    name=${kind}GMMA count=$(($(value TILE_M) <= 64 ? 8 : 4))
  elif grep -q 'gemm_sm90_experts(' "$work/kernel.cu"; then
    name=${kind}GMMA count=$(($(value TILE_M) / $(value DOWN) / 16 * 8)) # a loop for each multiple of 16 rows
  else
    name=${kind}MMA
    count=$(($(value WARP_M) / 16 * $(value WARP_N) / 8 * $(value TILE_K) * size / 32))
    if [ "$name $arch" = "QMMA 90a" ]; then name=HMMA count=$((2 * count)); fi
  fi
  for other in HGMMA HMMA QGMMA QMMA; do
    [ "$other" = "$name" ] || expect "$other" 0
  done
  case $name in *GMMA) expect_multiple "$name" "$count" ;; *) expect "$name" "$count" ;; esac
  expect MAIN.MEMBAR 0
}

# check_template <file> <arch> [NAME=VALUE…]: compiles and checks a variant, un-woven.
check_template() {
  make_template "$@"
  compile "$work/source.cu" "$2"
  expect_template "$2"
}
make_template() {
  local file=$1
  shift 2
  specialise "$file" "$@"
  cp "$work/kernel.cu" "$work/source.cu"
}
expect_template() {
  expect_matrix "$1"
  expect MEMBAR.SYS 0
  expect RED 0
}

# specialise <template> NAME=VALUE…: writes kernel.cu, the template with these values as its tunables' fallbacks.
specialise() {
  local file=$1 setting name
  shift
  cp "templates/$file" "$work/kernel.cu"
  for setting in "$@"; do
    name=${setting%%=*} setting=${setting#*=}
    grep -qF "tunable(\"$name\"," "$work/kernel.cu" || fail "$file has no tunable '$name'"
    sed -i -E "s/tunable\(\"$name\", [^)]*\)/tunable(\"$name\", $setting)/" "$work/kernel.cu"
  done
}

# Whether SASS can be read: cuobjdump needs nvdisasm beside it.
can_disassemble() { cuobjdump --dump-sass "$work/kernel.cubin" >/dev/null 2>&1; }

# matrix_instructions [TEXT]: prints the matrix instructions of kernels with TEXT in their names, in order, with
# shapes and types but without registers. Where SASS cannot be read it prints only their number.
matrix_instructions() {
  if can_disassemble; then
    cuobjdump --dump-sass "$work/kernel.cubin" | awk -v text="${1:-}" '/Function :/ { ours = index($0, text) } ours || text == ""' |
      grep -oE '\<[HQ]G?MMA[A-Za-z0-9_.]*'
  else
    "$opcodes" "$work/kernel.cubin" "$@" | grep -E '^[HQ]G?MMA '
  fi
}

# for_each_variant <what> <kind> TOOL WHICH PART PARTS: calls check_<what> for this part's variants of the kind. Up to
# four variants of one template and architecture make a group, and every PARTS-th group is this part's. A group is
# first compiled as one source, with a namespace for each variant, since nvcc spends most of its time on headers. Only
# if that fails or takes longer than one variant may, each is checked alone. Every check has a shell of its own, so
# that one failure does not hide the next.
for_each_variant() {
  local what=$1 kind=$2 tool=$3 which=$4 part=$5 parts=$6 wrong=0 count=0 alone=0 line slow=nothing group=() last=0 number
  "$tool" list variants | python3 tests/kernels/variants.py "$kind" "$which" >"$work/variants.txt"
  while read -r number line; do
    if [ "$number" != "$last" ] && [ ${#group[@]} -gt 0 ]; then
      check_group
      group=()
    fi
    last=$number
    group+=("$line")
  done < <(awk -v part="$part" -v parts="$parts" '
    { if ($1 " " $2 != key || in_it == 4) { number += 1; in_it = 0; key = $1 " " $2 }
      in_it += 1
      if (number % parts == part) print number, $0 }' "$work/variants.txt"; echo 0)
  echo "$count right, $wrong wrong, $alone looked at alone; slowest: $slowest ms of CPU time for $slow"
  [ "$wrong" -eq 0 ] && [ "$count" -gt 0 ] || fail "$wrong of $((count + wrong)) variants"
}

# check_group: checks the variants in `group` together, or if that fails one by one.
check_group() {
  local variant
  if [ ${#group[@]} -gt 1 ] && took check_together "${group[@]}"; then
    count=$((count + ${#group[@]}))
    return
  fi
  for line in "${group[@]}"; do
    read -r -a variant <<<"$line"
    alone=$((alone + 1))
    if took "check_$what" "${variant[@]}"; then
      count=$((count + 1))
    else
      echo "FAIL: $line"
      cat "$work/report.txt"
      wrong=$((wrong + 1))
    fi
  done
}

# took <command> [ARG…]: calls the command in a shell of its own and keeps how long nvcc took.
took() {
  local ms
  ("$@" && echo "$slowest" >"$work/ms.txt") >"$work/report.txt" 2>&1 || return 1
  ms=$(cat "$work/ms.txt")
  if [ "$ms" -gt "$slowest" ]; then slowest=$ms slow="${*:2:1}"; fi
}

# check_together <variant>…: each variant is "FILE ARCH NAME=VALUE…", all of one template and architecture. Checks
# each variant's kernel as check_<what> does. Writes together.cu.
check_together() {
  local variant arch i=0
  rm -rf "$work/together"
  mkdir "$work/together"
  for line in "$@"; do
    read -r -a variant <<<"$line"
    arch=${variant[1]} i=$((i + 1))
    "make_$what" "${variant[@]}" || return 1
    cp "$work/kernel.cu" "$work/together/kernel_$i.cu"
    cp "$work/source.cu" "$work/together/source_$i.cu"
  done
  {
    cat "$work"/together/source_*.cu | grep '^#include' | awk '!seen[$0]++'
    for i in $(seq $#); do
      echo "namespace variant_${i}_ {"
      grep -v '^#include' "$work/together/source_$i.cu"
      echo "}"
    done
  } >"$work/together.cu"
  run_nvcc "$work/together.cu" "$arch"
  [ "$(grep -c 'Compiling entry function' "$work/ptxas.txt")" = $# ] || fail "not as many kernels as variants"
  for i in $(seq $#); do
    awk -v name="variant_${i}_" '/Compiling entry function/ { ours = index($0, name) } ours' "$work/ptxas.txt" \
      >"$work/together/ptxas.txt"
    cp "$work/together/kernel_$i.cu" "$work/kernel.cu"
    judge "$work/together/ptxas.txt" "variant_${i}_"
    "expect_$what" "$arch"
  done
}

# check_stores <file> <arch> NAME=VALUE…: checks a variant that is woven with stores into other ranks' memory.
check_stores() {
  make_stores "$@"
  compile "$work/source.cu" "$2"
  expect_stores "$2"
}
make_stores() {
  local file=$1
  shift 2
  "$weaver" "$file" "$@" >"$work/source.cu"
  specialise "$file" "$@"
}
expect_stores() {
  expect_matrix "$1"
  # One place posts, and one waits between a tile's stores. The wait may be unrolled.
  expect MEMBAR.SYS 1
  expect RED 1
  expect_multiple NANOSLEEP 1
}

# expect_woven: checks the woven kernel of which opcodes.txt lists the instructions.
expect_woven() {
  local posts releases
  expect_matrix "$arch"
  # One place posts: gemm_sm90's two store warps share its code. A kernel whose rows of A arrive polls counters and
  # posts nothing. It pauses while it polls; so does one that spreads its stores to other ranks in time. Loops with
  # pauses may be unrolled. A kernel without overlap counts tiles and releases nothing. A helper warp posts after
  # every kind of task that it has.
  posts=1 releases=1
  if grep -q '"division": "arrivals"' "$work/woven.plan.json"; then posts=0 releases=0; fi
  if grep -q '"transport": "none"' "$work/woven.plan.json"; then releases=0; fi
  if grep -q '"experts"' "$work/woven.plan.json"; then posts=0; fi # how many tiles there are is not known
  if grep -qE '"division": "arrivals"|"transport": "peer(_tiles)?"' "$work/woven.plan.json"; then
    expect_multiple NANOSLEEP 1
  else
    expect NANOSLEEP 0
  fi
  if [[ " ${tunables[*]}" =~ \ HELPER_WARPS=[1-9] ]]; then
    # Fences precede the stores of flags for other ranks. A run in sequence counts tiles, if any run does.
    expect_more MEMBAR.SYS 0
    expect RED "$posts"
  elif [[ " ${tunables[*]}" =~ \ FUSED=[1-9] ]]; then
    # Fences precede the stores of flags. A run in sequence counts tiles.
    expect_more MEMBAR.SYS 0
    expect RED "$posts"
  elif [[ " ${tunables[*]}" =~ \ HELPER_BYTES=[1-9] ]]; then
    expect_more MEMBAR.SYS "$releases"
    expect_more RED "$posts"
  else
    expect MEMBAR.SYS "$releases"
    expect RED "$posts"
  fi
}

# check_pair: compiles woven.cu and the plain kernel.cu as one source, pair.cu, and compares their matrix
# instructions.
check_pair() {
  local text=tilepost_gen_woven
  {
    cat "$work/woven.cu"
    grep '^#include' "$work/kernel.cu"
    echo "namespace plain_kernel_ {"
    grep -v '^#include' "$work/kernel.cu"
    echo "}"
  } >"$work/pair.cu"
  run_nvcc "$work/pair.cu" "$arch"
  grep 'Compiling entry function' "$work/ptxas.txt" >"$work/kernels.txt"
  [ "$(grep -c plain_kernel_ "$work/kernels.txt")" = 1 ] && ! grep -v "plain_kernel_\|$text" "$work/kernels.txt" ||
    fail "other kernels than those"
  judge "$work/ptxas.txt" "$text"
  expect_woven
  matrix_instructions "$text" >"$work/woven.txt"
  matrix_instructions plain_kernel_ >"$work/plain.txt"
  [ -s "$work/plain.txt" ] || fail "no plain matrix instructions"
  diff "$work/plain.txt" "$work/woven.txt" || fail "woven and plain differ in matrix instructions"
}

case $what in
  template)
    check_template "$@"
    ;;
  plain)
    for_each_variant template plain "${@:1:4}"
    ;;
  stores)
    weaver=$5
    for_each_variant stores stores "${@:1:4}"
    ;;
  woven)
    tool=$1 spec=$2 arch=$3
    shift 3
    "$tool" generate "$spec" "$@" --name woven -o "$work"
    mapfile -t tunables < <(python3 -c '
import json, sys
plan = json.load(open(sys.argv[1]))["plans"][0]
print(plan["kernel"]["file"])
for name, value in plan["kernel"]["tunables"].items():
    print(f"{name}={value}")' "$work/woven.plan.json")
    specialise "${tunables[@]}"
    # Weaving does not touch the main loop: the plain kernel with the same tunables has the same matrix instructions.
    # Both kernels are one source first. If that fails, each is compiled alone.
    if ! took check_pair; then
      compile "$work/woven.cu" "$arch"
      expect_woven
      matrix_instructions >"$work/woven.txt"
      compile "$work/kernel.cu" "$arch"
      matrix_instructions >"$work/plain.txt"
      diff "$work/plain.txt" "$work/woven.txt" || fail "woven and plain differ in matrix instructions"
      echo "looked at one by one"
    fi
    can_disassemble || echo "no cuobjdump here: counted, not compared one by one"
    ;;
  own)
    tool=$1 spec=$2 arch=$3 file=$4 kernel=$5
    shift 5
    "$tool" generate "$spec" "$@" --name woven -o "$work"
    compile "$work/woven.cu" "$arch"
    posts=1
    if grep -q '"transport": "none"' "$work/woven.plan.json"; then posts=0; fi
    expect MEMBAR.SYS "$posts"
    expect RED 1
    expect MAIN.MEMBAR 0
    matrix_instructions >"$work/woven.txt"
    printf '#include "%s"\nconst void* kernel() { return reinterpret_cast<const void*>(&%s); }\n' \
      "$(realpath "$file")" "$kernel" >"$work/kernel.cu"
    compile "$work/kernel.cu" "$arch"
    matrix_instructions >"$work/plain.txt"
    [ "$(grep -cE 'MMA [1-9]|MMA\.' "$work/plain.txt")" -gt 0 ] || fail "the plain kernel has no matrix instructions"
    diff "$work/plain.txt" "$work/woven.txt" || fail "woven and plain differ in matrix instructions"
    can_disassemble || echo "no cuobjdump here: counted, not compared one by one"
    ;;
  probe)
    compile tests/kernels/probe.cu "$1"
    expect HMMA "$([ "$1" = 90a ] && echo 4 || echo 2)"
    expect QMMA "$([ "$1" = 89 ] && echo 1 || echo 0)"
    expect HGMMA "$([ "$1" = 90a ] && echo 1 || echo 0)"
    expect QGMMA "$([ "$1" = 90a ] && echo 1 || echo 0)"
    expect MEMBAR.GPU 1
    expect MEMBAR.SYS 1
    expect RED 1
    expect NANOSLEEP 1
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
    if (compile "$work/kernel.cu" 90a && expect_matrix 90a) 2>"$work/verdict.txt"; then
      fail "the checks accept $file after '$edit'"
    fi
    grep "$message" "$work/verdict.txt" || { cat "$work/verdict.txt"; fail "not the expected message"; }
    ;;
  refused)
    message=$1 arch=$2 file=$3
    shift 3
    if "$nvcc" -std=c++20 -I "$include" -gencode "arch=compute_$arch,code=sm_$arch" "$@" -E "$file" \
      >"$work/preprocessed.txt" 2>"$work/verdict.txt"; then
      [ "$message" = taken ] || fail "$file is taken with $*"
    else
      [ "$message" != taken ] && grep -F "$message" "$work/verdict.txt" ||
        { cat "$work/verdict.txt"; fail "not the expected message"; }
    fi
    ;;
  *)
    fail "unknown mode '$what'"
    ;;
esac
