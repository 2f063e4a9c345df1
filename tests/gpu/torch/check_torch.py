#!/usr/bin/env python3
"""tilepost.torch on GPUs, compared with plain PyTorch: a process for each rank.

    check_torch.py specs FOLDER RANKS             writes the specs whose kernels are needed
    check_torch.py run KERNELS [RANKS [PART …]]   runs the parts on RANKS GPUs (2); all parts without names. Those that
                                                  a + joins run in the same processes, which saves their start

With ONE_GPU=1 all ranks are on the first GPU. Prints a line for each part, and PASS or FAIL at the end; exits with 77
where there are too few GPUs.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from one_gpu import environment_of

MOST_ROWS = 2048
SUMMED_AND_GATHERED = ("gemm_all_reduce", "gemm_reduce_scatter", "all_gather_gemm")
SIZES = ((1024, 512), (512, 1024))  # n, k on each rank
BIG = (8192, 4096, 2048)  # m, n, k: kernels that store into other GPUs' memory
PART_SECONDS = 150


def write_specs(folder, ranks):
    """The sums and the gather with kernels for few rows and for many, and one kernel each for what else is tried: where
    it lacks the best kernel, the package takes another."""
    one = {"schedule.kernels": 1}
    cases = [(pattern, {}) for pattern in SUMMED_AND_GATHERED]
    cases += [(pattern, {"gemm.layout": "nn", **one}) for pattern in SUMMED_AND_GATHERED]
    cases += [(pattern, {"gemm.epilogue": ["bias"], **one}) for pattern in SUMMED_AND_GATHERED]
    cases += [(pattern, {"gemm.a": "f16", **one}) for pattern in SUMMED_AND_GATHERED]
    cases += [("gemm_all_reduce", {"gemm.a": "e4m3", "gemm.epilogue": ["scale"], **one}),
              ("all_gather_gemm", {"gemm.a": "e4m3", "gemm.epilogue": ["scale_rows", "scale_columns"], **one}),
              ("gemm_all_reduce", {"transport": "nccl", **one}),
              ("gemm_all_to_all", {"routing": "rows"}), ("gemm_all_to_all", {"routing": "splits", "gemm.layout": "nn"}),
              ("all_to_all_gemm", {"routing": "rows"})]
    cases += [(pattern, {"big": True, **one}) for pattern in SUMMED_AND_GATHERED]
    for number, (pattern, more) in enumerate(cases):
        m, n, k = BIG if more.pop("big", False) else (MOST_ROWS, *SIZES[0])
        spec = {"tilepost": 1, "name": f"case_{number}", "pattern": pattern, "ranks": ranks, "arch": "sm_90a",
                "gemm": {"m": {"max": m}, "n": n, "k": k, "a": "bf16"}}
        for path, value in more.items():
            where, _, key = path.rpartition(".")
            (spec.setdefault(where, {}) if where else spec)[key] = value
        Path(folder, f"{spec['name']}.yaml").write_text(json.dumps(spec) + "\n", encoding="ascii")


def start_ranks(ranks, kernels, part, folder):
    """Runs a part in a process for each rank. Returns whether all of them succeeded."""
    processes = []
    for rank in range(ranks):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), TILEPOST=os.environ.get("TILEPOST", "strict"),
                   PYTHONUNBUFFERED="1")
        if os.environ.get("ONE_GPU"):
            env.update(environment_of(rank))
        command = [sys.executable, str(Path(__file__).parent / "torch_parts.py"), kernels, part, f"{folder}/store"]
        processes.append(subprocess.Popen(command, env=env))
    seconds = PART_SECONDS * (1 + part.count("+"))
    end, good = time.monotonic() + seconds, True
    for process in processes:
        try:
            good = process.wait(max(1, end - time.monotonic())) == 0 and good
        except subprocess.TimeoutExpired:
            print(f"# {part}: no end within {seconds} s", flush=True)
            process.kill()
            good = False
        if not good:
            end = min(end, time.monotonic() + 20)
    return good


def run(kernels, ranks, parts):
    """Runs parts, and prints how they ended."""
    import tempfile  # pylint: disable=import-outside-toplevel

    import torch  # pylint: disable=import-outside-toplevel

    needed = 1 if os.environ.get("ONE_GPU") else ranks
    if torch.cuda.device_count() < needed:
        print(f"skipped: {needed} GPUs are needed, and there are {torch.cuda.device_count()}")
        return 77
    failed = []
    for part in parts:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            good = start_ranks(ranks, kernels, part, folder)
        print(f"{'ok  ' if good else 'fail'} {part} ({time.monotonic() - begin:.1f} s)", flush=True)
        if not good:
            failed.append(part)
    print(f"FAIL: {' '.join(failed)}" if failed else "PASS")
    return 1 if failed else 0


PARTS = ("rows", "big", "types", "graphs", "norms", "scales", "routes", "gradients", "compiled", "groups", "streams",
         "adopted", "fallbacks", "cycles", "cycles_of_nccl", "times")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "specs":
        write_specs(sys.argv[2], int(sys.argv[3]))
        return 0
    if len(sys.argv) >= 3 and sys.argv[1] == "run":
        ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 2
        unknown = [part for joined in sys.argv[4:] for part in joined.split("+") if part not in PARTS]
        if not unknown:
            return run(sys.argv[2], ranks, sys.argv[4:] or PARTS)
        print(f"no part {unknown[0]}; the parts are {' '.join(PARTS)}")
        return 2
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
