// What cases with ranks as threads start from.
#pragma once

#include <memory>

#include "tests/runtime/fixture.h"
#include "tests/runtime/ranks.h"

// Ranks with one program: edit `program`, then create().
class Team : public OnFakes {
 public:
  sample::Program program;

  ~Team() noexcept(false) {
    if (all_ != nullptr) all_->destroy();
  }

  // On `count` ranks; must succeed.
  ranks::Ranks& create(int count, double deadline_seconds = 5) {
    all_ = std::make_unique<ranks::Ranks>(program, count, deadline_seconds);
    all_->create();
    check();
    return *all_;
  }
  // All have succeeded so far, and every element that came out was right.
  void check() const {
    INFO(all_->text());
    REQUIRE(all_->all_ok());
    CHECK(all_->wrong() == 0);
  }

 private:
  std::unique_ptr<ranks::Ranks> all_;
};
