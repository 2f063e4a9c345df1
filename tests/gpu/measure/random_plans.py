#!/usr/bin/env python3
"""Writes specs of random plans of every pattern by every transport, for measure.sh.

Usage: random_plans.py TILEPOST FOLDER RANKS PLANS SETS SEED

Each pattern gets PLANS specs by each transport that it can have, or fewer where `tilepost check` refuses most of what
is drawn. They are spread over the folders FOLDER/verify_0 and so on, SETS of them, so that each set has every pattern
by every transport. FOLDER/refused.txt says of each pair how many drawn specs were refused, and the last reason.
"""
import json
import math
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fuzz"))
import random_specs  # pylint: disable=wrong-import-position

SHORT = {"gemm_all_reduce": "ar", "gemm_reduce_scatter": "rs", "gemm_all_to_all": "a2a", "all_gather_gemm": "ag",
         "all_to_all_gemm": "in"}
TRANSPORTS = ("nccl", "nccl_symmetric", "host_copies", "copy_engine", "peer", "peer_tiles", "none")
# Kernels read rows of K and write rows of N whole where 16 bytes divide them. Other widths are drawn less often.
WIDTH = 8
# What one rank has no use for, though `tilepost check` takes it: an operation by these is for two or more.
SHARED = ("copy_engine", "peer", "peer_tiles")
TRIES = 6  # drawn specs for each one that is wanted


def size(draw, least, most):
    """A number whose logarithm is uniform, mostly a multiple of WIDTH where numbers are large."""
    value = int(math.exp(draw.uniform(math.log(least), math.log(most))))
    return value if value < 2 * WIDTH or draw.random() < 0.15 else value // WIDTH * WIDTH


def rows(draw, ranks, few):
    """Rows of the product: often such that ranks have equally many, otherwise any number."""
    value = size(draw, 1, 512 if few else 4096)
    return max(value // ranks, 1) * ranks if draw.random() < 0.6 else value


def schedule_of(draw, spec, any_m):
    """Random choices of the schedule that suit the spec."""
    schedule = {"layout": random_specs.choose_layout(draw, spec)}
    if spec["transport"] == "peer_tiles":
        schedule["layout"] = "panel"
        if spec["pattern"] in random_specs.SUMS:
            schedule["shots"] = draw.choice(["auto", "one", "two", "lines"])
    if spec["transport"] == "nccl" and spec["pattern"] not in random_specs.GATHERS and draw.random() < 0.4:
        schedule["lanes"] = draw.randint(1, 3)
    if spec["transport"] == "peer":
        schedule["layout"] = "panel"
        if spec["pattern"] in random_specs.SUMS and draw.random() < 0.5:
            schedule["sum"] = draw.choice(["staged", "added"])
    if any_m and spec.get("routing", "even") == "even" and draw.random() < 0.5:
        schedule["kernels"] = draw.randint(1, 4)
    return schedule


def spec_of(draw, name, pattern, transport, ranks):
    """A random spec, which need not be allowed."""
    few, any_m = transport == "peer_tiles", draw.random() < 0.3
    m, dtype = rows(draw, ranks, few), draw.choice(["bf16", "bf16", "f16", "e4m3"])
    gemm = {"m": {"max": m} if any_m else m, "n": size(draw, 8, 4096), "k": size(draw, 8, 2048), "a": dtype,
            "epilogue": random_specs.epilogue(draw, pattern) if draw.random() < 0.5 else []}
    if dtype == "e4m3":
        gemm["out"] = draw.choice(["bf16", "f16"])
    else:
        gemm["layout"] = draw.choice(["tn", "tn", "nn"])
    spec = {"tilepost": 1, "name": name, "pattern": pattern, "ranks": ranks, "arch": "sm_90a", "transport": transport,
            "gemm": gemm}
    if pattern in random_specs.ROUTED:
        even = few or transport == "peer"
        spec["routing"] = "even" if even else draw.choice(["even", "splits", "rows"])
    if draw.random() < 0.15:
        spec["neighbours"] = True
    spec["schedule"] = {"layout": "panel"}
    spec["schedule"] = schedule_of(draw, {**spec, "routing": spec.get("routing", "even")}, any_m)
    if pattern in random_specs.SUMS:
        spec["consumer"] = random_specs.choose_consumer(draw, spec, any_m)
    elif spec["schedule"]["layout"] == "tile":
        spec["consumer"] = "unpermute"
    return spec


def accepted(tool, folder, specs):
    """Of the specs those that `tilepost check` accepts, and the reasons for which it refuses others."""
    paths = []
    for spec in specs:
        paths.append(folder / f"{spec['name']}.yaml")
        paths[-1].write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
    result = subprocess.run([tool, "check", "--json", *paths], stdout=subprocess.PIPE, text=True, check=False)
    document = json.loads(result.stdout)
    if result.returncode not in (0, 1):
        sys.exit(f"check ended with {result.returncode}: {document['diagnostics']}")
    verdicts = {pathlib.Path(each["file"]).name: each["ok"] for each in document["specs"]}
    good = [spec for path, spec in zip(paths, specs) if verdicts[path.name]]
    for path in paths:
        path.unlink()
    reasons = [each["message"] for each in document["diagnostics"] if each["severity"] == "error"]
    return good, reasons


def plans_of(tool, folder, pattern, transport, ranks, count, seed):
    """Up to `count` accepted specs, and how many others were refused with what last reason."""
    draw = random.Random(f"{seed} {pattern} {transport} {ranks}")
    good, refused, reason, drawn = [], 0, "", 0
    while len(good) < count and drawn < TRIES * count:
        batch = [spec_of(draw, f"{SHORT[pattern]}_{transport}_{drawn + index}", pattern, transport, ranks)
                 for index in range(count - len(good))]
        drawn += len(batch)
        fine, reasons = accepted(tool, folder, batch)
        good += fine
        refused += len(batch) - len(fine)
        reason = reasons[-1] if reasons else reason
    return good, refused, reason


def main():
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    ranks, count, sets, seed = map(int, sys.argv[3:])
    folders = [folder / f"verify_{number}" for number in range(sets)]
    for each in folders:
        each.mkdir(parents=True, exist_ok=True)
    notes, total, pairs = [], 0, 0
    for pattern in SHORT:
        for transport in TRANSPORTS:
            if ranks == 1 and transport in SHARED:
                continue
            good, refused, reason = plans_of(tool, folder, pattern, transport, ranks, count, seed)
            for index, spec in enumerate(good):
                path = folders[index * sets // count] / f"{spec['name']}.yaml"
                path.write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
            total, pairs = total + len(good), pairs + bool(good)
            if refused:
                notes.append(f"{pattern} by {transport}: {len(good)} plans, {refused} refused, the last: {reason}\n")
    (folder / "refused.txt").write_text("".join(notes), encoding="utf-8")
    print(f"{total} random plans of {pairs} pairs of pattern and transport, seed {seed}")
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main())
