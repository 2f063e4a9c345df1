// The part of the verifier that follows every element to its place in the send buffer.
#pragma once

#include <cstdint>
#include <string>

#include "generator/plan/plan.h"

namespace tilepost {

// Collects what is wrong; stops collecting after a few, since one fault shows in many places.
class Findings {
 public:
  static constexpr size_t kMax = 8;
  void add(std::string what) {
    if (list_.size() < kMax) list_.push_back(std::move(what));
  }
  bool full() const { return list_.size() >= kMax; }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// Checks that the elements which the tiles of each group write form exactly the group's block, each
// once, and that the blocks follow each other from 0 to send_elements. Requires tiles whose m and n
// lie inside the (padded) grid and groups whose ranges lie inside the schedule.
void verify_blocks(const Plan& plan, Findings& findings);

}  // namespace tilepost
