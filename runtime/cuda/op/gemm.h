// The woven GEMM of an operation: the arguments of a run, and the launch.
#pragma once

#include "runtime/cuda/consumers/token_list.h"
#include "runtime/cuda/device/launch.h"
#include "runtime/cuda/device/tensor_maps.h"
#include "runtime/cuda/op/op_base.h"
#include "runtime/cuda/op/tokens/token_summing.h"

namespace tilepost::cuda {

class Gemm {
 public:
  explicit Gemm(const OpBase& base)
      : plan_(base.plan),
        driver_(base.driver),
        transports_(base.transports),
        state_(base.state),
        buffers_(base.buffers),
        nvtx_(base.nvtx),
        routing_(base.routing),
        summing_(base) {
    tensor_maps_.init(plan_, driver_);
  }

  // Loads the kernels that list tiles or sum tokens, and makes what they need, if runs do so.
  tilepost_result_t load();

  // Lists the tile rows of a run whose tokens go to experts, on the caller's stream, and pushes
  // tokens if the run does so. It then comes behind the kernel that begins the run.
  tilepost_result_t list_tiles(const Run& run) const;

  // Issues the sums of tokens behind the GEMM, if the run has some.
  tilepost_result_t sum_tokens(const Run& run) const {
    const bool has_tiles = !run.run_map().tiles.tiles.empty();
    return run.path().combines && has_tiles ? summing_.launch(run) : TILEPOST_OK;
  }
  // Lets `stream` continue behind the sums of tokens, if the run has some.
  tilepost_result_t join_sums(const Run& run, cudaStream_t stream) const {
    return summing_.join(run, stream);
  }

  // Fills in run.gemm. A route may leave this rank without rows. Then there is no kernel to launch.
  tilepost_result_t find_arguments(Run& run);

  // Launches the whole GEMM, or the tiles of one group, on the caller's stream.
  tilepost_result_t launch(const Run& run) const;
  tilepost_result_t launch_group(const Run& run, int group) const;

 private:
  void find_scales(const Run& run, GemmArguments& arguments) const;
  void find_own_rows(const Run& run, GemmArguments& arguments) const;
  tilepost_result_t find_pushes(const Run& run, tilepost_view_t& view) const;
  tilepost_result_t place_own_rows(const Run& run, const void*& first_row) const;
  tilepost_result_t find_tensor_maps(const Run& run, GemmArguments& arguments);
  void find_view(const Run& run, tilepost_view_t& view) const;
  tilepost_result_t find_tokens(const Run& run, tilepost_view_t& view) const;
  RowPushes pushes_of(const Run& run) const;
  void find_owners(const Run& run, tilepost_view_t& view) const;
  void find_tasks(const Run& run, tilepost_tasks_t& tasks) const;
  void find_exchange(const Run& run, tilepost_exchange_t& exchange) const;

  const tilepost_plan_t& plan_;
  const Driver& driver_;
  const Transports& transports_;
  const RunState& state_;
  const OpBuffers& buffers_;
  const NvtxNames& nvtx_;
  tilepost_expert_routing* const routing_;
  TokenSumming summing_;
  TensorMapCache tensor_maps_;
};

}  // namespace tilepost::cuda
