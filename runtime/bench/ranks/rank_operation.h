// One operation of ours on one rank, as its users run it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "runtime/bench/gemm/operands.h"
#include "runtime/bench/gemm/place.h"
#include "runtime/bench/ranks/norm_operands.h"
#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"
#include "tilepost/tilepost.h"

namespace tilepost::bench {

class RankOperation {
 public:
  // Makes the operation and sets its route. Collective. Throws BenchError.
  RankOperation(const Entry& entry, const tilepost_plan_t& plan, const Session& session,
                tilepost_comm_t comm, int rank);
  ~RankOperation() { tilepost_op_destroy(op_); }
  RankOperation(const RankOperation&) = delete;
  RankOperation& operator=(const RankOperation&) = delete;

  // The elements that an output of its has.
  int64_t out_elements() const { return out_elements_; }
  // Says where the elements of its output lie.
  Place place() const { return place_.place(); }

  // Registers the outputs of all sets, if the operation has a use for it. Collective.
  void register_outputs(const Operands& operands);
  // The kind of memory that runs have as their out: "own", the operation's memory
  // (tilepost_op_info_t::out), "registered" (tilepost_op_register) or "caller's".
  const char* kind_of_out() const;

  // The out of runs with this set.
  void* out_of(const OperandSet& set) const { return lent_ != nullptr ? lent_ : set.out; }

  // Puts a run with set `set` on the stream.
  void run(const Operands& operands, int set, const NormOperands& norm, cudaStream_t stream);
  // Waits for its runs, and throws BenchError if one has failed.
  void synchronize();

 private:
  void set_route(const tilepost_plan_t& plan, int rank, uint64_t seed);

  tilepost_op_t op_ = nullptr;
  int64_t out_elements_ = 0;
  const std::vector<int64_t> rows_from_;
  PlaceTable place_;  // of out
  void* lent_ = nullptr;
  bool registered_ = false;
  int64_t first_scale_ = 0;  // where this rank's scales of A begin among those of all rows
};

}  // namespace tilepost::bench
