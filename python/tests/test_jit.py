"""Kernels that no catalogue has: they are compiled once, or named."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import tilepost
from tilepost import _jit

TOOL = os.environ.get("TILEPOST_TEST_TOOL")
CATALOGUE = os.environ.get("TILEPOST_TEST_CATALOGUE")
# A tile of which the tests' catalogue has no kernel.
FIELDS = {"pattern": "gemm_all_reduce", "ranks": 2, "gemm.m": {"max": 32}, "gemm.n": 64, "gemm.k": 64,
          "gemm.a": "bf16", "gemm.epilogue": ["bias"], "arch": "host", "schedule.tile": [32, 32]}


class Specs(unittest.TestCase):
    def test_fields_become_a_spec(self):
        self.assertEqual(_jit.spec_text({"gemm.m": "{max: 8}", "ranks": "2", "gemm.epilogue": "[bias, gelu]"}),
                         "tilepost: 1\nname: program\ngemm: {m: {max: 8}, epilogue: [bias, gelu]}\nranks: 2\n")


@unittest.skipUnless(TOOL and CATALOGUE, "no program to test with")
class Misses(unittest.TestCase):
    def setUp(self):
        # A folder of this test's own on PATH, a Python beside which there is no other program, and an empty cache.
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin, self.cache = Path(scratch.name) / "bin", Path(scratch.name) / "cache"
        self.bin.mkdir()
        places = {"PATH": f"{self.bin}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.cache)}
        for patch in (mock.patch.dict(os.environ, places),
                      mock.patch.object(sys, "executable", str(Path(scratch.name) / "python3"))):
            patch.start()
            self.addCleanup(patch.stop)

    def install(self, script=None):
        """Puts the program, or a script in its place, on PATH."""
        path = self.bin / "tilepost"
        path.write_text(script or f'#!/bin/sh\necho "$1" >>{self.bin}/calls\nexec {TOOL} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    def calls(self):
        file = self.bin / "calls"
        return file.read_text(encoding="utf-8").split() if file.exists() else []

    def refusal(self, **options):
        plan = tilepost.Plan(FIELDS)
        with self.assertRaises(tilepost.Unsupported) as caught:
            plan.load(tilepost.Catalogue(CATALOGUE, **options))
        self.assertIn(plan.variants[0], str(caught.exception))
        return str(caught.exception)

    def test_a_kernel_is_compiled_once_and_runs(self):
        self.install()
        self.refusal()  # nothing is compiled unasked
        self.assertEqual(self.calls(), [])
        plan = tilepost.Plan(FIELDS).load(tilepost.Catalogue(CATALOGUE, compile_missing=True))
        self.assertEqual(self.calls().count("catalogue"), 1)
        # Another process finds it.
        program = f"import tilepost; tilepost.Plan({FIELDS!r}).load(tilepost.Catalogue({CATALOGUE!r}, " \
                  "compile_missing=True))"
        subprocess.run([shutil.which("python3") or "python3", "-c", program], check=True)
        self.assertEqual(self.calls().count("catalogue"), 1)
        comms = tilepost.Comm.host(2)
        ops = [tilepost.Op(comm, plan) for comm in comms]
        self.assertTrue(all(op.device_bytes > 0 for op in ops))
        for op in ops:
            op.close()

    def test_processes_compile_it_once(self):
        self.install()
        program = f"import tilepost; tilepost.Plan({FIELDS!r}).load(tilepost.Catalogue({CATALOGUE!r}, " \
                  "compile_missing=True))"
        python = shutil.which("python3") or "python3"
        ranks = [subprocess.Popen([python, "-c", program]) for _ in range(3)]
        self.assertEqual([rank.wait() for rank in ranks], [0, 0, 0])
        self.assertEqual(self.calls().count("catalogue"), 1)

    def test_without_the_program(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.bin)}):
            self.assertIn("pip install tilepost-cli", self.refusal(compile_missing=True))

    def test_a_program_that_fails_is_quoted(self):
        self.install("#!/bin/sh\n[ \"$1\" = --version ] && echo 0.1.0 && exit\necho no nvcc here >&2\nexit 1\n")
        self.assertIn("no nvcc here", self.refusal(compile_missing=True))

    def test_a_program_that_plans_otherwise(self):
        self.install("#!/bin/sh\necho 0.1.0\n")
        self.assertIn("plans other kernels", self.refusal(compile_missing=True))

    def test_a_package_without_a_catalogue(self):
        self.install()
        catalogue = tilepost.Catalogue(compile_missing=True)
        if catalogue.folder.exists():
            self.skipTest("this package has a catalogue")
        tilepost.Plan(FIELDS).load(catalogue)
        self.assertEqual(self.calls().count("catalogue"), 1)


if __name__ == "__main__":
    unittest.main()
