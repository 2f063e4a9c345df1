"""Plans, and the catalogues that have their kernels."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Union

from tilepost import _c, _jit
from tilepost._errors import Unsupported, check

# What a field may be given: a word, a number, yes or no, a list, or a mapping such as {"max": 8192}.
Value = Union[str, int, float, bool, Sequence["Value"], Mapping[str, "Value"]]


def _text(value: Value) -> str:
    """A value as a spec writes it on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_text(each) for each in value) + "]"
    raise TypeError(f"a field is given a {type(value).__name__}; give a word, a number, a list or a mapping")


class Catalogue:
    """A folder of compiled kernels, which `tilepost catalogue` has written; by default that of the package.

    With compile_missing=True a kernel that it lacks is compiled, once for a user, where the program `tilepost` and a
    compiler are installed. Without, a missing kernel is an error that names it.
    """

    def __init__(self, folder: Union[str, os.PathLike, None] = None, *, compile_missing: bool = False) -> None:
        self._handle = ctypes.c_void_p()
        self.compile_missing = compile_missing
        self.folder = Path(folder) if folder is not None else Path(__file__).parent / "kernels"
        if folder is None and compile_missing and not self.folder.exists():
            return  # a package without a catalogue: all kernels are missing
        loader = None
        if hasattr(_c.lib, "tilepost_cuda_kernel_loader"):
            loader = _c.lib.tilepost_cuda_kernel_loader()
        check(_c.lib.tilepost_catalogue_open(os.fsencode(self.folder), loader, ctypes.byref(self._handle)))

    def close(self) -> None:
        """Closes the catalogue. Plans keep the kernels that they have from it."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        _c.lib.tilepost_catalogue_close(handle)

    def __del__(self) -> None:
        self.close()


class Plan:
    """What the planner decided for a spec, whose fields are given by their paths:

        tilepost.Plan({"pattern": "gemm_all_reduce", "ranks": 2, "gemm.m": 8192, "gemm.n": 4096, "gemm.k": 2048,
                       "gemm.a": "bf16"})

    `machine` is the machine that is planned for: the name of one that tilepost knows, or the text of a profile. Raises
    InvalidArgument with everything that is wrong. A plan needs neither a GPU nor kernels; load() gets them for Op.
    With `catalogue` the plan is loaded, and where the catalogue lacks one of its kernels, it is the best of the plans
    whose kernels the catalogue has. Raises Unsupported if there is none.
    """

    def __init__(self, fields: Mapping[str, Value], machine: Union[str, None] = None, *,
                 catalogue: Union[Catalogue, None] = None) -> None:
        self._program = ctypes.POINTER(_c.Program)()
        self._users: set[int] = set()  # operations that read the program
        self._to_destroy: list[object] = []  # the program, once the plan is gone
        self._machine = machine
        self.fields = {path: _text(value) for path, value in fields.items()}
        texts = [f"{path}={value}".encode() for path, value in self.fields.items()]
        array = (ctypes.c_char_p * len(texts))(*texts)
        name = machine.encode() if machine is not None else None
        place = ctypes.byref(self._program)
        if catalogue is None:
            check(_c.lib.tilepost_program_make(array, len(texts), name, place))
        else:
            check(_c.lib.tilepost_program_make_from(array, len(texts), name, catalogue._handle, place))

    def _get(self, function: str, *arguments: int) -> str:
        text = ctypes.c_char_p()
        check(getattr(_c.lib, function)(self._program, *arguments, ctypes.byref(text)))
        return (text.value or b"").decode()

    def explain(self) -> str:
        """What `tilepost explain` prints: tiles, waves, groups, SM budget, timeline, and the reasons."""
        return self._get("tilepost_program_explain")

    def svg(self) -> str:
        """The picture of `tilepost explain --svg`, which a notebook shows of a plan."""
        return self._get("tilepost_program_picture")

    @property
    def warnings(self) -> list[str]:
        """What is possible, but hardly what was meant."""
        return self._get("tilepost_program_warnings").splitlines()

    @property
    def variants(self) -> list[str]:
        """The keys by which the kernels of the plan are found in catalogues: one for each range of m."""
        return [self._get("tilepost_program_variant", i) for i in range(self._program.contents.num_plans)]

    def load(self, catalogue: Union[Catalogue, None] = None) -> Plan:
        """Gets the kernels from a catalogue, by default that of the package. Raises Unsupported for a missing one, with
        its key."""
        chosen = catalogue or _package_catalogue()
        if not chosen._handle:
            self._load_compiled(f"the package has no catalogue, and so no '{self.variants[0]}'")
            return self
        try:
            self._load_from(chosen)
        except Unsupported as error:
            is_missing = any(variant in str(error) for variant in self.variants)
            if not (chosen.compile_missing and is_missing):
                raise
            self._load_compiled(str(error))
        return self

    def _load_from(self, catalogue: Catalogue) -> None:
        check(_c.lib.tilepost_program_load(self._program, catalogue._handle))

    def _load_compiled(self, missing: str) -> None:
        """Gets the kernels from the catalogue of those that were compiled because others lack them."""
        self._load_from(Catalogue(_jit.compiled(self.fields, self._machine, self.variants, missing)))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<tilepost.Plan {self.explain().splitlines()[0]}>"

    # Python finalises the objects of a cycle in any order. So a program whose plan goes first stays until its last
    # operation has gone. The calls on set and list are atomic, since ranks are threads.
    def _hold(self, user: int) -> None:
        self._users.add(user)

    def _let_go(self, user: int) -> None:
        self._users.discard(user)
        self._destroy_unused()

    def _destroy_unused(self) -> None:
        if self._users:
            return
        try:
            program = self._to_destroy.pop()
        except IndexError:
            return
        _c.lib.tilepost_program_destroy(program)

    def __del__(self) -> None:
        self._to_destroy.append(self._program)
        self._destroy_unused()


_catalogue: list[Catalogue] = []


def _package_catalogue() -> Catalogue:
    """The catalogue of the package, opened once."""
    if not _catalogue:
        _catalogue.append(Catalogue())
    return _catalogue[0]
