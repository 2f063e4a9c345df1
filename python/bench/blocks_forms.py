"""The ways in which a GEMM of e4m3 with scales of blocks is computed: tilepost's, and what it is compared with."""
from __future__ import annotations

from typing import NamedTuple, Union

import torch
import torch.nn.functional as F

import others
import tilepost
import timing
from tilepost._plan import Value

BLOCK = 128  # elements along k, and along n in B
E4M3 = torch.float8_e4m3fn


def blocks_of(size: int) -> int:
    return -(-size // BLOCK)


def padded(size: int) -> int:
    """To a multiple of 4, which TMA and cuBLASLt need of a matrix of scales."""
    return -(-size // 4) * 4


class Shape(NamedTuple):
    """The sizes of a GEMM, whose B is [n, k]."""
    set: str  # that it is from
    m: int
    n: int
    k: int

    def fields(self, blocks: bool, host: bool) -> dict[str, Value]:
        """The spec of tilepost's operation, with scales of blocks or with one scale for each operand."""
        fields: dict[str, Value] = {
            "pattern": "gemm", "ranks": 1, "gemm.m": self.m, "gemm.n": self.n, "gemm.k": self.k, "gemm.a": "e4m3",
            "gemm.accumulate": "precise", "arch": "host" if host else "sm_90a"}
        fields["gemm.scales" if blocks else "gemm.epilogue"] = "blocks" if blocks else ["scale"]
        if host:
            fields["schedule.tile"] = [64, 64]
        return fields

    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    def bytes(self) -> int:
        """What a GEMM reads and writes at least, without scales."""
        return (self.m + self.n) * self.k + 2 * self.m * self.n


class Operands:
    """What a GEMM reads, on one device: e4m3 with scales of blocks, and the same e4m3 with one scale each."""

    def __init__(self, shape: Shape, device: torch.device, seed: int) -> None:
        self.shape, self.device = shape, device
        generator = torch.Generator(device).manual_seed(seed)

        def quantised(rows: int) -> torch.Tensor:
            # The numbers are spread as quantised ones are, and the scales do the rest.
            random = torch.empty(rows, shape.k, dtype=torch.bfloat16, device=device)
            return random.normal_(0, 16, generator=generator).to(E4M3)

        def scales(rows: int, groups: int, factor: float) -> torch.Tensor:
            # Far apart, so that a scale from a wrong place shows.
            return torch.empty(rows, groups, device=device).uniform_(0.02, 0.12, generator=generator).mul_(factor)

        groups, root = blocks_of(shape.k), shape.k ** -0.5
        self.a, self.b = quantised(shape.m), quantised(shape.n)
        self.scale_a, self.scale_b = scales(shape.m, groups, 1.0), scales(blocks_of(shape.n), groups, root)
        self.one_a, self.one_b = scales(1, 1, 1.0), scales(1, 1, root)


class Form(NamedTuple):
    """A way of computing a GEMM."""
    calls: list[timing.Call]  # one for each set of operands
    blocks: bool = True  # whether blocks have scales


def _run_of(op: tilepost.Op, operands: Operands, blocks: bool) -> timing.Call:
    shape, on_gpu = operands.shape, operands.device.type == "cuda"
    # A row that is not written stays NaN, and fails the check.
    out = torch.full((shape.m, shape.n), float("nan"), dtype=torch.bfloat16, device=operands.device)
    scales = (operands.scale_a, operands.scale_b) if blocks else (operands.one_a, operands.one_b)

    def call() -> torch.Tensor:
        op.run(operands.a, operands.b, out, scale_a=scales[0], scale_b=scales[1],
               stream=torch.cuda.current_stream().cuda_stream if on_gpu else 0)
        if not on_gpu:
            op.synchronize()
        return out

    return call


class Ours:
    """tilepost's operation."""

    def __init__(self, shape: Shape, sets: list[Operands], comm: tilepost.Comm,
                 catalogue: Union[tilepost.Catalogue, None], blocks: bool) -> None:
        self.on_gpu = sets[0].device.type == "cuda"
        self.op = tilepost.Op(comm, tilepost.Plan(shape.fields(blocks, host=not self.on_gpu)).load(catalogue))
        self.form = Form([_run_of(self.op, operands, blocks) for operands in sets], blocks)

    def close(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()
        self.op.close()


def in_columns(scales: torch.Tensor, pitch: int) -> torch.Tensor:
    """The same scales where a column of them is contiguous, with so many rows: those behind the last are 0."""
    columns = scales.new_zeros(scales.shape[1], pitch)
    columns[:, :scales.shape[0]] = scales.T
    return columns.T


def deep_gemm(operands: Operands) -> timing.Call:
    """DeepGEMM's. A's scales lie as it would copy them, which it then does not. n and k are constants of its kernel,
    as they are by default outside of this package of it."""
    others.need_gpu(operands.device)
    library = others.deep_gemm_library()
    shape = operands.shape
    scale_a = in_columns(operands.scale_a, padded(shape.m))[:shape.m]
    out = torch.empty(shape.m, shape.n, dtype=torch.bfloat16, device=operands.device)

    def call() -> torch.Tensor:
        library.fp8_gemm_nt((operands.a, scale_a), (operands.b, operands.scale_b), out, compiled_dims="nk")
        return out

    return call


def cublas_lt(operands: Operands) -> timing.Call:
    """torch.nn.functional.scaled_mm, which is the first of cuBLASLt's candidates. Rows are padded to a multiple of 4
    before times are taken."""
    others.need_gpu(operands.device)
    shape = operands.shape
    a = operands.a.new_zeros(padded(shape.m), shape.k)
    a[:shape.m] = operands.a
    scale_a = in_columns(operands.scale_a, padded(shape.m))
    lines = F.pad(operands.scale_b, (0, padded(operands.scale_b.shape[1]) - operands.scale_b.shape[1]))
    recipe = F.ScalingType

    def call() -> torch.Tensor:
        return F.scaled_mm(a, operands.b.T, scale_a, recipe.BlockWise1x128, lines.T, recipe.BlockWise128x128,
                           output_dtype=torch.bfloat16)[:shape.m]

    return call


BASELINES = {"DeepGEMM": deep_gemm, "cuBLASLt": cublas_lt}


class Checker:
    """What sampled rows of the result are, computed in fp32."""
    ROWS = 48

    def __init__(self, operands: Operands) -> None:
        self.operands = operands
        last = operands.shape.m - 1
        drawn = torch.randint(last + 1, (self.ROWS,), generator=torch.Generator().manual_seed(2)).tolist()
        self.rows = torch.tensor(sorted({0, last, *drawn}), device=operands.device)
        self._wanted: dict[bool, torch.Tensor] = {}

    def wanted(self, blocks: bool) -> torch.Tensor:
        """These rows, with the scales of blocks or with one scale for each operand."""
        if blocks not in self._wanted:
            self._wanted[blocks] = self._product(blocks)
        return self._wanted[blocks]

    def _product(self, blocks: bool) -> torch.Tensor:
        operands = self.operands
        a, b = operands.a[self.rows].float(), operands.b.float()
        if not blocks:
            return a @ b.T * (operands.one_a * operands.one_b)
        a *= operands.scale_a[self.rows].repeat_interleave(BLOCK, 1)[:, :a.shape[1]]
        for line, scales in enumerate(operands.scale_b.repeat_interleave(BLOCK, 1)):
            b[line * BLOCK:(line + 1) * BLOCK] *= scales[:b.shape[1]]
        return a @ b.T

    def error(self, result: torch.Tensor, blocks: bool) -> float:
        """By how much these rows differ, relative to their norm; infinite where any row is not finite. Collective."""
        finite = bool(torch.isfinite(result.sum(dtype=torch.float32)))
        rows = result[self.rows] if finite else torch.full_like(self.wanted(blocks), float("nan"))
        return timing.relative_error(rows, self.wanted(blocks))
