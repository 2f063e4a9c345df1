// A persistent GEMM for sm_90a, with TMA loads, wgmma and TMA stores: C[m, n] = A[m, k] * B[n,
// k]^T, bf16. Its launcher makes the tensor maps.
//
// One thread of warpgroup 0 loads. Each other warpgroup, a consumer, multiplies 64 rows of a tile
// and writes them into panels of 64 columns in shared memory. One thread of each consumer stores
// its panels and signals that its part of the tile is done, so a tile has two signals.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <tilepost/plan.h>
#include <tilepost/device/panel.cuh>
#include <tilepost/device/pipeline.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm90.cuh>
#include <tilepost/device/ring.cuh>
#include <tilepost/device/wgmma.cuh>
#include <tilepost/mark.cuh>

namespace lib {

constexpr int kConsumers = 2, kStages = 4, kBlock = 64;  // rows of a wgmma
constexpr int kTileM = kConsumers * kBlock, kTileK = 64;
constexpr int kRowBytes = 128;  // of an operand in shared memory: one swizzled row

template <int kTileN>
struct Shared {
  static constexpr int kPanels = kTileN / kBlock;  // of a consumer
  static constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes;
  static constexpr int kPanelBytes = kBlock * kRowBytes;
  static constexpr int kBarriers =
      kStages * (kBytesA + kBytesB) + kConsumers * kPanels * kPanelBytes;
  using Stages = tilepost::StageBarriers<0, kStages>;
  using Panels = tilepost::PanelBarriers<Stages::kEnd, kConsumers, kPanels>;

  uint32_t base;

  __device__ uint32_t a(int stage) const { return base + stage * kBytesA; }
  __device__ uint32_t b(int stage) const { return base + kStages * kBytesA + stage * kBytesB; }
  __device__ uint32_t panel(int consumer, int panel) const {
    return base + kStages * (kBytesA + kBytesB) + (consumer * kPanels + panel) * kPanelBytes;
  }
  __device__ Stages stages() const { return {base + kBarriers}; }
  __device__ Panels panels() const { return {base + kBarriers}; }
};

// One thread. Loads A and B for all tiles of the block.
template <int kTileN>
__device__ void load_tiles(const Shared<kTileN>& shared, const CUtensorMap* map_a,
                           const CUtensorMap* map_b, const tilepost::TileGrid& grid, int k) {
  tilepost::Ring<kStages> ring(1);
  for (int position = blockIdx.x; position < tilepost::num_tiles(grid); position += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    for (int from = 0; from < k; from += kTileK) {
      const uint32_t full =
          shared.stages().await_empty(ring, Shared<kTileN>::kBytesA + Shared<kTileN>::kBytesB);
      tilepost::ptx::load_box(shared.a(ring.index), map_a, full, from, tile.m);
      tilepost::ptx::load_box(shared.b(ring.index), map_b, full, from, tile.n);
      ring.advance();
    }
  }
}

template <int kTileN>
class Consumer {
 public:
  __device__ Consumer(const Shared<kTileN>& shared, int consumer)
      : shared_(shared), consumer_(consumer), thread_(threadIdx.x % 128), ring_(0) {}

  __device__ void compute(const CUtensorMap* map_c, const tilepost::TileGrid& grid, int m, int k) {
    if (thread_ == 0) may_store_ = tilepost::open_out_maps(m, kConsumers);
    for (int position = blockIdx.x; position < tilepost::num_tiles(grid); position += gridDim.x) {
      multiply(k);
      write();
      if (thread_ == 0) store(map_c, grid, tilepost::tile(grid, position));
      __syncwarp();
      parity_ ^= 1;
    }
    if (thread_ == 0) tilepost::ptx::wait_bulk<0>();
  }

 private:
  __device__ void multiply(int k) {
    for (int from = 0; from < k; from += kTileK) {
      tilepost::ptx::wait_barrier(shared_.stages().full(ring_.index), ring_.parity);
      tilepost::ptx::pin(sums_);
      tilepost::ptx::wgmma_fence();
      const uint64_t x =
          tilepost::ptx::matrix_descriptor(shared_.a(ring_.index) + consumer_ * kBlock * kRowBytes);
      const uint64_t y = tilepost::ptx::matrix_descriptor(shared_.b(ring_.index));
#pragma unroll
      for (int step = 0; step < 4; ++step)
        tilepost::ptx::wgmma<kTileN, tilepost::DType::bf16, false>(
            sums_, x + 2 * step, y + 2 * step, from > 0 || step > 0);
      tilepost::ptx::wgmma_commit();
      tilepost::ptx::wgmma_wait<0>();
      tilepost::ptx::pin(sums_);
      shared_.stages().release(ring_.index, thread_);
      ring_.advance();
    }
  }

  __device__ void write() {
#pragma unroll
    for (int panel = 0; panel < Shared<kTileN>::kPanels; ++panel) {
      tilepost::panel::Words<kBlock> words;
      tilepost::panel::round<kBlock, 0, tilepost::DType::bf16>(words, sums_ + panel * kBlock / 2,
                                                               {}, {}, {});
      tilepost::ptx::wait_barrier(shared_.panels().empty(consumer_, panel), parity_ ^ 1);
      tilepost::panel::write<kBlock>(shared_.panel(consumer_, panel), words, thread_);
      shared_.panels().pass_on(consumer_, panel, thread_);
    }
  }

  // One thread. Stores the panels of this consumer.
  __device__ void store(const CUtensorMap* map_c, const tilepost::TileGrid& grid,
                        const tilepost::Tile& tile) {
    const tilepost::Coord at = tilepost::out_coord(grid, tile, consumer_ * kBlock, 0);
    const CUtensorMap* map = tilepost::out_map(map_c, tile);
    for (int panel = 0; panel < Shared<kTileN>::kPanels; ++panel) {
      tilepost::ptx::wait_barrier(shared_.panels().full(consumer_, panel), parity_);
      if (may_store_ && !tile.is_padding())
        tilepost::ptx::store_box(map, shared_.panel(consumer_, panel), at.x + panel * kBlock, at.y);
    }
    tilepost::ptx::commit_bulk();
    if (may_store_) tilepost::tile_done(tile, tilepost::BulkStores{});
    tilepost::ptx::wait_bulk_read<0>();
    for (int panel = 0; panel < Shared<kTileN>::kPanels; ++panel)
      tilepost::ptx::arrive(shared_.panels().empty(consumer_, panel));
  }

  const Shared<kTileN> shared_;
  const int consumer_, thread_;
  tilepost::Ring<kStages> ring_;
  uint32_t parity_ = 0;  // of the tile
  bool may_store_ = true;
  float sums_[kTileN / 2];
};

template <int kTileN>
__global__ void __launch_bounds__(128 * (1 + kConsumers), 1)
    hopper(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
           const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t hopper_memory[];
  const Shared<kTileN> shared{tilepost::ptx::shared_address(hopper_memory)};
  const tilepost::TileGrid grid{
      (m + kTileM - 1) / kTileM, (n + kTileN - 1) / kTileN, kTileM, kTileN, 1, 16};
  if (threadIdx.x == 0) {
    shared.stages().init(kConsumers);
    for (int consumer = 0; consumer < kConsumers; ++consumer) shared.panels().init(consumer);
    tilepost::ptx::fence_barrier_init();
  }
  __syncthreads();
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    if (threadIdx.x == 0) load_tiles(shared, &map_a, &map_b, grid, k);
  } else {
    Consumer<kTileN>(shared, warpgroup - 1).compute(&map_c, grid, m, k);
  }
}

// A tensor map of `rows` rows of `columns` elements, which are moved in boxes of 64 columns.
inline CUresult describe(CUtensorMap& map, const void* from, int64_t columns, int64_t rows,
                         unsigned box_rows) {
  static PFN_cuTensorMapEncodeTiled_v12000 encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                     &found);
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  if (encode == nullptr) return CUDA_ERROR_NOT_FOUND;
  const cuuint64_t size[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t stride[] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[] = {kTileK, box_rows}, step[] = {1, 1};
  return encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(from), size, stride,
                box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

template <int kTileN>
cudaError_t launch_tiles(const tilepost_launch_call_t* call) {
  int m = call->shape.m, n = call->shape.n, k = call->shape.k;
  CUtensorMap a, b, c;
  const bool described = describe(a, call->a, k, m, kTileM) == CUDA_SUCCESS &&
                         describe(b, call->b, k, n, kTileN) == CUDA_SUCCESS &&
                         describe(c, call->out, n, call->out_rows, kBlock) == CUDA_SUCCESS;
  if (!described) return cudaErrorInvalidValue;
  void* arguments[] = {&a, &b, &c, &m, &n, &k, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

cudaError_t launch_hopper(const tilepost_launch_call_t* call, void*) {
  return launch_tiles<128>(call);
}

}  // namespace lib
