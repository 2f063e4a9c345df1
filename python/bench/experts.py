#!/usr/bin/env python3
"""The halves of mixture-of-experts layers with random weights: PyTorch's sequence beside tilepost's operation.

    torchrun --nproc-per-node 2 python/bench/experts.py --layer qwen3-30b mixtral --tokens 8192 64
    torchrun --nproc-per-node 2 python/bench/experts.py --routed-before --load one_expert

The half "up" begins with hidden states, ids and weights of a rank's tokens, and ends with the rows of its experts:
AllGather by NCCL, sort, torch._grouped_mm and a compiled activation. The half "down" begins with these rows and their
order, and ends with the tokens' sums: torch._grouped_mm, a compiled weighted sum, ReduceScatter. Every form is checked
before it is timed. Prints microseconds, of the slowest rank, and the ratio by which tilepost is faster. moe.py measures
whole layers.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import random
import sys
from typing import NamedTuple, Union

import torch
import torch.distributed as dist
import torch.nn.functional as F

import ranks
import specs
import timing
import tilepost
from tilepost._plan import Value
from tilepost.torch import _communicators

# bf16 rounds gate and up before they are combined in PyTorch, and not in tilepost.
LIMIT = 2e-2
LOADS = ("random", "even", "one_expert", "one_rank")  # those of `tilepost bench --load`
COLUMNS = ("torch", "tilepost")
MOST_BYTES = 16 << 30  # of a random layer's experts on one of two ranks, in bf16


class Shape(NamedTuple):
    """The sizes of a layer."""
    experts: int
    top: int
    hidden: int
    inner: int


SHAPES = {"qwen3-30b": Shape(128, 8, 2048, 768), "qwen3-235b": Shape(128, 8, 4096, 1536),
          "mixtral": Shape(8, 2, 4096, 14336), "gpt-oss-120b": Shape(128, 4, 2880, 2880), "tiny": Shape(8, 2, 64, 32)}


def random_shapes(count: int, seed: int) -> list[tuple[Shape, int]]:
    """Shapes of layers, and the tokens of a rank. The logarithms of all but `top` are uniform."""
    draw = random.Random(seed)
    uniform = functools.partial(specs.log_uniform, draw)
    shapes: list[tuple[Shape, int]] = []
    while len(shapes) < count:
        tokens = uniform(1024, 16384)
        shape = Shape(uniform(8, 256, 2), draw.randint(1, 8), uniform(1024, 7168, 128), uniform(512, 8192, 128))
        if 2 * 3 * shape.experts // 2 * shape.hidden * shape.inner <= MOST_BYTES:
            shapes.append((shape, tokens))
    return shapes


class Case(NamedTuple):
    """What is measured in one line of the table."""
    layer: str
    shape: Shape
    half: str  # up, down, or layer: both
    tokens: int  # of a rank
    load: str
    mode: str  # eager, graph

    def fields(self, world: int, host: bool) -> dict[str, Value]:
        """The spec of tilepost's operation."""
        n, k = self.shape.inner, self.shape.hidden
        if self.half == "down":
            n, k = k, n
        fields: dict[str, Value] = {
            "pattern": {"up": "dispatch_grouped_gemm", "down": "grouped_gemm_combine", "layer": "moe"}[self.half],
            "ranks": world, "gemm.m": {"max": self.tokens * world}, "gemm.n": n, "gemm.k": k, "gemm.a": "bf16",
            "gemm.experts": self.shape.experts, "gemm.top": self.shape.top,
            "gemm.epilogue": [] if self.half == "down" else ["swiglu"], "arch": "host" if host else "sm_90a"}
        if host:
            fields["schedule.tile"] = [64, 64]
        return fields


def draw_ids(shape: Shape, tokens: int, load: str, world: int) -> torch.Tensor:
    """The ids of all ranks' tokens, [world * tokens, top]: different experts for each token."""
    generator = torch.Generator().manual_seed(1)
    if load == "even":
        first = torch.arange(world * tokens).unsqueeze(1)
        return (first + torch.arange(shape.top) * shape.experts // shape.top) % shape.experts
    weights = torch.ones(world * tokens, shape.experts)
    if load == "one_rank":
        weights[:, :shape.experts // world] = 2
    if load == "one_expert":
        weights[:, 0] = 0
    ids = torch.multinomial(weights, shape.top, generator=generator)
    if load == "one_expert":
        ids[torch.rand(len(ids), generator=generator) < 0.5, 0] = 0
    return ids


def gather(own: torch.Tensor, world: int) -> torch.Tensor:
    """The tensors of all ranks, one below the other."""
    if own.is_cuda:
        every = own.new_empty(world * own.shape[0], *own.shape[1:])
        dist.all_gather_into_tensor(every, own)
        return every
    parts = [torch.empty_like(own) for _ in range(world)]
    dist.all_gather(parts, own)
    return torch.cat(parts)


def scatter_sums(every: torch.Tensor, world: int) -> torch.Tensor:
    """This rank's part of the ranks' sum."""
    own = every.new_empty(every.shape[0] // world, *every.shape[1:])
    if every.is_cuda:
        dist.reduce_scatter_tensor(own, every)
        return own
    dist.all_reduce(every)
    return every.chunk(world)[dist.get_rank()].clone()


def grouped(rows: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """The rows times the transposed weights of their experts. A rank may have none."""
    if rows.is_cuda and len(rows) > 0:
        return torch._grouped_mm(rows, weight.transpose(-2, -1), offs=ends)
    out, begin = rows.new_zeros(rows.shape[0], weight.shape[1]), 0
    for expert, end in enumerate(ends.tolist()):
        out[begin:end] = rows[begin:end] @ weight[expert].T
        begin = end
    return out


def swiglu(product: torch.Tensor) -> torch.Tensor:
    gate, up = product.chunk(2, dim=-1)
    return F.silu(gate) * up


def weighted_sum(product: torch.Tensor, rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """For each token the sum of its rows, of which -1 is none."""
    there = (rows >= 0).unsqueeze(-1)
    found = torch.where(there, product[rows.clamp(min=0)].float(), 0)
    return (found * weights.unsqueeze(-1)).sum(1).bfloat16()


# They are compiled at their first call.
compiled_swiglu = torch.compile(swiglu, dynamic=True)
compiled_weighted_sum = torch.compile(weighted_sum, dynamic=True)


@functools.lru_cache(maxsize=ranks.RANKS)  # on the host the ranks are threads of one process
def random_weights(shape: Shape, local: int, rank: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """gate and up, and down, of a rank's experts."""
    generator = torch.Generator(device).manual_seed(1000 + rank)

    def rand(*size: int) -> torch.Tensor:
        weights = torch.empty(size, dtype=torch.bfloat16, device=device)
        return weights.normal_(0, size[-1] ** -0.5, generator=generator)

    return rand(local, 2 * shape.inner, shape.hidden), rand(local, shape.hidden, shape.inner)


class Sorted(NamedTuple):
    """The rows of a rank's experts."""
    tokens: torch.Tensor  # for each row its token among those of all ranks
    rows: torch.Tensor  # for each token of all ranks its rows here, -1 where they are elsewhere
    weights: torch.Tensor  # of these
    ends: torch.Tensor  # int32, for each expert the row behind its last one


class Layer:
    """One rank's experts and tokens. Rows lie as tilepost's routing has them: by expert, own tokens first."""

    def __init__(self, case: Case, rank: int, world: int, device: torch.device) -> None:
        self.case, self.rank, self.world, self.device = case, rank, world, device
        shape = self.shape = case.shape
        self.local = shape.experts // world
        self.gate_up, self.down = random_weights(shape, self.local, rank, device)
        generator = torch.Generator(device).manual_seed(rank)
        self.hidden = torch.randn(case.tokens, shape.hidden, generator=generator, device=device).bfloat16()
        ids = draw_ids(shape, case.tokens, case.load, world)
        self.ids = ids.chunk(world)[rank].contiguous().to(device)
        self.weights = torch.rand(self.ids.shape, generator=generator, device=device).softmax(1)
        # A graph knows no number of rows, so it takes as many as there can be.
        self.all_rows = case.mode == "graph"
        on_gpu = device.type == "cuda"
        self.activation = compiled_swiglu if on_gpu else swiglu
        self.weighted_sum = compiled_weighted_sum if on_gpu else weighted_sum

    def sort(self) -> Sorted:
        """What a routing does, by PyTorch's operations. Without all rows it waits for the device."""
        ids, weights = gather(self.ids, self.world), gather(self.weights, self.world)
        tokens, top = ids.shape
        source = torch.arange(tokens, device=self.device) // (tokens // self.world)
        distance = (source - self.rank) % self.world
        local = ids - self.rank * self.local
        here = (local >= 0) & (local < self.local)
        key = torch.where(here, local * self.world + distance.unsqueeze(1), self.local * self.world).flatten()
        ordered, order = key.sort(stable=True)
        firsts = torch.arange(1, self.local + 1, device=self.device) * self.world
        ends = torch.searchsorted(ordered, firsts).int()
        if not self.all_rows:
            order = order[:int(ends[-1])]
        rows = torch.full_like(key, -1)
        rows[order] = torch.arange(len(order), device=self.device)
        rows = torch.where(rows < ends[-1], rows, -1)
        return Sorted(order // top, rows.view(ids.shape), weights, ends)

    def up(self, rows: Sorted) -> torch.Tensor:
        """PyTorch's first half."""
        tokens = gather(self.hidden, self.world).index_select(0, rows.tokens)
        return self.activation(grouped(tokens, self.gate_up, rows.ends))

    def down_sums(self, inner: torch.Tensor, rows: Sorted) -> torch.Tensor:
        """PyTorch's second half."""
        product = grouped(inner, self.down, rows.ends)
        return scatter_sums(self.weighted_sum(product, rows.rows, rows.weights), self.world)


def plain_inner(layer: Layer, rows: Sorted) -> torch.Tensor:
    """What the first half gives, expert by expert and in fp32."""
    hidden, ends = gather(layer.hidden, layer.world), rows.ends.tolist()
    inner = torch.empty(ends[-1], layer.shape.inner, device=layer.device)
    for expert, (begin, end) in enumerate(zip([0, *ends], ends)):
        inner[begin:end] = swiglu(hidden[rows.tokens[begin:end]].float() @ layer.gate_up[expert].float().T)
    return inner


def plain_sums(layer: Layer, inner: torch.Tensor, rows: Sorted) -> torch.Tensor:
    """What the second half gives, expert by expert and in fp32."""
    flat, weights = rows.rows.flatten(), rows.weights.flatten()
    sums = torch.zeros(len(rows.rows), layer.shape.hidden, device=layer.device)
    begin = 0
    for expert, end in enumerate(rows.ends.tolist()):
        here = ((flat >= begin) & (flat < end)).nonzero().flatten()
        product = inner[flat[here]].float() @ layer.down[expert].float().T
        sums.index_add_(0, here // layer.shape.top, product * weights[here].unsqueeze(1))
        begin = end
    return scatter_sums(sums, layer.world)


def communicator(rank: int, world: int, device: torch.device) -> tilepost.Comm:
    """tilepost's, for the default group."""
    if device.type != "cuda":
        return _communicators.host_communicator(dist.group.WORLD)

    def all_gather(own: bytes) -> list[bytes]:
        every: list[Union[bytes, None]] = [None] * world
        dist.all_gather_object(every, own)
        return [bytes(each) for each in every]

    return tilepost.Comm.init_with(all_gather, rank, world)


class Ours:
    """tilepost's operation for a half of a layer, or for all of it."""

    def __init__(self, layer: Layer, comm: tilepost.Comm, catalogue: Union[tilepost.Catalogue, None]) -> None:
        self.layer, shape, case = layer, layer.shape, layer.case
        self.m = case.tokens * layer.world
        fields = case.fields(layer.world, host=layer.device.type != "cuda")
        plan = tilepost.Plan(fields).load() if catalogue is None else tilepost.Plan(fields, catalogue=catalogue)
        self.routing = tilepost.Routing(comm, shape.experts, shape.top, case.tokens, wide_ids=True)
        self.op = tilepost.Op(comm, plan, routing=self.routing)
        size = (self.m * shape.top, shape.inner) if case.half == "up" else (case.tokens, shape.hidden)
        self.out = torch.empty(size, dtype=torch.bfloat16, device=layer.device)

    def stream(self) -> int:
        return torch.cuda.current_stream().cuda_stream if self.layer.device.type == "cuda" else 0

    def route(self) -> None:
        self.routing.set(self.layer.ids, self.layer.weights, self.layer.case.tokens, stream=self.stream())

    def run(self, a: torch.Tensor, b: torch.Tensor, whole: Union[tilepost.LayerOperands, None] = None) -> torch.Tensor:
        """A run, whose result is in the same place every time."""
        self.op.run(a, b, self.out, stream=self.stream(), m=self.m, layer=whole)
        if self.layer.device.type != "cuda":
            self.op.synchronize()
        return self.out

    def close(self) -> None:
        if self.layer.device.type == "cuda":
            torch.cuda.synchronize()
        self.op.close()
        self.routing.close()


Calls = dict[str, timing.Call]


def calls_of_up(layer: Layer, ours: Ours, before: Sorted, routed_before: bool) -> tuple[Calls, torch.Tensor]:
    """Both forms of the first half, and what they are to give."""
    def routed_run() -> torch.Tensor:
        if not routed_before:
            ours.route()
        return ours.run(layer.hidden, layer.gate_up)

    sort = (lambda: before) if routed_before else layer.sort
    return {"torch": lambda: layer.up(sort()), "tilepost": routed_run}, plain_inner(layer, before)


def calls_of_down(layer: Layer, ours: Ours, before: Sorted) -> tuple[Calls, torch.Tensor]:
    """Both forms of the second half, and what they are to give."""
    inner = layer.up(before)
    room = inner.new_zeros(ours.m * layer.shape.top, layer.shape.inner)
    room[:len(inner)] = inner
    calls = {"torch": lambda: layer.down_sums(inner, before), "tilepost": lambda: ours.run(room, layer.down)}
    return calls, plain_sums(layer, inner, before)


def measure(case: Case, rank: int, device: torch.device, comm: tilepost.Comm,
            options: argparse.Namespace) -> dict[str, float]:
    """Checks and times the forms of a case. Collective."""
    layer = Layer(case, rank, dist.get_world_size(), device)
    before = layer.sort()
    with contextlib.closing(Ours(layer, comm, options.kernels)) as ours:
        ours.route()
        if case.half == "up":
            calls, wanted = calls_of_up(layer, ours, before, options.routed_before)
        else:
            calls, wanted = calls_of_down(layer, ours, before)
        results = {name: call()[:len(wanted)].clone() for name, call in calls.items()}
        if case.mode == "graph":
            calls = {name: timing.captured(call, device) for name, call in calls.items()}
        check(case, results, wanted)
        times = timing.interleaved(calls, options.rounds, device)
        calls.clear()  # graphs go before what they use
    return times


def check(case: Case, results: dict[str, torch.Tensor], wanted: torch.Tensor) -> None:
    """Refuses results that differ from sums in fp32. Collective."""
    for name, have in results.items():
        error = timing.relative_error(have, wanted)
        if not error < LIMIT:
            raise SystemExit(f"{case}: {name} differs from sums in fp32 by {error:.2e}, the limit is {LIMIT}")


def table_head() -> str:
    names = ["layer", "half", "tokens", "load", "mode", *COLUMNS, "torch / tilepost"]
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def table_line(case: Case, times: dict[str, float]) -> str:
    cells = [case.layer, case.half, str(case.tokens), case.load, case.mode]
    cells += [f"{times[name]:.1f}" if name in times else "" for name in COLUMNS]
    cells.append(f"{times['torch'] / times['tilepost']:.3f}" if "tilepost" in times else "")
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ranks.add_arguments(parser)
    parser.add_argument("--layer", nargs="+", choices=list(SHAPES), default=["qwen3-30b", "mixtral"])
    parser.add_argument("--half", nargs="+", choices=["up", "down"], default=["up", "down"])
    parser.add_argument("--tokens", nargs="+", type=int, default=[8192, 512, 64, 16, 1], help="of a rank")
    parser.add_argument("--load", nargs="+", choices=LOADS, default=["random"], help="how tokens choose experts")
    parser.add_argument("--mode", nargs="+", choices=["eager", "graph"], default=["eager", "graph"])
    parser.add_argument("--routed-before", action="store_true",
                        help="sort, and make the tables of the routing, before times are taken")
    specs.add_argument(parser)
    specs.add_ranks(parser)
    options = parser.parse_args()
    if options.host:
        options.layer, options.tokens, options.mode, options.rounds = ["tiny"], [24, 3], ["eager"], 2
    cases = [Case(layer, SHAPES[layer], half, tokens, load, mode) for layer in options.layer for half in options.half
             for tokens in options.tokens for load in options.load for mode in options.mode]
    if options.specs:
        return specs.write(options.specs, (case.fields(options.ranks, options.host) for case in cases))
    options.kernels = tilepost.Catalogue(options.catalogue) if options.catalogue else None

    def body(rank: int, device: torch.device) -> None:
        world = dist.get_world_size()
        comm = communicator(rank, world, device)
        if rank == 0:
            print(f"PyTorch {torch.__version__}, tilepost {tilepost.__version__}, {world} ranks; microseconds"
                  + ("; routed before" if options.routed_before else "; with sort and routing")
                  + ("; the CPU's times mean nothing" if options.host else ""))
            print(table_head(), flush=True)
        for case in cases:
            times = measure(case, rank, device, comm, options)
            if rank == 0:
                print(table_line(case, times), flush=True)
        comm.close()

    return ranks.run(body, options.host)


if __name__ == "__main__":
    sys.exit(main())
