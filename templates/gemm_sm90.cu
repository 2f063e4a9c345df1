// Persistent GEMM for sm_90a: C[m, n] = A[m, k] * B[n, k]^T, 16-bit elements, fp32 accumulation.
//
// One CTA per SM walks the schedule: its positions are blockIdx.x, blockIdx.x + gridDim.x, … Three
// warpgroups share the work. Warpgroup 0 gives its registers away and moves data: one thread loads
// operands with TMA, two store finished panels with TMA. Warpgroups 1 and 2, the consumers,
// multiply the upper and the lower half of each tile. Everybody meets at mbarriers only:
//
//   full[stage]    the loads of a stage have landed      loader -> consumers
//   empty[stage]   a stage has been multiplied           consumers of the whole cluster -> loader
//   panel_full     a panel of C is in shared memory      consumer -> its store thread
//   panel_empty    a panel has been read by TMA          store thread -> its consumer
//
// The CTAs of a cluster work on the same columns: each loads its share of B for all of them.
// A consumer never waits for global memory and never knows which tile it computes. The thread that
// issued a tile's stores is the one that can wait for them, so the store threads say tile_done: two
// signals per tile.
//
// Launch: kThreads threads, kSharedBytes of dynamic shared memory, cluster (CLUSTER, 1, 1), a grid
// that is a multiple of CLUSTER. Tensor maps, all with the 128-byte swizzle: A {k, m}, box
// {64, TILE_M}; B {k, n}, box {64, TILE_N / CLUSTER}; C {n, m}, box {64, 64}. TMA fills what lies
// outside A and B with zeros and does not write outside C, so m, n and k are arbitrary as far as
// the maps allow: rows of A, B and C start at multiples of 16 bytes.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm90.cuh>
#include <tilepost/device/wgmma.cuh>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 128);   // 128 or 256
constexpr int kTileN = tilepost::tunable("TILE_N", 256);   // 128, 192 or 256
constexpr int kStages = tilepost::tunable("STAGES", 3);    // of the load pipeline
constexpr int kPanels = tilepost::tunable("PANELS", 4);    // buffers for C per consumer
constexpr int kCluster = tilepost::tunable("CLUSTER", 2);  // CTAs that share B: 1, 2 or 4
constexpr int kBand = tilepost::tunable("BAND", 16);       // tile rows swept together
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);

constexpr int kTileK = 64;   // one swizzled row of 128 bytes
constexpr int kStepK = 16;   // of one wgmma
constexpr int kBlockM = 64;  // rows of one wgmma
constexpr int kPanelN = 64;  // columns of a panel: one swizzled row; it has kBlockM rows
constexpr int kRowBytes = 128;

constexpr int kConsumers = 2;
constexpr int kConsumerM = kTileM / kConsumers;
constexpr int kBlocks = kConsumerM / kBlockM;  // wgmma blocks of a consumer, one below the other
constexpr int kSums = kTileN / 2;              // registers of a block's sums
constexpr int kPanelsPerTile = kBlocks * kTileN / kPanelN;  // of a consumer

constexpr int kBytesA = kTileM * kRowBytes;
constexpr int kBytesB = kTileN * kRowBytes;
constexpr int kPanelBytes = kBlockM * kRowBytes;
constexpr int kPipelineBytes = kStages * (kBytesA + kBytesB);
constexpr int kNumBarriers = 2 * kStages + 2 * kConsumers * kPanels;
constexpr int kBarrierBytes = 1024;

constexpr int kThreads = 384;
constexpr int kSharedBytes = kPipelineBytes + kConsumers * kPanels * kPanelBytes + kBarrierBytes;

// 65536 registers for 384 threads: a warpgroup of movers and two of consumers share 504 per thread.
// 192 sums leave a consumer no room in 232.
constexpr int kMoverRegisters = kBlocks * kSums >= 192 ? 24 : 40;
constexpr int kConsumerRegisters = (504 - kMoverRegisters) / 2;

static_assert(kTileM == 128 || kTileM == 256, "TILE_M is 128 or 256");
static_assert(kTileN == 128 || kTileN == 192 || kTileN == 256, "TILE_N is 128, 192 or 256");
static_assert(kBlocks * kSums <= 192, "the sums of a tile do not fit the registers");
static_assert(kCluster == 1 || kCluster == 2 || kCluster == 4, "CLUSTER is 1, 2 or 4");
static_assert(kStages >= 2 && kPanels >= 1 && kBand >= 1 && kBand % kCluster == 0);
static_assert(kNumBarriers * 8 <= kBarrierBytes && kSharedBytes <= 232448, "shared memory");

// Where things are in shared memory. Stages and panels are multiples of 1024 bytes, the period of
// the swizzle.
struct Shared {
  uint32_t base;

  __device__ uint32_t a(int stage) const { return base + stage * kBytesA; }
  __device__ uint32_t b(int stage) const { return base + kStages * kBytesA + stage * kBytesB; }
  __device__ uint32_t panel(int consumer, int buffer) const {
    return base + kPipelineBytes + (consumer * kPanels + buffer) * kPanelBytes;
  }
  __device__ uint32_t full(int stage) const { return barrier(stage); }
  __device__ uint32_t empty(int stage) const { return barrier(kStages + stage); }
  __device__ uint32_t panel_full(int consumer, int buffer) const {
    return barrier(2 * kStages + consumer * kPanels + buffer);
  }
  __device__ uint32_t panel_empty(int consumer, int buffer) const {
    return barrier(2 * kStages + (kConsumers + consumer) * kPanels + buffer);
  }
  __device__ uint32_t barrier(int index) const {
    return base + kSharedBytes - kBarrierBytes + index * 8;
  }
};

// A position in a ring of buffers and the parity its barrier will have when the wait is over. Who
// fills starts with parity 1 (a fresh barrier passes for it), who empties with parity 0.
template <int kSize>
struct Ring {
  int index = 0;
  uint32_t parity;

  __device__ explicit Ring(uint32_t first_parity) : parity(first_parity) {}
  __device__ void advance() {
    if (++index == kSize) {
      index = 0;
      parity ^= 1;
    }
  }
};

// One thread.
__device__ __forceinline__ void init_barriers(const Shared& shared) {
  for (int stage = 0; stage < kStages; ++stage) {
    tilepost::ptx::init_barrier(shared.full(stage), 1);
    tilepost::ptx::init_barrier(shared.empty(stage), kConsumers * kCluster);
  }
  for (int consumer = 0; consumer < kConsumers; ++consumer)
    for (int buffer = 0; buffer < kPanels; ++buffer) {
      tilepost::ptx::init_barrier(shared.panel_full(consumer, buffer), 4);  // one per warp
      tilepost::ptx::init_barrier(shared.panel_empty(consumer, buffer), 1);
    }
  tilepost::ptx::fence_barrier_init();
}

// The loader: one thread. Fills the stages with the operands of one tile after the other.
__device__ __forceinline__ void load_tiles(const Shared& shared, const CUtensorMap* map_a,
                                           const CUtensorMap* map_b, const tilepost::TileGrid& grid,
                                           int tiles, int steps) {
  constexpr int kShareN = kTileN / kCluster;
  constexpr int kShareBytes = kBytesB / kCluster;
  constexpr uint16_t kAllRanks = (1 << kCluster) - 1;
  const int rank = kCluster > 1 ? static_cast<int>(tilepost::ptx::cluster_rank()) : 0;
  Ring<kStages> ring(1);
  tilepost::ptx::wait_for_previous_kernels();
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
#pragma unroll 1  // 24 or 40 registers
    for (int step = 0; step < steps; ++step) {
      const uint32_t full = shared.full(ring.index);
      tilepost::ptx::wait_barrier(shared.empty(ring.index), ring.parity);
      // A mate's share of B may land before this: the barrier's count of bytes is signed.
      tilepost::ptx::arrive_expecting(full, kBytesA + kBytesB);
      tilepost::ptx::load_box(shared.a(ring.index), map_a, full, step * kTileK, tile.m * kTileM);
      if constexpr (kCluster > 1)
        tilepost::ptx::load_box_multicast(shared.b(ring.index) + rank * kShareBytes, map_b, full,
                                          step * kTileK, tile.n * kTileN + rank * kShareN,
                                          kAllRanks);
      else
        tilepost::ptx::load_box(shared.b(ring.index), map_b, full, step * kTileK, tile.n * kTileN);
      ring.advance();
    }
  }
  // A mate may still write and arrive here: leave when the whole cluster has released every stage.
  if constexpr (kCluster > 1)
    for (int stage = 0; stage < kStages; ++stage) {
      tilepost::ptx::wait_barrier(shared.empty(ring.index), ring.parity);
      ring.advance();
    }
}

// A store thread: one per consumer. Stores its panels and says when a tile is complete.
__device__ __forceinline__ void store_tiles(const Shared& shared, const CUtensorMap* map_c,
                                            const tilepost::TileGrid& grid, int tiles,
                                            int consumer) {
  Ring<kPanels> ring(0);
  tilepost::ptx::wait_for_previous_kernels();
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    int previous = 0;
    for (int panel = 0; panel < kPanelsPerTile; ++panel) {
      tilepost::ptx::wait_barrier(shared.panel_full(consumer, ring.index), ring.parity);
      if (!tile.is_padding()) {
        const int row = consumer * kConsumerM + panel % kBlocks * kBlockM;
        const int col = panel / kBlocks * kPanelN;
        const tilepost::Coord coord = tilepost::out_coord(grid, tile, row, col);
        tilepost::ptx::store_box(map_c, shared.panel(consumer, ring.index), coord.x, coord.y);
      }
      tilepost::ptx::commit_bulk();
      // Give back the panel before this one, whose store has had time to read it. With a single
      // buffer there is none before it: the consumer waits for this very one.
      if constexpr (kPanels == 1) {
        tilepost::ptx::wait_bulk_read<0>();
        tilepost::ptx::arrive(shared.panel_empty(consumer, 0));
      } else if (panel > 0) {
        tilepost::ptx::wait_bulk_read<1>();
        tilepost::ptx::arrive(shared.panel_empty(consumer, previous));
      }
      previous = ring.index;
      ring.advance();
    }
    if constexpr (kPanels > 1) {
      tilepost::ptx::wait_bulk_read<0>();
      tilepost::ptx::arrive(shared.panel_empty(consumer, previous));
    }
    tilepost::tile_done(tile, tilepost::BulkStores{});
  }
  tilepost::ptx::wait_bulk<0>();
}

__device__ __forceinline__ void pin_sums(float (&sums)[kBlocks][kSums]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) tilepost::ptx::pin(sums[block]);
}

// One thread of every CTA of the cluster hears that this consumer is done with a stage.
__device__ __forceinline__ void release_stage(const Shared& shared, int stage, int thread) {
  if constexpr (kCluster > 1) {
    if (thread < kCluster) tilepost::ptx::arrive_remote(shared.empty(stage), thread);
  } else {
    if (thread == 0) tilepost::ptx::arrive(shared.empty(stage));
  }
}

// Multiplies the consumer's half of one tile. One stage is still being multiplied while the next is
// issued; a stage is released when the one after it has been issued.
__device__ __forceinline__ void multiply_tile(const Shared& shared, Ring<kStages>& ring,
                                              float (&sums)[kBlocks][kSums], int steps,
                                              int consumer, int thread) {
  int previous = -1;
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
    tilepost::ptx::wait_barrier(shared.full(ring.index), ring.parity);
    pin_sums(sums);
    tilepost::ptx::wgmma_fence();
    const uint64_t b = tilepost::ptx::matrix_descriptor(shared.b(ring.index));
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const uint64_t a = tilepost::ptx::matrix_descriptor(
          shared.a(ring.index) + (consumer * kConsumerM + block * kBlockM) * kRowBytes);
#pragma unroll
      for (int k = 0; k < kTileK / kStepK; ++k)
        tilepost::ptx::wgmma<kTileN, kElement>(sums[block], a + 2 * k, b + 2 * k, (step | k) != 0);
    }
    tilepost::ptx::wgmma_commit();
    pin_sums(sums);
    tilepost::ptx::wgmma_wait<1>();
    if (previous >= 0) release_stage(shared, previous, thread);
    previous = ring.index;
    ring.advance();
  }
  tilepost::ptx::wgmma_wait<0>();
  pin_sums(sums);
  release_stage(shared, previous, thread);
}

// Rounds the sums and hands them to the store thread panel by panel, in the swizzled form that TMA
// expects: of a row's eight chunks of 16 bytes, chunk c lies at c ^ (row % 8).
__device__ __forceinline__ void write_panels(const Shared& shared, Ring<kPanels>& ring,
                                             const float (&sums)[kBlocks][kSums], int consumer,
                                             int thread) {
  const int lane = thread % 32;
  const int row = thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int panel = 0; panel < kPanelsPerTile; ++panel) {
    tilepost::ptx::wait_barrier(shared.panel_empty(consumer, ring.index), ring.parity);
    const uint32_t target = shared.panel(consumer, ring.index) + row * kRowBytes;
#pragma unroll
    for (int pair = 0; pair < kPanelN / 16; ++pair) {
      // (rows 0-7, 8-15) x (columns 0-7, 8-15) of 16 x 16 elements.
      const float* s = &sums[panel % kBlocks][(panel / kBlocks * kPanelN + pair * 16) / 2];
      const int chunk = pair * 2 + lane / 16;
      tilepost::ptx::store_matrices(
          target + ((chunk ^ (row % 8)) << 4), tilepost::pack<kElement>(s[0], s[1]),
          tilepost::pack<kElement>(s[2], s[3]), tilepost::pack<kElement>(s[4], s[5]),
          tilepost::pack<kElement>(s[6], s[7]));
    }
    tilepost::ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) tilepost::ptx::arrive(shared.panel_full(consumer, ring.index));
    ring.advance();
  }
}

// A consumer: 128 threads.
__device__ __forceinline__ void multiply_tiles(const Shared& shared, int tiles, int steps,
                                               int consumer, int thread) {
  Ring<kStages> stages(0);
  Ring<kPanels> panels(1);
  float sums[kBlocks][kSums];
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    multiply_tile(shared, stages, sums, steps, consumer, thread);
    write_panels(shared, panels, sums, consumer, thread);
  }
}

// Without the bound on threads ptxas ignores setmaxnreg (warning C7508).
__global__ void __launch_bounds__(kThreads, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_c,
              const __grid_constant__ tilepost_shape_t shape) {
  extern __shared__ __align__(1024) uint8_t gemm_sm90_memory[];
  const Shared shared{tilepost::ptx::shared_address(gemm_sm90_memory)};
  const tilepost::TileGrid grid{(shape.m + kTileM - 1) / kTileM,
                                (shape.n + kTileN - 1) / kTileN,
                                kTileM,
                                kTileN,
                                kCluster,
                                kBand};
  const int tiles = tilepost::num_tiles(grid);
  const int steps = (shape.k + kTileK - 1) / kTileK;
  // The shuffle tells the compiler that the warp's number is the same in all its lanes.
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;

  if (threadIdx.x == 0) {
    init_barriers(shared);
    tilepost::ptx::prefetch_tensor_map(&map_a);
    tilepost::ptx::prefetch_tensor_map(&map_b);
    tilepost::ptx::prefetch_tensor_map(&map_c);
  }
  if constexpr (kCluster > 1)
    tilepost::ptx::cluster_sync();
  else
    __syncthreads();

  if (warp < 4) {
    tilepost::ptx::shrink_registers<kMoverRegisters>();
    if (warp == 0 && lane == 0) load_tiles(shared, &map_a, &map_b, grid, tiles, steps);
    if ((warp == 1 || warp == 2) && lane == 0) store_tiles(shared, &map_c, grid, tiles, warp - 1);
  } else {
    tilepost::ptx::grow_registers<kConsumerRegisters>();
    multiply_tiles(shared, tiles, steps, warp / 4 - 1, threadIdx.x % 128);
  }
}
