// Checks of runs that are one kernel, which meets the kernels of the other ranks by itself. They
// hold where kernels exchange tiles and where kernels store tiles at the owners.
#pragma once

#include <chrono>
#include <string>

#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/rank_kernel.h"
#include "tests/runtime/ranks.h"

namespace ranks {

// The logged calls that put something on a stream whose name begins with `stream`.
inline sample::Lines put_on(const std::string& stream) {
  const std::lock_guard lock(fakes::world().mutex);
  sample::Lines lines;
  for (const std::string& line : fakes::world().log)
    if (const size_t at = line.find(' '); at != std::string::npos &&
                                          line.compare(at + 1, stream.size(), stream) == 0 &&
                                          line.rfind("cudaStreamQuery", 0) != 0)
      lines.push_back(line);
  return lines;
}

// The number of runs that, as far as `rank` knows, `source` has ended.
inline uint32_t ended(int rank, int source) {
  const tilepost_exchange_t& exchange = last_exchange(rank);
  const auto* words = reinterpret_cast<const uint32_t*>(exchange.memory[rank] + exchange.ended);
  return words[source * TILEPOST_COUNTER_STRIDE];
}

// Checks an eager run of two ranks. The log must have no other run.
inline void check_eager_run() {
  for (const std::string rank : {"0", "1"})
    CHECK(put_on("user" + rank) == sample::Lines{"cudaEventRecord user" + rank, "gemm user" + rank,
                                                 "cudaEventRecord user" + rank});
  CHECK(put_on("own").empty());
  for (int rank = 0; rank < 2; ++rank) CHECK(last_exchange(rank).replays == nullptr);
}

// Checks the third replay of two ranks. It replays the second run that was captured.
inline void check_third_replay() {
  for (int rank = 0; rank < 2; ++rank) {
    const uint32_t* const replays = last_exchange(rank).replays;
    REQUIRE(replays != nullptr);
    CHECK(replays[0] == 3);
    CHECK(replays[1] == 3);
    CHECK(replays[2] == 1);
  }
}

// Checks two ranks' operations of the program. Each run announces that the run before has ended.
// Destroying an operation waits for no other rank, so one thread may destroy all of them.
inline void check_end_is_told(Program& program) {
  OnFakes fresh;
  Ranks all(program, 2);
  all.create();
  all.run(1);
  const uint32_t before = ended(0, 1);
  all.run(3);
  INFO(all.text());
  REQUIRE(all.all_ok());
  for (int rank = 0; rank < 2; ++rank)
    for (int source = 0; source < 2; ++source) CHECK(ended(rank, source) == before + 3);
  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(sample::count_calls("settle") == rank);
    all.at(rank).setup.release();
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
}

}  // namespace ranks
