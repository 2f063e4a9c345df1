#include "runtime/bench/ranks/rank_operation.h"

#include <algorithm>

#include "runtime/bench/gemm/route.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/run_path.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {

RankOperation::RankOperation(const Entry& entry, const tilepost_plan_t& plan,
                             const Session& session, tilepost_comm_t comm, int rank)
    : rows_from_(rows_from(plan, rank, session.options.seed)) {
  check_tilepost(tilepost_op_create(comm, entry.program(), nullptr, &op_), "tilepost_op_create");
  if (is_routed(plan)) set_route(plan, rank, session.options.seed);
  tilepost_op_info_t info{};
  check_tilepost(tilepost_op_get_info(op_, &info), "tilepost_op_get_info");
  out_elements_ = info.out_elements;
  if (session.options.lent_output) lent_ = info.out;
  place_ = out_place(plan, rows_from_);
  // Of the scales of all rows, those of the rows that this rank brings. Rows that are routed have
  // scales by their place on their own rank.
  if (!row_of(plan).routes())
    first_scale_ = first_row_of_rank(plan.map, rank) * moved_scales(plan).row;
}

void RankOperation::set_route(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  const BenchRoute route = route_of(plan, rank, seed);
  const tilepost_route_t wanted{sizeof wanted, -1, route.splits.data(), route.destinations.data()};
  tilepost_arrivals_t arrivals{};
  arrivals.struct_size = sizeof arrivals;
  check_tilepost(tilepost_op_route(op_, &wanted, &arrivals), "tilepost_op_route");
  if (!std::equal(rows_from_.begin(), rows_from_.end(), arrivals.rows_from))
    throw BenchError("tilepost_op_route announces other rows than were sent");
}

// If the operation has no use for registered outputs, it refuses the first one.
void RankOperation::register_outputs(const Operands& operands) {
  for (int i = 0; i < operands.count(); ++i) {
    const tilepost_result_t result =
        tilepost_op_register(op_, operands.set(i).out, operands.out_bytes());
    if (result == TILEPOST_UNSUPPORTED && i == 0) return;
    check_tilepost(result, "tilepost_op_register");
  }
  registered_ = true;
}

const char* RankOperation::kind_of_out() const {
  if (lent_ != nullptr) return "own";
  return registered_ ? "registered" : "caller's";
}

void RankOperation::run(const Operands& operands, int set, const NormOperands& norm,
                        cudaStream_t stream) {
  const OperandSet& of_run = operands.set(set);
  const tilepost_epilogue_t epilogue = operands.epilogue(set);
  tilepost_run_operands_t run{};
  run.struct_size = sizeof run;
  run.a = of_run.a;
  run.b = of_run.b;
  run.out = out_of(of_run);
  run.scale_a = epilogue.scale_a + first_scale_;
  run.scale_b = epilogue.scale_b;
  run.bias = epilogue.bias;
  run.residual = epilogue.residual;
  run.m = TILEPOST_PLANNED_M;
  run.user = const_cast<void**>(of_run.user);
  norm.add_to(run);
  check_tilepost(tilepost_op_run_with(op_, &run, stream), "tilepost_op_run_with");
}

void RankOperation::synchronize() {
  check_tilepost(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
}

}  // namespace tilepost::bench
