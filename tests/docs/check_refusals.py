#!/usr/bin/env python3
"""Holds docs/refusals.md to the messages of the code.

Usage: check_refusals.py check|list|mutants <repository>

check    every sentence with which the inference, the weaver or the examination of a user's kernel refuses stands in a
         table of the page, and every refusal of the page is said by the code
list     prints the messages, with … for what they name
mutants  makes the page and the code differ in several ways, and sees each found
"""

import pathlib
import re
import sys

PAGE = "docs/refusals.md"
ROOMS = ["generator/infer", "generator/own", *(f"generator/weave/{room}" for room in ("marked", "pieces", "unmarked"))]
FILES = [  # of rooms whose other files are for bundled kernels, or for how all is read
    "marks/calls.cpp", "marks/hand_down.cpp", "marks/thread_view.cpp", "marks/wrap_kernel.cpp", "pieces/check_kept.cpp",
    "pieces/pieces.cpp"]
FRONT = [f"generator/clang/{name}.cpp" for name in ("asked/candidates", "instantiate", "limits")]
CALLS = r"(?<![\w:])(?:\w+(?:\.|->))*(?:complain|fail|error|error_at|refuse|require)\("
SHORT = 14  # characters of a part that may stand anywhere

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|'
                   r"[(){}\[\],?]|\w+|\s+|.", re.S)


def sources(root):
    for room in ROOMS:
        yield from sorted((root / room).rglob("*.cpp"))
    for name in FILES:
        yield root / "generator/weave" / name
    for name in FRONT:
        yield root / name


def strings_at(text, begin):
    """The strings of the call whose arguments begin there: for each argument that has some, its parts. Strings side by
    side are one part."""
    depth, arguments, touching = 1, [[]], False
    for token in TOKEN.finditer(text, begin):
        word = token[0]
        if word in "([{":
            depth += 1
        elif word in ")]}":
            depth -= 1
            if depth == 0:
                break
        if token["text"] is not None:
            said = token["text"].replace('\\"', '"').replace("\\\\", "\\")
            if touching:
                arguments[-1][-1] += said
            else:
                arguments[-1].append(said)
            touching = True
        elif word == "," and depth == 1:
            arguments.append([])
            touching = False
        elif word.strip() and not word.startswith(("//", "/*")):
            touching = False
    return [parts for parts in arguments if parts]


def plain(text):
    """Without what fmt::format puts numbers into: {}, {0}; and doubled braces."""
    text = re.sub(r"(?<!\{)\{\d?\}", "…", text)
    return text.replace("{{", "{").replace("}}", "}")


def parts_of(text):
    return [part.strip() for part in plain(text).split("…")]


def messages(root):
    """Of every call that refuses: where, and the strings of its arguments."""
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        for call in re.finditer(CALLS, text):
            said = strings_at(text, call.end())
            if said:
                yield f"{path.relative_to(root)}:{text.count(chr(10), 0, call.start()) + 1}", said


def all_strings(root):
    """Of the files, strings side by side as one."""
    for path in sources(root):
        for parts in strings_at(path.read_text(encoding="utf-8"), 0):
            yield from map(plain, parts)


def refusals(page):
    """The first cells of the page's tables."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 2 and cells[0] not in ("refusal", "---"):
            yield clean(cells[0])


def clean(text):
    return re.sub(r"\s+", " ", text.replace("\\|", "|").replace("`", ""))


def is_said(text, strings, most=3):
    """Whether it is put together of so many strings, or of whole words of them."""
    words = text.split(" ")
    for count in range(len(words), 0, -1) if most else ():
        begin = re.escape(" ".join(words[:count]))
        if re.search(rf"(?<!\w){begin}(?!\w)", strings) and (
                count == len(words) or is_said(" ".join(words[count:]), strings, most - 1)):
            return True
    return False


def differences(page, code, strings):
    """What one says and the other does not. A refusal's end may be its cure in the page."""
    told = clean(re.sub(r"(?<!\\) \| ", "; ", page))
    for where, arguments in code:
        for part in [part for piece in arguments[0] for part in parts_of(clean(piece))]:
            if len(part) >= SHORT and part not in told:
                yield f"{where}: '{part}' is not in {PAGE}"
    for refusal in refusals(page):
        for part in parts_of(refusal):
            if len(part) >= SHORT and not is_said(part, strings):
                yield f"{PAGE}: nothing says '{part}'"


def mutants(page, code, strings):
    long = [one for one in refusals(page) if max(map(len, parts_of(one))) > 3 * SHORT]
    first, second = (next(line for line in page.splitlines() if one in clean(line)) for one in long[:2])
    row = "|---|---|\n"
    changes = [
        ("a row less", page.replace(first + "\n", "", 1), code),
        ("a row more", page.replace(row, row + "| blocks sing where they should store | silence |\n", 1), code),
        ("another word in a row", page.replace(second, re.sub(r"(\w+ \w+ \w+) ", r"\1 never ", second, count=1), 1), code),
        ("a message more", page, [*code, ("x.cpp:1", [["this kernel is refused for no reason"]])]),
    ]
    for what, other_page, other_code in changes:
        found = any(differences(other_page, other_code, strings))
        print(f"{'found' if found else 'MISSED'}: {what}")
        yield found


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[2]).resolve()
    code = list(messages(root))
    if sys.argv[1] == "list":
        for where, arguments in code:
            print(where, *("…".join(plain(part) for part in parts) for parts in arguments), sep="\n  ")
        return 0
    strings = clean(" … ".join(all_strings(root)))
    page = (root / PAGE).read_text(encoding="utf-8")
    if sys.argv[1] == "mutants":
        return 0 if all(list(mutants(page, code, strings))) else 1
    wrong = list(differences(page, code, strings))
    print("\n".join(wrong) if wrong else f"PASS: {len(code)} messages, {len(list(refusals(page)))} rows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
