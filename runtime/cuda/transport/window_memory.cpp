#include "runtime/cuda/transport/window_memory.h"

#include <algorithm>

#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int64_t kRegionAlignment = 1024;

int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Whether NCCL reports by this error that this machine, or the way NCCL is set up, has no symmetric
// windows.
bool says_unsupported(ncclResult_t result) {
  return result == ncclInvalidUsage || result == ncclInvalidArgument;
}

}  // namespace

WindowLayout window_layout(const tilepost_plan_t& plan, const RunSizes& most) {
  WindowLayout layout;
  const auto take = [&](WindowLayout::Region& region, int64_t bytes) {
    region = {layout.bytes, bytes};
    layout.bytes += round_up(bytes, kRegionAlignment);
  };
  const RunPaths paths = paths_of(plan);
  const bool gathers = row_of(plan).moves_input();
  const int64_t width = element_bytes(plan.output);
  take(layout.send, paths.any(&RunPath::stores_apart) ? most.send * width : 0);
  take(layout.received, paths.planned.receives_in == Memory::window ? most.receive * width : 0);
  take(layout.gathered, gathers ? plan.map.m * plan.k * element_bytes(plan.input) : 0);
  layout.bytes = round_up(layout.bytes, NCCL_WIN_REQUIRED_ALIGNMENT);
  return layout;
}

tilepost_result_t WindowMemory::create(const Ranks& ranks, const WindowLayout& layout) {
  layout_ = layout;
  const tilepost_result_t result = share(ranks);
  if (result != TILEPOST_OK) release();
  return result;
}

// Registering waits for all ranks, without a bound. So all ranks first report that they have come
// this far. Each rank then registers with every lane, even if an earlier lane failed, because the
// others do so.
tilepost_result_t WindowMemory::share(const Ranks& ranks) {
  NumberExchange numbers(ranks.channel, ranks.ranks, ranks.seconds);
  TILEPOST_TRY(numbers.create(1));
  const auto tell = [&](int64_t own, std::vector<int64_t>& all) {
    const tilepost_result_t result =
        explain_absence(numbers.run({&own, 1}, all), ranks.rank, "windows", ranks.seconds);
    if (!numbers.is_idle()) leak();
    return result;
  };
  std::vector<int64_t> all;
  const tilepost_result_t allocated = allocate(numbers.stream());
  std::string text = allocated != TILEPOST_OK ? tilepost_last_error() : "";
  TILEPOST_TRY(tell(allocated, all));
  if (allocated != TILEPOST_OK) return fail(allocated, "%s", text.c_str());
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != TILEPOST_OK)
      return fail(static_cast<tilepost_result_t>(all[rank]),
                  "rank %zu could not get the %lld bytes of its windows; its own error says why",
                  rank, static_cast<long long>(layout_.bytes));
  Outcome outcome = registered;
  for (const std::shared_ptr<ChildComm>& lane : ranks.lanes) {
    const Outcome came = register_with(lane);
    if (came == failed && outcome != failed) text = tilepost_last_error();
    outcome = std::max(outcome, came);
  }
  TILEPOST_TRY(tell(outcome, all));
  if (outcome == failed) return fail(TILEPOST_NCCL_ERROR, "%s", text.c_str());
  return judge(ranks.rank, all);
}

// Memory is zeroed in the stream of the exchange, so that it is zeroed before another rank learns
// of it.
tilepost_result_t WindowMemory::allocate(cudaStream_t stream) {
  const auto bytes = static_cast<size_t>(layout_.bytes);
  TILEPOST_NCCL(ncclMemAlloc(&memory_, bytes));
  TILEPOST_CUDA(cudaMemsetAsync(memory_, 0, bytes, stream));
  return TILEPOST_OK;
}

WindowMemory::Outcome WindowMemory::register_with(const std::shared_ptr<ChildComm>& comm) {
  ncclWindow_t window = nullptr;
  bool unsupported = false;
  const tilepost_result_t result = comm->issue(false, [&](ncclComm_t nccl) {
    const ncclResult_t answer = ncclCommWindowRegister(
        nccl, memory_, static_cast<size_t>(layout_.bytes), &window, NCCL_WIN_COLL_SYMMETRIC);
    unsupported = says_unsupported(answer);
    if (unsupported || answer == ncclSuccess) return TILEPOST_OK;
    return fail_nccl(TILEPOST_PLACE(ncclCommWindowRegister(nccl, memory_, bytes)), answer);
  });
  if (result != TILEPOST_OK) return failed;
  if (unsupported || window == nullptr) return no_window;
  windows_.push_back({comm, window});
  return registered;
}

// Every rank takes the worst of all ranks' outcomes, because a collective must use windows on all
// ranks or on none.
tilepost_result_t WindowMemory::judge(int rank, const std::vector<int64_t>& outcomes) {
  const auto worst = std::ranges::max_element(outcomes);
  const auto where = static_cast<int>(worst - outcomes.begin());
  if (*worst == failed)
    return fail(TILEPOST_NCCL_ERROR,
                "rank %d: rank %d could not register its windows with NCCL; its own error says why",
                rank, where);
  if (*worst == registered) return TILEPOST_OK;
  take_windows_back();
  warnings_ = "nccl_symmetric: NCCL gave no symmetric window on rank " + std::to_string(where) +
              " (NCCL_DEBUG=INFO may say why): runs as nccl\n";
  return TILEPOST_OK;
}

// An aborted communicator has already given up its windows, or will do so by itself. An error here
// has no remedy, and must not replace the error that led here.
void WindowMemory::take_windows_back() {
  for (const Window& window : windows_) {
    if (window.comm->aborted()->load()) continue;
    window.comm->issue(false, [&](ncclComm_t nccl) {
      ncclCommWindowDeregister(nccl, window.window);
      return TILEPOST_OK;
    });
  }
  windows_.clear();
}

void WindowMemory::release() {
  if (memory_ == nullptr) return;
  take_windows_back();
  ncclMemFree(memory_);
  memory_ = nullptr;
}

void WindowMemory::leak() {
  if (memory_ != nullptr) add_bytes_left(layout_.bytes);
  memory_ = nullptr;
  windows_.clear();
}

}  // namespace tilepost::cuda
