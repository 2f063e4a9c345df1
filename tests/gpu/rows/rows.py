#!/usr/bin/env python3
"""Times the rows of gemm_sm90 in the catalogue and fits what the planner's model knows of them.

Usage: tilepost list variants | rows.py units FOLDER UNITS   sources that time_rows.cu is compiled with
       tilepost list variants | rows.py shapes SEED COUNT LEAST_M MOST_M > SHAPES
                                                             random shapes, and for each the variants that
                                                             may be the fastest
       rows.py fit TIMES… [--judge TIMES…]                   Sm90Profile, and how good the choice by it is
       tilepost list variants | rows.py choose SEED COUNT    its tiles in the order in which they gain most for that
                                                             many random shapes, and what all behind it would add
       rows.py agrees TOOL SEED COUNT                        fails where the model here is not the tool's

To try tiles that the catalogue does not have, add them to it (generator/plan/kernels/sm90/tiles.cpp), build the tool, time and fit, and keep
those that `choose` has first.

TIMES is what time_rows printed. The model is that of predict_gemm.cpp, by_formula; times are cool, so `sustained`
is left out. A shape's logarithms are uniform: n is 1024 to 16384, k 512 to 8192, both multiples of 8.
"""

import collections
import json
import math
import pathlib
import random
import subprocess
import sys

# Constants of the machine, as in profile.cpp.
CLOCK_SMS, CLOCK_GAIN, MAX_GHZ, MEMORY, SUSTAINED = 128, 0.384, 1.95, 4.25e6, 0.95
SMS = {1: 132, 2: 132, 4: 120, 8: 120}  # on which clusters of so many CTAs find place
# Sm90Profile: the values of profile.cpp, and the first step of the search for better ones. `ghz` has no step:
# a faster clock has the effect of more efficiency, except at the bound MAX_GHZ. most_efficiency has none either: it
# is a bound that only large shapes show.
PROFILE = {"efficiency": 1.015, "most_efficiency": 0.978, "l2_bytes_per_clock": 94.5, "off_lines": 1.86,
           "off_sectors": 3.01, "fill_1": 1.94, "fill_2": 2.30, "fill_4": 2.01, "fill_8": 1.95, "sharpness": 7.9,
           "epilogue_cycles": 56, "turn_cycles": 6.2, "ghz": 1.6, "cluster_1": 0.993, "start_us": 2.31,
           "clusters_us": 1.34, "end_us": 0.074, "reads": 1.4, "writes": 2, "memory_sharpness": 3.8}
STEPS = {"efficiency": 0.02, "l2_bytes_per_clock": 5, "off_lines": 0.1, "off_sectors": 0.2, "fill_1": 0.1, "fill_2": 0.1,
         "fill_4": 0.1, "fill_8": 0.1, "sharpness": 2, "epilogue_cycles": 10, "turn_cycles": 5, "cluster_1": 0.02,
         "start_us": 0.3, "clusters_us": 0.3, "end_us": 0.02, "reads": 0.2, "writes": 0.3, "memory_sharpness": 1}
SWEEPS, FINEST = 60, 0.02  # of the search, and the part of the first step at which it ends
LIKELY, MOST_VARIANTS = 1.15, 24  # variants to time: within this part of the best prediction

Variant = collections.namedtuple("Variant", "row m n stages cluster across")
Time = collections.namedtuple("Time", "shape variant ctas us")


def parse(name):
    row, cluster = name.rsplit("_cluster", 1)
    fields = row.split("_")
    across = int(fields[4][1:]) if len(fields) > 4 else 1  # CTAs that have the tile's columns side by side
    return Variant(row, int(fields[0][1:]), int(fields[1][1:]), int(fields[3][1:]), int(cluster), across)


def swapped(variant):
    return "s" in variant.row.split("_")[2]


def name_of(tunables):
    kind = "pp" if tunables["PINGPONG"] == "1" else "c" + tunables["CONSUMERS"]
    kind += "s" if tunables["SWAP"] == "1" else ""
    across = f"_a{tunables['ACROSS']}" if "ACROSS" in tunables else ""
    return (f"m{tunables['TILE_M']}_n{tunables['TILE_N']}_{kind}_s{tunables['STAGES']}{across}"
            f"_cluster{tunables['CLUSTER']}")


def catalogue():
    """The rows' names and tunables: bf16, B of [n, k], nothing else asked for."""
    for line in sys.stdin:
        file, _, *words = line.split()
        values = dict(word.split("=") for word in words)
        plain = all(values[name] == "0" for name in ("ADD", "HELPER_BYTES", "NN", "PRECISE", "ROUTED") if name in values)
        if file != "gemm_sm90.cu" or not plain or not values["ELEMENT"].endswith("bf16"):
            continue
        numbers = {key: value for key, value in values.items() if value.isdigit()}
        yield name_of(values), " ".join(f"{key}={value}" for key, value in numbers.items())


def predict(shape, variant, ctas, p=PROFILE):
    m, n, k = shape
    high = -(-(-(-m // variant.m)) // variant.cluster) * variant.cluster
    waves = -(-high * -(-n // variant.n) * variant.across // ctas)
    columns = variant.n / variant.across  # of a CTA
    mates = variant.cluster * variant.across
    products = variant.m * columns / 32 / p["efficiency"]
    off_the_grid = 1 if k % 64 == 0 else p["off_lines"] if k % 16 == 0 else p["off_sectors"]
    delivery = (variant.m / variant.across + columns / variant.cluster) * 128 * off_the_grid / p["l2_bytes_per_clock"]
    fill = p[f"fill_{mates}"] * (variant.m + columns)
    sharp = p["sharpness"]
    stages = -(-k // 64)
    loop = stages * (products**sharp + delivery**sharp + fill**sharp) ** (1 / sharp)
    kind = variant.row.split("_")[2]
    turns, thousands = kind.startswith("pp"), variant.m * columns / 1000
    once = thousands * p["turn_cycles" if turns else "epilogue_cycles"]
    gain = p["cluster_1"] if mates == 1 else 1
    clock = p["ghz"] * gain
    wave = max(loop + once, stages * products * p["efficiency"] / p["most_efficiency"] * gain) / clock / 1000
    sharers = 1 if turns else 3 if kind.startswith("c3") else 2
    start = p["start_us"] + (p["clusters_us"] if mates > 1 else 0) + p["end_us"] * thousands / sharers
    memory = (p["reads"] * (m + n) * k * 2 + p["writes"] * m * n * 2) / MEMORY
    sharp = p["memory_sharpness"]
    computed = ((waves * wave) ** sharp + memory**sharp) ** (1 / sharp)
    computed *= max((ctas / CLOCK_SMS) ** CLOCK_GAIN, clock / MAX_GHZ)
    return max(start + computed, (m + n) * k * 2 / MEMORY)


def ctas_of(shape, variant):
    high = -(-(-(-shape[0] // variant.m)) // variant.cluster)
    clusters = high * -(-shape[1] // variant.n)
    mates = variant.cluster * variant.across
    fit = SMS[mates] // mates
    waves = -(-clusters // fit)
    return -(-clusters // waves) * mates


def read(paths):
    """The times, and of each shape that of the fastest cublasLt algorithm."""
    times, lt = [], {}
    for path in paths:
        for line in open(path):
            words = line.split()
            if words[:1] == ["shape"]:
                shape = tuple(map(int, words[1:4]))
            elif words[:1] == ["lt"]:
                lt[shape] = min(lt.get(shape, math.inf), float(words[4]))
            elif words[:1] == ["ours"]:
                times.append(Time(shape, parse(words[1]), int(words[2]), float(words[3])))
    return times, lt


def by_shape(times):
    shapes = collections.defaultdict(list)
    for time in times:
        shapes[time.shape].append(time)
    return shapes


def fit(times):
    """Least errors, those of variants near the best counted most."""
    best = {shape: min(t.us for t in of) for shape, of in by_shape(times).items()}
    weights = [1 / (1 + 12 * (t.us / best[t.shape] - 1)) for t in times]

    def error(profile):
        return sum(w * abs(math.log(predict(t.shape, t.variant, t.ctas, profile) / t.us)) ** 1.5
                   for w, t in zip(weights, times))

    profile, steps = dict(PROFILE), dict(STEPS)
    least = error(profile)
    for sweep in range(SWEEPS):
        for name in steps:
            for step in (steps[name], -steps[name]):
                other = {**profile, name: profile[name] + step}
                if other[name] > 0 and (now := error(other)) < least:
                    profile, least = other, now
                    break
            else:
                steps[name] /= 2
        print(f"sweep {sweep + 1}: {least / sum(weights):.5f}", file=sys.stderr)
        if all(steps[name] < FINEST * STEPS[name] for name in steps):
            break
    return profile


def judge(times, lt, profile):
    chosen, possible = [], []
    for shape, mine in by_shape(times).items():
        choice = min(mine, key=lambda t: predict(shape, t.variant, t.ctas, profile))
        chosen.append(lt[shape] / choice.us)
        possible.append(lt[shape] / min(t.us for t in mine))
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    print(f"{len(chosen)} shapes, of the best of 8 cublasLt: the model's choice {mean(chosen):.3f} (least "
          f"{min(chosen):.3f}), the best measured {mean(possible):.3f} (least {min(possible):.3f})")


def write_units(folder, units):
    variants = list(catalogue())
    for unit in range(units):
        mine = variants[unit::units]
        with open(f"{folder}/rows_{unit}.cu", "w") as out:
            out.write('#include "rows.h"\n#define tunable(name, fallback) configured(CONFIG, name, fallback)\n')
            for name, config in mine:
                out.write(f'#define CONFIG "{config}"\nnamespace {name} {{\n'
                          '#include "templates/gemm_sm90.cu"\n}\n#undef CONFIG\n')
            listed = ", ".join(f"TILEPOST_SM90({name}, true)" for name, _ in mine)
            out.write(f"#undef tunable\nstd::vector<plain::Kernel> rows_{unit}() {{ return {{{listed}}}; }}\n")
    declared = "".join(f"std::vector<plain::Kernel> rows_{unit}();\n" for unit in range(units))
    with open(f"{folder}/rows.h", "w") as out:
        out.write('#pragma once\n#include <vector>\n\n#include "tests/gpu/plain_launch.cuh"\n\n'
                  f"{declared}std::vector<plain::Kernel> all_rows();\n")
    added = "".join(f"  for (const plain::Kernel& row : rows_{unit}()) all.push_back(row);\n" for unit in range(units))
    with open(f"{folder}/rows.cu", "w") as out:
        out.write('#include "rows.h"\n\nstd::vector<plain::Kernel> all_rows() {\n'
                  f"  std::vector<plain::Kernel> all;\n{added}  return all;\n}}\n")


def shapes(seed, count, least, most):
    draw = random.Random(seed)
    uniform = lambda low, high: int(math.exp(draw.uniform(math.log(low), math.log(high))))
    for _ in range(count):
        yield uniform(least, most), uniform(1024, 16384) // 8 * 8, uniform(512, 8192) // 8 * 8


def write_shapes(seed, count, least, most):
    if least <= 128:
        sys.exit(f"rows of A from {least} on: up to 128 they are gemm_sm90_small's, which is not timed here; ask for 129")
    variants = [parse(name) for name, _ in catalogue()]
    for shape in shapes(seed, count, least, most):
        guess = lambda v: predict(shape, v, ctas_of(shape, v))
        ranked = sorted(variants, key=guess)
        likely = [v for v in ranked if guess(v) <= LIKELY * guess(ranked[0])][:MOST_VARIANTS]
        print(*shape, *(f"{v.row}_cluster{v.cluster}" for v in likely))


def choose(seed, count):
    """Half of the shapes have up to 2000 rows."""
    variants = [parse(name) for name, _ in catalogue()]
    tiles = sorted({v.row for v in variants})
    columns = {row: [] for row in tiles}
    for shape in (*shapes(seed, count // 2, 129, 16384), *shapes(seed + 1, count - count // 2, 129, 2000)):
        least = dict.fromkeys(tiles, math.inf)
        for v in variants:
            least[v.row] = min(least[v.row], predict(shape, v, ctas_of(shape, v)))
        for row in tiles:
            columns[row].append(math.log(least[row]))
    best = [min(logs) for logs in zip(*columns.values())]
    current = [math.inf] * count
    while columns:
        row = min(columns, key=lambda row: sum(map(min, current, columns[row])))
        current = list(map(min, current, columns.pop(row)))
        lost = [a - b for a, b in zip(current, best)]
        print(f"{row:<24} {math.expm1(sum(lost) / count):.4f} in the mean, {math.expm1(max(lost)):.3f} at most")


def check_agreement(tool, seed, count):
    """What the tool predicts, sustained and to a tenth of a microsecond, for the kernel that it chooses."""
    spec = pathlib.Path(__file__).parents[2] / "bench/shapes/gemm.yaml"
    profile = {**PROFILE, "ghz": PROFILE["ghz"] * SUSTAINED}
    compared, differing = 0, 0
    for shape in shapes(seed, count, 129, 16384):
        asked = [f"-Dgemm.{name}={value}" for name, value in zip("mnk", shape)]
        said = subprocess.run([tool, "explain", "--json", spec, *asked], check=True, stdout=subprocess.PIPE).stdout
        plan = json.loads(said)["plans"][0]
        if plan["kernel"]["name"] != "gemm_sm90":
            continue
        variant = parse(name_of(plan["kernel"]["tunables"]))
        ours, tools = predict(shape, variant, ctas_of(shape, variant), profile), plan["prediction"]["us"]
        compared += 1
        if abs(ours - tools) > 0.06 + 0.001 * tools:
            differing += 1
            print(f"{shape} by {variant}: {ours:.2f} us here, {tools} us by the tool")
    sys.exit(differing > 0 or compared < count / 2)


def main():
    args = sys.argv[2:]
    if sys.argv[1:2] == ["units"] and len(args) == 2:
        write_units(args[0], int(args[1]))
    elif sys.argv[1:2] == ["shapes"] and len(args) == 4:
        write_shapes(*map(int, args))
    elif sys.argv[1:2] == ["fit"] and args:
        split = args.index("--judge") if "--judge" in args else len(args)
        times, lt = read(args[:split])
        profile = fit(times)
        for name, value in profile.items():
            print(f"{name:<20} {value:.4g}")
        judge(times, lt, profile)
        if split < len(args):
            judge(*read(args[split + 1:]), profile)
    elif sys.argv[1:2] == ["choose"] and len(args) == 2:
        choose(*map(int, args))
    elif sys.argv[1:2] == ["agrees"] and len(args) == 3:
        check_agreement(args[0], *map(int, args[1:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
