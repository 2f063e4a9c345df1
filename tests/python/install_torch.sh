#!/usr/bin/env bash
# Makes a Python environment with what requirements.txt names, for the tests of tilepost.torch. One that has it is left
# alone. Usage: install_torch.sh <folder>
set -euo pipefail
requirements=$(cd "$(dirname "$0")" && pwd)/requirements.txt folder=$1
cmp -s "$requirements" "$folder/requirements.txt" && exit
rm -rf "$folder"
python3 -m venv "$folder"
# Compiling all modules would take a quarter of the time. torch.sh keeps those that the tests import.
"$folder/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-cache-dir \
  -r "$requirements"
cp "$requirements" "$folder/requirements.txt"
