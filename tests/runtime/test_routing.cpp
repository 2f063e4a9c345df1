// Routing on GPUs, with stand-ins for CUDA and for the kernel: what is put on the stream, what is
// refused, and that a failure of any call leaves nothing behind.
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/core/routing/routing.h"
#include "tests/catch.h"
#include "tests/host/routing_reference.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using routing::Shape;
using routing::Tokens;

namespace {

// A routing of a communicator of one rank.
class Routing : public OnFakes {
 public:
  static constexpr Shape kShape{1, 8, 2, 2000};

  Routing() { world().comm_ranks = 1; }
  ~Routing() noexcept(false) { release(); }

  tilepost_result_t create(double deadline_seconds = 0) {
    tilepost_unique_id_t id{};
    if (const auto result = tilepost_comm_init(&id, 0, world().comm_ranks, &comm);
        result != TILEPOST_OK)
      return result;
    tilepost_routing_options_t options = tilepost_default_routing_options();
    options.deadline_seconds = deadline_seconds;
    return tilepost_routing_create(comm, kShape.experts, kShape.top, kShape.most_tokens, &options,
                                   &handle);
  }
  void release() {
    tilepost_routing_destroy(std::exchange(handle, nullptr));
    tilepost_comm_destroy(std::exchange(comm, nullptr));
  }
  tilepost_result_t set(const Tokens& tokens) const {
    return tilepost_routing_set(handle, tokens.id_bytes.data(), tokens.weight_bytes.data(),
                                tokens.tokens, user);
  }
  tilepost_routing_info_t info() const {
    tilepost_routing_info_t info{};
    REQUIRE(tilepost_routing_get_info(handle, &info) == TILEPOST_OK);
    return info;
  }

  CUstream_st* const user = fakes::user_stream("user");
  tilepost_comm_t comm = nullptr;
  tilepost_expert_routing_t handle = nullptr;
};

Tokens tokens_of(int count) {
  routing::Random random(1);
  Tokens tokens = random_tokens(Routing::kShape, count, routing::Load::mixed, random);
  tokens.encode({false, false});
  return tokens;
}

int memory_calls() {
  return world().memory_calls;
}

}  // namespace

TEST_CASE_METHOD(Routing, "a set is one launch, which allocates nothing, also in a capture") {
  REQUIRE(create() == TILEPOST_OK);
  const Tokens tokens = tokens_of(1500);
  const int before = memory_calls();
  world().reset_calls();
  REQUIRE(set(tokens) == TILEPOST_OK);
  CHECK(sample::count_calls("route user 1500 tokens 3 blocks") == 1);
  CHECK(sample::count_calls("cudaEventRecord user") == 1);
  CHECK(tilepost_routing_synchronize(handle) == TILEPOST_OK);
  CHECK(wrong_tables(kShape, 0, {tokens}, read_tables(kShape, info(), std::memcpy)) == "");
  world().reset_calls();
  {
    const fakes::Capture capture(user);
    REQUIRE(set(tokens_of(0)) == TILEPOST_OK);
  }
  CHECK(sample::count_calls("route user 0 tokens 1 blocks") == 1);
  CHECK(sample::count_calls("cudaEventRecord") == 0);
  CHECK(sample::count_calls("cudaStreamGetDevice") == 0);
  CHECK(memory_calls() == before);
  CHECK(tilepost_routing_status(handle) == TILEPOST_OK);
}

TEST_CASE_METHOD(Routing, "a routing tells the bytes that it has allocated") {
  REQUIRE(create() == TILEPOST_OK);
  REQUIRE(world().device_sizes.size() == 1);
  CHECK(info().device_bytes == static_cast<int64_t>(world().device_sizes.begin()->second));
  CHECK(info().most_rows == 4000);
  // Before the first set there are no rows.
  CHECK(info().expert_ends[7] == 0);
  CHECK(info().tokens[0] == 0);
}

TEST_CASE_METHOD(Routing, "a wrong id is an error of the set, and of later ones") {
  REQUIRE(create() == TILEPOST_OK);
  Tokens tokens = tokens_of(4);
  tokens.ids[5] = -9;
  tokens.encode({false, false});
  CHECK(set(tokens) == TILEPOST_OK);
  CHECK(tilepost_routing_status(handle) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 0: token 2 has the id -9"));
  CHECK(tilepost_routing_synchronize(handle) == TILEPOST_INVALID_ARGUMENT);
  CHECK(set(tokens_of(4)) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Routing, "pointers and streams of a set are checked") {
  REQUIRE(create() == TILEPOST_OK);
  const Tokens tokens = tokens_of(4);
  const auto refused = [&](const char* text) {
    CHECK(set(tokens) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
    world().host_pointers.clear();
  };
  world().host_pointers[tokens.id_bytes.data()] = -1;
  refused("ids must be device memory, got host memory at");
  world().host_pointers[tokens.weight_bytes.data()] = 1;
  refused("weights must be memory of the communicator's device 0, got memory of device 1");
  CHECK(tilepost_routing_set(handle, tokens.id_bytes.data(), tokens.weight_bytes.data(), 4,
                             fakes::user_stream("other", 1)) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("the stream belongs to device 1"));
  world().stream_sms = 66;
  refused("has 66 of the 132 SMs");
  world().stream_sms = 0;
  CHECK(set(tokens) == TILEPOST_OK);
}

TEST_CASE_METHOD(Routing, "a set that does not end is a timeout, and its memory is left") {
  leaves_memory();
  REQUIRE(create(0.01) == TILEPOST_OK);
  fakes::stream_of(user).hang.stuck = true;
  CHECK(set(tokens_of(4)) == TILEPOST_OK);
  CHECK(tilepost_routing_status(handle) == TILEPOST_IN_PROGRESS);
  CHECK(tilepost_routing_synchronize(handle) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("did not end within 0.01 s"));
  release();
  CHECK(world().live_allocations == 1);
  CHECK(world().live_pinned == 1);
  fakes::release_all();
}

TEST_CASE_METHOD(Routing, "layers of a routing share the rows between their halves") {
  REQUIRE(create() == TILEPOST_OK);
  const auto allocations = [] { return world().device_sizes.size(); };
  const size_t before = allocations();
  std::shared_ptr<tilepost::LentRows> first, second, larger;
  CHECK(handle->rows_to_make(1000) == 1000);
  REQUIRE(handle->lend_rows(1000, first) == TILEPOST_OK);
  CHECK(handle->rows_to_make(1000) == 0);
  REQUIRE(handle->lend_rows(500, second) == TILEPOST_OK);
  CHECK(second == first);
  CHECK(allocations() == before + 1);
  REQUIRE(handle->lend_rows(2000, larger) == TILEPOST_OK);
  CHECK(larger != first);
  CHECK(larger->bytes() == 2000);
  first.reset(), second.reset(), larger.reset();
  CHECK(allocations() == before);
  CHECK(handle->rows_to_make(1000) == 1000);
}

TEST_CASE_METHOD(Routing, "ranks that route together store into windows of all ranks") {
  world().comm_ranks = 2;
  REQUIRE(create() == TILEPOST_OK);
  CHECK(info().most_rows == 8000);
  CHECK(info().device_bytes > 2 * (2 << 20) / 2);
  const Tokens tokens = tokens_of(4);
  const int before = memory_calls();
  world().reset_calls();
  REQUIRE(set(tokens) == TILEPOST_OK);
  // As many blocks as the tokens of both ranks need, whatever this rank has.
  CHECK(sample::count_calls("exchange user 4 tokens 8 blocks") == 1);
  {
    const fakes::Capture capture(user);
    REQUIRE(set(tokens) == TILEPOST_OK);
  }
  CHECK(memory_calls() == before);
  CHECK(tilepost_routing_synchronize(handle) == TILEPOST_OK);
}

TEST_CASE_METHOD(Routing, "ranks whose routings differ are told so on GPUs") {
  world().comm_ranks = 2;
  // The numbers of the other rank: its result, experts, top, most_tokens, blocks and place.
  int64_t number = 0, value = 0;
  std::string text;
  SECTION("experts") {
    number = 1, value = 16, text = "experts is 16 on rank 1 and 8 on rank 0";
  }
  SECTION("top") {
    number = 2, value = 3, text = "top is 3 on rank 1 and 2 on rank 0";
  }
  SECTION("most_tokens") {
    number = 3, value = 9, text = "most_tokens is 9 on rank 1 and 2000 on rank 0";
  }
  SECTION("a refusal") {
    number = 0, value = TILEPOST_INVALID_ARGUMENT, text = "rank 1 refused";
  }
  world().exchange = [&](const int64_t* from, int64_t* to, size_t count) {
    for (int rank = 0; rank < 2; ++rank) fakes::say_as(rank, from, to + rank * count, count);
    if (count == fakes::kRoutingNumbers) to[count + number] = value;
    return 0;
  };
  CHECK(create() == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains(text));
  CHECK(handle == nullptr);
}

TEST_CASE_METHOD(Routing, "two ranks of a process on one GPU do not route") {
  world().comm_ranks = 2;
  world().exchange = [&](const int64_t* from, int64_t* to, size_t count) {
    for (int rank = 0; rank < 2; ++rank) std::copy_n(from, count, to + rank * count);
    return 0;
  };
  CHECK(create() == TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(),
             Contains("rank 0") && Contains("rank 1") && Contains("are one GPU"));
  CHECK(handle == nullptr);
}

TEST_CASE_METHOD(Routing, "a rank that does not come to a set ends the communicator") {
  world().comm_ranks = 2;
  leaves_memory();
  REQUIRE(create(5) == TILEPOST_OK);
  const Tokens tokens = tokens_of(4);
  world().collectives_hang = true;
  CHECK(set(tokens) == TILEPOST_OK);
  CHECK(tilepost_routing_synchronize(handle) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(), Contains("rank 1 did not come to set 1") && Contains("5 s"));
  CHECK(set(tokens) == TILEPOST_TIMEOUT);
  tilepost_expert_routing_t another = nullptr;
  CHECK(tilepost_routing_create(comm, 8, 2, 8, nullptr, &another) == TILEPOST_ABORTED);
}

TEST_CASE_METHOD(OnFakes, "more tokens than blocks can count are refused") {
  tilepost_unique_id_t id{};
  tilepost_comm_t comm = nullptr;
  REQUIRE(tilepost_comm_init(&id, 0, 1, &comm) == TILEPOST_OK);
  tilepost_expert_routing_t handle = nullptr;
  CHECK(tilepost_routing_create(comm, 8, 8, 132 * 8191 + 1, nullptr, &handle) ==
        TILEPOST_UNSUPPORTED);
  CHECK_THAT(tilepost_last_error(),
             Contains("most_tokens must be at most 1081212 for top 8 and 1 ranks"));
  CHECK(tilepost_comm_destroy(comm) == TILEPOST_OK);
}

TEST_CASE("a call that fails while a routing is made or used is reported") {
  const bool setting = GENERATE(false, true);
  const int ranks = GENERATE(1, 2);
  int calls = 1;
  for (int failing = 0; failing <= calls; ++failing) {
    Routing routing;
    world().comm_ranks = ranks;
    if (setting) REQUIRE(routing.create() == TILEPOST_OK);
    const Tokens tokens = tokens_of(4);
    world().reset_calls();
    world().fail_at = failing;
    const tilepost_result_t result = setting ? routing.set(tokens) : routing.create();
    if (failing == 0) calls = world().calls;
    world().fail_at = 0;
    INFO("call " << failing << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result != TILEPOST_OK) == !world().failed_call.empty());
  }
}
