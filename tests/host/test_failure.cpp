// A run that fails ends in time, has an error that says why, and leaves the process able to go on.
#include <chrono>
#include <string>

#include "tests/catch.h"
#include "tests/host/problem.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kDeadline = 0.3;
constexpr std::chrono::seconds kInTime{20};  // generous: the machine may be loaded

}  // namespace

TEST_CASE("a rank that never runs ends the others in a named error") {
  Problem problem;
  problem.ranks = 3;
  std::mt19937_64 random(1);
  Data data(problem, false, random);
  const Program program(problem);
  {
    const Comms comms(3);
    const Ops ops(comms, program.get(), 3, kDeadline);
    const auto start = Clock::now();
    REQUIRE(data.run(ops, 0) == TILEPOST_OK);
    REQUIRE(data.run(ops, 2) == TILEPOST_OK);
    CHECK(tilepost_op_status(ops[0]) == TILEPOST_IN_PROGRESS);
    for (const int rank : {0, 2}) {
      CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_TIMEOUT);
      CHECK_THAT(tilepost_last_error(),
                 Catch::Contains("run 1 of 'hand_woven', group 0: rank 1 did not arrive at the "
                                 "collective within 0.3 s"));
      CHECK(tilepost_op_status(ops[rank]) == TILEPOST_TIMEOUT);
      CHECK(data.run(ops, rank) == TILEPOST_ABORTED);
    }
    CHECK(Clock::now() - start < kInTime);
    CHECK(tilepost_op_status(ops[1]) == TILEPOST_ABORTED);
    CHECK(tilepost_op_synchronize(ops[1]) == TILEPOST_ABORTED);
    CHECK(data.run(ops, 1) == TILEPOST_ABORTED);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("make a new one"));
    tilepost_op_t op = nullptr;
    CHECK(tilepost_op_create(comms[1], &program.get(), nullptr, &op) == TILEPOST_ABORTED);
    CHECK(op == nullptr);
  }
  CHECK(run_and_compare(problem, false, 1) == "");
}

TEST_CASE("destroying an operation whose run cannot end takes no longer than the deadline") {
  Problem problem;
  std::mt19937_64 random(2);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(2);
  const auto start = Clock::now();
  {
    const Ops ops(comms, program.get(), 2, kDeadline);
    for (int run = 0; run < 5; ++run) REQUIRE(data.run(ops, 0) == TILEPOST_OK);
  }
  CHECK(Clock::now() - start < kInTime);
}

TEST_CASE("a rank that lost a signal is named by those who wait for it") {
  Problem good, bad;
  bad.fault = hand_woven::Fault::missing_signal;
  std::mt19937_64 random(3);
  Data data(good, false, random);
  const Program program(good), broken(bad);
  const Comms comms(2);
  // Rank 0 gives up long before rank 1.
  tilepost_options_t options = tilepost_default_options();
  tilepost_op_t ops[2] = {};
  options.deadline_seconds = kDeadline;
  REQUIRE(tilepost_op_create(comms[0], &program.get(), &options, &ops[0]) == TILEPOST_OK);
  options.deadline_seconds = 600;
  REQUIRE(tilepost_op_create(comms[1], &broken.get(), &options, &ops[1]) == TILEPOST_OK);
  for (int rank = 0; rank < 2; ++rank)
    REQUIRE(tilepost_op_run(ops[rank], data.a[rank].data(), data.b[rank].data(),
                            data.out[rank].data(), nullptr) == TILEPOST_OK);
  for (const tilepost_op_t op : ops) {
    CHECK(tilepost_op_synchronize(op) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("rank 1 waits for the counter of group 2: it stands at 15, "
                               "target 16"));
  }
  for (const tilepost_op_t op : ops) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE("ranks that run different operations are told which, though these have one name") {
  Problem problem, other;
  other.groups = 2;
  std::mt19937_64 random(4);
  Data data(problem, false, random);
  const Program program(problem), second(other);
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2), second_ops(comms, second.get(), 2);
  for (int run = 1; run <= 2; ++run) REQUIRE(data.run(ops, 0) == TILEPOST_OK);
  REQUIRE(data.run(ops, 1) == TILEPOST_OK);
  REQUIRE(data.run(second_ops, 1) == TILEPOST_OK);
  for (const tilepost_op_t op : {ops[0], second_ops[1]}) {
    CHECK(tilepost_op_synchronize(op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("rank 0 is at run 2 of 'hand_woven', its operation 1") &&
                   Catch::Contains("rank 1 is at run 1 of 'hand_woven', its operation 2") &&
                   Catch::Contains("every rank must make the same calls in the same order"));
  }
}

TEST_CASE("a rank with an operation more than the others is told so") {
  const Problem problem;
  std::mt19937_64 random(6);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(2);
  tilepost_op_t extra = nullptr;
  REQUIRE(tilepost_op_create(comms[1], &program.get(), nullptr, &extra) == TILEPOST_OK);
  {
    const Ops ops(comms, program.get(), 2);
    data.run(ops);
    CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("rank 0 is at run 1 of 'hand_woven', its operation 1") &&
                   Catch::Contains("rank 1 is at run 1 of 'hand_woven', its operation 2"));
  }
  CHECK(tilepost_op_destroy(extra) == TILEPOST_OK);
}

TEST_CASE("ranks with programs of one name and other groups are told so") {
  Problem problem, other;
  other.groups = 2;
  std::mt19937_64 random(7);
  Data data(problem, false, random);
  const Program program(problem), second(other);
  const Comms comms(2);
  tilepost_op_t ops[2] = {};
  REQUIRE(tilepost_op_create(comms[0], &program.get(), nullptr, &ops[0]) == TILEPOST_OK);
  REQUIRE(tilepost_op_create(comms[1], &second.get(), nullptr, &ops[1]) == TILEPOST_OK);
  for (int rank = 0; rank < 2; ++rank)
    REQUIRE(tilepost_op_run(ops[rank], data.a[rank].data(), data.b[rank].data(),
                            data.out[rank].data(), nullptr) == TILEPOST_OK);
  for (const tilepost_op_t op : ops) {
    CHECK(tilepost_op_synchronize(op) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Catch::Contains("'s plan is not that of rank "));
  }
  for (const tilepost_op_t op : ops) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE("operations that meet no other rank are made and run by each rank alone") {
  Problem alone, problem;
  alone.pattern = TILEPOST_GEMM;
  alone.transport = TILEPOST_TRANSPORT_NONE;
  alone.ranks = 1;
  std::mt19937_64 random(8);
  Data own(alone, false, random), data(problem, false, random);
  const Program first(alone), program(problem);
  const Comms comms(2);
  const Ops own_ops(comms, first.get(), 1);
  const Ops ops(comms, program.get(), 2);
  own.run(own_ops);
  data.run(ops);
  for (int rank = 0; rank < 2; ++rank) CHECK(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  CHECK(data.compare(program) == "");
  CHECK(own.compare(first) == "");
}

TEST_CASE("communicators and operations come and go 1000 times, in any order") {
  Problem problem;
  problem.m = problem.n = 20;
  problem.k = 4;
  std::mt19937_64 random(5);
  Data data(problem, false, random);
  const Program program(problem);
  for (int round = 0; round < 1000; ++round) {
    tilepost_comm_t comms[2] = {};
    tilepost_op_t ops[2] = {};
    REQUIRE(tilepost_comm_create_host(2, comms) == TILEPOST_OK);
    for (int rank = 0; rank < 2; ++rank)
      REQUIRE(tilepost_op_create(comms[rank], &program.get(), nullptr, &ops[rank]) == TILEPOST_OK);
    if (round % 3 != 0)
      for (int rank = 0; rank < 2; ++rank)
        REQUIRE(tilepost_op_run(ops[rank], data.a[rank].data(), data.b[rank].data(),
                                data.out[rank].data(), nullptr) == TILEPOST_OK);
    const int first = round % 2;
    CHECK(tilepost_op_destroy(ops[first]) == TILEPOST_OK);
    CHECK(tilepost_comm_destroy(comms[first]) == TILEPOST_OK);
    CHECK(tilepost_op_destroy(ops[1 - first]) == TILEPOST_OK);
    CHECK(tilepost_comm_destroy(comms[1 - first]) == TILEPOST_OK);
  }
  CHECK(data.compare(program) == "");
}
