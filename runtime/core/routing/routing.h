// The object behind a tilepost_expert_routing_t, which each target implements, and the checks that
// are the same for every target.
#pragma once

#include <memory>
#include <string>

#include "runtime/core/object.h"
#include "tilepost/internal/route_recipe.h"
#include "tilepost/routing.h"

namespace tilepost {

// Memory for the rows between the two halves of a layer of experts: device memory, or host memory
// on the host target. Its destructor frees it.
class LentRows {
 public:
  virtual ~LentRows() = default;
  virtual void* memory() const = 0;
  virtual int64_t bytes() const = 0;
};

}  // namespace tilepost

// A routing on one rank. Its destructor waits for the calls of set(), within the deadline.
struct tilepost_expert_routing : tilepost_counted {
  virtual tilepost_result_t set(const void* ids, const void* weights, int64_t m,
                                CUstream_st* stream) = 0;
  virtual tilepost_result_t status() = 0;
  virtual tilepost_result_t synchronize() = 0;
  virtual void get_info(tilepost_routing_info_t& info) = 0;
  virtual const tilepost::RoutingShape& shape() const = 0;

  // Lends memory of at least `bytes` bytes: that which was lent last, if it has as many, or new
  // memory. Layers of a routing may share it, because what reads the routing's tables follows each
  // other, and so do the layers' runs.
  tilepost_result_t lend_rows(int64_t bytes, std::shared_ptr<tilepost::LentRows>& rows) {
    rows = lent_.lock();
    if (rows && rows->bytes() >= bytes) return TILEPOST_OK;
    const tilepost_result_t result = make_rows(bytes, rows);
    if (result == TILEPOST_OK) lent_ = rows;
    return result;
  }

  // How many bytes lend_rows(bytes) would allocate.
  int64_t rows_to_make(int64_t bytes) const {
    const std::shared_ptr<tilepost::LentRows> rows = lent_.lock();
    return rows && rows->bytes() >= bytes ? 0 : bytes;
  }

  int64_t routed_tokens = 0;  // of this rank, by the last call of tilepost_routing_set

 protected:
  virtual tilepost_result_t make_rows(int64_t bytes,
                                      std::shared_ptr<tilepost::LentRows>& rows) const = 0;

 private:
  std::weak_ptr<tilepost::LentRows> lent_;
};

namespace tilepost {

// What a routing is made of.
struct RoutingTerms {
  int32_t experts, top;
  int64_t most_tokens;
  tilepost_routing_options_t options;  // complete

  bool wide_ids() const { return options.ids == TILEPOST_IDS_I64; }
  bool half_weights() const { return options.weights == TILEPOST_BF16; }
};

// Checks the terms for a communicator of `ranks` ranks. If they are right, sets `shape` to them.
tilepost_result_t check_routing(const RoutingTerms& terms, int ranks, int rank,
                                RoutingShape& shape);

// Checks the arguments of tilepost_routing_set that need no device.
tilepost_result_t check_tokens(const RoutingTerms& terms, const void* ids, const void* weights,
                               int64_t m);

// Sets the error's text for a fault that was found while tables were made, and returns its result;
// TILEPOST_OK if there is none. `rank` and `deadline_seconds` are those of the calling rank.
tilepost_result_t report_fault(const RoutingFault& fault, int rank, double deadline_seconds);

// Where each table begins in one piece of memory, in bytes, and how many bytes it has in all.
struct RoutingLayout {
  explicit RoutingLayout(const RoutingShape& shape);

  RoutingTables at(void* memory) const;

  size_t expert_ends, row_tokens, token_rows, token_weights, token_ranks, tokens, rank_rows;
  size_t bytes;
};

// Checks that an operation of `program` on `comm` can be bound to `routing`, which is null where
// the caller gives none.
tilepost_result_t check_binding(const char* call, const tilepost_comm& comm,
                                const tilepost_program_t& program,
                                const tilepost_expert_routing* routing);

// Checks that this rank's tokens fit its share of a run, `share` rows.
tilepost_result_t check_bound_tokens(const tilepost_expert_routing& routing, int64_t share);

// The text of the error of a run for which a rank has more rows than the plan is for.
std::string too_many_rows_text(const char* name, int rank, int64_t rows, int64_t most);

// The tables as callers see them. device_bytes is set to 0.
tilepost_routing_info_t info_of(const RoutingShape& shape, const RoutingTables& tables);

}  // namespace tilepost
