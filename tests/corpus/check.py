#!/usr/bin/env python3
"""What tilepost says of public kernels: accepted, or refused with the reason that the table gives.

Usage: check.py TILEPOST TABLE SOURCES [--only ID…] [--pattern PATTERN] [--ranks N] [--transport TRANSPORT]
                [--compile] [--keep FOLDER] [--write FOLDER [--size MxNxK]] [--markdown FILE]

TABLE is kernels.txt; SOURCES has a folder for each repository (run.sh fetches them). Kernels with `marks` are looked at
in copies that have them, in SOURCES/marked. --compile generates what is accepted and compiles it for sm_90a, kernels
with marks also without them: registers and spilled bytes are printed. --markdown tries all patterns and puts what is
said into the table of that page, between its lines <!-- kernels --> and <!-- end -->; others stay there. --write does
no more than to write specs, named by pattern and transport too, of kernels with marks or of those asked for; --size: of
another size. Exit code 1 if a verdict, a reason or a cure is not that of the table, or if a marked kernel has more than
five marks or spills more than without.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
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
        if copied(row):
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


def copied(row):
    """What is put into a copy: marks, or what ISO C++ wants and nvcc does not."""
    return row.get("marks") or row.get("completed")


def put_marks(row, sources):
    """Into copies; how many marks, lines put and lines changed."""
    if not copied(row):
        return 0, 0, 0
    return apply(os.path.join(HERE, "marks", copied(row)), sources, os.path.join(sources, "marked", row["id"]))


def write_specs(rows, args):
    os.makedirs(args.write, exist_ok=True)
    for row in rows:
        put_marks(row, args.sources)
        if args.size:
            sizes = "m: {}, n: {}, k: {}".format(*args.size.split("x"))
            row["gemm"] = re.sub(r"m: \d+, n: \d+, k: \d+", sizes, row["gemm"])
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


class Said:
    """What tilepost says of a kernel under a pattern."""

    def __init__(self, row, pattern, folder, args):
        path = os.path.join(folder, row["id"] + ".yaml")
        with open(path, "w") as file:
            file.write(spec_of(row, args.sources, row["id"], pattern, args.ranks))
        begin, of_cpu = time.time(), cpu_seconds()
        done = subprocess.run([args.tool, "generate", path, "-o", folder], capture_output=True, text=True, timeout=600)
        self.seconds, self.of_cpu = time.time() - begin, cpu_seconds() - of_cpu
        self.accepted, self.text = done.returncode == 0, done.stderr
        self.reason = (re.findall(r"error: (.*)", done.stderr) or [""])[0]

    def is_right(self, row):
        _, _, expected = row["class"].partition(" ")
        if expected == "accepted":
            return self.accepted
        reason = expected[len("refused:") :].strip()
        return not self.accepted and reason in self.text and row.get("cure", "") in self.text


def print_table(rows, args):
    """Of every kernel: what is said under one pattern, and how its code compiles."""
    folder = args.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    counts, wrong = {}, 0
    for row in rows:
        marks, lines, changed = put_marks(row, args.sources)
        said = Said(row, args.pattern, folder, args)
        kind = row["class"].split()[0]
        of_kind = counts.setdefault(kind, [0, 0])
        of_kind[0] += said.accepted
        of_kind[1] += 1
        wrong += not said.is_right(row)
        verdict = "accepted" if said.accepted else "refused"
        text = (f"{row['id']:<6} {kind:<8} {verdict:<8} {said.seconds:5.2f} s ({said.of_cpu:.2f} of a CPU)  "
                f"{'' if said.is_right(row) else 'NOT AS SAID: '}{said.reason[:150]}")
        if marks:
            text += f"{marks} marks, {lines} lines put, {changed} changed; "
            wrong += marks > MOST_MARKS
        if args.compile and said.accepted:
            spills, found = compiled(row, args.sources, f"{folder}/{row['id']}.cu", [])
            text += found
            if marks:
                spills_alone, found = compiled_alone(row, folder, args.sources)
                text += f"; without marks {found}"
                wrong += spills > spills_alone
        print(text, flush=True)
    for kind, (accepted, all_of_them) in sorted(counts.items()):
        print(f"class {kind}: {accepted} of {all_of_them} accepted")
    return wrong


PATTERNS = {"gemm_all_reduce": "AR", "gemm_reduce_scatter": "RS", "gemm_all_to_all": "A2A", "all_gather_gemm": "AG"}
BEGIN, END = "<!-- kernels -->\n", "<!-- end -->"


def markdown_row(row, args, folder):
    """The kernel's line of the table, and whether what is said is right. What AR refuses is not tried with others."""
    marks, _, _ = put_marks(row, args.sources)
    said = Said(row, "gemm_all_reduce", folder, args)
    takes = [name for pattern, name in PATTERNS.items()
             if said.accepted and (pattern == "gemm_all_reduce" or Said(row, pattern, folder, args).accepted)]
    kind = "M, marked" if row["class"].startswith("marked") else row["class"].split()[0]
    why = f"{marks} marks" if marks else said.reason
    why = re.sub(r"[|*<>_]", lambda c: "\\" + c[0], why)
    why = why if len(why) <= 160 else why[:157].rsplit(" ", 1)[0] + " …"
    cells = [row["id"], os.path.basename(row["file"]), kind, " ".join(takes) or "none", why, f"{said.of_cpu:.1f}"]
    return cells, said.is_right(row)


def table_of(page):
    """{kernel: cells} of the page's table."""
    found = {}
    for line in page.split(BEGIN)[1].split(END)[0].splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 6 and cells[0] not in ("kernel", "---"):
            found[cells[0]] = cells
    return found


def put_table(table, rows, path):
    """Into the page, with how many kernels of each class are accepted and which took longest."""
    lines, counts, slowest = [], {}, {}
    for row in rows:
        if row["id"] not in table:
            continue
        _, _, kind, takes, _, seconds = cells = table[row["id"]]
        lines.append("| " + " | ".join(cells) + " |")
        of_kind = counts.setdefault(kind, [0, 0])
        of_kind[0] += takes != "none"
        of_kind[1] += 1
        what = ("accepted" if takes != "none" else "refused") + (
            ", with a library" if "system_include_dirs" in row["kernel"] else "")
        slowest[what] = max(slowest.get(what, (0, "")), (float(seconds), row["id"]))
    told = "; ".join(f"{accepted} of {of} of class {kind}" for kind, (accepted, of) in sorted(counts.items()))
    slow = "; ".join(f"{what}: {name}, {seconds} s" for what, (seconds, name) in sorted(slowest.items()))
    said = "\n\n".join(textwrap.fill(line, 120) for line in (f"Accepted: {told}.", f"Slowest: {slow}."))
    body = (f"{said}\n\n| kernel | file | class | patterns | marks, or why not | s |\n"
            "|---|---|---|---|---|---|\n" + "".join(line + "\n" for line in lines) + "\n")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + body + END + rest.split(END)[1])


def write_markdown(rows, args):
    """Tries the kernels, and puts each into the page's table, which keeps what it has of others."""
    folder = args.keep or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    wrong = 0
    for row in rows:
        cells, right = markdown_row(row, args, folder)
        with open(args.markdown, encoding="utf-8") as file:
            table = table_of(file.read())
        put_table({**table, row["id"]: cells}, read_table(args.table), args.markdown)
        print(*cells, "" if right else "NOT AS SAID", flush=True)
        wrong += not right
    return wrong


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
    parser.add_argument("--size")
    parser.add_argument("--markdown")
    args = parser.parse_args()
    rows = [row for row in read_table(args.table) if not args.only or row["id"] in args.only]
    if args.write:
        write_specs([row for row in rows if args.only or "marks" in row], args)
        return 0
    wrong = write_markdown(rows, args) if args.markdown else print_table(rows, args)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
