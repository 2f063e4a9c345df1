// A layer of experts as one operation to its caller: tokens go to their experts
// (dispatch_grouped_gemm), and the sums of what has become of them come home
// (grouped_gemm_combine). Both halves read the tables of one routing. The rows between them are in
// memory that the routing lends, so that all layers of a routing share it.
#pragma once

#include <memory>

#include "runtime/core/composed/composed_op.h"
#include "runtime/core/routing/routing.h"
#include "runtime/map/layer_programs.h"

namespace tilepost {

// Makes the operation of a layer (is_layer) on a communicator, bound to options.routing.
// Collective. A rank without memory for the rows between the halves fails before the others have
// met it, and these wait until their deadline.
tilepost_result_t make_layer(tilepost_comm& comm, const tilepost_program_t& program,
                             const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op);

// Adds what make_layer would allocate (tilepost_program_memory).
tilepost_result_t add_needs_of_layer(tilepost_comm& comm, const tilepost_program_t& program,
                                     const tilepost_options_t& options, tilepost_memory_t& memory);

class LayerOp final : public ComposedOp {
 public:
  // What the halves use besides what is their own.
  struct Shared {
    explicit Shared(const tilepost_program_t& program) : programs(program) {}

    const LayerPrograms programs;
    std::shared_ptr<LentRows> rows;
    int64_t made_bytes = 0;  // of the rows, where they were made for this layer
  };

  // The plan of each half for the most rows, which says what operands runs have.
  struct Plans {
    const tilepost_plan_t &first, &second;
    int rank;
  };

  // `halves` are the first and the second.
  LayerOp(Ops halves, std::shared_ptr<const Shared> shared, const Plans& plans,
          tilepost_expert_routing& routing);

  tilepost_result_t check(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t run(const tilepost_run_operands_t& operands, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t register_output(void* buffer, int64_t bytes) override;
  tilepost_result_t unregister_output(const void* buffer) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  void add_memory(tilepost_memory_t& memory) override;
  tilepost_result_t find_overlap(int64_t m, bool& overlaps) override;
  tilepost_result_t record_timeline() override;
  tilepost_result_t write_timeline(const char* path) override;

 private:
  // The operands of each half, for those of the layer, whose `layer` is not null.
  struct HalfOperands {
    tilepost_run_operands_t first, second;
  };
  HalfOperands halves_of(const tilepost_run_operands_t& operands) const;
  tilepost_result_t check_tokens(int64_t tokens, int64_t share) const;
  tilepost_result_t check_all(const HalfOperands& halves, int64_t tokens, CUstream_st* stream);
  tilepost_op& second() const { return *ops().back(); }

  const std::shared_ptr<const Shared> shared_;
  const Plans plans_;
  tilepost_expert_routing& routing_;
};

}  // namespace tilepost
