// Persistent GEMM for sm_80, sm_86, sm_89: C[m, n] = A[m, k] * B[n, k]^T, 16-bit elements, fp32
// accumulation. Compiled for sm_90a it serves the operands that TMA cannot read.
//
// Each CTA walks the schedule: its positions are blockIdx.x, blockIdx.x + gridDim.x, … Operands
// reach shared memory by asynchronous copies, STAGES - 1 blocks of K ahead; warps read fragments
// with ldmatrix, one step of K ahead, and multiply with mma. The sums of a tile are rounded, staged
// in shared memory and stored in whole rows.
//
// A stage holds rows of TILE_K elements of A, then of B. A row's chunks of 16 bytes are permuted,
// so that the eight rows of an ldmatrix matrix lie in different banks (swizzle).
//
// Launch: kThreads threads, kSharedBytes of dynamic shared memory, CTAS_PER_SM CTAs on each SM.
// k, lda and ldb are multiples of LOAD_VECTOR elements, a and b aligned to as many; n and ldc are
// multiples of STORE_VECTOR, c aligned to as many. m, n and k are otherwise arbitrary: what lies
// outside A and B counts as zero, and nothing outside C is written.
#include <tilepost/plan.h>
#include <tilepost/device/element.cuh>
#include <tilepost/device/ptx.cuh>
#include <tilepost/device/ptx_sm80.cuh>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 128);
constexpr int kTileN = tilepost::tunable("TILE_N", 128);
constexpr int kTileK = tilepost::tunable("TILE_K", 32);  // 32 or 64
constexpr int kStages = tilepost::tunable("STAGES", 4);  // of the load pipeline
constexpr int kWarpM = tilepost::tunable("WARP_M", 64);  // a warp's part of the tile
constexpr int kWarpN = tilepost::tunable("WARP_N", 64);
constexpr int kCtasPerSm = tilepost::tunable("CTAS_PER_SM", 1);
constexpr int kLoadVector = tilepost::tunable("LOAD_VECTOR", 8);  // elements per load: 8, 4, 2, 1
constexpr int kStoreVector =
    tilepost::tunable("STORE_VECTOR", 8);             // elements per store: 8, 4, 2, 1
constexpr int kBand = tilepost::tunable("BAND", 16);  // tile rows swept together
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);

using Element = tilepost::DeviceElement<kElement>;

constexpr int kStepK = 16;  // of one mma
constexpr int kSteps = kTileK / kStepK;
constexpr int kChunk = 8;                 // elements of 16 bytes
constexpr int kChunks = kTileK / kChunk;  // of a row
constexpr int kRowBytes = kTileK * 2;
constexpr int kBytesA = kTileM * kRowBytes;
constexpr int kBytesB = kTileN * kRowBytes;
constexpr int kStageBytes = kBytesA + kBytesB;

constexpr int kWarpsM = kTileM / kWarpM;
constexpr int kThreads = kWarpsM * (kTileN / kWarpN) * 32;
constexpr int kRowsPerPass = kThreads / kChunks;  // that all threads copy at once, a chunk each

constexpr int kFragmentsM = kWarpM / 16;  // of A per step
constexpr int kFragmentsN = kWarpN / 16;  // of B per step; each serves two mma
constexpr int kMmasN = kWarpN / 8;

// The staged tile takes the place of the stages. Sixteen bytes more than a row shift the rows by
// four banks, so that neither the fragments' stores nor the vectors' loads conflict.
constexpr int kStagedRow = kTileN + kChunk;
constexpr int kPipelineBytes = kStages * kStageBytes;
constexpr int kStagedBytes = kTileM * kStagedRow * 2;
constexpr int kSharedBytes = kPipelineBytes > kStagedBytes ? kPipelineBytes : kStagedBytes;

static_assert(kTileK == 32 || kTileK == 64, "TILE_K is 32 or 64");
static_assert(kTileM % kWarpM == 0 && kTileN % kWarpN == 0, "warps tile the tile");
static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments tile the warp's part");
static_assert(kRowsPerPass % 8 == 0, "a thread's chunks share a place in the swizzle");
static_assert(kTileM % kRowsPerPass == 0 && kTileN % kRowsPerPass == 0, "passes tile the operands");
static_assert(kStages >= 2 && kBand >= 1 && kCtasPerSm >= 1);
static_assert(kCtasPerSm * kSharedBytes <= 232448, "shared memory");

// A vector of C, so that it is loaded and stored by one instruction.
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

using Sums = float[kFragmentsM][kMmasN][4];

// Offset of a chunk in a stage's operand.
__device__ __forceinline__ int swizzle(int row, int chunk) {
  const int shift = kChunks == 8 ? row % 8 : row / 2 % 4;
  return row * kRowBytes + ((chunk ^ shift) << 4);
}

// Copies the eight elements from `source` on, of which the first `valid` exist; the others become
// zero.
__device__ __forceinline__ void load_chunk(uint32_t target, const Element* source, int valid) {
  if constexpr (kLoadVector == 1) {
    // Asynchronous copies are at least four bytes: through registers.
    const uint16_t* halves = reinterpret_cast<const uint16_t*>(source);
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t low = 2 * i < valid ? halves[2 * i] : 0;
      const uint32_t high = 2 * i + 1 < valid ? halves[2 * i + 1] : 0;
      words[i] = low | high << 16;
    }
    tilepost::ptx::store_shared(target, words);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; i += kLoadVector)
      tilepost::ptx::copy_async<2 * kLoadVector>(target + 2 * i, source + i, i < valid);
  }
}

// This thread's chunks of one operand: in the first row of each pass, at `column`.
struct Operand {
  const Element* source;
  long long pass;  // elements from one pass to the next
  int rows;        // that exist from the first one on; may be negative
};

__device__ __forceinline__ Operand make_operand(const Element* matrix, int first_row, int rows,
                                                int ld) {
  const int row = first_row + static_cast<int>(threadIdx.x) / kChunks;
  const int column = static_cast<int>(threadIdx.x) % kChunks * kChunk;
  return Operand{matrix + static_cast<long long>(row) * ld + column,
                 static_cast<long long>(kRowsPerPass) * ld, rows - row};
}

// Loads kRows rows of an operand, `k` elements on, of which `valid` exist from there on. Loads
// through registers go one pass at a time: there are few registers left.
template <int kRows>
__device__ __forceinline__ void load_operand(uint32_t target, const Operand& operand, int k,
                                             int valid) {
  constexpr int kUnrolled = kLoadVector == 1 ? 1 : kRows / kRowsPerPass;
#pragma unroll kUnrolled
  for (int i = 0; i < kRows / kRowsPerPass; ++i)
    load_chunk(target + i * kRowsPerPass * kRowBytes, operand.source + i * operand.pass + k,
               i * kRowsPerPass < operand.rows ? valid : 0);
}

// The load pipeline of one tile as this thread sees it.
struct Loader {
  Operand a, b;
  uint32_t target;  // this thread's first chunk of A in stage 0
  int depth;        // elements of K from this thread's column on

  // Starts block `block` of K into `stage`; one group of copies, empty beyond the last block.
  __device__ __forceinline__ void load(int stage, int block, int blocks) const {
    if (block < blocks) {
      const uint32_t to = target + stage * kStageBytes;
      load_operand<kTileM>(to, a, block * kTileK, depth - block * kTileK);
      load_operand<kTileN>(to + kBytesA, b, block * kTileK, depth - block * kTileK);
    }
    tilepost::ptx::commit_copies();
  }
};

// One step's fragments of a warp.
struct Fragments {
  uint32_t a[kFragmentsM][4];
  uint32_t b[kFragmentsN][4];

  // `a_row` and `b_row` are the lane's addresses in its first fragment at step 0 of the stage. The
  // step changes bits of the address that only the swizzle uses: chunk 2 * step + c is chunk c with
  // those bits flipped.
  __device__ __forceinline__ void load(uint32_t a_row, uint32_t b_row, int step) {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i)
      tilepost::ptx::load_matrices(a[i], (a_row ^ step * 32) + i * 16 * kRowBytes);
#pragma unroll
    for (int j = 0; j < kFragmentsN; ++j)
      tilepost::ptx::load_matrices(b[j], (b_row ^ step * 32) + j * 16 * kRowBytes);
  }

  __device__ __forceinline__ void multiply(Sums& sums) const {
#pragma unroll
    for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
      for (int j = 0; j < kMmasN; ++j)
        tilepost::ptx::mma_16x8x16<kElement>(sums[i][j], a[i], b[j / 2][j % 2 * 2],
                                             b[j / 2][j % 2 * 2 + 1]);
  }
};

// Multiplies one tile. In the last step of a block the next block's first fragments are read, after
// all copies of it have arrived; in its first step the stage that the block before used is
// refilled: its last fragments were read before the barrier in between.
__device__ __forceinline__ void multiply_tile(uint32_t shared, const Loader& loader, int blocks,
                                              Sums& sums) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  // ldmatrix: A's lanes are 16 rows, then the same rows eight columns on; B's are eight rows, the
  // same rows eight columns on, and the next eight rows likewise.
  const int a_row = warp % kWarpsM * kWarpM + lane % 16;
  const int b_row = warp / kWarpsM * kWarpN + lane / 16 * 8 + lane % 8;
  const uint32_t a_first = shared + swizzle(a_row, lane / 16);
  const uint32_t b_first = shared + kBytesA + swizzle(b_row, lane / 8 % 2);
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
    for (int j = 0; j < kMmasN; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][j][e] = 0;

#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) loader.load(stage, stage, blocks);
  tilepost::ptx::wait_copies<kStages - 2>();
  __syncthreads();
  Fragments fragments[2];
  fragments[0].load(a_first, b_first, 0);
  int stage = 0;
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        tilepost::ptx::wait_copies<kStages - 2>();
        __syncthreads();
        stage = stage + 1 == kStages ? 0 : stage + 1;
      }
      fragments[(step + 1) % 2].load(a_first + stage * kStageBytes, b_first + stage * kStageBytes,
                                     (step + 1) % kSteps);
      if (step == 0) loader.load(stage == 0 ? kStages - 1 : stage - 1, block + kStages - 1, blocks);
      fragments[step % 2].multiply(sums);
    }
  }
  tilepost::ptx::wait_copies<0>();
  __syncthreads();  // shared memory is free for the staged tile
}

// Rounds the sums into the staged tile: a lane's pairs of neighbours.
__device__ __forceinline__ void stage_tile(Element* staged, const Sums& sums) {
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int row = warp % kWarpsM * kWarpM + lane / 4;
  const int col = warp / kWarpsM * kWarpN + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kFragmentsM; ++i)
#pragma unroll
    for (int j = 0; j < kMmasN; ++j) {
      Element* pair = staged + (row + i * 16) * kStagedRow + col + j * 8;
      *reinterpret_cast<uint32_t*>(pair) = tilepost::pack<kElement>(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<uint32_t*>(pair + 8 * kStagedRow) =
          tilepost::pack<kElement>(sums[i][j][2], sums[i][j][3]);
    }
}

// Stores what lies inside the output: the first `rows` rows and `cols` columns of the tile.
__device__ __forceinline__ void store_tile(const Element* staged, Element* c,
                                           const tilepost::TileGrid& grid,
                                           const tilepost::Tile& tile, int rows, int cols,
                                           int ldc) {
  using Store = Vector<kStoreVector>;
  constexpr int kVectors = kTileN / kStoreVector;  // of a row
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
    gemm_sm80(const Element* a, const Element* b, Element* c,
              const __grid_constant__ tilepost_shape_t shape) {
  extern __shared__ __align__(128) uint8_t gemm_sm80_memory[];
  const uint32_t shared = tilepost::ptx::shared_address(gemm_sm80_memory);
  Element* staged = reinterpret_cast<Element*>(gemm_sm80_memory);
  const tilepost::TileGrid grid{
      (shape.m + kTileM - 1) / kTileM, (shape.n + kTileN - 1) / kTileN, kTileM, kTileN, 1, kBand};
  const int tiles = tilepost::num_tiles(grid);
  const int blocks = (shape.k + kTileK - 1) / kTileK;
  const int row = static_cast<int>(threadIdx.x) / kChunks;
  const int chunk = static_cast<int>(threadIdx.x) % kChunks;
  for (int position = blockIdx.x; position < tiles; position += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    if (!tile.is_padding()) {
      const Loader loader{make_operand(a, tile.m * kTileM, shape.m, shape.lda),
                          make_operand(b, tile.n * kTileN, shape.n, shape.ldb),
                          shared + swizzle(row, chunk), shape.k - chunk * kChunk};
      Sums sums;
      multiply_tile(shared, loader, blocks, sums);
      stage_tile(staged, sums);
      __syncthreads();
      store_tile(staged, c, grid, tile, shape.m - tile.m * kTileM, shape.n - tile.n * kTileN,
                 shape.ldc);
      __syncthreads();  // the staged tile has been read: the next one's loads may overwrite it
    }
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}
