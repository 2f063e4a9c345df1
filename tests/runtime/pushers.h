// Ranks that push sums into outputs of the caller's. Cases that register outputs start from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/core/registration.h"
#include "runtime/cuda/shared/peer_info.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"

namespace pushers {

constexpr ranks::Way kTasks = ranks::tasks(kAllReduce);
constexpr ranks::Way kFused = ranks::fuses(kAllReduce);
constexpr ranks::Way kTiles = ranks::fuses(kAllToAll);  // tiles go into the others' outputs
constexpr int64_t kM = 61;
// How many numbers a rank sends about a buffer that it registers.
constexpr size_t kInfoNumbers =
    tilepost::kRegistrationNumbers + 2 + tilepost::cuda::kPeerInfoNumbers;

// The device memory of an operation for registering outputs, in bytes: the tables, and the numbers
// that this rank sends and all ranks send.
constexpr int64_t registering_bytes(size_t ranks) {
  return static_cast<int64_t>(sizeof(int64_t) *
                              (tilepost::kMostRegistered * ranks + kInfoNumbers * (1 + ranks)));
}

// Ranks whose sums are pushed. They are threads of one process, but the runtime may be made to take
// them for several processes.
class Pushers : public Team {
 public:
  // `processes`: whether the runtime takes each rank for a process of its own.
  ranks::Ranks& create_pushers(int count, bool processes, double deadline_seconds = 5,
                               const ranks::Way& way = kTasks) {
    return create_pushers_by(count, processes ? 1 : count, deadline_seconds, way);
  }
  // `of_process`: how many consecutive ranks the runtime takes for one process.
  ranks::Ranks& create_pushers_by(int count, int of_process, double deadline_seconds = 5,
                                  const ranks::Way& way = kTasks) {
    using tilepost::cuda::kPeerInfoNumbers;
    using tilepost::cuda::PeerInfo;
    program.plan.any_m = 1;
    ranks::use(program, way, count, kM);
    if (of_process == count) return create(count, deadline_seconds);
    made_ = std::make_unique<ranks::Ranks>(program, count, deadline_seconds);
    // Ranks sets the exchange. Here the numbers that a rank sends are edited on their way.
    fakes::world().exchange = [of_process, meet = fakes::world().exchange](const int64_t* from,
                                                                           int64_t* to, size_t n) {
      std::vector<int64_t> told(from, from + n);
      if (n == kPeerInfoNumbers || n == kInfoNumbers) {
        auto& info = *reinterpret_cast<PeerInfo*>(told.data() + n - kPeerInfoNumbers);
        info.process[1] += info.ordinal / of_process + 1;
      }
      meet(told.data(), to, n);
    };
    made_->create();
    check(*made_);
    return *made_;
  }
  ~Pushers() noexcept(false) {
    if (made_ != nullptr) made_->destroy();
  }
  static void check(const ranks::Ranks& all) {
    INFO(all.text());
    REQUIRE(all.all_ok());
    CHECK(all.wrong() == 0);
  }

 private:
  std::unique_ptr<ranks::Ranks> made_;
};

// Checks what every rank's call has returned, and that its text contains `own` on rank `refused`
// and `others` on the other ranks.
inline void check_all(ranks::Ranks& all, tilepost_result_t result, int refused,
                      const std::string& own, const std::string& others) {
  for (int rank = 0; rank < all.count(); ++rank) {
    CAPTURE(rank);
    CHECK(all.at(rank).result == result);
    CHECK_THAT(all.at(rank).text, Catch::Contains(rank == refused ? own : others));
    all.at(rank).result = TILEPOST_OK;
  }
}

}  // namespace pushers
