"""The benchmarks and the example of tilepost.torch: on tiny shapes, where their times mean nothing, and without a GPU,
where they measure nothing and say so."""
import contextlib
import gc
import inspect
import io
import os
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import weakref
from pathlib import Path

try:
    import torch
    import transformers  # noqa: F401  # model.py and the example need it
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not here") from error

ROOT = Path(__file__).parent.parent.parent
BENCH = ROOT / "python" / "bench"
sys.path.insert(0, str(BENCH))  # as the programs have it
import blocks  # noqa: E402
import blocks_forms  # noqa: E402
import grouped_forms  # noqa: E402
import moe_forms  # noqa: E402
import reports  # noqa: E402
import tilepost  # noqa: E402
import timing  # noqa: E402


def run_program(path, *arguments):
    """The exit status of a program that runs in this process, which has read PyTorch already, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), unittest.mock.patch.dict(os.environ), \
            unittest.mock.patch.object(sys, "argv", [str(path), *arguments]), \
            unittest.mock.patch("torch.cuda.is_available", return_value=False):
        try:
            runpy.run_path(str(path), run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code or 0
    return status, out.getvalue()


class Programs(unittest.TestCase):
    def expect(self, text, path, *arguments):
        """That a program succeeds on the host target and prints the text."""
        status, out = run_program(path, *arguments, "--host", "--catalogue", os.environ["TILEPOST_TEST_CATALOGUE"])
        self.assertEqual(status, 0, out)
        self.assertIn(text, out)

    def test_layers(self):
        self.expect("| tiny | 128 | eager |", BENCH / "layer.py")

    def test_layers_that_are_trained(self):
        self.expect("| tiny | 128 | train |", BENCH / "layer.py", "--train")

    def test_experts(self):
        self.expect("| tiny | up | 24 | random | eager |", BENCH / "experts.py")
        self.expect("| tiny | down | 3 | one_rank | eager |", BENCH / "experts.py", "--load", "one_rank",
                    "--routed-before")

    def test_whole_layers_of_experts(self):
        self.expect("| tiny | 8, 2, 64, 32 | 3 | one_expert | eager |", BENCH / "moe.py", "--load", "one_expert")
        self.expect("| tiny | 8, 2, 64, 32 | 24 | one_rank | graph |", BENCH / "moe.py", "--load", "one_rank", "--mode",
                    "graph")

    def test_layers_that_no_graph_captures(self):
        def captured(call, _device):
            if not isinstance(inspect.getclosurevars(call).nonlocals["calls"][0], moe_forms.Ours):
                raise RuntimeError("a sync")
            return call

        with unittest.mock.patch.object(timing, "captured", captured):
            self.expect("# no AllGather in mode graph: it is not captured: RuntimeError: a sync", BENCH / "moe.py",
                        "--mode", "graph")

    def test_layers_with_wrong_sums(self):
        with unittest.mock.patch.object(moe_forms, "_exchanged", lambda rows, sent, received: rows.new_zeros(
                sum(received), *rows.shape[1:])):
            status, out = run_program(BENCH / "moe.py", "--host", "--catalogue", os.environ["TILEPOST_TEST_CATALOGUE"])
        self.assertIn("all_to_all_single differs from sums in fp32", f"{status} {out}")

    def test_grouped_gemms(self):
        self.expect("| tiny | up swiglu | bf16 | 4 | 64, 64 | 25 |", BENCH / "grouped.py")
        self.expect("| tiny | down | e4m3 | 4 | 64, 32 | 25 |", BENCH / "grouped.py", "--type", "e4m3")

    def test_scales_of_blocks(self):
        for text in ("| tiny | 37 x 192 x 208 | graph |", "# no DeepGEMM in mode graph: it needs a GPU",
                     "# no cuBLASLt in mode eager: it needs a GPU", "| tiny | fewer | eager | 1 |"):
            self.expect(text, BENCH / "blocks.py")

    def test_kernels_without_a_gpu(self):
        status, out = run_program(BENCH / "blocks.py", "--host", "--mode", "kernels")
        self.assertEqual(status, 2, out)
        self.assertIn("kernels are of a GPU; leave --host out", out)

    def test_scales_of_blocks_of_other_rows(self):
        run = tilepost.Op.run

        def run_with_others(op, *operands, scale_a, **named):
            run(op, *operands, scale_a=scale_a.flip(0), **named)

        with unittest.mock.patch.object(tilepost.Op, "run", run_with_others):
            status, out = run_program(BENCH / "blocks.py", "--host", "--catalogue",
                                      os.environ["TILEPOST_TEST_CATALOGUE"])
        self.assertIn("tilepost in mode graph differs from sums in fp32", f"{status} {out}")

    def test_specs(self):
        for program, wanted in (("blocks.py", 2), ("grouped.py", 3), ("experts.py", 4), ("moe.py", 2)):
            with tempfile.TemporaryDirectory() as folder:
                status, out = run_program(BENCH / program, "--host", "--specs", folder)
                self.assertEqual(status, 0, out)
                self.assertIn(f"{wanted} specs", out)
                texts = [path.read_text(encoding="utf-8") for path in Path(folder).iterdir()]
                self.assertEqual(len(set(texts)), wanted)
                self.assertTrue(all("arch: host" in text for text in texts), texts)

    def test_model(self):
        self.expect("| decoding 2 sequences |", BENCH / "model.py")

    def test_example(self):
        self.expect("a step of training: loss", ROOT / "examples" / "07_pytorch" / "llama.py")

    def test_without_a_gpu(self):
        for program in ("layer.py", "model.py"):
            status, out = run_program(BENCH / program)
            self.assertEqual(status, 1, out)
            self.assertIn("no GPU here, so nothing is measured", out)


    def test_other_code_of_async_tp(self):
        own = Path(torch.__file__).parent / "distributed" / "_symmetric_memory" / "__init__.py"
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder) / "other.py"
            other.write_text(own.read_text(encoding="utf-8") + "print('other code')", encoding="utf-8")
            # PyTorch's own is imported here already.
            done = subprocess.run([sys.executable, BENCH / "other_async_tp.py", other, BENCH / "layer.py"], text=True,
                                  env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("other code\nno GPU here", done.stdout)


class GroupedGemms(unittest.TestCase):
    """The sampled rows by which results of grouped GEMMs are checked."""

    def setUp(self):
        self.product = grouped_forms.Product("tiny", "up", "bf16", 3, 20, 16, 8, True)
        self.operands = grouped_forms.Operands(self.product, [9, 0, 11], torch.device("cpu"))
        self.checker = grouped_forms.Checker(self.product, self.operands)

    def errors(self, form, result):
        """For each sampled row whether it is wrong."""
        wanted = self.checker.wanted(form.one_b)
        return ((self.checker.sampled(form, result).float() - wanted).abs() > 0.05).any(1)

    def test_right_results(self):
        for make in (grouped_forms.torch_grouped, grouped_forms.one_gemm):
            form = make(self.product, self.operands)
            self.assertFalse(self.errors(form, form.call()).any(), make)

    def test_rows_of_the_wrong_expert(self):
        self.operands.ends[0] = 8  # the last row of expert 0 is multiplied by another B
        form = grouped_forms.torch_grouped(self.product, self.operands)
        wrong = self.checker.rows[self.errors(form, form.call())]
        self.assertEqual(set(wrong.tolist()), {8})

    def test_places_of_rows(self):
        form = grouped_forms.torch_grouped(self.product, self.operands)
        places = torch.arange(self.product.rows) + 5 * (torch.arange(self.product.rows) >= 9)
        padded = torch.zeros(25, self.product.columns // 2)
        padded[places] = form.call().float()
        self.assertFalse(self.errors(form._replace(places=places), padded).any())
        self.assertTrue(self.errors(form, padded[:self.product.rows]).any())


class ScalesOfBlocks(unittest.TestCase):
    """The sampled rows by which results with scales of blocks are checked, and the orders of scales."""

    def setUp(self):
        patch = unittest.mock.patch.object(timing.dist, "all_reduce")  # there is one rank
        patch.start()
        self.addCleanup(patch.stop)
        self.operands = blocks_forms.Operands(blocks_forms.Shape("tiny", 30, 136, 1040), torch.device("cpu"), 0)
        self.checker = blocks_forms.Checker(self.operands)

    def product(self, blocks=True):
        """All rows, from scales that are looked up one by one."""
        operands = self.operands
        if not blocks:
            return (operands.a.double() * operands.one_a) @ (operands.b.double() * operands.one_b).T
        rows, columns, k = (torch.arange(size) for size in (30, 136, 1040))
        a = operands.a.double() * operands.scale_a[rows.unsqueeze(1), k // 128]
        return a @ (operands.b.double() * operands.scale_b[columns.unsqueeze(1) // 128, k // 128]).T

    def test_right_results(self):
        for blocks in (True, False):
            self.assertLess(self.checker.error(self.product(blocks).bfloat16(), blocks), 5e-3)

    def test_a_wrong_scale(self):
        for scale in (self.operands.scale_a[29:, 8:], self.operands.scale_b[1:, :1]):  # of the last, smaller, blocks
            right = scale.clone()
            scale *= 4
            wrong = self.product().bfloat16()
            scale.copy_(right)
            self.assertGreater(self.checker.error(wrong, True), 1e-2)

    def test_rows_that_are_not_sampled(self):
        self.checker.rows = torch.tensor([0, 29])
        result = self.product().bfloat16()
        result[5, 135] = float("nan")
        self.assertEqual(self.checker.error(result, True), float("inf"))

    def test_the_better_library(self):
        shape = self.operands.shape
        results = [blocks.Result(shape, "graph", times, {}) for times in (
            {"tilepost": 10.0, "one scale": 9.0, "DeepGEMM": 40.0, "cuBLASLt": 20.0},
            {"tilepost": 10.0, "one scale": 10.0, "DeepGEMM": 5.0})]
        self.assertEqual([each.ratios()["better"] for each in results], [2.0, 0.5])
        line = "| tiny | fewer | graph | 2 | 1.414 (0.500) | 2.000 (2.000) | 1.000 (0.500) | 0.949 (0.900) |"
        self.assertEqual(blocks.summary(results).splitlines()[2], line)
        self.assertEqual(reports.mean_and_least([]), "")

    def test_scales_in_columns(self):
        scales = self.operands.scale_a
        columns = blocks_forms.in_columns(scales, blocks_forms.padded(30))
        self.assertEqual((columns.shape, columns.stride()), ((32, 9), (1, 32)))
        self.assertTrue(torch.equal(columns[:30], scales))
        self.assertFalse(columns[30:].any())


class Graphs(unittest.TestCase):
    """On a stand-in of torch.cuda: a graph of CUDA's knows addresses alone, and so does this one."""

    def setUp(self):
        patch = unittest.mock.patch.object(timing.torch, "cuda")
        self.cuda = patch.start()
        self.addCleanup(patch.stop)

    def test_a_graph_keeps_what_its_call_reads(self):
        kept, made = [], []
        for _ in range(2):  # as a loop over forms does, whose names are the next form's soon
            read, weight = torch.ones(4), torch.ones(4)
            kept += [weakref.ref(read), weakref.ref(weight)]

            def call(read=read, weight=weight):
                return read + weight

            made.append(timing.captured(call, torch.device("cuda")))
        del read, weight, call
        gc.collect()
        self.assertTrue(all(each() is not None for each in kept), "a tensor was freed that a graph reads")
        made.clear()
        gc.collect()
        self.assertTrue(all(each() is None for each in kept), "a tensor is kept that no graph reads")

    def test_the_time_of_kernels(self):
        cuda, cpu = torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.CPU
        seen = [("gemm", cuda, 9.0), ("gemm", cuda, 2.0), ("gemm", cuda, 3.0), ("memset", cuda, 1.0), ("run", cpu, 5.0)]
        with unittest.mock.patch.object(timing, "profile") as profiler:
            profiler.return_value.__enter__.return_value.events.return_value = [
                types.SimpleNamespace(name=name, device_type=device, device_time=us) for name, device, us in seen]
            self.assertEqual(timing.kernel_time(lambda: None), 4.0)

    def test_no_garbage_is_collected_in_a_capture(self):
        enabled = []
        timing.captured(lambda: enabled.append(gc.isenabled()), torch.device("cuda"))
        self.assertEqual(enabled, [True, True, True, False])
        self.assertTrue(gc.isenabled())

    def test_calls_in_turn(self):
        called = []
        calls = [lambda name=name: called.append(name) or name for name in "abc"]
        self.assertEqual(timing.in_turn(calls, 5)(), "b")
        self.assertEqual("".join(called), "abcab")

    def test_a_replay_gives_the_captured_result(self):
        results = [torch.zeros(1) for _ in range(4)]
        replay = timing.captured(iter(results).__next__, torch.device("cuda"))
        graph = self.cuda.CUDAGraph.return_value
        self.assertEqual(graph.replay.call_count, 0)
        self.assertIs(replay(), results[3])  # behind three eager runs
        self.assertIs(replay(), results[3])
        self.assertEqual(graph.replay.call_count, 2)


if __name__ == "__main__":
    unittest.main()
