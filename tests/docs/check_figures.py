#!/usr/bin/env python3
"""Holds measured figures to what makes them worth reading: when, where, of what and how they were measured.

Usage: check_figures.py check|mutants <repository>

check    every table of measured times or ratios in README.md and docs/ has a date, a machine, a revision and a
         command. They stand in its section, or in what introduces a section around it, or at the top of its page.
         Every revision that a page names belongs to this history, and is not older than the last release.
mutants  what check must find in pages that were made wrong
"""

import pathlib
import re
import subprocess
import sys

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# What a reader needs to judge a figure, and how a page says it.
NEEDS = {
    "date": re.compile(rf"\b\d{{1,2}}\s(?:{MONTHS})\s20\d\d\b"),
    "machine": re.compile(r"\b(?:H100|H200|cores|CPU)\b"),
    "revision": re.compile(r"\brevisions?(?: is)?\s[0-9a-f]{7,40}\b"),
    "command": re.compile(r"`(?:tilepost|build/\S+|bash|python3|runtime/bench)\b|^tilepost (?:bench|verify)|#method",
                          re.M),
}
UNIT = re.compile(r"\b(?:us|ms|GB/s|TFLOP/s|ratio)\b")
# A cell that is a number with a unit, and one that is a bare number.
WITH_UNIT = re.compile(r"\| *\**\d[\d.,]*(?: ?(?:us|ms|GB/s|TFLOP/s)|x)\b")
BARE = re.compile(r"\| *\**\d[\d.,]*\** *(?:\||/|\()")
HEADING = re.compile(r"^(#+) +(.*)$", re.M)
TABLE = re.compile(r"^\|.*\|\n\|[-:| ]+\|\n(?:\|.*\|\n?)+", re.M)
REVISION = re.compile(r"\brevisions?(?: is)?\s((?:[0-9a-f]{7,40}\b(?:,? (?:and|to|or) |, )?)+)")


def without_blocks(text):
    """Fenced blocks keep their commands, for these say how a figure was measured, and lose their tables."""
    return re.sub(r"^```.*?^```\s*$", lambda m: m[0].replace("|", " ").replace("\n#", "\n "), text,
                  flags=re.M | re.S)


def sections(text):
    """Yields (depth, heading, line, own text up to the next heading); the first is what stands above all headings."""
    marks = list(HEADING.finditer(text))
    yield 0, "", 1, text[:marks[0].start()] if marks else text
    for mark, after in zip(marks, marks[1:] + [None]):
        end = after.start() if after else len(text)
        yield len(mark[1]), mark[2], text.count("\n", 0, mark.start()) + 1, text[mark.start():end]


def is_measured(table):
    head, body = table.split("\n", 1)
    return bool(WITH_UNIT.search(body) or UNIT.search(head) and BARE.search(body))


def find_bare_figures(name, text):
    """Names the tables that lack something."""
    around = []  # (depth, text) of the sections that enclose the one at hand
    for depth, heading, line, own in sections(without_blocks(text)):
        around = [(d, t) for d, t in around if d < depth] + [(depth, own)]
        if not any(is_measured(table[0]) for table in TABLE.finditer(own)):
            continue
        scope = "\n".join(t for _, t in around)
        lacks = [need for need, pattern in NEEDS.items() if not pattern.search(scope)]
        if lacks:
            yield f"{name}:{line}: the figures under '{heading}' have no {', no '.join(lacks)}"


def git(root, *arguments):
    return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)


def find_strange_revisions(root, name, text, release):
    for match in REVISION.finditer(without_blocks(text)):
        for revision in re.findall(r"[0-9a-f]{7,40}", match[1]):
            line = text.count("\n", 0, match.start()) + 1
            if git(root, "merge-base", "--is-ancestor", revision, "HEAD").returncode != 0:
                yield f"{name}:{line}: revision {revision} is not in this history"
            elif release and git(root, "merge-base", "--is-ancestor", release, revision).returncode != 0:
                yield f"{name}:{line}: revision {revision} is older than release {release}: measure again"


def pages(root):
    yield root / "README.md"
    yield from sorted((root / "docs").rglob("*.md"))


def check(root):
    has_history = git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == "false"
    release = git(root, "describe", "--tags", "--abbrev=0").stdout.strip() if has_history else ""
    if not has_history:
        print("skipped: revisions are not looked up, for this tree has no whole history")
    for page in pages(root):
        text, name = page.read_text(encoding="utf-8"), str(page.relative_to(root))
        yield from find_bare_figures(name, text)
        if has_history:
            yield from find_strange_revisions(root, name, text, release)


GOOD = """# Page

On two H100, 26 November 2026, revision 1234567, by `tilepost bench x.yaml`.

## Times

| shape | time |
|---|---|
| 8192 | 400 us |
"""


def mutants():
    """Each takes one thing away from a page that has all, or adds a table elsewhere."""
    if list(find_bare_figures("good", GOOD)):
        yield "a page that has all is refused"
    wrong = {
        "date": GOOD.replace("26 November 2026", "lately"),
        "machine": GOOD.replace("H100", "GPUs"),
        "revision": GOOD.replace("revision 1234567", "today's"),
        "command": GOOD.replace("`tilepost bench x.yaml`", "hand"),
    }
    for need, text in wrong.items():
        found = list(find_bare_figures("page", text))
        if len(found) != 1 or f"no {need}" not in found[0] or not found[0].startswith("page:5:"):
            yield f"no {need} is not found: {found}"
    elsewhere = GOOD.replace("On two", "## Facts\n\nOn two")
    if len(list(find_bare_figures("page", elsewhere))) != 1:
        yield "facts of another section are taken for a table's own"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "mutants"):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[2]).resolve()
    faults = list(check(root) if sys.argv[1] == "check" else mutants())
    print("\n".join(faults) or "ok")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
