// What cases with ranks as threads start from.
#pragma once

#include <memory>

#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

// Ranks with one program. Edit `program`, then call create().
class Team : public OnFakes {
 public:
  sample::Program program;

  ~Team() noexcept(false) {
    if (all_ != nullptr) all_->destroy();
  }

  // Makes the operations of `count` ranks, which must succeed.
  ranks::Ranks& create(int count, double deadline_seconds = 5) {
    all_ = std::make_unique<ranks::Ranks>(program, count, deadline_seconds);
    all_->create();
    check();
    return *all_;
  }
  // The same, with ranks that find each other by a function of theirs.
  ranks::Ranks& create_gathered(int count, double deadline_seconds = 5) {
    all_ = std::make_unique<ranks::Ranks>(program, count, deadline_seconds);
    all_->gathers = true;
    all_->create();
    check();
    return *all_;
  }
  // Checks that all calls so far have succeeded and that every element of the outputs was right.
  void check() const {
    INFO(all_->text());
    REQUIRE(all_->all_ok());
    CHECK(all_->wrong() == 0);
  }

 private:
  std::unique_ptr<ranks::Ranks> all_;
};
