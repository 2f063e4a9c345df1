#!/usr/bin/env python3
"""Makes the wheel tilepost-cli of a build tree: what `cmake --install` installs, and a launcher.

    python3 python/tilepost_cli/make_wheel.py build/release dist

prints the path of the wheel. The build has TILEPOST_STATIC_LLVM=ON. The wheel's tag says which glibc the program
asks for. Equal builds make equal bytes.
"""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "tilepost_cli"
# What every Linux of a glibc brings with it.
OF_GLIBC = re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[-\w]*)\.so\.\d+")

# The variables of tilepost-cuda.pc that name places outside the package.
USUAL_PLACES = {"cuda_libdir": "/usr/local/cuda/lib64", "nccl": "-lnccl"}

METADATA = """\
Metadata-Version: 2.1
Name: tilepost-cli
Version: {version}
Summary: Generates CUDA C++ in which a GEMM and its communication overlap tile by tile
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

# tilepost-cli

The program `tilepost`, which needs neither LLVM nor CUDA to generate code. The package also has tilepost's headers,
its runtime as static libraries, and its CMake package: configure with `-Dtilepost_DIR=$(tilepost --cmake-dir)`.
"""


def run(*command):
    """The standard output of a command; ends this program with its messages if it fails."""
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        sys.exit(f"make_wheel.py: cannot run '{command[0]}': {error.strerror}")
    if done.returncode != 0:
        sys.exit(f"make_wheel.py: '{' '.join(command)}' failed:\n{done.stdout}")
    return done.stdout


def platform_tag(program, this_machine):
    """manylinux_2_36_x86_64 for a program that asks for symbols of glibc 2.36 at most."""
    machine = os.uname().machine
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", str(program)))
    foreign = [name for name in needed if not OF_GLIBC.fullmatch(name)]
    if this_machine:
        return f"linux_{machine}"
    if foreign:
        sys.exit(f"make_wheel.py: '{program.name}' needs {', '.join(foreign)}, which other machines may not have; "
                 "configure with -DTILEPOST_STATIC_LLVM=ON, or make a wheel for this machine with --this-machine")
    symbols = run("readelf", "--version-info", "--wide", str(program))
    major, minor = max((int(x), int(y)) for x, y in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", symbols))
    return f"manylinux_{major}_{minor}_{machine}"


def version_of(prefix):
    """The version in the installed header, which is the one place that has it."""
    text = (prefix / "include/tilepost/version.h").read_text(encoding="utf-8")
    return re.search(r'TILEPOST_VERSION_STRING "([^"]+)"', text).group(1)


class Wheel:
    """A wheel that is being written: files, then its own list of them (RECORD)."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name)  # of 1980-01-01
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, info):
        lines = [*self.record, f"{info}/RECORD,,", ""]
        self.add(f"{info}/RECORD", "\n".join(lines).encode())
        self.archive.close()


def forget_this_machine(pc):
    """pkg-config's file names where this machine has CUDA and NCCL. A wheel names where others look for them."""
    text = pc.read_text(encoding="utf-8")
    for variable, usual in USUAL_PLACES.items():
        text, found = re.subn(rf"^{variable}=.*$", f"{variable}={usual}", text, flags=re.MULTILINE)
        if found != 1:
            sys.exit(f"make_wheel.py: '{pc.name}' has {found} lines '{variable}=', expected one")
    pc.write_text(text, encoding="utf-8")


def write_wheel(prefix, out, this_machine):
    """Writes the wheel of an install prefix into the folder `out` and returns its path."""
    version = version_of(prefix)
    tag = f"py3-none-{platform_tag(prefix / 'bin/tilepost', this_machine)}"
    info = f"tilepost_cli-{version}.dist-info"
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"tilepost_cli-{version}-{tag}.whl"
    unfinished = path.with_suffix(".unfinished")
    wheel = Wheel(unfinished)
    for source in sorted(PACKAGE.glob("*.py")):
        wheel.add(f"tilepost_cli/{source.name}", source.read_bytes())
    for file in sorted(file for file in prefix.rglob("*") if file.is_file()):
        runs = os.access(file, os.X_OK)
        wheel.add(f"tilepost_cli/{file.relative_to(prefix)}", file.read_bytes(), 0o755 if runs else 0o644)
    wheel.add(f"{info}/METADATA", METADATA.format(version=version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tilepost {version}\nRoot-Is-Purelib: false\n"
                               f"Tag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\ntilepost = tilepost_cli:main\n")
    wheel.close(info)
    unfinished.rename(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="a build tree with the generator, such as build/release")
    parser.add_argument("out", type=Path, help="the folder for the wheel")
    parser.add_argument("--cmake", default="cmake", help="the CMake that installs")
    parser.add_argument("--this-machine", action="store_true",
                        help="a wheel whose program may need this machine's libraries, such as LLVM's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder)
        run(arguments.cmake, "--install", str(arguments.build), "--prefix", folder, "--component", "package", "--strip")
        if not (prefix / "bin/tilepost").exists():
            sys.exit(f"make_wheel.py: '{arguments.build}' has no generator; configure with TILEPOST_BUILD_GENERATOR=ON")
        if any(prefix.rglob("*.so.*")):
            sys.exit(f"make_wheel.py: the runtime of '{arguments.build}' is shared libraries, whose links a wheel cannot "
                     "hold; configure with -DTILEPOST_SHARED=OFF")
        for pc in prefix.rglob("tilepost-cuda.pc"):
            forget_this_machine(pc)
        print(write_wheel(prefix, arguments.out, arguments.this_machine))


if __name__ == "__main__":
    main()
