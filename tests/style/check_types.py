#!/usr/bin/env python3
"""No two types have one name: [basic.def.odr].

Usage: check_types.py tree|mutants <root of the repository>

Two classes of one name in one namespace are one to the linker, which keeps the destructor of either, and no
compiler sees it. tree: names each that include/, generator/ and runtime/ define twice. Types in unnamed
namespaces are a file's own; so are those of .cu files, which are programs of their own. mutants: sees small
trees refused.
"""
import pathlib
import re
import sys
import tempfile

ROOTS = ("include", "generator", "runtime")
SOURCES = {".cpp", ".h", ".hpp"}
# The repository's style: namespaces are opened and closed at the start of a line, on a line of their own.
OPENS = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{$")
CLOSES = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:enum class|struct|class|union|enum)(?: \w+\([^)]*\))? (\w+)(?: final)?(?: :.*)? \{")


def types_of(text):
    """The types that it defines outside of others and of unnamed namespaces, with their namespaces."""
    spaces = []
    for line in text.splitlines():
        if found := OPENS.match(line):
            spaces.append(found[1])
        elif CLOSES.match(line) and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces:
            yield "::".join([*spaces, found[1]])


def check(root):
    """What is defined twice: a line for each."""
    root, where = pathlib.Path(root), {}
    for path in sorted(path for top in ROOTS for path in (root / top).rglob("*") if path.suffix in SOURCES):
        for name in types_of(path.read_text()):
            where.setdefault(name, []).append(str(path.relative_to(root)))
    # A class that tells hosts and GPUs apart, or widths, has a definition for each in one file.
    return [f"{name}: {', '.join(files)}" for name, files in where.items() if len(set(files)) > 1]


def in_space(space, text):
    return f"namespace {space} {{\n{text}}}  // namespace {space}\n"


PLACE = "struct Place {\n};\n"
LATER = "class Later final : public Place {\n};\n"
UNNAMED = "namespace {\n" + PLACE + "}  // namespace\n"
SOUND = {
    "runtime/a.h": in_space("tilepost", PLACE + "class Later;\n"),
    "runtime/b.h": in_space("tilepost::cuda", PLACE + LATER + "struct Place::Inner {\n};\n"),
    "runtime/c.cpp": in_space("tilepost", UNNAMED),
}
MUTANTS = {
    "nothing": ({}, None),
    "two headers": ({"generator/a.h": SOUND["runtime/a.h"]}, "tilepost::Place: generator/a.h, runtime/a.h"),
    "a source behind an unnamed namespace": (
        {"runtime/c.cpp": in_space("tilepost", UNNAMED + "enum class Place {\n};\n")},
        "tilepost::Place: runtime/a.h, runtime/c.cpp",
    ),
    "a base": ({"runtime/d.h": in_space("tilepost::cuda", LATER)}, "tilepost::cuda::Later: runtime/b.h, runtime/d.h"),
}


def check_mutants():
    failed = False
    for name, (changes, expected) in MUTANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**SOUND, **changes}.items():
                file = pathlib.Path(folder) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            found = check(folder)
        if found != ([expected] if expected else []):
            print(f"{name}: expected {expected}, found {found}")
            failed = True
    return failed


def main():
    if sys.argv[1] == "mutants":
        return check_mutants()
    complaints = check(sys.argv[2])
    for line in complaints:
        print(f"{line}: defined twice; give one of them another name or namespace")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
