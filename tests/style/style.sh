#!/usr/bin/env bash
# Checks how the sources look. Usage: style.sh format|shell|tidy, in the root.
set -euo pipefail
check=$1

# need <program>: skips this check where the program is missing.
need() {
  command -v "$1" >/dev/null || { echo "skipped: no $1 here"; exit 77; }
}

# sources <pattern…>: the project's own files of these names. Generated ones are not its own, and the
# kernels under refuse/ stand as a user might write them, with places that tests count on.
sources() {
  local names=()
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  find . \( -path './.?*' -o -path ./build -o -path '*/generated' -o -path '*/expected' \
    -o -path ./tests/refuse/kernels \) -prune -o -type f \( "${names[@]:1}" \) -print0 | sort -z
}

case $check in
  format)
    need clang-format-14
    sources '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 clang-format-14 --dry-run -Werror
    ;;
  shell)
    while IFS= read -r -d '' script; do bash -n "$script"; done < <(sources '*.sh')
    need shellcheck
    # 1090, 1091, 2154: what is sourced lies beside the script.  2046: word splitting is meant there.
    sources '*.sh' | xargs -0 shellcheck -S warning -e SC1090,SC1091,SC2154,SC2046
    ;;
  tidy)
    # The files that need neither LLVM nor CUDA. What clang-tidy takes is mostly for the headers, so the files of a
    # folder are one unit: names in their unnamed namespaces differ, which a compiler would say here. Those of
    # runtime/map/steps have the same names by intention and stand alone.
    need clang-tidy-19
    units=$(mktemp -d)
    trap 'rm -rf "$units"' EXIT
    alone=runtime/map/steps
    find runtime/core runtime/map runtime/schedule runtime/host -type d ! -path $alone | while read -r folder; do
      find "$folder" -maxdepth 1 -name '*.cpp' | sort | sed 's/.*/#include "&"/' >"$units/${folder//\//_}.cpp"
    done
    find $alone -name '*.cpp' | sort >"$units/alone"
    cp .clang-tidy "$units"
    { find "$units" -name '*.cpp' -printf '%s %p\n' | sort -rn | cut -d ' ' -f 2 && cat "$units/alone"; } |
      xargs -P "$(nproc)" -I '{}' clang-tidy-19 --quiet --checks=-bugprone-suspicious-include '{}' -- \
        -std=c++20 -I. -Iinclude
    ;;
  *)
    echo "style.sh: unknown check '$check'" >&2
    exit 2
    ;;
esac
