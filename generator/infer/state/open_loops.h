// The loops around the statement that is being run, and what the turns of those that are passed
// over assign.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "clang/AST/Stmt.h"
#include "generator/infer/values/memory.h"

namespace tilepost::inference {

// A part of a variable that a loop assigns.
struct Target {
  int64_t size = 0;
  bool known = false;          // `value` says what it points into
  bool astray = false;         // a pointer that may come to point into something else
  Alike alike = Alike::block;  // which threads have the same value
  Value value;
};

// A loop that is being passed over: what was stored to variables in it.
struct Passed {
  const clang::Stmt* loop;
  std::map<std::pair<uint32_t, int64_t>, Target> cells;  // by object and offset
  std::set<uint32_t> objects;                            // those stored to at an unknown place
  Alike alike = Alike::block;                            // which threads take equally many turns
};

class OpenLoops {
 public:
  // Begins and ends a turn of a loop that is passed over.
  void begin_pass(const clang::Stmt* loop) { passed_.push_back({loop, {}, {}, Alike::block}); }
  Passed end_pass();
  // The loops that are being passed over, from the outermost on.
  const std::vector<Passed>& passed() const { return passed_; }
  // Notes a store to a variable. Without `offset` its place is unknown.
  void note_store(uint32_t object, std::optional<int64_t> offset, int64_t size);

  void begin_unrolled(const clang::Stmt* loop) { unrolled_.push_back(loop); }
  void end_unrolled() { unrolled_.pop_back(); }
  // The outermost unrolled loop around the current statement, or null.
  const clang::Stmt* outermost_unrolled() const {
    return unrolled_.empty() ? nullptr : unrolled_.front();
  }

 private:
  std::vector<Passed> passed_;
  std::vector<const clang::Stmt*> unrolled_;
};

}  // namespace tilepost::inference
