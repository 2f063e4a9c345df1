#!/usr/bin/env bash
# Runs the tests of tilepost.torch in a Python that has PyTorch: the one that TILEPOST_TORCH_PYTHON names, or python3.
# Usage: torch.sh <source folder>
set -euo pipefail
python=${TILEPOST_TORCH_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: no torch in $python; set TILEPOST_TORCH_PYTHON"; exit 77; }
exec "$python" "$1/python/tests/test_torch.py" -v
