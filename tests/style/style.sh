#!/usr/bin/env bash
# Checks how the sources look. Usage: style.sh format|shell|tidy <build folder>, in the root.
set -euo pipefail
check=$1 build=$2

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
    # The files that need neither LLVM nor CUDA: minutes less, and every one of them is checked.
    need clang-tidy-19
    [ -e "$build/compile_commands.json" ] || { echo "skipped: no $build/compile_commands.json"; exit 77; }
    find runtime/core runtime/map runtime/host -name '*.cpp' -print0 | sort -z |
      xargs -0 -n 3 -P "$(nproc)" clang-tidy-19 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option
    ;;
  *)
    echo "style.sh: unknown check '$check'" >&2
    exit 2
    ;;
esac
