#!/usr/bin/env python3
"""Prints a Markdown table of what ampere.sh has measured.

table.py GEMM.json SIGNALS.json CUBLAS.txt

GEMM.json is of pattern gemm, and SIGNALS.json of a pattern that communicates, both by `tilepost bench --json`.
CUBLAS.txt is by cublas_ampere. Ratios are the other's time over ours, so above 1 ours is faster.
"""
import json
import math
import sys


def points(path):
    """The medians of the points of a file, by shape: of woven and un-woven kernel, and cuBLASLt."""
    found = {}
    for point in json.load(open(path, encoding="utf-8"))["points"]:
        for mode in point["modes"]:
            medians = {name: summary["median"] for name, summary in mode["us"].items()}
            found[point["m"], point["n"], point["k"]] = (point["plan"], medians)
    return found


def cublas(path):
    """By shape: microseconds and kernel of cuBLASLt's fastest, and of the fastest of Ampere's (0 if there is none)."""
    found = {}
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if words[0] != "#":
            m, n, k = map(int, words[:3])
            found[m, n, k] = (float(words[3]), words[4], float(words[5]), words[6])
    return found


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def number(value, digits):
    """The value, or a dash if there is none."""
    return f"{value:.{digits}f}" if value else "–"


def main():
    alone, signals, library = points(sys.argv[1]), points(sys.argv[2]), cublas(sys.argv[3])
    print("| m x n x k | tile, stages | woven | plain | signals | Ampere's of cuBLASLt | ratio | cuBLASLt | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    of_ampere, of_all, costs = [], [], []
    for shape, (plan, us) in alone.items():
        best, _, ampere, kernel = library.get(shape, (0, "-", 0, "-"))
        best = min([time for time in (best, us.get("cublaslt")) if time], default=None)
        raised = signals[shape][1] if shape in signals else None
        ratios = [(raised["plain"] / raised["ours"] if raised else None, costs),
                  (ampere / us["ours"] if ampere else None, of_ampere), (best / us["ours"] if best else None, of_all)]
        for ratio, all_of_them in ratios:
            if ratio:
                all_of_them.append(ratio)
        cost, over_ampere, over_all = (ratio for ratio, _ in ratios)
        print(f"| {shape[0]}x{shape[1]}x{shape[2]} | {'x'.join(map(str, plan['tile']))}, {plan['stages']} "
              f"| {us['ours']:.1f} | {us['plain']:.1f} | {number(cost, 3)} | {number(ampere, 1)} `{kernel}` "
              f"| {number(over_ampere, 2)} | {number(best, 1)} | {number(over_all, 2)} |")
    print(f"| geometric mean | | | | {number(mean(costs), 3)} | | {number(mean(of_ampere), 2)} | "
          f"| {number(mean(of_all), 2)} |")


if __name__ == "__main__":
    main()
