// The host target against the reference: layouts, ranks, ragged shapes, and many runs in a row.
#include <deque>
#include <thread>

#include "runtime/host/group.h"
#include "tests/catch.h"
#include "tests/host/problem.h"

namespace {

struct Variant {
  tilepost_layout_t layout;
  tilepost_consumer_t consumer;
  tilepost_transport_t transport;
};
constexpr Variant kVariants[] = {
    {TILEPOST_PANEL, TILEPOST_CONSUMER_NONE, TILEPOST_TRANSPORT_HOST},
    {TILEPOST_TILE, TILEPOST_CONSUMER_NONE, TILEPOST_TRANSPORT_HOST},
    {TILEPOST_TILE, TILEPOST_CONSUMER_UNPERMUTE, TILEPOST_TRANSPORT_HOST},
    {TILEPOST_PANEL, TILEPOST_CONSUMER_NONE, TILEPOST_TRANSPORT_NONE},
    {TILEPOST_TILE, TILEPOST_CONSUMER_UNPERMUTE, TILEPOST_TRANSPORT_NONE}};

Problem make(const Variant& variant, int ranks) {
  Problem problem;
  problem.layout = variant.layout;
  problem.consumer = variant.consumer;
  problem.transport = variant.transport;
  problem.ranks = ranks;
  return problem;
}

}  // namespace

TEST_CASE("all layouts, ranks and ragged shapes agree with the reference bit by bit") {
  const int ranks = GENERATE(1, 2, 3, 4, 8);
  uint64_t seed = ranks;
  for (const Variant& variant : kVariants)
    for (const int m : {1, 7, 64, 129})
      for (const int n : {1, 7, 64, 129})
        for (const int k : {1, 7, 129}) {
          Problem problem = make(variant, ranks);
          problem.m = m;
          problem.n = n;
          problem.k = k;
          problem.type = ++seed % 2 ? TILEPOST_BF16 : TILEPOST_F16;
          problem.cluster = 1 + static_cast<int>(seed / 2 % 2);
          problem.groups = 1 + static_cast<int>(seed % 5);
          INFO("layout " << problem.layout << " consumer " << problem.consumer << " transport "
                         << problem.transport << " m " << m << " n " << n << " k " << k << " ranks "
                         << ranks << " seed " << seed);
          REQUIRE(run_and_compare(problem, seed % 3 == 0, seed) == "");
        }
}

TEST_CASE("2000 runs back to back, several in the queue, fresh data each") {
  const Variant variant = GENERATE(kVariants[0], kVariants[2]);
  Problem problem = make(variant, 4);
  problem.m = 37;
  problem.n = 21;
  problem.k = 9;
  std::mt19937_64 random(7);
  const Program program(problem);
  const Comms comms(problem.ranks);
  const Ops ops(comms, program.get(), problem.ranks);
  constexpr int kRuns = 2000, kInFlight = 8;
  for (int first = 0; first < kRuns; first += kInFlight) {
    std::deque<Data> batch;
    for (int i = 0; i < kInFlight; ++i) batch.emplace_back(problem, false, random).run(ops);
    for (int rank = 0; rank < problem.ranks; ++rank)
      REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
    for (const Data& data : batch) REQUIRE(data.compare(program) == "");
  }
}

TEST_CASE("a caller's thread per rank may post more runs than the queue holds") {
  Problem problem;
  problem.ranks = 3;
  problem.m = problem.n = 17;
  problem.k = 3;
  std::mt19937_64 random(8);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(problem.ranks);
  const Ops ops(comms, program.get(), problem.ranks);
  std::vector<tilepost_result_t> results(problem.ranks);
  std::vector<std::thread> callers;
  for (int rank = 0; rank < problem.ranks; ++rank)
    callers.emplace_back([&, rank] {
      for (int run = 0; run < 600 && results[rank] == TILEPOST_OK; ++run)
        results[rank] = data.run(ops, rank);
      if (results[rank] == TILEPOST_OK) results[rank] = tilepost_op_synchronize(ops[rank]);
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(results == std::vector<tilepost_result_t>(problem.ranks, TILEPOST_OK));
  CHECK(data.compare(program) == "");
}

TEST_CASE("operations of one rank run in the order they were posted") {
  // The second operation multiplies the first one's output by the identity.
  Problem first, second;
  first.m = second.m = 48;
  first.n = second.n = second.k = 24;
  first.ranks = second.ranks = 2;
  std::mt19937_64 random(9);
  Data producer(first, true, random), consumer(second, true, random);
  for (int rank = 0; rank < 2; ++rank)
    for (int i = 0; i < 24 * 24; ++i)
      consumer.b[rank][i] = reference::encode(first.type, i / 24 == i % 24);
  for (uint16_t& element : consumer.expected) element = 0;
  const Program program(first), next(second);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2), next_ops(comms, next.get(), 2);
  for (int run = 0; run < 50; ++run) {
    producer.run(ops);
    for (int rank = 0; rank < 2; ++rank)
      REQUIRE(tilepost_op_run(next_ops[rank], producer.out[rank].data(), consumer.b[rank].data(),
                              consumer.out[rank].data(), nullptr) == TILEPOST_OK);
  }
  for (int rank = 0; rank < 2; ++rank)
    REQUIRE(tilepost_op_synchronize(next_ops[rank]) == TILEPOST_OK);
  CHECK(producer.compare(program) == "");
  consumer.expected = reference::sum(first.type, {producer.expected, producer.expected}, true);
  CHECK(consumer.compare(next) == "");
}

TEST_CASE("more workers than tiles, and one") {
  const int workers = GENERATE(1, 7, 256);
  Problem problem;
  problem.ranks = 2;
  problem.m = 33;
  problem.n = 9;
  std::mt19937_64 random(10);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, 60, workers);
  for (int run = 0; run < 20; ++run) data.run(ops);
  for (int rank = 0; rank < 2; ++rank) REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  CHECK(data.compare(program) == "");
}

TEST_CASE("a run is not over before its workers have let go of the operands") {
  Problem problem;
  problem.fault = hand_woven::Fault::late_return;
  std::mt19937_64 random(12);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2, 60, 3);
  data.run(ops);
  for (int rank = 0; rank < 2; ++rank) REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  CHECK(hand_woven::late_returns == 2 * 3);
}

TEST_CASE("info names the plan, the rank and where tiles lie") {
  const Variant variant = GENERATE(kVariants[0], kVariants[1], kVariants[2]);
  Problem problem = make(variant, 2);
  problem.m = 40;
  problem.n = 20;
  const Program program(problem);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  tilepost_op_info_t info{};
  REQUIRE(tilepost_op_get_info(ops[1], &info) == TILEPOST_OK);
  CHECK(info.plan == program.get().plans);
  CHECK(info.rank == 1);
  CHECK(info.device_bytes > 0);
  const bool slots = variant.layout == TILEPOST_TILE && variant.consumer == TILEPOST_CONSUMER_NONE;
  CHECK(info.out_elements == (slots ? 9 * 16 * 8 : 40 * 20));
  REQUIRE((info.rows != nullptr) == slots);
  for (int tile = 0; slots && tile < 9; ++tile)
    CHECK(info.rows[tile] == program.map().tiles[program.map().positions[tile]].row);
}

TEST_CASE("a group's counter is reached across the wrap of 32 bits") {
  uint32_t counter = 0xfffffffe;
  const tilepost::HostSignal signal{&counter, 0xfffffffe, 4, 0};
  for (int raised = 0; raised < 4; ++raised, ++counter) {
    CHECK(signal.count() == static_cast<uint32_t>(raised));
    CHECK_FALSE(signal.reached());
  }
  CHECK(counter == 2);
  CHECK(signal.reached());
}
