#!/usr/bin/env python3
"""Grouped GEMMs of one GPU with random weights: tilepost's beside PyTorch's, DeepGEMM's and cuBLAS's.

    grouped.py --specs FOLDER …                  specs of what the same options measure, for `tilepost catalogue`
    grouped.py --warm PART/PARTS …               compiles what DeepGEMM and PyTorch compile at first use
    torchrun --nproc-per-node 1 grouped.py --catalogue KERNELS --layer qwen3-30b --random 20 --seed 1

The products are those of a mixture-of-experts layer on one of two ranks, whose rows are sorted by expert already. "up"
is the first one, by gate and up, and "up swiglu" the same with the activation behind it: within tilepost's kernel, and
compiled by PyTorch behind all others. "one GEMM" is torch.mm of as many rows, for which one B serves, and which is no
grouped GEMM. --few has layers of Qwen3-30B with so many rows for each expert. Every form is checked before it is timed.
Prints microseconds, and how many times as long as tilepost's the others took.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import math
import sys
from typing import Callable, Iterator, NamedTuple

import torch

import alone
import grouped_forms as forms
import others
import ranks
import reports
import specs
import timing
import tilepost
from experts import SHAPES, random_shapes
from grouped_forms import Product

LIMIT = 2e-2  # bf16 rounds gate and up before PyTorch combines them
LEAST_MS, PAUSE_MS = 10.0, 4.0  # of a burst, and before it
CLASSES = (("4 to 64", 0, 128), ("256", 128, 512), ("512 and more", 512, math.inf))  # mean rows of an expert


class Layer(NamedTuple):
    """The experts of one rank."""
    name: str
    experts: int
    rows: int
    hidden: int
    inner: int


def named_layers(options: argparse.Namespace) -> list[Layer]:
    """Layers of --layer and --few. On the host target there is one tiny one."""
    if options.host:
        return [Layer("tiny", 4, 100, 64, 32)]

    def of(name: str, rows_of_all: int) -> Layer:
        shape = SHAPES[name]
        return Layer(name, shape.experts // ranks.RANKS, rows_of_all, shape.hidden, shape.inner)

    layers = [of(name, options.tokens * SHAPES[name].top) for name in options.layer]
    return layers + [of("qwen3-30b", rows * SHAPES["qwen3-30b"].experts // ranks.RANKS) for rows in options.few]


def random_layers(count: int, seed: int) -> list[Layer]:
    """Random layers on one of two ranks, where half of all routes go."""
    return [Layer(f"random {index}", shape.experts // ranks.RANKS, tokens * shape.top, shape.hidden, shape.inner)
            for index, (shape, tokens) in enumerate(random_shapes(count, seed))]


def products_of(layer: Layer, kind: str, swiglu: bool) -> list[tuple[Product, ...]]:
    """The layer's products, those with the same operands together."""
    up = Product(layer.name, "up", kind, layer.experts, layer.rows, 2 * layer.inner, layer.hidden, False)
    down = Product(layer.name, "down", kind, layer.experts, layer.rows, layer.hidden, layer.inner, False)
    return [(up, up._replace(swiglu=True)) if swiglu else (up,), (down,)]


def chosen_products(options: argparse.Namespace) -> list[tuple[Product, ...]]:
    """All products that the options name."""
    layers = named_layers(options) + random_layers(0 if options.host else options.random, options.seed)
    return [products for layer in layers for kind in options.type for products in products_of(layer, kind, True)]


def draw_counts(product: Product, seed: int) -> list[int]:
    """Rows of each expert, the same in both products of a layer: the most popular expert is chosen about three times as
    often as the least popular one."""
    generator = torch.Generator().manual_seed(seed * 1000 + product.rows)
    popularity = torch.rand(product.experts, generator=generator) + 0.5
    drawn = torch.multinomial(popularity, product.rows, replacement=True, generator=generator)
    return torch.bincount(drawn, minlength=product.experts).tolist()


def baselines_of(product: Product, operands: forms.Operands) -> tuple[dict[str, forms.Form], dict[str, str]]:
    """The other forms, and of those that are not here the reasons."""
    def called(make: Callable[[Product, forms.Operands], forms.Form]) -> forms.Form:
        form = make(product, operands)
        form.call()
        return form

    return others.that_run({name: functools.partial(called, make) for name, make in forms.BASELINES.items()})


class Result(NamedTuple):
    """What one product took, in us, and why forms are missing."""
    product: Product
    times: dict[str, float]
    missing: dict[str, str]

    def ratios(self) -> dict[str, float]:
        """How many times as long as tilepost the others took."""
        return {name: us / self.times["tilepost"] for name, us in self.times.items() if name != "tilepost"}

    def tflops(self) -> float:
        product = self.product
        return 2 * product.rows * product.columns * product.k / self.times["tilepost"] / 1e6


def measure(product: Product, operands: forms.Operands, comm: tilepost.Comm, options: argparse.Namespace) -> Result:
    """Checks and times all forms of a product."""
    with contextlib.closing(forms.Ours(product, operands, comm, options.kernels)) as ours:
        baselines, missing = baselines_of(product, operands)
        every = {"tilepost": ours.form, **baselines}
        checker = forms.Checker(product, operands)
        if not torch.isfinite(ours.form.call().sum(dtype=torch.float32)):
            raise SystemExit(f"{product}: tilepost left rows unwritten, or infinite")
        for name, form in every.items():
            error = timing.relative_error(checker.sampled(form, form.call()), checker.wanted(form.one_b))
            if not error < LIMIT:
                raise SystemExit(f"{product}: {name} differs from sums in fp32 by {error:.2e}, the limit is {LIMIT}")
        times = timing.interleaved({name: form.call for name, form in every.items()}, options.rounds, operands.device,
                                   least_ms=LEAST_MS, pause_ms=0 if options.host else PAUSE_MS)
    return Result(product, times, missing)


def table_head() -> str:
    return reports.head(["layer", "product", "type", "experts", "n, k", "rows of an expert", "tilepost", "TFLOP/s",
                         *(f"{name} / tilepost" for name in forms.BASELINES)])


def name_of(product: Product) -> str:
    return product.half + (" swiglu" if product.swiglu else "")


def table_line(result: Result) -> str:
    product, ratios = result.product, result.ratios()
    cells = [product.layer, name_of(product), product.type, str(product.experts), f"{product.columns}, {product.k}",
             f"{product.rows / product.experts:.4g}", f"{result.times['tilepost']:.1f}", f"{result.tflops():.0f}"]
    cells += [f"{ratios[name]:.3f}" if name in ratios else "" for name in forms.BASELINES]
    return reports.line(cells)


def summary(results: list[Result]) -> str:
    """Geometric means of the others' times over tilepost's, and the least."""
    lines = [reports.head(["type", "product", "rows of an expert", "products", *forms.BASELINES])]
    groups: dict[tuple[str, str, str], list[Result]] = collections.defaultdict(list)
    for result in results:
        mean = result.product.rows / result.product.experts
        size = next(name for name, least, most in CLASSES if least <= mean < most)
        kind = "with swiglu" if result.product.swiglu else "alone"
        for place in ((kind, size), (kind, "all")):
            groups[(result.product.type, *place)].append(result)
    for key in sorted(groups):
        ratios = ([each.ratios()[name] for each in groups[key] if name in each.times] for name in forms.BASELINES)
        lines.append(reports.line([*key, str(len(groups[key])), *map(reports.mean_and_least, ratios)]))
    return "\n".join(lines)


def warm(options: argparse.Namespace) -> int:
    """Calls DeepGEMM's form of a part of the products, and in the first part what PyTorch compiles."""
    device = torch.device("cuda", 0)

    def deep_gemm(product: Product) -> None:
        operands = forms.Operands(product, draw_counts(product, options.seed), device, filled=False)
        forms.deep_gemm(product, operands).call()

    products = [shared[0] for shared in chosen_products(options) if shared[0].type == "bf16"]
    status = others.first_calls(options.warm, [functools.partial(deep_gemm, product) for product in products])
    if status == 0 and others.part_of(options.warm)[0] == 0:
        for product in chosen_products(options)[0][1:]:
            product = product._replace(rows=1024, experts=1)
            forms.torch_grouped(product, forms.Operands(product, [1024], device)).call()
    return status


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    alone.add_arguments(parser, "layers", "product")
    parser.add_argument("--layer", nargs="*", choices=[name for name in SHAPES if name != "tiny"],
                        default=["qwen3-30b", "mixtral"])
    parser.add_argument("--tokens", type=int, default=8192, help="of a rank of two")
    parser.add_argument("--few", nargs="*", type=int, default=[4, 16, 64, 256],
                        help="rows of an expert of Qwen3-30B, each a layer")
    parser.add_argument("--type", nargs="+", choices=list(forms.TYPES), default=["bf16"])
    options = parser.parse_args()
    if options.host:
        options.rounds = 2
    return options


def main() -> int:
    options = parsed()
    if options.specs:
        return specs.write(options.specs, (product.fields(options.host) for shared in chosen_products(options)
                                           for product in shared))
    if options.warm:
        return warm(options)

    def measured(device: torch.device, comm: tilepost.Comm) -> Iterator[Result]:
        for shared in chosen_products(options):
            operands = forms.Operands(shared[0], draw_counts(shared[0], options.seed), device)
            for product in shared:
                yield measure(product, operands, comm, options)
            del operands
            if device.type == "cuda":
                torch.cuda.empty_cache()

    return alone.run(options, table_head(), measured, functools.partial(report, options), summary)


def report(options: argparse.Namespace, result: Result, reasons: reports.Reasons) -> None:
    """Prints a product's line, and the reasons of missing forms that have not been said."""
    print(table_line(result), flush=True)
    reasons.say(result.missing, f"of {result.product.type}")
    reports.append_json(options.json, {**result.product._asdict(), "us": result.times, "missing": result.missing})


if __name__ == "__main__":
    sys.exit(main())
