// Persistent GEMM for sm_80, sm_86 and sm_89: C[m, n] = A[m, k] * B. Sums and the epilogue are in
// fp32, and each result is rounded once. B is [n, k], or [k, n] with NN. Compiled for sm_90a the
// kernel serves operands that TMA cannot read. e4m3 operands need sm_89 or sm_90a.
//
// Each CTA walks the schedule: its positions are blockIdx.x, blockIdx.x + gridDim.x, … Operands
// reach shared memory by asynchronous copies, STAGES - 1 blocks of K ahead. Warps read fragments
// with ldmatrix, one step of K ahead, and multiply with mma. The sums of a tile go through the
// epilogue, are rounded, are staged in shared memory and are stored in whole rows. Meanwhile the
// next tile's first blocks are copied to the stages that the staged tile leaves free.
//
// A stage holds rows of A and after them rows of B. A row has TILE_K elements, or TILE_N elements
// if it is a row of B with NN. A row's chunks of 16 bytes are permuted, so that the eight rows of
// an ldmatrix matrix lie in different banks (swizzle).
//
// Launch: kThreads threads, kSharedBytes of dynamic shared memory, CTAS_PER_SM CTAs on each SM.
// k and lda are multiples of LOAD_VECTOR elements, and a is aligned to as many. Without NN, so are
// ldb and b. With NN, n and ldb are multiples of LOAD_VECTOR_B elements, and b is aligned to as
// many. n and ldc are multiples of STORE_VECTOR elements, and c is aligned to as many. Otherwise m,
// n and k are arbitrary: elements outside A and B count as zero, and nothing outside C is written.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/epilogue.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm80.cuh>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 128);
constexpr int kTileN = tilepost::tunable("TILE_N", 128);
constexpr int kTileK = tilepost::tunable("TILE_K", 32);  // 64 or 128 bytes of elements
constexpr int kStages = tilepost::tunable("STAGES", 4);  // stages of the load pipeline
constexpr int kWarpM = tilepost::tunable("WARP_M", 64);  // a warp's part of the tile
constexpr int kWarpN = tilepost::tunable("WARP_N", 64);
constexpr int kCtasPerSm = tilepost::tunable("CTAS_PER_SM", 1);
// Elements of a load along k: 8, 4, 2, 1, and for e4m3 also 16. For A and B, or with NN for A only.
constexpr int kLoadVector = tilepost::tunable("LOAD_VECTOR", 8);
constexpr int kLoadVectorB = tilepost::tunable("LOAD_VECTOR_B", 8);    // with NN, for B along n
constexpr int kStoreVector = tilepost::tunable("STORE_VECTOR", 8);     // for C: 8, 4, 2, 1
constexpr bool kOverlapStore = tilepost::tunable("OVERLAP_STORE", 0);  // staged tile has own memory
constexpr int kBand = tilepost::tunable("BAND", 16);                   // tile rows swept together
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);  // a set of TILEPOST_SCALE …
constexpr bool kNN = tilepost::tunable("NN", 0);             // B is [k, n]
constexpr bool kPrecise = tilepost::tunable("PRECISE", 0);   // e4m3: adds each TILE_K's sum in fp32

using Element = tilepost::DeviceElement<kElement>;
using Output = tilepost::DeviceElement<kOutput>;

constexpr int kSize = sizeof(Element);
constexpr int kChunk = 16 / kSize;           // elements in 16 bytes
constexpr int kSteps = kTileK * kSize / 32;  // an mma takes 32 bytes of K
constexpr int kBytesA = kTileM * kTileK * kSize;
constexpr int kBytesB = kTileN * kTileK * kSize;
constexpr int kStageBytes = kBytesA + kBytesB;

constexpr int kWarpsM = kTileM / kWarpM;
constexpr int kThreads = kWarpsM * (kTileN / kWarpN) * 32;

constexpr int kFragmentsM = kWarpM / 16;  // fragments of A per step
constexpr int kFragmentsN = kWarpN / 16;  // fragments of B per step, each for two mma
constexpr int kMmasN = kWarpN / 8;

// The staged tile lies in the memory of stages or, with OVERLAP_STORE, in memory of its own. Its
// rows are 16 bytes longer than the tile's. So each row is shifted by four banks, and neither the
// stores of fragments nor the loads of vectors conflict.
constexpr int kStagedRow = kTileN + 8;
constexpr int kPipelineBytes = kStages * kStageBytes;
constexpr int kStagedBytes = kTileM * kStagedRow * 2;
constexpr int kStagedOffset = kOverlapStore ? kPipelineBytes : 0;
constexpr int kSharedBytes =
    kStagedOffset + kStagedBytes > kPipelineBytes ? kStagedOffset + kStagedBytes : kPipelineBytes;

// A tile's blocks begin in the first stage that the staged tile leaves free. Before the staged tile
// is stored, one block is loaded into each free stage, but at most STAGES - 1 blocks are.
constexpr int kCovered = kOverlapStore ? 0 : (kStagedBytes + kStageBytes - 1) / kStageBytes;
constexpr int kFirstStage = kCovered < kStages ? kCovered : 0;
constexpr int kEarly = kCovered < kStages ? (kCovered == 0 ? kStages - 1 : kStages - kCovered) : 0;

static_assert(kTileK * kSize == 64 || kTileK * kSize == 128, "rows of 64 or 128 bytes");
static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps tile the tile");
static_assert(kWarpM % 16 == 0, "fragments tile the warp's part");
static_assert(kWarpN == 16 || kWarpN == 32 || kWarpN == 64 || kWarpN == 128);
static_assert(kStages >= 2 && kBand >= 1 && kCtasPerSm >= 1);
static_assert(kCtasPerSm * kSharedBytes <= 232448, "shared memory");
static_assert(!kNN || kSize == 2, "ldmatrix transposes 16-bit elements only");
static_assert(!kPrecise || (kSize == 1 && kTileK == 128), "PRECISE: e4m3, every 128 products");

// A vector of C, which one instruction loads or stores.
template <int kElements>
struct Vector;
template <>
struct alignas(16) Vector<8> {
  uint32_t x, y, z, w;
};
template <>
struct alignas(8) Vector<4> {
  uint32_t x, y;
};
template <>
struct Vector<2> {
  uint32_t x;
};
template <>
struct Vector<1> {
  uint16_t x;
};

// The bits that one load through registers brings: one byte or two.
template <int kBytes>
struct Piece;
template <>
struct Piece<2> {
  uint16_t bits;
};
template <>
struct Piece<1> {
  uint8_t bits;
};

using Sums = float[kFragmentsM][kMmasN][4];

// How an operand lies in a stage, and which thread copies which chunks. In each pass every thread
// copies one chunk. The next pass is kRowsPerPass rows further down.
template <int kRows, int kColumns>
struct Staged {
  static constexpr int kChunks = kColumns / kChunk;  // chunks of a row
  static constexpr int kRowBytes = kColumns * kSize;
  static constexpr int kRowsPerPass = kThreads / kChunks;
  static constexpr int kPasses = kRows / kRowsPerPass;
  static_assert(kThreads % kChunks == 0 && kRowsPerPass % 8 == 0,
                "a thread's chunks share a place in the swizzle");
  static_assert(kRows % kRowsPerPass == 0, "passes tile the operand");

  static __device__ __forceinline__ int swizzle(int row, int chunk) {
    const int shift = kChunks == 4 ? row / 2 % 4 : row % 8;
    return row * kRowBytes + ((chunk ^ shift) << 4);
  }
  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / kChunks; }
  static __device__ __forceinline__ int chunk() { return static_cast<int>(threadIdx.x) % kChunks; }
};
using StagedA = Staged<kTileM, kTileK>;
using StagedB = Staged<kNN ? kTileK : kTileN, kNN ? kTileN : kTileK>;

// Copies the chunk that begins at `source`. The chunk's first `valid` elements exist, and the
// others become zero.
template <int kVector>
__device__ __forceinline__ void load_chunk(uint32_t target, const Element* source, int valid) {
  constexpr int kBytes = kVector * kSize;
  if constexpr (kBytes < 4) {
    // Asynchronous copies have at least four bytes, so smaller pieces go through registers.
    const Piece<kBytes>* pieces = reinterpret_cast<const Piece<kBytes>*>(source);
    uint32_t words[4] = {};
#pragma unroll
    for (int i = 0; i < kChunk / kVector; ++i) {
      const uint32_t bits = i * kVector < valid ? pieces[i].bits : 0;
      words[i * kBytes / 4] |= bits << i * kBytes % 4 * 8;
    }
    tilepost::ptx::store_shared(target, words);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; i += kVector)
      tilepost::ptx::copy_async<kBytes>(target + i * kSize, source + i, i < valid);
  }
}

// This thread's chunks of one operand. The thread copies one of them in each pass.
struct Operand {
  const Element* source;
  long long pass;  // elements from one pass to the next
  int rows;        // rows that exist from the thread's first row on; may be negative
  int columns;     // columns that exist from the chunk on; may be negative
};

template <class In>
__device__ __forceinline__ Operand make_operand(const Element* matrix, int rows, int columns,
                                                int ld, int first_row, int first_column) {
  const int row = first_row + In::row();
  const int column = first_column + In::chunk() * kChunk;
  return Operand{matrix + static_cast<long long>(row) * ld + column,
                 static_cast<long long>(In::kRowsPerPass) * ld, rows - row, columns - column};
}

// Loads an operand's part of a stage. The part begins `down` rows and `right` columns behind
// operand.source, at element `offset`. Loads through registers go one pass at a time, because few
// registers are left.
template <class In, int kVector>
__device__ __forceinline__ void load_operand(uint32_t target, const Operand& operand,
                                             long long offset, int down, int right) {
  constexpr int kUnrolled = kVector * kSize < 4 ? 1 : In::kPasses;
#pragma unroll kUnrolled
  for (int i = 0; i < In::kPasses; ++i)
    load_chunk<kVector>(target + i * In::kRowsPerPass * In::kRowBytes,
                        operand.source + offset + i * operand.pass,
                        i * In::kRowsPerPass < operand.rows - down ? operand.columns - right : 0);
}

// The load pipeline of one tile as this thread sees it.
struct Loader {
  Operand a, b;
  uint32_t target_a, target_b;  // this thread's first chunks in stage 0
  int blocks;                   // blocks of K
  int ldb;

  // Starts to load block `block` of K into `stage`, as one group of copies. Beyond the last block
  // the group is empty.
  __device__ __forceinline__ void load(int stage, int block) const {
    if (block < blocks) {
      const int k = block * kTileK;
      load_operand<StagedA, kLoadVector>(target_a + stage * kStageBytes, a, k, 0, k);
      if constexpr (kNN)
        load_operand<StagedB, kLoadVectorB>(target_b + stage * kStageBytes, b,
                                            static_cast<long long>(k) * ldb, k, 0);
      else
        load_operand<StagedB, kLoadVector>(target_b + stage * kStageBytes, b, k, 0, k);
    }
    tilepost::ptx::commit_copies();
  }
};

__device__ __forceinline__ Loader make_loader(uint32_t shared, const Element* a, const Element* b,
                                              const tilepost_shape_t& shape,
                                              const tilepost::Tile& tile) {
  const int m = tile.m, n = tile.n;
  return Loader{make_operand<StagedA>(a, shape.m, shape.k, shape.lda, m, 0),
                kNN ? make_operand<StagedB>(b, shape.k, shape.n, shape.ldb, 0, n)
                    : make_operand<StagedB>(b, shape.n, shape.k, shape.ldb, n, 0),
                shared + StagedA::swizzle(StagedA::row(), StagedA::chunk()),
                shared + kBytesA + StagedB::swizzle(StagedB::row(), StagedB::chunk()),
                (shape.k + kTileK - 1) / kTileK,
                shape.ldb};
}

// A warp's fragments for one step.
struct Fragments {
  uint32_t a[kFragmentsM][4];
  uint32_t b[kFragmentsN][4];

  // `a_row` and `b_row` are the lane's addresses in its first fragment at step 0 of the stage.
  // Another step (for B with NN, another fragment) of the same row differs only in bits of the
  // address that the swizzle uses: chunk 2 * step + c is chunk c with the bits of 2 * step flipped.
  __device__ __forceinline__ void load(uint32_t a_row, uint32_t b_row, int step) {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i)
      tilepost::ptx::load_matrices(a[i], (a_row ^ step * 32) + i * 16 * StagedA::kRowBytes);
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j) {
      if constexpr (kNN)
        tilepost::ptx::load_transposed(
            b[j], (b_row ^ j % 4 * 32) + j / 4 * 128 + step * 16 * StagedB::kRowBytes);
      else
        tilepost::ptx::load_matrices(b[j], (b_row ^ step * 32) + j * 16 * StagedB::kRowBytes);
    }
  }

  // Adds the step's products to the sums. With kFresh the products become the sums.
  template <bool kFresh>
  __device__ __forceinline__ void multiply(Sums& sums) const {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
      for (int j = 0; j < kMmasN; ++j)
        tilepost::ptx::mma_16x8<kElement, kFresh>(sums[i][j], a[i], b[j / 2][j % 2 * 2],
                                                  b[j / 2][j % 2 * 2 + 1]);
  }
};

__device__ __forceinline__ void clear(Sums& sums) {
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
    for (int j = 0; j < kMmasN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][j][e] = 0;
}

__device__ __forceinline__ void add(Sums& sums, const Sums& more) {
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
    for (int j = 0; j < kMmasN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][j][e] += more[i][j][e];
}

// Starts to load the blocks kBegin to kEnd - 1 of a tile.
template <int kBegin, int kEnd>
__device__ __forceinline__ void load_blocks(const Loader& loader) {
#pragma unroll
  for (int block = kBegin; block < kEnd; ++block)
    loader.load((kFirstStage + block) % kStages, block);
}

// Multiplies one tile. Loads of its first kEarly blocks have been started. The last step of a block
// waits for the copies of the next block and reads that block's first fragments. The first step of
// a block refills the stage of the block before. The last fragments of that stage were read before
// the barrier between the two steps.
__device__ __forceinline__ void multiply_tile(uint32_t shared, const Loader& loader, Sums& sums) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  // For ldmatrix, the lanes of A point to 16 rows, then to the same rows one chunk further on. The
  // lanes of B point to eight rows (of n), then to the same rows one chunk further on, and then to
  // the next eight rows in the same way. With NN the lanes of B point to 16 rows (of k), then to
  // the same rows one chunk (of n) further on.
  const int a_row = warp % kWarpsM * kWarpM + lane % 16;
  const int b_col = warp / kWarpsM * kWarpN;
  const uint32_t a_first = shared + StagedA::swizzle(a_row, lane / 16);
  const uint32_t b_first = shared + kBytesA +
                           (kNN ? StagedB::swizzle(lane % 16, b_col / kChunk + lane / 16)
                                : StagedB::swizzle(b_col + lane / 16 * 8 + lane % 8, lane / 8 % 2));
  clear(sums);
  load_blocks<kEarly, kStages - 1>(loader);
  tilepost::ptx::wait_copies<kStages - 2>();
  __syncthreads();
  Fragments fragments[2];
  int stage = kFirstStage;
  fragments[0].load(a_first + stage * kStageBytes, b_first + stage * kStageBytes, 0);
#pragma unroll 1
  for (int block = 0; block < loader.blocks; ++block) {
    Sums partial;  // used if PRECISE
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        tilepost::ptx::wait_copies<kStages - 2>();
        __syncthreads();
        stage = stage + 1 == kStages ? 0 : stage + 1;
      }
      fragments[(step + 1) % 2].load(a_first + stage * kStageBytes, b_first + stage * kStageBytes,
                                     (step + 1) % kSteps);
      if (step == 0) loader.load(stage == 0 ? kStages - 1 : stage - 1, block + kStages - 1);
      if constexpr (!kPrecise)
        fragments[step % 2].multiply<false>(sums);
      else if (step == 0)
        fragments[step % 2].multiply<true>(partial);
      else
        fragments[step % 2].multiply<false>(partial);
    }
    if constexpr (kPrecise) add(sums, partial);
  }
  tilepost::ptx::wait_copies<0>();
  __syncthreads();  // all stages are free
}

// Applies the epilogue to the sums, rounds them, and writes them into the staged tile. A lane goes
// through its pairs of neighbours column by column, because a column's operands serve all its rows.
// Elements outside the output are never stored. The epilogue computes them with the operands of the
// last row or column, or skips them. The branch and the warp's barriers keep the compiler from
// starting more elements at once than it has registers for.
__device__ __forceinline__ void stage_tile(Output* staged, const Sums& sums,
                                           const tilepost_epilogue_t& epilogue,
                                           const tilepost_shape_t& shape,
                                           const tilepost::Tile& tile) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int row = warp % kWarpsM * kWarpM + lane / 4;
  const int first_col = warp / kWarpsM * kWarpN;
#pragma unroll
  for (int j = 0; j < kMmasN; ++j) {
    const int col = first_col + j * 8 + lane % 4 * 2;
    if (kEpilogue != 0 && tile.n + first_col + j * 8 >= shape.n) break;
#pragma unroll
    for (int i = 0; i < kFragmentsM * 2; ++i) {
      float low = sums[i / 2][j][i % 2 * 2], high = sums[i / 2][j][i % 2 * 2 + 1];
      if constexpr (kEpilogue != 0) {
        const int m = min(tile.m + row + i * 8, shape.m - 1);
        const int n = tile.n + col, last = shape.n - 1;
        low =
            tilepost::epilogue::finish<kEpilogue, kOutput>(epilogue, low, m, min(n, last), shape.n);
        high = tilepost::epilogue::finish<kEpilogue, kOutput>(epilogue, high, m, min(n + 1, last),
                                                              shape.n);
        if (i % 4 == 3) __syncwarp();
      }
      *reinterpret_cast<uint32_t*>(staged + (row + i * 8) * kStagedRow + col) =
          tilepost::pack<kOutput>(low, high);
    }
  }
}

// Stores the elements of the tile that lie inside the output: the first `rows` rows and `cols`
// columns.
__device__ __forceinline__ void store_tile(const Output* staged, Output* c,
                                           const tilepost::TileGrid& grid,
                                           const tilepost::Tile& tile, int rows, int cols,
                                           int ldc) {
  using Store = Vector<kStoreVector>;
  constexpr int kVectors = kTileN / kStoreVector;  // vectors of a row
#pragma unroll 4
  for (int i = threadIdx.x; i < kTileM * kVectors; i += kThreads) {
    const int row = i / kVectors;
    const int col = i % kVectors * kStoreVector;
    if (row < rows && col < cols)
      *reinterpret_cast<Store*>(&tilepost::out(c, grid, tile, row, col, ldc)) =
          *reinterpret_cast<const Store*>(staged + row * kStagedRow + col);
  }
}

__global__ void __launch_bounds__(kThreads, kCtasPerSm)
    gemm_sm80(const Element* a, const Element* b, Output* c,
              const __grid_constant__ tilepost_shape_t shape,
              const __grid_constant__ tilepost_epilogue_t epilogue) {
  extern __shared__ __align__(128) uint8_t gemm_sm80_memory[];
  const uint32_t shared = tilepost::ptx::shared_address(gemm_sm80_memory);
  Output* staged = reinterpret_cast<Output*>(gemm_sm80_memory + kStagedOffset);
  const tilepost::TileGrid grid{
      (shape.m + kTileM - 1) / kTileM, (shape.n + kTileN - 1) / kTileN, kTileM, kTileN, 1, kBand};
  const int tiles = tilepost::num_tiles(grid);
  int position = blockIdx.x;
  if (position >= tiles) return;
  tilepost::Tile tile = tilepost::tile(grid, position);
  tilepost::input_ready(tile, tilepost::BlockLoads{});
  Loader loader = make_loader(shared, a, b, shape, tile);
  load_blocks<0, kEarly>(loader);
  while (true) {
    Sums sums;
    multiply_tile(shared, loader, sums);
    const tilepost::Tile done = tile;
    position += gridDim.x;
    if (position < tiles) {
      tile = tilepost::tile(grid, position);
      tilepost::input_ready(tile, tilepost::BlockLoads{});
      loader = make_loader(shared, a, b, shape, tile);
      load_blocks<0, kEarly>(loader);
    }
    stage_tile(staged, sums, epilogue, shape, done);
    __syncthreads();
    if (!done.is_padding())
      store_tile(staged, c, grid, done, shape.m - done.m, shape.n - done.n, shape.ldc);
    tilepost::tile_done(done, tilepost::BlockStores{});
    if (position >= tiles) break;
    __syncthreads();  // the staged tile has been read, so loads may overwrite it
  }
}
