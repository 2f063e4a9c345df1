"""tilepost's operations in the place of PyTorch's fused ones: random shapes, compared with what PyTorch computes."""
import logging
import os
import random
import unittest
import warnings

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("torch is not here") from error
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem_module
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import detect_fake_mode
from torch._inductor.fx_passes.post_grad import post_grad_passes
from torch._inductor.virtualized import V
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

import tilepost
import tilepost.torch as tp
from tilepost.torch import _group
from test_torch import CATALOGUE, on_ranks, random_tensor

WORLD = 2
FUSED = torch.ops.symm_mem


def setUpModule():
    torch.set_num_threads(1)
    if CATALOGUE:
        tp.use_catalogue(tilepost.Catalogue(CATALOGUE))


def strict(test):
    """For the time of a test, what is not served is an error."""
    os.environ["TILEPOST"] = "strict"
    test.addCleanup(os.environ.pop, "TILEPOST", None)


def name():
    return dist.group.WORLD.group_name


def laid(matrix, transposed):
    """The same matrix, as the transpose of a contiguous one or contiguous."""
    return matrix.t().contiguous().t() if transposed else matrix.contiguous()


class Shapes:
    """Random shapes, the same on all ranks."""

    def __init__(self, seed, scattered):
        choose = random.Random(seed)
        self.dim = choose.randrange(0, 3)
        rank = choose.randrange(self.dim + 2, 5)
        self.leading = [choose.choice([1, 2, 3, 5]) for _ in range(rank - 1)]
        if scattered:
            self.leading[self.dim] *= WORLD
        self.k, self.ns = choose.choice([8, 24]), [choose.choice([8, 16, 40]) for _ in range(choose.randrange(1, 4))]
        self.transposed = [choose.random() < 0.7 for _ in self.ns]
        self.reduce_op = choose.choice(["sum", "avg"])

    def a(self, rank):
        return random_tensor(10 + rank, *self.leading, self.k)

    def bs(self, rank=0):
        return [laid(random_tensor(20 + index + 7 * rank, self.k, n), transposed)
                for index, (n, transposed) in enumerate(zip(self.ns, self.transposed))]


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Overrides(unittest.TestCase):
    def setUp(self):
        self.names = tp.install(symm_mem=True)
        self.addCleanup(tp.uninstall)

    def same(self, have, want):
        """Equal values, and laid out as compilers expect: as PyTorch's operation does."""
        torch.testing.assert_close(have, want, rtol=2e-2, atol=0.5)
        sizes = [size for size in want.shape if size > 1]
        strides = [[stride for stride, size in zip(tensor.stride(), tensor.shape) if size > 1]
                   for tensor in (have, want)]
        self.assertEqual(strides[0], strides[1], sizes)

    def test_all_gather_matmul(self):
        strict(self)
        before = tp.calls_served("fused_all_gather_matmul")

        def rank_runs(rank):
            for seed in range(12):
                shapes = Shapes(seed, scattered=False)
                given = shapes.a(rank), shapes.bs(), shapes.dim, name()
                for return_a in (True, False):
                    have = FUSED.fused_all_gather_matmul(*given, return_A=return_a)
                    want = symm_mem_module._fused_all_gather_matmul_fallback(*given, return_A=return_a)
                    self.assertEqual(have[0] is None, not return_a)
                    for each, other in zip([*have[1], *have[:return_a]], [*want[1], *want[:return_a]]):
                        self.same(each, other)

        on_ranks(WORLD, rank_runs)
        self.assertEqual(tp.calls_served("fused_all_gather_matmul") - before, 12 * 2 * WORLD)

    def test_matmul_reduce_scatter(self):
        strict(self)

        def rank_runs(rank):
            for seed in range(12):
                shapes = Shapes(seed, scattered=True)
                given = shapes.a(rank), shapes.bs(rank)[0], shapes.reduce_op, shapes.dim, name()
                self.same(FUSED.fused_matmul_reduce_scatter(*given),
                          symm_mem_module._fused_matmul_reduce_scatter_fallback(*given))

        on_ranks(WORLD, rank_runs)

    def test_weight_gradients(self):
        """Of a column-parallel layer's weight: m becomes k, and the operands are transposed."""
        strict(self)

        def rank_runs(rank):
            x, dy = random_tensor(rank, 16, 24), random_tensor(5, 16, 40)  # [tokens, k / ranks], [tokens, n]
            (whole,) = FUSED.fused_all_gather_matmul(x.t(), [dy], 0, name(), return_A=False)[1]
            want = torch.cat([random_tensor(each, 16, 24) for each in range(WORLD)], 1).t().float() @ dy.float()
            torch.testing.assert_close(whole.float(), want, rtol=2e-2, atol=0.5)

        on_ranks(WORLD, rank_runs)

    def test_many_sizes_of_weight_gradients_are_not_served(self):
        def rank_runs(rank):
            for tokens in range(8, 8 * 11, 8):
                x, dy = random_tensor(rank, tokens, 16), random_tensor(5, tokens, 8)
                (whole,) = FUSED.fused_all_gather_matmul(x.t(), [dy], 0, name(), return_A=False)[1]
                self.assertEqual(tuple(whole.shape), (32, 8))

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            on_ranks(WORLD, rank_runs)
        self.assertIn("weight gradients of more than 8 sizes", " ".join(str(each.message) for each in caught))

    def test_what_is_not_served_is_pytorchs_own_with_one_warning(self):
        def rank_runs(rank):
            for _ in range(2):
                a, b = random_tensor(rank, 6, 8), random_tensor(9, 16, 24)
                last = a, [b], 1, name()
                for have, want in zip(FUSED.fused_all_gather_matmul(*last)[1],
                                      symm_mem_module._fused_all_gather_matmul_fallback(*last)[1]):
                    torch.testing.assert_close(have, want)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _group._warned.clear()
            on_ranks(WORLD, rank_runs)
        texts = [str(each.message) for each in caught if "tilepost" in str(each.message)]
        self.assertEqual(len(texts), 1, texts)
        self.assertIn("install (fused_all_gather_matmul) uses PyTorch's own operations: the last dimension", texts[0])

    def test_strict_refuses_what_is_not_served(self):
        strict(self)

        def rank_runs(rank):
            a, b = random_tensor(rank, 6, 8), random_tensor(9, 8, 24)
            for given, text in (
                    ((a, b.float(), "sum", 0), "A is torch.bfloat16"),
                    ((a, b, "max", 0), "reduce_op is 'max'"),
                    ((a[:5], b, "sum", 0), "5 rows cannot be divided among 2 ranks"),
                    ((a, b[:, ::2], "sum", 0), "B is neither contiguous"),
            ):
                with self.assertRaisesRegex(RuntimeError, f"fused_matmul_reduce_scatter is not served: {text}"):
                    FUSED.fused_matmul_reduce_scatter(*given, name())

        on_ranks(WORLD, rank_runs)

    def test_scales(self):
        """Of float8_e4m3fn, for the tensor and for rows."""
        strict(self)
        def rank_runs(rank):
            a = random_tensor(rank, 4, 6, 32).to(torch.float8_e4m3fn)
            b = random_tensor(9, 16, 32).to(torch.float8_e4m3fn).t()
            for rows, columns in (((), ()), ((4, 6, 1), (1, 16)), ((), (1, 16))):
                random = torch.Generator().manual_seed(rank if rows else 0)
                scale_a = torch.rand(rows, generator=random) + 0.5
                scale_b = torch.rand(columns, generator=random.manual_seed(9)) + 0.5
                gather = a, [b], scale_a, [scale_b], 0, name(), [None], [None], [torch.bfloat16], [False]
                have = FUSED.fused_all_gather_scaled_matmul(*gather)
                a_float, b_float = a.float() * scale_a, b.float() * scale_b
                whole = torch.empty(8, 6, 32)
                dist.all_gather_into_tensor(whole, a_float)
                torch.testing.assert_close(have[1][0].float(), whole @ b_float, rtol=2e-2, atol=0.5)
                product = (a_float @ b_float).contiguous()
                dist.all_reduce(product)
                flat_scale = scale_a.reshape(-1, 1) if rows else scale_a
                for shape, flat, dim in (([4, 6, 16], a, 0), ([4, 6, 16], a.reshape(24, 32), 1)):
                    scatter = flat, b, scale_a if flat is a else flat_scale, scale_b, "sum", dim, 0, name(), shape
                    out = FUSED.fused_scaled_matmul_reduce_scatter(*scatter, None, None, torch.bfloat16)
                    torch.testing.assert_close(out.float(), product.chunk(WORLD, dim)[rank], rtol=2e-2, atol=1.0)

        on_ranks(WORLD, rank_runs)

    def test_names_and_undoing(self):
        self.assertEqual(self.names[:2], ["symm_mem::fused_all_gather_matmul", "symm_mem::fused_matmul_reduce_scatter"])
        self.assertEqual(tp.install(), self.names)
        with self.assertRaisesRegex(ValueError, "nothing is asked for"):
            tp.install(symm_mem=False)
        tp.uninstall()

        def rank_runs(_):
            with self.assertRaises(NotImplementedError):  # PyTorch has none for CPUs
                FUSED.fused_matmul_reduce_scatter(random_tensor(1, 4, 8), random_tensor(2, 8, 8), "sum", 0, name())

        on_ranks(WORLD, rank_runs)

    def test_vllms_copy(self):
        library = torch.library.Library("vllm", "DEF")
        signature = str(FUSED.fused_scaled_matmul_reduce_scatter.default._schema).split("(", 1)[1]
        library.define("patched_fused_scaled_matmul_reduce_scatter(" + signature)
        self.addCleanup(library._destroy)
        self.assertIn("vllm::patched_fused_scaled_matmul_reduce_scatter", tp.install())
        strict(self)

        def rank_runs(_):
            a, b = random_tensor(1, 4, 8), random_tensor(2, 8, 8)
            with self.assertRaisesRegex(RuntimeError, "is not served: scales of torch.bfloat16"):
                torch.ops.vllm.patched_fused_scaled_matmul_reduce_scatter(
                    a, b, torch.ones(1), torch.ones(1), "sum", 0, 0, name(), [4, 8])

        on_ranks(WORLD, rank_runs)


def two_layers(a, up, down, group_name):
    """What tensor parallelism with sequence parallelism looks like to a compiler, and a sum over ranks behind it."""
    functional = torch.ops._c10d_functional
    whole = functional.wait_tensor(functional.all_gather_into_tensor(a, WORLD, group_name))
    hidden = F.silu(whole @ up)
    share = functional.wait_tensor(functional.reduce_scatter_tensor(hidden @ down, "sum", WORLD, group_name))
    return functional.wait_tensor(functional.all_reduce(share @ up, "sum", group_name))


def only_passes(graph, _):
    """What inductor does with a graph before it makes code of it."""
    with V.set_fake_mode(detect_fake_mode([node.meta.get("val") for node in graph.graph.nodes])):
        post_grad_passes(graph, is_inference=True)
    graph.recompile()
    return make_boxed_func(graph.forward)


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Compiler(unittest.TestCase):
    def operands(self, rank=0):
        return random_tensor(rank, 8, 16), random_tensor(2, 16, 24), random_tensor(3, 24, 16)

    def compiled(self, strict_pass=None, function=two_layers):
        """The pass, which inductor's passes have called for the function on rank 0 of two, and the function's result.
        Inductor's C++ is left out, which takes long to compile."""
        the_pass = tp.inductor_pass(strict_pass)
        dist.init_process_group("fake", rank=0, world_size=WORLD, store=FakeStore())
        self.addCleanup(dist.destroy_process_group)
        self.addCleanup(torch._dynamo.reset)
        config = {"_micro_pipeline_tp": True, "post_grad_custom_post_pass": the_pass}
        with torch._inductor.config.patch(config), symm_mem_module._test_mode():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = torch.compile(function, fullgraph=True, backend=aot_autograd(fw_compiler=only_passes))(
                    *self.operands(), name())
        return the_pass, out

    def test_fused_nodes_and_sums_of_a_compiled_function_are_replaced(self):
        with self.assertLogs("tilepost", logging.INFO) as logs:
            the_pass, out = self.compiled(strict_pass=True)
        self.assertEqual(the_pass.replaced, 3)
        self.assertEqual(tuple(out.shape), (8, 24))
        self.assertIn("replaced 3 of the graph's products and collectives", logs.output[0])

    def test_strict_raises_where_nothing_is_replaced(self):
        def alone(a, *_):
            functional = torch.ops._c10d_functional
            return functional.wait_tensor(functional.all_reduce(a.sin(), "sum", name()))

        with self.assertRaisesRegex(Exception, "none of them stands beside a matrix product"):
            self.compiled(strict_pass=True, function=lambda a, up, down, group_name: alone(a))

    def test_replaced_graphs_compute_the_same(self):
        strict(self)
        graphs = {}

        def fused(a, up, down, group_name):
            functional = torch.ops._c10d_functional
            (hidden,) = FUSED.fused_all_gather_matmul(a, [up], 0, group_name, return_A=False)[1]
            share = FUSED.fused_matmul_reduce_scatter(F.silu(hidden), down, "sum", 0, group_name)
            return functional.wait_tensor(functional.all_reduce(share @ up, "sum", group_name))

        dist.init_process_group("fake", rank=0, world_size=WORLD, store=FakeStore())
        group_name = name()
        traced = make_fx(lambda *tensors: fused(*tensors, group_name), tracing_mode="fake")(*self.operands())
        dist.destroy_process_group()
        the_pass = tp.inductor_pass()
        the_pass(traced.graph)
        traced.recompile()
        self.assertEqual(the_pass.replaced, 3)

        def rank_runs(rank):
            self.assertEqual(name(), group_name)
            graphs[rank] = traced(*self.operands(rank)), two_layers(*self.operands(rank), group_name)

        on_ranks(WORLD, rank_runs)
        for have, want in graphs.values():
            torch.testing.assert_close(have, want, rtol=3e-2, atol=4.0)


if __name__ == "__main__":
    unittest.main()
