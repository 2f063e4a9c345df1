// A layer of experts as one operation on the host target: results bit by bit against a reference
// that follows each token by itself, for random routings of 1 to 4 ranks; memory; bad input.
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "layer_programs.h"  // written by CMakeLists.txt: kPrograms, kBoundedProgram
#include "tests/host/expert_ranks.h"
#include "tilepost/timeline.h"

namespace {

using Catch::Contains;
using namespace experts;

float rounded(float value) {
  return tilepost::to_float(tilepost::from_float<Bf16>(value));
}

// What the second half multiplies by, and what both halves add.
int element_down(int expert, int column, int at_n) {
  return drawn(300000 + static_cast<uint64_t>(expert), int64_t{column} * 1000 + at_n);
}
int bias_up(int expert, int row) {
  return drawn(400000, int64_t{expert} * 1000 + row);
}
int bias_down(int expert, int column) {
  return drawn(400001, int64_t{expert} * 1000 + column);
}
int residual_of(int run, int rank, int token, int column) {
  return drawn(500000 + static_cast<uint64_t>(run) * 64 + static_cast<uint64_t>(rank),
               int64_t{token} * 1000 + column);
}

// A layer, whose first plan is one of its first half: n is the inner size, and k that of a token.
class Layer final : public Ranks {
 public:
  explicit Layer(const tilepost_program_t& program)
      : Ranks(program, 2 * static_cast<int>(program.plans[0].map.n), 60), seconds_(plan_.ranks) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const auto n = static_cast<int>(plan_.map.n), k = static_cast<int>(plan_.k);
      const int first = rank * plan_.experts;
      Second& own = seconds_[rank];
      own.b = matrix(int64_t{plan_.experts} * k, n, [&](int row, int at_n) {
        return element_down(first + row / k, row % k, at_n);
      });
      own.bias_up = matrix(plan_.experts, 2 * int64_t{n},
                           [&](int local, int row) { return bias_up(first + local, row); });
      own.bias_down = matrix(plan_.experts, k, [&](int local, int column) {
        return bias_down(first + local, column);
      });
    }
  }

  // Changes the operands of the runs that are started from here on.
  using Change = std::function<void(tilepost_run_operands_t&, tilepost_layer_operands_t&)>;
  void change_operands(Change change) { change_ = std::move(change); }

  // Of the runs that are started from here on: whether they route their tokens.
  void route_in_runs(std::vector<Tokens>* all) { routed_by_runs_ = all; }

  tilepost_result_t start(int rank, int run, int64_t m) override {
    Rank& own = ranks_[rank];
    Second& second = seconds_[rank];
    own.a = matrix(share(m), plan_.k,
                   [&](int token, int at_k) { return element_a(run, rank, token, at_k); });
    own.residual = matrix(rows_of(rank, m), plan_.k, [&](int token, int column) {
      return residual_of(run, rank, token, column);
    });
    own.out.assign(own.residual.size(), Bf16{kUntouched});
    tilepost_layer_operands_t layer{sizeof layer, second.b.data(), second.bias_down.data(),
                                    nullptr,      nullptr,         TILEPOST_ROUTED};
    if (routed_by_runs_ != nullptr) {
      Tokens& tokens = (*routed_by_runs_)[rank];
      tokens.encode({false, false});
      layer.ids = tokens.id_bytes.data();
      layer.weights = tokens.weight_bytes.data();
      layer.tokens = tokens.tokens;
    }
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = own.a.data();
    operands.b = own.b.data();
    operands.bias = second.bias_up.data();
    operands.residual = own.residual.data();
    operands.out = own.out.data();
    operands.m = m;
    operands.layer = &layer;
    if (change_) change_(operands, layer);
    return tilepost_op_run_with(own.op, &operands, nullptr);
  }

  // What is wrong with the outputs of a run, or "".
  std::string wrong(int run, const std::vector<Tokens>& all) const {
    for (int home = 0; home < plan_.ranks; ++home)
      for (int token = 0; token < all[home].tokens; ++token) {
        const std::vector<float> expected = token_of(run, home, token, all[home]);
        for (size_t column = 0; column < expected.size(); ++column) {
          const size_t at = static_cast<size_t>(token) * expected.size() + column;
          if (tilepost::to_float(ranks_[home].out[at]) != expected[column])
            return "rank " + std::to_string(home) + ", token " + std::to_string(token) +
                   ", column " + std::to_string(column);
        }
      }
    return "";
  }

 private:
  struct Second {
    std::vector<Bf16> b, bias_up, bias_down;
  };

  // What an expert makes of a token: rows between the halves and products are rounded.
  std::vector<float> product(int run, int home, int token, int expert) const {
    const auto n = static_cast<int>(plan_.map.n), k = static_cast<int>(plan_.k);
    std::vector<float> inner(n), row(k);
    for (int column = 0; column < n; ++column) {
      int gate = bias_up(expert, column), up = bias_up(expert, n + column);
      for (int at_k = 0; at_k < k; ++at_k) {
        const int a = element_a(run, home, token, at_k);
        gate += a * element_b(expert, column, at_k);
        up += a * element_b(expert, n + column, at_k);
      }
      inner[column] = rounded(static_cast<float>(gate * up));
    }
    for (int column = 0; column < k; ++column) {
      auto sum = static_cast<float>(bias_down(expert, column));
      for (int at_n = 0; at_n < n; ++at_n)
        sum += inner[at_n] * static_cast<float>(element_down(expert, column, at_n));
      row[column] = rounded(sum);
    }
    return row;
  }

  // The token's row of the output. A rank sums the token's rows by expert, and the sums of ranks
  // are added in the order of ranks.
  std::vector<float> token_of(int run, int home, int token, const Tokens& tokens) const {
    const auto k = static_cast<size_t>(plan_.k), top = static_cast<size_t>(plan_.top);
    std::vector<float> row(k, 0.0f);
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      std::vector<float> part(k, 0.0f);
      for (int local = 0; local < plan_.experts; ++local)
        for (size_t position = 0; position < top; ++position) {
          const int expert = rank * plan_.experts + local;
          const size_t route = static_cast<size_t>(token) * top + position;
          if (tokens.ids[route] != expert) continue;
          const std::vector<float> made = product(run, home, token, expert);
          for (size_t i = 0; i < k; ++i)
            part[i] = std::fma(tokens.weights[route], made[i], part[i]);
        }
      for (size_t i = 0; i < k; ++i) {
        if (rank == home)
          part[i] += static_cast<float>(residual_of(run, home, token, static_cast<int>(i)));
        row[i] += rounded(part[i]);
      }
    }
    for (float& element : row) element = rounded(element);
    return row;
  }

  std::vector<Second> seconds_;
  std::vector<Tokens>* routed_by_runs_ = nullptr;
  Change change_;
};

void check_random(int routings) {
  Random random(20261201);
  for (const auto program : kPrograms) {
    Layer ranks(*program());
    for (int run = 0; run < routings; ++run) {
      const int64_t m = random_m(ranks, random);
      std::vector<Tokens> all = random_all(ranks, m, random, routing::random_tokens);
      const bool by_run = below(random, 2) == 0;
      INFO(program()->name << ", run " << run << ", m " << m << (by_run ? ", routed by it" : ""));
      ranks.route_in_runs(by_run ? &all : nullptr);
      if (by_run) {
        for (int rank = 0; rank < ranks.plan().ranks; ++rank)
          REQUIRE(ranks.start(rank, run, m) == TILEPOST_OK);
        for (int rank = 0; rank < ranks.plan().ranks; ++rank)
          REQUIRE(ranks.synchronize(rank) == TILEPOST_OK);
      } else {
        ranks.run(run, all, m);
      }
      REQUIRE(ranks.wrong(run, all) == "");
    }
  }
}

// A layer's operation of one rank, which is destroyed with its routing and communicator.
class OneRank {
 public:
  explicit OneRank(const tilepost_program_t& program) : program_(program), comms_(1) {
    const tilepost_plan_t& plan = program.plans[0];
    options_ = tilepost_default_options();
    REQUIRE(tilepost_routing_create(comms_[0], plan.experts, plan.top, plan.map.m, nullptr,
                                    &options_.routing) == TILEPOST_OK);
  }
  ~OneRank() {
    for (tilepost_op_t op : ops_) tilepost_op_destroy(op);
    tilepost_routing_destroy(options_.routing);
  }
  OneRank(const OneRank&) = delete;

  tilepost_result_t create(tilepost_op_t* op) const {
    return tilepost_op_create(comms_[0], &program_, &options_, op);
  }
  tilepost_op_t make() {
    REQUIRE(create(&ops_.emplace_back()) == TILEPOST_OK);
    return ops_.back();
  }
  tilepost_result_t memory(tilepost_memory_t& memory) const {
    return tilepost_program_memory(comms_[0], &program_, &options_, &memory);
  }
  int64_t would_take() const {
    tilepost_memory_t taken{sizeof taken, 0, 0, 0};
    REQUIRE(memory(taken) == TILEPOST_OK);
    return taken.device_bytes;
  }
  tilepost_result_t set(const int32_t* ids, const float* weights, int64_t tokens) const {
    return tilepost_routing_set(options_.routing, ids, weights, tokens, nullptr);
  }

 private:
  const tilepost_program_t& program_;
  const Comms comms_;
  tilepost_options_t options_{};
  std::vector<tilepost_op_t> ops_;
};

int64_t bytes_of(tilepost_op_t op) {
  tilepost_memory_t memory{sizeof memory, 0, 0, 0};
  REQUIRE(tilepost_op_memory(op, &memory) == TILEPOST_OK);
  return memory.device_bytes;
}

}  // namespace

TEST_CASE("layers of experts are right for random routings, in both halves' orders of sums") {
  check_random(12);
}

TEST_CASE("layers of experts are right for 10000 random routings", "[.many]") {
  check_random(10000 / static_cast<int>(std::size(kPrograms)) + 1);
}

TEST_CASE("a layer with more rows than max_rows ends on all ranks, and writes nothing") {
  Layer ranks(*kBoundedProgram());
  check_bound(ranks, [&](const std::vector<Tokens>& all) { CHECK(ranks.wrong(0, all) == ""); });
}

TEST_CASE("a rank's tokens must fit its share of a layer's run") {
  Layer ranks(*kBoundedProgram());
  check_tokens_fit(ranks);
}

TEST_CASE("a rank whose run is refused may correct it, and all ranks go on in step") {
  using Operands = tilepost_run_operands_t;
  using OfLayer = tilepost_layer_operands_t;
  const std::vector<std::pair<const char*, Layer::Change>> faults = {
      {"residual is null", [](Operands& all, OfLayer&) { all.residual = nullptr; }},
      {"out is null", [](Operands& all, OfLayer&) { all.out = nullptr; }},
      {"layer.b must be a multiple of 16 bytes",
       [](Operands&, OfLayer& layer) { layer.b = static_cast<const char*>(layer.b) + 2; }},
      {"overlaps b at", [](Operands& all, OfLayer&) { all.out = const_cast<void*>(all.b); }},
      {"overlaps layer.b at",
       [](Operands& all, OfLayer& layer) { all.out = const_cast<void*>(layer.b); }},
      {"overlaps a at", [](Operands& all, OfLayer&) { all.out = const_cast<void*>(all.a); }},
      {"layer.tokens must be from 0 to 48", [](Operands&, OfLayer& layer) { layer.tokens = 49; }},
      {"ids is null", [](Operands&, OfLayer& layer) { layer.ids = nullptr; }},
      {"m must be from 0 to 96", [](Operands& all, OfLayer&) { all.m = 97; }}};
  Random random(3);
  for (const auto program : kPrograms) {
    if (program()->plans[0].ranks != 2) continue;
    INFO(program()->name);
    Layer ranks(*program());
    const int64_t m = ranks.plan().map.m;
    for (int run = 0; run < static_cast<int>(faults.size()); ++run) {
      const auto& [text, change] = faults[run];
      std::vector<Tokens> all;
      for (int rank = 0; rank < 2; ++rank)
        all.push_back(random_tokens(ranks.shape(), ranks.share(m), Load::even, random));
      ranks.route_in_runs(&all);
      ranks.change_operands({});
      REQUIRE(ranks.start(0, run, m) == TILEPOST_OK);
      ranks.change_operands(change);
      CHECK(ranks.start(1, run, m) == TILEPOST_INVALID_ARGUMENT);
      CHECK_THAT(tilepost_last_error(), Contains(text));
      ranks.change_operands({});
      REQUIRE(ranks.start(1, run, m) == TILEPOST_OK);
      for (int rank = 0; rank < 2; ++rank) REQUIRE(ranks.synchronize(rank) == TILEPOST_OK);
      REQUIRE(ranks.wrong(run, all) == "");
    }
  }
}

TEST_CASE("layers of one routing share the rows between their halves") {
  const tilepost_program_t& program = *kPrograms[0]();
  const tilepost_plan_t& plan = program.plans[0];
  OneRank rank(program);
  const int64_t rows = plan.most_rows * plan.map.n * static_cast<int64_t>(sizeof(Bf16));
  const int64_t first = rank.would_take();
  CHECK(bytes_of(rank.make()) == first);
  CHECK(rank.would_take() == first - rows);
  CHECK(bytes_of(rank.make()) == first - rows);
}

TEST_CASE("a layer of which one half is wrong is refused, and takes no memory") {
  const tilepost_program_t& right = *kPrograms[0]();
  for (const int32_t wrong : {0, right.num_plans - 1}) {
    std::vector<tilepost_plan_t> plans(right.plans, right.plans + right.num_plans);
    plans[wrong].map_hash ^= 1;
    const tilepost_program_t program{right.abi_version, right.name, right.num_plans, plans.data()};
    const OneRank rank(program);
    tilepost_op_t op = nullptr;
    CHECK(rank.create(&op) == TILEPOST_INVALID_ARGUMENT);
    CHECK(op == nullptr);
    tilepost_memory_t memory{sizeof memory, 0, 0, 0};
    CHECK(rank.memory(memory) == TILEPOST_INVALID_ARGUMENT);
    CHECK(memory.device_bytes == 0);
  }
}

TEST_CASE("what is wrong with a layer's operands is named") {
  const tilepost_program_t& program = *kPrograms[0]();
  const tilepost_plan_t& plan = program.plans[0];
  OneRank rank(program);
  const tilepost_op_t op = rank.make();
  const std::vector<Bf16> some(static_cast<size_t>(plan.experts * 2 * plan.map.n * plan.k) +
                               static_cast<size_t>(plan.map.m * plan.k));
  std::vector<Bf16> out(static_cast<size_t>(plan.map.m * plan.k), Bf16{kUntouched});
  const std::vector<int32_t> ids(static_cast<size_t>(plan.top), 0);
  const std::vector<float> weights(static_cast<size_t>(plan.top), 1.0f);
  tilepost_layer_operands_t layer{sizeof layer, some.data(),    some.data(),
                                  ids.data(),   weights.data(), 1};
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = operands.b = operands.bias = operands.residual = some.data();
  operands.out = out.data();
  operands.m = TILEPOST_PLANNED_M;
  operands.layer = &layer;
  const auto refused = [&](const char* text) {
    CHECK(tilepost_op_run_with(op, &operands, nullptr) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
  };
  operands.layer = nullptr;
  refused("layer is null, but the program is that of a layer of experts");
  operands.layer = &layer;
  layer.struct_size -= 8;
  refused("set it to sizeof(tilepost_layer_operands_t)");
  layer.struct_size += 8;
  operands.struct_size = offsetof(tilepost_run_operands_t, layer);
  refused("layer is null, but the program is that of a layer of experts");
  operands.struct_size = sizeof operands;
  layer.b = nullptr;
  refused("layer.b is null, but this rank has rows of it in the run");
  layer.b = some.data();
  layer.weights = nullptr;
  refused("weights is null");
  layer.weights = weights.data();
  layer.bias = nullptr;
  refused("layer.bias is null, but the plan's epilogue reads it");
  layer.bias = some.data();
  layer.tokens = plan.map.m + 1;
  refused("layer.tokens must be from 0 to 96, the rows of this rank's share of the run");
  CHECK(std::ranges::all_of(out, [](Bf16 value) { return value.bits == kUntouched; }));
  CHECK(tilepost_op_record_timeline(op) == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(), Contains("make its halves as operations of their own"));
  tilepost_route_t route{sizeof route, 0, nullptr, nullptr};
  CHECK(tilepost_op_route(op, &route, nullptr) == TILEPOST_UNSUPPORTED);
}

TEST_CASE("an id below -1 is an error of the layer that routed it") {
  const tilepost_program_t& program = *kPrograms[0]();
  const tilepost_plan_t& plan = program.plans[0];
  OneRank rank(program);
  const tilepost_op_t op = rank.make();
  std::vector<int32_t> ids(static_cast<size_t>(plan.top), 0);
  ids.back() = -7;
  const std::vector<float> weights(ids.size(), 1.0f);
  REQUIRE(rank.set(ids.data(), weights.data(), 1) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(op) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("-7"));
  CHECK(tilepost_op_status(op) == TILEPOST_INVALID_ARGUMENT);
}
