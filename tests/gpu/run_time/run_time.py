#!/usr/bin/env python3
"""Programs made at run time, on GPUs: kernels of a catalogue, loaded by cudaLibraryLoadData, launched and captured.

    run_time.py specs FOLDER            writes the specs whose kernels are needed
    run_time.py run KERNELS [WORLD]     plans, runs and measures them on WORLD GPUs (2), a thread for each
    run_time.py same KERNELS            the same with two processes on one GPU, which the driver lets take turns; needs
                                        a library built with TILEPOST_TEST_ONE_GPU

`run` and `same` need torch and the package tilepost with CUDA. Every result is compared with a sum in fp32, eager and
replayed, for several m; then times are printed, a line of JSON for each. run_time.sh does both. With one GPU, `run 1`
shows the kernels alone. In `same` the processes find each other by torch's gloo (tilepost_comm_init_with).
"""
import ctypes
import json
import os
import statistics
import tempfile
import sys
import threading
import time
from pathlib import Path

PATTERNS = ("gemm_all_reduce", "gemm_reduce_scatter", "all_gather_gemm")
MOST_ROWS = 4096
SIZES = ((4096, 1024), (1024, 4096))  # n, k
ROWS = (4096, 1000, 64, 2)
RUNS = 50


def fields_of(pattern, world, n, k, layout="tn"):
    return {"pattern": pattern, "ranks": world, "gemm.m": {"max": MOST_ROWS}, "gemm.n": n, "gemm.k": k,
            "gemm.a": "bf16", "gemm.layout": layout, "arch": "sm_90a"}


def cases(world):
    for pattern in PATTERNS if world > 1 else ("gemm",):
        for n, k in SIZES:
            for layout in ("tn", "nn"):
                yield fields_of(pattern, world, n, k, layout)


def write_specs(folder):
    for world in (1, 2, 4):
        for number, fields in enumerate(cases(world)):
            gemm = {path[5:]: value for path, value in fields.items() if path.startswith("gemm.")}
            spec = {"tilepost": 1, "name": f"case_{number}_of_{world}", "gemm": gemm}
            spec.update({path: value for path, value in fields.items() if not path.startswith("gemm.")})
            Path(folder, f"case_{number}_of_{world}.yaml").write_text(json.dumps(spec) + "\n", encoding="ascii")


class Rank:
    """One rank of a case: its operands, and what its output should be."""

    def __init__(self, torch, rank, world, fields, m):
        self.torch, self.m = torch, m
        n, k, pattern = fields["gemm.n"], fields["gemm.k"], fields["pattern"]
        share = m // world

        def matrix(seed, rows, columns):
            generator = torch.Generator(device="cuda").manual_seed(seed)
            return torch.randint(-2, 3, (rows, columns), generator=generator, device="cuda").bfloat16()

        gathers = pattern == "all_gather_gemm"
        a = [matrix(each, share if gathers else m, k) for each in range(world)]
        b = [matrix(100 + each, n, k) for each in range(world)]
        self.a = a[rank]
        self.b = b[rank].t().contiguous() if fields["gemm.layout"] == "nn" else b[rank]
        if gathers:
            self.expected = torch.cat(a).float() @ b[rank].float().t()
        else:
            self.expected = sum(x.float() @ y.float().t() for x, y in zip(a, b))  # a GEMM alone has one rank
            if pattern == "gemm_reduce_scatter":
                self.expected = self.expected[rank * share:(rank + 1) * share]
        self.out = torch.empty_like(self.expected, dtype=torch.bfloat16)

    def check(self, what):
        self.torch.testing.assert_close(self.out.float(), self.expected, rtol=2e-2,
                                        atol=0.01 * float(self.expected.abs().max()), msg=lambda text: f"{what}: {text}")


def memory_of(get, *arguments):
    """(device, shared, pinned) bytes that a function of C says."""
    from tilepost import _c  # pylint: disable=import-outside-toplevel

    memory = _c.Memory(ctypes.sizeof(_c.Memory))
    if getattr(_c.lib, get)(*arguments, ctypes.byref(memory)) != _c.OK:
        raise RuntimeError(_c.lib.tilepost_last_error().decode())
    return memory.device_bytes, memory.shared_bytes, memory.pinned_bytes


def run_case(torch, tilepost, rank, world, comm, plan, fields, meet):
    stream = torch.cuda.Stream()
    planned = memory_of("tilepost_program_memory", comm._handle, plan._program, None)
    op = tilepost.Op(comm, plan)
    taken = memory_of("tilepost_op_memory", op._handle)
    assert planned == taken, f"{fields}: {planned} bytes were planned and {taken} taken"
    for m in ROWS:
        if m % world != 0:
            continue
        data = Rank(torch, rank, world, fields, m)
        torch.cuda.synchronize()

        def run():
            op.run(data.a, data.b, data.out, stream=stream.cuda_stream, m=m)

        for _ in range(3):
            data.out.fill_(float("nan"))
            torch.cuda.synchronize()
            run()
            op.synchronize()
            data.check(f"eager, {fields}, m = {m}")
        meet.wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            run()
        data.out.fill_(float("nan"))
        torch.cuda.synchronize()
        meet.wait()
        with torch.cuda.stream(stream):
            graph.replay()
        stream.synchronize()
        data.check(f"replayed, {fields}, m = {m}")
        meet.wait()
        start, end, times = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True), []
        for _ in range(RUNS):
            begin = time.perf_counter()
            with torch.cuda.stream(stream):
                start.record()
                run()
                host_us = 1e6 * (time.perf_counter() - begin)
                end.record()
            stream.synchronize()
            times.append((1e3 * start.elapsed_time(end), host_us))
        if rank == 0:
            print(json.dumps({**fields, "m": m, "us": round(statistics.median(each[0] for each in times), 1),
                              "host_us": round(statistics.median(each[1] for each in times), 1)}), flush=True)
        meet.wait()
        graph.reset()
    op.close()


def load_plans(tilepost, kernels, world):
    begin = time.perf_counter()
    catalogue = tilepost.Catalogue(kernels)
    plans = [(fields, tilepost.Plan(fields).load(catalogue)) for fields in cases(world)]
    print(f"# planned and loaded {len(plans)} programs in {time.perf_counter() - begin:.2f} s", flush=True)
    return plans


def cannot_run(torch, world):
    """Says that there are too few GPUs; whether there are."""
    if torch.cuda.device_count() >= world:
        return False
    print(f"skipped: {world} GPUs are needed, and there are {torch.cuda.device_count()}")
    return True


def run(kernels, world):
    import torch  # pylint: disable=import-outside-toplevel
    import tilepost  # pylint: disable=import-outside-toplevel

    if cannot_run(torch, world):
        return 77
    plans = load_plans(tilepost, kernels, world)
    unique_id, meet, errors = tilepost.Comm.unique_id(), threading.Barrier(world), []

    def rank_runs(rank):
        try:
            torch.cuda.set_device(rank)
            comm = tilepost.Comm.init(unique_id, rank, world)
            for fields, plan in plans:
                run_case(torch, tilepost, rank, world, comm, plan, fields, meet)
            comm.close()
        except BaseException as error:  # pylint: disable=broad-except
            errors.append((rank, error))
            meet.abort()

    threads = [threading.Thread(target=rank_runs, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rank, error in errors:
        print(f"rank {rank}: {type(error).__name__}: {error}")
    print("FAIL" if errors else "PASS")
    return 1 if errors else 0


class Meeting:
    """Processes wait for each other here, as threads do at a barrier."""

    def __init__(self, dist):
        self.wait = dist.barrier


def comm_by_gloo(torch, tilepost, dist, rank, world):
    """A communicator for which torch's gloo gathers bytes."""
    from tilepost import _c  # pylint: disable=import-outside-toplevel

    def gather(own, every, size, _user):
        mine = torch.frombuffer(bytearray(ctypes.string_at(own, size)), dtype=torch.uint8)
        parts = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(parts, mine)
        ctypes.memmove(every, bytes(torch.cat(parts).tolist()), size * world)
        return 0

    handle = ctypes.c_void_p()
    result = _c.lib.tilepost_comm_init_with(_c.AllGather(gather), None, rank, world, ctypes.byref(handle))
    if result != _c.OK:
        raise RuntimeError(_c.lib.tilepost_last_error().decode())
    return tilepost.Comm(handle, rank, world)


def rank_of_one_gpu(rank, world, kernels, store):
    os.environ["NCCL_HOSTID"] = f"rank {rank}"  # NCCL takes one GPU twice only on two hosts
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    import tilepost  # pylint: disable=import-outside-toplevel

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.cuda.set_device(0)
    comm = comm_by_gloo(torch, tilepost, dist, rank, world)
    for fields, plan in load_plans(tilepost, kernels, world):
        run_case(torch, tilepost, rank, world, comm, plan, fields, Meeting(dist))
    comm.close()
    dist.destroy_process_group()


def run_on_one_gpu(kernels):
    import torch  # pylint: disable=import-outside-toplevel
    import torch.multiprocessing as processes  # pylint: disable=import-outside-toplevel

    if cannot_run(torch, 1):
        return 77
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(rank_of_one_gpu, args=(2, kernels, f"{folder}/store"), nprocs=2)
    print("PASS")
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "same":
        return run_on_one_gpu(sys.argv[2])
    if len(sys.argv) == 3 and sys.argv[1] == "specs":
        write_specs(sys.argv[2])
        return 0
    if len(sys.argv) in (3, 4) and sys.argv[1] == "run":
        return run(sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 2)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
