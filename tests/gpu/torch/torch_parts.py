"""One rank of parts of check_torch.py: torch_parts.py KERNELS PART+PART… STORE, with RANK and WORLD_SIZE."""
import os
import sys
import time
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F

import tilepost
import tilepost.torch as tp
from check_torch import BIG, MOST_ROWS, SIZES

EPS = 1e-5
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
N, K = SIZES[0]


def matrix(seed, rows, columns, dtype=torch.bfloat16):
    """Whole numbers from -2 to 2, the same on all ranks."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randint(-2, 3, (rows, columns), generator=generator, device="cuda").to(dtype)


def near(have, want, what):
    """Sums are exact in fp32, and their parts are rounded before they are added."""
    have, want = have.detach(), want.detach()
    bound = 2e-2 * float(want.float().abs().max().clamp(min=1))
    difference = float((have.float() - want.float()).abs().max()) if have.numel() else 0.0
    assert have.shape == want.shape, f"{what}: {tuple(have.shape)}, expected {tuple(want.shape)}"
    assert difference <= bound and torch.isfinite(have.float()).all(), f"{what}: off by {difference}, bound {bound}"


def share(tensor, dim=0):
    return tensor.chunk(WORLD, dim)[RANK].clone(memory_format=torch.contiguous_format)


class Case:
    """The operands of all ranks for a product of m rows, and the results of the three operations."""

    def __init__(self, m, n=N, k=K, dtype=torch.bfloat16, transposed=False, seed=0, bias=False):
        self.m = m
        self.a = [matrix(seed + 10 + rank, m, k, dtype) for rank in range(WORLD)]
        self.w = [matrix(seed + 20 + rank, n, k, dtype) for rank in range(WORLD)]
        self.bias = matrix(seed + 30, 1, n, dtype).view(-1) if bias else None
        added = self.bias.float() if bias else 0
        self.sum = sum(a.float() @ w.float().t() for a, w in zip(self.a, self.w)) + added
        own = self.w[RANK]
        self.own_w = own.t().contiguous().t() if transposed else own
        self.product = self.a[0].float() @ own.float().t() + added  # of rows that are gathered

    def check(self, what, group=None):
        """Runs the three operations once."""
        near(tp.gemm_all_reduce(self.a[RANK], self.own_w, bias=self.bias, group=group), self.sum, f"{what}, all-reduce")
        if self.m % WORLD == 0:
            y = tp.gemm_reduce_scatter(self.a[RANK], self.own_w, bias=self.bias, group=group)
            near(y, share(self.sum), f"{what}, reduce-scatter")
            y, gathered = tp.all_gather_gemm(share(self.a[0]), self.own_w, bias=self.bias, group=group,
                                             return_gathered=True)
            near(y, self.product, f"{what}, all-gather")
            assert torch.equal(gathered, self.a[0]), f"{what}: gathered rows differ"


def rows():
    for n, k in SIZES:
        for m in (2048, 1000, 514, 64, 16, 2, 7, 1, 2048):
            Case(m, n, k).check(f"m {m}, n {n}, k {k}")


def big():
    m, n, k = BIG
    Case(m, n, k).check("many rows")
    Case(m // 2 + 2, n, k).check("half as many")


def types():
    Case(512, dtype=torch.float16).check("float16")
    Case(512, transposed=True).check("transposed")
    Case(512, bias=True).check("bias")


def captured(function):
    """A graph with one call of the function, and what it returns."""
    torch.cuda.synchronize()
    dist.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        out = function()
    return graph, out


def graphs():
    for m in (1024, 64, 2):
        case = Case(m)
        a, gathers = case.a[RANK].clone(), share(case.a[0])

        def step():
            scattered = tp.gemm_reduce_scatter(a, case.own_w)
            return tp.gemm_all_reduce(a, case.own_w), scattered, tp.all_gather_gemm(gathers, case.own_w)

        step()  # warms up
        graph, (summed, scattered, gathered) = captured(step)
        for seed in (100, 200, 300):
            other = Case(m, seed=seed)
            other.own_w = case.own_w
            a.copy_(other.a[RANK])
            gathers.copy_(share(other.a[0]))
            for each in (summed, scattered, gathered):
                each.fill_(float("nan"))
            graph.replay()
            total = sum(x.float() @ w.float().t() for x, w in zip(other.a, case.w))
            near(summed, total, f"replay, m {m}, all-reduce")
            near(scattered, share(total), f"replay, m {m}, reduce-scatter")
            near(gathered, other.a[0].float() @ case.own_w.float().t(), f"replay, m {m}, all-gather")
            case.check("eager between replays")
        torch.cuda.synchronize()
        graph.reset()
    fresh = Case(96)
    try:
        captured(lambda: tp.gemm_all_reduce(fresh.a[RANK], fresh.own_w))
    except RuntimeError as error:
        assert "run once with 96 rows" in str(error), error
    else:
        raise AssertionError("a number of rows that never ran was captured")
    fresh.check("after a capture that was refused")


def norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight


def norms():
    for m in (1024, 64, 2):
        case, weight = Case(m), matrix(5, 1, N).view(-1)
        residual = matrix(6, m, N)
        total = (case.sum.bfloat16().float() + residual.float()).bfloat16()
        y = norm(total.float(), weight.float())
        for _ in range(2):
            own = residual.clone()
            near(tp.gemm_all_reduce_norm(case.a[RANK], case.own_w, own, weight, EPS), y, f"m {m}, norm")
            near(own, total, f"m {m}, residual")
            own = share(residual)
            normed = tp.gemm_reduce_scatter_norm(case.a[RANK], case.own_w, own, weight, EPS)
            near(normed, share(y), f"m {m}, share's norm")
            near(own, share(total), f"m {m}, share's residual")


def scales():
    f8 = torch.float8_e4m3fn
    for m in (1024, 64):
        a, w = [matrix(1 + r, m, K) for r in range(WORLD)], [matrix(9 + r, N, K) for r in range(WORLD)]
        one, other = torch.tensor([0.5], device="cuda"), torch.tensor([0.25], device="cuda")
        total = sum(x.float() @ y.float().t() for x, y in zip(a, w)) / 8
        near(tp.gemm_all_reduce(a[RANK].to(f8), w[RANK].to(f8), scale_a=one, scale_b=other), total, f"m {m}, tensors")
        by_row = torch.rand(m, device="cuda", generator=torch.Generator("cuda").manual_seed(3)) + 0.5
        by_column = torch.rand(N, device="cuda", generator=torch.Generator("cuda").manual_seed(4)) + 0.5
        want = (a[0].float() @ w[RANK].float().t()) * by_row[:, None] * by_column
        for scale in (by_row, share(by_row)):
            y = tp.all_gather_gemm(share(a[0]).to(f8), w[RANK].to(f8), scale_a=scale, scale_b=by_column)
            near(y, want, f"m {m}, rows")


def routes():
    tp.init(max_rows=MOST_ROWS)
    for count in (900, 3):
        counts = [count + 50 * rank for rank in range(WORLD)]
        generator = torch.Generator().manual_seed(count)
        to = [torch.randint(0, WORLD, (each,), generator=generator).cuda() for each in counts]
        a, w = [matrix(40 + r, counts[r], K) for r in range(WORLD)], [matrix(50 + r, N, K) for r in range(WORLD)]
        products = [x.float() @ y.float().t() for x, y in zip(a, w)]
        arrive = [torch.cat([x[ranks == rank] for x, ranks in zip(products, to)]) for rank in range(WORLD)]
        y, landed = tp.gemm_all_to_all(a[RANK], w[RANK], to[RANK])
        near(y, arrive[RANK], f"{count} rows, gemm_all_to_all")
        back = torch.stack([arrive[rank][row] for rank, row in zip(to[RANK].tolist(), landed.tolist())])
        near(back, products[RANK], f"{count} rows, landed")
        rows_here = torch.cat([x[ranks == RANK] for x, ranks in zip(a, to)])
        own_a, own_w = a[RANK].clone().requires_grad_(), w[RANK].clone().requires_grad_()
        y, rows_from = tp.all_to_all_gemm(own_a, own_w, to[RANK])
        near(y, rows_here.float() @ w[RANK].float().t(), f"{count} rows, all_to_all_gemm")
        assert rows_from.tolist() == [int((ranks == RANK).sum()) for ranks in to]
        y.backward(torch.ones_like(y))
        near(own_w.grad, torch.ones_like(y).float().t() @ rows_here.float(), "gradient of w")
        gradients = [each.float().sum(0) for each in w]
        near(own_a.grad, torch.stack([gradients[rank] for rank in to[RANK].tolist()]), "gradient of a")
        returned, _ = tp.gemm_all_to_all(y.detach(), matrix(60, 512, N), rows_from.tolist())
        assert returned.shape[0] == counts[RANK]


def gradients():
    m, hidden, inner = 512, SIZES[1][0], SIZES[1][1] * WORLD
    torch.manual_seed(1)
    a, dy = matrix(1, m, hidden), matrix(2, m, hidden)
    up, down = (torch.randn(shape, device="cuda").bfloat16() / 16 for shape in ((inner, hidden), (hidden, inner)))
    plain = [each.float().requires_grad_() for each in (a, up, down)]
    y = F.linear(F.silu(F.linear(plain[0], plain[1])), plain[2])
    y.backward(dy.float())
    own = [each.clone().requires_grad_() for each in (share(a), share(up), share(down, 1))]
    out = tp.gemm_reduce_scatter(F.silu(tp.all_gather_gemm(own[0], own[1])), own[2])
    near(out, share(y.detach()), "y")
    out.backward(share(dy))
    for name, have, want, dim in zip(("a", "up", "down"), own, plain, (0, 0, 1)):
        near(have.grad, share(want.grad, dim), f"gradient of {name}")


def compiled():
    case, name = Case(512), dist.group.WORLD.group_name

    def step(a, w):
        return tp.gemm_all_reduce(a, w, group=name) * 2

    near(torch.compile(step, fullgraph=True, backend="aot_eager")(case.a[RANK], case.own_w), case.sum * 2, "compiled")


def groups():
    other = dist.new_group(list(range(WORLD)))
    for m in (512, 64, 512):
        case = Case(m)
        for _ in range(3):
            case.check("the first group")
            case.check("the other group", other)
    tp.release(other)
    Case(64).check("after the other group's end")


def streams():
    side = [torch.cuda.Stream() for _ in range(3)]
    case = Case(1024)
    case.check("the default stream")
    for turn in range(4):
        for stream in side:
            with torch.cuda.stream(stream):
                stream.wait_stream(torch.cuda.default_stream())
                case.check(f"a side stream, turn {turn}")


def adopted():
    try:
        tp.init(communicator="adopt")
        Case(512).check("adopted")
    except tilepost.Error as error:
        raise AssertionError(f"adopted: {error}") from error
    tp.release()


def fallbacks():
    os.environ["TILEPOST"] = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case = Case(64, dtype=torch.float32)
        case.check("float32")
        case.check("float32")
    texts = [str(each.message) for each in caught if "tilepost" in str(each.message)]
    assert len(texts) == 1 and "torch.float32 is not among the types" in texts[0], texts
    os.environ["TILEPOST"] = "off"
    Case(64).check("off")
    os.environ["TILEPOST"] = "strict"
    try:
        case.check("strict")
    except RuntimeError as error:
        assert "TILEPOST=strict" in str(error)
    else:
        raise AssertionError("strict ran PyTorch's own")


def lost_in(cycle, warm_up=3):
    """Bytes of the GPU's memory that cycles lose, behind those that warm up, and how many they are."""
    free, count = [], int(os.environ.get("CYCLES", "100"))
    for turn in range(count + warm_up):
        cycle(turn)
        dist.barrier()
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    lost = free[warm_up - 1] - free[-1]
    if RANK == 0:
        print(f"# lost {lost / 2**20:.2f} MiB in {count} cycles", flush=True)
    return lost


def cycles():
    """Communicator and operations, made, run and destroyed. What is still lost is of the driver, and does not grow."""
    case = Case(512)

    def cycle(turn):
        case.check(f"cycle {turn}")
        torch.cuda.synchronize()
        dist.barrier()
        tp.release()

    lost = lost_in(cycle)
    assert lost <= 8 * 2**20, f"{lost} bytes are lost"


def cycles_of_nccl():
    """What NCCL's communicators lose by themselves, in groups of PyTorch's own. No bound: it is not ours."""
    def cycle(_):
        group = dist.new_group(list(range(WORLD)))
        dist.all_reduce(torch.ones(1024, device="cuda"), group=group)
        torch.cuda.synchronize()
        dist.destroy_process_group(group)

    lost_in(cycle)


def times():
    case = Case(1024)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    case.check("first")
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    a, w, share_of_a = case.a[RANK], case.own_w, share(case.a[0])
    for name, call in (("gemm_all_reduce", lambda: tp.gemm_all_reduce(a, w)),
                       ("gemm_reduce_scatter", lambda: tp.gemm_reduce_scatter(a, w)),
                       ("all_gather_gemm", lambda: tp.all_gather_gemm(share_of_a, w)),
                       ("nothing but autograd", lambda: F.linear(a, w))):
        host = []
        with torch.no_grad():
            for _ in range(60):
                begin = time.perf_counter()
                call()
                host.append(time.perf_counter() - begin)
                torch.cuda.synchronize()
        host.sort()
        if RANK == 0:
            print(f"# {name}: {1e6 * host[len(host) // 2]:.1f} us of host time", flush=True)
    if RANK == 0:
        print(f"# three first calls and their operations: {first:.2f} s\n# {tp.memory()}", flush=True)


def main():
    kernels, parts, store = sys.argv[1:4]
    device, mode = 0 if os.environ.get("ONE_GPU") else RANK, os.environ.get("TILEPOST", "")
    torch.cuda.set_device(device)
    tp.use_catalogue(tilepost.Catalogue(kernels))
    dist.init_process_group("nccl", rank=RANK, world_size=WORLD, store=dist.FileStore(store, WORLD),
                            device_id=torch.device("cuda", device))
    for part in parts.split("+"):
        os.environ["TILEPOST"] = mode
        begin = time.monotonic()
        globals()[part]()
        torch.cuda.synchronize()
        dist.barrier()
        tp.release()
        if RANK == 0 and part != parts:
            print(f"# {part}: {time.monotonic() - begin:.1f} s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
