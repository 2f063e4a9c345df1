// Ranks that find each other by a function of theirs: they exchange numbers in memory of the host,
// need NCCL only for collectives of NCCL, and hear of each other's mistakes.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "runtime/cuda/shared/host/host_meeting.h"
#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/team.h"

using Catch::Contains;
using fakes::world;
using ranks::Rank;
using ranks::Ranks;
using sample::count_calls;
using sample::Program;
using tilepost::cuda::HostMeeting;

namespace {

// Meetings of ranks that are threads.
class Meetings {
 public:
  explicit Meetings(int count) {
    for (int rank = 0; rank < count; ++rank) all_.push_back(std::make_unique<HostMeeting>());
    const auto address = all_[0]->make(count);
    for (int rank = 0; rank < count; ++rank) joined_ &= all_[rank]->join(address, rank, count);
  }
  bool joined() const { return joined_; }
  HostMeeting& of(int rank) { return *all_[rank]; }
  // Calls body(rank, meeting) on a thread for each rank.
  template <class Body>
  void on_all(Body body) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < all_.size(); ++rank)
      threads.emplace_back([&, rank] { body(static_cast<int>(rank), *all_[rank]); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<std::unique_ptr<HostMeeting>> all_;
  bool joined_ = true;
};

// The numbers of a rank in an exchange.
std::vector<int64_t> numbers_of(int rank, uint32_t exchange, size_t count) {
  std::minstd_rand random(exchange * 64 + static_cast<uint32_t>(rank) + 1);
  std::vector<int64_t> numbers(count);
  std::ranges::generate(numbers, random);
  return numbers;
}

// Exchanges random numbers many times, and counts what is wrong.
int64_t wrong_numbers(int rank, int ranks, HostMeeting& meeting, uint32_t exchanges) {
  int64_t wrong = 0;
  std::vector<int64_t> all;
  for (uint32_t n = 0; n < exchanges; ++n) {
    const size_t count = n % 7 == 0 ? 1500 + n : 1 + n % 5;
    if (meeting.exchange(numbers_of(rank, n, count), all, 20) != TILEPOST_OK) return -1;
    for (int other = 0; other < ranks; ++other) {
      const std::vector<int64_t> wanted = numbers_of(other, n, count);
      wrong += !std::equal(wanted.begin(), wanted.end(),
                           all.begin() + static_cast<ptrdiff_t>(other * count));
    }
  }
  return wrong;
}

// What each rank's call returned, and its text.
struct Answers {
  std::vector<tilepost_result_t> results;
  std::vector<std::string> texts;

  explicit Answers(int count) : results(count, TILEPOST_OK), texts(count) {}
  void set(int rank, tilepost_result_t result) {
    results[rank] = result;
    if (result != TILEPOST_OK) texts[rank] = tilepost_last_error();
  }
};

// Three ranks with a function that a test may spoil.
class Spoilt : public OnFakes {
 public:
  static constexpr int kCount = 3;

  Program program;
  Ranks all{program, kCount};
  // Changes what a rank gets in a call, counted from 1.
  std::function<void(int rank, int call, char* all, size_t bytes)> on_gathered;
  std::function<int(int rank, int call)> answer;
  std::function<int(int rank)> as_rank = [](int rank) { return rank; };
  int world_of_2 = kCount;

  Answers init() {
    Answers answers(kCount);
    all.on_all([&](int rank, Rank& mine) {
      Caller caller{this, rank, 0};
      answers.set(rank, tilepost_comm_init_with(gather, &caller, as_rank(rank),
                                                rank == 2 ? world_of_2 : kCount, &mine.setup.comm));
    });
    return answers;
  }

 private:
  struct Caller {
    Spoilt* test;
    int rank, calls;
  };

  static int gather(const void* own, void* bytes_of_all, size_t bytes, void* user) {
    Caller& caller = *static_cast<Caller*>(user);
    Spoilt& test = *caller.test;
    ++caller.calls;
    Ranks::gather(own, bytes_of_all, bytes, &test.all);
    if (test.on_gathered)
      test.on_gathered(caller.rank, caller.calls, static_cast<char*>(bytes_of_all), bytes);
    return test.answer ? test.answer(caller.rank, caller.calls) : 0;
  }
};

}  // namespace

TEST_CASE("meeting: every rank gets every rank's numbers, whatever their number") {
  const int count = GENERATE(1, 2, 5);
  Meetings meetings(count);
  REQUIRE(meetings.joined());
  std::vector<int64_t> wrong(count);
  meetings.on_all([&](int rank, HostMeeting& meeting) {
    wrong[rank] = wrong_numbers(rank, count, meeting, 200);
  });
  for (const int64_t found : wrong) CHECK(found == 0);
}

TEST_CASE("meeting: processes exchange numbers") {
  HostMeeting first, second;
  const auto address = first.make(2);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = second.join(address, 1, 2) && wrong_numbers(1, 2, second, 50) == 0;
    _exit(right ? 0 : 1);
  }
  REQUIRE(child > 0);
  CHECK(first.join(address, 0, 2));
  CHECK(wrong_numbers(0, 2, first, 50) == 0);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("meeting: a rank that does not come, gives up or does something else ends the wait") {
  Meetings meetings(2);
  std::vector<int64_t> all;
  const std::vector<int64_t> two(2), three(3);
  SECTION("it does not come") {
    CHECK(meetings.of(0).exchange(two, all, 0.05) == TILEPOST_TIMEOUT);
  }
  SECTION("this one is aborted while it waits") {
    std::thread late([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      meetings.of(0).abort();
    });
    CHECK(meetings.of(0).exchange(two, all, 0) == TILEPOST_ABORTED);
    late.join();
    CHECK(meetings.of(0).exchange(two, all, 0) == TILEPOST_ABORTED);
  }
  SECTION("it is in another call") {
    std::vector<std::string> texts(2);
    meetings.on_all([&](int rank, HostMeeting& meeting) {
      std::vector<int64_t> numbers;
      if (meeting.exchange(rank == 0 ? two : three, numbers, 5) == TILEPOST_INVALID_ARGUMENT)
        texts[rank] = tilepost_last_error();
    });
    CHECK_THAT(texts[0], Contains("rank 0 exchanges 2 numbers and rank 1 3"));
    CHECK_THAT(texts[1], Contains("rank 1 exchanges 3 numbers and rank 0 2"));
  }
}

TEST_CASE("bootstrap: ranks that share memory make no communicator of NCCL") {
  const auto use = GENERATE(0, 1, 2, 3, 4);
  Team team;
  Ranks* made = nullptr;
  switch (use) {
    case 0:
      ranks::use(team.program, ranks::copies(kReduceScatter), 3, 37);
      break;
    case 1:
      ranks::use(team.program, ranks::tasks(kAllReduce), 3, 37);
      break;
    case 2:
      ranks::use(team.program, ranks::through_host(kAllGather), 3, 37);
      break;
    case 3:
      ranks::use_exchange(team.program, TILEPOST_ONE_SHOT, 3, 61);
      break;
    default:
      ranks::use(team.program, ranks::fuses(), 3, 37);
      break;
  }
  Ranks& all = team.create_gathered(3);
  made = &all;
  CHECK(world().live_comms == 0);
  for (const char* call : {"ncclCommInitRank", "ncclCommSplit", "ncclGetUniqueId", "allgather"})
    CHECK(count_calls(call) == 0);
  made->run_mixed();
  team.check();
}

TEST_CASE("bootstrap: collectives of NCCL get communicators when they are needed") {
  Team team;
  ranks::use(team.program, ranks::tasks(kReduceScatter), 3, 37);
  team.program.use_any_m();
  team.program.finish();
  team.create_gathered(3);
  CHECK(count_calls("ncclGetUniqueId") == 1);
  CHECK(count_calls("ncclCommInitRank") == 3);
  CHECK(count_calls("ncclCommSplit") == 3);
}

TEST_CASE("bootstrap: routes are exchanged without NCCL") {
  Team team;
  ranks::use(team.program, ranks::through_host(kAllToAll), 3, 37, TILEPOST_ROUTING_SPLITS);
  Ranks& all = team.create_gathered(3);
  const int comms = world().live_comms;
  world().reset_calls();
  for (uint32_t route = 0; route < 4; ++route) {
    all.route(route);
    all.run(2);
  }
  team.check();
  CHECK(count_calls("allgather") == 0);
  CHECK(world().live_comms == comms);
}

TEST_CASE("bootstrap: one thread makes the operations of all ranks") {
  const OnFakes fresh;
  Program program;
  ranks::use(program, ranks::copies(kReduceScatter), 3, 37);
  Ranks all(program, 3);
  std::vector<tilepost_comm_t> comms(3);
  REQUIRE(tilepost_comms_create(nullptr, 3, comms.data()) == TILEPOST_OK);
  for (int rank = 0; rank < 3; ++rank) all.at(rank).setup.comm = comms[static_cast<size_t>(rank)];
  std::vector<tilepost_op_t> ops(3);
  const tilepost_result_t made =
      tilepost_ops_create(comms.data(), 3, &program.program, nullptr, ops.data());
  INFO(tilepost_last_error());
  REQUIRE(made == TILEPOST_OK);
  for (int rank = 0; rank < 3; ++rank) all.at(rank).setup.op = ops[static_cast<size_t>(rank)];
  all.run(3);
  INFO(all.text());
  CHECK(all.all_ok());
  CHECK(all.wrong() == 0);
  all.destroy();
}

TEST_CASE_METHOD(OnFakes, "bootstrap: devices of one thread that cannot be ranks are named") {
  world().num_devices = 2;
  std::vector<tilepost_comm_t> comms(2);
  const auto refused = [&](std::vector<int> devices, const std::string& text) {
    comms.assign(2, reinterpret_cast<tilepost_comm_t>(&comms));
    CHECK(tilepost_comms_create(devices.data(), 2, comms.data()) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
    CHECK(comms == std::vector<tilepost_comm_t>(2));
  };
  refused({0, 2}, "rank 1 is to be on device 2, and this process sees devices 0 to 1");
  refused({-1, 0}, "rank 0 is to be on device -1");
  refused({1, 1}, "ranks 0 and 1 are to be on device 1");
  CHECK(tilepost_comms_create(nullptr, 0, comms.data()) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_comms_create(nullptr, 2, nullptr) == TILEPOST_INVALID_ARGUMENT);
  const int swapped[] = {1, 0};
  REQUIRE(tilepost_comms_create(swapped, 2, comms.data()) == TILEPOST_OK);
  for (tilepost_comm_t comm : comms) CHECK(tilepost_comm_destroy(comm) == TILEPOST_OK);
}

// Every call of CUDA and NCCL fails in turn, on whichever thread.
TEST_CASE("bootstrap: a failure on one device leaves no communicator") {
  for (int number = 1; number <= 6; ++number) {
    const OnFakes fresh;
    std::vector<tilepost_comm_t> comms(2);
    world().fail_at = number;
    const tilepost_result_t result = tilepost_comms_create(nullptr, 2, comms.data());
    INFO(number << ": " << world().failed_call << ": " << tilepost_last_error());
    CHECK((result == TILEPOST_OK) == world().failed_call.empty());
    world().fail_at = 0;
    for (tilepost_comm_t comm : comms) {
      CHECK((comm != nullptr) == (result == TILEPOST_OK));
      tilepost_comm_destroy(comm);
    }
  }
}

TEST_CASE("bootstrap: a rank that does not come to create ends it at the deadline") {
  const OnFakes fresh;
  Program program;
  ranks::use(program, ranks::copies(kReduceScatter), 2, 37);
  Ranks all(program, 2);
  Answers answers(2);
  all.on_all([&](int rank, Rank& mine) {
    answers.set(rank, tilepost_comm_init_with(Ranks::gather, &all, rank, 2, &mine.setup.comm));
    if (rank == 0) answers.set(rank, mine.setup.create_on(mine.setup.comm, program, 0.1, false));
    if (rank == 0)
      answers.texts[1] =
          tilepost_result_name(mine.setup.create_on(mine.setup.comm, program, 0.1, false));
  });
  CHECK(answers.results[0] == TILEPOST_TIMEOUT);
  CHECK_THAT(answers.texts[0], Contains("the other ranks' plans did not come within 0.1 s"));
  CHECK(answers.texts[1] == "TILEPOST_ABORTED");
}

// Rank 1 gets an address of rank 0's memory at which there is none, as on another host.
TEST_CASE_METHOD(Spoilt, "bootstrap: ranks without memory in common use NCCL") {
  on_gathered = [](int rank, int call, char* of_all, size_t bytes) {
    if (rank == 1 && call == 1) of_all[bytes - 1] ^= 1;
  };
  const Answers answers = init();
  for (int rank = 0; rank < kCount; ++rank) {
    INFO(answers.texts[rank]);
    CHECK(answers.results[rank] == TILEPOST_OK);
  }
  CHECK(count_calls("ncclGetUniqueId") == 1);
  CHECK(count_calls("ncclCommInitRank") == kCount);
}

TEST_CASE_METHOD(Spoilt, "bootstrap: an id that NCCL does not give fails all ranks") {
  on_gathered = [](int rank, int call, char* of_all, size_t bytes) {
    if (rank == 1 && call == 1) of_all[bytes - 1] ^= 1;
    if (rank == 0 && call == 2) world().fail_at = world().calls + 1;
  };
  const Answers answers = init();
  CHECK(answers.results == std::vector(kCount, TILEPOST_NCCL_ERROR));
  CHECK_THAT(answers.texts[0], Contains("ncclGetUniqueId"));
  CHECK_THAT(answers.texts[1], Contains("rank 0 got no id from NCCL"));
}

TEST_CASE_METHOD(Spoilt, "bootstrap: the caller's function says that it has failed") {
  const int failing = GENERATE(1, 2);
  answer = [&](int, int call) { return call == failing ? 17 : 0; };
  const Answers answers = init();
  CHECK(answers.results == std::vector(kCount, TILEPOST_INVALID_ARGUMENT));
  CHECK_THAT(answers.texts[2], Contains("rank 2: all_gather returned 17 in its call number " +
                                        std::to_string(failing)));
  for (int rank = 0; rank < kCount; ++rank) CHECK(all.at(rank).setup.comm == nullptr);
}

TEST_CASE_METHOD(Spoilt, "bootstrap: a function that does not gather is found out") {
  on_gathered = [](int, int, char* of_all, size_t bytes) {
    std::memset(of_all, 0, kCount * bytes);
  };
  const Answers answers = init();
  CHECK(answers.results == std::vector(kCount, TILEPOST_INVALID_ARGUMENT));
  CHECK_THAT(answers.texts[1], Contains("did not come back at byte"));
}

TEST_CASE_METHOD(Spoilt, "bootstrap: bytes of something else are not taken for a rank's") {
  on_gathered = [](int rank, int, char* of_all, size_t bytes) {
    std::memset(of_all + (rank + 1) % kCount * bytes, 1, bytes);
  };
  const Answers answers = init();
  CHECK(answers.results == std::vector(kCount, TILEPOST_INVALID_ARGUMENT));
  CHECK_THAT(answers.texts[0], Contains("what all_gather brought from rank 1 is not of a rank"));
}

TEST_CASE_METHOD(Spoilt, "bootstrap: ranks with wrong numbers are named") {
  SECTION("two ranks have one number") {
    as_rank = [](int rank) { return rank == 2 ? 1 : rank; };
    const Answers answers = init();
    CHECK(answers.results == std::vector(kCount, TILEPOST_INVALID_ARGUMENT));
    CHECK_THAT(answers.texts[0], Contains("in place of rank 2 of 3 stands rank 1 of 3"));
  }
  SECTION("one has another number of ranks") {
    world_of_2 = 4;
    on_gathered = [](int, int, char*, size_t) {};
    const Answers answers = init();
    CHECK(answers.results[0] == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(answers.texts[0], Contains("in place of rank 2 of 3 stands rank 2 of 4"));
  }
}

TEST_CASE_METHOD(OnFakes, "bootstrap: wrong arguments are named") {
  tilepost_comm_t comm = nullptr;
  const auto refused = [&](tilepost_all_gather_t gather, int rank, int world,
                           const std::string& text) {
    CHECK(tilepost_comm_init_with(gather, nullptr, rank, world, &comm) ==
          TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(text));
    CHECK(comm == nullptr);
  };
  refused(nullptr, 0, 2, "all_gather is null");
  refused(Ranks::gather, 2, 2, "rank must be from 0 to 1, got 2");
  refused(Ranks::gather, -1, 2, "rank must be from 0 to 1, got -1");
  refused(Ranks::gather, 0, 0, "world must be at least 1, got 0");
  CHECK(tilepost_comm_init_with(Ranks::gather, nullptr, 0, 1, nullptr) ==
        TILEPOST_INVALID_ARGUMENT);
}
