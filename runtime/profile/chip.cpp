// The chip by itself: its clock, its memory, clusters, sums and waits.
#include <algorithm>

#include "runtime/bench/record.h"
#include "runtime/cuda/shared/sum.h"
#include "runtime/cuda/watch/waiter.h"
#include "runtime/profile/gemm_runner.h"
#include "runtime/profile/kernels.h"
#include "runtime/profile/steps.h"
#include "runtime/profile/team.h"

namespace tilepost::profile {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;

void print(const char* kind, const char* name, double value) {
  bench::Record("time").set("kind", kind).set("name", name).set("value", value);
}

// The clock that a GPU with little to do reaches.
double clock_ghz(Rank& rank) {
  constexpr uint64_t kNs = 20'000'000;
  cuda::DeviceMemory times = bench::allocate(2 * sizeof(uint64_t));
  uint64_t read[2] = {};
  for (int turn = 0; turn < 2; ++turn) {
    count_clock(static_cast<uint64_t*>(times.get()), kNs, rank.stream());
    TILEPOST_BENCH_CUDA(cudaStreamSynchronize(rank.stream()));
  }
  TILEPOST_BENCH_CUDA(cudaMemcpy(read, times.get(), sizeof read, cudaMemcpyDeviceToHost));
  return static_cast<double>(read[0]) / static_cast<double>(read[1]);
}

void measure_memory(Rank& rank) {
  constexpr int64_t kBytes = 512 * kMib, kPart = 128 * kMib;
  constexpr int kTurns = 10;
  cuda::DeviceMemory from = bench::allocate(kBytes), to = bench::allocate(kBytes);
  TILEPOST_BENCH_CUDA(cudaMemset(from.get(), 1, kBytes));
  auto* const sink = static_cast<uint32_t*>(to.get());
  const double read =
      rank.time(kTurns, [&](int) { read_all(from.get(), kBytes, sink, rank.stream()); });
  print("chip", "memory_bytes_per_us", kBytes / read);
  const double copied = rank.time(
      kTurns, [&](int) { copy_by_kernel(from.get(), to.get(), kBytes, 0, rank.stream()); });
  print("chip", "copy_bytes_per_us", 2 * kBytes / copied);
  cuda::SumArguments sum{};
  sum.parts[0] = from.get();
  sum.parts[1] = static_cast<char*>(from.get()) + kPart;
  sum.num_parts = 2;
  sum.out = to.get();
  sum.count = kPart / 2;
  TILEPOST_BENCH_CUDA(cuda::preload_sum(TILEPOST_BF16));
  const double summed = rank.time(kTurns, [&](int) {
    TILEPOST_BENCH_CUDA(cuda::launch_sum(sum, TILEPOST_BF16, rank.stream()));
  });
  print("chip", "sum_bytes_per_us", 3 * kPart / summed);
}

// Sums on the few SMs that a GEMM leaves free.
void measure_sums_beside(const Context& context, Rank& rank) {
  constexpr int kFree = 8, kLater = 40;  // SMs, us
  constexpr int64_t kPart = 16 * kMib;
  const int sms = context.machine.device.sms;
  const GemmRunner gemm(context.work, context.work.beside, sms - kFree, context.machine.device,
                        rank.stream());
  cuda::DeviceMemory memory = bench::allocate(3 * kPart);
  TILEPOST_BENCH_CUDA(cudaMemset(memory.get(), 0, 3 * kPart));
  char* const at = static_cast<char*>(memory.get());
  cuda::SumArguments sum{};
  sum.parts[0] = at;
  sum.parts[1] = at + kPart;
  sum.num_parts = 2;
  sum.out = at + 2 * kPart;
  sum.count = kPart / 2;
  const auto compute = [&](int call) { gemm.launch(call); };
  const auto add = [&](int) {
    TILEPOST_BENCH_CUDA(cuda::launch_sum(sum, TILEPOST_BF16, rank.side()));
  };
  const double alone = rank.time(4, compute, 2);
  // The sums begin a little after the GEMM, which by then has taken its SMs, and end before it.
  const double guess =
      rank.time({{rank.stream(), 8, compute}, {rank.side(), 1, add, kLater}}).back();
  const int sums = std::clamp(static_cast<int>(6 * alone / guess), 1, 50);
  const double us =
      rank.time({{rank.stream(), 12, compute}, {rank.side(), sums, add, kLater}}).back();
  bench::Record("time")
      .set("kind", "chip")
      .set("name", "sm_sum_bytes_per_us")
      .set("value", 3.0 * kPart / us / kFree);
}

// Calls `issue` in a chain behind a short kernel, and returns what it adds to the chain.
double added_us(Rank& rank, const std::function<void()>& issue) {
  constexpr int kChain = 100;
  cuda::DeviceMemory memory = bench::allocate(64 * kMib);
  char* const at = static_cast<char*>(memory.get());
  const auto kernel = [&] { copy_by_kernel(at, at + 32 * kMib, 8 * kMib, 0, rank.stream()); };
  const double with = rank.time(kChain, [&](int) { kernel(), issue(); });
  return with - rank.time(kChain, [&](int) { kernel(); });
}

void measure_all_waits(Rank& rank) {
  cuda::DeviceMemory counter = bench::allocate(sizeof(uint32_t));
  const uint32_t reached = 1;
  TILEPOST_BENCH_CUDA(cudaMemcpy(counter.get(), &reached, sizeof reached, cudaMemcpyHostToDevice));
  cuda::PinnedMemory page;
  bench::check_tilepost(cuda::make_pinned_memory(page, cuda::watch_page_bytes(1)), "cudaHostAlloc");
  auto* const watch = static_cast<cuda::WatchPage*>(page.get());
  cuda::WaitArguments wait{};
  wait.counter = static_cast<const uint32_t*>(counter.get());
  wait.target = reached;
  wait.page = watch;
  wait.on_timeout = cuda::wait_records(watch, cuda::kEager, 1);
  wait.progress = &watch->progress[cuda::kEager];
  TILEPOST_BENCH_CUDA(cuda::preload_wait_kernels());
  print("wait", "poll",
        added_us(rank, [&] { TILEPOST_BENCH_CUDA(cuda::launch_wait(wait, rank.stream())); }));
  cuda::Driver driver;
  bench::check_tilepost(cuda::load_driver(driver), "load_driver");
  const auto address = reinterpret_cast<CUdeviceptr>(counter.get());
  print("wait", "stream", added_us(rank, [&] {
          TILEPOST_BENCH_STATUS(
              driver.wait_value32(rank.stream(), address, reached, CU_STREAM_WAIT_VALUE_GEQ));
        }));
  const cuda::PostArguments post{static_cast<uint32_t*>(counter.get()), reached, 0, watch,
                                 &watch->progress[cuda::kEager],        1};
  print("wait", "step",
        added_us(rank, [&] { TILEPOST_BENCH_CUDA(cuda::launch_post(post, rank.stream())); }));
}

void alone(const Context& context, const std::function<void(Rank&)>& body) {
  Team team({0});
  team.alive = context.alive;
  run_team(team, body);
}

}  // namespace

void measure_chip(const Context& context) {
  alone(context, [&](Rank& rank) {
    rank.together([&] { print("chip", "max_ghz", clock_ghz(rank)); });
    measure_memory(rank);
    measure_sums_beside(context, rank);
    const cuda::DeviceInfo& device = context.machine.device;
    constexpr int kOneForEachSm = 2;  // more than half of an SM's shared memory
    for (const int ctas : {2, 3, 4, 8}) {
      const int clusters =
          resident_clusters(ctas, device.max_shared_bytes / kOneForEachSm + 16 * 1024);
      bench::Record("time").set("kind", "clusters").set("ctas", ctas).set("sms", ctas * clusters);
    }
  });
}

void measure_waits(const Context& context) {
  alone(context, measure_all_waits);
}

}  // namespace tilepost::profile
