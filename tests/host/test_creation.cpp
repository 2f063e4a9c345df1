// What operations take is known before they are made; several are made by one call; and which runs
// overlap is known before they run.
#include <cstring>

#include "tests/catch.h"
#include "tests/host/variants.h"

using Catch::Contains;

namespace {

tilepost_memory_t empty() {
  return {sizeof(tilepost_memory_t), 0, 0, 0};
}

bool is_same(const tilepost_memory_t& one, const tilepost_memory_t& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

// Checks that every rank's operation takes what was said before.
void check_memory(const Problem& problem) {
  INFO(describe(problem));
  const Program program(problem);
  const Comms comms(problem.ranks);
  std::vector<tilepost_memory_t> planned;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    tilepost_memory_t memory = empty();
    REQUIRE(tilepost_program_memory(comms[rank], &program.get(), nullptr, &memory) == TILEPOST_OK);
    planned.push_back(memory);
  }
  const Ops ops(comms, program.get(), problem.ranks);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    tilepost_memory_t taken = empty();
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_memory(ops[rank], &taken) == TILEPOST_OK);
    REQUIRE(tilepost_op_get_info(ops[rank], &info) == TILEPOST_OK);
    CHECK(is_same(planned[static_cast<size_t>(rank)], taken));
    CHECK(taken.device_bytes == info.device_bytes);
    CHECK(taken.device_bytes > 0);
    CHECK(taken.shared_bytes <= taken.device_bytes);
    CHECK(taken.pinned_bytes == 0);
  }
}

Problem sums(int ranks, int64_t m) {
  Problem problem;
  problem.ranks = ranks;
  problem.m = m;
  return problem;
}

}  // namespace

TEST_CASE("memory: every pattern and transport takes what was said before") {
  uint64_t seed = 0;
  for (const Variant& variant : all_variants())
    for (const int ranks : {1, 3}) {
      if (ranks == 1 && variant.pattern != TILEPOST_GEMM) continue;
      Problem problem = make(variant, ranks, ++seed);
      if (problem.access == TILEPOST_ACCESS_TILES) problem.cluster = 1;
      problem.m = 37;
      problem.n = 40;
      check_memory(problem);
    }
}

TEST_CASE("memory: operations that share an arena take it once") {
  Problem problem = make(
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_PANEL, TILEPOST_CONSUMER_NONE, TILEPOST_TRANSPORT_HOST,
       TILEPOST_ROUTING_EVEN, TILEPOST_ACCESS_TILES, false, false, TILEPOST_ONE_SHOT},
      2, 1);
  problem.cluster = 1;
  const Program program(problem);
  const Comms comms(2);
  tilepost_options_t options = tilepost_default_options();
  options.share_memory = 1;
  std::vector<tilepost_op_t> all;
  for (const bool first : {true, false})
    for (int rank = 0; rank < 2; ++rank) {
      tilepost_memory_t planned = empty(), taken = empty();
      REQUIRE(tilepost_program_memory(comms[rank], &program.get(), &options, &planned) ==
              TILEPOST_OK);
      REQUIRE(tilepost_op_create(comms[rank], &program.get(), &options, &all.emplace_back()) ==
              TILEPOST_OK);
      REQUIRE(tilepost_op_memory(all.back(), &taken) == TILEPOST_OK);
      CHECK(is_same(planned, taken));
      CHECK((taken.shared_bytes > 0) == first);
    }
  for (tilepost_op_t op : all) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE("memory: wrong arguments are named") {
  const Program program(sums(2, 64));
  const Comms comms(2);
  tilepost_memory_t memory = empty();
  memory.struct_size = 4;
  CHECK(tilepost_program_memory(comms[0], &program.get(), nullptr, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("memory.struct_size is 4"));
  memory = empty();
  const Program other(sums(3, 64));
  CHECK(tilepost_program_memory(comms[0], &other.get(), nullptr, &memory) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK(memory.device_bytes == 0);
}

TEST_CASE("one call makes the operations of several ranks, which run") {
  Problem problem = sums(3, 50);
  const Program program(problem);
  const Comms comms(3);
  const tilepost_comm_t all[] = {comms[0], comms[1], comms[2]};
  tilepost_op_t ops[3] = {};
  REQUIRE(tilepost_ops_create(all, 3, &program.get(), nullptr, ops) == TILEPOST_OK);
  std::mt19937_64 random(7);
  Data data(problem, true, random);
  for (int rank = 0; rank < 3; ++rank) {
    tilepost_op_info_t info{};
    CHECK(tilepost_op_get_info(ops[rank], &info) == TILEPOST_OK);
    CHECK(info.rank == rank);
    CHECK(tilepost_op_run(ops[rank], data.a[rank].data(), data.b[rank].data(),
                          data.out[rank].data(), nullptr) == TILEPOST_OK);
  }
  for (tilepost_op_t op : ops) CHECK(tilepost_op_synchronize(op) == TILEPOST_OK);
  CHECK(data.compare(program).empty());
  // The communicators count these operations.
  CHECK(tilepost_comm_destroy(comms[1]) == TILEPOST_INVALID_ARGUMENT);
  for (tilepost_op_t op : ops) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE("if one operation of several cannot be made, none is") {
  const Program program(sums(2, 64));
  const Comms comms(2), others(3);
  tilepost_op_t ops[2] = {};
  const auto refused = [&](const tilepost_comm_t* all, int count, const std::string& text) {
    ops[0] = ops[1] = reinterpret_cast<tilepost_op_t>(&ops);
    CHECK(tilepost_ops_create(all, count, &program.get(), nullptr, ops) ==
          TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
    if (count == 2) {
      CHECK(ops[0] == nullptr);
      CHECK(ops[1] == nullptr);
    }
  };
  const tilepost_comm_t wrong[] = {comms[0], others[1]}, twice[] = {comms[0], comms[0]},
                        missing[] = {comms[0], nullptr};
  refused(wrong, 2, "comms[1]: ");
  refused(twice, 2, "comms[1] is comms[0]");
  refused(missing, 2, "comm is null");
  refused(nullptr, 2, "comms is null");
  refused(wrong, 0, "count must be from 1 to 64, got 0");
  refused(wrong, 65, "count must be from 1 to 64, got 65");
  CHECK(tilepost_ops_create(wrong, 2, &program.get(), nullptr, nullptr) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_ops_create(wrong, 2, nullptr, nullptr, ops) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("which runs overlap is known") {
  Problem problem = sums(2, 256);
  problem.any_m = true;
  Program program(problem);
  program.plan().model.sequence_ctas = program.plan().gemm_ctas;
  program.plan().model.wave = program.plan().model.sequence_wave = 10;
  program.plan().model.latency = 100;
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  int overlaps = -1, before = 0;
  for (int64_t m = 0; m <= 256; ++m) {
    REQUIRE(tilepost_op_overlaps(ops[0], m, &overlaps) == TILEPOST_OK);
    CHECK(overlaps >= before);  // many rows overlap where few do
    before = overlaps;
    if (m == 0) CHECK(overlaps == 0);
    int theirs = -1;
    REQUIRE(tilepost_op_overlaps(ops[1], m, &theirs) == TILEPOST_OK);
    CHECK(theirs == overlaps);
  }
  int planned = -1;
  CHECK(tilepost_op_overlaps(ops[0], TILEPOST_PLANNED_M, &planned) == TILEPOST_OK);
  CHECK(planned == overlaps);
  CHECK(tilepost_op_overlaps(ops[0], 257, &overlaps) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("from 0 to 256"));
  CHECK(tilepost_op_overlaps(ops[0], 1, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_overlaps(nullptr, 1, &overlaps) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("runs of a plan for one number of rows overlap, or do not") {
  for (const auto transport : {TILEPOST_TRANSPORT_HOST, TILEPOST_TRANSPORT_NONE}) {
    Problem problem = sums(2, 64);
    problem.transport = transport;
    if (transport == TILEPOST_TRANSPORT_NONE) problem.groups = 1;
    const Program program(problem);
    const Comms comms(2);
    const Ops ops(comms, program.get(), 2);
    int overlaps = -1;
    CHECK(tilepost_op_overlaps(ops[0], 64, &overlaps) == TILEPOST_OK);
    CHECK(overlaps == (transport == TILEPOST_TRANSPORT_HOST ? 1 : 0));
    CHECK(tilepost_op_overlaps(ops[0], 63, &overlaps) == TILEPOST_INVALID_ARGUMENT);
  }
}
