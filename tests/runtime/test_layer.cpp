// A layer of experts as one operation on GPUs, with stand-ins for CUDA and NCCL: which calls come
// in which order, what its halves read, memory, captured runs, runs with too many rows, operands
// that are refused, and calls that fail.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/order.h"
#include "tests/runtime/routed.h"

using Catch::Contains;
using fakes::world;
using sample::count_calls;
using sample::pointer;

namespace {

using Run = tilepost_run_operands_t;
using OfLayer = tilepost_layer_operands_t;

constexpr int64_t kTokens = 200;  // of this rank in a run

// How tokens go to experts, and their sums home.
enum class By { messages, messages_and_peer, peer };

class Layer : public Routed {
 public:
  explicit Layer(By by = By::messages_and_peer) {
    use_tokens(program, TILEPOST_DISPATCH_GROUPED_GEMM);
    use_tokens(second_, TILEPOST_GROUPED_GEMM_COMBINE);
    if (by == By::peer) use_peer(program);
    if (by != By::messages) use_peer(second_);
    // The kernel of the first half waits for tokens, and that of the second for nothing.
    world().on_gemm = [this] {
      outs_before_.push_back(world().out);
      world().gemm_waits = outs_before_.size() % 2 == 1;
    };
  }
  ~Layer() noexcept(false) { release(); }

  void serve_any_m() { program.plan.any_m = second_.plan.any_m = 1; }
  void bound_rows(int64_t most) { program.plan.most_rows = second_.plan.most_rows = most; }

  const tilepost_program_t& both() {
    plans_ = {program.plan, second_.plan};
    layer_ = {TILEPOST_ABI_VERSION, "layer", 2, plans_.data()};
    return layer_;
  }
  const tilepost_plan_t& first_plan() const { return program.plan; }

  void create(double deadline_seconds = 0) {
    const tilepost_result_t made = try_to_create(both(), deadline_seconds);
    INFO(tilepost_last_error());
    REQUIRE(made == TILEPOST_OK);
  }

  // A run with these operands, after `change`. By itself it routes kTokens tokens of this rank.
  tilepost_result_t start(const std::function<void(Run&, OfLayer&)>& change = {}) {
    OfLayer of_layer{sizeof of_layer, pointer(6), nullptr, pointer(7), pointer(9), kTokens};
    Run run = sample::operands();
    run.m = TILEPOST_PLANNED_M;
    run.layer = &of_layer;
    if (change) change(run, of_layer);
    outs_before_.clear();
    return run_with(run);
  }
  static void take_tables(Run&, OfLayer& layer) {
    layer.ids = layer.weights = nullptr;
    layer.tokens = TILEPOST_ROUTED;
  }

  // Where the first half of the last run has stored its rows.
  const void* rows_between() const { return outs_before_.at(1); }

 private:
  sample::Program second_;
  std::vector<tilepost_plan_t> plans_;
  tilepost_program_t layer_{};
  std::vector<const void*> outs_before_;  // by launch: where the launch before it has stored
};

int64_t allocated() {
  int64_t sum = 0;
  for (const auto& [memory, bytes] : world().device_sizes) sum += static_cast<int64_t>(bytes);
  return sum;
}

tilepost_memory_t empty() {
  return {sizeof(tilepost_memory_t), 0, 0, 0};
}

}  // namespace

TEST_CASE("layer: a run routes, lists tile rows, and starts both halves one behind the other") {
  const By by = GENERATE(By::messages, By::messages_and_peer, By::peer);
  const bool captured = GENERATE(false, true), peer = by != By::messages;
  CAPTURE(static_cast<int>(by), captured);
  Layer layer(by);
  layer.create();
  const int before = world().memory_calls;
  const fakes::Capture capture(layer.user, captured);
  world().reset_calls();
  REQUIRE(layer.start() == TILEPOST_OK);
  CHECK(world().memory_calls == before);
  const order::Order order;
  const std::string sums = peer ? "home_sums" : "token_sums";
  CHECK(count_calls("exchange user 200 tokens ") == 1);
  CHECK(order.all_before("exchange", "token_list"));
  REQUIRE(order.count("gemm") == 2);
  CHECK(order.all_before("token_list", "gemm"));
  CHECK(order.before("gemm", 0, "gemm", 1));
  CHECK(order.all_before("gemm", sums));
  CHECK(order.count(sums) == 1);
  CHECK(order.joined(sums));
  if (by == By::peer) {
    CHECK(order.before("shared_begin", 0, "token_list", 0));
  } else {
    // Tokens are gathered while the kernel of the first half runs.
    REQUIRE(order.count("recv") == 2);
    CHECK_FALSE(order.before("gemm", 0, "recv", 0));
    CHECK(order.joined("recv"));
  }
  if (peer) {
    CHECK(order.before("gemm", 1, "shared_begin", by == By::peer ? 1 : 0));
    CHECK(order.all_before("shared_begin", sums));
  } else {
    // Groups of sums go home while others are made, behind the counters that the sums raise.
    REQUIRE(order.count("reducescatter") == 2);
    for (const int group : {0, 1}) CHECK(order.before("wait", group, "reducescatter", group));
    CHECK(order.joined("reducescatter"));
  }
  CHECK(count_calls("replay_begin") + count_calls("shared_begin user replay") ==
        (captured ? 2 : 0));
  if (!captured) CHECK(tilepost_op_synchronize(layer.setup.op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Layer, "layer: the second half reads what the first has stored") {
  create();
  REQUIRE(start() == TILEPOST_OK);
  const void* const rows = rows_between();
  CHECK(world().a == rows);
  CHECK(world().b == pointer(6));
  const auto found = world().device_sizes.find(rows);
  REQUIRE(found != world().device_sizes.end());
  CHECK(static_cast<int64_t>(found->second) == first_plan().most_rows * first_plan().map.n * 2);
  // Another layer of the routing has its rows in the same memory.
  const tilepost_options_t bound = options();
  tilepost_op_t other = nullptr;
  REQUIRE(tilepost_op_create(setup.comm, &both(), &bound, &other) == TILEPOST_OK);
  std::swap(setup.op, other);
  REQUIRE(start() == TILEPOST_OK);
  CHECK(rows_between() == rows);
  CHECK(tilepost_op_destroy(other) == TILEPOST_OK);
}

TEST_CASE_METHOD(Layer, "layer: tables that were made before are used as they are") {
  serve_any_m();
  create();
  REQUIRE(tilepost_routing_set(routing, pointer(7), pointer(9), kTokens, user) == TILEPOST_OK);
  world().reset_calls();
  SECTION("if this rank's tokens fit its share of the run") {
    CHECK(start([](Run& run, OfLayer& of_layer) {
            take_tables(run, of_layer);
            run.m = 2 * kTokens;
          }) == TILEPOST_OK);
    CHECK(count_calls("exchange ") == 0);
    CHECK(count_calls("gemm ") == 2);
  }
  SECTION("and refused otherwise") {
    CHECK(start([](Run& run, OfLayer& of_layer) {
            take_tables(run, of_layer);
            run.m = 2 * kTokens - 2;
          }) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains("has routed 200 tokens") && Contains("is 199 rows"));
    CHECK(sample::enqueued().empty());
  }
}

TEST_CASE("layer: what it takes is known before, and is what is allocated") {
  const By by = GENERATE(By::messages, By::messages_and_peer, By::peer);
  CAPTURE(static_cast<int>(by));
  Layer layer(by);
  REQUIRE(layer.try_to_route() == TILEPOST_OK);
  const tilepost_options_t bound = layer.options();
  const int64_t rows = layer.first_plan().most_rows * layer.first_plan().map.n * 2;
  tilepost_op_t ops[2] = {};
  tilepost_memory_t planned[2] = {empty(), empty()}, taken[2] = {empty(), empty()};
  for (const int i : {0, 1}) {
    CAPTURE(i);
    const int64_t before = allocated();
    REQUIRE(tilepost_program_memory(layer.setup.comm, &layer.both(), &bound, &planned[i]) ==
            TILEPOST_OK);
    REQUIRE(tilepost_op_create(layer.setup.comm, &layer.both(), &bound, &ops[i]) == TILEPOST_OK);
    REQUIRE(tilepost_op_memory(ops[i], &taken[i]) == TILEPOST_OK);
    CHECK(planned[i].device_bytes == taken[i].device_bytes);
    CHECK(planned[i].shared_bytes == taken[i].shared_bytes);
    CHECK(planned[i].pinned_bytes == taken[i].pinned_bytes);
    CHECK(allocated() - before == taken[i].device_bytes);
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(ops[i], &info) == TILEPOST_OK);
    CHECK(info.device_bytes == taken[i].device_bytes);
  }
  // The rows between the halves are those of all layers of the routing.
  CHECK(taken[0].device_bytes - taken[1].device_bytes == rows);
  for (tilepost_op_t op : ops) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
}

TEST_CASE_METHOD(Layer, "layer: a run with more rows than max_rows ends both halves") {
  constexpr int kBound = 300;
  const bool captured = GENERATE(false, true);
  CAPTURE(captured);
  bound_rows(kBound);
  create();
  give_rows(kBound, kBound);
  REQUIRE(start() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  give_rows(kBound - 1, kBound + 1);
  leaves_memory();  // the routing's window, into which another rank may still store
  {
    const fakes::Capture capture(user, captured);
    REQUIRE(start() == TILEPOST_OK);
  }
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_INVALID_ARGUMENT);
  const std::string reason =
      "'layer': the routing gives rank 1 301 rows, and max_rows of the plan is 300";
  CHECK_THAT(tilepost_last_error(), Contains(reason));
  CHECK(tilepost_op_status(setup.op) != TILEPOST_OK);
  give_rows(kBound, kBound);
  world().reset_calls();
  CHECK(start(take_tables) == TILEPOST_ABORTED);
  CHECK_THAT(tilepost_last_error(), Contains(reason));
  CHECK(count_calls("gemm") == 0);
}

TEST_CASE_METHOD(Layer, "layer: a run that is refused starts nothing, and may be corrected") {
  const std::vector<std::pair<const char*, std::function<void(Run&, OfLayer&)>>> faults = {
      {"layer is null", [](Run& run, OfLayer&) { run.layer = nullptr; }},
      {"tilepost_layer_operands_t", [](Run&, OfLayer& layer) { layer.struct_size = 8; }},
      {"layer.b is null", [](Run&, OfLayer& layer) { layer.b = nullptr; }},
      {"layer.b must be a multiple of 16 bytes",
       [](Run&, OfLayer& layer) { layer.b = static_cast<const char*>(layer.b) + 2; }},
      {"overlaps layer.b at",
       [](Run& run, OfLayer& layer) { run.out = const_cast<void*>(layer.b); }},
      {"layer.tokens must be from 0 to 256", [](Run&, OfLayer& layer) { layer.tokens = 257; }},
      {"out is null", [](Run& run, OfLayer&) { run.out = nullptr; }}};
  create();
  for (const auto& [text, change] : faults) {
    CAPTURE(text);
    world().reset_calls();
    CHECK(start(change) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
    CHECK(sample::enqueued().empty());
    CHECK(count_calls("exchange") == 0);
    CHECK(start() == TILEPOST_OK);
  }
}

// A run whose routing was given up is given up too, and does not know why.
TEST_CASE_METHOD(Layer,
                 "layer: a rank that does not come with its tokens is an error of the layer") {
  const bool by_run = GENERATE(false, true);
  CAPTURE(by_run);
  leaves_memory();
  create(0.2);
  REQUIRE(start() == TILEPOST_OK);
  world().collectives_hang = true;
  if (by_run)
    start();
  else
    REQUIRE(tilepost_routing_set(routing, pointer(7), pointer(9), kTokens, user) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 0 did not come to set"));
  CHECK(tilepost_op_status(setup.op) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 0 did not come to set"));
}

TEST_CASE("layer: a call that fails while it is made or run is reported, and leaves nothing") {
  const bool running = GENERATE(false, true);
  const By by = GENERATE(By::messages, By::messages_and_peer, By::peer);
  CAPTURE(running, static_cast<int>(by));
  int calls = 1;
  for (int failing = 0; failing <= calls; ++failing) {
    Layer layer(by);
    layer.leaves_memory();
    REQUIRE(layer.try_to_route() == TILEPOST_OK);
    const tilepost_options_t bound = layer.options();
    const auto make = [&] {
      return tilepost_op_create(layer.setup.comm, &layer.both(), &bound, &layer.setup.op);
    };
    if (running) REQUIRE(make() == TILEPOST_OK);
    world().reset_calls();
    world().fail_at = failing;
    const tilepost_result_t result = running ? layer.start() : make();
    if (failing == 0) calls = world().calls;
    world().fail_at = 0;
    INFO("call " << failing << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result != TILEPOST_OK) == !world().failed_call.empty());
    if (!running) CHECK((result == TILEPOST_OK) == (layer.setup.op != nullptr));
  }
  CHECK(calls > 10);
}
