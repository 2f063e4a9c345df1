"""The ranks of a benchmark: processes of torchrun, each with a GPU, or threads on the CPU (--host)."""
from __future__ import annotations

import argparse
import os
import sys
import threading
from typing import Callable

import torch
import torch.distributed as dist

RANKS = 2  # on the host, and of the programs whose specs are written unless another number is asked for

Body = Callable[[int, torch.device], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What both benchmarks are told of ranks and kernels."""
    parser.add_argument("--host", action="store_true", help="two threads on the CPU and tiny shapes, to try the "
                                                            "program; its times mean nothing")
    parser.add_argument("--catalogue", help="the folder of kernels; otherwise the package's")
    parser.add_argument("--rounds", type=int, default=7, help="how often each form is timed, in turn with the others")


def run(body: Body, host: bool) -> int:
    """Runs body(rank, device) on every rank. Returns the exit status. What tilepost does not serve is an error, unless
    TILEPOST says otherwise: a time is never that of PyTorch's own operations."""
    os.environ.setdefault("TILEPOST", "strict")
    if host:
        return _on_threads(body)
    if not torch.cuda.is_available():
        print("no GPU here, so nothing is measured. --host runs tiny shapes on the CPU, to try the program",
              file=sys.stderr)
        return 1
    if "RANK" not in os.environ:
        print(f"run it by torchrun --nproc-per-node {torch.cuda.device_count()} {sys.argv[0]} …", file=sys.stderr)
        return 1
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    body(dist.get_rank(), device)
    dist.destroy_process_group()
    return 0


def _on_threads(body: Body) -> int:
    from torch.testing._internal.distributed import multi_threaded_pg
    torch.set_num_threads(1)
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    multi_threaded_pg._install_threaded_pg()
    store, errors = dist.HashStore(), []

    def guarded(rank: int) -> None:
        import tilepost.torch as tp
        try:
            dist.init_process_group("threaded", rank=rank, world_size=RANKS, store=store)
            body(rank, torch.device("cpu"))
            tp.release()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append(error)
            multi_threaded_pg.ProcessLocalGroup.exception_handle(error)

    threads = [threading.Thread(target=guarded, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    multi_threaded_pg.ProcessLocalGroup.reset()
    if errors:
        raise errors[0]
    return 0
