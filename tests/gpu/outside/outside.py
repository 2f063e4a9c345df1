#!/usr/bin/env python3
"""How much of an operation lies outside its GEMM kernel, from what run.sh has recorded.

Usage: outside.py FOLDER [--bar US] [--json FILE]

FOLDER has, for every harness and turn, STEM.TURN.plain.jsonl and STEM.TURN.traced.jsonl, records of the harness without
and with kernel_times.so, and STEM.TURN.kernels.txt, that library's. programs.tsv, if there, says what the programs are.
Times are in us and medians over the rounds. A row is of one rank, or of the slowest one, `max`:

op        the operation by the harness's events, not traced: column `ours` of `tilepost bench`
kernel    its GEMM kernel, traced: how long one runs. In modes with several runs what two share counts once
outside   op - kernel, of two runs of the program, whose clocks need not be the same
within    the same, both of the traced run, paired by round: tracing makes it longer
floor     what these are of empty_whole, a kernel that does nothing: that much is the events' and the launch's
gap       from the end of a GEMM kernel to the start of the next one, traced; below 0 they overlap
lead      from the end of the gate to the start of the first kernel, traced
idle      from the first kernel of a run to its last one, GEMM or not, while none runs, traced
"""

import argparse
import bisect
import collections
import json
import pathlib
import re
import statistics
import sys

RUNS = {"overlap": 1, "steady": 10, "graph": 20}  # of the operation behind a gate: overlap_bench.cpp
FLOOR = "empty_whole"  # of empty.cu
OURS = re.compile(r"(\d+)(tilepost_gen_\w+)")  # the namespace of generated code, and its length
# What the harness runs between measurements.
HARNESS = re.compile(r"bench.*(integers|normal|wrong|different|gather)_kernel|plain_\d+_kernel")
GATE = re.compile(r"(^|\d)gate_kernel")
PAUSE = 20_000_000  # ns without a kernel that no operation has

Kernel = collections.namedtuple("Kernel", "device stream start end graph name")
# Runs of one operation behind a gate on one rank: its GEMM kernels, and all others.
Burst = collections.namedtuple("Burst", "program gate gemms others")


class BadFile(Exception):
    pass


def program_of(name):
    """The program whose generated kernel this is, or None."""
    found = OURS.search(name)
    return found and found[2][:int(found[1])].removeprefix("tilepost_gen_")


def read_kernels(lines):
    """The kernels, and what is to be known of the file."""
    names, kernels, lost, note = {}, [], 0, "cut off: the program did not end by itself"
    lines = iter(lines)
    if next(lines, "").strip() != "kernel-times 1":
        raise BadFile("this is no file of kernel_times.so")
    for line in lines:
        words = line.split()
        if line.startswith("n ") and len(words) >= 3:
            names[words[1]] = " ".join(words[2:])
        elif line.startswith("k ") and len(words) == 7 and line.endswith("\n"):
            device, stream, start, end, graph = map(int, words[1:6])
            if start == 0 or start > end:  # CUPTI could not tell
                lost += 1
            else:
                kernels.append(Kernel(device, stream, start, end, graph == 1, names[words[6]]))
        elif line.startswith("end ") and len(words) == 4:
            lost, note = lost + int(words[3]), ""
        elif line.endswith("\n"):
            raise BadFile(f"not understood: {line.strip()}")
    return kernels, note or (f"{lost} kernels are missing, or have no times" if lost else "")


def bursts_of(kernels):
    """{program: [Burst]} of one device: what follows a gate and has a generated kernel."""
    kernels = sorted(kernels, key=lambda kernel: (kernel.start, kernel.end))
    gates = [i for i, kernel in enumerate(kernels) if GATE.search(kernel.name)]
    found = collections.defaultdict(list)
    for begin, end in zip(gates, gates[1:] + [len(kernels)]):
        behind, program, reached = [], None, kernels[begin].end
        for kernel in kernels[begin + 1:end]:
            theirs = program_of(kernel.name)
            other = program and theirs and theirs != program
            if other or HARNESS.search(kernel.name) or kernel.start > reached + PAUSE:
                break  # the operation has ended
            reached = max(reached, kernel.end)
            program = program or theirs
            behind.append(kernel)
        if program:
            gemms = [kernel for kernel in behind if program_of(kernel.name)]
            others = [kernel for kernel in behind if not program_of(kernel.name)]
            found[program].append(Burst(program, kernels[begin], gemms, others))
    return found


def by_mode(bursts):
    """{mode: [Burst]}, and a note on those of none. A run may have several GEMM kernels: as many as the least burst."""
    launches = min(len(burst.gemms) for burst in bursts)
    modes, note = collections.defaultdict(list), ""
    for burst in bursts:
        mode = next((mode for mode, runs in RUNS.items() if runs * launches == len(burst.gemms)), None)
        if mode is None:
            note = f"{len(burst.gemms)} GEMM kernels behind a gate, but {launches} in a run"
        elif (mode == "graph") != burst.gemms[0].graph:
            note = f"kernels of a graph in mode {mode}, or of none in mode graph"
        else:
            modes[mode].append(burst)
    return modes, note


def covered(kernels):
    """ns in which at least one runs."""
    total, reached = 0, 0
    for kernel in sorted(kernels, key=lambda kernel: kernel.start):
        total += max(0, kernel.end - max(kernel.start, reached))
        reached = max(reached, kernel.end)
    return total


def kernel_us(burst, mode):
    return covered(burst.gemms) / 1000 / RUNS[mode]


def gaps_us(burst):
    return [(after.start - before.end) / 1000 for before, after in zip(burst.gemms, burst.gemms[1:])]


def lead_us(burst):
    return (min(kernel.start for kernel in burst.gemms + burst.others) - burst.gate.end) / 1000


def place_of(kernel, gemms, starts):
    """Before the GEMM that is next, behind the last one, or beside one."""
    i = bisect.bisect_right(starts, kernel.start)
    if (i > 0 and kernel.start < gemms[i - 1].end) or (i < len(gemms) and kernel.end > gemms[i].start):
        return "beside"
    return "before" if i < len(gemms) else "behind"


def short(name):
    """The function of a linker's name."""
    if "cublas" in name or name.startswith("nccl") or not name.startswith("_Z"):
        return name[:60]
    words, rest = [], re.sub(r"^_ZN?", "", name)
    while found := re.match(r"(\d+)", rest):
        length = int(found[1])
        rest = rest[found.end():]
        words.append(rest[:length])
        rest = rest[length:]
    return (words or [name])[-1][:60]


def others_of(bursts, mode):
    """{(place, name): (kernels, us)} of one run, means over the bursts."""
    total = collections.defaultdict(lambda: [0, 0.0])
    for burst in bursts:
        starts = [kernel.start for kernel in burst.gemms]
        for kernel in burst.others:
            entry = total[place_of(kernel, burst.gemms, starts), short(kernel.name)]
            entry[0] += 1
            entry[1] += (kernel.end - kernel.start) / 1000
    runs = RUNS[mode] * len(bursts)
    return {key: (count / runs, us / runs) for key, (count, us) in sorted(total.items())}


def idle_us(burst, mode):
    """Of one run: between the first kernel and the last one, while none runs."""
    kernels = burst.gemms + burst.others
    span = max(kernel.end for kernel in kernels) - min(kernel.start for kernel in kernels)
    return (span - covered(kernels)) / 1000 / RUNS[mode]


class Measured:
    """One program in one mode."""

    def __init__(self):
        self.op = collections.defaultdict(list)       # by rank, one for each round; not traced
        self.traced_op = collections.defaultdict(list)
        self.kernel = collections.defaultdict(list)
        self.within = collections.defaultdict(list)   # of rounds for which there is a burst on each rank
        self.bursts = collections.defaultdict(list)


def read_samples(lines, measured, field):
    """Takes the rounds; returns {(program, mode): rounds}, and what the harness said."""
    rounds, notes = collections.Counter(), []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("record") == "failed" or record.get("wrong", 0) > 0:
            notes.append(f"{record.get('program')}: {record.get('text', 'wrong elements')}")
        if record.get("record") != "sample" or "ours_of_rank" not in record:
            continue
        key = record["program"], record["mode"]
        rounds[key] += 1
        times = {int(rank): us for rank, us in record["ours_of_rank"].items()}
        for rank, us in (times | {"max": max(times.values())}).items():
            getattr(measured[key], field)[rank].append(us)
    return rounds, notes


def take_bursts(entry, of_rank, mode, rounds, whole):
    """The last `rounds` bursts of each rank; those before them warmed up. Pairs them with the rounds of this turn, and
    returns whether it could."""
    whole = whole and all(len(bursts) >= rounds for bursts in of_rank.values())
    for rank, bursts in of_rank.items():
        entry.bursts[rank] += bursts[-rounds:]
        entry.kernel[rank] += [kernel_us(burst, mode) for burst in bursts[-rounds:]]
    if not whole:
        return False
    slowest = [max(kernel_us(bursts[i - rounds], mode) for bursts in of_rank.values()) for i in range(rounds)]
    entry.kernel["max"] += slowest
    times = {rank: [kernel_us(burst, mode) for burst in bursts[-rounds:]] for rank, bursts in of_rank.items()}
    for rank, kernels in (times | {"max": slowest}).items():
        entry.within[rank] += [op - kernel for op, kernel in zip(entry.traced_op[rank][-rounds:], kernels)]
    return True


def bursts_of_ranks(kernels):
    """{(program, mode): {rank: [Burst]}}, and {program: note}."""
    found, notes = collections.defaultdict(dict), {}
    for device in sorted({kernel.device for kernel in kernels}):
        for program, bursts in bursts_of([kernel for kernel in kernels if kernel.device == device]).items():
            modes, note = by_mode(bursts)
            notes |= {program: note} if note else {}
            for mode, of_mode in modes.items():
                found[program, mode][device] = of_mode
    return found, notes


def read_turn(base, measured):
    """One harness in one turn, without and with tracing; what is to be said of it."""
    stem = base.name
    notes = []
    with open(f"{base}.plain.jsonl", encoding="utf-8") as lines:
        notes += read_samples(lines, measured, "op")[1]
    with open(f"{base}.traced.jsonl", encoding="utf-8") as lines:
        rounds, said = read_samples(lines, measured, "traced_op")
    with open(f"{base}.kernels.txt", encoding="utf-8") as lines:
        kernels, note = read_kernels(lines)
    notes += said + ([note] if note else [])
    of_mode, odd = bursts_of_ranks(kernels)
    notes += [f"{program}: {text}" for program, text in odd.items()]
    for (program, mode), count in rounds.items():
        of_rank = of_mode.get((program, mode))
        whole = not note and program not in odd
        if of_rank and not take_bursts(measured[program, mode], of_rank, mode, count, whole):
            notes.append(f"{program}, {mode}: kernels of some rounds are missing, nothing is paired")
    return [f"{stem}: {text}" for text in notes]


def read_folder(folder):
    """{(stem, program, mode): Measured}, and notes."""
    found, notes = {}, []
    for path in sorted(folder.glob("*.plain.jsonl")):
        base = path.with_name(path.name.removesuffix(".plain.jsonl"))
        stem = base.name.rsplit(".", 1)[0]
        measured = collections.defaultdict(Measured)
        for (name, program, mode), entry in found.items():
            if name == stem:
                measured[program, mode] = entry
        try:
            notes += read_turn(base, measured)
        except (BadFile, OSError) as error:
            notes.append(f"{base.name}: {error}")
        found |= {(stem, *key): entry for key, entry in measured.items()}
    return found, notes


def median(values):
    return statistics.median(values) if values else None


def row_of(entry, rank, mode):
    op, kernel = median(entry.op[rank]), median(entry.kernel[rank])
    bursts = entry.bursts.get(rank, [])
    gaps = [gap for burst in bursts for gap in gaps_us(burst)]
    return {"rank": rank, "mode": mode, "op": op, "kernel": kernel,
            "outside": None if op is None or kernel is None else op - kernel,
            "traced op": median(entry.traced_op[rank]), "within": median(entry.within[rank]),
            "gap": median(gaps), "lead": median([lead_us(burst) for burst in bursts]),
            "idle": median([idle_us(burst, mode) for burst in bursts])}


def rows_of(found):
    rows = []
    for (stem, program, mode), entry in found.items():
        for rank in sorted(entry.op, key=str):
            rows.append({"stem": stem, "program": program, **row_of(entry, rank, mode)})
    floors = {(row["mode"], row["rank"]): row for row in rows if row["program"] == FLOOR}
    for row in rows:
        floor = floors.get((row["mode"], row["rank"]), {})
        row["floor"], row["floor within"] = floor.get("outside"), floor.get("within")
    return rows


COLUMNS = ["op", "kernel", "outside", "floor", "traced op", "within", "floor within", "gap", "lead", "idle"]


def print_table(rows, texts):
    wide = max([len(texts.get((row["stem"], row["program"]), row["program"])) for row in rows] + [8])
    print("  ".join(["program".ljust(wide), "mode   ", "rank"] + [column.rjust(12) for column in COLUMNS]))
    for row in rows:
        text = texts.get((row["stem"], row["program"]), row["program"])
        cells = ["-" if row[column] is None else f"{row[column]:.2f}" for column in COLUMNS]
        print("  ".join([text.ljust(wide), row["mode"].ljust(7), str(row["rank"]).rjust(4)] +
                        [cell.rjust(12) for cell in cells]))


def print_others(found, texts):
    print("\nkernels of one run beside its GEMM: how many, us of all")
    for (stem, program, mode), entry in found.items():
        for rank in sorted(entry.bursts):
            for (place, name), (count, us) in others_of(entry.bursts[rank], mode).items():
                print(f"  {texts.get((stem, program), program)}, {mode}, rank {rank}: {place} {name} "
                      f"x {count:.3g}, {us:.2f}")


def print_verdict(rows, bar):
    judged = [row for row in rows if row["outside"] is not None and not row["program"].startswith("empty_")]
    for mode in RUNS:
        of_mode = [row for row in judged if row["mode"] == mode]
        late = [row for row in of_mode if row["outside"] > bar]
        late_within = [row for row in of_mode if (row["within"] or 0) > bar]
        if of_mode:
            print(f"{mode}: {len(late)} of {len(of_mode)} rows have more than {bar:g} us outside, "
                  f"{len(late_within)} within the traced run")


def read_texts(path):
    """{(stem, program): what it is}."""
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return {(stem, program): text for stem, program, text in rows}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bar", type=float, default=6)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    found, notes = read_folder(options.folder)
    rows = rows_of(found)
    if not rows:
        print(f"outside.py: no samples in '{options.folder}'", file=sys.stderr)
    texts = read_texts(options.folder / "programs.tsv")
    print_table(rows, texts)
    print_others(found, texts)
    print("\n" + "\n".join(f"note: {note}" for note in notes) if notes else "")
    print_verdict(rows, options.bar)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
