"""The ways in which a grouped GEMM is computed: tilepost's, and what it is compared with."""
from __future__ import annotations

import ctypes
from typing import Callable, NamedTuple, Optional, Union

import torch

import others
import tilepost
from experts import compiled_swiglu, swiglu
from others import Unavailable
from tilepost._plan import Value

TYPES = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e4m3_fast": torch.float8_e4m3fn}


class Product(NamedTuple):
    """A product of the rows of one rank's experts."""
    layer: str
    half: str  # up, down
    type: str  # of TYPES; fast: sums in the tensor cores' accumulator
    experts: int
    rows: int  # of all experts together
    columns: int  # of B, before gate and up are combined
    k: int
    swiglu: bool

    def fields(self, host: bool) -> dict[str, Value]:
        """The spec of tilepost's operation."""
        scales = ["scale_rows", "scale_columns"] if self.type != "bf16" else []
        fields: dict[str, Value] = {
            "pattern": "grouped_gemm", "ranks": 1, "gemm.m": {"max": self.rows},
            "gemm.n": self.columns // (2 if self.swiglu else 1), "gemm.k": self.k, "gemm.a": self.type.split("_")[0],
            "gemm.experts": self.experts, "gemm.epilogue": scales + (["swiglu"] if self.swiglu else []),
            "arch": "host" if host else "sm_90a"}
        if host:
            fields["schedule.tile"] = [64, 64]
        elif self.type != "bf16":
            fields["gemm.accumulate"] = "fast" if self.type == "e4m3_fast" else "precise"
        return fields


class Operands:
    """What a product reads, on one device. `counts` are the rows of each expert."""

    def __init__(self, product: Product, counts: list[int], device: torch.device, filled: bool = True) -> None:
        self.counts, self.device = counts, device
        kind = TYPES[product.type]
        self.a = torch.empty(product.rows, product.k, dtype=kind, device=device)
        self.b = torch.empty(product.experts, product.columns, product.k, dtype=kind, device=device)
        self.ends = torch.tensor(counts, device=device).cumsum(0).int()
        self.scale_a, self.scale_b = (torch.ones(size, device=device) for size in
                                      (product.rows, (product.experts, product.columns)))
        if filled:
            self._fill(product)

    def _fill(self, product: Product) -> None:
        generator = torch.Generator(self.device).manual_seed(0)
        scaled = product.type != "bf16"
        for tensor, scale in ((self.a, 1.0), *((each, product.k ** -0.5) for each in self.b)):
            random = torch.empty(tensor.shape, dtype=torch.bfloat16, device=self.device)
            # The numbers of e4m3 are spread as quantised ones are, and the scales do the rest.
            tensor.copy_(random.normal_(0, 16 if scaled else scale, generator=generator))
        if scaled:
            self.scale_a.uniform_(0.03, 0.09, generator=generator)
            self.scale_b.uniform_(0.03, 0.09, generator=generator).mul_(product.k ** -0.5)


class Form(NamedTuple):
    """A way of computing a product."""
    call: Callable[[], torch.Tensor]
    places: Optional[torch.Tensor] = None  # of the rows of A in the result, where it has others too
    one_b: bool = False  # whether the B of the first expert multiplies all rows


def _activated(product: Product, form: Form, on_gpu: bool = True) -> Form:
    """The form with the activation behind it that tilepost has within."""
    if not product.swiglu:
        return form
    activation = compiled_swiglu if on_gpu else swiglu
    return form._replace(call=lambda: activation(form.call()))


class Ours:
    """tilepost's operation."""

    def __init__(self, product: Product, operands: Operands, comm: tilepost.Comm,
                 catalogue: Union[tilepost.Catalogue, None]) -> None:
        self.operands, self.rows = operands, product.rows
        on_gpu = operands.device.type == "cuda"
        plan = tilepost.Plan(product.fields(host=not on_gpu)).load(catalogue)
        self.op = tilepost.Op(comm, plan)
        columns = product.columns // (2 if product.swiglu else 1)
        # A row that is not written stays NaN, and fails the check.
        self.out = torch.full((product.rows, columns), float("nan"), dtype=torch.bfloat16, device=operands.device)
        self.scales = {} if product.type == "bf16" else {"scale_a": operands.scale_a, "scale_b": operands.scale_b}
        self.form = Form(self.run)

    def run(self) -> torch.Tensor:
        """One run, whose result is in the same place every time."""
        on_gpu = self.operands.device.type == "cuda"
        self.op.run(self.operands.a, self.operands.b, self.out, m=self.rows, expert_ends=self.operands.ends,
                    stream=torch.cuda.current_stream().cuda_stream if on_gpu else 0, **self.scales)
        if not on_gpu:
            self.op.synchronize()
        return self.out

    def close(self) -> None:
        if self.operands.device.type == "cuda":
            torch.cuda.synchronize()
        self.op.close()


def torch_grouped(product: Product, operands: Operands) -> Form:
    """torch._grouped_mm, or with scales torch._scaled_grouped_mm."""
    a, b, ends = operands.a, operands.b.transpose(-2, -1), operands.ends
    on_gpu = operands.device.type == "cuda"
    if product.type != "bf16":
        others.need_gpu(operands.device)
        fast = product.type == "e4m3_fast"
        return _activated(product, Form(lambda: torch._scaled_grouped_mm(
            a, b, operands.scale_a, operands.scale_b, offs=ends, out_dtype=torch.bfloat16, use_fast_accum=fast)))
    return _activated(product, Form(lambda: torch._grouped_mm(a, b, offs=ends)), on_gpu)


def one_gemm(product: Product, operands: Operands) -> Form:
    """One GEMM of as many rows, which is no grouped GEMM: cuBLASLt's speed."""
    a, b = operands.a, operands.b[0].t()
    on_gpu = operands.device.type == "cuda"
    if product.type == "bf16":
        return _activated(product, Form(lambda: torch.mm(a, b), one_b=True), on_gpu)
    others.need_gpu(operands.device)
    scale_a, scale_b = operands.scale_a.unsqueeze(1), operands.scale_b[:1]
    fast = product.type == "e4m3_fast"
    return _activated(product, Form(lambda: torch._scaled_mm(
        a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast), one_b=True))


def deep_gemm(product: Product, operands: Operands) -> Form:
    """DeepGEMM's, whose experts begin at multiples of an alignment: rows are padded before times are taken."""
    others.need_gpu(operands.device)
    if product.type != "bf16":
        raise Unavailable("its e4m3 has scales of blocks")
    library = others.deep_gemm_library()
    alignment = int(library.get_mk_alignment_for_contiguous_layout())
    padded = [-(-count // alignment) * alignment for count in operands.counts]
    experts = torch.full((sum(padded),), -1, dtype=torch.int32)
    begin, places = 0, []
    for expert, (count, room) in enumerate(zip(operands.counts, padded)):
        experts[begin:begin + count] = expert
        places.append(torch.arange(begin, begin + count))
        begin += room
    at = torch.cat(places).to(operands.device)
    a = operands.a.new_zeros(sum(padded), product.k)
    a[at] = operands.a
    out = a.new_empty(sum(padded), product.columns)
    layout = experts.to(operands.device)

    def call() -> torch.Tensor:
        library.m_grouped_bf16_gemm_nt_contiguous(a, operands.b, out, layout)
        return out

    return _activated(product, Form(call, places=at))


class _Cublas:
    """cublasGemmGroupedBatchedEx: arrays of sizes on the host, arrays of pointers on the device."""
    NAME = "libcublas.so.13"
    NONE, TRANSPOSED, BF16, FP32_SUMS = 0, 1, 14, 68  # of cublas_api.h and library_types.h

    def __init__(self, product: Product, operands: Operands) -> None:
        try:
            self.function = ctypes.CDLL(self.NAME).cublasGemmGroupedBatchedEx
        except (OSError, AttributeError) as error:
            raise Unavailable(str(error)) from error
        self.operands = operands
        self.out = operands.a.new_empty(product.rows, product.columns)
        chosen = [expert for expert, count in enumerate(operands.counts) if count > 0]
        firsts = [0, *torch.tensor(operands.counts).cumsum(0).tolist()]
        bytes_of = operands.a.element_size()
        self.pointers = [torch.tensor(each, device=operands.device) for each in (
            [operands.b[expert].data_ptr() for expert in chosen],
            [operands.a.data_ptr() + firsts[expert] * product.k * bytes_of for expert in chosen],
            [self.out.data_ptr() + firsts[expert] * product.columns * bytes_of for expert in chosen])]
        weights, rows, out = (ctypes.c_void_p(each.data_ptr()) for each in self.pointers)

        def ints(values: list[int]) -> ctypes.Array:
            return (ctypes.c_int * len(chosen))(*values)

        def same(value: int) -> ctypes.Array:
            return ints([value] * len(chosen))

        ones, zeros = ((ctypes.c_float * len(chosen))(*[value] * len(chosen)) for value in (1.0, 0.0))
        # To cuBLAS a matrix of rows is the transpose of one of columns: out' = B A'.
        self.arguments = (
            same(self.TRANSPOSED), same(self.NONE), same(product.columns),
            ints([operands.counts[expert] for expert in chosen]), same(product.k), ones,
            weights, self.BF16, same(product.k), rows, self.BF16, same(product.k), zeros,
            out, self.BF16, same(product.columns), len(chosen), same(1), self.FP32_SUMS)

    def __call__(self) -> torch.Tensor:
        status = self.function(ctypes.c_void_p(torch.cuda.current_blas_handle()), *self.arguments)
        if status != 0:
            raise RuntimeError(f"cublasGemmGroupedBatchedEx returned {status}")
        return self.out


def cublas_grouped(product: Product, operands: Operands) -> Form:
    """cuBLAS's grouped GEMM, which knows the experts' numbers of rows on the host."""
    others.need_gpu(operands.device)
    if product.type != "bf16":
        raise Unavailable("it has no scales of rows and columns")
    return _activated(product, Form(_Cublas(product, operands)))


BASELINES = {"grouped_mm": torch_grouped, "one GEMM": one_gemm, "DeepGEMM": deep_gemm, "cuBLAS grouped": cublas_grouped}


class Checker:
    """What sampled rows of the result are, computed one by one in fp32."""
    EXPERTS, ROWS = 12, 12  # of which rows are taken, and how many of each

    def __init__(self, product: Product, operands: Operands) -> None:
        self.product, self.operands = product, operands
        generator = torch.Generator().manual_seed(2)
        busy = [expert for expert, count in enumerate(operands.counts) if count > 0]
        order = torch.randperm(len(busy), generator=generator)[:self.EXPERTS].tolist()
        firsts = [0, *torch.tensor(operands.counts).cumsum(0).tolist()]
        self.rows_of = {}
        for expert in {busy[0], busy[-1], *(busy[each] for each in order)}:
            count = operands.counts[expert]
            inner = torch.randint(count, (self.ROWS,), generator=generator).tolist()
            # The first and last rows of an expert are where tiles of two experts meet.
            self.rows_of[expert] = [firsts[expert] + row for row in sorted({0, count - 1, *inner})]
        self.rows = torch.tensor([row for rows in self.rows_of.values() for row in rows], device=operands.device)

    def wanted(self, one_b: bool) -> torch.Tensor:
        """These rows. With `one_b` the first expert's B multiplies all of them."""
        operands, parts = self.operands, []
        for expert, rows in self.rows_of.items():
            chosen = 0 if one_b else expert
            product = operands.a[rows].float() @ operands.b[chosen].float().T
            product *= operands.scale_a[rows].unsqueeze(1) * operands.scale_b[chosen]
            parts.append(swiglu(product) if self.product.swiglu else product)
        return torch.cat(parts)

    def sampled(self, form: Form, result: torch.Tensor) -> torch.Tensor:
        """These rows of a form's result."""
        return result[self.rows if form.places is None else form.places[self.rows]]
