#!/usr/bin/env python3
"""Shapes that measure.sh measures, and tables of what it has measured.

Usage: bench_points.py shapes KIND SEED COUNT    random shapes, a word MxNxK each
       bench_points.py table RESULTS             bench_*.json and torch_*.json of this folder, side by side
       bench_points.py below FILE                the points of `bench --json FILE` that in graphs take longer than the
                                                 sequence, behind a line that counts them

Logarithms of sizes are uniform. m and n are 2048 to 16384 and k 1024 to 8192, and products take less than 2.5 ms at
600 TFLOP/s. Of kind `large` they are multiples of 8, of kind `scaled` of 16, as e4m3 needs it. Of kind `scaled_few` m
is 1 to 512, any number, and each shape has its part of that range.
"""
import json
import math
import pathlib
import random
import statistics
import sys

MOST_MS, FLOP_PER_MS, FEW_ROWS = 2.5, 600e9, 512
KINDS = ("large", "scaled", "scaled_few")
MODES = {"overlap": "us", "graph": "graph_us"}  # of tilepost, and the keys of PyTorch's times beside them


def shapes(kind, seed, count):
    draw, chosen = random.Random(f"{kind} {seed}"), []
    stratum = FEW_ROWS ** (1 / count)
    width = 8 if kind == "large" else 16

    def uniform(least, most):
        return int(math.exp(draw.uniform(math.log(least), math.log(most)))) // width * width

    while len(chosen) < count:
        few = round(stratum ** (len(chosen) + draw.random()))
        m = few if kind == "scaled_few" else uniform(2048, 16384)
        n, k = uniform(2048, 16384), uniform(1024, 8192)
        if 2 * m * n * k / FLOP_PER_MS < MOST_MS:
            chosen.append(f"{m}x{n}x{k}")
    return chosen


def read(path):
    if not path.exists():
        return {}
    return json.loads(path.read_text(encoding="utf-8"))


def torch_times(document):
    """The medians of PyTorch's fused operations, of AllReduce the better of two, by pattern, shape and mode."""
    times = {}
    for point in document.get("points", []):
        for mode, key in MODES.items():
            if point.get(key, {}).get("fused"):
                shape = f"{point['m']}x{point['n']}x{point['k']}"
                times[point["pattern"], shape, mode] = statistics.median(point[key]["fused"])
    return times


def lines_of(name, folder):
    """A row for each point and mode, and the ratios by pattern and mode."""
    beside = torch_times(read(folder / f"torch_{name}.json"))
    rows, ratios = [], {}
    for point in read(folder / f"bench_{name}.json").get("points", []):
        shape, pattern = f"{point['m']}x{point['n']}x{point['k']}", point["pattern"]
        for mode in point["modes"]:
            us = mode["us"]
            if mode["mode"] not in MODES or "ours" not in us or "sequence" not in us:
                continue
            ours, sequence = us["ours"]["median"], us["sequence"]["median"]
            fused = beside.get((pattern, shape, mode["mode"]))
            kept = ratios.setdefault((pattern, mode["mode"]), ([], []))
            kept[0].append(sequence / ours)
            kept[1].extend([fused / ours] if fused else [])
            rows.append(f"| {pattern} | {shape} | {mode['mode']} | {point['plan']['transport']} | {ours:.1f} | "
                        f"{sequence / ours:.2f} | " + (f"{fused:.1f} | {fused / ours:.2f} |" if fused else "| |"))
    return rows, ratios


def mean(values):
    return f"{math.exp(sum(map(math.log, values)) / len(values)):.3f} (least {min(values):.3f})" if values else ""


def table(folder):
    for name in ("six", "random", "few"):
        rows, ratios = lines_of(name, folder)
        if not rows:
            print(f"# nothing of bench_{name}")
            continue
        print(f"# {name}: us, and how many times as long the others take\n")
        print("| pattern | shape | mode | transport | us | sequence | PyTorch us | PyTorch |\n|" + "---|" * 8)
        print("\n".join(rows) + "\n")
        print("| geometric means | mode | sequence | PyTorch |\n|" + "---|" * 4)
        for (pattern, mode), (sequence, fused) in ratios.items():
            print(f"| {pattern} | {mode} | {mean(sequence)} | {mean(fused)} |")
        print()


def below(path):
    ratios = {}
    for point in read(path).get("points", []):
        for mode in point["modes"]:
            us = mode["us"]
            if mode["mode"] == "graph" and "ours" in us and "sequence" in us:
                ratios[point["name"]] = us["sequence"]["median"] / us["ours"]["median"]
    slower = {name: ratio for name, ratio in ratios.items() if ratio < 1}
    print(f"{len(slower)} of {len(ratios)} points in graphs are below the sequence")
    for name, ratio in slower.items():
        print(f"{name}: {ratio:.3f}")


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "shapes" and sys.argv[2] in KINDS:
        print("\n".join(shapes(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    elif len(sys.argv) == 3 and sys.argv[1] == "table":
        table(pathlib.Path(sys.argv[2]))
    elif len(sys.argv) == 3 and sys.argv[1] == "below":
        below(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
