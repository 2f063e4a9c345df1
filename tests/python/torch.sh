#!/usr/bin/env bash
# Runs a test of tilepost.torch in a Python that has PyTorch: the one that TILEPOST_TORCH_PYTHON names, or python3.
# Usage: torch.sh <repository> <test> <module that it needs>…
set -euo pipefail
root=$1 test=$2
shift 2
python=${TILEPOST_TORCH_PYTHON:-python3}
for module in "$@"; do
  "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$module') is None)" ||
    { echo "skipped: no $module in $python; set TILEPOST_TORCH_PYTHON"; exit 77; }
done
exec "$python" "$root/python/tests/$test.py" -v
