#!/usr/bin/env python3
"""Whole mixture-of-experts layers with random weights: PyTorch's sequences beside tilepost's one operation.

    torchrun --nproc-per-node 2 python/bench/moe.py --layer qwen3-30b mixtral --tokens 8192 512 64 1
    torchrun --nproc-per-node 2 python/bench/moe.py --layer --random 10 --seed 1 --load random one_rank one_expert

A layer begins with hidden states, ids and weights of a rank's tokens, and ends with the sums of what the experts made
of them. The others are: AllGather, sort, torch._grouped_mm and ReduceScatter; all_to_all_single of a row for each
route; and the same by torch.ops.symm_mem.all_to_all_vdev_2d. In mode "graph" a graph has several runs, so that what a
replay costs the host does not count. Every form is checked before it is timed. Prints microseconds of a run, of the
slowest rank, and how many times as long as tilepost's the others took.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import sys
from typing import NamedTuple

import torch
import torch.distributed as dist

import experts
import moe_forms as forms
import ranks
import reports
import specs
import tilepost
import timing
from experts import Case, SHAPES

RUNS_OF_A_GRAPH = 20  # with few tokens; a graph of more than FEW_TOKENS has one
FEW_TOKENS = 512
PAUSE_MS = 4.0  # before each burst


class Result(NamedTuple):
    """What one case took, in us, and why forms are missing."""
    case: Case
    times: dict[str, float]
    missing: dict[str, str]

    def ratios(self) -> dict[str, float]:
        """How many times as long as tilepost the others took."""
        return {name: us / self.times["tilepost"] for name, us in self.times.items() if name != "tilepost"}


def other_forms(layer: experts.Layer, names: list[str]) -> tuple[dict[str, timing.Call], dict[str, str]]:
    """The baselines, each after a first call, and of those that do not run here the reasons. Collective."""
    made: dict[str, timing.Call] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            call = forms.BASELINES[name](layer)
            forms.attempt(call)
            made[name] = call
        except forms.Unavailable as error:
            missing[name] = str(error)
    return made, missing


def graphs_of(calls: dict[str, timing.Call], runs: int, device: torch.device,
              missing: dict[str, str]) -> dict[str, timing.Call]:
    """The calls, each captured so many times in a graph. Those that cannot be captured are noted as missing, except
    tilepost, which can. Collective."""
    graphs: dict[str, timing.Call] = {}

    def capture(name: str, call: timing.Call) -> None:
        graphs[name] = timing.captured(timing.in_turn([call], runs), device)

    for name, call in calls.items():
        if name == "tilepost":
            capture(name, call)
            continue
        try:
            forms.attempt(functools.partial(capture, name, call))
        except forms.Unavailable as error:
            graphs.pop(name, None)
            missing[name] = f"it is not captured: {error}"
    return graphs


def measure(case: Case, rank: int, device: torch.device, comm: tilepost.Comm, options: argparse.Namespace) -> Result:
    """Checks and times the forms of a case. Collective."""
    layer = experts.Layer(case, rank, dist.get_world_size(), device)
    before = layer.sort()
    wanted = experts.plain_sums(layer, experts.plain_inner(layer, before), before)
    with contextlib.closing(forms.Ours(layer, comm, options.kernels)) as ours:
        others, missing = other_forms(layer, options.forms)
        calls: dict[str, timing.Call] = {"tilepost": ours, **others}
        experts.check(case, {name: call().clone() for name, call in calls.items()}, wanted)
        runs = 1
        if case.mode == "graph":
            runs = RUNS_OF_A_GRAPH if case.tokens <= FEW_TOKENS else 1
            calls = graphs_of(calls, runs, device, missing)
            experts.check(case, {name + " in a graph": call().clone() for name, call in calls.items()}, wanted)
        times = timing.interleaved(calls, options.rounds, device, pause_ms=0 if options.host else PAUSE_MS)
        calls.clear()  # graphs go before what they use
    return Result(case, {name: us / runs for name, us in times.items()}, missing)


def table_head(names: list[str]) -> str:
    names = ["layer", "experts, top, hidden, inner", "tokens", "load", "mode", "tilepost", *names,
             *(f"{name} / tilepost" for name in names)]
    return reports.head(names)


def table_line(result: Result, names: list[str]) -> str:
    case, ratios = result.case, result.ratios()
    cells = [case.layer, ", ".join(map(str, case.shape)), str(case.tokens), case.load, case.mode]
    cells += [f"{result.times[name]:.1f}" if name in result.times else "" for name in ["tilepost", *names]]
    cells += [f"{ratios[name]:.3f}" if name in ratios else "" for name in names]
    return reports.line(cells)


def summary(results: list[Result], names: list[str]) -> str:
    """Geometric means of the others' times over tilepost's, and the least."""
    lines = [reports.head(["tokens", "mode", "cases", *names])]
    for few in (True, False):
        for mode in ("eager", "graph"):
            mine = [each for each in results if (each.case.tokens <= FEW_TOKENS) == few and each.case.mode == mode]
            cells = [f"up to {FEW_TOKENS}" if few else "more", mode, str(len(mine))]
            ratios = ([each.ratios()[name] for each in mine if name in each.times] for name in names)
            if mine:
                lines.append(reports.line([*cells, *map(reports.mean_and_least, ratios)]))
    return "\n".join(lines)


def report(result: Result, reasons: reports.Reasons, options: argparse.Namespace) -> None:
    """Prints a case's line, and the reasons of missing forms that have not been said."""
    print(table_line(result, options.forms), flush=True)
    reasons.say(result.missing, f"in mode {result.case.mode}")
    reports.append_json(options.json, {**result.case._asdict(), "us": result.times, "missing": result.missing})


def cases_of(options: argparse.Namespace) -> list[Case]:
    """All cases that the options name. Random layers have tokens of their own."""
    shapes = [(name, SHAPES[name], tokens) for name in options.layer for tokens in options.tokens]
    shapes += [(f"random {index}", shape, tokens)
               for index, (shape, tokens) in enumerate(experts.random_shapes(options.random, options.seed))]
    return [Case(name, shape, "layer", tokens, load, mode)
            for name, shape, tokens in shapes for load in options.load for mode in options.mode]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ranks.add_arguments(parser)
    parser.add_argument("--layer", nargs="*", choices=list(SHAPES), default=["qwen3-30b", "mixtral"])
    parser.add_argument("--tokens", nargs="+", type=int, default=[8192, 512, 256, 64, 16, 4, 1], help="of a rank")
    parser.add_argument("--load", nargs="+", choices=experts.LOADS, default=["random"],
                        help="how tokens choose experts")
    parser.add_argument("--mode", nargs="+", choices=["eager", "graph"], default=["eager", "graph"])
    parser.add_argument("--forms", nargs="*", choices=list(forms.BASELINES), default=list(forms.BASELINES),
                        help="what tilepost is compared with")
    specs.add_random(parser, "layers")
    reports.add_json(parser, "case")
    specs.add_argument(parser)
    specs.add_ranks(parser)
    options = parser.parse_args()
    if options.host:
        options.layer, options.tokens, options.random, options.rounds = ["tiny"], [24, 3], 0, 2
    return options


def main() -> int:
    options = parsed()
    cases = cases_of(options)
    if options.specs:
        return specs.write(options.specs, (case.fields(options.ranks, options.host) for case in cases))
    options.kernels = tilepost.Catalogue(options.catalogue) if options.catalogue else None

    def body(rank: int, device: torch.device) -> None:
        comm = experts.communicator(rank, dist.get_world_size(), device)
        if rank == 0:
            print(f"PyTorch {torch.__version__}, tilepost {tilepost.__version__}, {dist.get_world_size()} ranks; "
                  "microseconds" + ("; the CPU's times mean nothing" if options.host else ""))
            print(table_head(options.forms), flush=True)
        results: list[Result] = []
        reasons = reports.Reasons()
        for case in cases:
            results.append(measure(case, rank, device, comm, options))
            if rank == 0:
                report(results[-1], reasons, options)
        if rank == 0:
            print("\n" + summary(results, options.forms))
        comm.close()

    return ranks.run(body, options.host)


if __name__ == "__main__":
    sys.exit(main())
