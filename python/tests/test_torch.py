"""Operations and layers on the host target, with ranks as threads, compared with plain PyTorch."""
import os
import threading
import unittest
import unittest.mock
import warnings

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("torch is not here") from error
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.multi_threaded_pg import (ProcessLocalGroup, ThreadLocalWorld,
                                                                  _install_threaded_pg, _uninstall_threaded_pg)

import tilepost
import tilepost.torch as tp
from tilepost.torch import _again

CATALOGUE = os.environ.get("TILEPOST_TEST_CATALOGUE")
OPERATIONS = torch.ops.tilepost


def setUpModule():
    if CATALOGUE:
        tp.use_catalogue(tilepost.Catalogue(CATALOGUE))


def on_ranks(world, body):
    """Runs body(rank) in a process group of `world` threads, and raises what the first of them raised."""
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    _install_threaded_pg()
    store, errors = dist.HashStore(), []

    def guarded(rank):
        try:
            dist.init_process_group("threaded", rank=rank, world_size=world, store=store)
            body(rank)
            tp.release()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)
            ProcessLocalGroup.exception_handle(error)

    # A single rank stays on this thread, on which PyTorch's compilers like to be.
    threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(world)] if world > 1 else []
    try:
        if world == 1:
            guarded(0)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        ProcessLocalGroup.reset()
        _uninstall_threaded_pg()
        if world == 1:  # this thread would keep its group
            ThreadLocalWorld._world = threading.local()
            torch._C._distributed_c10d._unregister_all_process_groups()
        torch._C._distributed_c10d._set_thread_isolation_mode(False)
    if errors:
        raise errors[0]


def random_tensor(seed, *shape, dtype=torch.bfloat16):
    """Whole numbers from -2 to 2, so that sums of few products are exact in bf16."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-2, 3, shape, generator=generator).to(dtype)


def split(matrix, world, dim):
    return [part.contiguous() for part in matrix.chunk(world, dim)]


class Case:
    """The operands of all ranks, and the product of a layer that is not divided among ranks."""

    def __init__(self, world, m, n, k, dtype=torch.bfloat16):
        self.world = world
        self.a, self.w = random_tensor(1, m, k, dtype=dtype), random_tensor(2, n, k, dtype=dtype)
        self.bias, self.dy = random_tensor(3, n, dtype=dtype), random_tensor(4, m, n, dtype=dtype)

    def plain(self):
        """y, and the gradients of a, w and bias, with fp32 in between."""
        a, w, bias = (tensor.float().clone().requires_grad_() for tensor in (self.a, self.w, self.bias))
        y = F.linear(a, w, bias)
        y.backward(self.dy.float())
        return y.detach(), a.grad, w.grad, bias.grad


def equal(test, have, want):
    torch.testing.assert_close(have.detach().float(), want.float(), rtol=2e-2, atol=0.5)
    test.assertTrue(torch.isfinite(have.detach().float()).all())


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["TILEPOST"] = "strict"

    @classmethod
    def tearDownClass(cls):
        del os.environ["TILEPOST"]

    def check(self, m, dtype=torch.bfloat16, transposed=False, bias=True):
        """Forward and backward of the three operations, on two ranks."""
        world, n, k = 2, 24, 16
        case = Case(world, m, n, k, dtype)
        y, da, dw, dbias = case.plain()
        if not bias:
            y = y - case.bias.float()

        def weight(matrix):
            laid = matrix.t().contiguous().t() if transposed else matrix.contiguous()
            self.assertEqual(laid.is_contiguous(), not transposed)
            return laid.requires_grad_()

        def rank_runs(rank):
            b = case.bias.clone().requires_grad_() if bias else None
            # Rows of w belong to no rank alone here: every rank has a part of k.
            for operation in (tp.gemm_all_reduce, tp.gemm_reduce_scatter):
                scattered = operation is tp.gemm_reduce_scatter
                if scattered and m % world != 0:
                    continue
                a, w = split(case.a, world, 1)[rank].requires_grad_(), weight(split(case.w, world, 1)[rank])
                own = split(y, world, 0)[rank] if scattered else y
                out = operation(a, w, bias=b)
                equal(self, out, own)
                out.backward(split(case.dy, world, 0)[rank] if scattered else case.dy)
                equal(self, a.grad, split(da, world, 1)[rank])
                equal(self, w.grad, split(dw, world, 1)[rank])
                if bias:
                    equal(self, b.grad, dbias)
                    b.grad = None
            if m % world != 0:
                return
            a, w = split(case.a, world, 0)[rank].requires_grad_(), weight(split(case.w, world, 0)[rank])
            own_bias = split(case.bias, world, 0)[rank].requires_grad_() if bias else None
            out, gathered = tp.all_gather_gemm(a, w, bias=own_bias, return_gathered=True)
            equal(self, out, split(y, world, 1)[rank])
            self.assertTrue(torch.equal(gathered, case.a))
            out.backward(split(case.dy, world, 1)[rank])
            equal(self, a.grad, split(da, world, 0)[rank])
            equal(self, w.grad, split(dw, world, 0)[rank])
            if bias:
                equal(self, own_bias.grad, split(dbias, world, 0)[rank])

        on_ranks(world, rank_runs)

    def test_any_number_of_rows(self):
        for m in (64, 2, 100, 7):
            with self.subTest(m=m):
                self.check(m)

    def test_other_types_and_layouts(self):
        self.check(32, dtype=torch.float16)
        self.check(32, transposed=True)
        self.check(32, bias=False)

    def test_more_rows_than_the_first_operation_has(self):
        def rank_runs(rank):
            for m in (8, 1500, 8):
                a, w = random_tensor(rank, m, 8), random_tensor(9, 8, 8)
                want = sum(random_tensor(each, m, 8).float() @ w.float().t() for each in range(2))
                equal(self, tp.gemm_all_reduce(a, w), want)
            self.assertEqual(tuple(tp.gemm_all_reduce(random_tensor(1, 0, 8), w).shape), (0, 8))

        on_ranks(2, rank_runs)

    def test_more_dimensions(self):
        def rank_runs(rank):
            a, w = random_tensor(rank, 2, 3, 8), random_tensor(9, 16, 8)
            out = tp.gemm_all_reduce(a, w)
            self.assertEqual(tuple(out.shape), (2, 3, 16))
            equal(self, out, sum(random_tensor(each, 2, 3, 8).float() @ w.float().t() for each in range(2)))

        on_ranks(2, rank_runs)

    def test_wrong_operands_are_named(self):
        def rank_runs(rank):
            a, w = random_tensor(1, 7, 8), random_tensor(2, 16, 8)
            for operation, given, text in (
                    (tp.gemm_reduce_scatter, (a, w), "gemm_reduce_scatter: 7 rows cannot be divided among 2 ranks"),
                    (tp.gemm_all_reduce, (a, w[:, :4]), r"a \(7, 8\), w \(16, 4\); expected a \[rows, k\]"),
                    (tp.gemm_all_reduce, (a, w.half()), "w is torch.float16 on 'cpu', and a is torch.bfloat16"),
            ):
                with self.assertRaisesRegex(ValueError, text):
                    operation(*given)
            with self.assertRaisesRegex(ValueError, r"bias \(3,\)"):
                tp.gemm_all_reduce(a, w, bias=random_tensor(3, 3))
            with self.assertRaisesRegex(RuntimeError, "TILEPOST=strict"):
                tp.gemm_all_reduce(a.float(), w.float())

        on_ranks(2, rank_runs)

    def test_fake_tensors_have_the_shapes(self):
        def rank_runs(rank):
            name = dist.group.WORLD.group_name
            with FakeTensorMode():
                a, w = torch.empty(8, 4), torch.empty(6, 4)
                self.assertEqual(tuple(OPERATIONS.gemm_all_reduce(a, w, None, name).shape), (8, 6))
                self.assertEqual(tuple(OPERATIONS.gemm_reduce_scatter(a, w, None, name).shape), (4, 6))
                y, gathered = OPERATIONS.all_gather_gemm(a, w, None, name)
                self.assertEqual((tuple(y.shape), tuple(gathered.shape)), ((16, 6), (16, 4)))

        on_ranks(2, rank_runs)

    def check_definitions(self):
        name = dist.group.WORLD.group_name
        a, w, bias = random_tensor(1, 8, 16), random_tensor(2, 24, 16), random_tensor(3, 24)
        for operation in (OPERATIONS.gemm_all_reduce, OPERATIONS.gemm_reduce_scatter, OPERATIONS.all_gather_gemm):
            for given in (bias, None):
                torch.library.opcheck(operation.default, (a, w, given, name))

    def check_compiled(self):
        name = dist.group.WORLD.group_name

        def step(a, up, down):
            return tp.gemm_reduce_scatter(F.silu(tp.all_gather_gemm(a, up, group=name)), down, group=name)

        grads = []
        for function in (step, torch.compile(step, fullgraph=True, backend="aot_eager")):
            tensors = [random_tensor(seed, *shape).requires_grad_()
                       for seed, shape in ((1, (8, 16)), (2, (32, 16)), (3, (16, 32)))]
            out = function(*tensors)
            out.backward(torch.ones_like(out))
            grads.append([out.detach()] + [tensor.grad for tensor in tensors])
        for plain, other in zip(*grads):
            self.assertTrue(torch.equal(plain, other))

    def test_compilers_take_them(self):
        def rank_runs(_):
            self.check_definitions()
            self.check_compiled()

        on_ranks(1, rank_runs)

    def test_no_group(self):
        with self.assertRaisesRegex(ValueError, "there is no process group"):
            tp.gemm_all_reduce(random_tensor(1, 8, 8), random_tensor(2, 8, 8))


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Layers(unittest.TestCase):
    def mlp(self, sequence_parallel):
        """Two layers and their gradients: the same as those of the layers that are not divided."""
        world, m, hidden, inner = 2, 12, 16, 32
        torch.manual_seed(5)
        up, down = nn.Linear(hidden, inner).bfloat16(), nn.Linear(inner, hidden).bfloat16()
        a, dy = torch.randn(m, hidden).bfloat16(), torch.randn(m, hidden).bfloat16()
        plain_a = a.float().requires_grad_()
        plain_up, plain_down = (nn.Linear(i, o) for i, o in ((hidden, inner), (inner, hidden)))
        plain_up.load_state_dict({key: value.float() for key, value in up.state_dict().items()})
        plain_down.load_state_dict({key: value.float() for key, value in down.state_dict().items()})
        y = plain_down(F.silu(plain_up(plain_a)))
        y.backward(dy.float())

        def rank_runs(rank):
            own_up = tp.ColumnParallelLinear.from_linear(up, sequence_parallel=sequence_parallel)
            own_down = tp.RowParallelLinear.from_linear(down, sequence_parallel=sequence_parallel)
            rows = (lambda matrix: split(matrix, world, 0)[rank]) if sequence_parallel else lambda matrix: matrix
            own_a = rows(a).clone().requires_grad_()
            out = own_down(F.silu(own_up(own_a)))
            torch.testing.assert_close(out.float(), rows(y.detach()), rtol=3e-2, atol=3e-2)
            out.backward(rows(dy))
            for have, want in ((own_a.grad, rows(plain_a.grad)),
                               (own_up.weight.grad, split(plain_up.weight.grad, world, 0)[rank]),
                               (own_up.bias.grad, split(plain_up.bias.grad, world, 0)[rank]),
                               (own_down.weight.grad, split(plain_down.weight.grad, world, 1)[rank]),
                               (own_down.bias.grad, plain_down.bias.grad)):
                torch.testing.assert_close(have.float(), want, rtol=5e-2, atol=5e-2)

        on_ranks(world, rank_runs)

    def test_with_sequence_parallelism(self):
        self.mlp(True)

    def test_without(self):
        self.mlp(False)


class CallsLikeBefore(unittest.TestCase):
    """What can be seen without a GPU; tests/gpu/torch has the rest."""

    def test_the_environment_may_change(self):
        with unittest.mock.patch.dict(os.environ):
            for mode, is_off in (("off", True), ("strict", False), ("off", True)):
                os.environ["TILEPOST"] = mode
                self.assertEqual(_again.is_off(), is_off)
            del os.environ["TILEPOST"]
            self.assertFalse(_again.is_off())

    def test_shapes(self):
        for sizes in ((5,), (3, 4), (2, 3, 4)):
            shape = _again.shape_of(*sizes)
            self.assertEqual((shape.sizes, shape.strides), (sizes, torch.empty(sizes).stride()))

    def test_kinds_differ(self):
        a, w = torch.empty(4, 8, dtype=torch.bfloat16), torch.empty(8, 8, dtype=torch.bfloat16)
        bias = torch.empty(8, dtype=torch.bfloat16)
        calls = [("gemm_all_reduce", a, w, None), ("gemm_reduce_scatter", a, w, None),
                 ("gemm_all_reduce", a[:2], w, None),
                 ("gemm_all_reduce", a, w.t(), None), ("gemm_all_reduce", a, w[:4], None),
                 ("gemm_all_reduce", a.half(), w, None), ("gemm_all_reduce", a, w.half(), None),
                 ("gemm_all_reduce", a, w, bias), ("gemm_all_reduce", a, w, bias.half()),
                 ("gemm_all_reduce", a, w, bias[::2]), ("gemm_all_reduce", a.view(2, 2, 8), w, None)]
        self.assertEqual(len({_again._kind(*call) for call in calls}), len(calls))
        self.assertEqual(_again._kind("x", a, w, bias), _again._kind("x", a.clone(), w.clone(), bias.clone()))


class Fallback(unittest.TestCase):
    def test_other_types_take_pytorchs_own_with_one_warning(self):
        case = Case(2, 12, 8, 16, torch.float32)
        y, da, dw, _ = case.plain()
        messages = []

        def rank_runs(rank):
            a, w = split(case.a, 2, 1)[rank].requires_grad_(), split(case.w, 2, 1)[rank].requires_grad_()
            for _ in range(2):
                out = tp.gemm_reduce_scatter(a, w, bias=case.bias)
            torch.testing.assert_close(out, split(y, 2, 0)[rank])
            out.backward(split(case.dy, 2, 0)[rank])
            torch.testing.assert_close(a.grad, split(da, 2, 1)[rank])
            torch.testing.assert_close(w.grad, split(dw, 2, 1)[rank])
            y2, gathered = tp.all_gather_gemm(split(case.a, 2, 0)[rank], case.w, return_gathered=True)
            torch.testing.assert_close(y2, case.a @ case.w.t())
            torch.testing.assert_close(gathered, case.a)
            torch.testing.assert_close(tp.gemm_all_reduce(a, w, bias=case.bias), y)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            on_ranks(2, rank_runs)
            messages = [str(each.message) for each in caught if "tilepost" in str(each.message)]
        self.assertEqual(len(messages), 1, messages)
        self.assertIn("torch.float32 is not among the types", messages[0])


if __name__ == "__main__":
    unittest.main()
