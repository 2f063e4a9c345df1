// The C entry points that make communicators of this target.
#include <memory>
#include <new>

#include "runtime/core/object.h"
#include "runtime/cuda/op/op.h"
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

  tilepost_result_t memory_of(const tilepost_program_t& program, const tilepost_options_t& options,
                              tilepost_memory_t& memory) override {
    return tilepost::cuda::add_needs_of_op(comm, program, options, memory);
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

tilepost_result_t tilepost_comm_adopt(ncclComm* nccl, tilepost_comm_t* comm) {
  if (comm != nullptr) *comm = nullptr;
  if (nccl == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "%s: nccl is null", __func__);
  return make_comm(__func__, comm, [&](Communicator& made) { return made.adopt(nccl); });
}

}  // extern "C"
