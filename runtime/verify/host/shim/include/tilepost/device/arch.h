// Replaces the header of this name: see cpu_shim.h.
#pragma once
