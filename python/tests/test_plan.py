"""Plans: what they say, and what is refused."""
import gc
import os
import unittest

import tilepost

FIELDS = {"pattern": "gemm_all_reduce", "ranks": 2, "gemm.m": 8192, "gemm.n": 4096, "gemm.k": 2048, "gemm.a": "bf16",
          "arch": "sm_90a"}


class Plans(unittest.TestCase):
    def test_it_explains_itself(self):
        plan = tilepost.Plan(FIELDS)
        self.assertIn("program: gemm_all_reduce on sm_90a", plan.explain())
        self.assertIn("program: gemm_all_reduce on sm_90a", repr(plan))
        self.assertTrue(plan._repr_svg_().startswith("<"))
        self.assertIn("</svg>", plan.svg())
        self.assertEqual(len(plan.variants), 1)
        self.assertTrue(plan.variants[0].startswith("sm_90a gemm_sm90"))
        self.assertEqual(plan.warnings, [])

    def test_values_may_be_those_of_python(self):
        plan = tilepost.Plan({**FIELDS, "gemm.m": {"max": 8192}, "gemm.epilogue": ["bias"], "neighbours": False,
                              "arch": ["sm_80", "sm_90a"], "schedule.kernels": 2})
        self.assertEqual(plan.fields["gemm.m"], "{max: 8192}")
        self.assertIn("on sm_80", plan.explain())
        with self.assertRaisesRegex(TypeError, "given a object"):
            tilepost.Plan({**FIELDS, "gemm.m": object()})

    def test_everything_that_is_wrong_is_said(self):
        with self.assertRaises(tilepost.InvalidArgument) as caught:
            tilepost.Plan({**FIELDS, "gemm.k": 0, "ranks": "many"})
        self.assertEqual(caught.exception.result, "TILEPOST_INVALID_ARGUMENT")
        self.assertIsInstance(caught.exception, ValueError)
        for text in ("2 errors", "gemm.k=0: ", "ranks=many: "):
            self.assertIn(text, str(caught.exception))

    def test_machines(self):
        named = tilepost.Plan(FIELDS, machine="h200")
        self.assertEqual(named.explain(), tilepost.Plan(FIELDS).explain())
        with self.assertRaisesRegex(tilepost.InvalidArgument, "did you mean 'h200'"):
            tilepost.Plan(FIELDS, machine="h20")

    def test_plans_come_and_go(self):
        for _ in range(20):
            tilepost.Plan({**FIELDS, "gemm.n": 1024}).explain()
        gc.collect()


class Catalogues(unittest.TestCase):
    def test_a_folder_that_is_none(self):
        with self.assertRaisesRegex(tilepost.InvalidArgument, "cannot read '/nowhere/catalogue.json'"):
            tilepost.Catalogue("/nowhere")

    @unittest.skipUnless("TILEPOST_TEST_CATALOGUE" in os.environ, "no catalogue to test with")
    def test_a_kernel_that_is_missing_is_named(self):
        catalogue = tilepost.Catalogue(os.environ["TILEPOST_TEST_CATALOGUE"])
        plan = tilepost.Plan({**FIELDS, "arch": "host", "schedule.tile": [16, 16]})
        with self.assertRaises(tilepost.Unsupported) as caught:
            plan.load(catalogue)
        self.assertIn(plan.variants[0], str(caught.exception))


if __name__ == "__main__":
    unittest.main()
