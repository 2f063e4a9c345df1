// Rows of experts that are summed by token on the host target: results bit by bit against a
// reference, for random routings of 1 to 4 ranks; mutants; bad input.
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "combine_programs.h"  // written by CMakeLists.txt: kPrograms, kBoundedProgram
#include "tests/host/expert_ranks.h"

namespace {

using Catch::Contains;
using namespace experts;

// Element `column` of a token's residual.
int residual_of(int run, int rank, int token, int column) {
  return drawn(500000 + static_cast<uint64_t>(run) * 64 + static_cast<uint64_t>(rank),
               int64_t{token} * 1000 + column);
}

float rounded(float value) {
  return tilepost::to_float(tilepost::from_float<Bf16>(value));
}

// Rows of experts are summed by token.
class Combine final : public Ranks {
 public:
  explicit Combine(const tilepost_program_t& program)
      : Ranks(program, static_cast<int>(program.plans[0].map.n), 60) {}

  tilepost_result_t start(int rank, int run, int64_t m) override {
    Rank& own = ranks_[rank];
    own.a = matrix(std::min<int64_t>(plan_.most_rows, m * plan_.top), plan_.k,
                   [&](int row, int at_k) { return element_a(run, rank, row, at_k); });
    own.residual = matrix(rows_of(rank, m), plan_.map.n, [&](int token, int column) {
      return residual_of(run, rank, token, column);
    });
    return Ranks::start(own, int64_t{rows_of(rank, m)} * plan_.map.n, m);
  }

  // What is wrong with the outputs of a run, or "".
  std::string wrong(int run, const std::vector<Tokens>& all, int64_t m) const {
    const int n = static_cast<int>(plan_.map.n);
    // By the rank of the token: the sum over the ranks before, of all tokens and columns.
    std::vector<std::vector<float>> sums(plan_.ranks);
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const std::vector<std::vector<float>> parts = parts_of(run, rank, all, m);
      for (int home = 0; home < plan_.ranks; ++home) {
        sums[home].resize(parts[home].size());
        for (size_t i = 0; i < parts[home].size(); ++i) sums[home][i] += rounded(parts[home][i]);
      }
    }
    for (int home = 0; home < plan_.ranks; ++home)
      for (size_t i = 0; i < sums[home].size(); ++i)
        if (tilepost::to_float(ranks_[home].out[i]) != rounded(sums[home][i]))
          return "rank " + std::to_string(home) + ", token " +
                 std::to_string(static_cast<int>(i) / n) + ", column " +
                 std::to_string(static_cast<int>(i) % n);
    return "";
  }

 private:
  // What a rank adds to every token, by the token's rank, before it is rounded. Rows are counted
  // in the order that tilepost/routing.h states.
  std::vector<std::vector<float>> parts_of(int run, int rank, const std::vector<Tokens>& all,
                                           int64_t m) const {
    const int n = static_cast<int>(plan_.map.n);
    std::vector<std::vector<float>> parts(plan_.ranks);
    for (int home = 0; home < plan_.ranks; ++home)
      parts[home].assign(static_cast<size_t>(rows_of(home, m)) * n, 0.0f);
    int row = 0;
    for (int local = 0; local < plan_.experts; ++local)
      for (int distance = 0; distance < plan_.ranks; ++distance) {
        const int source = (rank + distance) % plan_.ranks, expert = rank * plan_.experts + local;
        for (size_t route = 0; route < all[source].ids.size(); ++route) {
          if (all[source].ids[route] != expert) continue;
          const size_t token = route / static_cast<size_t>(plan_.top);
          for (int column = 0; column < n; ++column) {
            float& sum = parts[source][token * n + column];
            sum =
                std::fma(all[source].weights[route], product(run, rank, row, expert, column), sum);
          }
          ++row;
        }
      }
    for (size_t i = 0; i < parts[rank].size(); ++i)
      parts[rank][i] += static_cast<float>(
          residual_of(run, rank, static_cast<int>(i) / n, static_cast<int>(i) % n));
    return parts;
  }
  float product(int run, int rank, int row, int expert, int column) const {
    int sum = 0;
    for (int at_k = 0; at_k < plan_.k; ++at_k)
      sum += element_a(run, rank, row, at_k) * element_b(expert, column, at_k);
    return static_cast<float>(sum);
  }
};

// Random tokens. Large weights cancel, and small ones are lost beside them in fp32: what is left
// shows in which order rows were summed.
Tokens tokens_of(const Shape& shape, int tokens, Load load, Random& random) {
  Tokens made = random_tokens(shape, tokens, load, random);
  constexpr int kSmall = -27, kBits = 24;
  for (float& weight : made.weights) {
    const int kind = below(random, 4);
    const auto bits = static_cast<float>(1 + below(random, 1 << kBits));
    weight = kind == 0   ? 1.0f
             : kind == 1 ? -1.0f
                         : std::ldexp(bits, kind == 2 ? kSmall - kBits : -kBits);
  }
  return made;
}

std::vector<Tokens> random_all(const Ranks& ranks, int64_t m, Random& random) {
  return experts::random_all(ranks, m, random, tokens_of);
}

void check_random(int routings) {
  Random random(20261130);
  for (const auto program : kPrograms) {
    Combine ranks(*program());
    for (int run = 0; run < routings; ++run) {
      const int64_t m = random_m(ranks, random);
      std::vector<Tokens> all = random_all(ranks, m, random);
      INFO(program()->name << ", run " << run << ", m " << m);
      ranks.run(run, all, m);
      REQUIRE(ranks.wrong(run, all, m) == "");
    }
  }
}

// ---- Mutants

enum class Mutant { none, counter_before_rows, old_epoch, wrong_expert, lost_weight };
Mutant mutant = Mutant::none;
tilepost_host_kernel_t right_kernel = nullptr;
// Raises the counters of all tiles of the run, as if they were stored.
void raise_all(const tilepost_view_t& view) {
  for (int position = 0; position < view.num_tiles; ++position) {
    const tilepost_tile_t& tile = view.tiles[position];
    uint32_t* const counters = view.peer_counters != nullptr
                                   ? view.peer_counters[tile.m / view.share_rows]
                                   : view.counters;
    __atomic_fetch_add(counters + size_t{TILEPOST_COUNTER_STRIDE} * tile.group, 1u,
                       __ATOMIC_RELEASE);
  }
}

void mutated(const void* a, const void* b, void* c, tilepost_shape_t shape,
             tilepost_epilogue_t epilogue, int worker, int workers, tilepost_view_t view) {
  std::vector<int32_t> ends(view.expert_ends, view.expert_ends + view.experts);
  if (mutant == Mutant::counter_before_rows && worker == 0) {
    raise_all(view);
    std::this_thread::sleep_for(kLate);
  }
  if (mutant == Mutant::wrong_expert)
    for (int32_t& end : ends) end = std::max(end - 1, 0);
  view.expert_ends = ends.data();
  right_kernel(a, b, c, shape, epilogue, worker, workers, view);
  // Behind this, the counters of the next run are those that this run should have had.
  if (mutant == Mutant::old_epoch && worker == 0) raise_all(view);
}

// Loses the weight of the first row of the first token that has one on rank 0.
void lose_weight(const Ranks& ranks) {
  REQUIRE(tilepost_routing_synchronize(ranks.routing(0)) == TILEPOST_OK);
  tilepost_routing_info_t tables{};
  REQUIRE(tilepost_routing_get_info(ranks.routing(0), &tables) == TILEPOST_OK);
  int entry = 0;
  while (tables.token_rows[entry] < 0) ++entry;
  const_cast<float*>(tables.token_weights)[entry] = 0;
}

// Whether the outputs are right in two runs to which the last rank comes late.
bool is_right(const tilepost_program_t& program, Mutant which) {
  right_kernel = program.plans[0].kernel.host_function;
  mutant = which;
  const Mutated mutant_program(program, mutated);
  Combine ranks(mutant_program.program);
  Random random(5);
  const int64_t m = ranks.plan().map.m;
  bool right = true;
  for (int run = 0; run < 2; ++run) {
    std::vector<Tokens> all;
    for (int rank = 0; rank < ranks.plan().ranks; ++rank)
      all.push_back(tokens_of(ranks.shape(), ranks.rows_of(rank, m), Load::even, random));
    run_late(ranks, run, all, [&] {
      if (which == Mutant::lost_weight) lose_weight(ranks);
    });
    right = right && ranks.wrong(run, all, m).empty();
  }
  return right;
}

}  // namespace

TEST_CASE("rows of random routings are summed by token") {
  check_random(15);
}

TEST_CASE("rows of 10000 random routings are summed by token", "[.many]") {
  check_random(10000 / static_cast<int>(std::size(kPrograms)) + 1);
}

TEST_CASE("lost weights, wrong experts, and counters that come early are seen in the sums") {
  for (const auto program : kPrograms) {
    const tilepost_plan_t& plan = program()->plans[0];
    if (plan.ranks != 2 || plan.access == TILEPOST_ACCESS_READ) continue;
    INFO(program()->name);
    CHECK(is_right(*program(), Mutant::none));
    CHECK(!is_right(*program(), Mutant::wrong_expert));
    CHECK(!is_right(*program(), Mutant::lost_weight));
    CHECK(!is_right(*program(), Mutant::counter_before_rows));
    CHECK(!is_right(*program(), Mutant::old_epoch));
  }
}

TEST_CASE("a sum with more rows than max_rows ends on all ranks, and writes nothing") {
  Combine ranks(*kBoundedProgram());
  check_bound(ranks, [&](const std::vector<Tokens>& all) {
    CHECK(ranks.wrong(0, all, ranks.plan().map.m) == "");
  });
}

TEST_CASE("sums of tokens are bound to a routing, whose tokens fit a share, and need a residual") {
  const tilepost_program_t& program = *kBoundedProgram();
  const Comms comms(2);
  tilepost_op_t op = nullptr;
  CHECK(tilepost_op_create(comms[0], &program, nullptr, &op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("options.routing is null, but"));
  Combine ranks(program);
  check_tokens_fit(ranks);
}
