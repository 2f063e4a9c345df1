#!/usr/bin/env python3
"""GEMMs of e4m3 with scales of blocks on one GPU: tilepost's beside DeepGEMM's and cuBLASLt's.

    blocks.py --specs FOLDER …        specs of what the same options measure, for `tilepost catalogue`
    blocks.py --warm PART/PARTS …     compiles what DeepGEMM compiles at first use
    torchrun --nproc-per-node 1 blocks.py --catalogue KERNELS --deepseek --random 30 --seed 1

128 elements of a row of A have a scale, and 128 of each of 128 rows of B. Every form gets its scales in the order that
it reads as it is. cuBLASLt is called by PyTorch. "one scale" is tilepost's own GEMM of the same e4m3, with one scale
for all of A and one for all of B, which also adds precisely. Every form is checked before it is timed, on so many
operands in turn that no run finds its own in the L2 cache, up to 20. In mode "graph" a graph has several runs, so that
what a launch costs the host does not count. Bursts are those of `tilepost bench --mode cool`. In mode "kernels", of
eager calls, only what PyTorch's profiler sees on the GPU counts. Prints microseconds, and how many times as long as
tilepost's the others took.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import random
import sys
from typing import Iterator, NamedTuple

import torch

import alone
import blocks_forms as forms
import others
import reports
import specs
import timing
import tilepost
from blocks_forms import Form, Shape

LIMIT = 1e-2  # of the relative error; bf16 rounds to 2e-3
MANY_ROWS = 2000
ROTATED_BYTES = 128 << 20  # more than twice the L2 cache
MOST_RUNS, GRAPH_US = 20, 1000.0  # of a graph
FLOPS_OF_US, BYTES_OF_US = 1.2e9, 4e6  # what a GPU does in a microsecond, about
ONE_SCALE = "one scale"
DEEPSEEK = [Shape("DeepSeek-V3", 4096, n, k) for n, k in ((24576, 1536), (7168, 16384), (7168, 2048), (4096, 7168))]


def random_shapes(options: argparse.Namespace) -> list[Shape]:
    """Shapes whose logarithms are uniform."""
    uniform = functools.partial(specs.log_uniform, random.Random(options.seed))
    return [Shape("random", uniform(*options.rows), uniform(512, 16384, 64), uniform(512, 16384, 16))
            for _ in range(options.random)]


def chosen_shapes(options: argparse.Namespace) -> list[Shape]:
    """All shapes that the options name. On the host target there is a tiny one, whose last blocks are smaller."""
    if options.host:
        return [Shape("tiny", 37, 192, 208)]
    return (DEEPSEEK if options.deepseek else []) + random_shapes(options)


class Repeats(NamedTuple):
    """How a shape is timed."""
    sets: int  # of operands
    runs: int  # of a graph, and of a call without one


def repeats_of(shape: Shape, host: bool) -> Repeats:
    if host:
        return Repeats(2, 3)
    sets = min(-(-ROTATED_BYTES // shape.bytes()), MOST_RUNS)
    once = max(shape.flops() / FLOPS_OF_US, shape.bytes() / BYTES_OF_US)
    return Repeats(sets, max(sets, min(int(GRAPH_US / once), MOST_RUNS)))


class Result(NamedTuple):
    """What one shape took, in us, and why forms are missing."""
    shape: Shape
    mode: str  # graph, eager, kernels
    times: dict[str, float]
    missing: dict[str, str]

    def ratios(self) -> dict[str, float]:
        """How many times as long as tilepost the others took, and the better of the other libraries."""
        ratios = {name: us / self.times["tilepost"] for name, us in self.times.items() if name != "tilepost"}
        libraries = [ratios[name] for name in forms.BASELINES if name in ratios]
        return {**ratios, "better": min(libraries)} if libraries else ratios

    def tflops(self) -> float:
        return self.shape.flops() / self.times["tilepost"] / 1e6


COLUMNS = [*forms.BASELINES, "better", ONE_SCALE]


def baselines_of(sets: list[forms.Operands]) -> tuple[dict[str, Form], dict[str, str]]:
    """The other libraries' forms, and of those that are not here the reasons."""
    def called(name: str) -> Form:
        form = Form([forms.BASELINES[name](operands) for operands in sets])
        form.calls[0]()
        return form

    return others.that_run({name: functools.partial(called, name) for name in forms.BASELINES})


def checked(shape: Shape, name: str, checker: forms.Checker, result: torch.Tensor, blocks: bool) -> None:
    """Ends the program where a result is wrong. Collective."""
    error = checker.error(result, blocks)
    if not error < LIMIT:
        raise SystemExit(f"{shape}: {name} differs from sums in fp32 by {error:.2e}, the limit is {LIMIT}")


def graphs_of(calls: dict[str, timing.Call], device: torch.device,
              missing: dict[str, str]) -> dict[str, timing.Call]:
    """The calls, each captured. Those of other libraries that cannot be captured are noted as missing."""
    own = {name: timing.captured(call, device) for name, call in calls.items() if name not in forms.BASELINES}
    graphs, failed = others.that_run({name: functools.partial(timing.captured, call, device)
                                      for name, call in calls.items() if name in forms.BASELINES})
    missing.update({name: f"it is not captured: {reason}" for name, reason in failed.items()})
    return {**own, **graphs}


def recomputed(call: timing.Call) -> torch.Tensor:
    """What a call computes where NaN were before."""
    call().fill_(float("nan"))
    return call()


def measure_mode(shape: Shape, mode: str, every: dict[str, Form], checker: forms.Checker, missing: dict[str, str],
                 options: argparse.Namespace) -> Result:
    """Checks and times all forms in one mode. Graphs go with this call, before what they use."""
    runs, device = repeats_of(shape, options.host).runs, checker.operands.device
    calls = {name: timing.in_turn(form.calls, runs) for name, form in every.items()}
    missing = dict(missing)
    if mode == "graph":
        calls = graphs_of(calls, device, missing)
    for name, call in calls.items():
        checked(shape, f"{name} in mode {mode}", checker, recomputed(call), every[name].blocks)
    if mode == "kernels":
        return Result(shape, mode, {name: timing.kernel_time(call) for name, call in calls.items()}, missing)
    times = timing.interleaved(calls, options.rounds, device, least_ms=options.burst, pause_ms=options.pause)
    return Result(shape, mode, {name: us / runs for name, us in times.items()}, missing)


def measure(shape: Shape, device: torch.device, comm: tilepost.Comm, options: argparse.Namespace) -> list[Result]:
    """Checks and times all forms of a shape, in each mode."""
    repeats = repeats_of(shape, options.host)
    sets = [forms.Operands(shape, device, seed) for seed in range(repeats.sets)]
    with contextlib.ExitStack() as stack:
        def ours(blocks: bool) -> Form:
            return stack.enter_context(contextlib.closing(
                forms.Ours(shape, sets, comm, options.kernels, blocks))).form

        every = {"tilepost": ours(True), ONE_SCALE: ours(False)}
        baselines, missing = baselines_of(sets)
        every.update(baselines)
        checker = forms.Checker(sets[(repeats.runs - 1) % repeats.sets])
        return [measure_mode(shape, mode, every, checker, missing, options) for mode in options.mode]


def table_head() -> str:
    return reports.head(["shapes", "m x n x k", "mode", "tilepost", "TFLOP/s",
                         *(f"{name} / tilepost" for name in COLUMNS)])


def table_line(result: Result) -> str:
    shape, ratios = result.shape, result.ratios()
    return reports.line([shape.set, f"{shape.m} x {shape.n} x {shape.k}", result.mode,
                         f"{result.times['tilepost']:.1f}", f"{result.tflops():.0f}",
                         *(f"{ratios[name]:.3f}" if name in ratios else "" for name in COLUMNS)])


def summary(results: list[Result]) -> str:
    """Geometric means of the others' times over tilepost's, and the least."""
    groups: dict[tuple[str, str, str], list[Result]] = collections.defaultdict(list)
    for result in results:
        rows = f"{MANY_ROWS} and more" if result.shape.m >= MANY_ROWS else "fewer"
        groups[(result.shape.set, rows, result.mode)].append(result)
    lines = [reports.head(["shapes", "rows", "mode", "number", *COLUMNS])]
    for key, mine in sorted(groups.items()):
        ratios = ([each.ratios()[name] for each in mine if name in each.ratios()] for name in COLUMNS)
        lines.append(reports.line([*key, str(len(mine)), *map(reports.mean_and_least, ratios)]))
    return "\n".join(lines)


def warm(options: argparse.Namespace) -> int:
    """Calls DeepGEMM's form of a part of the shapes."""
    def deep_gemm(shape: Shape) -> None:
        forms.deep_gemm(forms.Operands(shape, torch.device("cuda", 0), 0))()

    return others.first_calls(options.warm, [functools.partial(deep_gemm, shape) for shape in chosen_shapes(options)])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    alone.add_arguments(parser, "shapes", "shape and mode")
    parser.add_argument("--deepseek", action="store_true", help="four products of DeepSeek-V3")
    parser.add_argument("--rows", type=int, nargs=2, default=[1, 16384], metavar=("LEAST", "MOST"),
                        help="of the random shapes")
    parser.add_argument("--mode", nargs="+", choices=["graph", "eager", "kernels"], default=["graph", "eager"])
    parser.add_argument("--burst", type=float, default=3.0, metavar="MS", help="how long a form is timed at a time")
    parser.add_argument("--pause", type=float, default=8.0, metavar="MS", help="before a burst, for the chip to cool")
    options = parser.parse_args()
    if options.host:
        if "kernels" in options.mode:
            parser.error("kernels are of a GPU; leave --host out")
        options.rounds, options.pause = 2, 0.0
    return options


def main() -> int:
    options = parsed()
    if options.specs:
        return specs.write(options.specs, (shape.fields(blocks, options.host) for shape in chosen_shapes(options)
                                           for blocks in (True, False)))
    if options.warm:
        return warm(options)

    def measured(device: torch.device, comm: tilepost.Comm) -> Iterator[Result]:
        for shape in chosen_shapes(options):
            yield from measure(shape, device, comm, options)
            if device.type == "cuda":
                torch.cuda.empty_cache()

    return alone.run(options, table_head(), measured, functools.partial(report, options), summary)


def report(options: argparse.Namespace, result: Result, reasons: reports.Reasons) -> None:
    """Prints a shape's line in a mode, and the reasons of missing forms that have not been said."""
    print(table_line(result), flush=True)
    reasons.say(result.missing, f"in mode {result.mode}")
    reports.append_json(options.json, {**result.shape._asdict(), "mode": result.mode, "us": result.times,
                                       "missing": result.missing})


if __name__ == "__main__":
    sys.exit(main())
