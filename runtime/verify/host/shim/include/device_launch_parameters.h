// Replaces CUDA's header of this name: see cpu_shim.h.
#pragma once

#include "runtime/verify/host/shim/cpu_shim.h"
