#!/usr/bin/env bash
# Whether two builds of the tool generate the same: plans and code of patterns by transports by
# architectures by types, 60 specs and more. For changes that shall change nothing.
#
# Usage: compare.sh <old tilepost> <new tilepost> [sed script]
# The sed script is applied to what the old tool wrote: names that were changed by intention.
set -euo pipefail
old=$1 new=$2 renamed=${3:-}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
specs=0 same=0 refused=0

# make <tool> <folder> <pattern> <transport> <arch> <type> <m>
make() {
  cat >"$out/spec.yaml" <<EOF
tilepost: 1
name: compared
pattern: $3
ranks: 2
arch: $5
transport: $4
gemm: {m: $7, n: 4096, k: 2048, a: $6}
EOF
  "$1" generate "$out/spec.yaml" -o "$out/$2" >"$out/$2.log" 2>&1
}

for pattern in gemm gemm_all_reduce gemm_reduce_scatter gemm_all_to_all all_gather_gemm all_to_all_gemm; do
  for transport in auto nccl nccl_symmetric copy_engine peer peer_tiles none; do
    for variant in "sm_90a bf16 4096" "sm_90a bf16 {max:3000}" "sm_90a e4m3 8192" "sm_90a f16 64" "sm_80 bf16 2048" \
      "host bf16 512"; do
      read -r arch type m <<<"$variant"
      m=${m/max:/max: }
      rm -rf "$out/old" "$out/new"
      specs=$((specs + 1))
      make "$old" old $pattern $transport "$arch" "$type" "$m" && was=0 || was=$?
      make "$new" new $pattern $transport "$arch" "$type" "$m" && is=0 || is=$?
      if [ -n "$renamed" ] && [ -d "$out/old" ]; then sed -i -E -f "$renamed" "$out"/old/* "$out"/new/*; fi
      if [ $was -ne $is ] || { [ $was -eq 0 ] && ! diff -r "$out/old" "$out/new" >"$out/diff"; } ||
        { [ $was -ne 0 ] && ! diff "$out/old.log" "$out/new.log" >"$out/diff"; }; then
        echo "differs: $pattern by $transport, $variant (exit codes $was, $is)"
        head -20 "$out/diff" 2>/dev/null || true
      elif [ $was -ne 0 ]; then
        refused=$((refused + 1))
      else
        same=$((same + 1))
      fi
    done
  done
done
echo "$specs specs: $same the same, $refused refused alike, $((specs - same - refused)) differ"
[ $((same + refused)) -eq $specs ]
