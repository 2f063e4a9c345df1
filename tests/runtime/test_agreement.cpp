// What ranks compare before they make an operation, and the errors when ranks differ.
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "runtime/core/plan_hash.h"
#include "runtime/cuda/transport/agreement.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

using Catch::Contains;
using fakes::world;

namespace {

using tilepost::cuda::Standing;

// A change of what rank 0 sends, and the error on rank 1.
struct Unlike {
  tilepost_result_t result;
  const char *text, *way_out;
  void (*edit)(Standing& standing);
};
const std::vector<Unlike> kUnlike = {
    {TILEPOST_INVALID_ARGUMENT,
     "rank 1 is not like rank 0: its runtime has ABI 15, that of rank 0 8",
     "link the same version of tilepost", [](Standing& standing) { standing.abi = 8; }},
    {TILEPOST_INVALID_ARGUMENT, "its runtime has version 100, that of rank 0 101",
     "link the same version of tilepost", [](Standing& standing) { standing.version = 101; }},
    {TILEPOST_INVALID_ARGUMENT, "that of rank 0 22705", "load the same NCCL",
     [](Standing& standing) { standing.nccl = 22705; }},
    {TILEPOST_INVALID_ARGUMENT, "its tilepost_options_t::share_memory is 0, that of rank 0 1",
     "set it alike", [](Standing& standing) { standing.share_memory = 1; }},
    {TILEPOST_INVALID_ARGUMENT, "its plan has m 512, that of rank 0 1024", "same generated code",
     [](Standing& standing) { standing.m = 1024; }},
    {TILEPOST_INVALID_ARGUMENT, "its plan has n 256, that of rank 0 128", "same generated code",
     [](Standing& standing) { standing.n = 128; }},
    {TILEPOST_INVALID_ARGUMENT, "its plan has k 256, that of rank 0 64", "same generated code",
     [](Standing& standing) { standing.k = 64; }},
    {TILEPOST_INVALID_ARGUMENT, "sm_90 and sm_80", "one arch that serves both",
     [](Standing& standing) { standing.plan ^= 1, standing.sm = 80; }},
    {TILEPOST_INVALID_ARGUMENT,
     "rank 0 (device 0, 0000:02:00.0) and rank 1 (device 0, 0000:02:00.0) are on one GPU",
     "give each rank its own",
     [](Standing& standing) { std::strcpy(standing.place.bus, "0000:02:00.0"); }},
    // The other numbers of another version are not read, nor those of a rank without a plan.
    {TILEPOST_INVALID_ARGUMENT, "runtime has ABI", "link the same version",
     [](Standing& standing) {
       standing.abi = TILEPOST_ABI_VERSION + 1, standing.result = TILEPOST_UNSUPPORTED;
     }},
    {TILEPOST_UNSUPPORTED, "rank 0 (device 0, 0000:01:00.0) refused the program",
     "its own error says why",
     [](Standing& standing) { standing.result = TILEPOST_UNSUPPORTED, standing.m = 0; }},
};

// Makes what rank 0 sends differ from what this rank, 1 of 2, sends.
void let_rank_0_say(const std::function<void(Standing&)>& edit) {
  world().exchange = [edit](const int64_t* own, int64_t* all, size_t count) {
    for (int rank = 0; rank < 2; ++rank) fakes::say_as(rank, own, all + rank * count, count);
    if (count == tilepost::cuda::kStandingNumbers) edit(*reinterpret_cast<Standing*>(all));
  };
}

class Agreement : public Operation {
 public:
  // The error on this rank. Checks that nothing is left and nothing was aborted.
  std::string refusal(tilepost_result_t expected) {
    const tilepost_result_t result = setup.create(program);
    std::string text = tilepost_last_error();
    CHECK(result == expected);
    CHECK(setup.op == nullptr);
    release();
    CHECK(world().live() == 0);
    CHECK(world().aborted_comms == 0);
    return text;
  }
};

}  // namespace

TEST_CASE_METHOD(Agreement, "ranks with other plans are told which") {
  const auto transport =
      GENERATE(TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_COPY_ENGINE);
  if (transport == TILEPOST_TRANSPORT_NONE) program.use_sequence(4);
  if (transport == TILEPOST_TRANSPORT_COPY_ENGINE)
    ranks::use(program, ranks::copies(TILEPOST_GEMM_REDUCE_SCATTER), 2, 64);
  CAPTURE(static_cast<int>(transport));
  let_rank_0_say([](Standing& standing) { standing.plan ^= 1; });
  const std::string text = refusal(TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(text, Contains("rank 1's plan is not that of rank 0") && Contains("on all ranks"));
}

TEST_CASE_METHOD(Agreement, "ranks that are not alike are told which, in what, and what to do") {
  const Unlike unlike = GENERATE(from_range(kUnlike));
  CAPTURE(unlike.text);
  let_rank_0_say(unlike.edit);
  CHECK_THAT(refusal(unlike.result), Contains(unlike.text) && Contains(unlike.way_out));
}

TEST_CASE_METHOD(Agreement, "a rank that refuses the program tells the others") {
  program.plan.map_hash ^= 1;
  int64_t told = TILEPOST_OK;
  let_rank_0_say([&](Standing& standing) { told = standing.result; });
  CHECK_THAT(refusal(TILEPOST_INVALID_ARGUMENT), Contains("regenerate"));
  CHECK(told == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Agreement, "ranks agree before anything that depends on their plans") {
  program.plan.comm_lanes = 2;
  int splits = 0;
  let_rank_0_say([&](Standing& standing) {
    splits = sample::count_calls("ncclCommSplit");
    standing.plan ^= 1;
  });
  refusal(TILEPOST_INVALID_ARGUMENT);
  CHECK(splits == 1);
  CHECK(sample::count_calls("ncclCommSplit") == 1);
}

TEST_CASE_METHOD(Agreement,
                 "a rank that does not come to compare is waited for within the deadline") {
  world().collectives_hang = true;
  CHECK(setup.create(program, 0.02) == TILEPOST_TIMEOUT);
  CHECK_THAT(tilepost_last_error(),
             Contains("rank 1: tilepost_op_create: the other ranks' plans did not come"));
}

// Ranks count chunks of each other's tasks, and read boxes where another rank has put them. So the
// sizes of both are part of the hash.
TEST_CASE_METHOD(OnFakes, "plans that move the same in other pieces are not the same") {
  const auto hashes_differ = [](sample::Program& program, int32_t& field) {
    const uint64_t hash = tilepost::hash_plan(program.plan);
    field += 16;
    return tilepost::hash_plan(program.plan) != hash;
  };
  sample::Program messages, tasks, tiles;
  ranks::use(tasks, ranks::tasks(kAllReduce), 2, 64);
  ranks::use_exchange(tiles, TILEPOST_TWO_SHOT, 2, 64);
  CHECK(hashes_differ(tasks, tasks.plan.kernel.helper_bytes));
  CHECK(hashes_differ(tiles, tiles.plan.kernel.box_c.rows));
  CHECK_FALSE(hashes_differ(messages, messages.plan.kernel.helper_bytes));
  CHECK_FALSE(hashes_differ(messages, messages.plan.kernel.box_c.rows));
}

TEST_CASE_METHOD(OnFakes, "a host is what NCCL takes for one") {
  using namespace tilepost::cuda;
  PeerInfo here, renamed, again, other;
  REQUIRE(make_peer_info(0, here) == TILEPOST_OK);
  setenv("NCCL_HOSTID", "left", 1);
  REQUIRE(make_peer_info(0, renamed) == TILEPOST_OK);
  REQUIRE(make_peer_info(0, again) == TILEPOST_OK);
  setenv("NCCL_HOSTID", "right", 1);
  REQUIRE(make_peer_info(0, other) == TILEPOST_OK);
  unsetenv("NCCL_HOSTID");
  CHECK(same_host(renamed, again));
  CHECK(same_process(renamed, again));
  CHECK(same_gpu(renamed, again));
  CHECK_FALSE(same_host(renamed, other));
  CHECK_FALSE(same_gpu(renamed, other));
  CHECK_FALSE(same_host(here, renamed));
  const std::array infos = {renamed, other};
  CHECK_THAT(reason_not_to_share(infos),
             Contains("rank 0 (device 0, 0000:01:00.0) runs on host 'left'") &&
                 Contains("rank 1 (device 0, 0000:01:00.0) on host 'right'"));
}
