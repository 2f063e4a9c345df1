#include "runtime/verify/operation.h"

namespace tilepost::verify {

void RankOperation::create(const tilepost_program_t& program, const Problem& problem,
                           double deadline, int sets) {
  device_.enter();
  tilepost_options_t options = tilepost_default_options();
  options.deadline_seconds = deadline;
  check(tilepost_op_create(world_.comm(rank_), &program, &options, &op_), "tilepost_op_create");
  tilepost_op_info_t info;
  check(tilepost_op_get_info(op_, &info), "tilepost_op_get_info");
  const tilepost_map_t& map = info.plan->map;
  std::vector<int32_t> rows;
  if (info.rows != nullptr) {
    rows.resize(static_cast<size_t>(tiles_m(map)) * tiles_n(map));
    device_.copy_to_host(rows.data(), info.rows, rows.size() * sizeof(int32_t));
  }
  has_epilogue_ = info.plan->epilogue != 0;
  layout_ = std::make_unique<OutputLayout>(*info.plan, std::move(rows));
  for (int i = 0; i < sets; ++i)
    buffers_.push_back(std::make_unique<RunBuffers>(device_, problem, info.out_elements));
}

void RankOperation::run(const Distribution& distribution, uint64_t seed, int first, int count) {
  device_.enter();
  for (int i = 0; i < count; ++i) buffers_[i]->prepare(distribution, seed, first + i, rank_);
  for (int i = 0; i < count; ++i) {
    const tilepost_run_operands_t operands = buffers_[i]->operands();
    if (has_epilogue_)
      check(tilepost_op_run_with(op_, &operands, device_.stream()), "tilepost_op_run_with");
    else
      check(tilepost_op_run(op_, operands.a, operands.b, operands.out, device_.stream()),
            "tilepost_op_run");
  }
  check(tilepost_op_synchronize(op_), "tilepost_op_synchronize");
}

void RankOperation::close() {
  if (op_ == nullptr) return;
  device_.enter();
  tilepost_op_destroy(op_);
  op_ = nullptr;
  buffers_.clear();
}

}  // namespace tilepost::verify
