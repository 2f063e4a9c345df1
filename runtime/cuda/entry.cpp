// The C entry points that make communicators of this target.
#include <algorithm>
#include <barrier>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/guarded.h"
#include "runtime/core/object.h"
#include "runtime/cuda/op/op.h"
#include "runtime/cuda/routing/routing.h"
#include "runtime/cuda/transport/bootstrap/bootstrap.h"
#include "runtime/cuda/transport/comm.h"

namespace {

using tilepost::fail;
using tilepost::cuda::Communicator;

// The object behind a tilepost_comm_t of this target. It makes the target's operations.
struct CudaComm final : tilepost_comm {
  tilepost_result_t create_op(const tilepost_program_t& program, const tilepost_options_t& options,
                              std::unique_ptr<tilepost_op>& op) override {
    return tilepost::cuda::make_op(comm, program, options, op);
  }

  tilepost_result_t memory_of(std::span<const tilepost_program_t> programs,
                              const tilepost_options_t& options,
                              tilepost_memory_t& memory) override {
    return tilepost::cuda::add_needs_of_ops(comm, programs, options, memory);
  }

  tilepost_result_t create_routing(const tilepost::RoutingTerms& terms,
                                   std::unique_ptr<tilepost_expert_routing>& routing) override {
    return tilepost::cuda::make_routing(comm, terms, routing);
  }

  Communicator comm;
};

// Makes a communicator by `start`, and hands it out only if `start` succeeds.
template <class Start>
tilepost_result_t make_comm(const char* call, tilepost_comm_t* comm, Start start) {
  if (comm == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: comm is null", call);
  *comm = nullptr;
  try {
    auto made = std::make_unique<CudaComm>();
    TILEPOST_TRY(start(made->comm));
    *comm = made.release();
    return TILEPOST_OK;
  } catch (const std::bad_alloc&) {
    return fail(TILEPOST_OUT_OF_MEMORY, "%s: out of host memory", call);
  }
}

constexpr int kMostAtOnce = 64;  // communicators that one call makes

// Ranks that one call makes, each on a thread of its own, find each other here.
class RanksOfCall {
 public:
  explicit RanksOfCall(std::vector<int> devices)
      : devices_(std::move(devices)),
        made_(devices_.size()),
        bytes_(devices_.size()),
        meet_(static_cast<std::ptrdiff_t>(devices_.size())) {}

  // Makes all communicators, or none. The error is that of the first rank that has one.
  tilepost_result_t make(const char* call, tilepost_comm_t* comms) {
    std::vector<std::thread> threads;
    threads.reserve(devices_.size());
    for (size_t rank = 0; rank < devices_.size(); ++rank) {
      try {
        threads.emplace_back([this, rank] { make_rank(rank); });
      } catch (const std::exception& error) {
        give_up(rank, TILEPOST_OUT_OF_MEMORY,
                std::string("cannot start a thread: ") + error.what());
      }
    }
    for (std::thread& thread : threads) thread.join();
    const auto failed =
        std::ranges::find_if(made_, [](const Made& rank) { return rank.result != TILEPOST_OK; });
    if (failed != made_.end())
      return fail(failed->result, "%s: rank %td: %s", call, failed - made_.begin(),
                  failed->text.c_str());
    for (size_t rank = 0; rank < made_.size(); ++rank) comms[rank] = made_[rank].comm.release();
    return TILEPOST_OK;
  }

 private:
  struct Made {
    std::unique_ptr<CudaComm> comm;
    tilepost_result_t result = TILEPOST_OK;
    std::string text;
  };
  struct Caller {
    RanksOfCall* call;
    size_t rank;
  };

  // Leaves a rank out. The others find nothing in its place, and fail.
  void give_up(size_t rank, tilepost_result_t result, std::string text) {
    made_[rank].result = result;
    made_[rank].text = std::move(text);
    static_cast<void>(meet_.arrive_and_drop());
  }

  void make_rank(size_t rank) {
    tilepost::cuda::DeviceGuard guard;
    if (const tilepost_result_t entered = guard.enter(devices_[rank]); entered != TILEPOST_OK)
      return give_up(rank, entered, tilepost_last_error());
    Made& own = made_[rank];
    Caller caller{this, rank};
    own.result = tilepost::guarded("tilepost_comms_create", [&] {
      own.comm = std::make_unique<CudaComm>();
      return own.comm->comm.init_with(
          {gather, &caller, static_cast<int>(rank), static_cast<int>(devices_.size())});
    });
    if (own.result != TILEPOST_OK) own.text = tilepost_last_error();
  }

  // tilepost_all_gather_t
  static int gather(const void* own, void* all, size_t bytes, void* user) {
    const Caller& caller = *static_cast<Caller*>(user);
    RanksOfCall& call = *caller.call;
    const auto* from = static_cast<const char*>(own);
    call.bytes_[caller.rank].assign(from, from + bytes);
    call.meet_.arrive_and_wait();
    auto* to = static_cast<char*>(all);
    for (const std::vector<char>& of_rank : call.bytes_) {
      std::ranges::copy(of_rank, to);
      to += bytes;
    }
    call.meet_.arrive_and_wait();
    return 0;
  }

  const std::vector<int> devices_;
  std::vector<Made> made_;
  std::vector<std::vector<char>> bytes_;
  std::barrier<> meet_;
};

// Checks that there are these devices, and no device twice.
tilepost_result_t check_devices(const char* call, const std::vector<int>& devices) {
  int count = 0;
  TILEPOST_CUDA(cudaGetDeviceCount(&count));
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank] < 0 || devices[rank] >= count)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s: rank %zu is to be on device %d, and this process sees devices 0 to %d", call,
                  rank, devices[rank], count - 1);
    const auto before =
        std::find(devices.begin(), devices.begin() + static_cast<ptrdiff_t>(rank), devices[rank]);
    if (before != devices.begin() + static_cast<ptrdiff_t>(rank))
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "%s: ranks %td and %zu are to be on device %d; give each rank its own", call,
                  before - devices.begin(), rank, devices[rank]);
  }
  return TILEPOST_OK;
}

}  // namespace

extern "C" {

tilepost_result_t tilepost_get_unique_id(tilepost_unique_id_t* id) {
  if (id == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: id is null", __func__);
  return tilepost::cuda::make_unique_id(*id);
}

tilepost_result_t tilepost_comm_init(const tilepost_unique_id_t* id, int rank, int world,
                                     tilepost_comm_t* comm) {
  if (comm != nullptr) *comm = nullptr;
  if (id == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: id is null", __func__);
  return make_comm(__func__, comm, [&](Communicator& made) { return made.init(*id, rank, world); });
}

tilepost_result_t tilepost_comm_init_with(tilepost_all_gather_t all_gather, void* user, int rank,
                                          int world, tilepost_comm_t* comm) {
  if (comm != nullptr) *comm = nullptr;
  if (all_gather == nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: all_gather is null", __func__);
  return make_comm(__func__, comm, [&](Communicator& made) {
    return made.init_with({all_gather, user, rank, world});
  });
}

tilepost_result_t tilepost_comms_create(const int* devices, int count, tilepost_comm_t* comms) {
  const char* const call = __func__;
  if (count < 1 || count > kMostAtOnce)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: count must be from 1 to %d, got %d", call,
                kMostAtOnce, count);
  if (comms == nullptr) return tilepost::null_argument(call, "comms");
  std::fill_n(comms, count, nullptr);
  return tilepost::guarded(call, [&]() -> tilepost_result_t {
    std::vector<int> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    if (devices != nullptr) all.assign(devices, devices + count);
    TILEPOST_TRY(check_devices(call, all));
    return RanksOfCall(std::move(all)).make(call, comms);
  });
}

tilepost_result_t tilepost_comm_adopt(ncclComm* nccl, tilepost_comm_t* comm) {
  if (comm != nullptr) *comm = nullptr;
  if (nccl == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: nccl is null", __func__);
  return make_comm(__func__, comm, [&](Communicator& made) { return made.adopt(nccl); });
}

}  // extern "C"
