"""Layers of models whose sums over ranks are added to the residual and normalised by the operation that sums."""
import contextlib
import copy
import os
import unittest
import unittest.mock

try:
    import torch
    import transformers
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not here") from error
import torch.distributed as dist
from torch import nn

import tilepost.torch as tp
from tilepost.torch import _norms
from tilepost.torch.models.fused_norms import can_fuse
from test_torch import CATALOGUE, on_ranks
from test_torch_models import WORLD, error_of, llama, setUpModule, tokens  # noqa: F401


class FusedNorms(unittest.TestCase):
    """Passes without gradients."""

    def calls(self, ids, use=lambda model: model, kind="Llama", dtype=torch.float32, limit=2e-4, trains=False, **asked):
        """How many sums of a pass were fused on each rank: AllReduces and ReduceScatters. Logits are compared with
        those of the whole model in fp32, of which the same is asked."""
        asked = asked or {"input_ids": ids}
        plain = llama(kind=kind)
        plain.load_state_dict({name: value.to(dtype).float() for name, value in plain.state_dict().items()})
        want = use(plain)(**asked).logits

        def rank_runs(_):
            model = use(tp.parallelize(llama(dtype, kind), dist.group.WORLD, least_rows=8))
            with torch.set_grad_enabled(trains):
                have = model(**asked).logits
            self.assertLess(error_of(have, want), limit)

        names = "gemm_all_reduce_norm", "gemm_reduce_scatter_norm"
        with contextlib.ExitStack() as stack:
            counted = [stack.enter_context(unittest.mock.patch.object(_norms, name, wraps=getattr(_norms, name)))
                       for name in names]
            on_ranks(WORLD, rank_runs)
        return [each.call_count // WORLD for each in counted]

    def test_all_sums_of_a_pass(self):
        for kind in ("Llama", "Mistral", "Qwen2", "Qwen3"):
            self.assertEqual(self.calls(tokens(1, 1, 3), kind=kind), [4, 0])
            self.assertEqual(self.calls(tokens(1, 2, 9), kind=kind), [0, 4])

    @unittest.skipUnless(CATALOGUE, "no catalogue to run with")
    def test_in_bf16_by_the_kernels(self):
        with unittest.mock.patch.dict(os.environ, TILEPOST="strict"):
            for length, calls in ((3, [4, 0]), (18, [0, 4])):
                self.assertEqual(self.calls(tokens(1, 1, length), dtype=torch.bfloat16, limit=5e-2), calls)

    def test_no_norm_is_computed_twice(self):
        norm = transformers.models.llama.modeling_llama.LlamaRMSNorm

        def rank_runs(_):
            with torch.no_grad():
                tp.parallelize(llama(), dist.group.WORLD)(input_ids=tokens(1, 1, 3))

        with unittest.mock.patch.object(norm, "forward", autospec=True, side_effect=norm.forward) as own:
            on_ranks(WORLD, rank_runs)
        self.assertEqual(own.call_count, WORLD)  # in front of the first layer, on each rank

    def test_none_where_something_else_is_asked(self):
        ids = tokens(1, 1, 3)
        self.assertEqual(self.calls(ids, trains=True), [0, 0])
        self.assertEqual(self.calls(ids, input_ids=ids, output_hidden_states=True), [0, 0])

        def watched(model):
            model.model.layers[0].mlp.register_forward_hook(lambda *_: None)
            return model

        self.assertEqual(self.calls(ids, use=watched), [2, 0])  # those of the other layer

    def test_none_where_something_else_adds_to_a_sum(self):
        class Adapted(nn.Module):
            """A linear layer with what an adapter adds."""

            def __init__(self, base):
                super().__init__()
                self.base = base

            def forward(self, a):
                y = self.base(a)
                return y + torch.ones_like(y)

        def adapted(model):
            layer = model.model.layers[1]
            layer.mlp.down_proj = Adapted(layer.mlp.down_proj)
            return model

        self.assertEqual(self.calls(tokens(1, 1, 3), use=adapted), [2, 0])

    def test_copies(self):
        self.assertEqual(self.calls(tokens(1, 1, 3), use=copy.deepcopy), [4, 0])

    def test_the_callers_rows_stay(self):
        ids = tokens(1, 1, 3)
        rows = llama().model.embed_tokens(ids).detach()
        kept = rows.clone()
        self.assertEqual(self.calls(ids, inputs_embeds=rows), [4, 0])
        self.assertTrue(torch.equal(rows, kept))

    def test_fewer_layers_than_the_model_has(self):
        def first(model):
            model.config.num_hidden_layers = 1
            return model

        self.assertEqual(self.calls(tokens(1, 1, 3), use=first), [2, 0])

    def test_other_layers_run_as_they_are(self):
        layer = llama().model.layers[0]
        self.assertTrue(can_fuse(layer))
        layer.forward = layer.forward  # of the instance
        self.assertFalse(can_fuse(layer))
        self.assertFalse(can_fuse(nn.Linear(2, 2)))


if __name__ == "__main__":
    unittest.main()
