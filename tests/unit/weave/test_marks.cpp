#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {

TEST_CASE("marks are rewritten and the view comes last in the kernel") {
  CHECK(woven_body(R"(__global__ void gemm(float* c, int n) {
  const tilepost::TileGrid grid{1, 1, 64, 64, 1, 1};
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    tilepost::out(c, grid, tile, 0, 0, n) = 1;
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}
)") == R"(__global__ void gemm(float* c, int n, const __grid_constant__ View view_) {
  const tilepost::TileGrid grid{1, 1, 64, 64, 1, 1};
  for (int i = blockIdx.x; i < tilepost::woven::num_tiles(view_, grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::woven::tile(view_, grid, i);
    tilepost::woven::out(view_, c, grid, tile, 0, 0, n) = 1;
    tilepost::woven::tile_done(view_, tile, tilepost::BlockStores{});
  }
}
)");
}

TEST_CASE("TMA coordinates and the form without tiles") {
  CHECK(woven_body(R"(__global__ void gemm(float* c) {
  const tilepost::Tile tile{};
  auto coord = tilepost::out_coord({}, tile, 0, 0);
  tilepost::out(c, coord.x, 0, 1) = 1;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
)") == R"(__global__ void gemm(float* c, const __grid_constant__ View view_) {
  const tilepost::Tile tile{};
  auto coord = tilepost::woven::out_coord(view_, {}, tile, 0, 0);
  tilepost::woven::out(view_, c, coord.x, 0, 1) = 1;
  tilepost::woven::tile_done(view_, tile, tilepost::BulkStores{});
}
)");
}

TEST_CASE("a loader's maps, and a helper warp") {
  CHECK(woven_body(R"(struct Map {};
__device__ void load(const Map* map);
__global__ void gemm(const Map* map, float* c) {
  const tilepost::Tile tile{};
  tilepost::open_in_map();
  load(tilepost::in_map(map, tile));
  tilepost::helper_warp({0, 128}, tilepost::DType::bf16, 2, 8);
  tilepost::finish_tasks({0, 128}, tilepost::DType::bf16, 3, 8);
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
)") == R"(struct Map {};
__device__ void load(const Map* map);
__global__ void gemm(const Map* map, float* c, const __grid_constant__ View view_) {
  const tilepost::Tile tile{};
  tilepost::woven::open_in_map(view_);
  load(tilepost::woven::in_map(view_, map, tile));
  tilepost::woven::helper_warp(view_, {0, 128}, tilepost::DType::bf16, 2, 8);
  tilepost::woven::finish_tasks(view_, {0, 128}, tilepost::DType::bf16, 3, 8);
  tilepost::woven::out(view_, c, 0, 0, 1) = 1;
  tilepost::woven::tile_done(view_, tile, tilepost::BulkStores{});
}
)");
}

TEST_CASE("warps that exchange tiles, and those that join them") {
  CHECK(woven_body(R"(__global__ void gemm(float* c) {
  const tilepost::Tile tile{};
  tilepost::exchange_tiles({}, {}, 0, tilepost::DType::bf16, 3, 128, 256);
  tilepost::finish_exchange({}, {}, 0, tilepost::DType::bf16, 131, 384);
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
)") == R"(__global__ void gemm(float* c, const __grid_constant__ View view_) {
  const tilepost::Tile tile{};
  tilepost::woven::exchange_tiles(view_, {}, {}, 0, tilepost::DType::bf16, 3, 128, 256);
  tilepost::woven::finish_exchange(view_, {}, {}, 0, tilepost::DType::bf16, 131, 384);
  tilepost::woven::out(view_, c, 0, 0, 1) = 1;
  tilepost::woven::tile_done(view_, tile, tilepost::BulkStores{});
}
)");
}

TEST_CASE("a store thread's maps and its pace, through a helper") {
  CHECK(woven_body(R"(struct Map {};
__device__ void send(const Map* map, tilepost::Coord at);
__device__ void store(const Map* map, const tilepost::Tile& tile, tilepost::Pacer& pacer) {
  tilepost::pace(pacer, tile, false);
  send(tilepost::out_map(map, tile), tilepost::out_coord({}, tile, 0, 0));
}
__global__ void gemm(const Map* map, int m) {
  tilepost::Pacer pacer{0, 1};
  tilepost::open_out_maps(m, 2);
  const tilepost::Tile tile{};
  store(map, tile, pacer);
  tilepost::tile_done(tile, tilepost::BulkStores{});
}
)") == R"(struct Map {};
__device__ void send(const Map* map, tilepost::Coord at);
__device__ void store(const View& view_, const Map* map, const tilepost::Tile& tile,
                      tilepost::Pacer& pacer) {
  tilepost::woven::pace(view_, pacer, tile, false);
  send(tilepost::woven::out_map(view_, map, tile),
       tilepost::woven::out_coord(view_, {}, tile, 0, 0));
}
__global__ void gemm(const Map* map, int m, const __grid_constant__ View view_) {
  tilepost::Pacer pacer{0, 1};
  tilepost::woven::open_out_maps(view_, m, 2);
  const tilepost::Tile tile{};
  store(view_, map, tile, pacer);
  tilepost::woven::tile_done(view_, tile, tilepost::BulkStores{});
}
)");
}

TEST_CASE("what stores with pointers needs no maps to store into other ranks' memory") {
  WeaveRequest request = request_for(R"(#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  request.stores = true;
  CHECK(weave_kernel(request).body.find("woven::out(view_, c, 0, 0, 1)") != std::string::npos);
}

TEST_CASE("a host kernel takes a plain view") {
  WeaveRequest request = request_for(R"(#include <tilepost/mark.cuh>
#include <cstdint>
void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  request.file = "kernel.cpp";
  request.cuda = false;
  const WovenKernel woven = weave_kernel(request);
  CHECK(woven.includes == std::vector<std::string>{"<cstdint>"});
  CHECK(woven.body == R"(void gemm(float* c, const View view_) {
  tilepost::woven::out(view_, c, 0, 0, 1) = 1;
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
}
)");
}

TEST_CASE("the view is handed down through helpers, declared before or after") {
  CHECK(woven_body(R"(__device__ void done(void);
__device__ int untouched() { return 0; }
template <class T>
__device__ void store(T* c, T value = T{}) {
  tilepost::out(c, untouched(), 0, 1) = value;
}
template <class T>
__device__ void finish(T* c) {
  store(c);
  store<T>(c, 2);
  done();
}
__global__ void gemm(float* c) { finish(c); }
__device__ void done(void) { tilepost::tile_done({}, tilepost::BlockStores{}); }
)") == R"(__device__ void done(const View& view_);
__device__ int untouched() { return 0; }
template <class T>
__device__ void store(const View& view_, T* c, T value = T{}) {
  tilepost::woven::out(view_, c, untouched(), 0, 1) = value;
}
template <class T>
__device__ void finish(const View& view_, T* c) {
  store(view_, c);
  store<T>(view_, c, 2);
  done(view_);
}
__global__ void gemm(float* c, const __grid_constant__ View view_) { finish(view_, c); }
__device__ void done(const View& view_) {
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
}
)");
}

TEST_CASE("marks in macros: in the body, in an argument, nested") {
  CHECK(woven_body(R"(#define STORE(row, value) tilepost::out(c, row, 0, 1) = (value)
#define TWICE(statement) \
  statement;             \
  statement
#define COUNT() tilepost::num_tiles(grid)
__global__ void gemm(float* c) {
  const tilepost::TileGrid grid{};
  TWICE(STORE(COUNT(), 1));
  TWICE(tilepost::tile_done({}, tilepost::BlockStores{}));
}
)") == R"(#define STORE(row, value) tilepost::woven::out(view_, c, row, 0, 1) = (value)
#define TWICE(statement) \
  statement;             \
  statement
#define COUNT() tilepost::woven::num_tiles(view_, grid)
__global__ void gemm(float* c, const __grid_constant__ View view_) {
  const tilepost::TileGrid grid{};
  TWICE(STORE(COUNT(), 1));
  TWICE(tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{}));
}

#undef STORE
#undef TWICE
#undef COUNT
)");
}

TEST_CASE("lambdas capture the view") {
  CHECK(woven_body(R"(template <class F>
__device__ void each(F f) {
  f(0);
}
__global__ void gemm(float* c) {
  each([&](int i) { tilepost::out(c, i, 0, 1) = 1; });
  each([=](int i) { tilepost::out(c, i, 0, 1) = 1; });
  each([c](int i) { tilepost::out(c, i, 0, 1) = 1; });
  each([](auto) { tilepost::tile_done({}, tilepost::BlockStores{}); });
}
)") == R"(template <class F>
__device__ void each(F f) {
  f(0);
}
__global__ void gemm(float* c, const __grid_constant__ View view_) {
  each([&](int i) { tilepost::woven::out(view_, c, i, 0, 1) = 1; });
  each([=](int i) { tilepost::woven::out(view_, c, i, 0, 1) = 1; });
  each([&view_, c](int i) { tilepost::woven::out(view_, c, i, 0, 1) = 1; });
  each([&view_](auto) { tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{}); });
}
)");
}

TEST_CASE("however the marks are named, the woven names are whole") {
  const std::string woven = woven_body(R"(using namespace tilepost;
namespace tp = tilepost;
using tilepost::num_tiles;
__global__ void gemm(float* c) {
  const TileGrid grid{};
  const Tile t = tp::tile(grid, num_tiles(grid));
  out(c, 0, 0, 1) = 1;
  tile_done(t, ::tilepost::BlockStores{});
}
)");
  CHECK(woven.find("tilepost::woven::tile(view_, grid, tilepost::woven::num_tiles(view_, grid))") !=
        std::string::npos);
  CHECK(woven.find("  tilepost::woven::out(view_, c, 0, 0, 1) = 1;") != std::string::npos);
  CHECK(woven.find("  tilepost::woven::tile_done(view_, t,") != std::string::npos);
}

TEST_CASE("an explicit specialisation shares its template's parameters") {
  const std::string woven = woven_body(R"(template <int kStep>
__device__ void store(float* c) { tilepost::out(c, kStep, 0, 1) = 1; }
template <>
__device__ void store<4>(float* c) { c[4] = 1; }
__global__ void gemm(float* c) {
  store<1>(c);
  store<4>(c);
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  CHECK(woven.find("store<4>(const View& view_, float* c)") != std::string::npos);
  CHECK(woven.find("  store<4>(view_, c);") != std::string::npos);
}

TEST_CASE("overloads are told apart") {
  const std::string woven = woven_body(R"(__device__ void store(float* c) { *c = 0; }
__device__ void store(float* c, int i) { tilepost::out(c, i, 0, 1) = 1; }
__global__ void gemm(float* c) {
  store(c);
  store(c, 1);
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  CHECK(woven.find("  store(c);\n  store(view_, c, 1);\n") != std::string::npos);
}

TEST_CASE("the guard encloses the kernel's body only") {
  WeaveRequest request = request_for(R"(#include <tilepost/mark.cuh>
__global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  request.arch_guard = "GUARD";
  CHECK(weave_kernel(request).body ==
        R"(__global__ void gemm(float* c, const __grid_constant__ View view_) {
#if GUARD
  tilepost::woven::out(view_, c, 0, 0, 1) = 1;
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
#endif
}
)");
}

TEST_CASE("constants that only the guarded body reads are marked unused") {
  WeaveRequest request = request_for(R"(#include <tilepost/mark.cuh>
constexpr int kBody = 1;
constexpr int kBoth = 2;
constexpr int kKept = 3;
__device__ int helper() { return kBoth; }
__global__ void gemm(float* c) {
  tilepost::out(c, kBody, kBoth, kKept) = helper();
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  request.keep = {"kKept"};
  CHECK(weave_kernel(request).body.find("maybe_unused") == std::string::npos);
  request.arch_guard = "GUARD";
  CHECK(weave_kernel(request).body.find("[[maybe_unused]] constexpr int kBody = 1;\n"
                                        "constexpr int kBoth = 2;\n"
                                        "constexpr int kKept = 3;\n") == 0);
}

TEST_CASE("a kernel with a C name gets a C++ name") {
  const std::string woven = woven_body(R"(extern "C" __global__ void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  CHECK(woven.find("extern \"C++\" __global__ void gemm(float* c, const") == 0);
}

TEST_CASE(
    "member functions are handed the view, of templates too, and where they call each other") {
  CHECK(woven_body(R"(template <int kRows>
struct Scheduler {
  tilepost::TileGrid grid;
  int at = 0;
  __device__ int end() const { return tilepost::num_tiles(grid); }
  __device__ bool next(tilepost::Tile& tile, int step = 1);
  template <class T>
  __device__ static void done(T tile) {
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
};
template <int kRows>
__device__ bool Scheduler<kRows>::next(tilepost::Tile& tile, int step) {
  if (at >= this->end()) return false;
  tile = tilepost::tile(grid, at);
  return at += step;
}
template <class Scheduler>
__device__ void compute(Scheduler& scheduler, float* c) {
  tilepost::Tile tile;
  while (scheduler.next(tile)) {
    *tilepost::out_base(c, scheduler.grid, tile, 1) = 1;
    Scheduler::template done<tilepost::Tile>(tile);
  }
}
__global__ void gemm(float* c) {
  Scheduler<1> scheduler{{1, 1, 64, 64, 1, 1}};
  compute(scheduler, c);
}
)") == R"(template <int kRows>
struct Scheduler {
  tilepost::TileGrid grid;
  int at = 0;
  __device__ int end(const View& view_) const { return tilepost::woven::num_tiles(view_, grid); }
  __device__ bool next(const View& view_, tilepost::Tile& tile, int step = 1);
  template <class T>
  __device__ static void done(const View& view_, T tile) {
    tilepost::woven::tile_done(view_, tile, tilepost::BlockStores{});
  }
};
template <int kRows>
__device__ bool Scheduler<kRows>::next(const View& view_, tilepost::Tile& tile, int step) {
  if (at >= this->end(view_)) return false;
  tile = tilepost::woven::tile(view_, grid, at);
  return at += step;
}
template <class Scheduler>
__device__ void compute(const View& view_, Scheduler& scheduler, float* c) {
  tilepost::Tile tile;
  while (scheduler.next(view_, tile)) {
    *tilepost::woven::out_base(view_, c, scheduler.grid, tile, 1) = 1;
    Scheduler::template done<tilepost::Tile>(view_, tile);
  }
}
__global__ void gemm(float* c, const __grid_constant__ View view_) {
  Scheduler<1> scheduler{{1, 1, 64, 64, 1, 1}};
  compute(view_, scheduler, c);
}
)");
}

}  // namespace tilepost
