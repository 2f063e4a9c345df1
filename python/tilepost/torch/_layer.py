"""What an operation is made for, and the machine that it is planned for."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import torch

from tilepost._plan import Value

# The element types that the bundled kernels multiply, as a spec calls them.
DTYPES = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float8_e4m3fn: "e4m3"}

# The patterns whose rows go where each run says.
ROUTED = ("gemm_all_to_all", "all_to_all_gemm")


@dataclass(frozen=True)
class Layer:
    """What an operation is made for: everything but the number of rows. `init` takes these, too."""
    pattern: str  # as the spec has it: gemm_all_reduce, …
    n: int  # outputs of this rank
    k: int  # inputs of this rank
    dtype: torch.dtype = torch.bfloat16
    layout: str = "tn"  # of w: tn [n, k], nn [k, n]
    bias: bool = False
    scales: str = ""  # of e4m3: "" none, "tensor" one number each, "rows" one for each row of a and of w
    norm: bool = False  # whether the sums are added to a residual and normalised
    routing: str = ""  # of ROUTED: splits, rows

    def epilogue(self) -> list[str]:
        """The operations of the spec's epilogue."""
        operations = {"": [], "tensor": ["scale"], "rows": ["scale_rows", "scale_columns"]}[self.scales]
        return operations + (["bias"] if self.bias else [])

    def fields(self, ranks: int, most_rows: int, machine: Machine) -> dict[str, Value]:
        """The spec, for runs of at most `most_rows` rows."""
        fields = {"pattern": self.pattern, "ranks": ranks, "gemm.m": {"max": most_rows}, "gemm.n": self.n,
                  "gemm.k": self.k, "gemm.a": DTYPES[self.dtype], "gemm.layout": self.layout,
                  "gemm.epilogue": self.epilogue(), **machine.fields}
        if self.norm:
            fields["consumer"] = "residual_rms_norm"
        if self.routing:
            fields["routing"] = self.routing
        return fields


@dataclass(frozen=True)
class Machine:
    """What is planned for."""
    name: Union[str, None]  # the profile that the planner takes; None: its default
    arch: str
    sms: int = 0  # 0: those of the profile

    @property
    def fields(self) -> dict[str, Value]:
        """The fields of a spec that name it."""
        if self.arch == "host":
            # One tile, so that one kernel serves all shapes.
            return {"arch": "host", "schedule.tile": [64, 64]}
        return {"arch": self.arch, "schedule.sms": self.sms}


HOST = Machine(None, "host")

# The profiles of GPUs by what their names contain, and those of each architecture's other GPUs.
_PROFILES = (("H200", "h200"), ("H100", "h100"), ("A100", "a100"), ("L40S", "l40s"), ("4090", "rtx4090"))
_OTHERS = {"sm_90a": "h100", "sm_80": "a100"}


def machine_of(device: torch.device) -> Union[Machine, str]:
    """The machine of a GPU, or why there are no kernels for it."""
    properties = torch.cuda.get_device_properties(device)
    major, minor = properties.major, properties.minor
    # Kernels of sm_80 run on 8.6 and 8.9, too. Those of sm_90a run on 9.0 alone.
    arch = {8: "sm_80", 9: "sm_90a"}.get(major)
    if arch is None or (major, minor) > (9, 0):
        return f"there are kernels for compute capability 8.0 to 9.0, and '{properties.name}' has {major}.{minor}"
    named = [profile for part, profile in _PROFILES if part in properties.name]
    return Machine(named[0] if named else _OTHERS[arch], arch, properties.multi_processor_count)
