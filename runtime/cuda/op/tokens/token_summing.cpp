#include "runtime/cuda/op/tokens/token_summing.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/core/routing/routing.h"
#include "runtime/cuda/op/tokens/rows_bound.h"
#include "runtime/schedule/token_sums.h"

namespace tilepost::cuda {

tilepost_result_t TokenSumming::create() {
  if (!row_of(plan_).combines()) return TILEPOST_OK;
  const RunPaths paths = paths_of(plan_);
  // Elsewhere steps write the output of a run that has too many rows.
  if (plan_.most_rows < plan_.map.m * plan_.top && !(paths.planned.sums_at_home && !paths.sequence))
    return fail(TILEPOST_UNSUPPORTED,
                "max_rows of the plan is %" PRId64 ", and a rank may have %" PRId64
                " rows; on GPUs only transport 'peer' sums tokens with such a bound; use it, or "
                "remove max_rows from the spec",
                plan_.most_rows, plan_.map.m * plan_.top);
  if (paths.planned.sums_at_home) TILEPOST_CUDA(preload_home_sums(plan_.output));
  if (!paths.planned.sums_at_home || paths.sequence)
    TILEPOST_CUDA(preload_token_sums(plan_.output));
  for (Event& event : ends_) TILEPOST_TRY(make_event(event));
  return TILEPOST_OK;
}

// The residual is added to tokens.
void TokenSumming::find_products(GemmArguments& arguments) const {
  arguments.c = buffers_.products();
  arguments.epilogue.out = buffers_.products();
  arguments.epilogue.residual = nullptr;
}

TokenSums TokenSumming::sums_of(const Run& run) const {
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  return token_sums(plan_, run.run_map(), state_.traits.rank, tables, run.gemm.view.most_tokens);
}

tilepost_result_t TokenSumming::launch_tiles(const Run& run) const {
  const tilepost_view_t& view = run.gemm.view;
  TokenSumArguments arguments{};
  arguments.sums = sums_of(run);
  arguments.products = buffers_.products();
  arguments.residual = run.epilogue.residual;
  arguments.n = run.run_map().shape.n;
  arguments.tile_n = plan_.map.tile_n;
  arguments.tiles = view.tiles;
  arguments.num_tiles = view.num_tiles;
  arguments.out = run.buffers.send;
  arguments.counters = state_.bank(run.bank);
  if (run.path().stores_by_owner) {
    arguments.owner_rows = view.share_rows;
    arguments.peer_out = view.peer_out;
    arguments.peer_counters = view.peer_counters;
  }
  TILEPOST_CUDA(launch_token_sums(arguments, plan_.output, plan_.sms, run.user));
  return TILEPOST_OK;
}

// All warps begin with the parts of the first tickets. An own part comes when half as many parts
// have been begun since, so that what it needs is there, or nearly.
tilepost_result_t TokenSumming::launch_home(const Run& run) const {
  const SharedRegions& regions = transports_.shared->regions();
  HomeSumArguments arguments{};
  arguments.sums = sums_of(run);
  arguments.parts = sum_parts(plan_, run.run_map().map().m);
  arguments.products = buffers_.products();
  arguments.residual = run.epilogue.residual;
  arguments.n = run.run_map().shape.n;
  arguments.lag = std::min(arguments.parts.count(), home_sum_warps(plan_.sms) / plan_.ranks / 2);
  arguments.peer_out = run.gemm.view.peer_out;
  arguments.slots = regions.own(regions.layout().slots);
  arguments.slot_bytes = regions.layout().slot_bytes;
  arguments.out = run.buffers.out;
  arguments.flags = transports_.shared->flags();
  arguments.words = buffers_.sum_words();
  arguments.bound = rows_bound(plan_, *routing_, state_);
  TILEPOST_CUDA(launch_home_sums(arguments, plan_.output, plan_.sms, run.user));
  return TILEPOST_OK;
}

tilepost_result_t TokenSumming::launch(const Run& run) const {
  TILEPOST_TRY(run.path().sums_at_home ? launch_home(run) : launch_tiles(run));
  if (run.comm != run.user) TILEPOST_CUDA(cudaEventRecord(ends_[run.bank].get(), run.user));
  return TILEPOST_OK;
}

tilepost_result_t TokenSumming::join(const Run& run, cudaStream_t stream) const {
  if (!run.path().combines || stream == run.user || run.run_map().tiles.tiles.empty())
    return TILEPOST_OK;
  TILEPOST_CUDA(cudaStreamWaitEvent(stream, ends_[run.bank].get(), 0));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
