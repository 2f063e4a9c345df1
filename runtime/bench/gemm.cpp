#include "runtime/bench/gemm.h"

#include <memory>

#include "runtime/bench/error.h"

namespace tilepost::bench {

Signals::Signals(const char* program, const tilepost_plan_t& plan) : plan_(plan) {
  check_tilepost(cuda::make_schedule(program, plan, schedule_), "make_schedule");
  const int64_t bytes =
      int64_t{plan.map.num_groups} * TILEPOST_COUNTER_STRIDE * int64_t{sizeof(uint32_t)};
  counters_ = allocate(bytes);
  TILEPOST_BENCH_CUDA(cudaMemset(counters_.get(), 0, static_cast<size_t>(bytes)));
  if (plan.map.layout == TILEPOST_PANEL) return;
  const std::vector<int32_t> rows = destination_rows(schedule_.map);
  rows_ = allocate(static_cast<int64_t>(rows.size() * sizeof(int32_t)));
  TILEPOST_BENCH_CUDA(
      cudaMemcpy(rows_.get(), rows.data(), rows.size() * sizeof(int32_t), cudaMemcpyHostToDevice));
}

tilepost_view_t Signals::view() const {
  return {static_cast<const tilepost_tile_t*>(schedule_.tiles.get()),
          static_cast<const int32_t*>(schedule_.positions.get()),
          static_cast<uint32_t*>(counters_.get()), static_cast<int32_t>(schedule_.map.tiles.size()),
          tiles_n(plan_.map)};
}

Place Signals::place() const {
  return {static_cast<const int32_t*>(rows_.get()), plan_.map.tile_m, plan_.map.tile_n};
}

int Signals::count_wrong(uint32_t launches) const {
  std::vector<uint32_t> counters(static_cast<size_t>(plan_.map.num_groups) *
                                 TILEPOST_COUNTER_STRIDE);
  TILEPOST_BENCH_CUDA(cudaMemcpy(counters.data(), counters_.get(),
                                 counters.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int group = 0; group < plan_.map.num_groups; ++group)
    wrong +=
        counters[group * TILEPOST_COUNTER_STRIDE] != launches * schedule_.map.groups[group].target;
  return wrong;
}

bool serves_rows(const tilepost_plan_t& plan) {
  constexpr int kWidestStore = 16;  // bytes, of a vector and of TMA's alignment
  return plan.map.layout == TILEPOST_PANEL ||
         plan.map.n * bytes_of(plan.output) % kWidestStore == 0;
}

tilepost_plan_t plain_plan(const tilepost_plan_t& plan, const PlainKernel& plain) {
  if (plain.threads != plan.kernel.threads || plain.shared_bytes != plan.kernel.shared_bytes)
    throw BenchError("the plan and the plain kernel disagree about threads or shared memory");
  tilepost_plan_t result = plan;
  result.kernel.function = plain.function;
  result.map.layout = TILEPOST_PANEL;
  return result;
}

// A plain kernel takes all arguments but the view, which is last: a launch reads as many as the
// kernel declares.
Gemm::Gemm(const tilepost_plan_t& plan, const cuda::DeviceInfo& device, const Operands& operands,
           int64_t out_elements, const tilepost_view_t& view)
    : plan_(plan) {
  check_tilepost(cuda::prepare_kernel(plan_, device), "prepare_kernel");
  cuda::Driver driver;
  check_tilepost(cuda::load_driver(driver), "load_driver");
  const auto cache = std::make_unique<cuda::TensorMapCache>();
  cache->init(plan_, driver, out_elements);
  maps_.resize(static_cast<size_t>(operands.count()));
  for (int i = 0; i < operands.count(); ++i) {
    const OperandSet& set = operands.set(i);
    arguments_.push_back({set.a, set.b, set.out, &maps_[i], operands.epilogue(i), view});
    if (plan_.kernel.launch != TILEPOST_LAUNCH_TMA) continue;
    const cuda::TensorMaps* maps = nullptr;
    check_tilepost(cache->find(set.a, set.b, set.out, maps), "cuTensorMapEncodeTiled");
    maps_[i] = *maps;
  }
}

void Gemm::launch(int set, cudaStream_t stream) const {
  check_tilepost(cuda::launch_gemm(plan_, arguments_[set], stream), "launch_gemm");
}

}  // namespace tilepost::bench
