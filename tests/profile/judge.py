#!/usr/bin/env python3
"""How far a profile's predictions are off on shapes that nothing was fitted to.

Usage: judge.py shapes SEED COUNT     random shapes, a word --shape MxNxK each
       judge.py errors JSON…          what `tilepost bench --json` wrote: predicted against measured
       judge.py agrees                fails where its own arithmetic is wrong

Shapes: m and n are 2048 to 8192, k 4096 to 28672, multiples of 256, their logarithms uniform. `tilepost profile` draws
its products with seeds 4201 and 4202.
"""

import json
import math
import random
import sys


def shapes(seed, count):
    draw = random.Random(seed)
    uniform = lambda low, high: int(math.exp(draw.uniform(math.log(low), math.log(high)))) // 256 * 256
    return [(uniform(2048, 8192), uniform(2048, 8192), uniform(4096, 28672)) for _ in range(count)]


def errors_of(document):
    """(what, predicted, measured) of every point from end to end, and of its sequence."""
    for point in document["points"]:
        plan = point["plan"]
        for mode in point["modes"]:
            if mode["mode"] != "overlap":
                continue
            name = f"{point['name']} {point['m']}x{point['n']}x{point['k']} {plan['transport']}"
            us = mode["us"]
            yield name, plan["predicted_us"], us["ours"]["median"]
            if "sequence" in us and plan["predicted_sequence_us"] > 0:
                yield name + " in sequence", plan["predicted_sequence_us"], us["sequence"]["median"]


def summary(parts):
    return f"mean {100 * sum(parts) / len(parts):.1f} %, worst {100 * max(parts):.1f} %, of {len(parts)}"


def print_errors(paths):
    ours, sequences = [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for name, predicted, measured in errors_of(json.load(file)):
                off = predicted / measured - 1
                print(f"{name:<64} predicted {predicted:8.1f} us, measured {measured:8.1f} us, {100 * off:+.1f} %")
                (sequences if name.endswith("in sequence") else ours).append(abs(off))
    for what, parts in (("operations", ours), ("sequences", sequences)):
        if parts:
            print(f"{what}: {summary(parts)}")
    sys.exit(not ours)


def check_itself():
    document = {"points": [{"name": "a", "m": 1, "n": 2, "k": 3,
                            "plan": {"transport": "nccl", "predicted_us": 110, "predicted_sequence_us": 90},
                            "modes": [{"mode": "cool", "us": {}},
                                      {"mode": "overlap", "us": {"ours": {"median": 100},
                                                                 "sequence": {"median": 100}}}]}]}
    found = list(errors_of(document))
    assert found == [("a 1x2x3 nccl", 110, 100), ("a 1x2x3 nccl in sequence", 90, 100)], found
    assert summary([0.1, 0.3]) == "mean 20.0 %, worst 30.0 %, of 2"
    assert shapes(7, 3) == shapes(7, 3) != shapes(8, 3)
    assert all(2048 <= m <= 8192 and 4096 <= k <= 28672 for m, _, k in shapes(1, 200))


def main():
    if sys.argv[1:2] == ["shapes"] and len(sys.argv) == 4:
        print(" ".join(f"--shape {m}x{n}x{k}" for m, n, k in shapes(*map(int, sys.argv[2:]))))
    elif sys.argv[1:2] == ["errors"] and len(sys.argv) > 2:
        print_errors(sys.argv[2:])
    elif sys.argv[1:] == ["agrees"]:
        check_itself()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
