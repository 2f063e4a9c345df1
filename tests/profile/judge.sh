#!/usr/bin/env bash
# Profiles a machine of two GPUs, with peer access and as if there were none, and judges both profiles by shapes that
# nothing was fitted to. Usage: judge.sh <tilepost> <folder> [shapes of each pattern, default 6] [seed, default 77]
# It leaves the profiles, the measurements, what bench wrote and the errors in the folder.
set -eu
export NCCL_NVLS_ENABLE=0 # a program that hangs in NVLink multicast can take a host's GPUs with it
tool=$(readlink -f "$1")
mkdir -p "$2"
out=$(readlink -f "$2")
count=${3:-6} seed=${4:-77}
here=$(cd "$(dirname "$0")" && pwd)
specs=$here/../bench/shapes
timed() { local begin=$SECONDS; "$@"; echo "$(basename "$1") $2: $((SECONDS - begin)) s"; }

timed "$tool" profile -o "$out/peers.yaml" --measurements "$out/peers.jsonl" --cache "$out/cache" | tee "$out/peers.txt"
timed "$tool" profile --without-peer-access -o "$out/apart.yaml" --measurements "$out/apart.jsonl" --cache "$out/cache" |
  tee "$out/apart.txt"
for pattern in reduce_scatter all_reduce all_to_all all_gather; do
  # shellcheck disable=SC2046
  set -- $(python3 "$here/judge.py" shapes "$seed" "$count")
  "$tool" bench "$specs/$pattern.yaml" -D ranks=2 "$@" --machine "$out/peers.yaml" --mode cool --rounds 20 \
    --json "$out/peers_$pattern.json" --cache "$out/cache" || true
  NCCL_P2P_DISABLE=1 "$tool" bench "$specs/$pattern.yaml" -D ranks=2 "$@" --machine "$out/apart.yaml" --mode cool \
    --rounds 20 --json "$out/apart_$pattern.json" --cache "$out/cache" || true
done
for machine in peers apart; do
  echo "== $machine"
  python3 "$here/judge.py" errors "$out/$machine"_*.json | tee "$out/$machine.errors"
done
