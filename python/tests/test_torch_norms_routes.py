"""Operations with norms, with scales and with routes, and what a group's operations take: on the host target, compared
with plain PyTorch."""
import os
import unittest
import warnings

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("torch is not here") from error
import torch.distributed as dist

import tilepost.torch as tp
from test_torch import CATALOGUE, OPERATIONS, equal, on_ranks, random_tensor, setUpModule, split

assert setUpModule  # unittest calls it here, too
EPS = 1e-5


def norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight


class Strict(unittest.TestCase):
    """Nothing of PyTorch's own may stand in."""

    @classmethod
    def setUpClass(cls):
        os.environ["TILEPOST"] = "strict"

    @classmethod
    def tearDownClass(cls):
        del os.environ["TILEPOST"]


class NormCase:
    """The operands of a sum with a norm, and its results."""

    def __init__(self, world, m, n=24, k=16):
        self.a, self.w = random_tensor(1, m, k), random_tensor(2, n, k)
        self.residual, self.weight = random_tensor(3, m, n), random_tensor(4, n)
        self.bias = random_tensor(5, n)
        self.parts_a, self.parts_w = split(self.a, world, 1), split(self.w, world, 1)
        self.sum = (self.a.float() @ self.w.float().t() + self.bias.float() + self.residual.float()).bfloat16()
        self.y = norm(self.sum.float(), self.weight.float())


def norms_are_right(test, world, m, equal_residual=True):
    case = NormCase(world, m)

    def rank_runs(rank):
        residual = case.residual.clone()
        y = tp.gemm_all_reduce_norm(case.parts_a[rank], case.parts_w[rank], residual, case.weight, EPS, bias=case.bias)
        equal(test, y, case.y)
        if equal_residual:
            test.assertTrue(torch.equal(residual, case.sum))
        if m % world != 0:
            return
        residual = split(case.residual, world, 0)[rank]
        y = tp.gemm_reduce_scatter_norm(case.parts_a[rank], case.parts_w[rank], residual, case.weight, EPS,
                                        bias=case.bias)
        equal(test, y, split(case.y, world, 0)[rank])
        if equal_residual:
            test.assertTrue(torch.equal(residual, split(case.sum, world, 0)[rank]))

    on_ranks(world, rank_runs)


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Norms(Strict):
    def test_any_number_of_rows(self):
        for m in (32, 2, 7):
            with self.subTest(m=m):
                norms_are_right(self, 2, m)

    def test_more_dimensions_are_written_in_their_place(self):
        case = NormCase(2, 6)

        def rank_runs(rank):
            residual = case.residual.clone().view(2, 3, 24)
            y = tp.gemm_all_reduce_norm(case.parts_a[rank].view(2, 3, 8), case.parts_w[rank], residual, case.weight,
                                        EPS, bias=case.bias)
            equal(self, y.view(6, 24), case.y)
            self.assertTrue(torch.equal(residual.view(6, 24), case.sum))

        on_ranks(2, rank_runs)

    def test_wrong_operands_are_named(self):
        case = NormCase(2, 6)

        def rank_runs(rank):
            a, w = case.parts_a[rank], case.parts_w[rank]
            for residual, weight, text in (
                    (case.residual[:3], case.weight, r"residual \(3, 24\), expected \[6, 24\]"),
                    (case.residual, case.weight[:8], r"norm_weight \(8,\), expected \[24\]"),
                    (case.residual.float(), case.weight, "residual is torch.float32"),
                    (case.residual.t().contiguous().t(), case.weight, "residual is not contiguous"),
            ):
                with self.assertRaisesRegex(ValueError, text):
                    tp.gemm_all_reduce_norm(a, w, residual, weight, EPS)
            with self.assertRaisesRegex(RuntimeError, "has no gradient"):
                tp.gemm_all_reduce_norm(a, w.clone().requires_grad_(), case.residual, case.weight, EPS)

        on_ranks(2, rank_runs)

    def test_compilers_take_them(self):
        def rank_runs(_):
            name = dist.group.WORLD.group_name
            a, w, residual, weight = (random_tensor(seed, *shape) for seed, shape in
                                      ((1, (8, 16)), (2, (24, 16)), (3, (8, 24)), (4, (24,))))
            for operation in (OPERATIONS.gemm_all_reduce_norm, OPERATIONS.gemm_reduce_scatter_norm):
                torch.library.opcheck(operation.default, (a, w, None, residual.clone(), weight, EPS, name))

            def block(a, w, residual, weight):
                return tp.gemm_all_reduce_norm(a, w, residual, weight, EPS, group=name) * 2

            results = []
            for function in (block, torch.compile(block, fullgraph=True, backend="aot_eager")):
                own = residual.clone()
                results.append((function(a, w, own, weight), own))
            for plain, compiled in zip(*results):
                self.assertTrue(torch.equal(plain, compiled))

        on_ranks(1, rank_runs)


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Scales(Strict):
    def check(self, rows_are_scaled):
        world, m, n, k = 2, 12, 32, 32
        a, w = (random_tensor(seed, *shape).to(torch.float8_e4m3fn) for seed, shape in ((1, (m, k)), (2, (n, k))))
        if rows_are_scaled:
            scale_a, scale_b = (torch.rand(size, generator=torch.Generator().manual_seed(size)) + 0.5
                                for size in (m, n))
        else:
            scale_a, scale_b = torch.tensor([0.5]), torch.tensor([0.25])
        y = a.float() @ w.float().t() * scale_a.reshape(-1, 1) * scale_b

        def rank_runs(rank):
            parts = split(a.float(), world, 1)[rank].to(a.dtype), split(w.float(), world, 1)[rank].to(a.dtype)
            scales = {"scale_a": scale_a, "scale_b": scale_b}
            out = tp.gemm_all_reduce(*parts, **scales)
            self.assertEqual(out.dtype, torch.bfloat16)
            equal(self, out, y)
            equal(self, tp.gemm_reduce_scatter(*parts, **scales), split(y, world, 0)[rank])
            rows = split(a.float(), world, 0)[rank].to(a.dtype)
            for own in (scale_a, split(scale_a, world, 0)[rank]) if rows_are_scaled else (scale_a,):
                equal(self, tp.all_gather_gemm(rows, w, scale_a=own, scale_b=scale_b), y)

        on_ranks(world, rank_runs)

    def test_of_tensors(self):
        self.check(False)

    def test_of_rows(self):
        self.check(True)

    def test_wrong_scales_are_named(self):
        def rank_runs(_):
            a, w = random_tensor(1, 8, 16), random_tensor(2, 24, 16)
            one = torch.ones(1)
            for scales, text in (
                    ({"scale_a": one}, "scale_a and scale_b are given together"),
                    ({"scale_a": one, "scale_b": torch.ones(3)}, r"scale_b \(3,\); expected one number each, or 8"),
                    ({"scale_a": one.double(), "scale_b": one}, "scale_a is torch.float64"),
            ):
                with self.assertRaisesRegex(ValueError, text):
                    tp.gemm_all_reduce(a, w, **scales)
            f8 = torch.float8_e4m3fn
            with self.assertRaisesRegex(ValueError, "give w .n, k. contiguous"):
                tp.gemm_all_reduce(a.to(f8), w.t().contiguous().to(f8).t(), scale_a=one, scale_b=one)

        on_ranks(2, rank_runs)


class RouteCase:
    """Rows of two ranks, each with its rank; what arrives, and where."""

    def __init__(self, counts, n=24, k=16, as_splits=False):
        self.world = len(counts)
        generator = torch.Generator().manual_seed(7)
        self.destinations = [torch.randint(0, self.world, (count,), generator=generator) for count in counts]
        if as_splits:
            self.destinations = [each.sort().values for each in self.destinations]
        self.a = [random_tensor(10 + rank, count, k) for rank, count in enumerate(counts)]
        self.w = [random_tensor(20 + rank, n, k) for rank in range(self.world)]
        self.landed = [torch.empty(count, dtype=torch.int64) for count in counts]
        self.sources = [[] for _ in counts]  # of each rank's rows: the rank and row that they come from
        for source, ranks in enumerate(self.destinations):
            for row, rank in enumerate(ranks.tolist()):
                self.landed[source][row] = len(self.sources[rank])
                self.sources[rank].append((source, row))

    def where(self, rank, as_splits):
        if not as_splits:
            return self.destinations[rank]
        return torch.bincount(self.destinations[rank], minlength=self.world).tolist()

    def rows_from(self, rank):
        return [sum(source == each for source, _ in self.sources[rank]) for each in range(self.world)]

    def arrived(self, matrices, rank):
        rows = [matrices[source][row] for source, row in self.sources[rank]]
        return torch.stack(rows) if rows else matrices[0].new_empty(0, matrices[0].shape[1])


def routes_are_right(test, counts, as_splits):
    case = RouteCase(counts, as_splits=as_splits)
    products = [a.float() @ w.float().t() for a, w in zip(case.a, case.w)]

    def rank_runs(rank):
        where = case.where(rank, as_splits)
        a, w = case.a[rank].clone().requires_grad_(), case.w[rank].clone().requires_grad_()
        y, landed = tp.gemm_all_to_all(a, w, where)
        equal(test, y, case.arrived(products, rank))
        test.assertTrue(torch.equal(landed, case.landed[rank]))
        dys = [random_tensor(30 + each, len(case.sources[each]), 24) for each in range(case.world)]
        y.backward(dys[rank])
        back = torch.stack([dys[to][at] for to, at in zip(case.destinations[rank].tolist(), case.landed[rank].tolist())]
                           ).float()
        equal(test, a.grad, back @ w.float())
        equal(test, w.grad, back.t() @ a.float())

        a, w = case.a[rank].clone().requires_grad_(), case.w[rank].clone().requires_grad_()
        y, rows_from = tp.all_to_all_gemm(a, w, where)
        arrived = case.arrived(case.a, rank).float()
        equal(test, y, arrived @ w.float().t())
        test.assertEqual(rows_from.tolist(), case.rows_from(rank))
        y.backward(dys[rank])
        equal(test, w.grad, dys[rank].float().t() @ arrived)
        gradients = [dys[each].float() @ case.w[each].float() for each in range(case.world)]
        equal(test, a.grad, torch.stack([gradients[to][at] for to, at in
                                         zip(case.destinations[rank].tolist(), case.landed[rank].tolist())]))

    on_ranks(case.world, rank_runs)


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Routes(Strict):
    def test_rows_go_where_they_are_sent(self):
        routes_are_right(self, (13, 40), False)

    def test_splits(self):
        routes_are_right(self, (13, 40), True)

    def test_wrong_routes_are_named(self):
        def rank_runs(_):
            a, w = random_tensor(1, 8, 16), random_tensor(2, 24, 16)
            for where, text in (
                    ([1, 2], r"splits \[1, 2\], expected 2 numbers whose sum is 8"),
                    (torch.zeros(3, dtype=torch.int64), r"destinations \(3,\)"),
                    (torch.full((8,), 2), "destination 2, and the group has ranks 0 to 1"),
            ):
                with self.assertRaisesRegex(ValueError, text):
                    tp.gemm_all_to_all(a, w, where)
            with self.assertRaisesRegex(ValueError, r"2000 rows on rank \d, and the bound is 1024; .*max_rows"):
                tp.all_to_all_gemm(random_tensor(1, 2000, 16), w, [1000, 1000])

        on_ranks(2, rank_runs)

    def test_compilers_take_them(self):
        def rank_runs(_):
            name = dist.group.WORLD.group_name
            a, w, to = random_tensor(1, 8, 16), random_tensor(2, 24, 16), torch.zeros(8, dtype=torch.int64)
            for operation in (OPERATIONS.gemm_all_to_all, OPERATIONS.all_to_all_gemm):
                torch.library.opcheck(operation.default, (a, w, None, [8], None, name))
                torch.library.opcheck(operation.default, (a, w, None, None, to, name))

        on_ranks(1, rank_runs)


@unittest.skipUnless(CATALOGUE, "no catalogue to run with")
class Groups(Strict):
    def test_layers_are_made_before_they_run(self):
        def rank_runs(rank):
            made = tp.init(max_rows=100, layers=[tp.Layer("gemm_all_reduce", 24, 16), tp.Layer(
                "all_gather_gemm", 24, 16, torch.float16)])
            self.assertEqual([(layer.pattern, rows) for layer, rows, _ in made.operations],
                             [("gemm_all_reduce", 100), ("all_gather_gemm", 100)])
            self.assertEqual(made.bytes, sum(size for *_, size in made.operations))
            self.assertIn("gemm_all_reduce, n 24, k 16", str(made))
            tp.gemm_all_reduce(random_tensor(rank, 99, 16), random_tensor(9, 24, 16))
            self.assertEqual(len(tp.memory().operations), 2)
            tp.gemm_all_reduce(random_tensor(rank, 101, 16), random_tensor(9, 24, 16))
            self.assertEqual([rows for _, rows, _ in tp.memory().operations], [100, 1024, 100])
            with self.assertRaisesRegex(RuntimeError, "has operations already"):
                tp.init(max_rows=8)
            tp.release()
            self.assertEqual(tp.memory().operations, ())

        on_ranks(2, rank_runs)

    def test_wrong_arguments_are_named(self):
        def rank_runs(_):
            with self.assertRaisesRegex(ValueError, "max_rows is -1"):
                tp.init(max_rows=-1)
            with self.assertRaisesRegex(ValueError, "communicator is 'mine'"):
                tp.init(communicator="mine")
            with self.assertRaisesRegex(ValueError, "needs routing="):
                tp.init(layers=[tp.Layer("gemm_all_to_all", 24, 16)])

        on_ranks(1, rank_runs)

    def test_two_groups(self):
        def rank_runs(rank):
            other = dist.new_group([0, 1])
            a, w = random_tensor(rank, 8, 16), random_tensor(9, 24, 16)
            want = sum(random_tensor(each, 8, 16).float() @ w.float().t() for each in range(2))
            for _ in range(3):
                equal(self, tp.gemm_all_reduce(a, w), want)
                equal(self, tp.gemm_all_reduce(a, w, group=other), want)
            tp.release(other)

        on_ranks(2, rank_runs)


class Fallback(unittest.TestCase):
    """PyTorch's own operations, with the same results."""

    def setUp(self):
        os.environ["TILEPOST"] = "off"

    def tearDown(self):
        del os.environ["TILEPOST"]

    def test_norms(self):
        norms_are_right(self, 2, 8)

    def test_scales(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Scales("check").check(True)

    def test_routes(self):
        for as_splits in (False, True):
            routes_are_right(self, (13, 40), as_splits)


if __name__ == "__main__":
    unittest.main()
