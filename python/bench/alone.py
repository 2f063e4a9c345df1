"""Benchmarks of products that stay on their rank: every rank measures for itself, and the first one reports."""
from __future__ import annotations

import argparse
from typing import Callable, Iterable, TypeVar

import torch

import ranks
import reports
import specs
import tilepost

Result = TypeVar("Result")


def add_arguments(parser: argparse.ArgumentParser, drawn: str, reported: str) -> None:
    """What these benchmarks have in common. `drawn`: what may be random, in the plural. `reported`: what has a line in
    the file of --json."""
    ranks.add_arguments(parser)
    specs.add_random(parser, drawn)
    reports.add_json(parser, reported)
    specs.add_argument(parser)
    parser.add_argument("--warm", metavar="PART/PARTS", help="compiles what others compile at first use, and ends")


def run(options: argparse.Namespace, head: str, measured: Callable[[torch.device, tilepost.Comm], Iterable[Result]],
        report: Callable[[Result, reports.Reasons], None], summary: Callable[[list[Result]], str]) -> int:
    """Measures on every rank, with a communicator of this rank alone. Rank 0 prints the head, reports each result as
    it comes and prints the summary of all. Returns the exit status."""
    options.kernels = tilepost.Catalogue(options.catalogue) if options.catalogue else None

    def body(rank: int, device: torch.device) -> None:
        comm = tilepost.Comm.host(1)[0] if options.host else tilepost.Comm.init_with(lambda own: [own], 0, 1)
        if rank == 0:
            print(f"PyTorch {torch.__version__}, tilepost {tilepost.__version__}; microseconds"
                  + ("; the CPU's times mean nothing" if options.host else ""))
            print(head, flush=True)
        results, reasons = [], reports.Reasons()
        for result in measured(device, comm):
            results.append(result)
            if rank == 0:
                report(result, reasons)
        if rank == 0:
            print("\n" + summary(results))
        comm.close()

    return ranks.run(body, options.host)
