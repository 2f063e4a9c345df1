"""The plans of layers, with their kernels."""
from __future__ import annotations

import hashlib
import threading
from typing import Union

import tilepost
from tilepost._plan import Value
from tilepost.torch._layer import Layer, Machine

_catalogue: list[tilepost.Catalogue] = []
_plans: dict[tuple[Layer, int, int, Machine, str], tilepost.Plan] = {}
_lock = threading.Lock()


def use_catalogue(catalogue: tilepost.Catalogue) -> None:
    """Takes kernels from this catalogue and not from the package's, in operations that are made from here on."""
    with _lock:
        _catalogue[:] = [catalogue]
        _plans.clear()


def catalogue() -> tilepost.Catalogue:
    """The catalogue that kernels are taken from. Raises tilepost.Error where there is none."""
    with _lock:
        if not _catalogue:
            _catalogue.append(tilepost.Catalogue())
        return _catalogue[0]


def digest() -> str:
    """What the kernels of two ranks' catalogues have to be alike in."""
    manifest = catalogue().folder / "catalogue.json"
    return hashlib.sha256(manifest.read_bytes()).hexdigest()


def plan_of(layer: Layer, ranks: int, most_rows: int, machine: Machine,
            wish: Union[dict[str, Value], None] = None) -> tilepost.Plan:
    """The plan of a layer, loaded, with the fields of `wish`. Ranks that are threads share it."""
    kernels = catalogue()
    key = layer, ranks, most_rows, machine, repr(wish)
    with _lock:
        if key not in _plans:
            fields = {**layer.fields(ranks, most_rows, machine), **(wish or {})}
            _plans[key] = tilepost.Plan(fields, machine.name, catalogue=kernels)
        return _plans[key]
