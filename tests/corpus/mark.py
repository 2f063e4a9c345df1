#!/usr/bin/env python3
"""Marks of ours in copies of public kernels. The copies are not kept: nothing of the authors' text is here.

Usage: mark.py MARKS SOURCES OUT

MARKS says what is put where. `file: PATH` names a file in SOURCES, and `as: NAME` what its copy is called in OUT, else
its last part. Below it `LINE: text` puts text in front of that line of the author's, several in their order. `LINE: -`
leaves the line out, `FROM-TO: -` several. `LINE: name => other` replaces the name, which the line has once. Prints how
many marks and lines were put, and how many lines of the author's were changed or left out.
"""

import os
import re
import sys

NAMES = ["num_tiles", "tile", "out_base", "out_coord", "out_map", "open_out_maps", "out", "tile_done"]
MARK = re.compile(r"\btilepost::(" + "|".join(NAMES) + r")\s*\(")


def read_marks(path):
    """[(file, copy, {line: [text]}, {line: [(name, other) or None]})]"""
    files = []
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        key, colon, text = line.partition(":")
        text = text[1:] if text.startswith(" ") else text
        if key == "file":
            files.append([text, os.path.basename(text), {}, {}])
        elif key == "as" and files:
            files[-1][1] = text
        elif text == "-" and re.fullmatch(r"\d+-\d+", key) and files:
            first, last = map(int, key.split("-"))
            for left_out in range(first, last + 1):
                files[-1][3].setdefault(left_out, []).append(None)
        elif colon and key.isdigit() and files:
            replaced = re.fullmatch(r"(\w+) => (.+)", text)
            change = replaced.groups() if replaced else None if text == "-" else text
            files[-1][2 if isinstance(change, str) else 3].setdefault(int(key), []).append(change)
        else:
            sys.exit(f"{path}:{number}: neither 'file: PATH', 'as: NAME' nor 'LINE: text'")
    return files


def marked(lines, put, replaced, where):
    last = max([*put, *replaced], default=0)
    if last > len(lines):
        sys.exit(f"{where} has {len(lines)} lines, and there is a mark for line {last}")
    text = []
    for number, line in enumerate(lines, 1):
        text += put.get(number, [])
        changes = replaced.get(number, [])
        if None in changes:
            continue
        for name, other in changes:
            line, times = re.subn(rf"\b{name}\b", other, line)
            if times != 1:
                sys.exit(f"{where}:{number} has '{name}' {times} times, and once is wanted")
        text.append(line)
    return "\n".join(text) + "\n"


def apply(path, sources, out):
    """Writes the marked copies; how many marks and lines were put, and how many lines changed."""
    marks = lines = changed = 0
    for file, copy, put, replaced in read_marks(path):
        source = os.path.join(sources, file)
        text = marked(open(source).read().splitlines(), put, replaced, source)
        to = os.path.join(out, copy)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        open(to, "w").write(text)
        added = [line for of_line in put.values() for line in of_line]
        marks += sum(len(MARK.findall(line)) for line in added)
        lines += len(added)
        changed += len(replaced)
    return marks, lines, changed


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print("%d marks, %d lines put, %d changed" % apply(*sys.argv[1:]))
