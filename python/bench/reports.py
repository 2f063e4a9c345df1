"""What benchmarks print and write in the same way."""
from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from typing import Optional


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def head(names: list[str]) -> str:
    """The first two lines of a table."""
    return line(names) + "\n|" + "---|" * len(names)


def mean_and_least(ratios: list[float]) -> str:
    """The geometric mean, and in brackets the least; nothing of no ratios."""
    if not ratios:
        return ""
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} ({min(ratios):.3f})"


class Reasons:
    """Why forms are missing, each reason once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, missing: Mapping[str, str], where: str) -> None:
        """Prints the reasons that have not been said. `where` is the case in which the forms are missing."""
        for name, reason in missing.items():
            text = f"# no {name} {where}: {reason}"
            if text not in self._said:
                self._said.add(text)
                print(text, flush=True)


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """The file of append_json(). `what` has a line each."""
    parser.add_argument("--json", metavar="FILE", help=f"appends a line for each {what}")


def append_json(path: Optional[str], fields: Mapping[str, object]) -> None:
    """Appends a line to a file, if there is one."""
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")
