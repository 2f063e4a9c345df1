#!/usr/bin/env python3
"""A Llama of transformers with random weights: its own tensor parallelism and tilepost.torch.parallelize, side by side.

    torchrun --nproc-per-node 2 python/bench/model.py --prefill 2048 8192 --decode 1 8 64

Both models have the same weights. Their tokens, of greedy decoding, and their logits are compared before anything is
timed. The model in fp32 says how far rounding moves either from what is exact, and, where tokens differ, whether the
two were as good as equal. Prints tokens per second; exits 1 where a token is wrong or there is no GPU.
"""
from __future__ import annotations

import argparse
import sys
from typing import Callable

import torch
import torch.distributed as dist
import transformers
from torch.distributed.device_mesh import init_device_mesh

import ranks
import timing
import tilepost
import tilepost.torch as tp
import transformers_tp

SIZES = {
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 16384},
    "tiny": {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 512},
}
CACHED_TOKENS = 1024  # that decoding attends to
# Both ways round as often: neither may be further from the model in fp32 than the other by more than this factor.
MOST_WORSE = 1.25
Model = transformers.PreTrainedModel


def whole_model(size: str, device: torch.device, layers: int) -> Model:
    """The model, with the same weights on every rank and in every call."""
    sizes = {**SIZES[size], **({"num_hidden_layers": layers} if layers else {})}
    config = transformers.LlamaConfig(**sizes, tie_word_embeddings=False)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    model.to_empty(device=device)
    generator = torch.Generator(device).manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0)
            else:
                parameter.normal_(0.0, 0.02, generator=generator)
        rotary = type(model.model.rotary_emb)(config).to(device)
    model.model.rotary_emb = rotary
    return model.eval()


def by_tilepost(model: Model, mesh) -> Model:
    """The one line."""
    return tp.parallelize(model, mesh)


WAYS: dict[str, Callable[..., Model]] = {"transformers": transformers_tp.divide, "tilepost": by_tilepost}


def random_tokens(config, device: torch.device, batch: int, length: int) -> torch.Tensor:
    """The same on all ranks."""
    generator = torch.Generator(device).manual_seed(17)
    return torch.randint(0, config.vocab_size, (batch, length), generator=generator, device=device)


@torch.no_grad()
def last_logits(model: Model, ids: torch.Tensor) -> torch.Tensor:
    """Of the token behind ids."""
    return model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[:, -1]


@torch.no_grad()
def greedy(model: Model, ids: torch.Tensor, count: int) -> torch.Tensor:
    """The next tokens."""
    text = model.generate(ids, max_new_tokens=count, do_sample=False, pad_token_id=0, eos_token_id=None)
    return text[:, ids.shape[1]:]


def difference(logits: dict[str, torch.Tensor], what: str, limit: float) -> float:
    """The relative error between the two ways. Ends the program where it is over the limit. Collective."""
    error = timing.relative_error(*(logits[name] for name in reversed(WAYS)))
    if not error < limit:
        raise SystemExit(f"{what}: logits differ by {error:.2e} of their norm, the limit is {limit:.2e}")
    return error


def check(models: dict[str, Model], exact: Model, ids: torch.Tensor, count: int) -> tuple[str, float]:
    """Compares logits and tokens with each other and with the model in fp32. Collective. Returns what was found, and by
    how much logits of the two ways may differ; ends the program where they differ in earnest."""
    want = last_logits(exact, ids)
    logits = {name: last_logits(model, ids) for name, model in models.items()}
    of_exact = {name: timing.relative_error(logits[name], want) for name in WAYS}
    if not of_exact["tilepost"] <= MOST_WORSE * of_exact["transformers"]:
        raise SystemExit(f"the prompt: tilepost's logits are {of_exact['tilepost']:.2e} of their norm from fp32's, "
                         f"transformers' {of_exact['transformers']:.2e}")
    limit = 2 * max(of_exact.values())  # as far as two lie apart that are on opposite sides of what is exact
    error = difference(logits, "the prompt", limit)
    tokens = {name: greedy(model, ids, count) for name, model in models.items()}
    found = (f"logits are {of_exact['tilepost']:.1e} of their norm from fp32's (transformers' "
             f"{of_exact['transformers']:.1e}), and differ by {error:.1e}; ")
    different = (tokens["transformers"] != tokens["tilepost"]).nonzero()
    # Behind the first token that differs, the texts are others: only it is judged, in fp32.
    firsts = {int(row): int(column) for row, column in reversed(different.tolist())}
    for row, column in firsts.items():
        text = torch.cat([ids[row:row + 1], tokens["tilepost"][row:row + 1, :column]], dim=1)
        exact_logits = last_logits(exact, text)[0]
        two = [exact_logits[tokens[name][row, column]] for name in WAYS]
        behind, spread = (exact_logits.max() - min(two)).item(), exact_logits.std().item()
        if behind > 2 * limit * spread:  # a rounding of each of two logits
            raise SystemExit(f"sequence {row}, token {column}: in fp32 one of the two lies {behind:.3f} behind the "
                             f"best, of a spread of {spread:.3f}")
    if not firsts:
        return found + f"{ids.shape[0]} x {count} tokens are the same", limit
    return found + f"{len(firsts)} sequences part at tokens that fp32 finds as good as equal", limit


@torch.no_grad()
def decoding(model: Model, device: torch.device, batch: int) -> Callable[[], object]:
    """One step of decoding `batch` sequences behind CACHED_TOKENS tokens, as a CUDA graph."""
    cached = min(CACHED_TOKENS, model.config.max_position_embeddings // 2)
    cache = transformers.StaticCache(config=model.config, max_cache_len=cached + 1)
    token = random_tokens(model.config, device, batch, 1)
    position = torch.full((batch, 1), cached, device=device)
    mask = torch.ones(batch, 1, 1, cached + 1, dtype=torch.bool, device=device)

    def step() -> torch.Tensor:
        for layer in cache.layers:  # every step is the one behind the cached tokens
            layer.cumulative_length.fill_(cached)
        return model(input_ids=token, position_ids=position, attention_mask=mask, past_key_values=cache,
                     use_cache=True).logits

    def run() -> torch.Tensor:
        with torch.no_grad():
            return step()

    return timing.captured(run, device)


def measure(models: dict[str, Model], device: torch.device, options: argparse.Namespace, limit: float,
            say: Callable[[str], None]) -> None:
    """The table. What is timed is compared first, and may differ by the limit."""
    say("| what | " + " | ".join(f"{name}, tokens/s" for name in WAYS) + " | tilepost / transformers |")
    say("|---|---|---|---|")
    config = models["tilepost"].config
    for length in options.prefill:
        ids = random_tokens(config, device, 1, length)
        calls = {name: (lambda model=model: last_logits(model, ids)) for name, model in models.items()}
        what = f"prefill of {length} tokens"
        difference({name: call() for name, call in calls.items()}, what, limit)
        say(line(what, length, timing.interleaved(calls, options.rounds, device)))
    for batch in options.decode:
        calls = {name: decoding(model, device, batch) for name, model in models.items()}
        what = f"decoding {batch} sequences"
        difference({name: call() for name, call in calls.items()}, what, limit)
        say(line(what, batch, timing.interleaved(calls, options.rounds, device)))


def line(what: str, tokens: int, times: dict[str, float]) -> str:
    """A row of the table."""
    speeds = [tokens / times[name] * 1e6 for name in WAYS]
    return f"| {what} | " + " | ".join(f"{speed:.0f}" for speed in speeds) + f" | {speeds[1] / speeds[0]:.3f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ranks.add_arguments(parser)
    parser.add_argument("--prefill", nargs="*", type=int, default=[2048, 8192])
    parser.add_argument("--decode", nargs="*", type=int, default=[1, 8, 64])
    parser.add_argument("--layers", type=int, default=0, help="fewer than the model has")
    options = parser.parse_args()
    if options.host:
        options.prefill, options.decode, options.rounds = [48], [2], 2
    if options.catalogue:
        tp.use_catalogue(tilepost.Catalogue(options.catalogue))

    def body(rank: int, device: torch.device) -> None:
        size = "tiny" if options.host else "8b"

        def say(text: str) -> None:
            if rank == 0:
                print(text, flush=True)

        mesh = init_device_mesh(device.type, (dist.get_world_size(),))
        say(f"PyTorch {torch.__version__}, transformers {transformers.__version__}, tilepost {tilepost.__version__}, "
            f"{dist.get_world_size()} ranks, Llama {size}" + ("; the CPU's times mean nothing" if options.host else ""))
        # PyTorch's distributed tensors are not made for ranks that are threads.
        ways = {"transformers": lambda model, _: model, "tilepost": by_tilepost} if options.host else WAYS
        models = {name: way(whole_model(size, device, options.layers), mesh) for name, way in ways.items()}
        ids = random_tokens(models["tilepost"].config, device, 2, 24)
        found, limit = check(models, whole_model(size, device, options.layers).float(), ids, 16)
        say(found)
        measure(models, device, options, limit, say)

    return ranks.run(body, options.host)


if __name__ == "__main__":
    sys.exit(main())
