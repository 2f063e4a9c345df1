"""Runs a program on ranks that are all on the first GPU, where they take turns: that shows whether it runs to its end.

    torchrun --nproc-per-node 2 one_gpu.py PROGRAM [ARGUMENT …]

The library must be built with TILEPOST_TEST_ONE_GPU.
"""
import os
import runpy
import sys

# NCCL takes two ranks on one GPU only if they seem to be on two hosts.
APART = {"NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_MNNVL_ENABLE": "0", "NCCL_P2P_DISABLE": "1"}


def environment_of(rank):
    """What a process of this rank finds in its environment."""
    return {**APART, "NCCL_HOSTID": f"rank{rank}"}


if __name__ == "__main__":
    os.environ.update(environment_of(os.environ["RANK"]), LOCAL_RANK="0")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
