#!/usr/bin/env bash
# Installs with apt what building tilepost needs and this machine lacks (Debian 12, Ubuntu 24.04).
# Usage: install_packages.sh build [test]
# What is there already, from wherever, is left alone. Elsewhere: says what is missing.
set -euo pipefail

llvm=/usr/lib/llvm-19
missing=()

# need <package> <command…>: the package is missing if the command fails.
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
have() { command -v "$1"; }
have_cmake() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version //p')
  [ "$(printf '3.25\n%s\n' "$version" | sort -V | head -1)" = 3.25 ]
}

for group in "$@"; do
  case $group in
    build)
      need g++ have g++
      need cmake have_cmake
      need ninja-build have ninja
      need llvm-19-dev test -e $llvm/include/llvm/Support/YAMLTraits.h
      need libclang-19-dev test -e $llvm/include/clang/Tooling/Tooling.h
      need libfmt-dev test -e /usr/include/fmt/format.h
      need clang-19 test -e $llvm/lib/cmake/clang/ClangConfig.cmake
      ;;
    test)
      need catch2 test -e /usr/include/catch2/catch.hpp -o -e /usr/include/catch2/catch_all.hpp
      need make have make
      need python3 have python3
      need python3-venv python3 -c 'import ensurepip'
      need pkg-config have pkg-config
      need shellcheck have shellcheck
      need clang-format-14 have clang-format-14
      need clang-tidy-19 have clang-tidy-19
      need clang-19 have clang++-19
      need libclang-rt-19-dev test -e $llvm/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a \
        -o -e $llvm/lib/clang/19/lib/linux/libclang_rt.fuzzer-aarch64.a
      ;;
    *)
      echo "install_packages.sh: unknown group '$group'; the groups are build, test" >&2
      exit 2
      ;;
  esac
done

[ ${#missing[@]} -gt 0 ] || { echo "packages: nothing is missing"; exit 0; }
echo "packages: installing ${missing[*]}"
if ! have apt-get >/dev/null; then
  echo "install_packages.sh: no apt-get here; install by other means: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! have sudo >/dev/null; then
    echo "install_packages.sh: not root and no sudo; as root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends "${missing[@]}"
}
if ! install >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "install_packages.sh: apt could not install ${missing[*]}" >&2
  echo "Debian 12 and Ubuntu 24.04 (with universe and updates enabled) have them all" >&2
  exit 1
fi
