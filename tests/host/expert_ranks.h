// What tests of both halves of a layer of experts share on the host target: operands of whole
// numbers, and the operations of a program on all ranks, each bound to a routing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/host/problem.h"
#include "tests/host/routing_reference.h"
#include "tilepost/numeric.h"
#include "tilepost/routing.h"

namespace experts {

using routing::below;
using routing::drawn;
using routing::Load;
using routing::Random;
using routing::Shape;
using routing::Tokens;
using tilepost::Bf16;

constexpr uint16_t kUntouched = 0x7fff;

// Element `at_k` of row `row` of a rank's A in a run, and of row `row` of an expert's B.
inline int element_a(int run, int rank, int row, int at_k) {
  return drawn(1000 + static_cast<uint64_t>(run) * 64 + static_cast<uint64_t>(rank),
               int64_t{row} * 1000 + at_k);
}
inline int element_b(int expert, int row, int at_k) {
  return drawn(static_cast<uint64_t>(expert), int64_t{row} * 1000 + at_k);
}

std::vector<Bf16> matrix(int64_t rows, int64_t columns, const auto& element) {
  std::vector<Bf16> made;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      made.push_back(tilepost::from_float<Bf16>(
          static_cast<float>(element(static_cast<int>(row), static_cast<int>(column)))));
  return made;
}

class Ranks {
 public:
  // `rows_of_b`: of an expert.
  Ranks(const tilepost_program_t& program, int rows_of_b, double deadline_seconds)
      : plan_(program.plans[0]),
        shape_{plan_.ranks, plan_.experts * plan_.ranks, plan_.top, share(plan_.map.m)},
        comms_(plan_.ranks),
        ranks_(plan_.ranks) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      tilepost_routing_options_t routes = tilepost_default_routing_options();
      routes.deadline_seconds = deadline_seconds;
      Rank& own = ranks_[rank];
      REQUIRE(tilepost_routing_create(comms_[rank], shape_.experts, shape_.top, shape_.most_tokens,
                                      &routes, &own.routing) == TILEPOST_OK);
      tilepost_options_t options = tilepost_default_options();
      options.routing = own.routing;
      options.deadline_seconds = deadline_seconds;
      REQUIRE(tilepost_op_create(comms_[rank], &program, &options, &own.op) == TILEPOST_OK);
      const int first = rank * plan_.experts;
      own.b = matrix(int64_t{plan_.experts} * rows_of_b, plan_.k, [&](int row, int at_k) {
        return element_b(first + row / rows_of_b, row % rows_of_b, at_k);
      });
    }
  }
  virtual ~Ranks() {
    for (const Rank& rank : ranks_) {
      tilepost_op_destroy(rank.op);
      tilepost_routing_destroy(rank.routing);
    }
  }
  Ranks(const Ranks&) = delete;

  const Shape& shape() const { return shape_; }
  const tilepost_plan_t& plan() const { return plan_; }
  int share(int64_t m) const { return static_cast<int>((m + plan_.ranks - 1) / plan_.ranks); }
  // The rows of a rank's share of a run of m rows.
  int rows_of(int rank, int64_t m) const {
    const int64_t left = m - int64_t{rank} * share(m);
    return static_cast<int>(std::clamp<int64_t>(left, 0, share(m)));
  }
  tilepost_expert_routing_t routing(int rank) const { return ranks_[rank].routing; }
  tilepost_comm_t comm(int rank) const { return comms_[rank]; }

  // Routes a rank's tokens.
  tilepost_result_t set(int rank, Tokens& tokens) {
    tokens.encode({false, false});
    return tilepost_routing_set(ranks_[rank].routing, tokens.id_bytes.data(),
                                tokens.weight_bytes.data(), tokens.tokens, nullptr);
  }
  // Starts a run of m rows on a rank.
  virtual tilepost_result_t start(int rank, int run, int64_t m) = 0;
  tilepost_result_t synchronize(int rank) { return tilepost_op_synchronize(ranks_[rank].op); }

  // Runs all ranks.
  void run(int number, std::vector<Tokens>& all, int64_t m) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      REQUIRE(set(rank, all[rank]) == TILEPOST_OK);
      REQUIRE(start(rank, number, m) == TILEPOST_OK);
    }
    for (int rank = 0; rank < plan_.ranks; ++rank) REQUIRE(synchronize(rank) == TILEPOST_OK);
  }

  bool is_untouched(int rank) const {
    return std::ranges::all_of(ranks_[rank].out,
                               [](Bf16 value) { return value.bits == kUntouched; });
  }

 protected:
  struct Rank {
    tilepost_expert_routing_t routing = nullptr;
    tilepost_op_t op = nullptr;
    std::vector<Bf16> a, b, residual, out;
  };

  // Starts a run of m rows with the rank's operands, whose output has `elements` elements.
  tilepost_result_t start(Rank& own, int64_t elements, int64_t m) const {
    own.out.assign(static_cast<size_t>(elements), Bf16{kUntouched});
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = own.a.data();
    operands.b = own.b.data();
    operands.residual = own.residual.data();
    operands.out = own.out.data();
    operands.m = m;
    return tilepost_op_run_with(own.op, &operands, nullptr);
  }

  const tilepost_plan_t& plan_;
  const Shape shape_;
  const Comms comms_;
  std::vector<Rank> ranks_;
};

// Tokens of all ranks for a run of m rows, which `draw` draws. Some ranks have none.
template <class Draw>
std::vector<Tokens> random_all(const Ranks& ranks, int64_t m, Random& random, const Draw& draw) {
  const auto load = static_cast<Load>(below(random, routing::kLoads));
  std::vector<Tokens> all;
  for (int rank = 0; rank < ranks.shape().ranks; ++rank) {
    const int most = ranks.rows_of(rank, m), kind = below(random, 6);
    const int tokens = kind == 0 ? 0 : kind == 1 ? most : below(random, most + 1);
    all.push_back(draw(ranks.shape(), tokens, load, random));
  }
  return all;
}

// A copy of a program with another kernel.
struct Mutated {
  Mutated(const tilepost_program_t& right, tilepost_host_kernel_t kernel)
      : plan(right.plans[0]), program(right) {
    plan.kernel.host_function = kernel;
    program.plans = &plan;
    program.num_plans = 1;
  }
  Mutated(const Mutated&) = delete;

  tilepost_plan_t plan;
  tilepost_program_t program;
};

constexpr std::chrono::milliseconds kLate{20};

// Runs all ranks, each of which comes late behind the one before it. `set` is called when all have
// routed their tokens.
template <class Set>
void run_late(Ranks& ranks, int number, std::vector<Tokens>& all, const Set& set) {
  const int count = ranks.plan().ranks;
  for (int rank = 0; rank < count; ++rank) REQUIRE(ranks.set(rank, all[rank]) == TILEPOST_OK);
  set();
  for (int rank = 0; rank < count; ++rank) {
    REQUIRE(ranks.start(rank, number, ranks.plan().map.m) == TILEPOST_OK);
    std::this_thread::sleep_for(kLate);
  }
  for (int rank = 0; rank < count; ++rank) REQUIRE(ranks.synchronize(rank) == TILEPOST_OK);
}

// `tokens` tokens whose routes all have the same id.
inline Tokens tokens_with_id(const Ranks& ranks, int tokens, int id) {
  Tokens made;
  made.tokens = tokens;
  made.ids.assign(static_cast<size_t>(tokens * ranks.plan().top), id);
  made.weights.assign(made.ids.size(), 1.0f);
  return made;
}

// Two ranks, of which rank 0 may have so many rows: checks a run with as many by `is_right`, which
// gets the tokens, and that one with more ends on all ranks and writes nothing.
template <class IsRight>
void check_bound(Ranks& ranks, const IsRight& is_right) {
  const int64_t m = ranks.plan().map.m;
  const int most = static_cast<int>(ranks.plan().most_rows), top = ranks.plan().top;
  const Tokens few = tokens_with_id(ranks, most / top, 1);
  const Tokens many = tokens_with_id(ranks, ranks.share(m), 1);
  std::vector<Tokens> all = {few, Tokens{}};
  ranks.run(0, all, m);
  is_right(all);
  all = {few, many};
  for (int rank = 0; rank < 2; ++rank) {
    REQUIRE(ranks.set(rank, all[rank]) == TILEPOST_OK);
    REQUIRE(ranks.start(rank, 1, m) == TILEPOST_OK);
  }
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(ranks.synchronize(rank) == TILEPOST_INVALID_ARGUMENT);
    const int rows = (few.tokens + many.tokens) * top;
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("gives rank 0 " + std::to_string(rows) +
                               " rows, and max_rows of the plan is " + std::to_string(most)));
    CHECK(ranks.is_untouched(rank));
  }
}

// Checks that a run is refused where a rank has more tokens than its share has rows.
inline void check_tokens_fit(Ranks& ranks) {
  const int64_t m = 10;
  const Tokens tokens = tokens_with_id(ranks, ranks.share(m) + 1, -1);
  std::vector<Tokens> all = {tokens, tokens};
  for (int rank = 0; rank < 2; ++rank) REQUIRE(ranks.set(rank, all[rank]) == TILEPOST_OK);
  CHECK(ranks.start(0, 0, m) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Catch::Contains("has routed 6 tokens, and this rank's share of the run is 5 rows; "
                             "pass a larger m"));
}

// A number of rows for a run: one time of four as many as the plan has.
inline int64_t random_m(const Ranks& ranks, Random& random) {
  const auto most = static_cast<int>(ranks.plan().map.m);
  return below(random, 4) == 0 ? most : 1 + below(random, most);
}

}  // namespace experts
