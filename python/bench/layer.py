#!/usr/bin/env python3
"""Layers of Llama's shape with random weights: NCCL in sequence, PyTorch's async-TP, and tilepost, side by side.

    torchrun --nproc-per-node 2 python/bench/layer.py --model 8b 70b --rows 8192 2048 512 64
    torchrun --nproc-per-node 2 python/bench/layer.py --train --rows 8192
    layer.py --specs FOLDER --ranks 4 …    specs of what the same options run on H200, for `tilepost catalogue`

Every form is checked against NCCL's before it is timed. Prints microseconds per layer, and the ratios by which
tilepost's better form is faster; exits 1 where a result is wrong or there is no GPU.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Callable, NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as F

import forms
import ranks
import specs
import timing
import tilepost
import tilepost.torch as tp
from tilepost._plan import Value
from tilepost.torch._group import _LEAST_ROWS
from tilepost.torch._layer import Layer, Machine

LAYERS = 2
CACHED_TOKENS = 1024  # that decoding attends to
MOST_DECODED = 64  # up to so many rows are tokens of as many sequences
# bf16 rounds at other places in each form.
LIMIT = 2e-2


class Shape(NamedTuple):
    """The sizes of a model's layers."""
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int


SHAPES = {"8b": Shape(4096, 14336, 32, 8, 128), "70b": Shape(8192, 28672, 64, 8, 128), "tiny": Shape(64, 96, 4, 2, 16)}


class Weights(NamedTuple):
    """This rank's part of a layer."""
    norms: list[torch.Tensor]
    qkv: torch.Tensor
    o: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor
    cache: torch.Tensor  # keys and values of CACHED_TOKENS tokens for each of MOST_DECODED sequences


def random_layers(shape: Shape, rank: int, world: int, device: torch.device) -> list[Weights]:
    """LAYERS layers, with weights of a size at which activations keep theirs."""
    generator = torch.Generator(device).manual_seed(rank)

    def rand(*size: int) -> torch.Tensor:
        scale = size[-1] ** -0.5
        return (torch.randn(size, generator=generator, device=device) * scale).bfloat16().requires_grad_()

    def layer() -> Weights:
        heads, kv_heads = shape.heads // world, shape.kv_heads // world
        norms = [torch.ones(shape.hidden, device=device, dtype=torch.bfloat16) for _ in range(2)]
        cache = rand(2, MOST_DECODED, kv_heads, CACHED_TOKENS, shape.head_dim).detach()
        return Weights(norms, rand((heads + 2 * kv_heads) * shape.head_dim, shape.hidden),
                       rand(shape.hidden, heads * shape.head_dim), rand(2 * shape.inner // world, shape.hidden),
                       rand(shape.hidden, shape.inner // world), cache)

    return [layer() for _ in range(LAYERS)]


def attention(qkv: torch.Tensor, weights: Weights, shape: Shape, world: int) -> torch.Tensor:
    """Of one sequence, or of a token each of sequences whose other tokens are in the cache. Without rotations."""
    heads, kv_heads, rows = shape.heads // world, shape.kv_heads // world, qkv.shape[0]
    q, k, v = qkv.view(rows, heads + 2 * kv_heads, shape.head_dim).split((heads, kv_heads, kv_heads), dim=1)
    if rows <= MOST_DECODED:
        keys, values = weights.cache[:, :rows]
        y = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, enable_gqa=True)
        return y.reshape(rows, -1)
    q, k, v = (each.transpose(0, 1).unsqueeze(0) for each in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1).reshape(rows, -1)


def forward(a: torch.Tensor, layers: list[Weights], shape: Shape, form: forms.Form, world: int) -> torch.Tensor:
    """All layers, and the norm behind them. `a` are the rows that this rank has between layers."""
    residual = a if form.row_norm is None else a.clone()
    a = F.rms_norm(a, (shape.hidden,), layers[0].norms[0], forms.EPSILON)
    for index, weights in enumerate(layers):
        attended = attention(form.column(a, weights.qkv), weights, shape, world)
        residual, a = form.add_and_norm(attended, weights.o, residual, weights.norms[1])
        gate, up = form.column(a, weights.gate_up).chunk(2, dim=-1)
        following = layers[(index + 1) % len(layers)].norms[0]
        residual, a = form.add_and_norm(F.silu(gate) * up, weights.down, residual, following)
    return a


def whole(form: forms.Form, rows: torch.Tensor) -> torch.Tensor:
    """The rows of all ranks of a result."""
    return forms._Gather.forward(None, rows) if form.sequence_parallel else rows


class Case(NamedTuple):
    """What is measured in one line of the table."""
    model: str
    rows: int
    mode: str  # eager, graph, train


def input_of(case: Case, form: forms.Form, rank: int, world: int, device: torch.device) -> torch.Tensor:
    """This rank's rows of the same random input in all forms."""
    generator = torch.Generator(device).manual_seed(99)
    a = torch.randn(case.rows, SHAPES[case.model].hidden, generator=generator, device=device).bfloat16()
    return a.chunk(world)[rank].contiguous() if form.sequence_parallel else a


def check(case: Case, results: dict[str, list[torch.Tensor]], first: str) -> None:
    """Refuses forms whose results, or gradients, differ from the first's."""
    for name, tensors in results.items():
        error = max(timing.relative_error(have, want) for have, want in zip(tensors, results[first]))
        if not error < LIMIT:
            raise SystemExit(f"{case}: {name} differs from {first} by {error:.2e}, the limit is {LIMIT}")


def measure(case: Case, layers: list[Weights], rank: int, device: torch.device,
            options: argparse.Namespace) -> dict[str, float]:
    """Checks and times all forms. Collective."""
    world, shape = dist.get_world_size(), SHAPES[case.model]
    calls: dict[str, Callable[[], object]] = {}
    results: dict[str, list[torch.Tensor]] = {}
    train = case.mode == "train"
    every = [forms.NCCL_SP, forms.TILEPOST_SP] if train else forms.for_inference(device)
    chosen = [form for form in every if form.name not in options.without]
    for form in chosen:
        if form.sequence_parallel and case.rows % world != 0:
            continue
        a = input_of(case, form, rank, world, device).requires_grad_(train)
        call = _training(a, layers, shape, form, world) if train else _inference(a, layers, shape, form, world)
        try:
            first = call()
        except RuntimeError as error:
            if "TILEPOST=strict" not in str(error):
                raise
            if rank == 0:
                print(f"# {case}: no {form.name}: {error}", flush=True)
            continue  # on all ranks, which have agreed on it
        results[form.name] = ([each.clone() for each in first] if train else [whole(form, first)])
        calls[form.name] = timing.captured(call, device) if case.mode == "graph" else call
        if case.mode == "graph" and device.type == "cuda":
            results[form.name + " (graph)"] = [whole(form, calls[form.name]().clone())]
    check(case, results, chosen[0].name)
    return {name: time / LAYERS for name, time in timing.interleaved(calls, options.rounds, device).items()}


def _inference(a, layers, shape, form, world):
    def call() -> torch.Tensor:
        with torch.no_grad():
            return forward(a, layers, shape, form, world)

    return call


def _training(a, layers, shape, form, world):
    """Forward and backward: the gradients of the input and of all weights."""
    wanted = [a] + [each for weights in layers for each in (weights.qkv, weights.o, weights.gate_up, weights.down)]

    def call() -> tuple[torch.Tensor, ...]:
        y = forward(a, layers, shape, form, world)
        return torch.autograd.grad(y, wanted, torch.ones_like(y))

    return call


def programs(options: argparse.Namespace) -> Iterator[dict[str, Value]]:
    """What the forms of tilepost make for these models and numbers of rows, by their fields."""
    machine = Machine("h200", "sm_90a", 132)
    for shape in (SHAPES[model] for model in options.model):
        heads = shape.heads * shape.head_dim // options.ranks
        columns = ((shape.heads + 2 * shape.kv_heads) * shape.head_dim, 2 * shape.inner)
        layers = [Layer("all_gather_gemm", n // options.ranks, shape.hidden) for n in columns]
        layers += [Layer(pattern, shape.hidden, k, norm=norm) for k in (heads, shape.inner // options.ranks)
                   for pattern in ("gemm_all_reduce", "gemm_reduce_scatter") for norm in (False, True)]
        for most_rows in sorted({max(_LEAST_ROWS, 1 << (rows - 1).bit_length()) for rows in options.rows}):
            yield from (layer.fields(options.ranks, most_rows, machine) for layer in layers)


COLUMNS = [form.name for form in (*forms.BASELINES, *forms.OURS)]


def table_head() -> str:
    """The first two lines of the table."""
    names = ["model", "rows", "mode", *COLUMNS, *(f"{form.name} / tilepost" for form in forms.BASELINES)]
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def table_line(case: Case, times: dict[str, float]) -> str:
    """A case's times, and those of the baselines over tilepost's better one."""
    best = min((times[form.name] for form in forms.OURS if form.name in times), default=float("nan"))
    cells = [case.model, str(case.rows), case.mode]
    cells += [f"{times[name]:.1f}" if name in times else "" for name in COLUMNS]
    cells += [f"{times[form.name] / best:.3f}" if form.name in times else "" for form in forms.BASELINES]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ranks.add_arguments(parser)
    parser.add_argument("--model", nargs="+", choices=list(SHAPES), default=["8b", "70b"])
    parser.add_argument("--rows", nargs="+", type=int, default=[8192, 2048, 512, 64, 16, 1])
    parser.add_argument("--mode", nargs="+", choices=["eager", "graph"], default=["eager", "graph"])
    parser.add_argument("--without", nargs="+", choices=COLUMNS, default=[], metavar="FORM",
                        help="forms to leave out, as the table names them, such as \"async-TP SP\" on one GPU")
    parser.add_argument("--train", action="store_true", help="forward and backward, with sequence parallelism")
    specs.add_argument(parser)
    specs.add_ranks(parser)
    options = parser.parse_args()
    if options.specs:
        return specs.write(options.specs, programs(options))
    if options.host:
        options.model, options.rows, options.mode = ["tiny"], [128, 2], ["eager"]
        options.rounds = 2
    if options.catalogue:
        tp.use_catalogue(tilepost.Catalogue(options.catalogue))

    def body(rank: int, device: torch.device) -> None:
        if rank == 0:
            print(f"PyTorch {torch.__version__}, tilepost {tilepost.__version__}, {dist.get_world_size()} ranks; "
                  "microseconds per layer; SP: with sequence parallelism"
                  + ("; the CPU's times mean nothing" if options.host else ""))
            print(table_head(), flush=True)
        for model in options.model:
            layers = random_layers(SHAPES[model], rank, dist.get_world_size(), device)
            for rows in options.rows:
                for mode in ["train"] if options.train else options.mode:
                    case = Case(model, rows, mode)
                    times = measure(case, layers, rank, device, options)
                    if rank == 0:
                        print(table_line(case, times), flush=True)

    return ranks.run(body, options.host)


if __name__ == "__main__":
    sys.exit(main())
