// Runs a woven kernel on the CPU, one position after the other in the planned order, and the plain
// kernel as its author launches it. The woven kernel must store the same bits in the places of the
// schedule and nothing elsewhere, and must raise every counter as the plan wants.
//
// WOVEN is the generated source, PLAIN the source of the plain kernel, and LAUNCH the call of the
// plain kernel. Element is the type of its inputs, and Output that of its output. A kernel with
// marks is launched by its launcher, which needs one CUDA call. This file has a stand-in for that
// call.
#include <functional>

#include "runtime/verify/host/shim/cpu_shim.h"

struct cudaLaunchConfig_st {
  dim3 gridDim;
};
// Handles the launcher's call with the kernel's arguments.
static std::function<void(const cudaLaunchConfig_st&, void**)> run_launched;

inline int cudaLaunchKernelExC(const cudaLaunchConfig_st* config, const void*, void** arguments) {
  run_launched(*config, arguments);
  return 0;
}

#include WOVEN

#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/map/tile_map.h"
#include "tilepost/numeric.h"

namespace plain {
#include PLAIN
}  // namespace plain

namespace {

using tilepost::TileMap;

dim3 threads_of(const tilepost_plan_t& plan) {
  const auto& block = plan.kernel.block;
  return {static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]),
          static_cast<unsigned>(block[2])};
}

struct Data {
  std::vector<Element> a, b;
  std::vector<Output> c;

  explicit Data(const tilepost_plan_t& plan) {
    std::mt19937 random(7);
    const auto fill = [&](std::vector<Element>& to, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        to.push_back(Element(static_cast<float>(random() % 17) - 8));
    };
    fill(a, plan.map.m * plan.k);
    fill(b, plan.map.n * plan.k);
    c.resize(static_cast<size_t>(plan.map.m * plan.map.n));
  }
};

void run_plain(const tilepost_plan_t& plan, Data& data) {
  const int m = static_cast<int>(plan.map.m), n = static_cast<int>(plan.map.n);
  const int k = static_cast<int>(plan.k);
  const dim3 grid = {GRID};
  for (unsigned block = 0; block < grid.x * grid.y * grid.z; ++block) {
    const uint3 at{block % grid.x, block / grid.x % grid.y, block / (grid.x * grid.y)};
    tilepost::cpu::run_block_in_turn(grid, threads_of(plan), at, 0, [&] {
      const Element *a = data.a.data(), *b = data.b.data();
      Output* c = data.c.data();
      plain::LAUNCH;
    });
  }
}

// Elements that have the bits of an output that nobody has stored to.
std::vector<Output> untouched(int64_t count) {
  std::vector<Output> elements(static_cast<size_t>(count));
  std::memset(static_cast<void*>(elements.data()), 0x7a, elements.size() * sizeof(Output));
  return elements;
}

// Calls a kernel with the arguments that its launcher has put into `list`.
template <class... Parameters, size_t... kIndices>
void call_with(void (*kernel)(Parameters...), void** list, std::index_sequence<kIndices...>) {
  kernel(*static_cast<std::remove_const_t<Parameters>*>(list[kIndices])...);
}
template <class... Parameters>
void call_with(void (*kernel)(Parameters...), void** list) {
  call_with(kernel, list, std::index_sequence_for<Parameters...>{});
}

#ifdef MARKED
// Runs one block after the other, so the first block computes all tiles that are left if it can.
int launch_woven(const tilepost_plan_t& plan, const tilepost_launch_call_t& call) {
  run_launched = [&](const cudaLaunchConfig_st& config, void** list) {
    for (unsigned block = 0; block < config.gridDim.x; ++block)
      tilepost::cpu::run_block_in_turn(config.gridDim, threads_of(plan), {block, 0, 0}, 0,
                                       [&] { call_with(&KERNEL_SPACE::user::KERNEL, list); });
  };
  return plan.kernel.launcher(&call, nullptr);
}
#else
int launch_woven(const tilepost_plan_t& plan, const tilepost_launch_call_t& call) {
  const dim3 grid = call.config->gridDim;
  for (unsigned position = 0; position < grid.x; ++position)
    tilepost::cpu::run_block_in_turn(grid, threads_of(plan), {position, 0, 0}, 0, [&] {
      KERNEL_SPACE::KERNEL(const_cast<void*>(call.a), const_cast<void*>(call.b), call.out,
                           call.shape, {}, KERNEL_SPACE::View{call.view});
    });
  return 0;
}
#endif

std::vector<Output> run_woven(const tilepost_plan_t& plan, const TileMap& map, Data& data,
                              std::vector<uint32_t>& counters) {
  std::vector<Output> sent = untouched(map.send_elements);
  tilepost_view_t view{};
  view.tiles = map.tiles.data();
  view.counters = counters.data();
  view.num_tiles = static_cast<int32_t>(map.tiles.size());
  const tilepost_shape_t shape = {
      static_cast<int32_t>(plan.map.m), static_cast<int32_t>(plan.map.n),
      static_cast<int32_t>(plan.k),     static_cast<int32_t>(plan.k),
      static_cast<int32_t>(plan.k),     static_cast<int32_t>(plan.map.n)};
  const auto ctas = plan.kernel.tile_per_cta ? map.tiles.size() : size_t(plan.gemm_ctas);
  const cudaLaunchConfig_st config = {dim3(static_cast<unsigned>(ctas))};
  const tilepost_launch_call_t call = {sizeof call,
                                       nullptr,
                                       &config,
                                       data.a.data(),
                                       data.b.data(),
                                       sent.data(),
                                       map.send_elements / plan.map.n,
                                       shape,
                                       {},
                                       view};
  if (launch_woven(plan, call) != 0) std::printf("the launcher failed\n");
  return sent;
}

// The plain output, moved as the schedule demands.
std::vector<Output> moved(const tilepost_plan_t& plan, const TileMap& map, const Data& data) {
  std::vector<Output> sent = untouched(map.send_elements);
  const int64_t n = plan.map.n;
  for (const tilepost_tile_t& tile : map.tiles)
    for (int64_t row = 0; tile.row >= 0 && row < plan.map.tile_m && tile.m + row < plan.map.m;
         ++row)
      for (int64_t column = tile.n; column < std::min(n, int64_t{tile.n} + plan.map.tile_n);
           ++column)
        sent[static_cast<size_t>((tile.row + row) * n + column)] =
            data.c[static_cast<size_t>((tile.m + row) * n + column)];
  return sent;
}

}  // namespace

int main() {
  const tilepost_plan_t plan = PROGRAM()->plans[0];
  const TileMap map = tilepost::build_tile_map(plan.map);
  Data data(plan);
  run_plain(plan, data);
  std::vector<uint32_t> counters(map.groups.size() * TILEPOST_COUNTER_STRIDE);
  const std::vector<Output> sent = run_woven(plan, map, data, counters);
  const std::vector<Output> wanted = moved(plan, map, data);
  int wrong = std::memcmp(sent.data(), wanted.data(), sent.size() * sizeof(Output)) != 0;
  if (wrong) std::printf("the woven kernel stored something else than the plain one\n");
  for (size_t group = 0; group < map.groups.size(); ++group)
    if (counters[group * TILEPOST_COUNTER_STRIDE] != map.groups[group].target) {
      std::printf("group %zu: counter %u, expected %u\n", group,
                  counters[group * TILEPOST_COUNTER_STRIDE], map.groups[group].target);
      wrong = 1;
    }
  std::printf("%zu positions, %zu groups: %s\n", map.tiles.size(), map.groups.size(),
              wrong ? "FAIL" : "PASS");
  return wrong;
}
