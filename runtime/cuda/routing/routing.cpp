#include "runtime/cuda/routing/routing.h"

#include <chrono>
#include <cinttypes>
#include <string>
#include <thread>

namespace tilepost::cuda {
namespace {

constexpr std::chrono::microseconds kPoll{20};
constexpr double kNanoseconds = 1e9;

// Behind the tables: the word where blocks meet, the numbers of sets, the first wrong id, the rows
// of ranks, and the blocks' counts. The tables end at a multiple of their alignment, so these are
// aligned too.
constexpr size_t kNumbersAt = 128, kFirstWrongAt = 256, kRankRowsAt = 384, kCountsAt = 512;
static_assert(kRankRowsAt + kMostRoutedRanks * sizeof(uint32_t) <= kCountsAt);

size_t bytes_of_counts(const RoutingShape& shape, int blocks) {
  return static_cast<size_t>(blocks) * static_cast<size_t>(padded_experts(shape)) *
         sizeof(uint16_t);
}

// The blocks for as many tokens as all ranks may have.
int blocks_for_all(const RoutingShape& shape, int sms) {
  return route_blocks(shape, int64_t{shape.ranks} * shape.most_tokens, sms);
}

// Blocks take equal shares of the tokens, as far as tokens can be divided.
tilepost_result_t check_share(const RoutingShape& shape, int blocks) {
  const int64_t most = kMostRoutesOfBlock / shape.top * blocks / shape.ranks;
  if (shape.most_tokens <= most) return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "tilepost_routing_create: most_tokens must be at most %" PRId64
              " for top %d and %d ranks on this device, got %d",
              most, shape.top, shape.ranks, shape.most_tokens);
}

// The layers that had the rows have waited for their runs. Where these did not end, the
// communicator is aborted, and the memory is left to the process.
class DeviceRows final : public LentRows {
 public:
  explicit DeviceRows(AbortedFlag aborted) : aborted_(std::move(aborted)) {}
  ~DeviceRows() override {
    if (*aborted_) memory_.leak();
  }

  DeviceMemory& device_memory() { return memory_; }
  void* memory() const override { return memory_.get(); }
  int64_t bytes() const override { return memory_.bytes(); }

 private:
  const AbortedFlag aborted_;
  DeviceMemory memory_;
};

}  // namespace

CudaRouting::CudaRouting(const RoutingTerms& terms, const RoutingShape& shape,
                         const DeviceInfo& device, const Communicator& comm)
    : terms_(terms),
      shape_(shape),
      layout_(shape),
      device_(device),
      aborted_(comm.aborted()),
      order_(comm.order()),
      most_blocks_(blocks_for_all(shape, device.sms)) {}

// Freeing memory waits for the device. Where the sets do not end, the memory is left to the
// process, and so is a window into which another rank may still store.
CudaRouting::~CudaRouting() {
  DeviceGuard guard;
  guard.enter(device_.ordinal);
  const bool ended = wait() == TILEPOST_OK || is_unloaded();
  order_->leave(member_);
  if (!ended || *aborted_) window_.leak();
  if (ended) return;
  memory_.leak();
  fault_.leak();
}

tilepost_result_t CudaRouting::create() {
  TILEPOST_TRY(check_share(shape_, most_blocks_));
  TILEPOST_TRY(load_driver(driver_));
  TILEPOST_TRY(make_device_memory(
      memory_, layout_.bytes + kCountsAt + bytes_of_counts(shape_, most_blocks_)));
  TILEPOST_TRY(make_pinned_memory(fault_, sizeof(RoutingFault)));
  TILEPOST_TRY(make_event(end_));
  TILEPOST_CUDA(exchanges() ? preload_exchange(types()) : preload_route(types()));
  Stream stream;
  TILEPOST_TRY(make_stream(stream, false));
  TILEPOST_TRY(clear(stream.get()));
  return wait_for_stream(stream.get(), terms_.options.deadline_seconds, [] { return TILEPOST_OK; });
}

// The tables begin as those of a set without tokens.
tilepost_result_t CudaRouting::clear(cudaStream_t stream) const {
  char* const behind = static_cast<char*>(memory_.get()) + layout_.bytes;
  TILEPOST_CUDA(cudaMemsetAsync(memory_.get(), 0, layout_.bytes + kCountsAt, stream));
  TILEPOST_CUDA(cudaMemsetAsync(behind + kFirstWrongAt, 0xFF, sizeof(unsigned long long), stream));
  return TILEPOST_OK;
}

tilepost_result_t CudaRouting::make_window(ControlChannel& channel, int blocks) {
  blocks_ = blocks;
  TILEPOST_TRY(check_share(shape_, blocks));
  const tilepost_result_t result =
      window_.create(channel, shape_.rank, shape_.ranks, device_.ordinal,
                     RouteWindow(shape_, blocks).bytes(), terms_.options.deadline_seconds);
  if (result == TILEPOST_OK) return TILEPOST_OK;
  const std::string text = tilepost_last_error();
  return fail(result, "tilepost_routing_create: the memory by which ranks exchange ids: %s",
              text.c_str());
}

tilepost_result_t CudaRouting::check(const void* ids, const void* weights, int64_t m,
                                     cudaStream_t stream, cudaStreamCaptureStatus capture) {
  TILEPOST_TRY(check_tokens(terms_, ids, weights, m));
  if (m > 0) {
    TILEPOST_TRY(check_.check_pointer("ids", ids));
    TILEPOST_TRY(check_.check_pointer("weights", weights));
  }
  return check_.check_stream(stream, capture);
}

tilepost_result_t CudaRouting::set(const void* ids, const void* weights, int64_t m,
                                   CUstream_st* stream) {
  TILEPOST_TRY(find_fault());
  if (*aborted_)
    return fail(TILEPOST_ABORTED, "the communicator was aborted earlier; make a new one");
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(stream, &capture));
  TILEPOST_TRY(check(ids, weights, m, stream, capture));
  return capture == cudaStreamCaptureStatusNone ? launch_eager(ids, weights, m, stream)
                                                : launch(ids, weights, m, stream);
}

// A kernel that waits for other ranks holds SMs meanwhile, so it has its turn among the runs of the
// communicator.
tilepost_result_t CudaRouting::launch_eager(const void* ids, const void* weights, int64_t m,
                                            cudaStream_t stream) {
  RunOrder::Run run{stream, 0, true};
  if (exchanges()) {
    TILEPOST_CUDA(cudaStreamGetId(stream, &run.stream_id));
    TILEPOST_TRY(order_->follow(member_, run));
  }
  TILEPOST_TRY(launch(ids, weights, m, stream));
  was_set_ = true;
  TILEPOST_CUDA(cudaEventRecord(end_.get(), stream));
  if (exchanges()) order_->add(member_, run, end_.get());
  return TILEPOST_OK;
}

tilepost_result_t CudaRouting::launch(const void* ids, const void* weights, int64_t m,
                                      cudaStream_t stream) {
  char* const behind = static_cast<char*>(memory_.get()) + layout_.bytes;
  ExchangeArguments arguments{};
  set_shape(arguments, shape_);
  arguments.tables = layout_.at(memory_.get());
  arguments.ids = ids;
  arguments.weights = weights;
  arguments.m = static_cast<int32_t>(m);
  arguments.counts = reinterpret_cast<uint16_t*>(behind + kCountsAt);
  arguments.meeting = reinterpret_cast<uint32_t*>(behind);
  arguments.rank_rows = reinterpret_cast<uint32_t*>(behind + kRankRowsAt);
  arguments.first_wrong = reinterpret_cast<unsigned long long*>(behind + kFirstWrongAt);
  arguments.fault = static_cast<RoutingFault*>(fault_.get());
  if (!exchanges()) {
    TILEPOST_CUDA(launch_route(arguments, types(), route_blocks(shape_, m, device_.sms), stream));
    return TILEPOST_OK;
  }
  arguments.blocks = blocks_;
  arguments.numbers = reinterpret_cast<RouteNumbers*>(behind + kNumbersAt);
  arguments.deadline_ns = static_cast<uint64_t>(terms_.options.deadline_seconds * kNanoseconds);
  for (int rank = 0; rank < shape_.ranks; ++rank)
    arguments.windows[rank] = static_cast<char*>(window_.of(rank, 0));
  TILEPOST_CUDA(launch_exchange(arguments, types(), stream));
  return TILEPOST_OK;
}

// The device writes `found` last. A rank that does not come ends the communicator.
tilepost_result_t CudaRouting::find_fault() {
  const auto* fault = static_cast<const RoutingFault*>(fault_.get());
  const uint32_t found = __atomic_load_n(&fault->found, __ATOMIC_ACQUIRE);
  if (found == 0) return TILEPOST_OK;
  if (found == kLateRankFound) aborted_->store(true);
  return report_fault(*fault, shape_.rank, terms_.options.deadline_seconds);
}

// Returns whether the eager sets have ended: TILEPOST_OK or TILEPOST_IN_PROGRESS.
tilepost_result_t CudaRouting::query() {
  if (!was_set_) return TILEPOST_OK;
  const CaptureModeGuard relaxed;
  const cudaError_t state = cudaEventQuery(end_.get());
  if (state == cudaSuccess) return TILEPOST_OK;
  if (state != cudaErrorNotReady) TILEPOST_CUDA(state);
  cudaGetLastError();
  return TILEPOST_IN_PROGRESS;
}

// A set whose kernel waits ends by itself at its deadline, and then says which rank was late. So
// the host waits for longer.
tilepost_result_t CudaRouting::wait() {
  using Clock = std::chrono::steady_clock;
  constexpr double kLonger = 1;
  const double seconds = terms_.options.deadline_seconds;
  const double patience = seconds > 0 && exchanges() ? seconds + kLonger : seconds;
  const auto begin = Clock::now();
  for (;;) {
    const tilepost_result_t state = query();
    if (state != TILEPOST_IN_PROGRESS) return state;
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (seconds > 0 && elapsed.count() > patience)
      return fail(TILEPOST_TIMEOUT,
                  "rank %d: tilepost_routing_set did not end within %g s: what precedes it in its "
                  "stream has not ended",
                  shape_.rank, patience);
    std::this_thread::sleep_for(kPoll);
  }
}

tilepost_result_t CudaRouting::status() {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  const tilepost_result_t ended = query();
  return ended == TILEPOST_OK ? find_fault() : ended;
}

tilepost_result_t CudaRouting::synchronize() {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  TILEPOST_TRY(wait());
  return find_fault();
}

tilepost_result_t CudaRouting::make_rows(int64_t bytes, std::shared_ptr<LentRows>& rows) const {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  auto made = std::make_shared<DeviceRows>(aborted_);
  TILEPOST_TRY(make_device_memory(made->device_memory(), static_cast<size_t>(bytes)));
  rows = std::move(made);
  return TILEPOST_OK;
}

void CudaRouting::get_info(tilepost_routing_info_t& info) {
  info = info_of(shape_, layout_.at(memory_.get()));
  info.device_bytes = memory_.bytes();
  if (window_.exists()) info.device_bytes += SharedMemory::allocated_for(window_.bytes());
}

}  // namespace tilepost::cuda
