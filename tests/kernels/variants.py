#!/usr/bin/env python3
"""Which variants of the CUDA templates the tests compile, one a line, from the tool's own list.

Usage: tilepost list variants | python3 variants.py plain|stores all|sample

plain: every variant as its template stands. To the first of each template, architecture and kind of
operands come the epilogues and gemm_sm80's narrower vectors: a list of all of them with everything
would say the same a hundred times over.
stores: the variants of gemm_sm90 that store into other ranks' memory: those with ADD whose rows are not routed,
once as they are and, of the default cluster, once adding behind the fullest epilogue they have.

all: what tests/full.sh compiles. sample: what every change compiles, some of them that show between
them what all do (see sample below).
TILEPOST_EPILOGUES: the epilogues to try out, instead of a choice; "all" for all sets.
"""

import itertools
import os
import sys

# One scale, the linear operations, gelu, silu and residual alone, and all but a scalar scale with
# either activation. FULLEST needs the most registers.
EPILOGUES = "1 14 16 32 64 94 110"
FULLEST = "94"
WITHOUT_GELU = "110"


class Variant:
    """A template's file, the architecture, and the values of its tunables."""

    def __init__(self, line):
        self.file, self.arch, *tunables = line.split()
        self.values = dict(t.split("=", 1) for t in tunables)

    def changed(self, **values):
        other = Variant(f"{self.file} {self.arch}")
        other.values = {**self.values, **values}
        return other

    def operands(self):
        return tuple(self.values[name] for name in ("ELEMENT", "NN", "PRECISE"))

    def takes_epilogue(self):
        return self.values["EPILOGUE"] == "*"

    def plain(self):
        return self.changed(EPILOGUE="0") if self.takes_epilogue() else self

    def __str__(self):
        return " ".join([self.file, self.arch, *(f"{name}={value}" for name, value in self.values.items())])


def epilogues():
    wanted = os.environ.get("TILEPOST_EPILOGUES", EPILOGUES)
    if wanted != "all":
        return wanted.split()
    sets = itertools.product((0, 1, 2, 4, 6), (0, 8), (0, 16, 32), (0, 64))
    return [str(sum(s)) for s in sets if sum(s)]


def plain_variants(catalogue):
    seen = set()
    for variant in catalogue:
        values = variant.values
        yield variant.plain()
        # f16 would show what bf16 shows, and bf16 for sm_89 what it shows for sm_86.
        element = values["ELEMENT"].split("::")[-1]
        if not variant.takes_epilogue() or element == "f16" or variant.arch == "89" and element == "bf16":
            continue
        # The default cluster and tall tiles use the most registers, so they are compiled with the fullest epilogue
        # too. In gemm_sm90_small the sums of more than 128 rows leave no room for gelu.
        shared = values.get("SPLIT_K") == "2" and values["TILE_M"] == "128"
        tall = "SPLIT_K" in values and int(values["TILE_M"]) > 128
        if values.get("CLUSTER") == "2" or shared or tall:
            yield variant.changed(EPILOGUE=WITHOUT_GELU if tall else FULLEST)
        kind = (variant.file, variant.arch, variant.operands())
        if kind in seen:
            continue
        seen.add(kind)
        for epilogue in epilogues():
            yield variant.changed(EPILOGUE=epilogue)
        if variant.file == "gemm_sm80.cu":
            for vector in "4", "2", "1":
                yield variant.plain().changed(LOAD_VECTOR=vector, LOAD_VECTOR_B=vector, STORE_VECTOR=vector)


def storing_variants(catalogue):
    for variant in catalogue:
        if variant.file != "gemm_sm90.cu" or variant.values["ROUTED"] != "0" or "ADD" not in variant.values:
            continue
        yield variant.plain()
        if variant.values["CLUSTER"] == "2":
            full = variant.changed(EPILOGUE=FULLEST) if variant.takes_epilogue() else variant
            yield full.changed(ADD="1")


def sample(variants):
    """The variants that show between them what all do, the same ones on every machine and at every run.

        Of every template: each value of each tunable. Of every template for every architecture: each kind of
    operands (element, layout of B, precision), with and without the fullest epilogue, where registers
    are scarcest; each tile; and each value of each tunable that is not what a program asks for (its
    epilogue) or how its rows lie (the vectors). gemm_sm90 has tiles of nearly any extent: of those that
    are not whole blocks of 64 one stands for all that share and store in the same way.

    The next one is always the one that shows the most that is still missing, the first of several. One
    that would show only one or two things more, such as the extents of a tile, is left to tests/full.sh. A tunable or
    value that comes to the catalogue is therefore in the sample without anybody putting it there, once three things are
    new.
    """
    least = 3  # that a variant of the sample shows

    def shows(variant):
        file, arch, values = variant.file, variant.arch, variant.values
        own = (file, arch)
        extents = ("TILE_M", "TILE_N", "PANEL_M", "PANEL_N", "STAGES", "PANELS", "BAND")
        alike = file == "gemm_sm90.cu" and any(int(values[name]) % 64 for name in extents[:2])
        names = [name for name in values if not alike or name not in extents]
        seen = {(file, name, values[name]) for name in names}
        seen |= {(own, name, values[name]) for name in names if name != "EPILOGUE" and "VECTOR" not in name}
        seen.add((own, variant.operands(), values["EPILOGUE"] == FULLEST, values.get("ADD")))
        if alike:
            how = [values[name] for name in ("SWAP", "CONSUMERS", "PINGPONG")]
            seen.add((own, *how, *(int(values[name]) % 16 for name in ("PANEL_M", "PANEL_N"))))
        else:
            seen.add((own, values["TILE_M"], values["TILE_N"]))
        return seen

    shown = [shows(variant) for variant in variants]
    missing = set().union(*shown)
    chosen = []
    while missing:
        best = max(range(len(variants)), key=lambda i: len(shown[i] & missing))
        if len(shown[best] & missing) < least:
            break
        chosen.append(best)
        missing -= shown[best]
    return [variants[i] for i in sorted(chosen)]


def main():
    lists = {"plain": plain_variants, "stores": storing_variants}
    if len(sys.argv) != 3 or sys.argv[1] not in lists or sys.argv[2] not in ("all", "sample"):
        sys.exit(__doc__)
    catalogue = [Variant(line) for line in dict.fromkeys(sys.stdin)]
    if not catalogue:
        sys.exit("variants.py: the tool lists no variants")
    variants = list(lists[sys.argv[1]](catalogue))
    for variant in sample(variants) if sys.argv[2] == "sample" else variants:
        print(variant)


if __name__ == "__main__":
    main()
