// The operands that a rank has brought stay after the rank gives up, because others may read them.
#include <sys/mman.h>
#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cstring>
#include <thread>

#include "tests/catch.h"
#include "tests/host/pattern.h"

namespace {

constexpr double kDeadline = 0.2;

// The test takes away the right to read some pages. The first thread that reads one sets `reached`
// and is held in the signal handler until `let_go`. Then the handler makes the page readable.
std::atomic<bool> reached{false}, let_go{false};

void hold_reader(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  if (!reached.exchange(true))
    while (!let_go) usleep(1000);
  mprotect(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(info->si_addr) / page * page), page,
           PROT_READ | PROT_WRITE);
}

class HeldReader {
 public:
  HeldReader() {
    struct sigaction action {};
    action.sa_sigaction = hold_reader;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~HeldReader() { sigaction(SIGSEGV, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

// Threads that have ended leave their stacks to later threads. These threads overwrite such stacks.
void overwrite_stacks() {
  std::vector<std::thread> threads;
  std::atomic<int> waiting{0};
  for (int i = 0; i < 12; ++i)
    threads.emplace_back([&] {
      volatile char memory[65536];
      std::memset(const_cast<char*>(memory), 0x5a, sizeof memory);
      ++waiting;
      while (waiting < 12) std::this_thread::yield();
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("ranks read what another has brought though it has given up") {
  constexpr int kRanks = 3;
  const auto page = static_cast<int64_t>(getpagesize());
  Problem problem;
  problem.pattern = TILEPOST_ALL_TO_ALL_GEMM;
  problem.ranks = kRanks;
  problem.m = kRanks;  // a row for each rank, which fills a page
  problem.n = 8;
  problem.k = page / 2;
  const Program program(problem);
  const Comms comms(kRanks);
  tilepost_op_t ops[kRanks] = {};
  for (int rank = 0; rank < kRanks; ++rank) {
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = rank == 2 ? 60 : kDeadline;
    REQUIRE(tilepost_op_create(comms[rank], &program.get(), &options, &ops[rank]) == TILEPOST_OK);
  }
  const HeldReader handler;
  reached = let_go = false;
  std::vector<uint16_t> b(8 * problem.k), out[kRanks];
  char* a[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    a[rank] = static_cast<char*>(
        mmap(nullptr, kRanks * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(a[rank] != MAP_FAILED);
    if (rank != 2) REQUIRE(mprotect(a[rank] + 2 * page, page, PROT_NONE) == 0);
    out[rank].resize(kRanks * 8);
    REQUIRE(tilepost_op_run(ops[rank], a[rank], b.data(), out[rank].data(), nullptr) ==
            TILEPOST_OK);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  REQUIRE(reached);
  // The other ranks have given up, but their operands must stay.
  CHECK(tilepost_op_status(ops[0]) == TILEPOST_IN_PROGRESS);
  overwrite_stacks();
  let_go = true;
  for (const tilepost_op_t op : ops) {
    CHECK(tilepost_op_synchronize(op) == TILEPOST_TIMEOUT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("rank 2 did not arrive at the collective within 0.2 s"));
  }
  for (const tilepost_op_t op : ops) CHECK(tilepost_op_destroy(op) == TILEPOST_OK);
  for (char* memory : a) munmap(memory, kRanks * page);
}

TEST_CASE("a kernel that runs out of memory ends the communicator, not the process") {
  Problem problem;
  std::mt19937_64 random(1);
  Data data(problem, false, random);
  Program program(problem);
  program.plan().kernel.host_function = [](const void*, const void*, void*, tilepost_shape_t,
                                           tilepost_epilogue_t, int, int,
                                           tilepost_view_t) { throw std::bad_alloc(); };
  const Comms comms(2);
  const Ops ops(comms, program.get(), 2);
  REQUIRE(data.run(ops, 0) == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(ops[0]) == TILEPOST_OUT_OF_MEMORY);
  CHECK(tilepost_op_synchronize(ops[1]) == TILEPOST_ABORTED);
}
