#!/usr/bin/env bash
# Checks what inference reports for public kernels. Their sources are fetched at fixed commits into a folder outside
# of the repository, which has none of their code.
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
