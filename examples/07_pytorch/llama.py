"""A Llama of transformers on several GPUs, by one line: compares it with the whole model, generates, and trains a step.

    torchrun --nproc-per-node 2 llama.py                      # on GPUs, a model with random weights
    torchrun --nproc-per-node 2 llama.py --model NAME         # one of Hugging Face's
    python llama.py --host                                    # without GPUs: two threads and a tiny model
"""
import argparse
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
import transformers

import tilepost
import tilepost.torch as tp

TINY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 256}
SMALL = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 4, "num_attention_heads": 32,
         "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 8192}
making = threading.Lock()  # with --host ranks are threads, and random numbers the process's


def make_model(options, device):
    """The whole model, the same on every rank."""
    if options.model:
        return transformers.AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.bfloat16)
    sizes = TINY if options.host else SMALL
    config = transformers.LlamaConfig(**sizes, tie_word_embeddings=False)
    with making, torch.device(device):
        torch.manual_seed(0)
        return transformers.LlamaForCausalLM(config).to(torch.bfloat16)


def run(rank, device, options):
    """What every rank does."""
    whole = make_model(options, device).to(device).eval()
    length = 64 if options.host else 2048
    ids = (torch.arange(length, device=device) * 7 % whole.config.vocab_size).unsqueeze(0)
    with torch.no_grad():
        want = whole(input_ids=ids, logits_to_keep=1).logits.float()

    model = tp.parallelize(whole, dist.group.WORLD, least_rows=32 if options.host else 1024)

    with torch.no_grad():
        have = model(input_ids=ids, logits_to_keep=1).logits.float()
        error = ((have - want).norm() / want.norm()).item()
        begin = time.perf_counter()
        text = model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=None)
        seconds = time.perf_counter() - begin
    # A step of training: rows are divided between layers, and gathered and scattered behind and in front of products.
    loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=1e-3).step()
    if rank == 0:
        print(f"logits of the divided model differ from the whole one's by {error:.1e} of their norm")
        print(f"8 tokens behind {length} in {seconds:.2f} s: {text[0, length:].tolist()}")
        print(f"a step of training: loss {loss.item():.3f}")
    assert error < 5e-2, "the divided model computes something else"


def run_on_threads(options):
    """Two ranks without GPUs: threads of this process, by a backend that PyTorch has for its tests."""
    from torch.testing._internal.distributed import multi_threaded_pg
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    multi_threaded_pg._install_threaded_pg()
    store = dist.HashStore()

    def rank_runs(rank):
        try:
            dist.init_process_group("threaded", rank=rank, world_size=2, store=store)
            run(rank, torch.device("cpu"), options)
            tp.release()
        except Exception as error:
            multi_threaded_pg.ProcessLocalGroup.exception_handle(error)  # lets the other rank end, too
            raise

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(rank_runs, range(2)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", help="a name or folder of Hugging Face's; otherwise random weights")
    parser.add_argument("--host", action="store_true", help="without GPUs")
    parser.add_argument("--catalogue", help="a folder of kernels; otherwise the package's")
    options = parser.parse_args()
    if options.catalogue:
        tp.use_catalogue(tilepost.Catalogue(options.catalogue))
    if options.host:
        run_on_threads(options)
        return
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    run(dist.get_rank(), device, options)
    tp.release()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
