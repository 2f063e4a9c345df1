"""The declarations of tilepost/_c.py, held to the headers: every function with its types, every structure's layout."""
import ctypes
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tilepost import _c

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HEADERS = ("tilepost/tilepost.h", "tilepost/program.h", "tilepost/routing.h")
# Functions of the headers that the package does not use.
UNUSED: set = set()

HANDLES = {"tilepost_comm_t", "tilepost_op_t", "tilepost_catalogue_t", "tilepost_expert_routing_t"}
SCALARS = {"int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t,
           "double": ctypes.c_double, "tilepost_result_t": ctypes.c_int}

# Functions of the caller's.
FUNCTIONS = {"tilepost_all_gather_t": _c.AllGather}


def declarations(text):
    """(result, name, [type of each argument]) of every function in the text of a header."""
    text = re.sub(r"//[^\n]*", "", text)
    for result, name, arguments in re.findall(
            r"^((?:const )?\w+\*?) (tilepost_\w+)\(([^)]*)\);", text, re.M):
        types = [re.sub(r"\s+", " ", each).strip() for each in arguments.split(",")]
        # Without the name at the end.
        yield result, name, [re.sub(r"\s*\b\w+$", "", each) for each in types if each != "void"]


def as_ctypes(kind):
    """The ctypes type by which a type of C is declared."""
    bare = re.sub(r"\bconst\b|\bstruct\b|\s", "", kind)
    if bare in SCALARS:
        return SCALARS[bare]
    if bare in HANDLES:
        return ctypes.c_void_p
    if bare in _c.STRUCTURES:
        return _c.STRUCTURES[bare]
    if bare in FUNCTIONS:
        return FUNCTIONS[bare]
    if bare == "char*":
        return ctypes.c_char_p
    if bare == "int*":
        return ctypes.POINTER(ctypes.c_int)
    if bare == "char**":
        return ctypes.POINTER(ctypes.c_char_p)
    if bare.endswith("*") and bare[:-1] in HANDLES:
        return ctypes.POINTER(ctypes.c_void_p)
    stars = len(bare) - len(bare.rstrip("*"))
    if bare.rstrip("*") in _c.STRUCTURES:
        pointer = _c.STRUCTURES[bare.rstrip("*")]
        for _ in range(stars):
            pointer = ctypes.POINTER(pointer)
        return pointer
    if stars == 1:  # memory, a stream, a communicator of NCCL's, a loader
        return ctypes.c_void_p
    raise AssertionError(f"no ctypes type for '{kind}'")


def is_same(one, other):
    return one is other or ctypes.sizeof(one) == ctypes.sizeof(other) and one.__name__ == other.__name__


class Declarations(unittest.TestCase):
    def test_functions(self):
        found = set()
        for header in HEADERS:
            for result, name, arguments in declarations((INCLUDE / header).read_text(encoding="utf-8")):
                found.add(name)
                if name in UNUSED:
                    continue
                with self.subTest(name):
                    self.assertIn(name, _c.SIGNATURES)
                    declared_result, declared = _c.SIGNATURES[name]
                    self.assertTrue(is_same(declared_result, as_ctypes(result)), (name, result))
                    self.assertEqual(len(declared), len(arguments), name)
                    for have, want in zip(declared, arguments):
                        self.assertTrue(is_same(have, as_ctypes(want)), (name, want, have))
        self.assertEqual(found - UNUSED, set(_c.SIGNATURES))

    def test_a_wrong_type_is_seen(self):
        self.assertFalse(is_same(ctypes.c_int, as_ctypes("int64_t")))
        self.assertFalse(is_same(ctypes.POINTER(_c.Route), as_ctypes("tilepost_options_t*")))
        self.assertEqual(list(declarations("tilepost_result_t tilepost_x(const int* a,\n  int64_t b);")),
                         [("tilepost_result_t", "tilepost_x", ["const int*", "int64_t"])])

    def test_structures(self):
        compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
        if compiler is None:
            self.skipTest("no C compiler")
        lines = []
        for name, structure in _c.STRUCTURES.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{field[0]} %zu\\n", offsetof({name}, {field[0]}));'
                      for field in structure._fields_]
        program = "\n".join(["#include <stddef.h>", "#include <stdio.h>"] +
                            [f'#include "{header}"' for header in HEADERS] +
                            ["int main(void) {"] + lines + ["return 0; }"])
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "sizes.c"
            source.write_text(program, encoding="utf-8")
            subprocess.run([compiler, "-std=c11", f"-I{INCLUDE}", str(source), "-o", f"{folder}/sizes"], check=True)
            printed = subprocess.run([f"{folder}/sizes"], check=True, text=True, stdout=subprocess.PIPE).stdout
        sizes = dict(line.split() for line in printed.splitlines())
        for name, structure in _c.STRUCTURES.items():
            self.assertEqual(int(sizes[name]), ctypes.sizeof(structure), name)
            for field in structure._fields_:
                self.assertEqual(int(sizes[f"{name}.{field[0]}"]), getattr(structure, field[0]).offset, field[0])


if __name__ == "__main__":
    unittest.main()
