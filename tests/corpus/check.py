#!/usr/bin/env python3
"""What tilepost says of public kernels: accepted, or refused with the reason that the table gives.

Usage: check.py TILEPOST TABLE SOURCES [--only ID…] [--pattern PATTERN] [--compile] [--keep FOLDER]

TABLE is kernels.txt; SOURCES has a folder for each repository (run.sh fetches them). --compile generates what is
accepted and compiles it and the kernel alone for sm_90a: registers and spilled bytes of both are printed. Exit code 1
if a verdict is not that of the table.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time


def read_table(path):
    rows, row = [], None
    for line in open(path):
        line = line.rstrip("\n")
        if line.startswith("["):
            row = {"id": line[1:-1]}
            rows.append(row)
        elif line and not line.startswith("#"):
            key, _, value = line.partition(": ")
            row[key] = value.strip()
    return rows


def spec_of(row, sources, pattern):
    root = os.path.join(sources, row["from"].split("@")[0].split("/")[1])
    kernel, file = row["kernel"], os.path.join(root, row["file"])
    if "wrapper" in row:
        kernel += f", include_dirs: [{os.path.relpath(os.path.dirname(file), root)}]"
        file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrappers", row["wrapper"])
    folders = re.search(r"include_dirs: \[([^]]*)\]", kernel)
    if folders:
        listed = ", ".join(os.path.join(root, name.strip()) for name in folders.group(1).split(","))
        kernel = kernel.replace(folders.group(0), f"include_dirs: [{listed}]")
    routing = "routing: even\n" if pattern == "gemm_all_to_all" else ""
    return (f"tilepost: 1\nname: {row['id']}\npattern: {pattern}\nranks: 4\n{routing}gemm: {row['gemm']}\narch: sm_90a\n"
            f"kernel: {{file: {file}, {kernel}, arguments: {row['arguments']}}}\n")


def compiled(command):
    """Registers and spilled bytes of every kernel, or the first error."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return (re.findall(r".*error.*", done.stderr) or [done.stderr])[0][:200]
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr)))
    registers = max(map(int, re.findall(r"Used (\d+) registers", done.stderr)), default=0)
    return f"{registers} registers, {spills} bytes spilled"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("table")
    parser.add_argument("sources")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--pattern", default="gemm_all_reduce")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--keep")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    counts, wrong = {}, 0
    for row in read_table(args.table):
        if args.only and row["id"] not in args.only:
            continue
        path = os.path.join(folder, row["id"] + ".yaml")
        open(path, "w").write(spec_of(row, args.sources, args.pattern))
        begin = time.time()
        done = subprocess.run([args.tool, "generate", path, "-o", folder], capture_output=True, text=True, timeout=60)
        seconds = time.time() - begin
        kind, _, expected = row["class"].partition(" ")
        said = "accepted" if done.returncode == 0 else "refused"
        reason = (re.findall(r"error: (.*)", done.stderr) or [""])[0]
        right = expected == said or (expected.startswith("refused:") and said == "refused" and
                                     expected[len("refused:"):].strip() in done.stderr)
        of_kind = counts.setdefault(kind, [0, 0])
        of_kind[0] += said == "accepted"
        of_kind[1] += 1
        wrong += not right
        text = f"{row['id']:<6} {kind:<8} {said:<8} {seconds:5.2f} s  {'' if right else 'NOT AS SAID: '}{reason[:150]}"
        if args.compile and said == "accepted":
            here = os.path.dirname(os.path.abspath(__file__))
            text += compiled(["nvcc", "-std=c++20", "-O3", "-arch=sm_90a", "-Xptxas", "-v", "-I",
                              os.path.join(here, "../../include"), "-c", f"{folder}/{row['id']}.cu", "-o", "/dev/null"])
        print(text, flush=True)
    for kind, (accepted, all_of_them) in sorted(counts.items()):
        print(f"class {kind}: {accepted} of {all_of_them} accepted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
