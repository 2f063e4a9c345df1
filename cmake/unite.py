#!/usr/bin/env python3
"""Which sources may be compiled as one: prints a number for each, that of its group.

Usage: unite.py COUNT SOURCE…

No source of a group, of which there are up to COUNT, has in its text a name that another one of the group declares in
its unnamed namespaces, or a macro that another one defines: as one file they mean what they mean by themselves.
"""

import re
import sys

IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n|^(?:static|constexpr|const) [^\n]*\n", re.S | re.M)
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)|using (\w+) =")
NOT_DECLARED = re.compile(r"using |namespace |TEST_CASE|extern |return |#")
FUNCTION = re.compile(r"[\w\[].*?[ *&](\w+)\(")
VARIABLE = re.compile(r"[\w\[].*?[ *&](\w+)(?:\[[^=;{]*\])*(?: = |\{|;| =$)")


def declared(text):
    """The names of unnamed namespaces, whose declarations begin in the first column, and of macros."""
    names = set(re.findall(r"^#define (\w+)", text, re.M))
    for block in UNNAMED.finditer(text):
        for line in block.group(0).splitlines():
            if match := TYPE.match(line):
                names.add(match.group(1) or match.group(2))
            elif not NOT_DECLARED.match(line) and (match := FUNCTION.match(line) or VARIABLE.match(line)):
                names.add(match.group(1))
    return names


def stripped(text, comments):
    """The text without strings, and with or without what begins with two slashes."""
    return IGNORED.sub(lambda match: match.group() if comments and match.group().startswith("//") else "", text)


def main():
    most = int(sys.argv[1])
    groups = []  # of the number of sources, the names that they declare, and their words
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        names = declared(stripped(text, comments=True))
        words = set(re.findall(r"\w+", stripped(text, comments=False)))
        for number, (sources, theirs, read) in enumerate(groups):
            if sources < most and not names & read and not words & theirs:
                groups[number] = (sources + 1, theirs | names, read | words)
                break
        else:
            number = len(groups)
            groups.append((1, names, words))
        print(number)


if __name__ == "__main__":
    main()
