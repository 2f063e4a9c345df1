#!/usr/bin/env python3
"""Whether two builds of the tool generate the same programs: for changes that shall change nothing.

    compare.py OLD_TILEPOST NEW_TILEPOST

Generates patterns by transports by architectures by types, 252 specs, and six shapes of four patterns that a planner
chooses freely. Two programs are the same if their code is, without comments, hashes, the ABI's number, pragmas for
warnings, inclusions of the project's own headers, of which only what code names has an effect, and the names of
machine profiles. The same code compiles to the same machine code. Refusals have to have the same exit code. Exit code:
0 all are the same, 1 some differ, whose first lines are shown.
"""
import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PATTERNS = ["gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all", "all_gather_gemm", "all_to_all_gemm"]
TRANSPORTS = ["auto", "nccl", "nccl_symmetric", "copy_engine", "peer", "peer_tiles", "none"]
VARIANTS = ["sm_90a bf16 4096", "sm_90a bf16 {max: 3000}", "sm_90a e4m3 8192", "sm_90a f16 64", "sm_80 bf16 2048",
            "host bf16 512"]
SHAPES = ["4096x8192x2048", "8192x8192x2048", "16384x8192x2048", "8192x8192x7168", "8192x4096x3584", "4096x12288x3072"]
SHOWN = 6  # lines of a difference

# What may differ, and what stands for it.
IGNORED = [
    (r"/\*.*?\*/", ""),
    (r"//[^\n]*", ""),
    (r"#pragma GCC diagnostic[^\n]*", ""),
    (r"#include <tilepost/[^\n]*", ""),
    (r"static_assert\((TILEPOST_ABI_VERSION|\w+::kFiles)[^;]*;", ""),
    (r"\bplan\.(machine|gpu) = [^\n]*", ""),
    (r"program = \{\d+,", "program = {ABI,"),
    (r"(0x|_)[0-9a-f]{16}\b", "HASH"),
]


def specs():
    """Pairs of what a spec is called here and its text."""
    def text(pattern, arch, transport, m, n, k, dtype, more=""):
        return (f"tilepost: 1\nname: compared\npattern: {pattern}\nranks: 2\narch: {arch}\ntransport: {transport}\n"
                f"{more}gemm: {{m: {m}, n: {n}, k: {k}, a: {dtype}}}\n")
    for pattern in PATTERNS:
        for transport in TRANSPORTS:
            for variant in VARIANTS:
                arch, dtype, m = variant.split(" ", 2)
                yield f"{pattern} by {transport}, {variant}", text(pattern, arch, transport, m, 4096, 2048, dtype)
    for pattern in PATTERNS[1:5]:
        for shape in SHAPES:
            more = "registered: true\n" if pattern == "gemm_all_to_all" else ""
            yield f"{pattern} of {shape}", text(pattern, "sm_90a", "auto", *shape.split("x"), "bf16", more)


def generate(tool, spec):
    """The exit code, and the lines of the program that count."""
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, "generate", "-", "-o", folder]
        done = subprocess.run(command, input=spec, text=True, capture_output=True, check=False)
        code = "\n".join(file.read_text(encoding="utf-8") for file in sorted(Path(folder).glob("compared.c*")))
    for pattern, replacement in IGNORED:
        code = re.sub(pattern, replacement, code, flags=re.DOTALL)
    return done.returncode, [line.strip() for line in code.splitlines() if line.strip()]


def compare(old, new, spec):
    """'same', 'refused', or how the programs differ."""
    (was, before), (now, after) = generate(old, spec), generate(new, spec)
    if was != now:
        return f"exit code {was} before, {now} now"
    if before != after:
        lines = [line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:2] not in ("--", "++", "@@")]
        return f"{len(lines)} lines differ: " + " | ".join(lines[:SHOWN])
    return "refused" if was else "same"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old, new = sys.argv[1:]
    cases = list(specs())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
        results = list(executor.map(lambda case: compare(old, new, case[1]), cases))
    for (name, _), result in zip(cases, results):
        if result not in ("same", "refused"):
            print(f"{name}: {result}")
    same, refused = results.count("same"), results.count("refused")
    print(f"{len(cases)} specs: {same} the same, {refused} refused alike, {len(cases) - same - refused} differ")
    return 0 if same + refused == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
