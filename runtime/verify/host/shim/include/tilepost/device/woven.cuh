// Replaces the header of this name: see cpu_shim.h.
#pragma once

#include "runtime/verify/host/shim/cpu_woven.h"
