"""Specs of what a benchmark measures, for `tilepost catalogue`."""
from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import ranks
import tilepost
from tilepost import _jit
from tilepost._plan import Value


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--specs", metavar="FOLDER", help="writes the specs of what the other options measure, for "
                                                          "`tilepost catalogue`, and ends")


def add_random(parser: argparse.ArgumentParser, what: str) -> None:
    """Random shapes beside those that are listed. `what` is their name in the plural."""
    parser.add_argument("--random", type=int, default=0, metavar="N", help=f"so many random {what}")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random")


def log_uniform(draw: random.Random, least: int, most: int, step: int = 1) -> int:
    """A number of steps, of which the logarithms are uniform."""
    return min(int(math.exp(draw.uniform(math.log(least), math.log(most + step)))) // step * step, most)


def add_ranks(parser: argparse.ArgumentParser) -> None:
    """How many ranks the programs have whose specs are written. What is measured has those of torchrun."""
    parser.add_argument("--ranks", type=int, default=ranks.RANKS, help="with --specs: of each program")


def write(folder: str, programs: Iterable[Mapping[str, Value]]) -> int:
    """A file for each different one of the programs, which are given by their fields. Returns the exit status."""
    texts = dict.fromkeys(_jit.spec_text(tilepost.Plan(fields).fields) for fields in programs)
    Path(folder).mkdir(parents=True, exist_ok=True)
    for index, text in enumerate(texts):
        (Path(folder) / f"program_{index}.yaml").write_text(text, encoding="utf-8")
    print(f"{len(texts)} specs")
    return 0
