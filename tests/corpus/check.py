#!/usr/bin/env python3
"""What tilepost says of public kernels: accepted, or refused with the reason that the table gives.

Usage: check.py TILEPOST TABLE SOURCES [--only ID…] [--pattern PATTERN] [--ranks N] [--transport TRANSPORT]
                [--compile] [--keep FOLDER] [--write FOLDER]

TABLE is kernels.txt; SOURCES has a folder for each repository (run.sh fetches them). Kernels with `marks` are looked at
in copies that have them, in SOURCES/marked. --compile generates what is accepted and compiles it for sm_90a, kernels
with marks also without them: registers and spilled bytes are printed. --write does no more than to write the specs of
kernels with marks, named by pattern and transport too. Exit code 1 if a verdict is not that of the table, or if a
marked kernel has more than five marks or spills more than without.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

from mark import apply

MOST_MARKS = 5
HERE = os.path.dirname(os.path.abspath(__file__))


def read_table(path):
    rows, row = [], None
    for line in open(path):
        line = line.rstrip("\n")
        if line.startswith("["):
            row = {"id": line[1:-1]}
            rows.append(row)
        elif line and not line.startswith("#"):
            key, _, value = line.partition(": ")
            row[key] = value.strip().replace("WRAPPERS", os.path.join(HERE, "wrappers"))
    return rows


def root_of(row, sources):
    return os.path.join(os.path.abspath(sources), row["from"].split("@")[0].split("/")[1])


def spec_of(row, sources, name, pattern, ranks, more=""):
    root = root_of(row, sources)
    kernel, file = row["kernel"], os.path.join(root, row["file"])
    if "wrapper" in row:
        if not folders_in(kernel, "include_dirs"):
            kernel += f", include_dirs: [{os.path.relpath(os.path.dirname(file), root)}]"
        if "marks" in row:
            marked = os.path.join(os.path.abspath(sources), "marked", row["id"])
            kernel = kernel.replace(", include_dirs: [", f", include_dirs: [{marked}, ")
        file = os.path.join(HERE, "wrappers", row["wrapper"])
    for field in ("include_dirs", "system_include_dirs"):
        folders = folders_in(kernel, field)
        listed = ", ".join(os.path.normpath(os.path.join(root, folder)) for folder in folders)
        kernel = kernel.replace(f", {field}: [{', '.join(folders)}]", f", {field}: [{listed}]")
    launched = ", ".join(f"{key}: {row[key]}" for key in ("arguments", "launcher") if key in row)
    routing = "routing: even\n" if pattern == "gemm_all_to_all" else ""
    return (f"tilepost: 1\nname: {name}\npattern: {pattern}\nranks: {ranks}\n{routing}gemm: {row['gemm']}\n"
            f"arch: sm_90a\n{more}kernel: {{file: {file}, {kernel}, {launched}}}\n")


def folders_in(kernel, field):
    """What a list of folders in the row's `kernel` has."""
    found = re.search(rf", {field}: \[([^]]*)\]", kernel)
    return [folder.strip() for folder in found.group(1).split(",")] if found else []


def put_marks(row, sources):
    """Into copies; how many marks, lines put and lines changed."""
    return apply(os.path.join(HERE, "marks", row["marks"]), sources, os.path.join(sources, "marked", row["id"]))


def write_specs(rows, args):
    os.makedirs(args.write, exist_ok=True)
    for row in rows:
        put_marks(row, args.sources)
        name = f"{row['id']}_{args.pattern}_{args.transport}"
        more = "" if args.pattern == "gemm" else f"transport: {args.transport}\n"
        with open(os.path.join(args.write, name + ".yaml"), "w") as file:
            file.write(spec_of(row, args.sources, name, args.pattern, args.ranks, more))


def compiled(row, sources, source, flags):
    """Registers and spilled bytes of the file's kernels, or the first error."""
    for folder in folders_in(row["kernel"], "system_include_dirs"):
        flags = [*flags, "--expt-relaxed-constexpr", "--extended-lambda", "-isystem", os.path.join(root_of(row, sources), folder)]
    command = ["nvcc", "-std=c++20", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-Xptxas", "-v", "-I", os.path.join(HERE, "../../include")]
    done = subprocess.run([*command, *flags, "-c", source, "-o", "/dev/null"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        return 0, (re.findall(r".*error.*", done.stderr) or [done.stderr])[0][:200]
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", done.stderr)))
    registers = max(map(int, re.findall(r"Used (\d+) registers", done.stderr)), default=0)
    return spills, f"{registers} registers, {spills} bytes spilled"


def compiled_alone(row, folder, sources):
    """The same of a marked kernel without its marks: its wrapper finds the author's file."""
    file = os.path.join(folder, row["id"] + "_alone.cu")
    name = re.search(r'function: ("?)(.*?)\1, tile', row["kernel"]).group(2)
    folders = folders_in(row["kernel"], "include_dirs") or [os.path.dirname(row["file"])]
    author = ["-I" + os.path.join(root_of(row, sources), folder) for folder in folders]
    with open(file, "w") as text:
        text.write(f'#include "{HERE}/wrappers/{row["wrapper"]}"\n')
        text.write(f"const void* alone() {{ return reinterpret_cast<const void*>(&{name}); }}\n")
    return compiled(row, sources, file, ["-DNDEBUG", *author])  # as fast.cu is compiled


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tool")
    parser.add_argument("table")
    parser.add_argument("sources")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--pattern", default="gemm_all_reduce")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--transport", default="nccl")
    parser.add_argument("--write")
    args = parser.parse_args()
    rows = [row for row in read_table(args.table) if not args.only or row["id"] in args.only]
    if args.write:
        write_specs([row for row in rows if "marks" in row], args)
        return 0
    folder = args.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    counts, wrong = {}, 0
    for row in rows:
        marks, lines, changed = put_marks(row, args.sources) if "marks" in row else (0, 0, 0)
        path = os.path.join(folder, row["id"] + ".yaml")
        open(path, "w").write(spec_of(row, args.sources, row["id"], args.pattern, args.ranks))
        begin, of_cpu = time.time(), cpu_seconds()
        done = subprocess.run([args.tool, "generate", path, "-o", folder], capture_output=True, text=True, timeout=60)
        seconds, of_cpu = time.time() - begin, cpu_seconds() - of_cpu
        kind, _, expected = row["class"].partition(" ")
        said = "accepted" if done.returncode == 0 else "refused"
        reason = (re.findall(r"error: (.*)", done.stderr) or [""])[0]
        right = expected == said or (expected.startswith("refused:") and said == "refused" and
                                     expected[len("refused:"):].strip() in done.stderr)
        of_kind = counts.setdefault(kind, [0, 0])
        of_kind[0] += said == "accepted"
        of_kind[1] += 1
        wrong += not right
        text = f"{row['id']:<6} {kind:<8} {said:<8} {seconds:5.2f} s ({of_cpu:.2f} of a CPU)  {'' if right else 'NOT AS SAID: '}{reason[:150]}"
        if marks:
            text += f"{marks} marks, {lines} lines put, {changed} changed; "
            wrong += marks > MOST_MARKS
        if args.compile and said == "accepted":
            spills, found = compiled(row, args.sources, f"{folder}/{row['id']}.cu", [])
            text += found
            if marks:
                spills_alone, found = compiled_alone(row, folder, args.sources)
                text += f"; without marks {found}"
                wrong += spills > spills_alone
        print(text, flush=True)
    for kind, (accepted, all_of_them) in sorted(counts.items()):
        print(f"class {kind}: {accepted} of {all_of_them} accepted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
