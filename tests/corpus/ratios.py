#!/usr/bin/env python3
"""How long woven kernels take beside themselves as they are unwoven: a line for each program of a bench's records.

Usage: ratios.py RECORDS   what a harness of `tilepost bench` has printed

The ratio is woven / unwoven of the same round, the median over the rounds, by mode; its quartiles are in brackets.
"""

import collections
import json
import statistics
import sys

ratios = collections.defaultdict(list)
for line in open(sys.argv[1]):
    record = json.loads(line) if line.startswith("{") else {}
    if record.get("record") == "sample" and record["us"].get("plain"):
        ratios[record["program"], record["mode"]].append(record["us"]["ours"] / record["us"]["plain"])
for (program, mode), values in ratios.items():
    low, middle, high = statistics.quantiles(values, n=4)
    print(f"{program:24} {mode:10} {middle:.3f} ({low:.3f} to {high:.3f}), {len(values)} rounds")
if not ratios:
    sys.exit("no kernel was measured beside itself")
