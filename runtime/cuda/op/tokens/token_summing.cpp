#include "runtime/cuda/op/tokens/token_summing.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/core/routing/routing.h"
#include "runtime/schedule/token_sums.h"

namespace tilepost::cuda {

tilepost_result_t TokenSumming::create() {
  if (!row_of(plan_).combines()) return TILEPOST_OK;
  // Nothing ends a run yet for which a rank has too many rows, and no memory is there for them.
  if (plan_.most_rows < plan_.map.m * plan_.top)
    return fail(
        TILEPOST_UNSUPPORTED,
        "max_rows of the plan is %" PRId64 ", and a rank may have %" PRId64
        " rows; where tokens are summed on GPUs max_rows cannot be less yet: remove it from "
        "the spec",
        plan_.most_rows, plan_.map.m * plan_.top);
  TILEPOST_CUDA(preload_token_sums(plan_.output));
  if (num_panels(plan_) > TokenSumWords::kMostPanels)
    return fail(TILEPOST_INVALID_ARGUMENT, "the plan has %d panels of tile columns, at most %d",
                num_panels(plan_), TokenSumWords::kMostPanels);
  for (Event& event : ends_) TILEPOST_TRY(make_event(event));
  if (plan_.panel_columns == 0) return TILEPOST_OK;
  for (Event& event : ends_beside_) TILEPOST_TRY(make_event(event));
  return make_stream(beside_, true);
}

// The residual is added to tokens.
void TokenSumming::find_products(const Run& run, GemmArguments& arguments) const {
  arguments.c = buffers_.products();
  arguments.epilogue.out = buffers_.products();
  arguments.epilogue.residual = nullptr;
  if (buffers_.sum_words() != nullptr) arguments.view.counters = buffers_.sum_words()->panels;
  arguments.view.panel_columns = sums_beside(run) ? plan_.panel_columns : 0;
}

TokenSumArguments TokenSumming::arguments_of(const Run& run) const {
  const RunMap& plan = run.run_map();
  const tilepost_view_t& view = run.gemm.view;
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  TokenSumArguments arguments{};
  arguments.sums = token_sums(plan_, plan, state_.traits.rank, tables, view.most_tokens);
  arguments.products = buffers_.products();
  arguments.residual = run.epilogue.residual;
  arguments.n = plan.shape.n;
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
  arguments.panels.words = buffers_.sum_words();
  return arguments;
}

void TokenSumming::find_panels(const Run& run, TokenSumPanels& panels) const {
  const tilepost_map_t& map = run.run_map().map();
  const tilepost_view_t& view = run.gemm.view;
  panels.panel_columns = plan_.panel_columns;
  panels.raised = plan_.kernel.cluster / map.cluster;  // each CTA of a tile raises it
  panels.expert_ends = view.expert_ends;
  panels.experts = plan_.experts;
  panels.rows = run.run_map().shape.m;
  panels.positions = view.positions;
  panels.ranks = plan_.ranks;
  panels.share_tiles = share_tiles(map);
  panels.columns = tiles_n(map);
}

tilepost_result_t TokenSumming::launch(const Run& run) const {
  TokenSumArguments arguments = arguments_of(run);
  const int behind = blocks_behind(arguments, plan_.sms), beside = std::max(1, plan_.comm_ctas);
  arguments.panels.all_blocks = behind;
  if (sums_beside(run)) {
    find_panels(run, arguments.panels);
    arguments.panels.all_blocks += beside;
    TILEPOST_CUDA(cudaStreamWaitEvent(beside_.get(), run.fork, 0));
    TILEPOST_CUDA(launch_first_panel(arguments, beside_.get()));
    TILEPOST_CUDA(launch_token_sums(arguments, plan_.output, beside, beside_.get()));
    TILEPOST_CUDA(cudaEventRecord(ends_beside_[run.bank].get(), beside_.get()));
  }
  TILEPOST_CUDA(launch_token_sums(arguments, plan_.output, behind, run.user));
  if (sums_beside(run))
    TILEPOST_CUDA(cudaStreamWaitEvent(run.user, ends_beside_[run.bank].get(), 0));
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
