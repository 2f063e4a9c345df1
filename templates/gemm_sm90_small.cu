// Persistent GEMM for sm_90a and few rows: C[m, n] = A[m, k] * B, summed in fp32. Operands have 16
// bits or are e4m3. A is up to a few hundred tokens, and B is weights. The kernel takes about as
// long as loading the weights from memory takes.
//
// The operands are swapped. The matrix instruction's A is 64 rows of weights for each consumer, and
// its N is the tokens, which may be as few as 8. So a tile of C arises transposed, and is
// transposed back on its way through shared memory.
//
// A CTA has consumer warpgroups, then two warps of movers: one thread loads operands with TMA, and
// one stores C with TMA. HELPER_WARPS more warps may follow, which have no work of their own. With
// LENDS they read the panels too. Consumers may join the helper warps after their last tile. All
// threads synchronise at mbarriers: those of stages (pipeline.cuh), and
//
//   ready           partial sums may be sent                consumers of the cluster -> the same
//   received[c]     partial sums for consumer c have come   consumers of the mates -> consumer
//   panel_full[c]   consumer c's part of C is in shared     consumer -> store thread
//   panels_empty    the panels have been read               store thread -> consumers
//
// If A arrives while the kernel runs, the loader loads weights ahead, for as many stages as there
// are. Helper warps write to a word of shared memory for which tiles tokens have arrived.
//
// The SPLIT_K CTAs of a cluster share its tiles. Each CTA sums a range of K, then sends to every
// mate the partial sums that the mate owns (a multiple of eight tokens). The owner adds the partial
// sums in the order of ranks, so that the result is always the same, and stores it. Each tile gets
// SPLIT_K signals. README.md says how the kernel is launched.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/narrow_products.cuh>
#include <tilepost/device/pipeline.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_cluster.cuh>
#include <tilepost/device/ptx_sm90.cuh>
#include <tilepost/device/ring.cuh>
#include <tilepost/device/split_k.cuh>
#include <tilepost/device/staged_scales.cuh>
#include <tilepost/device/transposed_epilogue.cuh>
#include <tilepost/device/wgmma.cuh>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 16);         // tokens: 8, or 16 to 256 by 16
constexpr int kTileN = tilepost::tunable("TILE_N", 64);         // rows of weights: 64 or 128
constexpr int kStages = tilepost::tunable("STAGES", 10);        // stages of the load pipeline
constexpr int kSplitK = tilepost::tunable("SPLIT_K", 1);        // CTAs that share a tile: 1 to 8
constexpr int kBand = tilepost::tunable("BAND", 16);            // tile rows swept together
constexpr int kHelpers = tilepost::tunable("HELPER_WARPS", 0);  // warps lent to the exchange
constexpr bool kLends = tilepost::tunable("LENDS", 0);          // helper warps read panels
constexpr bool kNN = tilepost::tunable("NN", 0);                // B is [k, n] row-major, not [n, k]
constexpr bool kPrecise = tilepost::tunable("PRECISE", 0);      // e4m3: adds blocks' sums in fp32
constexpr int kScales = tilepost::tunable("SCALES", 0);         // of blocks: a ScalesTunable
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);     // a set of TILEPOST_SCALE …
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);

constexpr int kRowBytes = 128;  // an operand's row in shared memory, swizzled
constexpr int kTileK = kRowBytes / static_cast<int>(sizeof(tilepost::DeviceElement<kElement>));
constexpr int kBlocks = kTileM <= 64 ? 2 : 1;  // of kTileK in a stage; two need fewer waits
constexpr int kStageK = kBlocks * kTileK;
constexpr int kSteps = 4;       // wgmmas along a row, 32 bytes each
constexpr int kConsumerN = 64;  // a consumer's rows of weights, and a panel's columns of C
constexpr int kConsumers = kTileN / kConsumerN;
constexpr int kSums = kTileM / 2;  // registers of a consumer's sums

constexpr int kUnitM = 8;  // tokens of a unit of sums
constexpr int kUnits = kTileM / kUnitM;
using SplitK = tilepost::SplitK<kUnits, kSplitK>;
using Work = tilepost::SplitWork<kSplitK>;
using Scales = tilepost::StagedScales<kTileM, kBlocks, kScales>;
constexpr int kGroup = kTileM <= 192 ? 4 : 2;  // units whose epilogue's inputs fit the registers
// The rows of one store of C: a part of a CTA's rows, or all if every CTA owns as many.
constexpr int kBoxM = tilepost::tunable("BOX_M", kUnits % kSplitK == 0 ? kTileM / kSplitK : kUnitM);

constexpr int kWeightsBytes = kTileN * kRowBytes;  // for one block of K
constexpr int kConsumerBytes = kConsumerN * kRowBytes;
constexpr int kTokensBytes = kTileM * kRowBytes;
constexpr int kStageBytes = kBlocks * (kWeightsBytes + kTokensBytes);
constexpr int kPanelBytes = SplitK::kMaxOwned * kUnitM * kRowBytes;
constexpr int kPipelineBytes = kStages * kStageBytes;
constexpr int kPartsEnd = kPipelineBytes + kConsumers * (kPanelBytes + SplitK::kReceivedBytes);
constexpr int kScalesEnd = kPartsEnd + kStages * Scales::kBytes;

using StageBarriers = tilepost::StageBarriers<0, kStages>;
using ReceivedBarriers = tilepost::Barriers<StageBarriers::kEnd, kConsumers>;
using PanelBarriers = tilepost::Barriers<ReceivedBarriers::kEnd, kConsumers>;
using ReadyBarrier = tilepost::Barriers<PanelBarriers::kEnd, 1>;
using PanelsEmptyBarrier = tilepost::Barriers<ReadyBarrier::kEnd, 1>;
constexpr int kBarrierBytes = 1024, kHelperBytes = 256;  // the latter for helper warps, at the end

constexpr int kConsumerWarps = 4 * kConsumers;
constexpr int kThreads = 32 * (kConsumerWarps + 2 + kHelpers);
constexpr int kHelperThreads = 32 * kHelpers;
// Whether a thread's registers hold the scales of A while it multiplies 128 rows.
constexpr bool kScalesEarly = kTileM <= 96 || (kConsumers == 1 && kHelpers == 0);
// Consumers help with the CTA's last part if it has more than 16 bytes for each helper thread.
constexpr bool kJoins = kHelpers > 0 && !kLends && SplitK::kMaxOwned * kTileN > kHelperThreads;
constexpr int kJoining = kJoins ? 32 * kConsumerWarps : 0;
constexpr int kSharedBytes = kScalesEnd + kBarrierBytes;

static_assert(kTileM == 8 || (kTileM > 0 && kTileM % 16 == 0), "TILE_M is 8 or a multiple of 16");
static_assert(kTileM <= (kPrecise ? 128 : 256), "a thread's registers hold 128 sums");
static_assert(kTileN == 64 || kTileN == 128, "TILE_N is 64 or 128");
static_assert(kSplitK >= 1 && kSplitK <= 8, "a cluster has at most 8 CTAs");
static_assert(!kNN || kElement != tilepost::DType::e4m3, "wgmma reads e4m3 K-major only");
static_assert(kStages >= 2 && kBand >= 1 && kHelpers >= 0);
static_assert(kUnits % kSplitK == 0 ? kTileM / kSplitK % kBoxM == 0 : kBoxM == kUnitM,
              "a CTA owns whole boxes");
static_assert((PanelsEmptyBarrier::kEnd + 1) * tilepost::kMbarrierBytes <=
                  kBarrierBytes - kHelperBytes,
              "room for barriers, and a word");
static_assert(kSharedBytes <= 232448, "shared memory");

// The layout of shared memory. Stages and panels are multiples of 1024 bytes, the swizzle's period.
struct Shared {
  uint32_t base;

  __device__ uint32_t weights(int stage, int block) const {
    return base + stage * kStageBytes + block * kWeightsBytes;
  }
  __device__ uint32_t tokens(int stage, int block) const {
    return base + stage * kStageBytes + kBlocks * kWeightsBytes + block * kTokensBytes;
  }
  __device__ uint32_t panel(int consumer) const {
    return base + kPipelineBytes + consumer * kPanelBytes;
  }
  // The memory where the consumers receive partial sums.
  __device__ uint32_t parts() const { return panel(kConsumers); }
  // With SCALES a stage has room for the scales of its blocks here.
  __device__ uint32_t scales(int stage) const { return base + kPartsEnd + stage * Scales::kBytes; }
  __device__ uint32_t barriers() const { return base + kScalesEnd; }
  __device__ StageBarriers stages() const { return {barriers()}; }
  __device__ uint32_t panel_full(int consumer) const { return PanelBarriers{barriers()}[consumer]; }
  __device__ uint32_t panels_empty() const { return PanelsEmptyBarrier{barriers()}[0]; }
  // The word in which helper warps record how much of A has arrived.
  __device__ uint32_t arrived() const {
    return barriers() + PanelsEmptyBarrier::kEnd * tilepost::kMbarrierBytes;
  }
};

// With SPLIT_K, the barrier where consumer `consumer` waits for the mates' partial sums, and the
// barrier where all consumers wait until they may send partial sums.
__device__ __forceinline__ uint32_t received_at(const Shared& shared, int consumer) {
  return ReceivedBarriers{shared.barriers()}[consumer];
}
__device__ __forceinline__ uint32_t ready_at(const Shared& shared) {
  return ReadyBarrier{shared.barriers()}[0];
}

// One thread calls this.
__device__ __forceinline__ void init_barriers(const Shared& shared) {
  shared.stages().init(kScales != 0 ? kConsumerWarps : kConsumers, Scales::kCopiers);
  for (int consumer = 0; consumer < kConsumers; ++consumer) {
    if constexpr (kSplitK > 1) tilepost::ptx::init_barrier(received_at(shared, consumer), 1);
    tilepost::ptx::init_barrier(shared.panel_full(consumer), 4);  // one per warp
  }
  if constexpr (kSplitK > 1)
    tilepost::ptx::init_barrier(ready_at(shared), kConsumerWarps * kSplitK);
  tilepost::ptx::init_barrier(shared.panels_empty(), kLends ? 2 : 1);
  tilepost::open_input(shared.arrived());
  tilepost::ptx::fence_barrier_init();
}

// Starts the loads of one stage. Weights (brings_b) come first, because they take longer to arrive.
// Tokens (brings_a) may also be loaded later, by a second call.
__device__ __forceinline__ void load_stage(const Shared& shared, bool brings_b, bool brings_a,
                                           const CUtensorMap* map_a, const CUtensorMap* map_b,
                                           const tilepost::Tile& tile, int stage, int first_k,
                                           uint64_t policy) {
  const uint32_t full = shared.stages().full(stage);
  if (brings_b) tilepost::ptx::arrive_expecting(full, kStageBytes);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const int k = first_k + block * kTileK;
    const uint32_t weights = shared.weights(stage, block);
    if (brings_b) {
      if constexpr (kNN) {
#pragma unroll
        for (int consumer = 0; consumer < kConsumers; ++consumer)
          tilepost::ptx::load_box_hinted(weights + consumer * kConsumerBytes, map_b, full,
                                         tile.n + consumer * kConsumerN, k, policy);
      } else {
        tilepost::ptx::load_box_hinted(weights, map_b, full, k, tile.n, policy);
      }
    }
    if (brings_a) tilepost::ptx::load_box(shared.tokens(stage, block), map_a, full, k, tile.m);
  }
}

// Brings the weights of the CTA's first tile into L2, as many as the pipeline holds. One thread
// calls this while earlier kernels may still run. It saves 7 % with 16 rows if such kernels follow
// each other and end with a wait for other ranks. Without an earlier kernel it costs half a
// microsecond. With 128 rows, whose exchange keeps L2 busy, it costs 3 %.
constexpr bool kPrefetches = kHelpers > 0 && kTileM <= 64;
__device__ __forceinline__ void prefetch_weights(const CUtensorMap* map_b,
                                                 const tilepost::TileGrid& grid, const Work& work) {
  if (work.first >= work.tiles) return;
  const tilepost::Tile tile = tilepost::tile(grid, work.first);
  const int behind = min(work.first_stage + kStages, work.last_stage) * kBlocks;
  for (int block = work.first_stage * kBlocks; block < behind; ++block) {
    if constexpr (kNN) {
#pragma unroll
      for (int consumer = 0; consumer < kConsumers; ++consumer)
        tilepost::ptx::prefetch_box(map_b, tile.n + consumer * kConsumerN, block * kTileK);
    } else {
      tilepost::ptx::prefetch_box(map_b, block * kTileK, tile.n);
    }
  }
}

// Starts to load the weights of a tile whose tokens have not arrived, for as many stages as there
// are. Returns the first stage that is not loaded.
__device__ __forceinline__ int load_ahead(const Shared& shared, const CUtensorMap* map_b,
                                          const tilepost::Tile& tile, const Work& work,
                                          tilepost::Ring<kStages> ring, uint64_t policy) {
  const int end = min(work.last_stage, work.first_stage + kStages);
#pragma unroll 1
  for (int stage = work.first_stage; stage < end; ++stage) {
    tilepost::ptx::wait_barrier(shared.stages().empty(ring.index), ring.parity);
    load_stage(shared, true, false, nullptr, map_b, tile, ring.index, stage * kStageK, policy);
    ring.advance();
  }
  return end;
}

// The loader is lane 0 of its warp. It fills the stages with the operands of one tile after the
// other. With SCALES the other lanes help it to copy scales: each lane waits for the tile's rows
// itself, so that it may read their scales. They wait behind the lane that loads weights ahead.
__device__ __forceinline__ void load_tiles(const Shared& shared, const CUtensorMap* map_a,
                                           const CUtensorMap* map_b, const tilepost::TileGrid& grid,
                                           const Work& work, const tilepost_shape_t& shape,
                                           const tilepost_epilogue_t& epilogue, int lane) {
  if (kScales == 0 && lane != 0) return;
  // Weights must not evict tokens from L2, unless another tile row reads the same weights again.
  const uint64_t policy = grid.tiles_m == 1 ? tilepost::ptx::policy_evict_first()
                                            : tilepost::ptx::policy_evict_normal();
  tilepost::Ring<kStages> ring(1);
  tilepost::HelpedLoads loads{shared.arrived()};
  for (int position = work.first; position < work.tiles; position += work.stride) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    const bool ahead = lane == 0 && !tilepost::input_has_come(tile, loads);
    const int loaded = ahead ? load_ahead(shared, map_b, tile, work, ring, policy) : 0;
    if constexpr (kScales != 0) __syncwarp();
    tilepost::input_ready(tile, loads);
    const CUtensorMap* tokens = tilepost::in_map(map_a, tile, loads);
    [[maybe_unused]] const float* scale_a = tilepost::in_scales(epilogue.scale_a, tile, loads);
#pragma unroll 1
    for (int stage = work.first_stage; stage < work.last_stage; ++stage) {
      const bool brings_b = !ahead || stage >= loaded;
      if (brings_b) tilepost::ptx::wait_barrier(shared.stages().empty(ring.index), ring.parity);
      if (kScales == 0 || lane == 0)
        load_stage(shared, brings_b, true, tokens, map_b, tile, ring.index, stage * kStageK,
                   policy);
      if constexpr (kScales != 0)
        Scales::copy(shape, scale_a, epilogue.scale_b, {tile.m, tile.n}, stage * kBlocks,
                     shared.scales(ring.index), shared.stages().full(ring.index), lane);
      ring.advance();
    }
  }
  tilepost::ptx::allow_next_kernels();
}

// The store thread. It stores the CTA's part of each tile and reports when the part is complete.
__device__ __forceinline__ void store_tiles(const Shared& shared, const CUtensorMap* map_c,
                                            const tilepost::TileGrid& grid, const Work& work) {
  const int owned = SplitK::first_unit(work.rank) * kUnitM,
            behind = SplitK::first_unit(work.rank + 1) * kUnitM;
  tilepost::Ring<1> panels(0);
  tilepost::TileStores stores;
  tilepost::open_exchange(stores);
  for (int position = work.first; position < work.tiles; position += work.stride) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      tilepost::ptx::wait_barrier(shared.panel_full(consumer), panels.parity);
      if (tile.is_padding()) continue;
      for (int row = owned; row < behind; row += kBoxM) {
        const int places = tilepost::num_places(stores, tile, row, kBoxM);
        for (int place = 0; place < places; ++place) {
          const auto to = tilepost::out_place(stores, map_c, grid, tile, row, kBoxM,
                                              consumer * kConsumerN, place);
          tilepost::ptx::store_box(to.map, shared.panel(consumer) + (row - owned) * kRowBytes, to.x,
                                   to.y);
        }
      }
    }
    panels.advance();
    tilepost::ptx::commit_bulk();
    tilepost::ptx::wait_bulk_read<0>();
    tilepost::ptx::arrive(shared.panels_empty());
    tilepost::tile_done(tile, tilepost::BulkStores{});
    tilepost::part_stored(stores, tile, owned, behind, position * kSplitK + work.rank);
  }
  tilepost::ptx::wait_bulk<0>();
}

// Starts one block of a stage: sums = weights * tokens, or with `accumulate` sums += the product.
__device__ __forceinline__ void multiply_block(const Shared& shared, int stage, int block,
                                               float (&sums)[kSums], int consumer,
                                               bool accumulate) {
  const uint64_t weights =
      tilepost::ptx::matrix_descriptor(shared.weights(stage, block) + consumer * kConsumerBytes);
  const uint64_t tokens = tilepost::ptx::matrix_descriptor(shared.tokens(stage, block));
#pragma unroll
  for (int k = 0; k < kSteps; ++k)
    tilepost::ptx::wgmma<kTileM, kElement, false, kNN>(
        sums, weights + k * tilepost::ptx::kStepOfA<kNN>, tokens + 2 * k, accumulate || k != 0);
}

// Multiplies the consumer's rows of one tile over the CTA's range of K. The next stage is issued
// while a stage is being multiplied, and then the stage is awaited and released.
__device__ __forceinline__ void multiply_tile(const Shared& shared, tilepost::Ring<kStages>& ring,
                                              float (&sums)[kSums], int stages, int consumer,
                                              int thread) {
  int previous = -1;
#pragma unroll 2
  for (int stage = 0; stage < stages; ++stage) {
    tilepost::ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
    tilepost::ptx::pin(sums);
    tilepost::ptx::wgmma_fence();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      multiply_block(shared, ring.index, block, sums, consumer, (stage | block) != 0);
    tilepost::ptx::wgmma_commit();
    tilepost::ptx::pin(sums);
    tilepost::ptx::wgmma_wait<1>();
    if (previous >= 0) shared.stages().release(previous, thread);
    previous = ring.index;
    ring.advance();
  }
  tilepost::ptx::wgmma_wait<0>();
  tilepost::ptx::pin(sums);
  shared.stages().release(previous, thread);
}

// How the main loops for e4m3 start to multiply a block of a stage (narrow_products.cuh).
struct BlockProducts {
  const Shared& shared;
  int consumer;

  __device__ __forceinline__ void operator()(float (&products)[kSums], int stage, int block) const {
    multiply_block(shared, stage, block, products, consumer, false);
  }
};

// Writes the part of the consumer's sums that this CTA owns into the consumer's panel. The panel
// has a row of 64 columns of C for each token, in the swizzled form that TMA expects: chunk c of a
// row's eight chunks of 16 bytes lies at c ^ (row % 8). A warp has sixteen columns, which are two
// chunks. (row, col) is the thread's first element of the output.
__device__ __forceinline__ void write_panel(const Shared& shared, const float (&sums)[kSums],
                                            const tilepost_shape_t& shape,
                                            const tilepost_epilogue_t& epilogue, int row, int col,
                                            int rank, int consumer, int thread) {
  const int lane = thread % 32;
  const int chunk = thread / 32 * 2 + lane / 8 % 2;
  const uint32_t target = shared.panel(consumer) + lane % 8 * kRowBytes + ((chunk ^ lane % 8) << 4);
#pragma unroll
  for (int owner = 0; owner < kSplitK; ++owner) {
    if (owner != rank) continue;
    const int first = SplitK::first_unit(owner), behind = SplitK::first_unit(owner + 1);
#pragma unroll
    for (int group = first; group < behind; group += kGroup) {
      __syncwarp();  // keeps ptxas from loading for all groups at once, which takes 255 registers
      tilepost::epilogue::UnitInputs<kEpilogue, kOutput, kGroup, kUnitM> inputs;
      inputs.load(shape, epilogue, row + (group - first) * kUnitM, col);
#pragma unroll
      for (int unit = group; unit < min(group + kGroup, behind); ++unit) {
        float total[4];
        SplitK::add(shared.parts(), sums, total, owner, unit, consumer, thread);
        tilepost::ptx::store_matrices_transposed(target + (unit - first) * kUnitM * kRowBytes,
                                                 inputs.finish(total, unit - group, 0),
                                                 inputs.finish(total, unit - group, 1));
      }
    }
  }
}

// The work of a consumer. All of its 128 threads call this.
__device__ __forceinline__ void multiply_tiles(const Shared& shared, const tilepost_shape_t& shape,
                                               const tilepost_epilogue_t& epilogue,
                                               const tilepost::TileGrid& grid, const Work& work,
                                               int consumer, int thread) {
  const int lane = thread % 32;
  const int stages = work.last_stage - work.first_stage;
  tilepost::Ring<kStages> ring(0);
  tilepost::Ring<1> panels(1);
  uint32_t ready_parity = 1;
  uint32_t received_parity = 0;
  float sums[kSums];
  for (int position = work.first; position < work.tiles; position += work.stride) {
    if constexpr (kScales != 0) {
      tilepost::multiply_tile_scaled<Scales, kBlocks, kScalesEarly>(
          shared, ring, sums, stages, lane, BlockProducts{shared, consumer});
    } else if constexpr (kPrecise) {
      tilepost::multiply_tile_precisely<kBlocks>(shared, ring, sums, stages, thread,
                                                 BlockProducts{shared, consumer});
    } else {
      multiply_tile(shared, ring, sums, stages, consumer, thread);
    }
    int row = 0, col = 0;
    if constexpr (kEpilogue != 0) {
      const tilepost::Tile tile = tilepost::tile(grid, position);
      row = tile.m + SplitK::first_unit(work.rank) * kUnitM + lane % 4 * 2;
      col = tile.n + consumer * kConsumerN + thread / 32 * 16 + lane / 4;
    }
    if constexpr (kSplitK > 1) {
      tilepost::ptx::wait_barrier_cluster(ready_at(shared), ready_parity);
      ready_parity ^= 1;
      SplitK::send(shared.parts(), received_at(shared, consumer), sums, work.rank, consumer,
                   thread);
      SplitK::receive(received_at(shared, consumer), received_parity, work.rank, thread);
      received_parity ^= 1;
    }
    tilepost::ptx::wait_barrier(shared.panels_empty(), panels.parity);
    panels.advance();
    write_panel(shared, sums, shape, epilogue, row, col, work.rank, consumer, thread);
    tilepost::ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) tilepost::ptx::arrive(shared.panel_full(consumer));
    // Not after the last tile: this CTA has then received all that its mates send, and may exit
    // without waiting for them.
    if constexpr (kSplitK > 1) {
      if (position + work.stride < work.tiles) SplitK::let_parts_come(ready_at(shared), lane);
    }
  }
}

// The CTA's parts of tiles, and the panels that hold them, for the threads that exchange the parts.
__device__ __forceinline__ tilepost::TileParts parts_of(const Work& work) {
  const tilepost::TilePart part{work.rank, SplitK::first_unit(work.rank) * kUnitM,
                                SplitK::first_unit(work.rank + 1) * kUnitM, kTileN};
  return {work.first, work.stride, work.tiles, kSplitK, kBoxM, part};
}
__device__ __forceinline__ tilepost::TilePanels panels_of(const Shared& shared) {
  const tilepost::HelperMemory own{shared.base + kSharedBytes - kHelperBytes, kHelperBytes};
  const tilepost::HelperMemory idle{shared.base, kPipelineBytes};
  const unsigned empty = kLends ? shared.panels_empty() : 0;
  return {shared.panel(0), kPanelBytes, shared.panel_full(0), empty, own, idle};
}

// The work of the helper warps. With SCALES `scales` has those of A.
__device__ __forceinline__ void lend_helpers(const Shared& shared, const tilepost_shape_t& shape,
                                             const float* scales, const Work& work) {
  const tilepost::TileParts parts = parts_of(work);
  const int thread = static_cast<int>(threadIdx.x) - 32 * (kConsumerWarps + 2);
  tilepost::exchange_tiles(parts, panels_of(shared), shape, kOutput, thread, kHelperThreads,
                           kJoining);
  if constexpr (kScales != 0)
    tilepost::exchange_rows(parts, shape, shared.arrived(), thread, kHelperThreads, scales);
  else
    tilepost::exchange_rows(parts, shape, shared.arrived(), thread, kHelperThreads);
}

__global__ void __launch_bounds__(kThreads, 1)
    gemm_sm90_small(const __grid_constant__ CUtensorMap map_a,
                    const __grid_constant__ CUtensorMap map_b,
                    const __grid_constant__ CUtensorMap map_c,
                    const __grid_constant__ tilepost_shape_t shape,
                    const __grid_constant__ tilepost_epilogue_t epilogue) {
  extern __shared__ __align__(1024) uint8_t gemm_sm90_small_memory[];
  const Shared shared{tilepost::ptx::shared_address(gemm_sm90_small_memory)};
  const tilepost::TileGrid grid{
      (shape.m + kTileM - 1) / kTileM, (shape.n + kTileN - 1) / kTileN, kTileM, kTileN, 1, kBand};
  const Work work(kSplitK > 1 ? static_cast<int>(tilepost::ptx::cluster_rank()) : 0,
                  tilepost::num_tiles(grid), (shape.k + kStageK - 1) / kStageK);
  // The shuffle tells the compiler that the warp's number is the same in all its lanes.
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;

  if (warp == kConsumerWarps && lane == 0) {
    tilepost::ptx::prefetch_tensor_map(&map_b);
    tilepost::ptx::prefetch_tensor_map(&map_a);
    init_barriers(shared);
  }
  __syncthreads();
  if constexpr (kSplitK > 1) tilepost::ptx::cluster_arrive_relaxed();
  if constexpr (kPrefetches) {
    if (warp == kConsumerWarps && lane == 0) prefetch_weights(&map_b, grid, work);
  }
  tilepost::ptx::wait_for_previous_kernels();

  if (warp == kConsumerWarps) {
    load_tiles(shared, &map_a, &map_b, grid, work, shape, epilogue, lane);
    __syncwarp();
    if constexpr (kSplitK > 1) tilepost::ptx::cluster_wait();
  } else {
    // Consumers write to mates, so they wait for the mates' barriers. The loader need not wait.
    if constexpr (kSplitK > 1) tilepost::ptx::cluster_wait();
    if (warp < kConsumerWarps) {
      multiply_tiles(shared, shape, epilogue, grid, work, warp / 4, threadIdx.x % 128);
      if constexpr (kJoining > 0)
        tilepost::finish_exchange(parts_of(work), panels_of(shared), shape, kOutput,
                                  kHelperThreads + static_cast<int>(threadIdx.x),
                                  kHelperThreads + kJoining);
    } else if (warp > kConsumerWarps + 1) {
      lend_helpers(shared, shape, epilogue.scale_a, work);
    } else if (lane == 0) {
      tilepost::ptx::prefetch_tensor_map(&map_c);
      store_tiles(shared, &map_c, grid, work);
    }
  }
}
