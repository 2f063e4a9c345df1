#!/usr/bin/env python3
"""Who includes whom, held to the table of layers in docs/architecture.md.

Usage: check_includes.py tree|mutants <root of the repository>

tree: reads every #include under include/, generator/, runtime/ and templates/, and names each that goes
against the table, each cycle, each header that its room must not have, each folder with too many sources
and each source that is too long. mutants: makes small trees that break one rule each and sees them refused.
"""
import argparse
import pathlib
import re
import sys
import tempfile

ROOTS = ("include", "generator", "runtime", "templates")
SOURCES = {".cpp", ".h", ".hpp", ".cu", ".cuh"}
TABLE = "docs/architecture.md"
MOST_SOURCES = 25  # that a folder under generator/ or runtime/ holds itself
TOO_LONG = 500  # lines

LLVM = re.compile(r"(llvm|clang|clang-c)/")
FMT = re.compile(r"fmt/")
CUDA = re.compile(r"(cuda|cub|thrust|cutlass|cute|cooperative_groups|nv)/|(cuda|nccl|cublas)[\w.]*\.h$")
# Rooms, the headers that they must not have, and what these are called.
BANNED = (
    ("include", LLVM, "LLVM"),
    ("include", FMT, "fmt"),
    ("runtime", LLVM, "LLVM"),
    ("runtime", FMT, "fmt"),
    ("templates", LLVM, "LLVM"),
    ("templates", FMT, "fmt"),
    ("generator/spec", LLVM, "LLVM"),
    ("generator/plan", LLVM, "LLVM"),
    ("generator", CUDA, "CUDA"),
)


def is_in(path, room):
    """Whether `path`, a file or a folder, belongs to `room`, a folder or a file without its extension."""
    return path == room or path.startswith((room + "/", room + "."))


def is_barred(path, header):
    """Whether the room of `path` must not have such headers either, and gets the complaint itself."""
    return any(is_in(path, room) and header is other for room, other, _ in BANNED)


def read_table(text):
    """{room: [rooms it names]} of the table under '## Layers'."""
    parts = re.split(r"^## Layers$", text, flags=re.M)
    if len(parts) != 2:
        raise ValueError(f"{TABLE} has no heading '## Layers', or several")
    table = {}
    for line in re.split(r"^## ", parts[1], flags=re.M)[0].splitlines():
        row = re.match(r"\| `([^`]+)` \| (.*) \|$", line)
        if not row:
            continue
        if row[1] in table:
            raise ValueError(f"{TABLE}: '{row[1]}' has two rows")
        table[row[1]] = re.findall(r"`([^`]+)`", row[2])
    for room, lower in table.items():
        for name in lower:
            if name not in table:
                raise ValueError(f"{TABLE}: '{room}' may include '{name}', which has no row")
    return table


def find_cycle(arrows):
    """A list of rooms that leads back to its first, or None. `arrows`: {room: rooms}."""
    done, trail = set(), []

    def visit(room):
        if room in trail:
            return trail[trail.index(room):] + [room]
        if room in done:
            return None
        trail.append(room)
        for lower in sorted(arrows.get(room, ())):
            if cycle := visit(lower):
                return cycle
        trail.pop()
        done.add(room)
        return None

    for room in sorted(arrows):
        if cycle := visit(room):
            return cycle
    return None


def reachable(table):
    """{room: all rooms below it}; the table has no cycle."""
    below = {}

    def visit(room):
        if room not in below:
            below[room] = set(table[room]).union(*(visit(lower) for lower in table[room]))
        return below[room]

    for room in table:
        visit(room)
    return below


class Tree:
    """The sources of a repository and what is wrong with them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = sorted(
            path.relative_to(self.root).as_posix()
            for top in ROOTS
            for path in (self.root / top).rglob("*")
            if path.suffix in SOURCES
        )
        self.complaints = []
        self.having = {}

    def complain(self, what, why):
        self.complaints.append((what, why))

    def room_of(self, path):
        """The row that is the closest to `path`, or None."""
        rooms = [room for room in self.table if is_in(path, room)]
        return max(rooms, key=len, default=None)

    def find(self, name):
        """The file of this repository that `#include "name"` means, or None where it is another's."""
        for path in (name, "include/" + name):
            if path.startswith(ROOTS) and (self.root / path).is_file():
                return path
        return None

    def check(self):
        self.table = read_table((self.root / TABLE).read_text())
        if cycle := find_cycle(self.table):
            self.complain(TABLE, "the table has a cycle: " + " → ".join(cycle))
            return self.complaints
        for room in self.table:
            if not any(is_in(path, room) for path in self.files):
                self.complain(f"{TABLE}, {room}", "no source is there")
        self.check_arrows()
        self.check_sizes()
        return self.complaints

    def check_arrows(self):
        below = reachable(self.table)
        arrows = {}
        for path in self.files:
            room = self.room_of(path)
            if room is None:
                self.complain(path, f"belongs to no row of the table in {TABLE}")
                continue
            for name in self.includes(path):
                other = self.find(name)
                self.check_banned(path, name, other)
                lower = other and self.room_of(other)
                if other is None and name.startswith(("runtime/", "generator/", "tilepost/", "tests/")):
                    self.complain(f"{path} → {name}", "there is no such header")
                if lower is None or lower == room:
                    continue
                if lower not in below[room]:
                    may = ", ".join(self.table[room]) or "nothing"
                    self.complain(f"{path} → {other}", f"{room} may include {may}, and what these may")
                arrows.setdefault(room, set()).add(lower)
        if cycle := find_cycle(arrows):
            self.complain("cycle", " → ".join(cycle))

    def includes(self, path):
        text = (self.root / path).read_text()
        return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text, flags=re.M)

    def has(self, path, header):
        """Whether `path`, or what it includes of this repository, includes a header that matches."""
        key = (path, header)
        if key not in self.having:
            self.having[key] = False  # while it is being found out, against cycles
            names = self.includes(path)
            self.having[key] = any(header.match(name) for name in names) or any(
                self.has(other, header) for other in map(self.find, names) if other
            )
        return self.having[key]

    def check_banned(self, path, name, other):
        for room, header, word in BANNED:
            if not is_in(path, room):
                continue
            if header.match(name):
                self.complain(f"{path} → {name}", f"{room}/ does not include {word}")
            elif other and not is_barred(other, header) and self.has(other, header):
                self.complain(f"{path} → {other}", f"{room}/ does not include {word}, which that does")

    def check_sizes(self):
        counts = {}
        for path in self.files:
            folder = path.rpartition("/")[0]
            counts[folder] = counts.get(folder, 0) + 1
            lines = len((self.root / path).read_text().splitlines())
            if lines >= TOO_LONG:
                self.complain(f"{path}, lines", f"has {lines}, and fewer than {TOO_LONG} are allowed")
        for folder, count in counts.items():
            if folder.startswith(("generator", "runtime")) and count > MOST_SOURCES:
                self.complain(f"{folder}, sources", f"holds {count}, and at most {MOST_SOURCES} are allowed")


def check_tree(root):
    complaints = Tree(root).check()
    for what, why in complaints:
        print(f"{what}: {why}")
    return bool(complaints)


# A tree that is as it should be: three layers, of which the middle one is a file.
SOUND = {
    TABLE: "## Layers\n\n| layer | may include |\n|---|---|\n| `include/tilepost` | nothing |\n"
    "| `runtime/map` | `include/tilepost` |\n| `runtime/entry` | `runtime/map` |\n\n## Folders\n",
    "include/tilepost/plan.h": "",
    "runtime/map/steps.h": '#include "tilepost/plan.h"\n#include <vector>\n',
    "runtime/map/steps.cpp": '#include "runtime/map/steps.h"\n',
    "runtime/entry.cpp": '#include "runtime/map/steps.h"\n#include "tilepost/plan.h"\n',
}
GENERATOR_ROW = {TABLE: SOUND[TABLE].replace("\n\n## F", "\n| `generator/plan` | `runtime/map` |\n\n## F")}
# What each mutant changes, and a part of the one complaint that it must get.
MUTANTS = {
    "nothing": ({}, None),
    "an arrow up": (
        {"runtime/entry.h": "", "runtime/map/steps.cpp": '#include "runtime/entry.h"\n'},
        "runtime/map/steps.cpp → runtime/entry.h: runtime/map may include include/tilepost",
    ),
    "a cycle": (
        {"runtime/entry.h": "", "runtime/map/steps.cpp": '#include "runtime/entry.h"\n'},
        "cycle: runtime/entry → runtime/map → runtime/entry",
    ),
    "a cycle in the table": (
        {TABLE: SOUND[TABLE].replace("`include/tilepost` |\n", "`runtime/entry` |\n")},
        "the table has a cycle: runtime/entry → runtime/map → runtime/entry",
    ),
    "a file in no room": ({"runtime/other/a.cpp": ""}, "runtime/other/a.cpp: belongs to no row"),
    "a row without a file": (
        {TABLE: SOUND[TABLE].replace("\n\n## F", "\n| `runtime/gone` | nothing |\n\n## F")},
        ", runtime/gone: no source is there",
    ),
    "a header that is not there": (
        {"runtime/map/steps.cpp": '#include "runtime/map/gone.h"\n'},
        "runtime/map/steps.cpp → runtime/map/gone.h: there is no such header",
    ),
    "LLVM in the runtime": (
        {"runtime/map/steps.cpp": '#include "llvm/ADT/StringRef.h"\n'},
        "runtime/ does not include LLVM",
    ),
    "fmt in a public header": (
        {"include/tilepost/plan.h": "#  include <fmt/format.h>\n"},
        "include/ does not include fmt",
    ),
    "Clang in the planner": (
        {**GENERATOR_ROW, "generator/plan/plan.h": '#include "clang/AST/Decl.h"\n'},
        "generator/plan/ does not include LLVM",
    ),
    "LLVM in what the planner includes": (
        {
            TABLE: SOUND[TABLE].replace(
                "\n\n## F", "\n| `generator/text` | nothing |\n| `generator/plan` | `generator/text` |\n\n## F"
            ),
            "generator/text.h": '#include "llvm/ADT/StringRef.h"\n',
            "generator/plan/plan.h": '#include "generator/text.h"\n',
        },
        "generator/plan/plan.h → generator/text.h: generator/plan/ does not include LLVM, which that does",
    ),
    "CUDA in the generator": (
        {**GENERATOR_ROW, "generator/plan/plan.h": "#include <cuda_runtime_api.h>\n"},
        "generator/ does not include CUDA",
    ),
    "a full folder": (
        {f"runtime/map/{i}.cpp": "" for i in range(24)},
        "runtime/map, sources: holds 26, and at most 25 are allowed",
    ),
    "a long source": (
        {"runtime/map/steps.cpp": "//\n" * 500},
        "runtime/map/steps.cpp, lines: has 500, and fewer than 500 are allowed",
    ),
    "lines and sources that are just few enough": (
        {"runtime/map/steps.cpp": "//\n" * 499, **{f"runtime/map/{i}.cpp": "" for i in range(23)}},
        None,
    ),
}


def check_mutants():
    failed = False
    for name, (changes, expected) in MUTANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **changes}.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            complaints = [f"{what}: {why}" for what, why in Tree(folder).check()]
        seen = any(expected in complaint for complaint in complaints) if expected else not complaints
        if not seen:
            failed = True
            print(f"{name}: expected '{expected or 'nothing'}', got {complaints or 'nothing'}")
    print(f"{len(MUTANTS)} trees")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=("tree", "mutants"))
    parser.add_argument("root")
    arguments = parser.parse_args()
    try:
        return check_tree(arguments.root) if arguments.check == "tree" else check_mutants()
    except (OSError, ValueError) as error:
        print(error)
        return True


if __name__ == "__main__":
    sys.exit(main())
