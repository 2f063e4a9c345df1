#!/usr/bin/env bash
# The wheel of the Python package: built from the checkout, installed into a bare environment without PyTorch and nvcc,
# and used there. Usage: wheel.sh <source folder> <tilepost>; BUILD_ENV names a Python environment with
# scikit-build-core, otherwise pip fetches it. BUILD_DIR names a folder in which a build is continued.
set -euo pipefail
source=$(readlink -f "$1") tool=$(readlink -f "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAIL: $*"
  exit 1
}
step() {
  echo "# $1"
  shift
  "$@" >"$scratch/log" 2>&1 || { tail -40 "$scratch/log"; fail "$*"; }
}

python3 -c 'import ensurepip' 2>/dev/null || { echo "skipped: python3 has no ensurepip here (python3-venv)"; exit 77; }
builder=${BUILD_ENV:-$scratch/builder}
[ -d "$builder" ] || step "an environment to build in" python3 -m venv "$builder"
"$builder/bin/python" -c 'import scikit_build_core' 2>/dev/null ||
  "$builder/bin/pip" install -q --disable-pip-version-check scikit-build-core >"$scratch/log" 2>&1 ||
  { tail -3 "$scratch/log"; echo "skipped: pip cannot get scikit-build-core here"; exit 77; }

# The host target alone: nvcc takes long for the runtime's kernels, and the bare environment has no NCCL.
step "pip wheel" "$builder/bin/pip" wheel "$source/python" --no-build-isolation --no-deps --disable-pip-version-check \
  -w "$scratch/dist" -C "build-dir=${BUILD_DIR:-$scratch/build}" -C cmake.define.TILEPOST_WITH_CUDA=OFF \
  -C "cmake.define.TILEPOST_TOOL=$tool"
wheel=$(echo "$scratch"/dist/*.whl)
[[ $(basename "$wheel") =~ ^tilepost-[0-9.]+-py3-none-(linux|manylinux_[0-9_]+)_[a-z0-9_]+\.whl$ ]] || fail "$wheel"
[ "$(stat -c %s "$wheel")" -le 40000000 ] || fail "the wheel has $(stat -c %s "$wheel") bytes, more than 40 MB"
if "$builder/bin/python" -c 'import auditwheel' 2>/dev/null; then
  "$builder/bin/python" -m auditwheel show "$wheel" >"$scratch/log" || fail "auditwheel"
  tr '\n' ' ' <"$scratch/log" | grep -q '"manylinux_2_' || { cat "$scratch/log"; fail "auditwheel confirms no tag"; }
fi

step "a bare environment" python3 -m venv "$scratch/bare"
step "pip install" "$scratch/bare/bin/pip" install --no-index --disable-pip-version-check "$wheel"
cp -r "$source/include" "$scratch/include"  # what test_c.py compares with
mkdir -p "$scratch/python/tests"
cp "$source"/python/tests/*.py "$scratch/python/tests"
cd "$scratch/python"
bare=(env -i "PATH=/usr/bin:/bin" "$scratch/bare/bin/python")
kernels=$("${bare[@]}" -c 'import tilepost; print(tilepost.Catalogue().folder)')
for part in c plan run; do
  step "test_$part" env -i PATH=/usr/bin:/bin "TILEPOST_TEST_CATALOGUE=$kernels" "$scratch/bare/bin/python" \
    "tests/test_$part.py"
done
"${bare[@]}" -c 'import tilepost; assert tilepost.__version__ != "0", tilepost.__version__'
# The examples of the page run as they stand.
for block in 1 2; do
  awk -v want=$block '/^```python$/ { n += 1; inside = n == want; next } /^```$/ { inside = 0 } inside' \
    "$source/docs/python.md" >"$scratch/block.py"
  [ -s "$scratch/block.py" ] || fail "docs/python.md has no block $block"
  step "docs/python.md, block $block" "${bare[@]}" "$scratch/block.py"
done
echo PASS
