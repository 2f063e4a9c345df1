#!/usr/bin/env python3
"""Looks at generated sources for what the weaver should have tidied away.

Usage: tidy.py FILE...
Fails, and names file and line, where
  - a constant, type, function, member or local variable is defined and never named again,
  - a ?: has a condition of namespace-scope constants alone,
  - a statement does not stand two columns further in than the block around it.
A parameter may be unused, of a function that other plans call with it, and so may the view's members,
which are for the marks.
"""
import re
import sys

ENTRY = re.compile(r"_program$")


def code_only(text):
    """The text with comments and literals blanked out, of the same length and lines."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def definitions(code):
    """(name, offset) of what the code defines, parameters not counted."""
    patterns = [
        r"\bconstexpr\s+[\w:<>]+\s+(\w+)\s*=",                  # constants
        r"\bconstexpr\s+int\s+\w+\s*=[^;{}()]*?,\s*(\w+)\s*=",  # and their second name
        r"\busing\s+(\w+)\s*=",
        r"\b(?:struct|enum|class)\s+(?:alignas\(\w+\)\s*)?(\w+)\b(?!<)[^;{}]*\{",
        r"^[ \t]*(?:static\s+)?(?:__device__|__host__|inline|template\s*<[^>]*>\s*__device__)[^;{}()=]*?"
        r"(?:&?\s*|\(&)(\w+)\(",                                # functions, members included
        r"^[ \t]+(?:const\s+)?(?:auto|bool|int|float|double|uint16_t|uint32_t|uint64_t|int64_t|long long|"
        r"(?:tilepost::)?[A-Z]\w*(?:<[^;=(){}]*>)?)\s*[*&]?\s*(\w+)\s*(?:=|;|\{|\[|\()",  # locals
    ]
    for pattern in patterns:
        for match in re.finditer(pattern, code, re.M):
            yield match.group(1), match.start(1)


def unused(code):
    counts = {}
    for name in re.findall(r"[A-Za-z_]\w*", code):
        counts[name] = counts.get(name, 0) + 1
    keywords = {"operator", "if", "for", "while", "switch", "return", "sizeof", "explicit"}
    # The members of the view are the marks' to read.
    view = [m.span() for m in re.finditer(r"^struct View\b.*?^};", code, re.M | re.S)]
    for name, offset in definitions(code):
        if any(begin <= offset < end for begin, end in view):
            continue
        if counts[name] == 1 and name not in keywords and not ENTRY.search(name):
            yield offset, f"'{name}' is defined and never used"


def constant_choices(code):
    constants = set(re.findall(r"^constexpr\s+[\w:]+\s+(\w+)\s*=", code, re.M))
    constants |= {"true", "false"}
    for match in re.finditer(r"\?", code):
        before = code[:match.start()]
        # Back to where the condition begins: an opening bracket, or what ends an operand.
        depth, at = 0, len(before)
        while at > 0:
            c = before[at - 1]
            if c in ")]}":
                depth += 1
            elif c in "([{":
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and (c in ";,?:" or c == "=" and before[at - 2] not in "=!<>"
                                 and before[at:at + 1] != "="):
                break
            at -= 1
        condition = re.sub(r"^\s*return\b", "", before[at:])
        words = re.findall(r"[A-Za-z_]\w*", condition)
        if all(word in constants for word in words):
            yield match.start(), f"the condition '{' '.join(condition.split())}' is a constant"


CONTROL = re.compile(r"(for|if|while|switch|do|else)\b")
BLOCK = re.compile(r"(\)|\belse|\bdo|\btry|\bconst|\bnoexcept|^)$|\b(struct|class|enum|union)\b[^()=]*$")
NAMESPACE = re.compile(r"\bnamespace\b[\w\s:]*$|\bextern\s*$")


def indentation(text, code):
    """(line, message) of statements that stand elsewhere than two columns into their block."""
    # Of each block around, the column of what opened it and of what stands in it; None in a list of
    # initialisers.
    levels = [(0, 0)]
    parens, base = 0, 0  # base: of the statement that goes on
    previous = ""
    number = 0
    for number, (line, raw) in enumerate(zip(code.split("\n"), text.split("\n")), 1):
        stripped = line.strip()
        if not stripped or raw.lstrip().startswith("#"):
            continue
        actual = len(raw) - len(raw.lstrip(" "))
        closes = len(stripped) - len(stripped.lstrip("}"))
        begins = previous == "" or previous[-1] in ";{}"
        inner = parens == 0 and CONTROL.match(stripped) and re.search(r"(\)|\belse)$", previous)
        if parens == 0 and None not in levels and (begins or inner):
            if inner:
                base += 2
            else:
                base = levels[-closes][0] if closes else levels[-1][1]
            if inner and stripped.startswith("else"):
                base -= 2
            if actual != base and not stripped.endswith(":"):
                yield number, f"stands in column {actual}, not {base}: {raw.strip()}"
        for i, c in enumerate(stripped):
            parens += (c == "(") - (c == ")")
            if c == "{":
                ahead = stripped[:i].rstrip()
                if NAMESPACE.search(ahead):
                    levels.append((base, base))
                elif parens == 0 and BLOCK.search(ahead) and None not in levels:
                    levels.append((base, base + 2))
                else:
                    levels.append(None)
            elif c == "}" and len(levels) > 1:
                levels.pop()
        previous = stripped
    if len(levels) > 1:
        yield number, "a bracket is not closed"


def main():
    wrong = 0
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        code = code_only(text)
        found = [(line_of(code, offset), message)
                 for check in (unused, constant_choices) for offset, message in check(code)]
        found += indentation(text, code)
        for line, message in sorted(found):
            print(f"{name}:{line}: {message}")
        wrong += len(found)
    if wrong or len(sys.argv) < 2:
        sys.exit(f"{wrong} places in {len(sys.argv) - 1} files")


main()
