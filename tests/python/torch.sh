#!/usr/bin/env bash
# Runs tests of tilepost.torch in one process, since PyTorch takes seconds to import. The Python is the one that
# TILEPOST_TORCH_PYTHON names, or that of the environment of install_torch.sh, or python3.
# Usage: torch.sh <repository> <environment> <module that the tests need>… -- <test>…
set -euo pipefail
root=$1 environment=$2
shift 2
python=python3
[ ! -e "$environment/requirements.txt" ] || python=$environment/bin/python
python=${TILEPOST_TORCH_PYTHON:-$python}
while [ "$1" != -- ]; do
  "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)" ||
    { echo "skipped: no $1 in $python; set TILEPOST_TORCH_PYTHON, or run tests/python/install_torch.sh $environment"
      exit 77; }
  shift
done
shift
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$environment/pycache
cd "$root/python/tests"
exec "$python" -m unittest -v "$@"
