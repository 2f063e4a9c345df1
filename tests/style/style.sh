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
    # The files that need neither LLVM nor CUDA. What clang-tidy takes is mostly for the headers, so many files are one
    # unit: names in their unnamed namespaces differ, which a compiler would say here. Those of runtime/map/steps have
    # functions of the same names by intention. The unit lets them differ by the name of the file, behind the headers.
    need clang-tidy-19
    units=$(mktemp -d)
    trap 'rm -rf "$units"' EXIT
    steps=runtime/map/steps
    include() { sed 's/.*/#include "&"/'; }
    files_of() { find "$@" -name '*.cpp' ! -path "$steps/*" | sort | include; }
    files_of runtime/core >"$units/core.cpp"
    files_of runtime/host >"$units/host.cpp"
    {
      files_of runtime/map runtime/schedule
      find $steps -name '*.h' | include
      twice=$(sed -n 's|^[A-Za-z][^(]* \([a-z_]*\)(.*|\1|p' $steps/*.cpp | sort | uniq -d)
      for file in $steps/*.cpp; do
        of=$(basename "$file" .cpp)
        for name in $twice; do echo "#define $name ${name}_of_$of"; done
        echo "$file" | include
        for name in $twice; do echo "#undef $name"; done
      done
    } >"$units/map.cpp"
    cp .clang-tidy "$units"
    printf '%s\n' "$units"/*.cpp | xargs -P "$(nproc)" -I '{}' clang-tidy-19 --quiet \
      --checks=-bugprone-suspicious-include '{}' -- -std=c++20 -I. -Iinclude
    ;;
  *)
    echo "style.sh: unknown check '$check'" >&2
    exit 2
    ;;
esac
