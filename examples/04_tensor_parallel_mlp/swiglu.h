// The step between the two GEMMs on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

// inner[row, i] = silu(gate) * up, where row `row` of gate_and_up, [rows, 2 * part], has gate's
// elements and then up's; all bf16, 16-byte aligned, `part` a multiple of 8.
cudaError_t swiglu(const void* gate_and_up, void* inner, int64_t rows, int64_t part,
                   cudaStream_t stream);
