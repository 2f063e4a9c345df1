// An operation that is bound to a routing, on rank 1 of two, whose other rank the fakes imitate.
#pragma once

#include <utility>

#include "tests/runtime/fixture.h"
#include "tilepost/routing.h"

// A routing of 4 experts for each rank. Edit `program`, then create().
class Routed : public Operation {
 public:
  static constexpr int kExperts = 4, kTop = 2;
  static constexpr int64_t kMostTokens = 256;

  ~Routed() noexcept(false) { release(); }

  // Makes `program` one by which tokens go to experts, or their sums home, by messages.
  static void use_tokens(sample::Program& program, tilepost_pattern_t pattern) {
    const bool dispatches = pattern == TILEPOST_DISPATCH_GROUPED_GEMM;
    program.plan.map.signals_per_tile = 1;
    program.plan.experts = kExperts;
    program.plan.top = kTop;
    program.plan.most_rows = program.plan.map.m * kTop;
    program.use(pattern, 2, dispatches ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_SHARES,
                dispatches ? std::vector{0, 1, 2} : std::vector{1, 2});
  }
  // Lets ranks store their tokens or sums into each other's memory.
  static void use_peer(sample::Program& program) {
    program.plan.transport = TILEPOST_TRANSPORT_PEER;
    program.plan.access = TILEPOST_ACCESS_WRITE;
    program.plan.comm_ctas = 0;
    if (tilepost::row_of(program.plan).dispatches())
      program.plan.pushes = program.plan.reads_own = program.plan.comm_lanes = 1;
    program.finish();
  }

  // Makes a communicator and the routing.
  tilepost_result_t try_to_route(double deadline_seconds = 0) {
    tilepost_unique_id_t id{};
    TILEPOST_TRY(tilepost_comm_init(&id, 1, 2, &setup.comm));
    tilepost_routing_options_t options = tilepost_default_routing_options();
    options.deadline_seconds = deadline_seconds;
    return tilepost_routing_create(setup.comm, 2 * kExperts, kTop, kMostTokens, &options, &routing);
  }
  tilepost_options_t options(double deadline_seconds = 0) const {
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline_seconds;
    options.routing = routing;
    return options;
  }
  // Makes those, and an operation of `made`.
  tilepost_result_t try_to_create(const tilepost_program_t& made, double deadline_seconds = 0) {
    TILEPOST_TRY(try_to_route(deadline_seconds));
    const tilepost_options_t bound = options(deadline_seconds);
    return tilepost_op_create(setup.comm, &made, &bound, &setup.op);
  }
  void create() {
    const tilepost_result_t made = try_to_create(program.program);
    INFO(tilepost_last_error());
    REQUIRE(made == TILEPOST_OK);
  }
  void release() {
    tilepost_op_destroy(std::exchange(setup.op, nullptr));
    tilepost_routing_destroy(std::exchange(routing, nullptr));
    setup.release();
  }

  // What the routing's kernel would write.
  void give_rows(int rows_of_rank_0, int rows_of_rank_1) const {
    tilepost_routing_info_t tables{};
    REQUIRE(tilepost_routing_get_info(routing, &tables) == TILEPOST_OK);
    auto* const rows = const_cast<int32_t*>(tables.rank_rows);
    rows[0] = rows_of_rank_0, rows[1] = rows_of_rank_1;
  }

  tilepost_expert_routing_t routing = nullptr;
};
