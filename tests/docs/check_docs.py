#!/usr/bin/env python3
"""Holds the documentation to the program.

Usage: check_docs.py links|paths|style|flags|fields|blocks|specs|outputs|accept <repository> [<tilepost>]

links   relative links of every *.md lead to a file, and their #anchors to a heading
paths   every `folder/file` that a page names is there
style   no line ends in a blank, no line of prose has more than 120 characters, no leftover marks
flags   every flag of `tilepost list flags` stands in docs/cli.md, under its command, and no other
fields  every field of `tilepost schema` stands in docs/spec.md
blocks  every ```sh run block succeeds, in a folder that holds attn_out.yaml
specs   every ```yaml block that is a whole spec passes `tilepost check`
outputs what follows a `$ tilepost …` line in a block is what the tool prints, as far as it is shown
accept  not a check: puts what the tool prints now into those blocks
"""

import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED_FOLDERS = {"build", ".git"}
LINE_LENGTH = 120


def markdown_files(root):
    for path in sorted(root.rglob("*.md")):
        if not SKIPPED_FOLDERS.intersection(path.relative_to(root).parts):
            yield path


def fenced_blocks(text):
    """Yields (language line, body, line number) of every fenced block."""
    pattern = re.compile(r"^```([^\n`]*)\n(.*?)^```\s*$", re.M | re.S)
    for match in pattern.finditer(text):
        yield match[1].strip(), match[2], text.count("\n", 0, match.start()) + 1


def without_blocks(text):
    return re.sub(r"^```.*?^```\s*$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)


def anchors(text):
    """The anchors that GitHub gives the headings of a page."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", without_blocks(text), re.M):
        words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        found.add(words.replace(" ", "-"))
    return found


def check_links(root, _tool):
    for path in markdown_files(root):
        prose = without_blocks(path.read_text(encoding="utf-8"))
        for match in re.finditer(r"\]\(([^)\s]+)\)", prose):
            target = match[1]
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            place = (path.parent / file) if file else path
            where = f"{path.relative_to(root)}:{prose.count(chr(10), 0, match.start()) + 1}"
            if not place.exists():
                yield f"{where}: '{target}' leads nowhere"
            elif anchor and anchor not in anchors(place.read_text(encoding="utf-8")):
                yield f"{where}: no heading '#{anchor}' in {file or path.name}"


def check_paths(root, _tool):
    """Paths from the root, without the changelog, which names files of earlier versions."""
    folders = "cmake|docs|examples|generator|include|runtime|templates|tests"
    for path in markdown_files(root):
        if path.name == "CHANGELOG.md":
            continue
        prose = without_blocks(path.read_text(encoding="utf-8"))
        for match in re.finditer(rf"`((?:{folders})/[\w./-]*)`", prose):
            place = root / match[1]  # or a stem, which stands for its sources
            if not place.exists() and not any(place.parent.glob(f"{place.name}.*")):
                line = prose.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(root)}:{line}: '{match[1]}' is not there"


def check_style(root, _tool):
    for path in markdown_files(root):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(without_blocks(text).splitlines(), 1):
            if len(line) > LINE_LENGTH and not line.startswith("|"):
                yield f"{path.relative_to(root)}:{number}: {len(line)} characters in a line of prose"
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{path.relative_to(root)}:{number}"
            if line != line.rstrip():
                yield f"{where}: the line ends in a blank"
            if re.search(r"\b(TODO|FIXME|TBD)\b", line):
                yield f"{where}: a leftover mark"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_flags(root, tool):
    page = (root / "docs/cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `tilepost (\w+)`\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    known = {}
    for line in output_of(tool, "list", "flags").splitlines():
        verb, flag = line.split()[:2]
        known.setdefault(verb, set()).add(flag)
    for verb, flags in sorted(known.items()):
        described = set(re.findall(r"^\| `(--?[\w-]+)", sections.get(verb, ""), re.M))
        for flag in sorted(flags - described):
            yield f"docs/cli.md: '{verb}' has no row for '{flag}'"
        for flag in sorted(described - flags):
            yield f"docs/cli.md: '{verb}' describes '{flag}', which it does not take"


def schema_fields(schema, prefix=""):
    """The dotted paths of every field, through the alternatives a field may have."""
    for key, value in schema.get("properties", {}).items():
        path = prefix + key
        yield path
        for form in [value, *value.get("anyOf", []), *value.get("oneOf", [])]:
            yield from schema_fields(form, path + ".")


def check_fields(root, tool):
    page = (root / "docs/spec.md").read_text(encoding="utf-8")
    words = set(re.findall(r"`([\w.]+)`", page))
    fields = list(schema_fields(json.loads(output_of(tool, "schema"))))
    if len(fields) < 10:
        yield f"tilepost schema lists only {len(fields)} fields"
    for field in fields:
        if field not in words:
            yield f"docs/spec.md: nothing about `{field}`"


def check_blocks(root, tool):
    environment = dict(os.environ, PATH=f"{pathlib.Path(tool).parent}:{os.environ['PATH']}")
    count = 0
    for path in markdown_files(root):
        text = path.read_text(encoding="utf-8")
        runnable = [block for block in fenced_blocks(text) if block[0] == "sh run"]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(root / "examples/quickstart.yaml", f"{folder}/attn_out.yaml")
            for _, body, line in runnable:
                count += 1
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=folder,
                                      env=environment, capture_output=True, text=True)
                if done.returncode:
                    yield (f"{path.relative_to(root)}:{line}: exit {done.returncode}\n"
                           f"{done.stdout}{done.stderr}")
    if count == 0:
        yield "no ```sh run block found"


def check_specs(root, tool):
    """Kernels that a page shows above a spec, named in their first line, are files beside it."""
    for path in markdown_files(root):
        with tempfile.TemporaryDirectory() as folder:
            for language, body, line in fenced_blocks(path.read_text(encoding="utf-8")):
                if source := re.match(r"// (\w+\.cuh?)\n", body):
                    pathlib.Path(folder, source[1]).write_text(body, encoding="utf-8")
                if language != "yaml" or not re.search(r"^tilepost:", body, re.M):
                    continue
                done = subprocess.run([tool, "check", "-"], input=body, capture_output=True, text=True, cwd=folder)
                if done.returncode:
                    yield f"{path.relative_to(root)}:{line}: not a valid spec\n{done.stderr}"


def shown_outputs(text):
    """Yields (arguments, shown lines) of every `$ tilepost …` line with output below it."""
    for language, body, _ in fenced_blocks(text):
        for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            words = command.split("#")[0].split()
            if words[:1] == ["tilepost"] and shown.strip():
                yield words[1:], shown.rstrip("\n")


def outputs(root, tool):
    """Yields (page, shown, printed): printed is cut to as many paragraphs as are shown."""
    for path in markdown_files(root):
        for arguments, shown in shown_outputs(path.read_text(encoding="utf-8")):
            done = subprocess.run([tool, *arguments], cwd=root, capture_output=True, text=True)
            paragraphs = done.stdout.split("\n\n")[:shown.count("\n\n") + 1]
            yield path, shown, "\n\n".join(paragraphs).rstrip("\n")


def check_outputs(root, tool):
    for path, shown, printed in outputs(root, tool):
        if shown.rstrip() != printed:
            diff = difflib.unified_diff(shown.splitlines(), printed.splitlines(), "shown", "printed",
                                        lineterm="")
            yield (f"{path.relative_to(root)}: the tool prints something else; if it should: "
                   "python3 tests/docs/check_docs.py accept . <tilepost>\n" + "\n".join(diff))


def accept(root, tool):
    for path, shown, printed in list(outputs(root, tool)):
        path.write_text(path.read_text(encoding="utf-8").replace(shown, printed), encoding="utf-8")
    return []


CHECKS = {"links": check_links, "paths": check_paths, "style": check_style, "flags": check_flags,
          "fields": check_fields, "blocks": check_blocks, "specs": check_specs,
          "outputs": check_outputs, "accept": accept}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    tool = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
    problems = list(CHECKS[sys.argv[1]](pathlib.Path(sys.argv[2]), tool))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "PASS")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
