// Memory of an operation that is a symmetric window of NCCL (NCCL documentation, "Window
// Registration"). Through it NCCL's kernels read and write the other ranks' memory directly. Both
// sides of a collective must lie in windows, at the same place on every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/transport/comm.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

// The regions of the memory. Offsets are in bytes from the beginning, and the same on every rank. A
// region that the plan does not need has no bytes.
struct WindowLayout {
  struct Region {
    int64_t at = 0, bytes = 0;
  };
  Region send;      // where the kernel stores
  Region received;  // where steps receive rows, before they are copied to out or read by a consumer
  Region gathered;  // all_gather_gemm: all rows of A
  int64_t bytes = 0;
};

// The layout of a plan. `most`: the sizes of the plan's largest run (most_sizes), the same on every
// rank.
WindowLayout window_layout(const tilepost_plan_t& plan, const RunSizes& most);

class WindowMemory {
 public:
  WindowMemory() = default;
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;
  // Deregisters the windows, unless the communicators were aborted, and frees the memory, unless
  // leak() was called. All work that used the memory has ended.
  ~WindowMemory() { release(); }

  // The participants: the communicators that send from the memory, and the channel through which
  // ranks exchange how far they are. The channel is aborted when a rank does not come within
  // `seconds` (0: waits for ever).
  struct Ranks {
    std::vector<std::shared_ptr<ChildComm>> lanes;
    ControlChannel& channel;
    int rank, ranks;
    double seconds;
  };

  // Allocates `layout`, zeroed, and registers it with every lane. Collective. Fails on all ranks if
  // one rank gets no memory or an error of NCCL. It is no failure if NCCL gives no window on some
  // rank. The memory is then ordinary memory on all ranks, and warnings() has a text.
  tilepost_result_t create(const Ranks& ranks, const WindowLayout& layout);

  const WindowLayout& layout() const { return layout_; }
  // Adds what create(layout) allocates, and what this object has allocated.
  static void add_needs(const WindowLayout& layout, tilepost_memory_t& memory) {
    memory.device_bytes += layout.bytes;
    memory.shared_bytes += layout.bytes;
  }
  void add_memory(tilepost_memory_t& memory) const {
    if (memory_ != nullptr) add_needs(layout_, memory);
  }
  // Each region is null if the layout does not have it.
  void* send() const { return at(layout_.send); }
  void* received() const { return at(layout_.received); }
  void* gathered() const { return at(layout_.gathered); }

  // One line of text, or an empty text.
  const std::string& warnings() const { return warnings_; }

  // Leaves the memory to the process, for when the device may still use it.
  void leak();

 private:
  // The outcomes of registering, the worst last.
  enum Outcome : int64_t { registered = 0, no_window = 1, failed = 2 };

  struct Window {
    std::shared_ptr<ChildComm> comm;
    ncclWindow_t window;
  };

  void* at(const WindowLayout::Region& region) const {
    return region.bytes > 0 ? static_cast<char*>(memory_) + region.at : nullptr;
  }
  tilepost_result_t share(const Ranks& ranks);
  tilepost_result_t allocate(cudaStream_t stream);
  Outcome register_with(const std::shared_ptr<ChildComm>& comm);
  tilepost_result_t judge(int rank, const std::vector<int64_t>& outcomes);
  void take_windows_back();
  void release();

  void* memory_ = nullptr;
  WindowLayout layout_;
  std::vector<Window> windows_;
  std::string warnings_;
};

}  // namespace tilepost::cuda
