#!/usr/bin/env python3
"""Compares the planner's choice and `tilepost tune` with a wider search, on GPUs.

Usage: search.py <tilepost> <folder> [--ranks N] [--shapes N] [--seed N] [--machine M] [--patterns a,b]

For shapes drawn by the seed, m and n of 2048 to 8192 and k of 4096 to 28672, and each pattern: tunes with the defaults,
then measures up to 48 plans for up to five minutes. Of the wider search, in which all plans ran interleaved, it prints
how fast the planner's choice and what the defaults chose are beside the best, and the seconds that the defaults took.
Files stay in the folder, so a second call goes on. Standard library only.
"""

import argparse
import math
import pathlib
import random
import re
import subprocess
import time

PATTERNS = ["gemm_reduce_scatter", "gemm_all_reduce", "gemm_all_to_all", "all_gather_gemm"]


def draw_shapes(seed, count):
    rows = random.Random(seed)
    return [(rows.randrange(2048, 8193, 256), rows.randrange(2048, 8193, 256), rows.randrange(4096, 28673, 512))
            for _ in range(count)]


def measured(path):
    """The measured plans of a tuning file's only entry, the fastest first: what -> (us, samples)."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'- what: "(.*)"\n +us: (\S+)\n(?: +\w+: \S+\n)*? +samples: (\d+)', text)
    return {what: (float(us), int(samples)) for what, us, samples in found}


def tune(tool, spec, target, flags):
    begin = time.monotonic()
    done = subprocess.run([tool, "tune", str(spec), "-o", str(target), *flags], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(done.stdout, done.stderr)
        return None
    return time.monotonic() - begin, done.stdout


def choice_of(tool, spec, flags):
    """The planner's choice as `tune` words it: that of one candidate."""
    target = spec.with_suffix(".choice.yaml")
    tune(tool, spec, target, [*flags, "--candidates", "1", "--seconds", "10"])
    return next(iter(measured(target)), None) if target.exists() else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--shapes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=4242)
    parser.add_argument("--machine", default="")
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    machine = ["--machine", given.machine] if given.machine else []
    automatic, tuned, seconds = [], [], []
    for pattern in given.patterns.split(","):
        for m, n, k in draw_shapes(given.seed, given.shapes):
            name = f"{pattern}_{m}x{n}x{k}"
            spec = given.folder / f"{name}.yaml"
            spec.write_text(f"tilepost: 1\nname: {pattern}\npattern: {pattern}\nranks: {given.ranks}\narch: sm_90a\n"
                            f"gemm: {{m: {m}, n: {n}, k: {k}, a: bf16}}\n", encoding="utf-8")
            few, many = spec.with_suffix(".few.yaml"), spec.with_suffix(".many.yaml")
            fresh = not few.exists()
            short = tune(given.tool, spec, few, machine)
            long = tune(given.tool, spec, many, [*machine, "--candidates", "48", "--seconds", "300"])
            choice = choice_of(given.tool, spec, machine)
            if short is None or long is None or choice is None:
                print(f"{name}: FAIL", flush=True)
                continue
            all_plans = measured(many)
            best = min(us for us, samples in all_plans.values()
                       if samples == max(count for _, count in all_plans.values()))
            winner = next(iter(measured(few)))
            if fresh:
                seconds.append(short[0])
            line = [f"{name:45} best {best:8.1f} us of {len(all_plans)}"]
            for what, label, into in [(choice, "planner", automatic), (winner, "tune", tuned)]:
                if what in all_plans:
                    into.append(best / all_plans[what][0])
                    line.append(f"{label} {into[-1]:.3f}")
                else:
                    line.append(f"{label} -")
            print(", ".join(line), f"tune took {short[0]:.0f} s", flush=True)
    print(f"geometric means: planner {geometric_mean(automatic):.4f}, tune {geometric_mean(tuned):.4f}; least: planner "
          f"{min(automatic, default=0):.3f}, tune {min(tuned, default=0):.3f}; most seconds {max(seconds, default=0):.0f}")


if __name__ == "__main__":
    main()
