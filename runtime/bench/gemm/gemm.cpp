#include "runtime/bench/gemm/gemm.h"

#include <algorithm>
#include <limits>

#include "runtime/bench/gemm/route.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/map/cut_points.h"

namespace tilepost::bench {

namespace {

// The run map of rank 0 for the plan's m.
std::unique_ptr<RunMap> run_of(const tilepost_plan_t& plan, uint64_t seed) {
  if (hash_tile_map(build_tile_map(plan.map)) != plan.map_hash)
    throw BenchError("generator and runtime build different tile maps");
  const int64_t m = rows_of_runs(plan);
  if (!is_routed(plan)) return make_run_map(plan, 0, m);
  std::vector<BenchRoute> routes;
  std::vector<RouteInputs> inputs;
  for (int rank = 0; rank < plan.ranks; ++rank) routes.push_back(route_of(plan, rank, seed));
  for (const BenchRoute& route : routes) inputs.push_back({m, m, route.splits, route.destinations});
  return routed_run(plan, 0, inputs);
}

cuda::DeviceMemory make_counters(const tilepost_plan_t& plan) {
  return upload(
      std::vector<uint32_t>(static_cast<size_t>(plan.map.num_groups) * TILEPOST_COUNTER_STRIDE));
}

}  // namespace

Signals::Signals(const tilepost_plan_t& plan, uint64_t seed)
    : plan_(plan),
      run_(run_of(plan, seed)),
      place_(kernel_place(*run_)),
      tiles_(upload(run_->tiles.tiles)),
      positions_(upload(run_->tiles.positions)),
      row_map_(upload(run_->row_map)),
      counters_(make_counters(plan)) {}

tilepost_view_t Signals::view() const {
  const bool shares = run_->map().division == TILEPOST_DIVISION_SHARES;
  tilepost_view_t view{};
  view.tiles = static_cast<const tilepost_tile_t*>(tiles_.get());
  view.positions = static_cast<const int32_t*>(positions_.get());
  view.counters = static_cast<uint32_t*>(counters_.get());
  view.row_map = static_cast<const int32_t*>(row_map_.get());
  view.num_tiles = static_cast<int32_t>(run_->tiles.tiles.size());
  view.tiles_n = tiles_n(run_->map());
  // The kernel waits until `stored` has reached `expected`. Both are the same memory here, so the
  // kernel always finds the rows that other ranks' tasks would push.
  if (plan_.pushes != 0) view.tasks.stored = view.tasks.expected = view.counters;
  if (shares) view.share_rows = static_cast<int32_t>(share_rows(run_->map()));
  if (shares) view.share_tiles = share_tiles(run_->map());
  return view;
}

// The number of posts that a group gets in one launch. In kernels whose A arrives, tiles wait for
// counters and raise none. In kernels that store tiles by owner, the schedule's padding raises
// none.
uint32_t Signals::posts(int group) const {
  if (plan_.map.division == TILEPOST_DIVISION_ARRIVALS) return 0;
  if (run_->access() != TILEPOST_ACCESS_WRITE) return run_->tiles.groups[group].target;
  const auto stored = [&](const tilepost_tile_t& tile) {
    return tile.group == group && tile.row >= 0;
  };
  return static_cast<uint32_t>(std::ranges::count_if(run_->tiles.tiles, stored) *
                               plan_.map.signals_per_tile);
}

int Signals::count_wrong(uint32_t launches) const {
  std::vector<uint32_t> counters(static_cast<size_t>(plan_.map.num_groups) *
                                 TILEPOST_COUNTER_STRIDE);
  TILEPOST_BENCH_CUDA(cudaMemcpy(counters.data(), counters_.get(),
                                 counters.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int group = 0; group < plan_.map.num_groups; ++group)
    wrong += counters[group * TILEPOST_COUNTER_STRIDE] != launches * posts(group);
  return wrong;
}

bool serves_rows(const tilepost_plan_t& plan) {
  constexpr int kWidestStore = 16;  // bytes; the size of the widest vector, and the alignment that
                                    // TMA needs
  return plan.map.layout == TILEPOST_PANEL ||
         plan.map.n * element_bytes(plan.output) % kWidestStore == 0;
}

tilepost_plan_t plain_plan(const tilepost_plan_t& plan, const PlainKernel& plain) {
  if (plain.threads != plan.kernel.threads || plain.shared_bytes != plan.kernel.shared_bytes)
    throw BenchError("the plan and the plain kernel disagree about threads or shared memory");
  tilepost_plan_t result = plan;
  result.kernel.function = plain.function;
  result.map.layout = TILEPOST_PANEL;
  result.map.division = TILEPOST_DIVISION_ROWS;
  result.access = TILEPOST_ACCESS_MESSAGES;
  return result;
}

OwnTables::OwnTables(const tilepost_plan_t& plan, const cuda::Driver& driver, void* out,
                     uint32_t* counters) {
  CUtensorMap map{};
  check_tilepost(cuda::encode_output(driver, plan, out, plan.map.m, 0, map),
                 "cuTensorMapEncodeTiled");
  map_ = upload(std::vector<CUtensorMap>{map});
  counters_ = upload(std::vector<uint32_t*>{counters});
  out_ = upload(std::vector<void*>{out});
}

void OwnTables::set(tilepost_view_t& view) const {
  view.share_rows = std::numeric_limits<int32_t>::max();
  view.out_maps = map_.get();
  view.peer_counters = static_cast<uint32_t* const*>(counters_.get());
  view.peer_out = static_cast<void* const*>(out_.get());
}

// A plain kernel takes all arguments except the last one, the view. A launch reads only as many
// arguments as the kernel declares.
Gemm::Gemm(const tilepost_plan_t& plan, const cuda::DeviceInfo& device, const Operands& operands,
           int64_t out_elements, const tilepost_view_t& view)
    : plan_(plan) {
  check_tilepost(cuda::prepare_kernel(plan_, device), "prepare_kernel");
  cuda::Driver driver;
  check_tilepost(cuda::load_driver(driver), "load_driver");
  const auto cache = std::make_unique<cuda::TensorMapCache>();
  cache->init(plan_, driver);
  maps_.resize(static_cast<size_t>(operands.count()));
  const auto m = static_cast<int32_t>(plan.map.m), n = static_cast<int32_t>(plan.map.n);
  const auto k = static_cast<int32_t>(plan.k);
  const int32_t length = plan.map.layout == TILEPOST_PANEL ? n : plan.map.tile_n;
  const tilepost_shape_t shape{m, n, k, k, plan.operands == TILEPOST_NN ? n : k, length};
  const int32_t ctas = plan.kernel.tile_per_cta ? static_cast<int32_t>(schedule_positions(plan.map))
                                                : plan.gemm_ctas;
  for (int i = 0; i < operands.count(); ++i) {
    const OperandSet& set = operands.set(i);
    arguments_.push_back({ctas, shape, set.a, set.b, set.out, &maps_[i], operands.epilogue(i), view,
                          out_elements / length, const_cast<void**>(set.user)});
    if (path_of(plan_, true).stores_by_owner)
      tables_.emplace_back(plan_, driver, set.out, view.counters).set(arguments_.back().view);
    if (plan_.kernel.launch != TILEPOST_LAUNCH_TMA) continue;
    const cuda::TensorMaps* maps = nullptr;
    check_tilepost(cache->find({set.a, set.b, set.out, m, out_elements / length}, maps),
                   "cuTensorMapEncodeTiled");
    maps_[i] = *maps;
  }
}

void Gemm::launch(int set, cudaStream_t stream) const {
  check_tilepost(cuda::launch_gemm(plan_, arguments_[set], stream), "launch_gemm");
}

}  // namespace tilepost::bench
