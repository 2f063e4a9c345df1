#!/usr/bin/env python3
"""PyTorch's fused operations beside torch.matmul and NCCL in sequence, on the GPUs of this machine.

  gemm_reduce_scatter  torch.ops.symm_mem.fused_matmul_reduce_scatter
                       A [m, k], B [n, k] on every rank -> [m / ranks, n]
  all_gather_gemm      torch.ops.symm_mem.fused_all_gather_matmul
                       A [m / ranks, k], B [n, k] on every rank -> [m, n]
  gemm_all_reduce      torch.matmul, then the faster one of
                       torch.ops.symm_mem.one_shot_all_reduce_out and two_shot_all_reduce_
                       A [m, k], B [n, k] on every rank -> [m, n]

There is one process for each GPU. A result is checked exactly on whole numbers, before it is timed
on normal random ones. In every round every side runs once, in a new random order, after L2 has been
flushed. The host enqueues while the GPUs sleep, and a small all-reduce lets all ranks start
together. The time is the slowest rank's, taken with events. Problems of few rows are also run in
CUDA graphs of 20 runs; the time of one run is a twentieth of the graph's.
`tilepost bench --torch PYTHON` runs this program, and it can be run by hand:

  python3 async_tp.py --ranks 4 --shapes 8192x8192x2048,4096x8192x2048 --rounds 50 --json out.json

Exit status: 0 all was measured, 1 a result was wrong or a measurement failed, 2 wrong command line,
77 this machine cannot measure: it has no PyTorch, not enough GPUs, or no fused operations.
"""
import argparse
import json
import math
import multiprocessing
import os
import random
import sys
import time
import warnings

PATTERNS = ("gemm_reduce_scatter", "all_gather_gemm", "gemm_all_reduce")
FLUSH_BYTES = 256 << 20  # more than any L2
SLEEP_CYCLES = 6_000_000  # some 3 ms: longer than enqueueing takes
WARMUPS = 10  # rounds
REFERENCE_ROWS = 8  # rows of every rank that are recomputed in fp32
SPARSE_PRODUCTS = 64  # non-zero products of a sum, on average: few enough to be exact in bf16
CANNOT = 77
MOST_GRAPHED_ROWS = 2048  # with more rows the host's work is hidden
RUNS_OF_GRAPH = 20
WRONG = 3  # exit status of a rank's process that finished, but had a wrong result


def parse_shape(text):
    parts = text.split("x")
    if len(parts) != 3 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"a shape is MxNxK, three positive numbers, got '{text}'")
    return tuple(int(part) for part in parts)


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive number, got '{text}'")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=positive, required=True, help="GPUs to use")
    parser.add_argument("--shapes", required=True, help="MxNxK,MxNxK,… per rank",
                        type=lambda text: [parse_shape(part) for part in text.split(",")])
    parser.add_argument("--patterns", default=list(PATTERNS), help=",".join(PATTERNS),
                        type=lambda text: text.split(","))
    parser.add_argument("--dtype", choices=("bf16", "f16"), default="bf16")
    parser.add_argument("--rounds", type=positive, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file for every sample; grows point by point")
    parser.add_argument("--timeout", type=positive, default=300, help="seconds, for everything")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.patterns if name not in PATTERNS]
    if unknown:
        parser.error(f"--patterns takes {', '.join(PATTERNS)}, got '{unknown[0]}'")
    return arguments


class Case:
    """One pattern at one shape: operands, buffers, and all ways to compute it."""

    def __init__(self, torch, arguments, pattern, shape, rank):
        self.torch, self.dist = torch, torch.distributed
        self.pattern, self.ranks, self.rank = pattern, arguments.ranks, rank
        self.m, self.n, self.k = shape
        self.group = self.dist.group.WORLD.group_name
        self.gathers, self.reduces = pattern == "all_gather_gemm", pattern == "gemm_all_reduce"
        self.share = self.m if self.reduces else self.m // self.ranks
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[arguments.dtype]

        def make(rows, columns):
            return torch.empty(rows, columns, dtype=dtype, device="cuda")

        self.a = make(self.share if self.gathers else self.m, self.k)
        self.b = make(self.n, self.k)
        self.whole = make(self.m, self.k if self.gathers else self.n)
        self.out = make(self.m if self.gathers else self.share, self.n)
        if self.reduces:
            from torch.distributed import _symmetric_memory
            self.whole = _symmetric_memory.empty(self.m, self.n, dtype=dtype, device="cuda")
            _symmetric_memory.rendezvous(self.whole, self.group)

    def variants(self):
        """What is timed: names and functions without arguments. The others are compared with the
        first. with_fused adds "fused" if several ways may be the fastest."""
        if self.reduces:
            return {"sequence": self.sequence, "one_shot": self.one_shot,
                    "two_shot": self.two_shot}
        return {"sequence": self.sequence, "fused": self.fused}

    def fill_exact(self):
        torch = self.torch
        share = min(1.0, math.sqrt(SPARSE_PRODUCTS / (self.k * self.ranks)))
        for matrix in (self.a, self.b):
            signs = torch.randint(0, 2, matrix.shape, device="cuda", dtype=torch.int8) * 2 - 1
            matrix.copy_(signs * (torch.rand(matrix.shape, device="cuda") < share))

    def fill_normal(self):
        self.a.normal_()
        self.b.normal_()

    def sequence(self):
        torch, dist = self.torch, self.dist
        if self.gathers:
            dist.all_gather_into_tensor(self.whole, self.a)
            return torch.matmul(self.whole, self.b.t(), out=self.out)
        if self.reduces:
            torch.matmul(self.a, self.b.t(), out=self.out)
            dist.all_reduce(self.out)
        else:
            torch.matmul(self.a, self.b.t(), out=self.whole)
            dist.reduce_scatter_tensor(self.out, self.whole)
        return self.out

    def fused(self):
        fused = self.torch.ops.symm_mem
        if self.gathers:
            return fused.fused_all_gather_matmul(self.a, [self.b.t()], 0, self.group,
                                                 return_A=False)[1][0]
        return fused.fused_matmul_reduce_scatter(self.a, self.b.t(), "sum", 0, self.group)

    def one_shot(self):
        self.torch.matmul(self.a, self.b.t(), out=self.whole)
        self.torch.ops.symm_mem.one_shot_all_reduce_out(self.whole, "sum", self.group, self.out)
        return self.out

    def two_shot(self):
        self.torch.matmul(self.a, self.b.t(), out=self.whole)
        return self.torch.ops.symm_mem.two_shot_all_reduce_(self.whole, "sum", self.group)

    def reference(self):
        """Returns (rows of out, what they must be) for the first rows of every rank's share, in
        fp32."""
        torch, dist = self.torch, self.dist
        rows = min(REFERENCE_ROWS, self.share)
        b = self.b.float().t()
        if not self.gathers:
            shares = 1 if self.reduces else self.ranks
            parts = self.a.view(shares, self.share, self.k)[:, :rows].float() @ b
            dist.all_reduce(parts)
            return (self.out.new_tensor(range(rows), dtype=torch.int64),
                    parts[0 if self.reduces else self.rank])
        own = self.a[:rows].contiguous()
        all_rows = own.new_empty(self.ranks * rows, self.k)
        dist.all_gather_into_tensor(all_rows, own)
        places = [rank * self.share + row for rank in range(self.ranks) for row in range(rows)]
        return self.out.new_tensor(places, dtype=torch.int64), all_rows.float() @ b

    def count_wrong(self):
        """Counts the elements on all ranks in which a result differs from the sequence's, or the
        sequence's from a plain one."""
        self.fill_exact()
        expected = self.sequence().clone()
        places, rows = self.reference()
        wrong = (expected[places].float() != rows).sum()
        for variant in self.variants().values():
            wrong = wrong + (variant() != expected).sum()
        wrong = wrong + (not bool(rows.any()))
        self.dist.all_reduce(wrong)
        return int(wrong)


def measure(torch, arguments, variants, runs=1):
    """Returns {name: [µs …]} with a sample for each round. A variant makes `runs` runs, and a
    sample is the time of one."""
    dist = torch.distributed
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    token = torch.zeros(1, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    order = random.Random(arguments.seed)  # gives the same order on every rank
    samples = {name: [] for name in variants}
    for index in range(-WARMUPS, arguments.rounds):
        for name in order.sample(sorted(variants), len(variants)):
            flush.zero_()
            torch.cuda.synchronize()
            torch.cuda._sleep(SLEEP_CYCLES)
            dist.all_reduce(token)
            begin.record()
            variants[name]()
            end.record()
            end.synchronize()
            if index >= 0:
                samples[name].append(begin.elapsed_time(end) * 1000 / runs)
    slowest = torch.tensor([samples[name] for name in sorted(samples)], device="cuda")
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return with_fused(dict(zip(sorted(samples), slowest.tolist())))


def median(values):
    return sorted(values)[len(values) // 2]


def with_fused(samples):
    """Gives the fastest way, the sequence aside, the name "fused" beside its own name."""
    if "fused" not in samples:
        ways = [samples[name] for name in sorted(samples) if name != "sequence"]
        samples["fused"] = min(ways, key=median)
    return samples


def capture(torch, variants):
    """Captures several runs of each variant in a CUDA graph. Returns functions that replay them."""
    graphs = {}
    for name, variant in variants.items():
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for _ in range(RUNS_OF_GRAPH):
                variant()
        graphs[name] = graph
    return {name: graph.replay for name, graph in graphs.items()}


def measure_point(torch, arguments, pattern, shape, rank):
    point = {"pattern": pattern, "m": shape[0], "n": shape[1], "k": shape[2],
             "wrong": 0, "failure": "", "us": {}, "graph_us": {}}
    if pattern != "gemm_all_reduce" and shape[0] % arguments.ranks != 0:
        point["failure"] = (f"PyTorch needs rows that {arguments.ranks} ranks divide, "
                            f"m is {shape[0]}")
        return point
    case = Case(torch, arguments, pattern, shape, rank)
    point["wrong"] = case.count_wrong()
    if point["wrong"] == 0:
        case.fill_normal()
        point["us"] = measure(torch, arguments, case.variants())
        if case.reduces and case.m <= MOST_GRAPHED_ROWS:
            graphs = capture(torch, case.variants())
            point["graph_us"] = measure(torch, arguments, graphs, RUNS_OF_GRAPH)
    return point


def in_words(point):
    name = f"{point['pattern']} {point['m']}x{point['n']}x{point['k']}"
    if point["failure"]:
        return f"{name}: {point['failure']}"
    if point["wrong"]:
        return f"{name}: {point['wrong']} elements wrong, no time"
    medians = {name: median(values) for name, values in sorted(point["us"].items())}
    graphed = {name + " in graphs": median(values)
               for name, values in sorted(point["graph_us"].items())}
    return name + ": " + ", ".join(f"{way} {us:.1f} us" for way, us in
                                   {**medians, **graphed}.items())


def write_json(path, report):
    if not path:
        return
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(path + ".part", path)


def work(rank, arguments, port):
    """One rank's process."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric_memory
    torch.cuda.set_device(rank)
    torch.manual_seed(arguments.seed * 64 + rank)
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=arguments.ranks)
    if hasattr(symmetric_memory, "enable_symm_mem_for_group"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions need no such call and warn
            symmetric_memory.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    report = {"torch": torch.__version__, "cuda": torch.version.cuda or "",
              "nccl": ".".join(map(str, torch.cuda.nccl.version())),
              "gpu": torch.cuda.get_device_name(rank), "ranks": arguments.ranks,
              "dtype": arguments.dtype, "rounds": arguments.rounds, "seed": arguments.seed,
              "points": []}
    for shape in arguments.shapes:
        for pattern in arguments.patterns:
            report["points"].append(measure_point(torch, arguments, pattern, shape, rank))
            torch.cuda.empty_cache()
            if rank == 0:
                print(in_words(report["points"][-1]), flush=True)
                write_json(arguments.json, report)
    dist.destroy_process_group()
    sys.exit(WRONG if any(point["wrong"] for point in report["points"]) else 0)


def obstacle(arguments):
    """Returns why this machine cannot measure, or ""."""
    try:
        import torch
        import torch.distributed._symmetric_memory  # noqa: F401, defines torch.ops.symm_mem
        for name in ("fused_matmul_reduce_scatter", "fused_all_gather_matmul",
                     "one_shot_all_reduce_out", "two_shot_all_reduce_"):
            getattr(torch.ops.symm_mem, name)
    except (ImportError, AttributeError) as error:
        return f"no PyTorch with symmetric memory: {error}"
    gpus = torch.cuda.device_count()
    if gpus < arguments.ranks:
        return f"{arguments.ranks} ranks need as many GPUs, this machine has {gpus}"
    return ""


def run_ranks(arguments, port):
    """Runs a process for each rank until the deadline. Returns the exit status."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(rank, arguments, port))
                 for rank in range(arguments.ranks)]
    deadline = time.monotonic() + arguments.timeout
    try:
        for process in processes:
            process.start()
        while any(process.exitcode is None for process in processes):
            # A rank that fails leaves the others waiting for it.
            if any(process.exitcode not in (None, 0, WRONG) for process in processes):
                break
            if time.monotonic() > deadline:
                print(f"error: not done within {arguments.timeout} s (--timeout)")
                return 1
            time.sleep(0.1)
        failed = [rank for rank, process in enumerate(processes)
                  if process.exitcode not in (None, 0, WRONG)]  # None: still running
        if failed:
            print(f"error: rank {failed[0]} failed")
        return 1 if failed or any(process.exitcode == WRONG for process in processes) else 0
    finally:
        for process in processes:
            if process.pid is not None:
                process.kill()
                process.join()


def main():
    arguments = parse_arguments()
    # Turns NVLink multicast off. This must come before CUDA starts; the ranks inherit it.
    os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    reason = obstacle(arguments)
    if reason:
        print(f"cannot measure: {reason}")
        return CANNOT
    import torch.distributed as dist
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    return run_ranks(arguments, store.port)


if __name__ == "__main__":
    sys.exit(main())
