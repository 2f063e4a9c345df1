// Operations of three ranks that share their memory. Ranks are threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

// All operations are on the communicator of the first one, so the first one is destroyed last.
class SharedTeams : public OnFakes {
 public:
  static constexpr int kCount = 3;
  using Make = std::function<void(sample::Program&)>;  // edits a program

  static Make exchange(tilepost_shots_t shots, int64_t m = 61, int ctas = 1) {
    return [=](sample::Program& program) { ranks::use_exchange(program, shots, kCount, m, ctas); };
  }
  static Make by(const ranks::Way& way, int64_t m = 61) {
    return [=](sample::Program& program) { ranks::use(program, way, kCount, m); };
  }
  // An operation whose memory has room for all the others.
  static Make room() { return by(ranks::tasks(TILEPOST_GEMM_ALL_REDUCE), 512); }

  ~SharedTeams() noexcept(false) {
    while (!teams_.empty()) teams_.pop_back();
  }

  ranks::Ranks& add(const Make& make) {
    sample::Program& program = *programs_.emplace_back(std::make_unique<sample::Program>());
    make(program);
    teams_.push_back(teams_.empty() ? std::make_unique<ranks::Ranks>(program, kCount)
                                    : std::make_unique<ranks::Ranks>(program, *teams_.front()));
    teams_.back()->shares = true;
    teams_.back()->create();
    check();
    return *teams_.back();
  }

  void check() const {
    for (const auto& team : teams_) {
      INFO(team->text());
      REQUIRE(team->all_ok());
      CHECK(team->wrong() == 0);
    }
  }

  // How many pieces of memory each rank has that other ranks access.
  static int pieces() { return fakes::world().live_pools / kCount; }

 private:
  std::vector<std::unique_ptr<sample::Program>> programs_;
  std::vector<std::unique_ptr<ranks::Ranks>> teams_;
};
