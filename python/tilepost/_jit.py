"""Compiles kernels that no catalogue has, with the program `tilepost` where it is installed.

The program weaves and compiles, and keeps what it has made in a catalogue of this user's. So a kernel is compiled once.
Processes that miss a kernel at the same time wait for each other at a lock of that folder, and not in a collective.
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Union

from tilepost._errors import Unsupported

_PROGRAM = "tilepost"
_SECONDS = 1800


def find_tool() -> Union[str, None]:
    """The program `tilepost`: of this Python's environment, or of PATH."""
    beside = Path(sys.executable).parent / _PROGRAM
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(_PROGRAM)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=_SECONDS, check=False)


def cache_folder(tool: str) -> Path:
    """The catalogue of what this version of the program has compiled for this user."""
    version = "-".join(re.findall(r"[0-9.]+", _run(tool, "--version").stdout))
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "tilepost" / f"kernels-{version}"


def spec_text(fields: Mapping[str, str]) -> str:
    """The spec of fields that are given by their paths."""
    tree: dict[str, object] = {"tilepost": "1", "name": "program"}
    for path, value in fields.items():
        *above, name = path.split(".")
        place: dict = tree
        for each in above:
            place = place.setdefault(each, {})
        place[name] = value

    def text(value: object) -> str:
        if not isinstance(value, dict):
            return str(value)
        return "{" + ", ".join(f"{name}: {text(each)}" for name, each in value.items()) + "}"

    return "".join(f"{name}: {text(value)}\n" for name, value in tree.items())


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lets one process at a time add to a folder. The lock ends with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(tool: str, fields: Mapping[str, str], machine: Union[str, None], folder: Path, missing: str) -> None:
    """Adds the kernels of these fields to the folder."""
    with tempfile.TemporaryDirectory(prefix="tilepost-") as scratch:
        spec = Path(scratch) / "program.yaml"
        spec.write_text(spec_text(fields), encoding="utf-8")
        command = [tool, "catalogue", str(spec), "-o", str(folder)]
        if machine is not None:
            profile = Path(scratch) / "machine.yaml"
            if "\n" in machine:
                profile.write_text(machine, encoding="utf-8")
            command += ["--machine", str(profile) if "\n" in machine else machine]
        try:
            done = _run(*command)
        except subprocess.TimeoutExpired:
            raise Unsupported(f"{missing}; '{' '.join(command[:2])}' did not compile it within {_SECONDS} s",
                              "TILEPOST_UNSUPPORTED") from None
    if done.returncode != 0:
        raise Unsupported(f"{missing}; '{' '.join(command[:2])}' could not compile it:\n{done.stderr.strip()}",
                          "TILEPOST_UNSUPPORTED")


def has_all(folder: Path, variants: list[str]) -> bool:
    """Whether the catalogue in a folder names all of these kernels."""
    try:
        manifest = (folder / "catalogue.json").read_text(encoding="utf-8")
    except OSError:
        return False
    return all(f'"{variant}"' in manifest for variant in variants)


def compiled(fields: Mapping[str, str], machine: Union[str, None], variants: list[str], missing: str) -> Path:
    """The folder of a catalogue that has these kernels, which are compiled if they have never been. `missing` says that
    they are missing. Raises Unsupported with that and the reason if they cannot be compiled."""
    tool = find_tool()
    if tool is None:
        raise Unsupported(f"{missing}; the program 'tilepost', which could compile it, is not installed: "
                          "pip install tilepost-cli, with nvcc, or a C++ compiler for the host target",
                          "TILEPOST_UNSUPPORTED")
    folder = cache_folder(tool)
    if has_all(folder, variants):
        return folder
    with _locked(folder):
        if not has_all(folder, variants):
            _compile(tool, fields, machine, folder, missing)
    if has_all(folder, variants):
        return folder
    raise Unsupported(f"{missing}; '{tool}' plans other kernels for it: install a tilepost-cli of this package's "
                      "version", "TILEPOST_UNSUPPORTED")
