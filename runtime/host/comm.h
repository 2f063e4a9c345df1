// One rank of a host communicator.
#pragma once

#include "runtime/core/object.h"
#include "runtime/host/group.h"

namespace tilepost {

class HostComm final : public tilepost_comm {
 public:
  HostComm(std::shared_ptr<HostGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  tilepost_result_t create_op(const tilepost_program_t& program, const tilepost_options_t& options,
                              std::unique_ptr<tilepost_op>& op) override;
  tilepost_result_t memory_of(std::span<const tilepost_program_t> programs,
                              const tilepost_options_t& options,
                              tilepost_memory_t& memory) override;
  tilepost_result_t create_routing(const RoutingTerms& terms,
                                   std::unique_ptr<tilepost_expert_routing>& routing) override;

 private:
  std::shared_ptr<HostGroup> group_;
  const int rank_;
};

}  // namespace tilepost
