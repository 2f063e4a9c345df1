#!/usr/bin/env python3
"""Times the rows of gemm_sm90 in the catalogue and fits what the planner's model knows of them.

Usage: tilepost list variants | rows.py units FOLDER UNITS   sources that time_rows.cu is compiled with
       tilepost list variants | rows.py shapes SEED COUNT LEAST_M MOST_M > SHAPES
                                                             random shapes, and for each the variants that
                                                             may be the fastest
       rows.py fit TIMES… [--judge TIMES…]                   efficiency, cycles of the epilogue and clock of
                                                             every row; and how good the choice by them is

TIMES is what time_rows printed. The model is that of predict_gemm.cpp, its constants those of profile.cpp.
A shape's logarithms are uniform: n is 1024 to 16384, k 512 to 8192, both multiples of 8.
"""

import collections
import math
import random
import sys

# Of the machine: profile.cpp. Times are cool, so `sustained` is left out.
L2_BYTES, UNALIGNED, SHORT, START, CLOCK_GAIN, MAX_GHZ, MEMORY = 46, 1.36, 1.02, 3.9, 0.384, 1.95, 4.25e6
LAST_TURN = 1.5
CLUSTER_CLOCK = {1: 0.98, 2: 1.0, 4: 1.012, 8: 0.95}
SMS = {1: 132, 2: 132, 4: 120, 8: 120}
# Rows that were fitted to shapes of full waves, and that are used beside collectives: they stay.
KEPT = {"m128_n256_c2_s3": (0.995, 890, 1.587), "m128_n192_pp_s5": (0.995, 0, 1.565),
        "m256_n192_c2_s3": (0.995, 1960, 1.618), "m128_n128_pp_s6": (0.995, 0, 1.570),
        "m128_n256_c2_s4": (0.995, 1090, 1.585), "m256_n128_c2_s4": (0.995, 850, 1.553),
        "m128_n192_c2_s4": (0.995, 810, 1.560), "m128_n128_c2_s5": (0.995, 600, 1.560)}
TYPICAL = (0.97, 700, 1.57)
LIKELY, MOST_VARIANTS = 1.15, 24  # variants to time: within this part of the best prediction

Variant = collections.namedtuple("Variant", "row m n stages cluster across")
Time = collections.namedtuple("Time", "shape variant ctas us")


def parse(name):
    row, cluster = name.rsplit("_cluster", 1)
    fields = row.split("_")
    across = int(fields[4][1:]) if len(fields) > 4 else 1  # CTAs that have the tile's columns side by side
    return Variant(row, int(fields[0][1:]), int(fields[1][1:]), int(fields[3][1:]), int(cluster), across)


def catalogue():
    """The rows' names and tunables: bf16, B of [n, k], nothing else asked for."""
    for line in sys.stdin:
        file, _, *words = line.split()
        values = dict(word.split("=") for word in words)
        plain = all(values[name] == "0" for name in ("ADD", "HELPER", "NN", "PRECISE", "ROUTED") if name in values)
        if file != "gemm_sm90.cu" or not plain or not values["ELEMENT"].endswith("bf16"):
            continue
        kind = "pp" if values["PINGPONG"] == "1" else "c" + values["CONSUMERS"]
        kind += "s" if values["SWAP"] == "1" else ""
        across = f"_a{values['ACROSS']}" if "ACROSS" in values else ""
        name = (f"m{values['TILE_M']}_n{values['TILE_N']}_{kind}_s{values['STAGES']}{across}"
                f"_cluster{values['CLUSTER']}")
        numbers = {key: value for key, value in values.items() if value.isdigit()}
        yield name, " ".join(f"{key}={value}" for key, value in numbers.items())


def predict(shape, variant, ctas, row):
    m, n, k = shape
    efficiency, epilogue, ghz = row
    high = -(-(-(-m // variant.m)) // variant.cluster) * variant.cluster
    waves = -(-high * -(-n // variant.n) * variant.across // ctas)
    aligned = k % 16 == 0
    columns = variant.n / variant.across  # of a CTA
    multiply = variant.m * columns / 32 / efficiency
    rows = variant.m / variant.across + columns / variant.cluster
    deliver = rows * 128 * (1 if aligned else UNALIGNED) / L2_BYTES
    wait = 1 if aligned or variant.stages > 3 else SHORT
    cycles = -(-k // 64) * max(multiply, deliver) * wait + epilogue
    clock = ghz * CLUSTER_CLOCK[variant.cluster * variant.across]
    wave = cycles / clock / 1000 * max((ctas / 128) ** CLOCK_GAIN, clock / MAX_GHZ)
    start = START + (LAST_TURN if "_pp_" in variant.row else 0)
    return max(start + waves * wave, (m + n) * k * 2 / MEMORY)


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
    """Least errors, those of variants near the best counted most; typical values where there are few."""
    best = {shape: min(t.us for t in of) for shape, of in by_shape(times).items()}
    of_row = collections.defaultdict(list)
    for time in times:
        of_row[time.variant.row].append(time)
    rows = {}
    for name, mine in sorted(of_row.items()):
        def error(row):
            total = weights = 0
            for t in mine:
                weight = 1 / (1 + 12 * (t.us / best[t.shape] - 1))
                total += weight * abs(math.log(predict(t.shape, t.variant, t.ctas, row) / t.us)) ** 1.5
                weights += weight
            far = (math.log(row[0] / TYPICAL[0]) / 0.05, (row[1] - TYPICAL[1]) / 900, math.log(row[2] / TYPICAL[2]) / 0.03)
            return total / weights + 0.3 / len(mine) * sum(x * x for x in far)
        row, step = KEPT.get(name, TYPICAL), [0.02, 200, 0.01]
        least = error(row)
        for _ in range(0 if name in KEPT else 200):
            for i in range(3):
                for sign in (1, -1):
                    other = list(row)
                    other[i] += sign * step[i]
                    if other[0] > 0.995 or other[1] < 0 or (now := error(other)) >= least:
                        continue
                    row, least = tuple(other), now
                    break
                else:
                    step[i] /= 2
        rows[name] = row
    return rows


def judge(times, lt, rows):
    chosen, possible = [], []
    for shape, mine in by_shape(times).items():
        choice = min(mine, key=lambda t: predict(shape, t.variant, t.ctas, rows[t.variant.row]))
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


def write_shapes(seed, count, least, most):
    variants = [parse(name) for name, _ in catalogue()]
    draw = random.Random(seed)
    uniform = lambda low, high: int(math.exp(draw.uniform(math.log(low), math.log(high))))
    for _ in range(count):
        shape = uniform(least, most), uniform(1024, 16384) // 8 * 8, uniform(512, 8192) // 8 * 8
        guess = lambda v: predict(shape, v, ctas_of(shape, v), KEPT.get(v.row, TYPICAL))
        ranked = sorted(variants, key=guess)
        likely = [v for v in ranked if guess(v) <= LIKELY * guess(ranked[0])][:MOST_VARIANTS]
        print(*shape, *(f"{v.row}_cluster{v.cluster}" for v in likely))


def main():
    args = sys.argv[2:]
    if sys.argv[1:2] == ["units"] and len(args) == 2:
        write_units(args[0], int(args[1]))
    elif sys.argv[1:2] == ["shapes"] and len(args) == 4:
        write_shapes(*map(int, args))
    elif sys.argv[1:2] == ["fit"] and args:
        split = args.index("--judge") if "--judge" in args else len(args)
        times, lt = read(args[:split])
        rows = fit(times)
        for name, (efficiency, epilogue, ghz) in rows.items():
            print(f"{name:<20} {efficiency:.3f}, {epilogue:.0f}, {ghz:.3f}")
        judge(times, lt, rows)
        if split < len(args):
            judge(*read(args[split + 1:]), rows)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
