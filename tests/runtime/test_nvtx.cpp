// What profilers are told (runtime/cuda/watch/nvtx.h), as nvtx_recorder.cpp writes it down.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/catch.h"
#include "tests/runtime/team.h"

using sample::Lines;

namespace {

// NVTX looks for a profiler when it is called first.
const bool kSet = setenv("NVTX_INJECTION64_PATH", NVTX_RECORDER, 1) == 0;

// What the recorder has written since the last call.
Lines take_lines() {
  REQUIRE(kSet);
  void* const recorder = dlopen(NVTX_RECORDER, RTLD_LAZY);
  REQUIRE(recorder != nullptr);
  const auto take = reinterpret_cast<const char* (*)()>(dlsym(recorder, "take_nvtx_lines"));
  REQUIRE(take != nullptr);
  std::istringstream text(take());
  dlclose(recorder);
  Lines lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Lines names_of_streams() {
  Lines lines = take_lines();
  std::erase_if(lines, [](const std::string& line) { return line.rfind("stream ", 0) != 0; });
  std::ranges::sort(lines);
  return lines;
}

// "push <text> <payload>" of the sample's operation.
std::string push(const std::string& part, int64_t payload,
                 const std::string& pattern = "gemm_all_reduce") {
  return "push sample " + pattern + " rank 1: " + part + " " + std::to_string(payload);
}

}  // namespace

TEST_CASE_METHOD(Operation, "NVTX: creating, a run, waiting and destroying are ranges") {
  take_lines();
  create();
  Lines made = take_lines();
  if (!made.empty() && made.front() == "domain tilepost") made.erase(made.begin());
  std::erase(made, "register");
  CHECK(made == Lines{push("create", 512), "stream tilepost sample rank 1: communication", "pop"});
  REQUIRE(run() == TILEPOST_OK);
  const Lines ran{push("run", 512), push("GEMM", 8), "pop", push("group", 0), "pop",
                  push("group", 1), "pop",           "pop"};
  CHECK(take_lines() == ran);
  REQUIRE(run_captured() == TILEPOST_OK);
  CHECK(take_lines() == ran);
  REQUIRE(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(take_lines() == Lines{push("synchronize", 0), "pop"});
  release();
  CHECK(take_lines() == Lines{push("destroy", 0), "pop"});
}

TEST_CASE_METHOD(Operation,
                 "NVTX: a run's payload is its rows, and a run that fails ends its range") {
  program.plan.any_m = 1;
  create();
  take_lines();
  REQUIRE(run(200) == TILEPOST_OK);
  CHECK(take_lines().front() == push("run", 200));
  fakes::world().tensor_maps_fail = true;
  REQUIRE(run(300) != TILEPOST_OK);
  CHECK(take_lines() == Lines{push("run", 300), "pop"});
}

TEST_CASE_METHOD(Operation, "NVTX: a route is a range in which the host waits for the runs") {
  program.plan.routing = TILEPOST_ROUTING_SPLITS;
  program.use(kAllToAll, 2, TILEPOST_DIVISION_SHARES, {1, 2});
  create();
  take_lines();
  const std::vector<int64_t> splits{100, 412};
  const tilepost_route_t route{sizeof route, -1, splits.data(), nullptr};
  REQUIRE(tilepost_op_route(setup.op, &route, nullptr) == TILEPOST_OK);
  CHECK(take_lines() == Lines{push("route", 512, "gemm_all_to_all"),
                              push("synchronize", 0, "gemm_all_to_all"), "pop", "pop"});
}

TEST_CASE_METHOD(Team, "NVTX: the streams on which ranks copy and add have names") {
  ranks::use(program, ranks::copies(kAllReduce), 3, 61);
  take_lines();
  create(3);
  Lines expected;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string owner = "stream tilepost sample rank " + std::to_string(rank) + ": ";
    expected.push_back(owner + "communication");
    for (const std::string lane : {", lane 0", ", lane 1"}) {
      expected.push_back(owner + "announcements" + lane);
      expected.push_back(owner + "sums" + lane);
      for (int peer = 0; peer < 3; ++peer)
        if (peer != rank)
          expected.push_back(owner + "copies from rank " + std::to_string(peer) + lane);
    }
  }
  std::ranges::sort(expected);
  CHECK(names_of_streams() == expected);
}

TEST_CASE_METHOD(Team, "NVTX: the streams on which copy engines bring rows of A have names") {
  ranks::use(program, ranks::copies(kAllGather), 2, 61);
  take_lines();
  create(2);
  Lines expected;
  for (const char* owner : {"stream tilepost sample rank 0: ", "stream tilepost sample rank 1: "})
    for (const char* contents : {"announcements", "communication", "copies to other ranks"})
      expected.push_back(std::string(owner) + contents);
  CHECK(names_of_streams() == expected);
}
