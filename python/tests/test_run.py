"""Runs on the host target, compared with sums in Python."""
import ctypes
import gc
import os
import random
import struct
import threading
import unittest
import weakref

import tilepost

TILE = {"arch": "host", "schedule.tile": [64, 64]}


def bf16_memory(values):
    """Aligned memory with these numbers, which bf16 has exactly, and the memory's view."""
    words = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    memory = bytearray(2 * len(words) + 16)
    skipped = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % 16
    view = memoryview(memory)[skipped:skipped + 2 * len(words)]
    view[:] = struct.pack(f"<{len(words)}H", *words)
    return view


def address(view):
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


def numbers(view):
    return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in struct.unpack(f"<{len(view) // 2}H", view)]


def on_ranks(world, body):
    """Runs body(rank) on a thread for each rank, and raises what the first of them raised."""
    errors = []

    def guarded(rank):
        try:
            body(rank)
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@unittest.skipUnless("TILEPOST_TEST_CATALOGUE" in os.environ, "no catalogue to run with")
class Runs(unittest.TestCase):
    def setUp(self):
        self.catalogue = tilepost.Catalogue(os.environ["TILEPOST_TEST_CATALOGUE"])

    def plan(self, **fields):
        named = {path.replace("__", "."): value for path, value in fields.items()}
        return tilepost.Plan({**TILE, "gemm.a": "bf16", **named}).load(self.catalogue)

    def test_all_reduce(self):
        world, m, n, k = 2, 9, 33, 12
        plan = self.plan(pattern="gemm_all_reduce", ranks=world, gemm__m={"max": 16}, gemm__n=n, gemm__k=k)
        random_ = random.Random(1)
        a = [[random_.randint(-2, 2) for _ in range(m * k)] for _ in range(world)]
        b = [[random_.randint(-2, 2) for _ in range(n * k)] for _ in range(world)]
        expected = [sum(a[rank][row * k + i] * b[rank][column * k + i] for rank in range(world) for i in range(k))
                    for row in range(m) for column in range(n)]
        comms = tilepost.Comm.host(world)
        outs = [bf16_memory([0] * (m * n)) for _ in range(world)]

        def rank_runs(rank):
            op = tilepost.Op(comms[rank], plan)
            self.assertEqual(op.warnings, [])
            op.run(bf16_memory(a[rank]), bf16_memory(b[rank]), outs[rank], m=m)
            op.synchronize()
            self.assertTrue(op.done())
            op.close()
            comms[rank].close()

        on_ranks(world, rank_runs)
        for out in outs:
            self.assertEqual(numbers(out), expected)
        outs[0][0:2] = b"\x00\x7f"
        self.assertNotEqual(numbers(outs[0]), expected)

    def test_all_gather(self):
        world, m, n, k = 2, 6, 5, 8
        plan = self.plan(pattern="all_gather_gemm", ranks=world, gemm__m={"max": 6}, gemm__n=n, gemm__k=k)
        a = [bf16_memory([rank + 1] * (m // world * k)) for rank in range(world)]
        b = bf16_memory([1] * (n * k))
        comms = tilepost.Comm.host(world)

        def rank_runs(rank):
            out, gathered = bf16_memory([0] * (m * n)), bf16_memory([0] * (m * k))
            op = tilepost.Op(comms[rank], plan)
            op.run(a[rank], b, out, m=m, gathered=gathered)
            op.synchronize()
            self.assertEqual(numbers(out), [k * (row // (m // world) + 1) for row in range(m) for _ in range(n)])
            self.assertEqual(numbers(gathered), [row // (m // world) + 1 for row in range(m) for _ in range(k)])

        on_ranks(world, rank_runs)

    def test_tokens_of_experts(self):
        world, experts, top, tokens, n, k = 2, 8, 2, 3, 5, 2
        plan = self.plan(pattern="dispatch_grouped_gemm", ranks=world, gemm__m={"max": 64}, gemm__n=n, gemm__k=k,
                         gemm__experts=experts, gemm__top=top, gemm__epilogue="[bilinear]")
        random_ = random.Random(2)
        ids = [[random_.randrange(-1, experts) for _ in range(tokens * top)] for _ in range(world)]
        comms = tilepost.Comm.host(world)

        def value(rank, token):
            return 2 ** (rank * tokens + token)

        def rank_runs(rank):
            a = bf16_memory([value(rank, token) for token in range(tokens) for _ in range(k)])
            local = range(rank * experts // world, (rank + 1) * experts // world)
            b = bf16_memory([x for expert in local for x in [1] * (n * k) + [expert + 1] * (n * k)])
            expected = [k * k * value(source, route // top) ** 2 * (expert + 1)
                        for expert in local for source in (rank, 1 - rank)
                        for route, id_ in enumerate(ids[source]) if id_ == expert for _ in range(n)]
            out = bf16_memory([0] * (world * tokens * top * n))
            routing = tilepost.Routing(comms[rank], experts, top, tokens, wide_ids=True)
            op = tilepost.Op(comms[rank], plan, routing=routing)
            routing.set((ctypes.c_int64 * (tokens * top))(*ids[rank]), (ctypes.c_float * (tokens * top))(), tokens)
            op.run(a, b, out, m=world * tokens)
            op.synchronize()
            routing.synchronize()
            self.assertEqual(numbers(out)[:len(expected)], expected)
            rows = ctypes.cast(routing.tables().rank_rows, ctypes.POINTER(ctypes.c_int32))
            self.assertEqual(rows[rank] * n, len(expected))
            op.close()
            routing.close()
            comms[rank].close()

        on_ranks(world, rank_runs)

    def test_layer_of_experts(self):
        world, experts, top, tokens, n, k = 2, 8, 2, 3, 4, 2
        plan = self.plan(pattern="moe", ranks=world, gemm__m={"max": 64}, gemm__n=n, gemm__k=k, gemm__experts=experts,
                         gemm__top=top, gemm__epilogue="[bilinear]")
        random_ = random.Random(4)
        ids = [[random_.randrange(-1, experts) for _ in range(tokens * top)] for _ in range(world)]
        comms = tilepost.Comm.host(world)

        def rank_runs(rank):
            a = bf16_memory([1 + token % 2 for token in range(tokens) for _ in range(k)])
            local = range(rank * experts // world, (rank + 1) * experts // world)
            b = bf16_memory([x for expert in local for x in [1] * (n * k) + [expert + 1] * (n * k)])
            down = bf16_memory([1] * (len(local) * k * n))
            made = [sum(id_ + 1 for id_ in ids[rank][token * top:(token + 1) * top] if id_ >= 0)
                    for token in range(tokens)]
            expected = [n * (k * (1 + token % 2)) ** 2 * made[token] for token in range(tokens) for _ in range(k)]
            routing = tilepost.Routing(comms[rank], experts, top, tokens)
            op = tilepost.Op(comms[rank], plan, routing=routing)
            chosen = (ctypes.c_int32 * (tokens * top))(*ids[rank])
            weights = (ctypes.c_float * (tokens * top))(*[1.0] * (tokens * top))
            for routed_before in (False, True):
                out = bf16_memory([0] * (tokens * k))
                if routed_before:
                    routing.set(chosen, weights, tokens)
                    layer = tilepost.LayerOperands(down)
                else:
                    layer = tilepost.LayerOperands(down, ids=chosen, weights=weights, tokens=tokens)
                op.run(a, b, out, m=world * tokens, layer=layer)
                op.synchronize()
                self.assertEqual(numbers(out), expected)
            with self.assertRaisesRegex(tilepost.InvalidArgument, "layer is null"):
                op.run(a, b, out, m=world * tokens)
            op.close()
            routing.close()
            comms[rank].close()

        on_ranks(world, rank_runs)

    def test_a_cycle_of_garbage(self):
        # Python finalises its objects in any order, the plan before the operation too.
        for _ in range(10):
            plan = self.plan(pattern="all_gather_gemm", ranks=1, gemm__m={"max": 16}, gemm__n=8, gemm__k=8)
            [comm] = tilepost.Comm.host(1)
            op = tilepost.Op(comm, plan)
            cycle = [plan, op]
            cycle.append(cycle)
            program = weakref.ref(plan)
            del plan, op, cycle
            gc.collect()
            self.assertIsNone(program())
            comm.close()

    def test_a_plan_outlives_its_operation(self):
        plan = self.plan(pattern="all_gather_gemm", ranks=1, gemm__m={"max": 16}, gemm__n=8, gemm__k=8)
        [comm] = tilepost.Comm.host(1)
        for _ in range(2):
            op = tilepost.Op(comm, plan)
            op.close()
            del op
            self.assertIn("all_gather_gemm", plan.explain())
        comm.close()

    def test_prepared_runs(self):
        m, n, k = 3, 8, 8
        plan = self.plan(pattern="all_gather_gemm", ranks=1, gemm__m={"max": 16}, gemm__n=n, gemm__k=k)
        [comm] = tilepost.Comm.host(1)
        op = tilepost.Op(comm, plan)
        b = bf16_memory([1] * (n * k))
        prepared = op.prepared(m)
        for value in (1, 2):
            a, out, gathered = bf16_memory([value] * (m * k)), bf16_memory([0] * (m * n)), bf16_memory([0] * (m * k))
            prepared(address(a), address(b), address(out), 0, gathered=address(gathered))
            op.synchronize()
            self.assertEqual(numbers(out), [k * value] * (m * n))
            self.assertEqual(numbers(gathered), [value] * (m * k))
        with self.assertRaisesRegex(tilepost.InvalidArgument, "out is null"):
            prepared(address(a), address(b), 0, 0)
        with self.assertRaisesRegex(tilepost.InvalidArgument, "17"):
            op.prepared(17)(address(a), address(b), address(out), 0)
        op.close()
        with self.assertRaisesRegex(tilepost.InvalidArgument, "op is null"):
            prepared(address(a), address(b), address(out), 0)

    def test_wrong_runs_are_errors(self):
        plan = self.plan(pattern="gemm_all_reduce", ranks=1, gemm__m={"max": 16}, gemm__n=8, gemm__k=8)
        [comm] = tilepost.Comm.host(1)
        op = tilepost.Op(comm, plan)
        memory = bf16_memory([0] * 256)
        with self.assertRaisesRegex(tilepost.InvalidArgument, "17"):
            op.run(memory, memory, bf16_memory([0] * 256), m=17)
        with self.assertRaises(tilepost.InvalidArgument):
            comm.close()
        op.close()
        with self.assertRaises(tilepost.InvalidArgument):
            op.synchronize()
        comm.close()

    def test_a_plan_without_kernels_makes_no_operation(self):
        plan = tilepost.Plan({**TILE, "pattern": "gemm_all_reduce", "ranks": 1, "gemm.m": 8, "gemm.n": 8, "gemm.k": 8,
                              "gemm.a": "bf16"})
        [comm] = tilepost.Comm.host(1)
        with self.assertRaisesRegex(tilepost.Error, "host kernel"):
            tilepost.Op(comm, plan)

    def test_another_number_of_ranks(self):
        plan = self.plan(pattern="gemm_all_reduce", ranks=2, gemm__m=8, gemm__n=8, gemm__k=8)
        [comm] = tilepost.Comm.host(1)
        with self.assertRaisesRegex(tilepost.Error, "2"):
            tilepost.Op(comm, plan)


@unittest.skipUnless(hasattr(tilepost._c.lib, "tilepost_comm_init_with"), "this library has no CUDA")
class Bootstraps(unittest.TestCase):
    def test_what_a_bootstrap_raises_is_raised(self):
        def all_gather(_):
            raise KeyError("the store is gone")

        with self.assertRaisesRegex(KeyError, "the store is gone"):
            tilepost.Comm.init_with(all_gather, 0, 2)

    def test_bytes_that_are_missing(self):
        with self.assertRaisesRegex(ValueError, "expected [0-9]+ from each of 2 ranks"):
            tilepost.Comm.init_with(lambda own: [own], 0, 2)

    def test_bytes_of_another(self):
        with self.assertRaisesRegex(tilepost.InvalidArgument, "did not come back"):
            tilepost.Comm.init_with(lambda own: [bytes(len(own)), own], 0, 2)

    def test_one_rank(self):
        seen = []

        def all_gather(own):
            seen.append(own)
            return [own]

        try:
            tilepost.Comm.init_with(all_gather, 0, 1).close()
        except tilepost.CudaError as error:
            self.assertIn("cudaGetDevice", str(error))  # there is no GPU
        self.assertGreater(len(seen), 0)


class WithoutCuda(unittest.TestCase):
    def test_it_says_so(self):
        if hasattr(tilepost._c.lib, "tilepost_comm_init"):
            self.skipTest("this library has CUDA")
        with self.assertRaisesRegex(tilepost.Unsupported, "built without CUDA"):
            tilepost.Comm.unique_id()


if __name__ == "__main__":
    unittest.main()
