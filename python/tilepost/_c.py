"""The C interface, by ctypes: tilepost.h, program.h, routing.h. tests/test_c.py holds it to the headers.

ctypes releases the interpreter's lock during a call, so ranks may be threads.
"""
from __future__ import annotations

import ctypes
import importlib.util
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

try:
    from tilepost._built import CUDA
except ImportError:  # a checkout, whose library TILEPOST_LIBRARY names
    CUDA = False


class UniqueId(ctypes.Structure):
    """tilepost_unique_id_t"""
    _fields_ = [("bytes", c_char * 128)]


class Options(ctypes.Structure):
    """tilepost_options_t"""
    _fields_ = [("struct_size", c_size_t), ("deadline_seconds", c_double), ("host_workers", c_int),
                ("share_memory", c_int), ("schedule_bytes", c_int64), ("routing", c_void_p)]


class LayerOperands(ctypes.Structure):
    """tilepost_layer_operands_t"""
    _fields_ = [("struct_size", c_size_t), ("b", c_void_p), ("bias", c_void_p), ("ids", c_void_p),
                ("weights", c_void_p), ("tokens", c_int64)]


class RunOperands(ctypes.Structure):
    """tilepost_run_operands_t"""
    _fields_ = [("struct_size", c_size_t), ("a", c_void_p), ("b", c_void_p), ("out", c_void_p),
                ("scale_a", c_void_p), ("scale_b", c_void_p), ("bias", c_void_p), ("residual", c_void_p),
                ("m", c_int64), ("gathered", c_void_p), ("norm_weight", c_void_p), ("norm_residual", c_void_p),
                ("norm_epsilon", c_float), ("user", c_void_p), ("expert_ends", c_void_p),
                ("gathered_scales", c_void_p), ("out_scales", c_void_p), ("layer", POINTER(LayerOperands))]


class Route(ctypes.Structure):
    """tilepost_route_t"""
    _fields_ = [("struct_size", c_size_t), ("m", c_int64), ("splits", POINTER(c_int64)),
                ("destinations", POINTER(c_int32))]


class Arrivals(ctypes.Structure):
    """tilepost_arrivals_t"""
    _fields_ = [("struct_size", c_size_t), ("rows", c_int64), ("rows_from", POINTER(c_int64)),
                ("landed", POINTER(c_int64))]


class OpInfo(ctypes.Structure):
    """tilepost_op_info_t"""
    _fields_ = [("plan", c_void_p), ("rank", c_int32), ("out_elements", c_int64), ("device_bytes", c_int64),
                ("rows", c_void_p), ("out", c_void_p)]


class Memory(ctypes.Structure):
    """tilepost_memory_t"""
    _fields_ = [("struct_size", c_size_t), ("device_bytes", c_int64), ("shared_bytes", c_int64),
                ("pinned_bytes", c_int64)]


class Program(ctypes.Structure):
    """tilepost_program_t"""
    _fields_ = [("abi_version", c_uint32), ("name", c_char_p), ("num_plans", c_int32), ("plans", c_void_p)]


class RoutingOptions(ctypes.Structure):
    """tilepost_routing_options_t"""
    _fields_ = [("struct_size", c_size_t), ("ids", c_int), ("weights", c_int), ("deadline_seconds", c_double)]


class RoutingInfo(ctypes.Structure):
    """tilepost_routing_info_t"""
    _fields_ = [("expert_ends", c_void_p), ("row_tokens", c_void_p), ("token_rows", c_void_p),
                ("token_weights", c_void_p), ("token_ranks", c_void_p), ("tokens", c_void_p),
                ("rank_rows", c_void_p), ("most_rows", c_int64), ("device_bytes", c_int64)]


# What each structure of C is called.
STRUCTURES = {
    "tilepost_unique_id_t": UniqueId,
    "tilepost_options_t": Options,
    "tilepost_layer_operands_t": LayerOperands,
    "tilepost_run_operands_t": RunOperands,
    "tilepost_route_t": Route,
    "tilepost_arrivals_t": Arrivals,
    "tilepost_op_info_t": OpInfo,
    "tilepost_memory_t": Memory,
    "tilepost_program_t": Program,
    "tilepost_routing_options_t": RoutingOptions,
    "tilepost_routing_info_t": RoutingInfo,
}

# tilepost_all_gather_t: own, all, bytes, user. The caller keeps the object as long as C may call it.
AllGather = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)

OK, IN_PROGRESS = 0, 1
PLANNED_M = -1  # TILEPOST_PLANNED_M
ROUTED = -1  # TILEPOST_ROUTED

# Result and arguments of each function. Handles, streams and memory are c_void_p; a tilepost_result_t is c_int.
SIGNATURES = {
    "tilepost_result_name": (c_char_p, [c_int]),
    "tilepost_last_error": (c_char_p, []),
    "tilepost_get_unique_id": (c_int, [POINTER(UniqueId)]),
    "tilepost_comm_init": (c_int, [POINTER(UniqueId), c_int, c_int, POINTER(c_void_p)]),
    "tilepost_comm_init_with": (c_int, [AllGather, c_void_p, c_int, c_int, POINTER(c_void_p)]),
    "tilepost_comms_create": (c_int, [POINTER(c_int), c_int, POINTER(c_void_p)]),
    "tilepost_comm_adopt": (c_int, [c_void_p, POINTER(c_void_p)]),
    "tilepost_comm_create_host": (c_int, [c_int, POINTER(c_void_p)]),
    "tilepost_comm_destroy": (c_int, [c_void_p]),
    "tilepost_default_options": (Options, []),
    "tilepost_op_create": (c_int, [c_void_p, POINTER(Program), POINTER(Options), POINTER(c_void_p)]),
    "tilepost_ops_create": (c_int, [POINTER(c_void_p), c_int, POINTER(Program), POINTER(Options), POINTER(c_void_p)]),
    "tilepost_program_memory": (c_int, [c_void_p, POINTER(Program), POINTER(Options), POINTER(Memory)]),
    "tilepost_op_memory": (c_int, [c_void_p, POINTER(Memory)]),
    "tilepost_op_overlaps": (c_int, [c_void_p, c_int64, POINTER(c_int)]),
    "tilepost_op_run": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "tilepost_op_run_with": (c_int, [c_void_p, POINTER(RunOperands), c_void_p]),
    "tilepost_op_route": (c_int, [c_void_p, POINTER(Route), POINTER(Arrivals)]),
    "tilepost_op_register": (c_int, [c_void_p, c_void_p, c_int64]),
    "tilepost_op_unregister": (c_int, [c_void_p, c_void_p]),
    "tilepost_op_status": (c_int, [c_void_p]),
    "tilepost_op_synchronize": (c_int, [c_void_p]),
    "tilepost_op_get_info": (c_int, [c_void_p, POINTER(OpInfo)]),
    "tilepost_op_warnings": (c_char_p, [c_void_p]),
    "tilepost_op_destroy": (c_int, [c_void_p]),
    "tilepost_bytes_left": (c_int64, []),
    "tilepost_program_make": (c_int, [POINTER(c_char_p), c_size_t, c_char_p, POINTER(POINTER(Program))]),
    "tilepost_program_destroy": (c_int, [POINTER(Program)]),
    "tilepost_program_explain": (c_int, [POINTER(Program), POINTER(c_char_p)]),
    "tilepost_program_picture": (c_int, [POINTER(Program), POINTER(c_char_p)]),
    "tilepost_program_warnings": (c_int, [POINTER(Program), POINTER(c_char_p)]),
    "tilepost_program_variant": (c_int, [POINTER(Program), c_int32, POINTER(c_char_p)]),
    "tilepost_cuda_kernel_loader": (c_void_p, []),
    "tilepost_catalogue_open": (c_int, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "tilepost_catalogue_close": (c_int, [c_void_p]),
    "tilepost_program_load": (c_int, [POINTER(Program), c_void_p]),
    "tilepost_program_make_from": (c_int, [POINTER(c_char_p), c_size_t, c_char_p, c_void_p,
                                           POINTER(POINTER(Program))]),
    "tilepost_default_routing_options": (RoutingOptions, []),
    "tilepost_routing_create": (c_int, [c_void_p, c_int32, c_int32, c_int64, POINTER(RoutingOptions),
                                        POINTER(c_void_p)]),
    "tilepost_routing_set": (c_int, [c_void_p, c_void_p, c_void_p, c_int64, c_void_p]),
    "tilepost_routing_status": (c_int, [c_void_p]),
    "tilepost_routing_synchronize": (c_int, [c_void_p]),
    "tilepost_routing_get_info": (c_int, [c_void_p, POINTER(RoutingInfo)]),
    "tilepost_routing_destroy": (c_int, [c_void_p]),
}
# These are only there in a library with CUDA.
OF_CUDA = {"tilepost_get_unique_id", "tilepost_comm_init", "tilepost_comm_init_with", "tilepost_comms_create",
           "tilepost_comm_adopt", "tilepost_cuda_kernel_loader"}


def _find_library() -> Path:
    named = os.environ.get("TILEPOST_LIBRARY")
    path = Path(named) if named else Path(__file__).parent / "lib" / "libtilepost.so"
    if not path.exists():
        raise ImportError(f"tilepost: no library '{path}'; install the wheel, or set TILEPOST_LIBRARY to the "
                          "libtilepost.so of a build")
    return path


def _load() -> ctypes.CDLL:
    path = _find_library()
    # A process has one libnccl.so.2. PyTorch brings its own, and finds it by its own path: so it goes first.
    if CUDA and importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch")
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in SIGNATURES.items():
        if name in OF_CUDA and not hasattr(library, name):
            continue
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
