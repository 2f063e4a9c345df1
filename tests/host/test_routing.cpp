// Routing on the host target: tables against the reference, for random routings of 1 to 4 ranks;
// mutants; errors.
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/host/problem.h"
#include "tests/host/routing_reference.h"

namespace {

using Catch::Contains;
using routing::below;
using routing::Load;
using routing::Random;
using routing::Shape;
using routing::Tokens;
using routing::Types;

Shape random_shape(Random& random) {
  Shape shape{};
  shape.ranks = 1 + below(random, 4);
  shape.experts = shape.ranks * (1 + below(random, below(random, 4) == 0 ? 128 : 12));
  shape.top = 1 + below(random, 8);
  shape.most_tokens = 1 + below(random, 60);
  return shape;
}

// A routing for each rank of a new communicator.
class Routings {
 public:
  Routings(const Shape& shape, const std::vector<Types>& types, double deadline_seconds = 60)
      : shape_(shape), types_(types), comms_(shape.ranks), handles_(shape.ranks) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const tilepost_routing_options_t options = types[rank].options(deadline_seconds);
      REQUIRE(tilepost_routing_create(comms_[rank], shape.experts, shape.top, shape.most_tokens,
                                      &options, &handles_[rank]) == TILEPOST_OK);
    }
  }
  ~Routings() {
    for (const tilepost_expert_routing_t handle : handles_) tilepost_routing_destroy(handle);
  }
  Routings(const Routings&) = delete;

  tilepost_expert_routing_t operator[](int rank) const { return handles_[rank]; }

  // Sets the tokens on all ranks, on this thread, and waits. Returns the first rank's result that
  // is no success.
  tilepost_result_t set(std::vector<Tokens>& all) {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      all[rank].encode(types_[rank]);
      const tilepost_result_t result =
          tilepost_routing_set(handles_[rank], all[rank].id_bytes.data(),
                               all[rank].weight_bytes.data(), all[rank].tokens, nullptr);
      if (result != TILEPOST_OK) return result;
    }
    tilepost_result_t first = TILEPOST_OK;
    for (int rank = 0; rank < shape_.ranks; ++rank)
      if (const auto result = tilepost_routing_synchronize(handles_[rank]); first == TILEPOST_OK)
        first = result;
    return first;
  }

  // What is wrong on any rank after a set of `all`, or "".
  std::string wrong(const std::vector<Tokens>& all) const {
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      tilepost_routing_info_t info{};
      if (tilepost_routing_get_info(handles_[rank], &info) != TILEPOST_OK) return "no info";
      const auto tables = read_tables(shape_, info, std::memcpy);
      if (const auto text = wrong_tables(shape_, rank, all, tables); !text.empty())
        return "rank " + std::to_string(rank) + ": " + text;
    }
    return "";
  }

 private:
  const Shape shape_;
  const std::vector<Types> types_;
  const Comms comms_;
  std::vector<tilepost_expert_routing_t> handles_;
};

std::vector<Types> random_types(const Shape& shape, Random& random) {
  std::vector<Types> types;
  for (int rank = 0; rank < shape.ranks; ++rank)
    types.push_back({below(random, 2) == 0, below(random, 2) == 0});
  return types;
}

// Tokens of all ranks. Some ranks have none, and some have as many as they may.
std::vector<Tokens> random_all(const Shape& shape, Random& random) {
  const auto load = static_cast<Load>(below(random, routing::kLoads));
  std::vector<Tokens> all;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int kind = below(random, 6);
    const int tokens = kind == 0   ? 0
                       : kind == 1 ? shape.most_tokens
                                   : below(random, shape.most_tokens + 1);
    all.push_back(random_tokens(shape, tokens, load, random));
  }
  return all;
}

tilepost_result_t create(tilepost_comm_t comm, int experts, int top, int64_t most_tokens) {
  tilepost_expert_routing_t routing = nullptr;
  const auto result = tilepost_routing_create(comm, experts, top, most_tokens, nullptr, &routing);
  CHECK((routing != nullptr) == (result == TILEPOST_OK));
  CHECK(tilepost_routing_destroy(routing) == TILEPOST_OK);
  return result;
}

}  // namespace

TEST_CASE("10000 random routings have the tables of the reference") {
  constexpr int kRoutings = 10000, kOfObject = 5;
  Random random(20261129);
  for (int number = 0; number < kRoutings;) {
    const Shape shape = random_shape(random);
    Routings routings(shape, random_types(shape, random));
    for (int i = 0; i < kOfObject; ++i, ++number) {
      std::vector<Tokens> all = random_all(shape, random);
      INFO("routing " << number << ": " << shape.ranks << " ranks, " << shape.experts
                      << " experts, top " << shape.top << ", at most " << shape.most_tokens);
      REQUIRE(routings.set(all) == TILEPOST_OK);
      REQUIRE(routings.wrong(all) == "");
    }
  }
}

TEST_CASE("a lost weight and a wrong expert are seen in the tables") {
  Random random(7);
  int mutants = 0;
  while (mutants < 200) {
    Shape shape = random_shape(random);
    if (shape.experts < 2) continue;
    std::vector<Tokens> all = random_all(shape, random);
    Tokens& mutated = all[below(random, shape.ranks)];
    if (mutated.tokens == 0) continue;
    const size_t route = random() % mutated.ids.size();
    const int64_t id = mutated.ids[route];
    if (id < 0 || id >= shape.experts) continue;
    Routings routings(shape, random_types(shape, random));
    const std::vector<Tokens> right = all;
    if (++mutants % 2 == 0)
      mutated.weights[route] = 0;
    else
      mutated.ids[route] = (id + 1 + below(random, shape.experts - 1)) % shape.experts;
    REQUIRE(routings.set(all) == TILEPOST_OK);
    CHECK(routings.wrong(right) != "");
    CHECK(routings.wrong(all) == "");
  }
}

TEST_CASE("an id below -1 is an error on all ranks, which names rank, token and id") {
  const Shape shape{3, 6, 2, 4};
  Random random(3);
  std::vector<Tokens> all;
  for (int rank = 0; rank < shape.ranks; ++rank)
    all.push_back(random_tokens(shape, 4, Load::even, random));
  Routings routings(shape, {{false, false}, {true, false}, {false, true}});
  REQUIRE(routings.set(all) == TILEPOST_OK);
  std::vector<Tokens> wrong = all;
  wrong[1].ids[5] = -5'000'000'000;
  wrong[2].ids[0] = -2;
  CHECK(routings.set(wrong) == TILEPOST_INVALID_ARGUMENT);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    CHECK(tilepost_routing_status(routings[rank]) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("rank 1: token 2 has the id -5000000000"));
  }
  // The tables are those of -1 in its place.
  wrong[1].ids[5] = wrong[2].ids[0] = -1;
  CHECK(routings.wrong(wrong) == "");
  CHECK(routings.set(all) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("make a new routing"));
}

TEST_CASE("routings of impossible terms are refused with their values") {
  const Comms comms(3);
  CHECK(create(comms[0], 9, 2, 8) == TILEPOST_OK);
  CHECK(create(comms[0], 8, 2, 8) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("3 ranks do not divide 8 experts"));
  CHECK(create(comms[0], 0, 2, 8) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("experts must be from 1 to 1536, got 0"));
  CHECK(create(comms[0], 1539, 2, 8) == TILEPOST_INVALID_ARGUMENT);
  const int top = GENERATE(0, 33);
  CHECK(create(comms[0], 9, top, 8) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Contains("top must be from 1 to 32, got " + std::to_string(top)));
  const int64_t tokens = GENERATE(int64_t{0}, int64_t{1} << 40);
  CHECK(create(comms[0], 9, 2, tokens) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Contains("most_tokens must be from 1 to 357913941, got " + std::to_string(tokens)));
  CHECK(create(nullptr, 9, 2, 8) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_routing_create(comms[0], 9, 2, 8, nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("options of a routing are checked") {
  const Comms comms(1);
  tilepost_expert_routing_t routing = nullptr;
  const auto refused = [&](const tilepost_routing_options_t& options, const char* text) {
    CHECK(tilepost_routing_create(comms[0], 8, 2, 8, &options, &routing) ==
          TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
  };
  tilepost_routing_options_t options = tilepost_default_routing_options();
  options.weights = TILEPOST_F16;
  refused(options, "options.weights must be TILEPOST_F32 or TILEPOST_BF16, got 1");
  options = tilepost_default_routing_options();
  options.ids = static_cast<tilepost_ids_t>(2);
  refused(options, "options.ids must be");
  options = tilepost_default_routing_options();
  options.deadline_seconds = -1;
  refused(options, "options.deadline_seconds must be");
  options = tilepost_default_routing_options();
  options.struct_size = 8;
  refused(options, "set it to sizeof(tilepost_routing_options_t)");
}

TEST_CASE("arguments of a set are checked") {
  const Shape shape{1, 8, 2, 4};
  Routings routings(shape, {{false, false}});
  alignas(8) int32_t ids[8] = {};
  alignas(8) float weights[8] = {};
  const auto refused = [&](const void* i, const void* w, int64_t m, const char* text) {
    CHECK(tilepost_routing_set(routings[0], i, w, m, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
  };
  refused(nullptr, weights, 4, "ids is null");
  refused(ids, nullptr, 4, "weights is null");
  refused(reinterpret_cast<char*>(ids) + 1, weights, 3, "ids");
  refused(ids, reinterpret_cast<char*>(weights) + 2, 3, "weights");
  refused(ids, weights, -1, "m must be from 0 to most_tokens, which is 4, got -1");
  refused(ids, weights, 5, "got 5");
  CHECK(tilepost_routing_set(routings[0], ids, weights, 1, reinterpret_cast<CUstream_st*>(ids)) ==
        TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("stream must be null"));
  CHECK(tilepost_routing_set(routings[0], nullptr, nullptr, 0, nullptr) == TILEPOST_OK);
  CHECK(tilepost_routing_set(nullptr, ids, weights, 1, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_routing_get_info(routings[0], nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_routing_status(nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_routing_synchronize(routings[0]) == TILEPOST_OK);
}

TEST_CASE("sets and runs of a communicator take turns, in the order of the calls") {
  Problem problem;
  Random random(11);
  Data data(problem, false, random);
  const Program program(problem);
  const Comms comms(problem.ranks);
  const Ops ops(comms, program.get(), problem.ranks);
  const Shape shape{problem.ranks, 8, 2, 64};
  std::vector<tilepost_expert_routing_t> routings(problem.ranks);
  std::vector<std::vector<Tokens>> sets;
  for (int rank = 0; rank < problem.ranks; ++rank)
    REQUIRE(tilepost_routing_create(comms[rank], shape.experts, shape.top, shape.most_tokens,
                                    nullptr, &routings[rank]) == TILEPOST_OK);
  for (int i = 0; i < 20; ++i) {
    sets.push_back(random_all(shape, random));
    for (int rank = 0; rank < problem.ranks; ++rank) {
      Tokens& own = sets.back()[rank];
      own.encode({false, false});
      REQUIRE(tilepost_routing_set(routings[rank], own.id_bytes.data(), own.weight_bytes.data(),
                                   own.tokens, nullptr) == TILEPOST_OK);
      REQUIRE(data.run(ops, rank) == TILEPOST_OK);
    }
  }
  for (int rank = 0; rank < problem.ranks; ++rank) {
    REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
    tilepost_routing_info_t info{};
    REQUIRE(tilepost_routing_get_info(routings[rank], &info) == TILEPOST_OK);
    // The last run has come behind the last set.
    CHECK(wrong_tables(shape, rank, sets.back(), read_tables(shape, info, std::memcpy)) == "");
    CHECK(tilepost_routing_destroy(routings[rank]) == TILEPOST_OK);
  }
}

TEST_CASE("a communicator is not destroyed while it has routings") {
  tilepost_comm_t comm = nullptr;
  REQUIRE(tilepost_comm_create_host(1, &comm) == TILEPOST_OK);
  tilepost_expert_routing_t routing = nullptr;
  REQUIRE(tilepost_routing_create(comm, 8, 2, 8, nullptr, &routing) == TILEPOST_OK);
  CHECK(tilepost_comm_destroy(comm) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("have not been destroyed: 1"));
  CHECK(tilepost_routing_destroy(routing) == TILEPOST_OK);
  CHECK(tilepost_comm_destroy(comm) == TILEPOST_OK);
}

TEST_CASE("a rank that does not set is named to the others") {
  const Shape shape{2, 8, 2, 4};
  Routings routings(shape, {{false, false}, {false, false}}, 0.05);
  CHECK(tilepost_routing_set(routings[0], nullptr, nullptr, 0, nullptr) == TILEPOST_OK);
  CHECK(tilepost_routing_synchronize(routings[0]) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 0, set 1 of 'routing': rank 1 did not arrive"));
  CHECK(tilepost_routing_set(routings[1], nullptr, nullptr, 0, nullptr) == TILEPOST_ABORTED);
}

TEST_CASE("ranks whose routings differ are told so") {
  const Comms comms(2);
  tilepost_expert_routing_t routings[2] = {};
  for (int rank = 0; rank < 2; ++rank)
    REQUIRE(tilepost_routing_create(comms[rank], 8, 2 + rank, 16, nullptr, &routings[rank]) ==
            TILEPOST_OK);
  for (const auto routing : routings)
    CHECK(tilepost_routing_set(routing, nullptr, nullptr, 0, nullptr) == TILEPOST_OK);
  for (const auto routing : routings) {
    CHECK(tilepost_routing_synchronize(routing) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("8 experts, top 2, 16 tokens at most") &&
                                          Contains("8 experts, top 3, 16 tokens at most"));
    CHECK(tilepost_routing_destroy(routing) == TILEPOST_OK);
  }
}
