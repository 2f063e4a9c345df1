#!/usr/bin/env python3
"""Verifies random specs on the host target.

Usage: random_specs.py TILEPOST [--count N] [--seed S] [--batch B] [--keep DIR]

Makes specs of small shapes by the seed: every pattern, transport, layout, type, epilogue, routing and
consumer, one m and any m, for the host target and for GPUs, whose plans run there as twins. What
`tilepost check` refuses is left out and counted; N that it accepts go to `tilepost verify`, B in a call.
Exit code 1 if a check failed, or if most specs were refused, which says that this script knows the rules
no more.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

SUMS = ("gemm_all_reduce", "gemm_reduce_scatter")
ROUTED = ("gemm_all_to_all", "all_to_all_gemm")
GATHERS = ("all_gather_gemm", "all_to_all_gemm")
PATTERNS = ("gemm", *SUMS, *ROUTED, "all_gather_gemm")
NORMS = ("rms_norm", "residual_rms_norm")


def size(random_, most):
    """Often at the edge of tiles and vectors, otherwise anything."""
    edges = [1, 7, 8, 16, 31, 32, 33, 64, 65, 127, 128, 129, 256, 257]
    value = random_.choice(edges) if random_.random() < 0.5 else random_.randint(1, most)
    return min(value, most)


def epilogue(random_, pattern):
    scales = random_.choice([[], ["scale"], ["scale_rows"], ["scale_columns"], ["scale_rows", "scale_columns"]])
    operations = scales + random_.choice([[], ["bias"]])
    if pattern not in SUMS:
        operations += random_.choice([[], ["gelu"], ["silu"]]) + random_.choice([[], ["residual"]])
    return operations


def choose_transport(random_, spec):
    if spec["pattern"] == "gemm" or (spec["pattern"] in GATHERS and spec.get("neighbours")):
        return random_.choice(["auto", "none"])
    choices = ["auto", "nccl", "none", "host_copies"]
    if spec["pattern"] != "all_to_all_gemm":
        choices.append("nccl_symmetric")
    reaches_others = spec["ranks"] > 1 or spec["arch"] == "host"  # a rank alone on a GPU does not
    if spec["schedule"]["layout"] != "tile" and reaches_others:
        choices += ["copy_engine"] * 2
        if spec["routing"] == "even" and spec["arch"] != "sm_80":
            choices += ["peer"] * 2
            few = spec["pattern"] != "all_to_all_gemm" and spec["ranks"] > 1 and not spec.get("neighbours")
            choices += ["peer_tiles"] * 3 if few else []
    return random_.choice(choices)


def choose_layout(random_, spec):
    if spec["pattern"] in GATHERS or spec["routing"] == "rows":
        return "panel"
    return random_.choice(["panel", "tile"])


def choose_consumer(random_, spec, any_m):
    tiles = spec["schedule"]["layout"] == "tile"
    choices = ["unpermute"] if tiles else ["none"]
    if tiles and not (any_m and spec["pattern"] in ("gemm", "gemm_all_reduce")):
        choices.append("none")
    if spec["pattern"] in ("gemm", *SUMS):
        choices += NORMS
    return random_.choice(choices)


def make_spec(random_, name):
    pattern = random_.choice(PATTERNS)
    m, any_m = size(random_, 300), random_.random() < 0.3
    arch = random_.choice(["host", "host", "host", "sm_90a", "sm_80"])
    dtype = random_.choice(["bf16", "f16"] if arch == "sm_80" else ["bf16", "f16", "e4m3"])
    gemm = {"m": {"max": m} if any_m else m, "n": size(random_, 300), "k": size(random_, 200), "a": dtype,
            "epilogue": epilogue(random_, pattern)}
    if dtype == "e4m3":
        gemm["out"] = random_.choice(["bf16", "f16"])
        gemm["accumulate"] = random_.choice(["precise", "fast"])
    else:
        gemm["layout"] = random_.choice(["tn", "nn"])
    spec = {"tilepost": 1, "name": name, "pattern": pattern, "ranks": random_.choice([1, 2, 2, 3, 4, 5]),
            "routing": random_.choice(["even", "splits", "rows"]) if pattern in ROUTED else "even",
            "gemm": gemm, "arch": arch, "schedule": {}}
    if random_.random() < 0.3:
        spec["neighbours"] = random_.random() < 0.8
    schedule = spec["schedule"]
    schedule["layout"] = choose_layout(random_, spec)
    spec["transport"] = choose_transport(random_, spec)
    spec["consumer"] = choose_consumer(random_, spec, any_m)
    if arch == "host" and random_.random() < 0.8:
        schedule["tile"] = [random_.choice([16, 32, 64]), random_.choice([16, 32, 64])]
    if pattern not in ("gemm", *GATHERS) and random_.random() < 0.4:
        schedule["lanes"] = random_.randint(1, 3)
    if spec["transport"] == "peer" and pattern in SUMS and random_.random() < 0.5:
        schedule["sum"] = random_.choice(["staged", "added"])
    if any_m and spec.get("routing", "even") == "even" and random_.random() < 0.5:
        schedule["kernels"] = random_.randint(1, 4)
    if arch == "host" and random_.random() < 0.3:
        schedule["sms"] = random_.randint(3, 8)
    if pattern not in ROUTED:
        del spec["routing"]
    elif pattern == "all_to_all_gemm" and spec["routing"] != "even" and random_.random() < 0.5:
        spec["max_received"] = random_.randint(1 if any_m else m, spec["ranks"] * m)
    return spec


def accepted_specs(tilepost, random_, count, folder):
    """`count` files that check accepts, and how many it refused."""
    files, refused, made = [], 0, 0
    while len(files) < count:
        batch = []
        for _ in range(count - len(files)):
            path = folder / f"random_{made}.yaml"
            path.write_text(json.dumps(make_spec(random_, f"random_{made}"), indent=1), encoding="utf-8")
            batch.append(path)
            made += 1
        result = subprocess.run([tilepost, "check", "--json", *batch], stdout=subprocess.PIPE, text=True, check=False)
        document = json.loads(result.stdout)
        if result.returncode not in (0, 1):
            sys.exit(f"check ended with {result.returncode}: {document['diagnostics']}")
        for path, spec in zip(batch, document["specs"]):
            if spec["ok"]:
                files.append(path)
            else:
                refused += 1
        if refused > made / 2 and made >= 20:
            reasons = {each["message"] for each in document["diagnostics"] if each["severity"] == "error"}
            sys.exit(f"{refused} of {made} specs were refused: " + "; ".join(sorted(reasons)))
    return files, refused


def verify(tilepost, files, seed):
    """True if all passed; prints what did not, with its spec."""
    command = [tilepost, "verify", "--target", "host", "--runs", "1", "--seed", str(seed), *files]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = result.stdout.splitlines()
    if result.returncode == 0:
        print(lines[-1])
        return True
    print(f"verify ended with exit code {result.returncode}")
    print("\n".join(line for line in lines if not line.startswith(("ok ", "skip "))))
    for path in files:
        if any(line.startswith("FAIL") and path.stem in line.split() for line in lines):
            print(f"{path}:\n{path.read_text(encoding='utf-8')}")
    return False


def run(options, folder):
    random_ = random.Random(options.seed)
    files, refused = accepted_specs(options.tilepost, random_, options.count, folder)
    print(f"seed {options.seed}: {len(files)} specs, {refused} others refused")
    batches = [files[i:i + options.batch] for i in range(0, len(files), options.batch)]
    passed = [verify(options.tilepost, batch, options.seed) for batch in batches]
    return 0 if all(passed) else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tilepost")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--keep", help="folder for the specs, in place of a temporary one")
    options = parser.parse_args()
    if options.keep:
        folder = pathlib.Path(options.keep)
        folder.mkdir(parents=True, exist_ok=True)
        return run(options, folder)
    with tempfile.TemporaryDirectory() as folder:
        return run(options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
