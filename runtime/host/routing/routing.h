// One routing on one rank of the host target (tilepost/routing.h). A thread makes the tables, as
// this rank's runs make room for it: a set takes its turn among them. Ranks meet for each set, and
// every rank reads the ids of the others where their callers have them.
#pragma once

#include <deque>
#include <thread>
#include <vector>

#include "runtime/core/routing/routing.h"
#include "runtime/host/group.h"
#include "tilepost/host/routing.h"

namespace tilepost {

class HostRouting final : public tilepost_expert_routing {
 public:
  // `shape` has been checked.
  HostRouting(std::shared_ptr<HostGroup> group, const RoutingTerms& terms,
              const RoutingShape& shape);
  ~HostRouting() override;

  // Starts the thread. Throws std::system_error if the system cannot start one.
  void start();

  tilepost_result_t set(const void* ids, const void* weights, int64_t m,
                        CUstream_st* stream) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  void get_info(tilepost_routing_info_t& info) override;
  const RoutingShape& shape() const override { return shape_; }

 protected:
  tilepost_result_t make_rows(int64_t bytes, std::shared_ptr<LentRows>& rows) const override;

 private:
  // A posted set.
  struct Request {
    uint64_t ticket;  // HostStream::issued
    RoutedTokens tokens;
  };
  // What a rank brings to a set.
  struct Brought {
    RoutingShape shape;
    RoutedTokens tokens;
  };

  void work();
  bool next_request(Request& request);
  bool route(uint64_t number, const RoutedTokens& tokens);
  bool read_all(const HostStep& step, std::vector<RoutedTokens>& all);
  tilepost_result_t result() const;
  tilepost_result_t refuse() const;

  const std::shared_ptr<HostGroup> group_;
  const RoutingTerms terms_;
  const RoutingShape shape_;
  const RoutingLayout layout_;
  const uint64_t operation_;  // RunTerms::operation
  std::vector<uint64_t> memory_;
  const RoutingTables tables_;
  Brought own_{};  // a member, because other ranks may still read it when this rank gives up

  HostStream& stream_;  // its mutex guards all members below
  std::deque<Request> queue_;
  RoutingFault fault_{};
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tilepost
