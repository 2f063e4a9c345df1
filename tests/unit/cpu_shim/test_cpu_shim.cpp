// CUDA kernels on threads: their results, plain and as the weaver wraps them.
#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "runtime/verify/host/shim/cpu_woven.h"
#include "runtime/verify/host/shim/include/cuda_bf16.h"
#include "runtime/verify/host/shim/include/cuda_fp16.h"
#include "runtime/verify/host/shim/include/mma.h"
#include "tests/catch.h"

namespace {

constexpr int kM = 40, kN = 24, kK = 17;  // ragged
constexpr int kTileM = 16, kTileN = 8;
constexpr int kTilesM = (kM + kTileM - 1) / kTileM, kTilesN = (kN + kTileN - 1) / kTileN;

// A kernel as a user writes it, with shared memory, barriers in a loop and threads that return
// early. CUDA's variables are those of the shim or parameters that hide them.
#define TILED_BODY                                                                                \
  __shared__ float a_tile[kTileM][4];                                                             \
  __shared__ float b_tile[4][kTileN];                                                             \
  const int row = blockIdx.y * kTileM + threadIdx.y, column = blockIdx.x * kTileN + threadIdx.x;  \
  float sum = 0;                                                                                  \
  for (int first = 0; first < k; first += 4) {                                                    \
    if (threadIdx.x < 4)                                                                          \
      a_tile[threadIdx.y][threadIdx.x] =                                                          \
          row < m && first + int(threadIdx.x) < k ? a[row * k + first + threadIdx.x] : 0;         \
    if (threadIdx.y < 4)                                                                          \
      b_tile[threadIdx.y][threadIdx.x] =                                                          \
          column < n && first + int(threadIdx.y) < k ? b[(first + threadIdx.y) * n + column] : 0; \
    __syncthreads();                                                                              \
    for (int i = 0; i < 4; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];           \
    __syncthreads();                                                                              \
  }                                                                                               \
  if (row >= m || column >= n) return;                                                            \
  c[row * n + column] = sum;

__global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k){TILED_BODY}

__device__ __forceinline__ void tiled_body(const uint3 blockIdx, const dim3, const float* a,
                                           const float* b, float* c, int m, int n, int k) {
  TILED_BODY
}

struct View : tilepost::woven::View {
  static constexpr int kTileM = ::kTileM, kTileN = ::kTileN;
};

__global__ void woven(const float* a, const float* b, float* c, int m, int n, int k,
                      const View view_) {
  for (int position = blockIdx.x; position < view_.num_tiles; position += gridDim.x) {
    const tilepost::Tile tile = tilepost::woven::tile(view_, {}, position);
    if (!tile.is_padding()) {
      const uint3 block{unsigned(tile.n / kTileN), unsigned(tile.m / kTileM), 0};
      tiled_body(block, dim3(kTilesN, kTilesM), a, b, c + ptrdiff_t(tile.row - tile.m) * n, m, n,
                 k);
    }
    tilepost::woven::tile_done(view_, tile, tilepost::BlockStores{});
    __syncthreads();
  }
}

struct Product {
  std::vector<float> a = std::vector<float>(kM * kK), b = std::vector<float>(kK * kN);
  std::vector<float> c = std::vector<float>(kM * kN, -1);

  Product() {
    std::mt19937 random(5);
    for (float& x : a) x = static_cast<float>(random() % 17) - 8;
    for (float& x : b) x = static_cast<float>(random() % 17) - 8;
  }
  // The right value of an element. All values are whole numbers, so any order of additions gives
  // it.
  float at(int row, int column) const {
    float sum = 0;
    for (int i = 0; i < kK; ++i) sum += a[row * kK + i] * b[i * kN + column];
    return sum;
  }
};

}  // namespace

TEST_CASE("a tiled kernel computes a product") {
  Product product;
  tilepost::cpu::launch(dim3(kTilesN, kTilesM), dim3(kTileN, kTileM), 0, [&] {
    tiled(product.a.data(), product.b.data(), product.c.data(), kM, kN, kK);
  });
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column)
      REQUIRE(product.c[row * kN + column] == product.at(row, column));
}

TEST_CASE("a woven kernel moves bands of rows and counts its tiles") {
  Product product;
  // The bands are stored in another order, behind the last band, which is ragged and goes first. A
  // padding tile comes among them.
  const int rows[kTilesM] = {8, 24, 0};
  std::vector<tilepost_tile_t> schedule;
  for (int row = 0; row < kTilesM; ++row)
    for (int column = 0; column < kTilesN; ++column)
      schedule.push_back({row * kTileM, column * kTileN, rows[row], row});
  schedule.push_back({0, 0, -1, 1});
  std::shuffle(schedule.begin(), schedule.end(), std::mt19937(3));
  std::vector<uint32_t> counters(kTilesM * TILEPOST_COUNTER_STRIDE);
  View view{};
  view.tiles = schedule.data();
  view.num_tiles = static_cast<int>(schedule.size());
  view.counters = counters.data();
  tilepost::cpu::launch(dim3(4), dim3(kTileN, kTileM), 0, [&] {
    woven(product.a.data(), product.b.data(), product.c.data(), kM, kN, kK, view);
  });
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      const int place = rows[row / kTileM] + row % kTileM;
      REQUIRE(product.c[place * kN + column] == product.at(row, column));
    }
  for (int group = 0; group < kTilesM; ++group)
    CHECK(counters[group * TILEPOST_COUNTER_STRIDE] == kTilesN + (group == 1 ? 1u : 0u));
}

TEST_CASE("threads in turn wait for nobody, and find what those before them left") {
  std::vector<int> found(70);
  for (const unsigned block : {1u, 0u}) {
    tilepost::cpu::run_block_in_turn(dim3(2, 3), dim3(7, 5, 2), uint3{block, 2, 0}, 8, [&] {
      if (threadIdx.y == 4) return;
      __syncthreads();
      __syncwarp();
      int* const shared = tilepost::cpu::dynamic_shared<int>();
      const unsigned thread = tilepost::cpu::thread_in_block();
      found[thread] = ++shared[0] + int(100 * blockIdx.x + 1000 * blockIdx.y * gridDim.y);
    });
    for (int i = 0; i < 70; ++i) {
      const int ended = i / 35 * 7;  // of the threads before, those with y = 4 have ended
      CHECK(found[i] == (i % 35 < 28 ? i - ended + 1 + int(100 * block) + 6000 : 0));
    }
  }
}

TEST_CASE("threads that ended are not waited for, and warps meet alone") {
  std::vector<int> order(70);
  tilepost::cpu::launch(1, 70, sizeof(int), [&] {
    if (threadIdx.x >= 60) return;
    int* const shared = tilepost::cpu::dynamic_shared<int>();
    if (threadIdx.x == 32) shared[0] = 7;
    __syncwarp();
    if (threadIdx.x >= 32) order[threadIdx.x] = shared[0];
    __syncthreads();
    if (threadIdx.x < 32) order[threadIdx.x] = shared[0];
  });
  for (int i = 0; i < 60; ++i) CHECK(order[i] == 7);
  CHECK(order[60] == 0);
}

TEST_CASE("lanes of a warp tell each other what CUDA's functions say") {
  std::vector<int> of_lane(64), from(64), up(64), down(64), votes(64), alone(64);
  tilepost::cpu::launch(1, 64, 0, [&] {
    const int i = static_cast<int>(threadIdx.x);
    of_lane[i] = __shfl_sync(~0u, 100 + i, 5);
    from[i] = __shfl_xor_sync(~0u, i, 3, 16);
    up[i] = __shfl_up_sync(~0u, i, 2, 8);
    down[i] = __shfl_down_sync(~0u, i, 2, 8);
    votes[i] = static_cast<int>(__ballot_sync(~0u, i % 4 == 0));
    if (i % 2 == 0) alone[i] = __shfl_xor_sync(0x55555555u, i, 2) + __any_sync(0x55555555u, i == 2);
  });
  for (int i = 0; i < 64; ++i) {
    CHECK(of_lane[i] == 105 + i / 32 * 32);
    CHECK(from[i] == (i ^ 3));
    CHECK(up[i] == (i % 8 < 2 ? i : i - 2));
    CHECK(down[i] == (i % 8 < 6 ? i + 2 : i));
    CHECK(static_cast<unsigned>(votes[i]) == 0x11111111u);
    CHECK(alone[i] == (i % 2 != 0 ? 0 : (i ^ 2) + (i < 32 ? 1 : 0)));
  }
}

TEST_CASE("a barrier that not all come to is an error and no hang") {
  const auto run = [](auto body) { tilepost::cpu::launch(2, 40, 0, body); };
  CHECK_THROWS_WITH(run([] {
                      if (threadIdx.x < 10)
                        __syncthreads();
                      else
                        __syncwarp();
                    }),
                    Catch::Contains("wait at a barrier or shuffle to which not all come"));
  int ran = 0;
  run([&] {
    __syncthreads();
    ++ran;
  });
  CHECK(ran == 80);
}

TEST_CASE("blocks on several threads of the CPU have shared memory of their own") {
  const auto body = [] {
    __shared__ int shared[64];
    shared[threadIdx.x] = static_cast<int>(blockIdx.x * 100 + threadIdx.x);
    __syncthreads();
    return shared[63 - threadIdx.x];
  };
  std::vector<std::vector<int>> found(4, std::vector<int>(64));
  std::vector<std::thread> threads;
  for (unsigned block = 0; block < 4; ++block)
    threads.emplace_back([&, block] {
      for (int again = 0; again < 50; ++again)
        tilepost::cpu::run_block(4, 64, {block, 0, 0}, 0,
                                 [&] { found[block][threadIdx.x] = body(); });
    });
  for (std::thread& thread : threads) thread.join();
  for (int block = 0; block < 4; ++block)
    for (int i = 0; i < 64; ++i) CHECK(found[block][i] == block * 100 + 63 - i);
}

TEST_CASE("numbers of 16 bits come from whole ones and round once") {
  const half one = 1, third = half(1) / half(3);
  half sum = 0;
  for (int i = 0; i < 3; ++i) sum += third;
  CHECK(third.bits == 0x3555);
  CHECK(sum.bits == 0x3c00);  // a tie, to even
  CHECK((half(2048) + one).bits == half(2048).bits);
  CHECK((-one).bits == 0xbc00);
  CHECK(one > third);
  const __nv_bfloat16 large = 257u;
  CHECK(static_cast<int>(large) == 256);
  const half2 pair = __floats2half2_rn(1, 2) * __float2half2_rn(3) + half2{one, one};
  CHECK(static_cast<float>(pair.x) == 4);
  CHECK(__high2float(pair) == 7);
  CHECK(__hsub(one, third).bits == 0x3956);
}

namespace {

// A product of one warp, of whole numbers: C is ColMajor or not, and what of A and B is rows says
// the layout.
template <int m, int n, int k, class T, class Sum, class LayoutA, class LayoutB>
void check_wmma(nvcuda::wmma::layout_t layout) {
  using namespace nvcuda::wmma;
  constexpr bool kByRowsA = std::is_same_v<LayoutA, row_major>;
  constexpr bool kByRowsB = std::is_same_v<LayoutB, row_major>;
  constexpr int kPad = 3;  // of each leading dimension
  const int lda = (kByRowsA ? k : m) + kPad, ldb = (kByRowsB ? n : k) + kPad;
  const int ldc = (layout == mem_row_major ? n : m) + kPad;
  std::vector<T> a(static_cast<size_t>((m + k) * (m + k + kPad)));
  std::vector<T> b(static_cast<size_t>((n + k) * (n + k + kPad)));
  std::vector<Sum> c(static_cast<size_t>((m + n) * (m + n + kPad)));
  std::mt19937 random(7);
  for (T& x : a) x = static_cast<int>(random() % 9) - 4;
  for (T& x : b) x = static_cast<int>(random() % 9) - 4;
  tilepost::cpu::launch(1, 32, 0, [&] {
    fragment<matrix_a, m, n, k, T, LayoutA> rows;
    fragment<matrix_b, m, n, k, T, LayoutB> columns;
    fragment<accumulator, m, n, k, Sum> sums;
    fill_fragment(sums, 2);
    load_matrix_sync(rows, a.data(), static_cast<unsigned>(lda));
    load_matrix_sync(columns, b.data(), static_cast<unsigned>(ldb));
    mma_sync(sums, rows, columns, sums);
    for (Sum& x : sums.x) x = x * Sum(2);
    store_matrix_sync(c.data(), sums, static_cast<unsigned>(ldc), layout);
  });
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 2;
      for (int l = 0; l < k; ++l)
        sum += static_cast<float>(a[static_cast<size_t>(kByRowsA ? i * lda + l : l * lda + i)]) *
               static_cast<float>(b[static_cast<size_t>(kByRowsB ? l * ldb + j : j * ldb + l)]);
      const int at = layout == mem_row_major ? i * ldc + j : j * ldc + i;
      REQUIRE(static_cast<float>(c[static_cast<size_t>(at)]) == 2 * sum);
    }
}

}  // namespace

TEST_CASE("a warp multiplies matrices by WMMA") {
  using namespace nvcuda::wmma;
  check_wmma<16, 16, 16, half, half, row_major, col_major>(mem_row_major);
  check_wmma<16, 16, 16, __nv_bfloat16, float, row_major, row_major>(mem_col_major);
  check_wmma<8, 32, 16, half, float, col_major, col_major>(mem_row_major);
  check_wmma<32, 8, 16, signed char, int, row_major, col_major>(mem_row_major);
}
