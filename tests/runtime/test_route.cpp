// Routes: how they are checked, how ranks exchange them, and how runs use them.
#include <numeric>

#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::count_calls;
using sample::enqueued;
using sample::operands;
using sample::Program;
using sample::Setup;

namespace {

void use_routing(Program& program, tilepost_routing_t routing, int ranks = 2) {
  program.plan.routing = routing;
  const bool rows = routing == TILEPOST_ROUTING_ROWS;
  program.use(TILEPOST_GEMM_ALL_TO_ALL, ranks,
              rows ? TILEPOST_DIVISION_ROWS : TILEPOST_DIVISION_SHARES,
              rows ? std::vector{2, 4} : std::vector{1, 2});
}

tilepost_route_t route_of(const std::vector<int64_t>& splits,
                          const std::vector<int32_t>& destinations = {}, int64_t m = -1) {
  return {sizeof(tilepost_route_t), m, splits.empty() ? nullptr : splits.data(),
          destinations.empty() ? nullptr : destinations.data()};
}

tilepost_result_t set_route(const Setup& setup, const tilepost_route_t& route,
                            tilepost_arrivals_t* arrivals = nullptr) {
  if (arrivals != nullptr) *arrivals = {sizeof(tilepost_arrivals_t), 0, nullptr, nullptr};
  return tilepost_op_route(setup.op, &route, arrivals);
}

std::vector<int64_t> rows_from(const tilepost_arrivals_t& arrivals, int ranks) {
  return {arrivals.rows_from, arrivals.rows_from + ranks};
}

}  // namespace

TEST_CASE_METHOD(Operation, "a run before the first route is refused") {
  use_routing(program, GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS));
  create();
  world().reset_calls();
  CHECK(run() == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("call tilepost_op_route before the first run"));
  CHECK(enqueued().empty());
  CHECK(info().out_elements == 0);
}

TEST_CASE_METHOD(Operation, "a plan that is not routed takes no route") {
  create();
  CHECK(set_route(setup, route_of({256, 256})) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Operation, "splits: tiles, steps and arrivals follow them") {
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create();
  tilepost_arrivals_t arrivals;
  // Both ranks send 100 rows to rank 0 and 412 to rank 1.
  const std::vector<int64_t> splits{100, 412};
  REQUIRE(set_route(setup, route_of(splits), &arrivals) == TILEPOST_OK);
  CHECK(arrivals.rows == 2 * 412);
  CHECK(rows_from(arrivals, 2) == std::vector<int64_t>{412, 412});
  for (int64_t row = 0; row < 512; ++row)
    REQUIRE(arrivals.landed[row] == (row < 100 ? 100 + row : 412 + row - 100));
  const tilepost_op_info_t made = info();
  CHECK(made.out_elements == 2 * 412 * 256);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  size_t sent[2] = {}, received[2] = {};
  for (const fakes::NcclCall& call : world().nccl)
    (call.name == "send" ? sent : received)[call.peer] += call.count;
  CHECK(sent[0] == 100 * 256);
  CHECK(sent[1] == 412 * 256);
  CHECK(received[0] == 412 * 256);
  CHECK(received[1] == 412 * 256);
  CHECK(world().shape.m == 512);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation,
                 "rows: the kernel gets a row map, and each row lands where it is said to") {
  use_routing(program, TILEPOST_ROUTING_ROWS);
  create();
  std::vector<int32_t> destinations(512);
  for (size_t row = 0; row < 512; ++row) destinations[row] = row % 3 == 0 ? 0 : 1;
  tilepost_arrivals_t arrivals;
  REQUIRE(set_route(setup, route_of({}, destinations), &arrivals) == TILEPOST_OK);
  CHECK(arrivals.rows == 2 * 341);
  int64_t next[2] = {171, 341};  // rows for rank 1 come behind those for rank 0
  for (size_t row = 0; row < 512; ++row) REQUIRE(arrivals.landed[row] == next[destinations[row]]++);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(world().view.row_map != nullptr);
  // Every row of a tile goes to a place in the block of the tile's group. No two rows share a
  // place.
  std::vector<bool> taken(512);
  for (int i = 0; i < world().view.num_tiles; ++i) {
    const tilepost_tile_t& tile = world().view.tiles[i];
    if (tile.row < 0 || tile.n != 0) continue;
    for (int r = 0; r < 128; ++r) {
      const int row = tile.row + world().view.row_map[tile.m + r];
      REQUIRE((row >= 0 && row < 512 && row / 256 == tile.group));
      CHECK_FALSE(taken[row]);
      taken[row] = true;
    }
  }
}

TEST_CASE_METHOD(Operation, "counters go on counting across routes") {
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create();
  for (const std::vector<int64_t>& splits :
       {std::vector<int64_t>{256, 256}, {0, 512}, {512, 0}, {1, 511}, {300, 212}})
    for (int times = 0; times < 2; ++times) {
      REQUIRE(set_route(setup, route_of(splits)) == TILEPOST_OK);
      REQUIRE(run() == TILEPOST_OK);
      REQUIRE(run() == TILEPOST_OK);
      CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
    }
}

TEST_CASE_METHOD(Operation, "a rank without rows runs no GEMM but receives") {
  program.plan.any_m = 1;
  use_routing(program, GENERATE(TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS));
  const bool splits = program.plan.routing == TILEPOST_ROUTING_SPLITS;
  create();
  // Rank 0 has 256 rows and sends half of them to rank 1, which has no rows.
  int exchanges = 0;
  world().exchange = [&](const int64_t* from, int64_t* to, size_t count) {
    std::vector<int64_t> other(count, 64);
    if (++exchanges == 1) other = {256};
    std::copy(other.begin(), other.end(), to);
    std::copy(from, from + count, to + count);
  };
  const std::vector<int64_t> none{0, 0};
  const std::vector<int32_t> nowhere{0};
  tilepost_arrivals_t arrivals;
  REQUIRE(set_route(setup,
                    route_of(splits ? none : std::vector<int64_t>{},
                             splits ? std::vector<int32_t>{} : nowhere, 0),
                    &arrivals) == TILEPOST_OK);
  CHECK(exchanges == 2);
  CHECK(rows_from(arrivals, 2)[1] == 0);
  CHECK(arrivals.rows > 0);
  world().reset_calls();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(count_calls("gemm") == 0);
  CHECK(count_calls("send") == 0);
  size_t received = 0;
  for (const fakes::NcclCall& call : world().nccl) received += call.count;
  CHECK(received == static_cast<size_t>(arrivals.rows) * 256);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "no rank may have any row") {
  program.plan.any_m = 1;
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create();
  world().exchange = [](const int64_t*, int64_t* to, size_t count) {
    std::fill(to, to + 2 * count, 0);
  };
  const std::vector<int64_t> none{0, 0};
  tilepost_arrivals_t arrivals;
  REQUIRE(set_route(setup, route_of(none, {}, 0), &arrivals) == TILEPOST_OK);
  CHECK(arrivals.rows == 0);
  CHECK(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation,
                 "a new route keeps the memory, unless more is received than ever before") {
  program.plan.routing = TILEPOST_ROUTING_SPLITS;
  program.plan.consumer = TILEPOST_CONSUMER_UNPERMUTE;
  program.use(TILEPOST_GEMM_ALL_TO_ALL, 2, TILEPOST_DIVISION_COLUMNS, {1, 2}, TILEPOST_TILE);
  create();
  const auto mallocs = [&](const std::vector<int64_t>& splits) {
    world().reset_calls();
    REQUIRE(set_route(setup, route_of(splits)) == TILEPOST_OK);
    REQUIRE(run() == TILEPOST_OK);
    return count_calls("cudaMalloc");
  };
  CHECK(mallocs({256, 256}) == 1);
  CHECK(mallocs({400, 112}) == 0);
  CHECK(count_calls("unpermute_slabs own0 columns 0..1 height 0 rows 0 112 224") == 1);
  CHECK(mallocs({100, 412}) == 1);
  CHECK(mallocs({512, 0}) == 0);
  CHECK(count_calls("unpermute") == 0);
}

TEST_CASE_METHOD(Operation, "wrong routes are refused, and the route before stays") {
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create();
  REQUIRE(set_route(setup, route_of({256, 256})) == TILEPOST_OK);
  world().reset_calls();
  for (const std::vector<int64_t>& splits :
       {std::vector<int64_t>{256, 255}, {-1, 513}, {}, {512, 512}})
    CHECK(set_route(setup, route_of(splits)) == TILEPOST_INVALID_ARGUMENT);
  CHECK(set_route(setup, route_of({100, 100}, {}, 200)) == TILEPOST_INVALID_ARGUMENT);
  CHECK(count_calls("allgather") == 0);
  CHECK(run() == TILEPOST_OK);
}

// Runs with few rows do not overlap, and are then on the caller's stream alone.
TEST_CASE_METHOD(Operation, "no route while a run is being captured") {
  program.use_any_m();
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create();
  const int64_t half = GENERATE(1, 256);
  const std::vector<int64_t> splits{half, half};
  const auto set = [&] { return set_route(setup, route_of(splits, {}, 2 * half)); };
  REQUIRE(set() == TILEPOST_OK);
  REQUIRE(run() == TILEPOST_OK);
  {
    const fakes::Capture capture(user);
    REQUIRE(run() == TILEPOST_OK);
    CHECK(set() == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("end the capture before a new route"));
  }
  CHECK(set() == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a rank that does not call route") {
  use_routing(program, TILEPOST_ROUTING_SPLITS);
  create(0.2);
  world().collectives_hang = true;
  CHECK(set_route(setup, route_of({256, 256})) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1: tilepost_op_route of 'sample'") &&
                                        Contains("after 0.2 s") &&
                                        Contains("a rank did not arrive"));
  CHECK(world().aborted_comms == sample::kComms);
  CHECK(run() == TILEPOST_ABORTED);
}

TEST_CASE("every call of route can fail: the next run is refused, not wrong") {
  int begun = 0;  // the first call that belongs to the new route
  FailingCalls failing;
  failing.in_turn([&](Operation& op) {
    op.program.plan.any_m = 1;
    use_routing(op.program, TILEPOST_ROUTING_ROWS);
    op.create();
    const std::vector<int32_t> destinations(512, 1);
    REQUIRE(set_route(op.setup, route_of({}, destinations)) == TILEPOST_OK);
    const auto result = failing.attempt(
        [&] { return set_route(op.setup, route_of({}, destinations)); }, "cudaSetDevice");
    INFO(failing.what());
    const auto& log = world().log;
    if (failing.number() == 0)
      while (log[begun].rfind("cudaMemcpyAsync", 0) != 0) ++begun;
    if (result == TILEPOST_OK) CHECK(op.run() == TILEPOST_OK);
    if (result != TILEPOST_OK && failing.number() > begun) CHECK(op.run() != TILEPOST_OK);
  });
  CHECK(failing.calls() > 8);
}
