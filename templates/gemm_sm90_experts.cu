// Persistent grouped GEMM for sm_90a: rows of A are sorted by expert, and each expert multiplies
// its rows by a B of its own. fp32 sums, operands of 16 bits or e4m3.
//
// Which rows an expert has is read on the device. Each CTA first makes a table of the experts in
// shared memory, from which all of its threads compute their tiles. A tile has up to TILE_M rows of
// one expert. Its rows are columns of the matrix instruction, whose extent may be any multiple of
// eight, so that a tile of fewer rows takes less time.
//
// The roles are those of gemm_sm90.cu with SWAP: one thread of warpgroup 0 loads operands with TMA.
// Two warpgroups, the consumers, multiply blocks of B. With PINGPONG they take turns at whole
// tiles, so that one rounds and stores while the other multiplies. Otherwise they share tiles of
// twice as many columns: fewer bytes are moved for as many products, and both round at the same
// time. A warp for each consumer stores panels: by TMA where all rows of a panel are the tile's,
// and otherwise row by row, as the rows behind are another expert's. The CTAs of a cluster, ACROSS
// of them, have tile columns side by side and share rows of A: each loads some boxes of them for
// all.
//
// If GATHERS, rows are those of tokens. They lie apart in A, and some arrive while the kernel runs.
// A further warpgroup copies them. Tiles come in the order of a list that was made before the
// kernel. Such
// copies reach one CTA alone. So the DOWN CTAs of a cluster have rows one below the other, and
// share B: each loads a block of it for both.
//
// With an operation that combines gate and up a tile has half as many columns of the output, and
// the CTA loads rows of gate and of up from where B has them (INTERLEAVED or in halves). In shared
// memory rows of up lie behind those of gate.
//
// Launch: kThreads threads, kSharedBytes of dynamic shared memory, clusters (ACROSS * DOWN, 1, 1),
// a grid of whole clusters. The tensor maps have the 128-byte swizzle. A is {k, m}, box {kTileK,
// BOX_M}; with GATHERS it is not read. B is {k, experts * rows of B}, box {kTileK, kTileN}, or half
// of a CTA's rows if DOWN is 2; INTERLEAVED: {2 k, experts * n}; NN: {rows of B, experts * k}, box
// {64, kTileK}. C is {n, m}, box {64, kPanelM}. n is a multiple of 8. NN and INTERLEAVED: k is a
// multiple of kTileK, because the elements behind belong to others. GATHERS: a row of A is a
// multiple of sixteen bytes.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/expert_epilogue.cuh>
#include <tilepost/device/expert_products.cuh>
#include <tilepost/device/expert_table.cuh>
#include <tilepost/device/mates.cuh>
#include <tilepost/device/panel.cuh>
#include <tilepost/device/pipeline.cuh>
#include <tilepost/device/positions.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm90.cuh>
#include <tilepost/device/ring.cuh>
#include <tilepost/device/token_rows.cuh>
#include <tilepost/mark.cuh>

constexpr int kWholeM = tilepost::tunable("TILE_M", 192);  // rows of a cluster's tile
constexpr int kWholeN = tilepost::tunable("TILE_N", 256);  // columns of a cluster's tile
constexpr int kDown = tilepost::tunable("DOWN", 1);        // CTAs one below the other that share B
constexpr int kAcross = tilepost::tunable("ACROSS", 2);    // CTAs side by side that share A
constexpr int kBoxM = tilepost::tunable("BOX_M", 32);      // rows of A that are loaded at once
constexpr int kStages = tilepost::tunable("STAGES", 5);    // stages of the load pipeline
constexpr int kPanelM = tilepost::tunable("PANEL_M", 64);  // rows of a panel of C
constexpr int kPanels = tilepost::tunable("PANELS", 1);    // buffers for C per consumer
constexpr int kBand = tilepost::tunable("BAND", 8);        // tile rows swept together
constexpr bool kPingPong = tilepost::tunable("PINGPONG", 1);  // consumers take turns at tiles
constexpr bool kNN = tilepost::tunable("NN", 0);  // B is [k, rows of B], not [rows of B, k]
constexpr bool kPrecise = tilepost::tunable("PRECISE", 0);  // e4m3: adds stages' sums in fp32
constexpr bool kInterleaved = tilepost::tunable("INTERLEAVED", 0);  // tilepost_gate_t
constexpr bool kGathers = tilepost::tunable("GATHERS", 0);          // rows are those of tokens
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);         // a set of TILEPOST_SCALE …
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);

constexpr int kRowBytes = 128;  // an operand's row in shared memory, swizzled
constexpr int kTileK = kRowBytes / static_cast<int>(sizeof(tilepost::DeviceElement<kElement>));
constexpr int kBlock = 64;  // rows of one wgmma: rows of B
constexpr int kBlocks = 2;  // of a consumer
constexpr int kConsumers = 2;
constexpr int kSharers = kPingPong ? 1 : kConsumers;  // consumers of a tile
constexpr bool kGated = tilepost::combines_gate(kEpilogue);
constexpr int kParts = kGated ? 2 : 1;     // of B: gate and up
constexpr int kTileN = kWholeN / kAcross;  // columns of a CTA
constexpr int kTileM = kWholeM / kDown;    // rows of a CTA, up to 192, a multiple of 16

constexpr int kPanelBytes = kPanelM * tilepost::panel::kRowBytes;
constexpr int kHeights = kTileM / kPanelM;  // panels one below the other
constexpr int kPart = kTileN / kSharers;    // columns of a consumer
constexpr int kWidths = kPart / kBlock;     // panels side by side

constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kSharers * kBlocks * kBlock * kRowBytes;
constexpr int kPipelineBytes = kStages * (kBytesA + kBytesB);

using Mates = tilepost::Mates<kDown, kAcross>;
using Positions = tilepost::Positions<kPingPong ? kConsumers : 1, Mates::kAll>;
using LoaderPositions = tilepost::Positions<1, Mates::kAll>;
using StageBarriers = tilepost::StageBarriers<0, kStages>;
using PanelBarriers = tilepost::PanelBarriers<StageBarriers::kEnd, kConsumers, kPanels>;
constexpr int kTurnBarriers = PanelBarriers::kEnd;  // number of the first one
constexpr int kBarrierBytes = 1024;
constexpr int kFirstConsumerBarrier = 8;  // of sync_threads, the first consumer's

constexpr int kMovers = kGathers ? 2 : 1;  // warpgroups that load, copy and store
constexpr int kThreads = 128 * (kMovers + kConsumers);
constexpr int kPanelsEnd = kPipelineBytes + kConsumers * kPanels * kPanelBytes;
constexpr int kTableEnd = kPanelsEnd + tilepost::ExpertTable::kBytes;
using Scales = tilepost::epilogue::TileScales<kEpilogue, kTileM>;
constexpr int kSharedBytes = kTableEnd + kConsumers * Scales::kBytes + kBarrierBytes;

constexpr int kBlockStep =
    kGated ? kTileN : kBlock;                     // rows of B from a consumer's block to the next
constexpr int kAtOnce = kPingPong ? kBlocks : 1;  // blocks whose products PRECISE adds at once
using Products = tilepost::ExpertProducts<kBlocks, kBlockStep, kTileM, kStages, kNN, kPrecise,
                                          kElement, kGathers, kAtOnce>;
using Sums = Products::Sums;
using TokenRows =
    tilepost::TokenRows<kTileM, static_cast<int>(sizeof(tilepost::DeviceElement<kElement>))>;
constexpr int kSumsHeld = (kBlocks + (kPrecise ? kAtOnce : 0)) * kTileM / 2;

// As in gemm_sm90.cu: threads, one per warpgroup, have 504 registers together where there are
// three, and 512 where there are four.
constexpr int kMoverRegisters = 40, kCopierRegisters = kGathers ? 72 : 0;
constexpr int kConsumerRegisters =
    ((kGathers ? 512 : 504) - kMoverRegisters - kCopierRegisters) / kConsumers;

static_assert(kTileN * kParts == kSharers * kBlocks * kBlock,
              "a consumer has two blocks of 64 rows of B");
static_assert(kTileM % tilepost::kExpertUnit == 0 && kTileM % kBoxM == 0 && kBoxM % 8 == 0 &&
              kTileM % kPanelM == 0 && kPanelM % 16 == 0);
static_assert(kSumsHeld <= 192, "the sums of a tile do not fit the registers");
static_assert(!kNN || (kElement != tilepost::DType::e4m3 && !kInterleaved),
              "wgmma reads e4m3 K-major only, and slabs have columns of one part");
static_assert(kDown == 1 || (kDown == 2 && kAcross == 1 && kGathers),
              "two CTAs one below the other have a block of B each to load");
static_assert(kSharedBytes <= 232448, "of a CTA");

// The layout of shared memory. Stages and panels are multiples of 1024 bytes, the swizzle's period.
struct Shared {
  uint32_t base;

  __device__ uint32_t a(int stage) const { return base + stage * kBytesA; }
  __device__ uint32_t b(int stage) const { return base + kStages * kBytesA + stage * kBytesB; }
  __device__ uint32_t panel(int consumer, int buffer) const {
    return base + kPipelineBytes + (consumer * kPanels + buffer) * kPanelBytes;
  }
  __device__ tilepost::ExpertTable table() const { return {base + kPanelsEnd}; }
  __device__ Scales scales(int consumer) const {
    return {base + kTableEnd + consumer * Scales::kBytes, kFirstConsumerBarrier + consumer};
  }
  __device__ uint32_t barriers() const { return base + kSharedBytes - kBarrierBytes; }
  __device__ StageBarriers stages() const { return {barriers()}; }
  __device__ PanelBarriers panels() const { return {barriers()}; }
  __device__ uint32_t turn(int consumer) const {
    return barriers() + (kTurnBarriers + consumer) * tilepost::kMbarrierBytes;
  }
  // As StageBarriers::release.
  __device__ __forceinline__ void release(int stage, int thread) const {
    stages().release(stage, thread, Mates::of_this_cta());
  }
};

__device__ __forceinline__ void init_barriers(const Shared& shared) {
  shared.stages().init(kSharers * Mates::kSenders, kGathers ? TokenRows::kThreads : 0);
  for (int consumer = 0; consumer < kConsumers; ++consumer) {
    tilepost::ptx::init_barrier(shared.turn(consumer), 1);
    shared.panels().init(consumer);
  }
  tilepost::ptx::fence_barrier_init();
}

// The tiles of the run, which all threads compute.
struct Tiles {
  tilepost::ExpertGrid grid;
  tilepost::ExpertTable table;  // otherwise
  tilepost::TokenTiles tokens;  // if GATHERS
  int tile_rows;

  __device__ __forceinline__ int count() const { return tile_rows * grid.columns; }
  __device__ __forceinline__ tilepost::ExpertTile at(int position) const {
    if constexpr (kGathers) return part_of(tilepost::token_tile(grid, tile_rows, tokens, position));
    return tilepost::expert_tile(grid, table, position);
  }

 private:
  // The rows that this CTA has of a tile: about half of them, or none, where DOWN is 2.
  __device__ __forceinline__ tilepost::ExpertTile part_of(tilepost::ExpertTile tile) const {
    if constexpr (kDown == 1) return tile;
    constexpr int kUnit = tilepost::kExpertUnit;
    const int first = min((tile.rows + 2 * kUnit - 1) / (2 * kUnit) * kUnit, tile.rows);
    const bool below = Mates::of_this_cta().row() == 1;
    tile.row += below ? first : 0;
    tile.rows = below ? tile.rows - first : first;
    return tile;
  }
};

// The first column of the output that this CTA has of a tile.
__device__ __forceinline__ int first_column(const tilepost::ExpertTile& tile) {
  return tile.column * kWholeN + Mates::of_this_cta().column() * kTileN;
}

// The first column of the output that a consumer has of a tile.
__device__ __forceinline__ int first_column(const tilepost::ExpertTile& tile, int consumer) {
  return first_column(tile) + (kPingPong ? 0 : consumer * kPart);
}

// Loads a stage of B: of each part kTileN rows, from the expert's row of `column` on, and elements
// of K from k on. Where DOWN is 2, this CTA loads half of them, for both CTAs.
__device__ __forceinline__ void load_b(uint32_t to, const CUtensorMap* map, uint32_t full,
                                       const tilepost_shape_t& shape, int expert, int column,
                                       int k) {
  const Mates mates = Mates::of_this_cta();
  constexpr int kAll = kSharers * kBlocks, kHalf = kAll / 2;           // blocks of the CTA
  constexpr int kBox = kNN ? 1 : kDown == 2 || kGated ? kHalf : kAll;  // blocks that a box has
#pragma unroll
  for (int block = 0; block < kAll; block += kBox) {
    if (kDown == 2 && block / kHalf != mates.row()) continue;
    const int part = kGated ? block / kHalf : 0;
    const int from = column + (kGated ? block % kHalf : block) * kBlock;
    const uint32_t at = to + block * kBlock * kRowBytes;
    if constexpr (kNN)
      mates.load_for_column(at, map, full, part * shape.n + from, expert * shape.k + k);
    else if constexpr (kInterleaved)
      mates.load_for_column(at, map, full, part * shape.k + k, expert * shape.n + from);
    else
      mates.load_for_column(at, map, full, k, (expert * kParts + part) * shape.n + from);
  }
}

// The loader is one thread. It fills the stages with the operands of the CTA's tiles, with GATHERS
// B alone.
__device__ __forceinline__ void load_tiles(const Shared& shared, const CUtensorMap* map_a,
                                           const CUtensorMap* map_b, const Tiles& tiles,
                                           const tilepost_shape_t& shape, int stages) {
  const Mates mates = Mates::of_this_cta();
  const LoaderPositions positions(0);
  tilepost::Ring<kStages> ring(1);
  for (int position = positions.first; position < tiles.count(); position += positions.all) {
    const tilepost::ExpertTile tile = tiles.at(position);
    const int boxes = kGathers ? 0 : (tile.rows + kBoxM - 1) / kBoxM;
    const int bytes = boxes * kBoxM * kRowBytes + kBytesB;
    // Columns beyond the last are not stored, but loads begin within B, at whole chunks of 16
    // bytes.
    const int column = min(first_column(tile), (shape.n - 1) / 8 * 8);
#pragma unroll 1
    for (int k = 0; k < stages * kTileK; k += kTileK) {
      const uint32_t full = shared.stages().await_empty(ring, bytes);
      load_b(shared.b(ring.index), map_b, full, shape, tile.expert, column, k);
#pragma unroll 1
      for (int box = mates.column(); box < boxes; box += kAcross)
        mates.load_for_row(shared.a(ring.index) + box * kBoxM * kRowBytes, map_a, full, k,
                           tile.row + box * kBoxM);
      ring.advance();
    }
  }
  // Until all stages are empty, mates may write to this CTA's memory and arrive at its barriers.
  if constexpr (Mates::kAll > 1) shared.stages().await_all_empty(ring);
}

// With GATHERS a warpgroup copies the rows of A, once the tile's tokens are there. `thread` counts
// its threads.
__device__ __forceinline__ void copy_tiles(const Shared& shared, const Tiles& tiles,
                                           const tilepost::Experts& experts,
                                           const tilepost_shape_t& shape, int stages, int thread) {
  const LoaderPositions positions(0);
  tilepost::Ring<kStages> ring(1);
  tilepost::BulkLoads loads;
  TokenRows rows(thread);
#pragma unroll 1
  for (int position = positions.first; position < tiles.count(); position += positions.all) {
    const tilepost::ExpertTile tile = tiles.at(position);
    rows.find(experts, tile, shape.lda);
    tilepost::input_ready(tilepost::Tile{tile.row, first_column(tile), tile.row, tile.group},
                          loads);
#pragma unroll 1
    for (int k = 0; k < stages * kTileK; k += kTileK) {
      tilepost::ptx::wait_barrier(shared.stages().empty(ring.index), ring.parity);
      rows.copy(shared.a(ring.index), k, shape.k, shared.stages().full(ring.index));
      ring.advance();
    }
  }
}

// Copies the first `rows` rows of the panel at `source` to the output, where they begin at (row,
// col). All lanes of a warp call.
__device__ __forceinline__ void copy_rows(uint32_t source, void* out, const tilepost_shape_t& shape,
                                          tilepost::Coord at, int rows, int lane) {
  constexpr int kChunkN = tilepost::panel::kChunkN, kChunks = kBlock / kChunkN;
  constexpr int kRows = 32 / kChunks;  // at once
  const int col = at.x + lane % kChunks * kChunkN;
  if (col >= shape.n) return;
#pragma unroll 1  // few registers
  for (int i = lane / kChunks; i < rows; i += kRows)
    *reinterpret_cast<uint4*>(static_cast<uint16_t*>(out) +
                              static_cast<long long>(at.y + i) * shape.ldc + col) =
        tilepost::panel::read(source, i, lane % kChunks);
}

// A store warp. Each consumer has one. Lane 0 stores whole panels by TMA, and gives a buffer back
// when the next one is on its way, or at once where there is only one.
__device__ __forceinline__ void store_tiles(const Shared& shared, const CUtensorMap* map_c,
                                            void* out, const Tiles& tiles,
                                            const tilepost_shape_t& shape, int consumer, int lane) {
  const Positions positions(consumer);
  tilepost::Ring<kPanels> ring(0);
#pragma unroll 1
  for (int position = positions.first; position < tiles.count(); position += positions.stride) {
    tilepost::ExpertTile tile = tiles.at(position);
    tile.rows = tilepost::same_in_warp(tile.rows);
    tilepost::PanelReturns<PanelBarriers, kPanels> returns{shared.panels(), consumer};
    const tilepost::Tile place{tile.row, first_column(tile, consumer), tile.row, tile.group};
    const int whole = tile.rows / kPanelM * kWidths;
    const int panels = (tile.rows + kPanelM - 1) / kPanelM * kWidths;
#pragma unroll 1
    for (int panel = 0; panel < panels; ++panel) {
      const int row = panel / kWidths * kPanelM;
      const tilepost::Coord at =
          tilepost::out_coord(tilepost::TileGrid{}, place, row, panel % kWidths * kBlock);
      const uint32_t source = shared.panel(consumer, ring.index);
      tilepost::ptx::wait_barrier(shared.panels().full(consumer, ring.index), ring.parity);
      if (panel >= whole) {
        copy_rows(source, out, shape, at, tile.rows - row, lane);
        __syncwarp();
        if (lane == 0) tilepost::ptx::arrive(shared.panels().empty(consumer, ring.index));
      } else if (lane == 0) {
        tilepost::panel::store<false>(map_c, source, at);
        tilepost::ptx::commit_bulk();
        returns.stored(panel, ring.index);
        if (panel == whole - 1) returns.finish();
      }
      ring.advance();
    }
    __syncwarp();  // puts rows that other lanes have copied before lane 0's release
    if (lane == 0) tilepost::tile_done(place, tilepost::BulkStores{});
  }
  tilepost::ptx::wait_bulk<0>();
}

// The row among all rows of B that is row `own` of a consumer's rows of it.
__device__ __forceinline__ int row_of_b(const tilepost::ExpertTile& tile,
                                        const tilepost_shape_t& shape, int consumer, int own) {
  const int part = kGated ? own / kBlock : 0;
  const int column = min(first_column(tile, consumer) + (kGated ? own % kBlock : own), shape.n - 1);
  return tile.expert * kParts * shape.n +
         (kGated ? tilepost::row_of_part(kInterleaved, shape.n, column, part) : column);
}

// Hands a tile's sums to the store warp panel by panel.
__device__ __forceinline__ void write_panels(const Shared& shared, tilepost::Ring<kPanels>& ring,
                                             const Sums& sums, const tilepost_shape_t& shape,
                                             const tilepost_epilogue_t& epilogue,
                                             const tilepost::ExpertTile& tile, int consumer,
                                             int thread) {
  constexpr int kColumns = 2;  // of a thread in a block
  const Scales scales = shared.scales(consumer);
  scales.wait();
  const tilepost::panel::Place first = tilepost::panel::first_sum_transposed({0, 0}, thread);
  tilepost::epilogue::ColumnInputs<kEpilogue, kOutput, kColumns * kBlocks> inputs;
#pragma unroll
  for (int i = 0; i < kColumns * kBlocks; ++i) {
    const int own = first.col + i / kColumns * kBlock + i % kColumns * 8;
    inputs.load(epilogue, scales, i, row_of_b(tile, shape, consumer, own), own);
  }
#pragma unroll
  for (int panel = 0; panel < kHeights * kWidths; ++panel) {
    const int height = panel / kWidths, block = panel % kWidths;
    if (height * kPanelM >= tile.rows) break;
    const float* from = sums + block * Products::kBlockSums + height * kPanelM / 2;
    tilepost::ptx::wait_barrier(shared.panels().empty(consumer, ring.index), ring.parity);
    tilepost::epilogue::write_expert_panel<kPanelM, kEpilogue, kOutput>(
        shared.panel(consumer, ring.index), from, from + (kGated ? Products::kBlockSums : 0),
        first.row + height * kPanelM, scales, epilogue, inputs, kColumns * block, thread);
    shared.panels().pass_on(consumer, ring.index, thread);
    ring.advance();
  }
}

// Where a consumer finds what it multiplies: its own blocks of B.
struct ConsumerStages : Shared {
  int consumer;

  __device__ __forceinline__ uint32_t b(int stage) const {
    return Shared::b(stage) + (kPingPong ? 0 : consumer * kPart * kRowBytes);
  }
};

// The work of a consumer. All of its 128 threads call this.
__device__ __forceinline__ void multiply_tiles(const Shared& shared, const tilepost_shape_t& shape,
                                               const tilepost_epilogue_t& epilogue,
                                               const Tiles& tiles, int stages, int consumer,
                                               int thread) {
  const Positions positions(consumer);
  tilepost::Ring<kStages> ring(0);
  tilepost::Ring<kPanels> panels(1);
  uint32_t turn_parity = consumer == 0 ? 1 : 0;
  Sums sums;
  if (kPingPong && consumer == 1) ring.skip(stages);
#pragma unroll 1
  for (int position = positions.first; position < tiles.count(); position += positions.stride) {
    tilepost::ExpertTile tile = tiles.at(position);
    tile.rows = tilepost::same_in_warp(tile.rows);
    shared.scales(consumer).start(epilogue, tile.row, shape.m,
                                  row_of_b(tile, shape, consumer, thread), thread);
    if constexpr (kPingPong) {
      tilepost::ptx::wait_barrier(shared.turn(consumer), turn_parity);
      turn_parity ^= 1;
    }
    // The other consumer's first stage may be issued behind this consumer's last stage.
    Products::multiply_rows(max(tile.rows, 1), ConsumerStages{shared, consumer}, ring, sums, stages,
                            thread, [&] {
                              if (kPingPong && thread == 0)
                                tilepost::ptx::arrive(shared.turn(1 - consumer));
                            });
    if constexpr (kPingPong) ring.skip(stages);
    write_panels(shared, panels, sums, shape, epilogue, tile, consumer, thread);
  }
}

// Without the bound on threads ptxas ignores setmaxnreg (warning C7508).
__global__ void __launch_bounds__(kThreads, 1)
    gemm_sm90_experts(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b,
                      const __grid_constant__ CUtensorMap map_c,
                      const __grid_constant__ tilepost_shape_t shape,
                      const __grid_constant__ tilepost_epilogue_t epilogue) {
  extern __shared__ __align__(1024) uint8_t gemm_sm90_experts_memory[];
  const Shared shared{tilepost::ptx::shared_address(gemm_sm90_experts_memory)};
  // The shuffle tells the compiler that the warp's number is the same in all its lanes.
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const int lane = threadIdx.x % 32;

  if (threadIdx.x == 0) {
    init_barriers(shared);
    tilepost::ptx::prefetch_tensor_map(&map_a);
    tilepost::ptx::prefetch_tensor_map(&map_b);
    tilepost::ptx::prefetch_tensor_map(&map_c);
  }
  tilepost::ptx::wait_for_previous_kernels();
  const tilepost::Experts experts = tilepost::experts();
  if constexpr (!kGathers) shared.table().build(experts, shape.m, kWholeM, threadIdx.x, kThreads);
  Mates::meet();

  Tiles tiles{{experts.count, (shape.n + kWholeN - 1) / kWholeN, kWholeM, kBand},
              shared.table(),
              {experts.tiles},
              0};
  tiles.tile_rows = tilepost::same_in_warp(kGathers ? tiles.tokens.count()
                                                    : shared.table().tile_rows(experts.count));
  const int stages = (shape.k + kTileK - 1) / kTileK;  // of a tile
  if (warp < 4) {
    tilepost::ptx::shrink_registers<kMoverRegisters>();
    if (warp == 0 && lane == 0) load_tiles(shared, &map_a, &map_b, tiles, shape, stages);
    if (warp >= 1 && warp <= kConsumers)
      store_tiles(shared, &map_c, epilogue.out, tiles, shape, warp - 1, lane);
  } else if (warp < 4 * kMovers) {
    if constexpr (kGathers) {
      tilepost::ptx::shrink_registers<kCopierRegisters>();
      copy_tiles(shared, tiles, experts, shape, stages, static_cast<int>(threadIdx.x % 128));
    }
  } else {
    tilepost::ptx::grow_registers<kConsumerRegisters>();
    multiply_tiles(shared, shape, epilogue, tiles, stages, warp / 4 - kMovers,
                   static_cast<int>(threadIdx.x % 128));
  }
}
