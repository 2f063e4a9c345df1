#!/usr/bin/env bash
# What inference says of public kernels. Their sources are fetched at their commits into a folder that is not kept;
# nothing of them is in this repository.
#
# Usage: bash tests/corpus/run.sh <build folder> [folder of the sources [flags of check.py]]
set -euo pipefail
build=$1
folder=${2:-$build/corpus}
table=$(dirname "$0")/kernels.txt
sed -n 's/^from: //p' "$table" | sort -u | while IFS=@ read -r repository commit; do
  to=$folder/${repository#*/}
  [ -d "$to" ] && continue
  git clone -q --filter=blob:none "https://github.com/$repository" "$to.part"
  git -C "$to.part" checkout -q "$commit"
  mv "$to.part" "$to"
done
python3 "$(dirname "$0")/check.py" "$build/bin/tilepost" "$table" "$folder" "${@:3}"
