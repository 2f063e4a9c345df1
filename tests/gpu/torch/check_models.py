#!/usr/bin/env python3
"""Models and drop-ins of tilepost.torch on GPUs, compared with plain PyTorch: a process for each of two ranks.

    check_models.py KERNELS [PART …]    runs the parts (all): accumulation drop_in model graph compiled

KERNELS is a catalogue with bf16 kernels for two ranks: tn and nn, without a bias. With ONE_GPU=1 both ranks are on the
first GPU, for a library that was built with TILEPOST_TEST_ONE_GPU. Prints a line for each part, and PASS or FAIL at the
end; exits with 77 where there are too few GPUs.
"""
import os
import subprocess
import sys
import tempfile
import time

from one_gpu import environment_of

WORLD = 2
SIZES = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8,
         "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 512, "max_position_embeddings": 1024,
         "tie_word_embeddings": False}
LIMIT = 5e-2  # of bf16, relative to the model in fp32
SECONDS = 150


def error_of(have, want):
    """The relative error of a tensor."""
    have, want = have.detach().float(), want.detach().float()
    return ((have - want).norm() / want.norm().clamp(min=1e-12)).item()


def near(have, want, what, limit=LIMIT):
    error = error_of(have, want)
    assert have.shape == want.shape and error < limit, f"{what}: {tuple(have.shape)}, off by {error:.2e}"


def whole_model(dtype):
    """The same on every rank and in every call."""
    import torch
    import transformers
    torch.manual_seed(7)
    with torch.device("cuda"):
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).bfloat16().to(dtype).eval()


def ids_of(length):
    import torch
    return torch.arange(2 * length, device="cuda").mul(37).remainder(512).view(2, length)


def accumulation(_):
    """Gradients of weights that are added up in fp32, by the GEMM."""
    import torch
    from tilepost.torch._weight_gradient import weight_gradient
    w, dy, a = (torch.randn(size, device="cuda").bfloat16() for size in ((96, 64), (256, 96), (256, 64)))
    w.main_grad = torch.randn(96, 64, device="cuda")
    want = w.main_grad + dy.float().t() @ a.float()
    assert weight_gradient(w, dy, a) is None
    near(w.main_grad, want, "main_grad", 1e-5)


def drop_in(rank):
    """PyTorch's fused operations, served by tilepost's: beside its collective and matmul in sequence."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as own
    import tilepost.torch as tp
    tp.install()
    name, fused = dist.group.WORLD.group_name, torch.ops.symm_mem
    torch.manual_seed(rank)
    a = torch.randn(2, 64, 512, device="cuda").bfloat16()
    torch.manual_seed(5)
    bs = [torch.randn(n, 512, device="cuda").bfloat16().t() for n in (256, 512)]
    for dim in (0, 1):
        given = a, bs, dim, name
        have, want = fused.fused_all_gather_matmul(*given), own._fused_all_gather_matmul_fallback(*given)
        for each, other in zip([have[0], *have[1]], [want[0], *want[1]]):
            near(each, other, f"all-gather along {dim}", 1e-2)
            assert each.stride() == other.stride(), f"all-gather along {dim}: {each.stride()}, {other.stride()}"
        for operation in ("sum", "avg"):
            given = a, bs[1], operation, dim, name
            have, want = fused.fused_matmul_reduce_scatter(*given), own._fused_matmul_reduce_scatter_fallback(*given)
            near(have, want, f"reduce-scatter along {dim}", 1e-2)
            assert have.stride() == want.stride(), f"reduce-scatter along {dim}: {have.stride()}, {want.stride()}"
    assert tp.calls_served() == 6, tp.calls_served()
    tp.uninstall()


def model(rank):
    """A Llama, divided: logits and gradients with and without sequence parallelism, and ragged rows."""
    import torch
    import torch.distributed as dist
    import tilepost.torch as tp
    exact = whole_model(torch.float32)
    for length in (64, 33, 600):  # twice as many rows; the last are divided in passes without gradients, too
        ids = ids_of(length)
        exact.zero_grad()
        want = exact(input_ids=ids, labels=ids, use_cache=False)
        want.loss.backward()
        down = exact.model.layers[0].mlp.down_proj.weight.grad.chunk(WORLD, 1)[rank]
        norm = exact.model.layers[1].input_layernorm.weight.grad
        for sequence_parallel in (True, False):
            divided = tp.parallelize(whole_model(torch.bfloat16), dist.group.WORLD, sequence_parallel=sequence_parallel)
            have = divided(input_ids=ids, labels=ids, use_cache=False)
            near(have.logits, want.logits, f"logits of {length}, {sequence_parallel}")
            print(f"# {rank}: {length} tokens, sequence parallelism {sequence_parallel}: forward", flush=True)
            have.loss.backward()
            near(divided.model.layers[0].mlp.down_proj.weight.grad, down, "gradient of down_proj")
            near(divided.model.layers[1].input_layernorm.weight.grad, norm, "gradient of a norm")
            with torch.no_grad():  # norms are fused
                near(divided(input_ids=ids, use_cache=False).logits, want.logits, f"logits of {length}, no gradients")


def graph(_):
    """A step of decoding in a CUDA graph, behind an eager one."""
    import torch
    import torch.distributed as dist
    import transformers
    import tilepost.torch as tp
    divided, ids = tp.parallelize(whole_model(torch.bfloat16), dist.group.WORLD), ids_of(1)
    mask = torch.ones(2, 1, 1, 65, dtype=torch.bool, device="cuda")
    place = torch.full((2, 1), 64, device="cuda")

    def step(which, cache):
        for layer in cache.layers:
            layer.cumulative_length.fill_(64)
        return which(input_ids=ids, position_ids=place, attention_mask=mask, past_key_values=cache,
                     use_cache=True).logits

    cache = transformers.StaticCache(config=divided.config, max_cache_len=65)
    with torch.no_grad():
        for _ in range(3):
            want = step(divided, cache).clone()
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            have = step(divided, cache)
        for _ in range(3):
            have.zero_()
            captured.replay()
            torch.cuda.synchronize()
            near(have, want, "a step in a graph", 1e-2)


def compiled(rank):
    """Two layers as inductor compiles them, with the fused nodes of async-TP replaced."""
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    import tilepost.torch as tp
    from torch.distributed._symmetric_memory import _test_mode
    functional, name = torch.ops._c10d_functional, dist.group.WORLD.group_name

    def layers(a, up, down):
        whole = functional.wait_tensor(functional.all_gather_into_tensor(a, WORLD, name))
        y = F.silu(whole @ up.t()) @ down.t()
        return functional.wait_tensor(functional.reduce_scatter_tensor(y, "sum", WORLD, name))

    torch.manual_seed(rank)
    a, up, down = (torch.randn(size, device="cuda").div(16).bfloat16() for size in ((64, 512), (512, 512), (512, 512)))
    want, the_pass = layers(a, up, down), tp.inductor_pass(strict=True)
    config = {"_micro_pipeline_tp": True, "post_grad_custom_post_pass": the_pass}
    with torch.no_grad(), torch._inductor.config.patch(config), _test_mode():
        have = torch.compile(layers, fullgraph=True)(a, up, down)
    assert the_pass.replaced == 2, the_pass.replaced
    near(have, want, "compiled layers", 2e-2)


PARTS = (accumulation, drop_in, model, graph, compiled)


def run_rank(kernels, store, parts):
    """One rank."""
    import torch
    import torch.distributed as dist
    import tilepost
    import tilepost.torch as tp
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(0 if os.environ.get("ONE_GPU") else rank)
    tp.use_catalogue(tilepost.Catalogue(kernels))
    dist.init_process_group("nccl", rank=rank, world_size=WORLD, store=dist.FileStore(store, WORLD),
                            device_id=torch.device("cuda", torch.cuda.current_device()))
    for part in PARTS:
        if part.__name__ in parts:
            begin = time.monotonic()
            part(rank)
            torch.cuda.synchronize()
            dist.barrier()
            if rank == 0:
                print(f"ok   {part.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
    tp.release()
    dist.destroy_process_group()


def start_ranks(kernels, parts):
    """Both ranks, each a process. Returns whether they succeeded."""
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for rank in range(WORLD):
            env = dict(os.environ, RANK=str(rank), TILEPOST=os.environ.get("TILEPOST", "strict"))
            if os.environ.get("ONE_GPU"):
                env.update(environment_of(rank))
            processes.append(subprocess.Popen([sys.executable, __file__, kernels, "--rank", f"{folder}/store", *parts],
                                              env=env))
        end, good = time.monotonic() + SECONDS, True
        for process in processes:
            try:
                good = process.wait(max(1, end - time.monotonic())) == 0 and good
            except subprocess.TimeoutExpired:
                print(f"# no end within {SECONDS} s", flush=True)
                process.kill()
                good = False
            if not good:
                end = min(end, time.monotonic() + 20)
        return good


def main():
    kernels, parts = sys.argv[1], sys.argv[2:]
    if parts[:1] == ["--rank"]:
        run_rank(kernels, parts[1], parts[2:])
        return 0
    import torch
    if torch.cuda.device_count() < (1 if os.environ.get("ONE_GPU") else WORLD):
        print(f"skipped: {torch.cuda.device_count()} GPUs, {WORLD} are needed")
        return 77
    good = start_ranks(kernels, parts or [part.__name__ for part in PARTS])
    print("PASS" if good else "FAIL")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
