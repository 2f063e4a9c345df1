#!/usr/bin/env python3
"""Checks outside.py without a GPU, on a small recording: test_outside.py"""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import outside

GATE, GEMM, END, NCCL, FILL, OTHER = range(6)
NAMES = ["_ZN8tilepost5bench12_GLOBAL__N_111gate_kernelEPKjj",
         "_ZN18tilepost_gen_toy_16sm_90a9gemm_sm90E14CUtensorMap_st",
         "_ZN8tilepost4cuda12_GLOBAL__N_110end_kernelENS0_11SharedFlagsE",
         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "_ZN8tilepost5bench12_GLOBAL__N_113normal_kernelI13__nv_bfloat16EEvPT_lm",
         "_ZN18tilepost_gen_toy_26sm_90a9gemm_sm90E14CUtensorMap_st"]
RUN, GAP = 100_000, 2_000  # ns of a kernel on rank 0, and between two; rank 1 takes 1 us more


def kernel_line(device, start, end, name, stream=7, graph=0):
    return f"k {device} {stream} {start} {end} {graph} {name}\n"


def burst(device, at, runs, gap=GAP, graph=0):
    """A gate, and runs with an end kernel on another stream beside the next one."""
    lines, start = [kernel_line(device, at - 50_000, at, GATE)], at + 1_000
    for _ in range(runs):
        end = start + RUN + 1_000 * device
        lines += [kernel_line(device, start, end, GEMM, graph=graph),
                  kernel_line(device, end + 500, end + 1_500, END, 9)]
        start = end + gap
    return lines


def recording(gap=GAP):
    """Two ranks, one round that warms up, and two that count of each mode; a sequence in between."""
    lines = ["kernel-times 1\n"] + [f"n {i} {name}\n" for i, name in enumerate(NAMES)]
    for device in (0, 1):
        for i in range(3):
            lines += burst(device, 10_000_000 * (i + 1), 1)
            at = 10_000_000 * (i + 1) + 5_000_000
            lines += [kernel_line(device, at, at + 10, GATE), kernel_line(device, at + 100, at + 900, NCCL)]
            lines += burst(device, 100_000_000 + 10_000_000 * i, 10, gap)
        lines += [kernel_line(device, 200_000_000, 200_000_100, FILL),
                  kernel_line(device, 200_000_200, 200_000_300, OTHER)]
    return lines + ["end 99 0 0\n"]


def samples(more):
    """Of two rounds: `more` us outside the kernels of 100 and 101 us."""
    lines = ['{"record": "machine"}', "no record"]
    for mode in ("overlap", "steady"):
        for i in range(2):
            times = {"0": 100 + more, "1": 101 + more}
            lines.append(json.dumps({"record": "sample", "program": "toy_1", "mode": mode, "round": i,
                                     "us": {"ours": 101 + more}, "ours_of_rank": times}))
    return "\n".join(lines) + "\n"


def report(kernels, stem="ar.1"):
    """The rows by mode and rank, the notes, and what is printed, of a folder with this recording."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / f"{stem}.plain.jsonl").write_text(samples(4.5))
        (folder / f"{stem}.traced.jsonl").write_text(samples(6))
        (folder / f"{stem}.kernels.txt").write_text("".join(kernels))
        (folder / "programs.tsv").write_text("ar\ttoy_1\tAllReduce of a toy\n")
        found, notes = outside.read_folder(folder)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            outside.main([name])
    return {(row["mode"], row["rank"]): row for row in outside.rows_of(found)}, notes, printed.getvalue()


class Outside(unittest.TestCase):
    def test_takes_each_rank_and_the_slowest(self):
        rows, notes, printed = report(recording())
        self.assertEqual(notes, [])
        self.assertEqual(len(rows), 6)
        for rank, kernel in ((0, 100), (1, 101), ("max", 101)):
            row = rows["overlap", rank]
            self.assertAlmostEqual(row["kernel"], kernel)
            self.assertAlmostEqual(row["outside"], 4.5)
            self.assertAlmostEqual(row["within"], 6)
        self.assertAlmostEqual(rows["overlap", 0]["lead"], 1)
        self.assertAlmostEqual(rows["overlap", 0]["idle"], 0.5)
        self.assertIn("AllReduce of a toy", printed)
        self.assertIn("rank 0: behind end_kernel x 1, 1.00", printed)
        self.assertIn("overlap: 0 of 3 rows have more than 6 us outside, 0 within", printed)

    def test_takes_steady_runs_apart(self):
        rows, _, printed = report(recording())
        self.assertAlmostEqual(rows["steady", 0]["kernel"], 100)
        self.assertAlmostEqual(rows["steady", 0]["gap"], 2)
        self.assertIn("steady, rank 0: before end_kernel x 0.9, 0.90", printed)

    def test_counts_overlapping_kernels_once(self):
        rows, _, _ = report(recording(gap=-10_000))
        self.assertAlmostEqual(rows["steady", 0]["gap"], -10)
        self.assertAlmostEqual(rows["steady", 0]["kernel"], (100 + 9 * 90) / 10)

    def test_sorts_what_came_in_another_order(self):
        lines = recording()
        rows, notes, _ = report(lines[:7] + lines[7:-1][::-1] + lines[-1:])
        self.assertEqual(notes, [])
        self.assertAlmostEqual(rows["overlap", 0]["outside"], 4.5)

    def test_leaves_out_times_that_run_backwards(self):
        lines = [kernel_line(0, 2_000, 1_000, GEMM), kernel_line(0, 0, 0, GEMM), "end 1 0 0\n"]
        rows, notes, _ = report(recording()[:-1] + lines)
        self.assertIn("2 kernels are missing, or have no times", notes[0])
        self.assertIsNone(rows["overlap", 0]["within"])
        self.assertAlmostEqual(rows["overlap", 0]["kernel"], 100)

    def test_refuses_what_is_no_recording(self):
        self.assertIn("no file of kernel_times.so", report(["machine\n"])[1][0])
        self.assertIn("not understood", report(["kernel-times 1\n", "k 1 2\n"])[1][0])

    def test_pairs_nothing_where_kernels_are_missing(self):
        rows, notes, _ = report(recording()[:-1] + ["end 99 0 5\n"])
        self.assertIn("5 kernels are missing", " ".join(notes))
        self.assertIsNone(rows["overlap", 0]["within"])
        self.assertAlmostEqual(rows["overlap", 0]["outside"], 4.5)

    def test_says_where_a_recording_was_cut_off(self):
        notes = report(recording()[:-1] + ["k 0 7 12"])[1]
        self.assertIn("cut off", notes[0])

    def test_refuses_runs_that_no_mode_has(self):
        notes = report(recording()[:-1] + burst(0, 900_000_000, 3) + ["end 9 0 0\n"])[1]
        self.assertIn("3 GEMM kernels behind a gate", notes[0])

    def test_tells_graphs_from_launches(self):
        notes = report(recording()[:-1] + burst(0, 900_000_000, 20) + ["end 9 0 0\n"])[1]
        self.assertIn("none in mode graph", notes[0])
        self.assertEqual(report(recording()[:-1] + burst(0, 900_000_000, 20, graph=1) + ["end 9 0 0\n"])[1], [])

    def test_reads_programs_by_the_length_of_their_names(self):
        self.assertEqual(outside.program_of(NAMES[GEMM]), "toy_1")
        self.assertEqual(outside.program_of("_ZN22tilepost_gen_empty_one12empty_kernelEv"), "empty_one")
        self.assertIsNone(outside.program_of(NAMES[END]))


if __name__ == "__main__":
    unittest.main()
