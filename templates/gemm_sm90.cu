// Persistent GEMM for sm_90a: C[m, n] = A[m, k] * B, operands of 16 bits or e4m3 (README.md).
//
// One CTA per SM walks the schedule: its positions are blockIdx.x, blockIdx.x + gridDim.x, …
// Warpgroup 0 gives up registers and moves data: one thread loads operands with TMA, and one for
// each consumer stores finished panels with TMA. Its last warp is the helper warp or, if FUSED,
// begins the run and brings other ranks' parts of a tile. The others, the consumers, multiply.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/mates.cuh>
#include <tilepost/device/panel.cuh>
#include <tilepost/device/pipeline.cuh>
#include <tilepost/device/positions.cuh>
#include <tilepost/device/products.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm90.cuh>
#include <tilepost/device/ring.cuh>
#include <tilepost/device/scaled_products.cuh>
#include <tilepost/device/source_panels.cuh>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 128);       // up to 256
constexpr int kWholeN = tilepost::tunable("TILE_N", 256);      // up to 256 for each of ACROSS
constexpr int kAcross = tilepost::tunable("ACROSS", 1);        // CTAs side by side that share A
constexpr bool kSwap = tilepost::tunable("SWAP", 0);           // wgmma's rows are columns of B
constexpr int kConsumers = tilepost::tunable("CONSUMERS", 2);  // warpgroups that multiply: 2 or 3
constexpr int kPanelM = tilepost::tunable("PANEL_M", 64);      // rows of a panel; 64 unless SWAP
constexpr int kPanelN = tilepost::tunable("PANEL_N", 64);      // columns of a panel; 64 if SWAP
constexpr int kStages = tilepost::tunable("STAGES", 3);        // stages of the load pipeline
constexpr int kPanels = tilepost::tunable("PANELS", 4);        // buffers for C per consumer
constexpr int kCluster = tilepost::tunable("CLUSTER", 2);      // CTAs that share B: 1, 2 or 4
constexpr int kBand = tilepost::tunable("BAND", 16);           // tile rows swept together
constexpr bool kPingPong = tilepost::tunable("PINGPONG", 0);   // consumers take turns at tiles
constexpr bool kNN = tilepost::tunable("NN", 0);               // B is [k, n] row-major, not [n, k]
constexpr bool kPrecise = tilepost::tunable("PRECISE", 0);     // e4m3: adds stages' sums in fp32
constexpr int kScales = tilepost::tunable("SCALES", 0);        // of blocks: a ScalesTunable
constexpr bool kQuantise = tilepost::tunable("QUANTISE", 0);   // C, to 8 bits; PANEL_N is 128
constexpr bool kScalesArrive = tilepost::tunable("SCALES_ARRIVE", 0);  // with A's rows, meanwhile
constexpr bool kRouted = tilepost::tunable("ROUTED", 0);  // every row goes to a place of its own
constexpr bool kAdd = tilepost::tunable("ADD", 0);        // C += A * B, in C's type
constexpr int kHelper = tilepost::tunable("HELPER_BYTES", 0);  // bytes lent to a helper warp
constexpr bool kFused = tilepost::tunable("FUSED", 0);         // a warp begins and ends the run
constexpr int kSources = tilepost::tunable("SOURCES", 0);      // number of sources of own tiles
constexpr bool kEarly = tilepost::tunable("EARLY", 0);       // lets the next kernel take freed SMs
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);  // a set of TILEPOST_SCALE …
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);

constexpr int kRowBytes = 128;  // an operand's row in shared memory, swizzled
constexpr int kTileK = kRowBytes / static_cast<int>(sizeof(tilepost::DeviceElement<kElement>));
constexpr int kBlock = 64;                 // rows of one wgmma
constexpr int kSlabN = 64;                 // with NN, columns of B in one swizzled row
constexpr int kTileN = kWholeN / kAcross;  // columns of a CTA
using Mates = tilepost::Mates<kCluster, kAcross>;

// The extent of a tile that is divided into blocks of 64, and the width of the blocks.
constexpr int kDivided = kSwap ? kTileN : kTileM, kWidth = kSwap ? kTileM : kTileN;
constexpr int kSharers = kPingPong ? 1 : kConsumers;  // consumers that multiply parts of one tile
constexpr int kPart = kDivided / kSharers;            // extent of a consumer's part
constexpr int kStep = kPingPong ? 0 : kPart;          // from one consumer's part to the next's
constexpr int kBlocks = kPart / kBlock;               // blocks of a consumer
constexpr int kSums = kWidth / 2;                     // registers of a block's sums
constexpr int kPanelBytes = kPanelM * tilepost::panel::kRowBytes;
constexpr int kPanelWidth = kSwap ? kPanelM : kPanelN;
constexpr int kPanelsPerBlock = kWidth / kPanelWidth;
constexpr int kPanelsPerTile = kBlocks * kPanelsPerBlock;  // panels of a consumer

// The place of panel `panel` of a consumer in the consumer's part of a tile.
__device__ __forceinline__ constexpr tilepost::panel::Place place_of(int panel) {
  const int block = panel / kPanelsPerBlock * kBlock;
  const int along = panel % kPanelsPerBlock * kPanelWidth;
  return kSwap ? tilepost::panel::Place{along, block} : tilepost::panel::Place{block, along};
}

// A cooperative consumer of two blocks stores the first block's sums while the second block's last
// products are computed. With an epilogue it has too few registers. In ping-pong it need not.
constexpr int kParts = kPingPong || kPrecise || kEpilogue != 0 ? 1 : kBlocks;

// Panels whose buffers a cooperative consumer needs again for the same tile. They are not paced.
constexpr int kAwaitedPanels = kPingPong ? 0 : kPanelsPerTile - kPanels;

constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes;
constexpr int kPipelineBytes = kStages * (kBytesA + kBytesB);

using Positions = tilepost::Positions<kPingPong ? kConsumers : 1, kAcross>;
using StageBarriers = tilepost::StageBarriers<0, kStages>;
using PanelBarriers = tilepost::PanelBarriers<StageBarriers::kEnd, kConsumers, kPanels>;
constexpr int kTurnBarriers = PanelBarriers::kEnd;  // number of the first one
constexpr int kSourceBarriers = kTurnBarriers + kConsumers;
constexpr int kBarriersEnd = kSourceBarriers + (kSources > 0 ? kConsumers * kPanels : 0);
using PanelReturns = tilepost::PanelReturns<PanelBarriers, kPanels, (kSources > 1)>;
constexpr int kBarrierBytes = 1024, kNotesBytes = 16;  // barriers, then notes of the run
constexpr int kThreads = 128 * (1 + kConsumers);
constexpr int kPanelsEnd = kPipelineBytes + kConsumers * kPanels * kPanelBytes;
constexpr int kScaleBytes = kScales != 0 ? tilepost::scale_bytes(1, kBlocks) : 0;  // of a consumer
constexpr int kHelperAt = kPanelsEnd + kConsumers * kScaleBytes;
constexpr int kSharedBytes = kHelperAt + kHelper + kBarrierBytes;

constexpr int kSumsHeld = kSums * (kBlocks + (kScales ? 1 : kPrecise ? kBlocks : 0));  // registers
// An SM has 65536 registers, and a thread gets a multiple of 8. So 3 threads, one per warpgroup,
// have 504 together, and 4 have 512. With 192 sums and idle movers a consumer's thread has 240.
constexpr bool kIdleMovers = kSumsHeld >= 192 && !kFused;
constexpr int kMoverRegisters = kConsumers == 3 ? 32 : kIdleMovers ? 24 : 40;
constexpr int kConsumerRegisters = ((kConsumers == 3 ? 512 : 504) - kMoverRegisters) / kConsumers;

static_assert(kPart * kSharers == kDivided && kPart % kBlock == 0,
              "a consumer's part of a tile is whole blocks of 64");
static_assert(kConsumers == 2 || (kConsumers == 3 && !kPingPong && kHelper == 0),
              "CONSUMERS is 2, or 3 that share tiles and leave no warp to help");
static_assert(kWidth % kPanelWidth == 0 && kPanelWidth % 8 == 0 &&
                  kPanelN <= (kQuantise ? 128 : 64) && (kSwap ? kPanelN : kPanelM) == kBlock,
              "a block is whole panels of at most 64 columns, their extent a multiple of 8");
static_assert(!kNN || kTileN % kSlabN == 0, "with NN a tile is whole slabs of 64 columns");
static_assert(kSumsHeld <= (kConsumers == 3 ? 104 : 192),
              "the sums of a tile do not fit the registers");
static_assert(!kRouted || (kSumsHeld <= 128 && !kSwap && kConsumers == 2),
              "192 sums leave movers no registers to route rows");
static_assert((kCluster == 1 || kCluster == 2 || kCluster == 4) && kTileN % kCluster == 0,
              "CLUSTER is 1, 2 or 4, and its CTAs load as many columns of B each");
static_assert(kAcross == 1 || (!kRouted && kTileM % (8 * kAcross) == 0 && Mates::kAll <= 8),
              "ACROSS CTAs load whole groups of eight rows of A each, and a cluster has at most 8");
static_assert(kStages > 1 && kPanels > 0 && kHelper % 128 == 0 && kBand && kBand % kCluster == 0);
static_assert(kBarriersEnd * tilepost::kMbarrierBytes <= kBarrierBytes - kNotesBytes, "room");
static_assert(!kFused || (kConsumers == 2 && kHelper == 0), "a warp is left to begin the run");
static_assert(kSources == 0 || (kFused && !kSwap && kPanelN % 16 == 0), "added four words a time");
static_assert(kTileM <= 256 && kSharedBytes <= 232448, "of a TMA box and of a CTA");
static_assert(!kNN || kElement != tilepost::DType::e4m3, "wgmma reads e4m3 K-major only");

// The layout of shared memory. Stages and panels are multiples of 1024 bytes, the swizzle's period.
struct Shared {
  uint32_t base;

  __device__ uint32_t a(int stage) const { return base + stage * kBytesA; }
  __device__ uint32_t b(int stage) const { return base + kStages * kBytesA + stage * kBytesB; }
  __device__ uint32_t panel(int consumer, int buffer) const {
    return base + kPipelineBytes + (consumer * kPanels + buffer) * kPanelBytes;
  }
  __device__ uint32_t barrier(int index) const {
    return base + kSharedBytes - kBarrierBytes + index * tilepost::kMbarrierBytes;
  }
  __device__ StageBarriers stages() const { return {barrier(0)}; }
  __device__ PanelBarriers panels() const { return {barrier(0)}; }
  __device__ uint32_t source(int consumer, int buffer) const {
    return barrier(kSourceBarriers + consumer * kPanels + buffer);
  }
  __device__ uint32_t turn(int consumer) const { return barrier(kTurnBarriers + consumer); }
  __device__ tilepost::HelperMemory notes() const {
    return {base + kSharedBytes - kNotesBytes, kNotesBytes};
  }
  __device__ tilepost::ScaleArrivals arrivals() const { return {notes().address}; }
};

__device__ __forceinline__ void init_barriers(const Shared& shared) {
  if constexpr (kScalesArrive) shared.arrivals().init();
  shared.stages().init(kSharers * Mates::kSenders);
  for (int consumer = 0; consumer < kConsumers; ++consumer) {
    if constexpr (kPingPong) tilepost::ptx::init_barrier(shared.turn(consumer), 1);
    shared.panels().init(consumer);
    for (int i = 0; kSources > 0 && i < kPanels; ++i)
      tilepost::ptx::init_barrier(shared.source(consumer, i), 1);
  }
  tilepost::ptx::fence_barrier_init();
}

// The parts in which a tile is stored, and the number of a consumer's part among them.
constexpr int kPartsOfTile = kAcross * kSharers;
__device__ __forceinline__ int own_part(int consumer) {
  return Mates::of_this_cta().column() * kSharers + (kPingPong ? 0 : consumer);
}

// The column of a tile at which this CTA's columns begin.
__device__ __forceinline__ int own_column() {
  return Mates::of_this_cta().column() * kTileN;
}

// The loader is one thread. It fills the stages with the operands of `tile`, the CTA's first, and
// of each tile after it. It looks up the next tile early, as the schedule may lie in memory.
__device__ __forceinline__ void load_tiles(const Shared& shared, const CUtensorMap* map_a,
                                           const CUtensorMap* map_b, const tilepost::TileGrid& grid,
                                           tilepost::Tile tile, int tiles, int rows, int stages) {
  const Mates mates = Mates::of_this_cta();
  const int first_row = mates.column() * (kTileM / kAcross);  // of this CTA's share of A
  const Positions positions(0);
  tilepost::Ring<kStages> ring(1);
  tilepost::BulkLoads loads;
  tilepost::ptx::wait_for_previous_kernels();
  tilepost::open_in_map(loads);
  if constexpr (kScalesArrive) shared.arrivals().note_run(loads.run);
  for (int position = positions.first; position < tiles;) {
    // For a box wholly below A, TMA accesses A's first address, which may have no memory (in_map).
    const int m = min(tile.m + first_row, rows - 1), n = tile.n + own_column();
    const CUtensorMap* in = tilepost::in_map(map_a, tile, loads);
    tilepost::input_ready(tile, loads);
    if constexpr (kScalesArrive) shared.arrivals().note_come(position);
    if ((position += positions.all) < tiles) tile = tilepost::tile(grid, position);
#pragma unroll 1  // few registers
    for (int k = 0; k < stages * kTileK; k += kTileK) {
      const uint32_t full = shared.stages().await_empty(ring, kBytesA + kBytesB);
      mates.load_for_row(shared.a(ring.index) + first_row * kRowBytes, in, full, k, m);
      if constexpr (kNN)
        mates.load_depth<kTileN, kSlabN, kTileK>(shared.b(ring.index), map_b, full, k, n);
      else
        mates.load_columns<kTileN>(shared.b(ring.index), map_b, full, k, n);
      ring.advance();
    }
  }
  if constexpr (kEarly) tilepost::ptx::allow_next_kernels();
  // Until all stages are empty, mates may write to this CTA's memory and arrive at its barriers.
  if constexpr (Mates::kAll > 1) shared.stages().await_all_empty(ring);
}

// A store thread. Each consumer has one, which stores its panels and reports complete tiles. All
// but the last source of a tile lie in buffers from which nothing is stored.
__device__ __forceinline__ void store_tiles(const Shared& shared, const CUtensorMap* map_c,
                                            const tilepost::TileGrid& grid, int m, int tiles,
                                            int consumer) {
  const Positions positions(consumer);
  tilepost::Ring<kPanels> ring(0);
  tilepost::Pacer pacer{consumer, kConsumers};
  tilepost::TileStores stores;
  tilepost::ptx::wait_for_previous_kernels();
  tilepost::open_out_maps(m, kConsumers, stores);
  const tilepost::BulkStores part{own_part(consumer), kPartsOfTile, stores.run};
  for (int position = positions.first; position < tiles; position += positions.stride) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    const CUtensorMap* map = tilepost::out_map(map_c, tile);
    const tilepost::Coord first = tilepost::out_coord(
        grid, tile, kSwap ? 0 : consumer * kStep, own_column() + (kSwap ? consumer * kStep : 0));
    const bool last_tile = position + positions.all >= tiles;  // the CTA's last
    const int only_read = kSources > 1 ? tilepost::num_sources(tile) - 1 : 0;
    const int pushes = tilepost::num_pushes(tile);  // ranks that get its sum too
    PanelReturns returns{shared.panels(), consumer};
    for (int panel = 0; panel < kPanelsPerTile; ++panel) {
      for (int i = 0; kSources > 1 && i < only_read; ++i) {
        tilepost::ptx::wait_barrier(shared.panels().full(consumer, ring.index), ring.parity);
        returns.read(ring.index);
        ring.advance();
      }
      tilepost::ptx::wait_barrier(shared.panels().full(consumer, ring.index), ring.parity);
      if (stores.may_store && !tile.is_padding()) {
        if (panel >= kAwaitedPanels) tilepost::pace(pacer, tile, last_tile);
        const uint32_t source = shared.panel(consumer, ring.index);
        const tilepost::Coord at{first.x + place_of(panel).col, first.y + place_of(panel).row};
        tilepost::panel::store<kAdd>(map, source, at);
        for (int i = 0; i < pushes; ++i)
          tilepost::panel::store<kAdd>(tilepost::push_map(map_c, i), source, at);
      }
      tilepost::ptx::commit_bulk();
      returns.stored(panel, ring.index);
      ring.advance();
    }
    returns.finish();
    if (stores.may_store) tilepost::tile_done(tile, part);
  }
  tilepost::ptx::wait_bulk<0>();
  tilepost::stores_done(stores, kConsumers, kPartsOfTile);
}

// The source thread. It hands all buffers of panels out to the consumers, to those that share a
// tile one each in turn. In a tile with sources it first starts to load a source into the buffer.
// Each source has a buffer of its own, and the panel is stored from the last source's buffer.
__device__ __forceinline__ void load_sources(const Shared& shared, const CUtensorMap* map_c,
                                             const tilepost::TileGrid& grid, int tiles) {
  tilepost::Ring<kPanels> ring0(1), ring1(1);  // of the consumers' panels
  const Positions positions(0);
  int turn = 0;  // ping-pong: the consumer whose tile it is
  for (int position = positions.first; position < tiles; position += positions.all, turn ^= 1) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    const int sources = tilepost::num_sources(tile);
    const tilepost::Coord at = tilepost::out_coord(grid, tile, 0, own_column());
#pragma unroll 1
    for (int step = 0; step < kPanelsPerTile * max(sources, 1); ++step) {
      const int panel = sources > 1 ? step / sources : step;
      const int source = sources > 1 ? step % sources : 0;
      if (sources > 0 && panel == 0)
        tilepost::await_source(tile, source, own_part(0), kSharers, kPartsOfTile, shared.notes());
#pragma unroll
      for (int i = 0; i < kConsumers; ++i) {
        if (kPingPong && i != turn) continue;
        tilepost::Ring<kPanels>& ring = i == 0 ? ring0 : ring1;
        const uint32_t filled = shared.source(i, ring.index);
        tilepost::ptx::wait_barrier(shared.panels().empty(i, ring.index), ring.parity);
        if (sources > 0) {
          tilepost::ptx::arrive_expecting(filled, kPanelM * kPanelN * 2);
          tilepost::ptx::load_box(shared.panel(i, ring.index), tilepost::source_map(map_c, source),
                                  filled, at.x + place_of(panel).col,
                                  at.y + i * kStep + place_of(panel).row);
        } else {
          tilepost::ptx::arrive(filled);
        }
        ring.advance();
      }
    }
  }
}

// Stores tiles whose rows each have a place of their own. One warp for each consumer copies the
// consumer's panels row by row, 16 bytes for each lane.
__device__ __forceinline__ void route_tiles(const Shared& shared, const tilepost_shape_t& shape,
                                            void* out, const tilepost::TileGrid& grid, int tiles,
                                            int consumer, int lane) {
  constexpr int kChunkN = tilepost::panel::kChunkN, kChunks = kPanelN / kChunkN;  // chunks of a row
  constexpr int kRows = 32 / kChunks;                                             // rows at once
  auto* c = static_cast<uint16_t*>(out);
  const Positions positions(consumer);
  tilepost::Ring<kPanels> ring(0);
  tilepost::ptx::wait_for_previous_kernels();
  for (int position = positions.first; position < tiles; position += positions.stride) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    for (int panel = 0; panel < kPanelsPerTile; ++panel) {
      tilepost::ptx::wait_barrier(shared.panels().full(consumer, ring.index), ring.parity);
      const int first_row = consumer * kStep + place_of(panel).row;
      const int col = place_of(panel).col + lane % kChunks * kChunkN;
      const bool inside = !tile.is_padding() && tile.n + col < shape.n && lane < kRows * kChunks;
#pragma unroll 1  // few registers
      for (int i = lane / kChunks; i < kPanelM; i += kRows) {
        const int row = first_row + i;
        if (!inside || tile.m + row >= shape.m) continue;
        const uint4 chunk =
            tilepost::panel::read(shared.panel(consumer, ring.index), i, lane % kChunks);
        *reinterpret_cast<uint4*>(&tilepost::out(c, grid, tile, row, col, shape.ldc)) = chunk;
      }
      __syncwarp();
      if (lane == 0) tilepost::ptx::arrive(shared.panels().empty(consumer, ring.index));
      ring.advance();
    }
    tilepost::tile_done(tile, tilepost::WarpStores{});
  }
}

using Consumer = tilepost::Consumer<Mates>;
using Products = tilepost::Products<kBlocks, kWidth, kParts, kStep, kStages, kSwap, kNN, kElement>;
using Sums = Products::Sums;
using ScaledProducts = tilepost::ScaledProducts<kBlocks, kWidth, kStep, kStages, kSwap, kElement>;
using Scales = tilepost::BlockScales<kBlocks, kWidth, kScales>;

// Hands the sums to the store thread panel by panel, the sums of each part as soon as they are
// computed. `place` is the place of the thread's first sum. `adds` is whether the tile has sources.
__device__ __forceinline__ void write_panels(const Shared& shared, tilepost::Ring<kPanels>& ring,
                                             Sums& sums, const tilepost_shape_t& shape,
                                             const tilepost_epilogue_t& epilogue,
                                             tilepost::panel::Place place, bool adds, int stage,
                                             const Consumer& consumer) {
  constexpr int kPanelsInPart = kPanelsPerTile / kParts;
#pragma unroll
  for (int panel = 0; panel < kPanelsPerTile; ++panel) {
    if (panel % kPanelsInPart == 0) {
      const bool last = panel + kPanelsInPart == kPanelsPerTile;
      if (last)
        tilepost::ptx::wgmma_wait<0>();
      else
        tilepost::ptx::wgmma_wait<1>();
      if constexpr (kParts == 1)
        tilepost::ptx::pin(sums);
      else
        tilepost::ptx::pin(tilepost::ptx::sums_at<kSums>(sums, panel / kPanelsInPart));
      if (last) shared.stages().release(stage, consumer.thread, consumer.mates);
    }
    float* panel_sums = sums + panel * kPanelWidth / 2;
    const uint32_t target = shared.panel(consumer.number, ring.index);
    const tilepost::panel::Place at{place.row + place_of(panel).row,
                                    place.col + place_of(panel).col};
    if constexpr (kSwap) {
      tilepost::ptx::wait_barrier(shared.panels().empty(consumer.number, ring.index), ring.parity);
      tilepost::panel::write_transposed<kPanelM, kEpilogue, kOutput>(target, panel_sums, shape,
                                                                     epilogue, at, consumer.thread);
    } else if (kSources > 0 && adds) {
      if constexpr (kEpilogue != 0)
        tilepost::panel::finish<kPanelN, kEpilogue, kOutput>(panel_sums, shape, epilogue, at);
      tilepost::panel::write_with_sources<kPanelN, kSources, kOutput>(
          shared, ring, panel_sums, consumer.number, consumer.thread);
    } else {
      tilepost::panel::Words<kPanelN> words;
      tilepost::panel::round<kPanelN, kEpilogue, kOutput>(words, panel_sums, shape, epilogue, at);
      if constexpr (kSources > 0)
        tilepost::ptx::wait_barrier(shared.source(consumer.number, ring.index), ring.parity ^ 1);
      else
        tilepost::ptx::wait_barrier(shared.panels().empty(consumer.number, ring.index),
                                    ring.parity);
      tilepost::panel::write<kPanelN>(target, words, consumer.thread);
    }
    shared.panels().pass_on(consumer.number, ring.index, consumer.thread);
    ring.advance();
  }
}

// Starts to load a tile's scales. Returns false if only its first stage will tell that they came.
__device__ __forceinline__ bool open_scales(const Shared& shared, Scales& scales,
                                            const tilepost_shape_t& shape,
                                            const tilepost_epilogue_t& epilogue,
                                            const tilepost::TileGrid& grid, int position,
                                            const Consumer& consumer) {
  if (kScalesArrive && !shared.arrivals().has_come(position)) return false;
  const tilepost::Tile tile = tilepost::tile(grid, position);
  const uint32_t run = kScalesArrive ? shared.arrivals().run() : 0;
  scales.open(shape, tilepost::in_scales(epilogue.scale_a, tile, run), epilogue.scale_b,
              {tile.m + consumer.number * kStep, tile.n + own_column()}, consumer.thread,
              shared.base + kPanelsEnd + consumer.number * kScaleBytes);
  return true;
}

// The work of a consumer. All of its 128 threads call this.
__device__ __forceinline__ void multiply_tiles(const Shared& shared, const tilepost_shape_t& shape,
                                               const tilepost_epilogue_t& epilogue,
                                               const tilepost::TileGrid& grid, int tiles,
                                               int stages, const Consumer& consumer) {
  const Positions positions(consumer.number);
  tilepost::Ring<kStages> ring(0);
  tilepost::Ring<kPanels> panels(1);
  uint32_t turn_parity = consumer.number == 0 ? 1 : 0;
  Sums sums;
  Scales scales;
  if (kPingPong && consumer.number == 1) ring.skip(stages);
  bool opened = false;  // whether the scales of the next tile are being loaded
  if constexpr (kScales != 0)
    opened = open_scales(shared, scales, shape, epilogue, grid, min(positions.first, tiles - 1),
                         consumer);
  for (int position = positions.first; position < tiles; position += positions.stride) {
    bool adds = false;
    if constexpr (kSources > 0) adds = tilepost::num_sources(tilepost::tile(grid, position)) > 0;
    if constexpr (kPingPong) {
      tilepost::ptx::wait_barrier(shared.turn(consumer.number), turn_parity);
      turn_parity ^= 1;
    }
    if constexpr (kScalesArrive) {
      tilepost::ptx::wait_barrier(shared.stages().full(ring.index), ring.parity);
      if (!opened) open_scales(shared, scales, shape, epilogue, grid, position, consumer);
    }
    const int last_stage =
        kScales != 0 ? ScaledProducts::multiply_tile(shared, ring, sums, stages, consumer, scales)
        : kPrecise   ? Products::multiply_tile_precise(shared, ring, sums, stages, consumer)
                     : Products::multiply_tile(shared, ring, sums, stages, consumer);
    // The other consumer's first stage may be issued behind this consumer's last stage.
    if constexpr (kPingPong) {
      if (consumer.thread == 0) tilepost::ptx::arrive(shared.turn(1 - consumer.number));
      ring.skip(stages);
    }
    if constexpr (kScales != 0)
      opened = open_scales(shared, scales, shape, epilogue, grid,
                           min(position + positions.stride, tiles - 1), consumer);
    tilepost::panel::Place place{};  // only an epilogue needs it
    if constexpr (kEpilogue != 0 || kQuantise) {
      const tilepost::Tile tile = tilepost::tile(grid, position);
      const int n = tile.n + own_column(), step = consumer.number * kStep;
      place = kSwap ? tilepost::panel::first_sum_transposed({tile.m, n + step}, consumer.thread)
                    : tilepost::panel::first_sum({tile.m + step, n}, consumer.thread);
    }
    write_panels(shared, panels, sums, shape, epilogue, place, adds, last_stage, consumer);
  }
}

// Without the bound on threads ptxas ignores setmaxnreg (warning C7508).
__global__ void __launch_bounds__(kThreads, 1)
    gemm_sm90(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              const __grid_constant__ CUtensorMap map_c,
              const __grid_constant__ tilepost_shape_t shape,
              const __grid_constant__ tilepost_epilogue_t epilogue) {
  extern __shared__ __align__(1024) uint8_t gemm_sm90_memory[];
  const Shared shared{tilepost::ptx::shared_address(gemm_sm90_memory)};
  const int tiles_m = (shape.m + kTileM - 1) / kTileM, tiles_n = (shape.n + kWholeN - 1) / kWholeN;
  const tilepost::TileGrid grid{tiles_m, tiles_n, kTileM, kWholeN, kCluster, kBand};
  const int tiles = tilepost::num_tiles(grid), stages = (shape.k + kTileK - 1) / kTileK;  // of one
  // The shuffle tells the compiler that the warp's number is the same in all its lanes.
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const tilepost::HelperMemory helper{shared.base + kHelperAt, kHelper};
  tilepost::Tile first{};
  if (threadIdx.x == 0) {
    if (blockIdx.x / kAcross < tiles) first = tilepost::tile(grid, blockIdx.x / kAcross);
    init_barriers(shared);
    tilepost::ptx::prefetch_tensor_map(&map_a);
    tilepost::ptx::prefetch_tensor_map(&map_b);
    tilepost::ptx::prefetch_tensor_map(&map_c);
  }
  Mates::meet();

  if (warp < 4) {
    tilepost::ptx::shrink_registers<kMoverRegisters>();
    if (warp == 0 && lane == 0)
      load_tiles(shared, &map_a, &map_b, grid, first, tiles, shape.m, stages);
    if (kFused && warp == kConsumers + 1) {
      tilepost::begin_sources(shared.notes(), kConsumers);
      if (kSources > 0 && lane == 0) load_sources(shared, &map_c, grid, tiles);
      tilepost::end_sources(shared.notes(), kPartsOfTile);
    }
    if (kHelper > 0 && warp == kConsumers + 1)
      tilepost::helper_warp(helper, kOutput, kConsumers, 4 * kConsumers,
                            kScalesArrive ? epilogue.scale_a : nullptr);
    if (warp >= 1 && warp <= kConsumers) {
      if constexpr (kRouted)
        route_tiles(shared, shape, epilogue.out, grid, tiles, warp - 1, lane);
      else if (lane == 0)
        store_tiles(shared, &map_c, grid, shape.m, tiles, warp - 1);
    }
  } else {
    tilepost::ptx::grow_registers<kConsumerRegisters>();
    multiply_tiles(shared, shape, epilogue, grid, tiles, stages,
                   {warp / 4 - 1, static_cast<int>(threadIdx.x % 128), Mates::of_this_cta()});
    if (kHelper > 0) tilepost::finish_tasks(helper, kOutput, warp - 4, 4 * kConsumers);
  }
}
