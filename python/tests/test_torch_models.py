"""Models of transformers, divided among ranks that are threads, compared with the same models as they are."""
import copy
import os
import socket
import sys
import threading
import unittest
import warnings
from pathlib import Path

try:
    import torch
    import transformers
except ImportError as error:
    raise unittest.SkipTest(f"{error.name} is not here") from error
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
import tilepost
import tilepost.torch as tp
import transformers_tp
from tilepost.torch.models.merged import MergedPart
from test_torch import CATALOGUE, on_ranks, split

WORLD = 2
_LOCK = threading.Lock()  # ranks are threads, and random numbers the process's


def setUpModule():
    torch.set_num_threads(1)
    if CATALOGUE:
        tp.use_catalogue(tilepost.Catalogue(CATALOGUE))
    warnings.filterwarnings("ignore", message="tilepost.torch.*float32 is not among the types")


def llama(dtype=torch.float32, kind="Llama", **changes):
    """A random model of two layers."""
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 56, "max_position_embeddings": 128,
             "tie_word_embeddings": False, **changes}
    with _LOCK, torch.no_grad():
        torch.manual_seed(7)
        model = getattr(transformers, f"{kind}ForCausalLM")(getattr(transformers, f"{kind}Config")(**sizes))
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.uniform_(0.5, 1.5)
            elif parameter.dim() == 1:
                parameter.uniform_(-0.5, 0.5)
    return model.to(dtype).eval()


def tokens(seed, batch, length):
    return torch.randint(0, 56, (batch, length), generator=torch.Generator().manual_seed(seed))


def whole_gradients(model, ids):
    """Logits, and the gradient of every parameter by its name."""
    out = model(input_ids=ids, labels=ids, use_cache=False)
    out.loss.backward()
    return out.logits.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


def own_gradients(model, rank):
    """This rank's gradients by the names that parameters had, and how each lies in the whole one: a dimension, None."""
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, MergedPart):
            sizes, begins = module.merged.sizes, module.begins
            for own in ("weight", "bias"):
                merged = getattr(module.merged, own)
                if merged is not None:
                    found[f"{name}.{own}"] = merged.grad[begins:begins + sizes[module.index]], 0
        elif isinstance(module, tp.RowParallelLinear):
            found[f"{name}.weight"] = module.weight.grad, 1
            if module.bias is not None:
                found[f"{name}.bias"] = module.bias.grad, None
        elif isinstance(module, tp.ColumnParallelLinear):
            if not name.endswith("merged"):
                found[f"{name}.weight"] = module.weight.grad, 0
        else:
            found.update({f"{name}.{own}": (parameter.grad, None)
                          for own, parameter in module._parameters.items() if parameter is not None})
    return found


def error_of(have, want):
    """The relative error of a tensor."""
    have, want = have.detach().float(), want.detach().float()
    return ((have - want).norm() / want.norm().clamp(min=1e-12)).item()


class Llama(unittest.TestCase):
    def compare(self, ids, sequence_parallel=True, kind="Llama", dtype=torch.float32, limit=2e-4, world=WORLD,
                trains=True, use=lambda model: model, **changes):
        """Logits and gradients of the model on ranks, and of the whole one in fp32."""
        plain = llama(kind=kind, **changes)
        if dtype != torch.float32:  # what the ranks' weights are
            plain.load_state_dict({name: value.to(dtype).float() for name, value in plain.state_dict().items()})
        logits, gradients = whole_gradients(plain, ids)

        def rank_runs(rank):
            model = llama(dtype, kind, **changes)
            mesh = init_device_mesh("cpu", (world,))
            self.assertIs(tp.parallelize(model, mesh, sequence_parallel=sequence_parallel, least_rows=8), model)
            model = use(model)
            with torch.set_grad_enabled(trains):
                out = model(input_ids=ids, labels=ids, use_cache=False)
            self.assertLess(error_of(out.logits, logits), limit)
            if not trains:
                return
            out.loss.backward()
            own = own_gradients(model, rank)
            self.assertEqual(set(own), set(gradients))
            for name, (have, dim) in own.items():
                want = gradients[name] if dim is None else split(gradients[name], world, dim)[rank]
                self.assertLess(error_of(have, want), limit, name)

        on_ranks(world, rank_runs)

    def test_with_sequence_parallelism(self):
        self.compare(tokens(1, 2, 9))

    def test_rows_that_the_ranks_do_not_divide(self):
        self.compare(tokens(1, 3, 3))
        self.compare(tokens(1, 1, 1))

    def test_without(self):
        self.compare(tokens(1, 2, 9), sequence_parallel=False)

    def test_four_ranks(self):
        self.compare(tokens(1, 2, 9), world=4, num_key_value_heads=4)

    def test_without_gradients_few_rows_are_not_divided(self):
        for rows in (3, 20):
            self.compare(tokens(1, 1, rows), trains=False)

    def test_other_models_of_this_form(self):
        self.compare(tokens(1, 2, 5), kind="Qwen2")  # biases of q, k and v
        self.compare(tokens(1, 2, 5), kind="Qwen3")  # norms of heads
        self.compare(tokens(1, 2, 5), kind="Mistral")
        self.compare(tokens(1, 2, 5), attention_bias=True, mlp_bias=True)

    def test_tied_embeddings(self):
        plain = llama(tie_word_embeddings=True)
        ids = tokens(2, 1, 6)
        logits = plain(input_ids=ids).logits

        def rank_runs(_):
            model = tp.parallelize(llama(tie_word_embeddings=True), dist.group.WORLD, least_rows=1)
            self.assertIs(model.lm_head.weight, model.model.embed_tokens.weight)
            self.assertLess(error_of(model(input_ids=ids).logits, logits), 2e-4)

        on_ranks(WORLD, rank_runs)

    def test_gradient_checkpointing(self):
        def use(model):
            model.gradient_checkpointing_enable({"use_reentrant": False})
            return model.train()

        self.compare(tokens(1, 2, 9), use=use)

    def test_copies(self):
        self.compare(tokens(1, 2, 9), use=copy.deepcopy)

    @unittest.skipUnless(CATALOGUE, "no catalogue to run with")
    def test_in_bf16_by_the_kernels(self):
        os.environ["TILEPOST"] = "strict"
        self.addCleanup(os.environ.pop, "TILEPOST")
        for sequence_parallel in (True, False):
            self.compare(tokens(1, 2, 9), sequence_parallel, dtype=torch.bfloat16, limit=5e-2)

    def test_hidden_states_are_whole(self):
        plain, ids = llama(), tokens(1, 2, 9)
        want = plain(input_ids=ids, output_hidden_states=True).hidden_states

        def rank_runs(_):
            model = tp.parallelize(llama(), dist.group.WORLD)
            have = model(input_ids=ids, output_hidden_states=True).hidden_states
            for each, other in zip(have, want):
                self.assertLess(error_of(each, other), 2e-4)

        on_ranks(WORLD, rank_runs)

    def test_generates_the_same_tokens(self):
        plain, ids = llama(), tokens(3, 2, 11)
        options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
        want = plain.generate(ids, **options)

        def rank_runs(_):
            model = tp.parallelize(llama(), dist.group.WORLD, least_rows=8)
            self.assertTrue(torch.equal(model.generate(ids, **options), want))

        on_ranks(WORLD, rank_runs)

    def test_a_mutant_is_seen(self):
        def halve(model):
            model.model.layers[1].mlp.down_proj.weight.data *= 0.99
            return model

        with self.assertRaises(AssertionError):
            self.compare(tokens(1, 2, 9), use=halve)


class Weights(unittest.TestCase):
    def test_state_dicts_keep_their_names_and_are_views(self):
        plain = llama()

        def rank_runs(rank):
            model = tp.parallelize(llama(), dist.group.WORLD)
            state = model.state_dict()
            self.assertEqual(set(state), set(plain.state_dict()))
            want = split(plain.model.layers[0].self_attn.k_proj.weight, WORLD, 0)[rank]
            part = state["model.layers.0.self_attn.k_proj.weight"]
            self.assertTrue(torch.equal(part, want))
            merged = model.model.layers[0].self_attn.q_proj.merged.weight
            self.assertEqual(part.untyped_storage().data_ptr(), merged.untyped_storage().data_ptr())
            other = {name: value * 2 for name, value in state.items()}
            model.load_state_dict(other)
            self.assertTrue(torch.equal(merged[32:48], want * 2))
            del other["model.layers.0.self_attn.k_proj.weight"]
            with self.assertRaisesRegex(RuntimeError, "Missing key.*k_proj"):
                model.load_state_dict(other)
            with self.assertRaisesRegex(RuntimeError, r"k_proj.weight is \(32, 64\); this rank's part is \(16, 64\)"):
                model.load_state_dict(plain.state_dict())

        on_ranks(WORLD, rank_runs)

    def test_fp32_accumulation_of_weight_gradients(self):
        def rank_runs(_):
            model = tp.parallelize(llama(), dist.group.WORLD)
            weights = tp.accumulate_in_fp32(model)
            self.assertEqual(len(weights), 2 * 4 + 1)
            sums = [torch.zeros_like(each.main_grad) for each in weights]
            for seed in (1, 2):
                model(input_ids=tokens(seed, 2, 9), labels=tokens(seed, 2, 9), use_cache=False).loss.backward()
                other = tp.parallelize(llama(), dist.group.WORLD)
                other(input_ids=tokens(seed, 2, 9), labels=tokens(seed, 2, 9), use_cache=False).loss.backward()
                own = [layer.weight.grad for layer in other.modules()
                       if isinstance(layer, (tp.ColumnParallelLinear, tp.RowParallelLinear))]
                sums = [total + each for total, each in zip(sums, own)]
            for weight, total in zip(weights, sums):
                self.assertIsNone(weight.grad)
                torch.testing.assert_close(weight.main_grad, total)
            weights[0].main_grad = torch.zeros(3)
            with self.assertRaisesRegex(ValueError, r"main_grad is torch.float32 \(3,\)"):
                model(input_ids=tokens(1, 2, 9), labels=tokens(1, 2, 9), use_cache=False).loss.backward()

        on_ranks(WORLD, rank_runs)

    def test_merged_layers_by_hand(self):
        torch.manual_seed(1)
        q, k = nn.Linear(8, 12), nn.Linear(8, 4)
        a = torch.randn(6, 8)
        want = q(a), k(a)

        def rank_runs(rank):
            for sequence_parallel in (True, False):
                mesh = init_device_mesh("cpu", (WORLD,))
                merged = tp.ColumnParallelLinear.from_linear([q, k], mesh, sequence_parallel)
                own = split(a, WORLD, 0)[rank] if sequence_parallel else a
                for have, whole in zip(merged(own), want):
                    torch.testing.assert_close(have, split(whole, WORLD, 1)[rank])
            with self.assertRaisesRegex(ValueError, "layer 0, layer 1 cannot be merged"):
                tp.ColumnParallelLinear.from_linear([q, nn.Linear(8, 4, bias=False)])

        on_ranks(WORLD, rank_runs)


def run_process(rank, port, body, arguments):
    """One rank of a group of processes, in which body(rank, *arguments) runs."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(WORLD), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    body(rank, *arguments)
    dist.destroy_process_group()


def on_processes(body, *arguments):
    """Runs body(rank, *arguments) on ranks that are processes, as transformers' own tensor parallelism needs them:
    PyTorch's distributed tensors are not made for ranks that are threads. tilepost's operations take PyTorch's own
    there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.start_processes(run_process, (port, body, arguments), WORLD, start_method="fork")


def divided_by_transformers(plan):
    """The model as transformers divides it, which it does while it loads one."""
    model = llama()
    model.tp_plan = plan
    return transformers_tp.divide(model, init_device_mesh("cpu", (WORLD,)))


def check_styles(rank, ids, logits, gradients):
    model = divided_by_transformers(tp.hf_plan(llama().config))
    with torch.no_grad():
        assert error_of(model(input_ids=ids).logits, logits) < 2e-4
    out = model(input_ids=ids, labels=ids, use_cache=False)
    out.loss.backward()
    for name, dim in (("mlp.down_proj", 1), ("self_attn.q_proj", 0)):
        have = model.get_submodule(f"model.layers.0.{name}").weight.grad.to_local()
        want = split(gradients[f"model.layers.0.{name}.weight"], WORLD, dim)[rank]
        assert error_of(have, want) < 2e-4, name


def check_loaded_then_divided(_, ids, logits):
    model = tp.parallelize(divided_by_transformers(llama().tp_plan), dist.group.WORLD)
    assert isinstance(model.model.layers[0].self_attn.k_proj, MergedPart)
    assert error_of(model(input_ids=ids).logits, logits) < 2e-4


class HuggingFace(unittest.TestCase):
    def test_the_plan_has_all_layers(self):
        plan = tp.hf_plan(llama().config)
        self.assertEqual(plan["model.layers.*.self_attn.o_proj"], "tilepost_rowwise")
        self.assertEqual(plan["model.layers.*.mlp.up_proj"], "tilepost_colwise")
        self.assertEqual(plan["lm_head"], "colwise_gather_output")
        with self.assertRaisesRegex(ValueError, "no tensor-parallel plan for GPT2Config"):
            tp.hf_plan(transformers.GPT2Config())

    def test_loading_with_the_plan_and_dividing_what_is_loaded(self):
        ids = tokens(1, 2, 9)
        logits, gradients = whole_gradients(llama(), ids)
        on_processes(check_styles, ids, logits, gradients)
        on_processes(check_loaded_then_divided, ids, logits)


class Names(unittest.TestCase):
    """Plans that name the layers of any model."""

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            with _LOCK:
                torch.manual_seed(3)
                self.blocks = nn.ModuleList(nn.ModuleDict({"up": nn.Linear(8, 12), "down": nn.Linear(12, 8)})
                                            for _ in range(2))

        def forward(self, a):
            for block in self.blocks:
                a = a + block["down"](F.silu(block["up"](a)))
            return a

    def test_both_styles(self):
        a = torch.randn(6, 8)
        want = self.Mlp()(a)
        plan = {"blocks.*.up": "colwise", "blocks.*.down": "rowwise"}

        def rank_runs(rank):
            for sequence_parallel in (False, True):
                model = tp.parallelize(self.Mlp(), dist.group.WORLD, plan, sequence_parallel)
                own = (lambda rows: split(rows, WORLD, 0)[rank]) if sequence_parallel else lambda rows: rows
                torch.testing.assert_close(model(own(a)), own(want))

        on_ranks(WORLD, rank_runs)

    def test_errors_name_what_is_wrong_and_change_nothing(self):
        def rank_runs(_):
            group = dist.group.WORLD
            for model, plan, text in (
                    (self.Mlp(), "auto", "Mlp has no embed_tokens and no layers and no norm"),
                    (self.Mlp(), "fastest", "plan is 'fastest'"),
                    (self.Mlp(), {"blocks.*.up": "column"}, "'blocks.*.up' is given 'column'"),
                    (self.Mlp(), {"blocks.*.gate": "colwise"}, "no layer of Mlp is called 'blocks.*.gate'"),
                    (self.Mlp(), {"blocks": "colwise"}, "'blocks' is a ModuleList"),
                    (llama(num_key_value_heads=1), "auto", "not whole heads of 16"),
                    (llama(intermediate_size=99), "auto", "'layers.0.mlp.gate_proj' has 99 outputs"),
            ):
                before = [type(module) for module in model.modules()]
                with self.assertRaisesRegex(ValueError, text.replace("*", r"\*").replace("(", r"\(")):
                    tp.parallelize(model, group, plan)
                self.assertEqual([type(module) for module in model.modules()], before)
            mesh = init_device_mesh("cpu", (1, WORLD))
            with self.assertRaisesRegex(ValueError, "the mesh has 2 dimensions"):
                tp.parallelize(llama(), mesh)

        on_ranks(WORLD, rank_runs)


class Compiled(unittest.TestCase):
    def test_the_whole_model_is_one_graph(self):
        ids = tokens(1, 2, 9)
        logits, gradients = whole_gradients(llama(), ids)

        def rank_runs(rank):
            for sequence_parallel in (True, False):
                model = tp.parallelize(llama(), dist.group.WORLD, sequence_parallel=sequence_parallel)
                compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
                out = compiled(input_ids=ids, labels=ids, use_cache=False)
                self.assertLess(error_of(out.logits, logits), 2e-4)
                out.loss.backward()
                for name, (have, _) in own_gradients(model, rank).items():
                    self.assertLess(error_of(have, gradients[name]), 2e-4, name)
            tp.accumulate_in_fp32(model)
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "main_grad is added to in eager mode"):
                torch.compile(model, fullgraph=True, backend="aot_eager")(input_ids=ids, use_cache=False)

        on_ranks(1, rank_runs)  # on this thread, on which compilers like to be


class Versions(unittest.TestCase):
    def test_old_ones_are_refused_by_name(self):
        check = tp._versions.check
        check((3, 10, 2), "2.11.0+cu130", (2, 28, 9))
        check((4, 0), "3.0.1", None)
        for python, torch_version, nccl, text in (
                ((3, 9, 1), "2.11.0", None, "Python 3.9; the oldest supported is 3.10"),
                ((3, 12, 0), "2.9.1+cpu", None, "PyTorch 2.9; the oldest supported is 2.11"),
                ((3, 12, 0), "2.11.0", (2, 27, 5), "NCCL 2.27; the oldest supported is 2.28")):
            with self.assertRaisesRegex(ImportError, text):
                check(python, torch_version, nccl)


if __name__ == "__main__":
    unittest.main()
