// Clears a tile of the output, for kernels that read what they store.
#ifndef TILEPOST_DEVICE_CLEAR_TILE_CUH
#define TILEPOST_DEVICE_CLEAR_TILE_CUH

#include <cstring>

#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// Sets to zero a tile of tile_m rows and tile_n columns, which the kernel's block computes. All
// threads of the block call. `c` is the whole output, row-major. All threads see the zeros behind
// the block's next barrier (CUDA C++ Programming Guide, Synchronization Functions: __syncthreads).
template <class Element>
__device__ __forceinline__ void clear_tile(Element* c, const Tile& tile,
                                           const tilepost_shape_t& shape, int tile_m, int tile_n) {
  const int rows = tile.m + tile_m <= shape.m ? tile_m : shape.m - tile.m;
  const int columns = tile.n + tile_n <= shape.n ? tile_n : shape.n - tile.n;
  const int threads = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
  const int thread =
      static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  Element* const first = c + static_cast<long long>(tile.row) * shape.ldc + tile.n;
  for (int i = thread; i < rows * columns; i += threads)
    memset(first + static_cast<long long>(i / columns) * shape.ldc + i % columns, 0,
           sizeof(Element));
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_CLEAR_TILE_CUH
