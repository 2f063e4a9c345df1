// Tokens that go to experts on the host target: results bit by bit against a reference, for random
// routings of 1 to 4 ranks; mutants; bad input.
#include <string>
#include <vector>

#include "dispatch_programs.h"  // written by CMakeLists.txt: kPrograms, kBoundedProgram
#include "tests/host/expert_ranks.h"

namespace {

using Catch::Contains;
using namespace experts;

// Tokens of all ranks go to experts, whose products of gate and up are multiplied.
class Dispatch final : public Ranks {
 public:
  explicit Dispatch(const tilepost_program_t& program, double deadline_seconds = 60)
      : Ranks(program, 2 * static_cast<int>(program.plans[0].map.n), deadline_seconds) {}

  tilepost_result_t start(int rank, int run, int64_t m) override {
    Rank& own = ranks_[rank];
    own.a = matrix(share(m), plan_.k,
                   [&](int token, int at_k) { return element_a(run, rank, token, at_k); });
    return Ranks::start(own, std::min<int64_t>(plan_.most_rows, m * plan_.top) * plan_.map.n, m);
  }

  // What is wrong with the output of a rank after a run, or "".
  std::string wrong(int rank, int run, const std::vector<Tokens>& all) const {
    const auto n = static_cast<size_t>(plan_.map.n);
    const std::vector<Bf16>& out = ranks_[rank].out;
    size_t row = 0;
    for (int local = 0; local < plan_.experts; ++local)
      for (int distance = 0; distance < plan_.ranks; ++distance) {
        const int source = (rank + distance) % plan_.ranks, expert = rank * plan_.experts + local;
        for (size_t route = 0; route < all[source].ids.size(); ++route) {
          if (all[source].ids[route] != expert) continue;
          for (size_t column = 0; column < n; ++column)
            if (tilepost::to_float(out[row * n + column]) !=
                static_cast<float>(expected(run, source, static_cast<int>(route) / plan_.top,
                                            expert, static_cast<int>(column))))
              return "rank " + std::to_string(rank) + ", row " + std::to_string(row);
          ++row;
        }
      }
    for (size_t i = row * n; i < out.size(); ++i)
      if (out[i].bits != kUntouched) return "a row behind the last one was written";
    return "";
  }

 private:
  int expected(int run, int source, int token, int expert, int column) const {
    const auto n = static_cast<int>(plan_.map.n);
    int gate = 0, up = 0;
    for (int at_k = 0; at_k < plan_.k; ++at_k) {
      gate += element_a(run, source, token, at_k) * element_b(expert, column, at_k);
      up += element_a(run, source, token, at_k) * element_b(expert, n + column, at_k);
    }
    return gate * up;
  }
};

std::vector<Tokens> random_all(const Ranks& ranks, int64_t m, Random& random) {
  return experts::random_all(ranks, m, random, routing::random_tokens);
}

void check_random(int routings) {
  Random random(20261130);
  for (const auto program : kPrograms) {
    Dispatch ranks(*program());
    for (int run = 0; run < routings; ++run) {
      const int64_t m = random_m(ranks, random);
      std::vector<Tokens> all = random_all(ranks, m, random);
      INFO(program()->name << ", run " << run << ", m " << m);
      ranks.run(run, all, m);
      for (int rank = 0; rank < ranks.shape().ranks; ++rank)
        REQUIRE(ranks.wrong(rank, run, all) == "");
    }
  }
}

// ---- Mutants

enum class Mutant { none, counter_before_rows, old_epoch, wrong_expert, wrong_token };
Mutant mutant = Mutant::none;
tilepost_host_kernel_t right_kernel = nullptr;

void mutated(const void* a, const void* b, void* c, tilepost_shape_t shape,
             tilepost_epilogue_t epilogue, int worker, int workers, tilepost_view_t view) {
  constexpr uint32_t kFar = 1u << 20;
  const tilepost_token_tile_t* const right = view.token_tiles;
  std::vector<tilepost_token_tile_t> list(right, right + 1 + right->row);
  std::vector<int32_t> tokens;
  if (mutant == Mutant::counter_before_rows) view.ready -= kFar;
  if (mutant == Mutant::old_epoch) view.ready -= 1;
  if (mutant == Mutant::wrong_expert)
    for (size_t i = 1; i < list.size(); ++i) list[i].expert = (list[i].expert + 1) % view.experts;
  if (mutant == Mutant::wrong_token) {
    const int rows = view.expert_ends[view.experts - 1];
    tokens.assign(view.row_tokens, view.row_tokens + rows);
    for (int32_t& token : tokens) token = token % view.most_tokens == 0 ? token + 1 : token - 1;
    view.row_tokens = tokens.data();
  }
  view.token_tiles = list.data();
  right_kernel(a, b, c, shape, epilogue, worker, workers, view);
}

// Whether rank 0's output is right in two runs to which the other rank comes late.
bool is_right(const tilepost_program_t& program, Mutant which) {
  right_kernel = program.plans[0].kernel.host_function;
  mutant = which;
  const Mutated mutant_program(program, mutated);
  Dispatch ranks(mutant_program.program);
  Random random(5);
  const int64_t m = ranks.plan().map.m;
  bool right = true;
  for (int run = 0; run < 2; ++run) {
    std::vector<Tokens> all;
    for (int rank = 0; rank < ranks.plan().ranks; ++rank)
      all.push_back(random_tokens(ranks.shape(), ranks.share(m), Load::even, random));
    run_late(ranks, run, all, [] {});
    right = right && ranks.wrong(0, run, all).empty();
  }
  return right;
}

}  // namespace

TEST_CASE("tokens of random routings are multiplied by their experts") {
  check_random(25);
}

TEST_CASE("tokens of 10000 random routings are multiplied by their experts", "[.many]") {
  check_random(10000 / static_cast<int>(std::size(kPrograms)) + 1);
}

TEST_CASE("wrong experts and tokens, and waits that end too early, are seen in the results") {
  for (const auto program : kPrograms) {
    if (program()->plans[0].ranks != 2) continue;
    INFO(program()->name);
    const bool waits = program()->plans[0].map.division == TILEPOST_DIVISION_ARRIVALS;
    CHECK(is_right(*program(), Mutant::none));
    CHECK(!is_right(*program(), Mutant::wrong_expert));
    CHECK(!is_right(*program(), Mutant::wrong_token));
    if (!waits) continue;
    CHECK(!is_right(*program(), Mutant::counter_before_rows));
    CHECK(!is_right(*program(), Mutant::old_epoch));
  }
}

TEST_CASE("a run with more rows than max_rows ends on all ranks, and writes nothing") {
  Dispatch ranks(*kBoundedProgram());
  check_bound(ranks, [&](const std::vector<Tokens>& all) { CHECK(ranks.wrong(0, 0, all) == ""); });
}

TEST_CASE("operations are bound to a routing of their own communicator and terms") {
  const tilepost_program_t& program = *kBoundedProgram();
  const tilepost_plan_t& plan = program.plans[0];
  const Comms comms(2), others(2);
  const auto refused = [&](tilepost_comm_t comm, int experts, int top, int tokens) {
    tilepost_options_t options = tilepost_default_options();
    REQUIRE(tilepost_routing_create(comm, experts, top, tokens, nullptr, &options.routing) ==
            TILEPOST_OK);
    tilepost_op_t op = nullptr;
    CHECK(tilepost_op_create(comms[0], &program, &options, &op) == TILEPOST_INVALID_ARGUMENT);
    const std::string text = tilepost_last_error();
    CHECK(tilepost_routing_destroy(options.routing) == TILEPOST_OK);
    return text;
  };
  const int experts = plan.experts * 2, share = static_cast<int>(plan.map.m / 2);
  CHECK_THAT(refused(others[0], experts, plan.top, share), Contains("of another communicator"));
  CHECK_THAT(refused(comms[0], experts + 2, plan.top, share),
             Contains("experts " + std::to_string(experts + 2) + ", the program is for " +
                      std::to_string(experts)));
  CHECK_THAT(refused(comms[0], experts, plan.top + 1, share),
             Contains("top " + std::to_string(plan.top + 1) + ", the program is for"));
  CHECK_THAT(refused(comms[0], experts, plan.top, share + 1),
             Contains("most_tokens " + std::to_string(share + 1) + ", and a share"));
  tilepost_op_t op = nullptr;
  CHECK(tilepost_op_create(comms[0], &program, nullptr, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("options.routing is null, but"));
}

TEST_CASE("a rank's tokens must fit its share of a run") {
  Dispatch ranks(*kBoundedProgram());
  check_tokens_fit(ranks);
}
