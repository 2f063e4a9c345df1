// Keeps the loops around the statement that is being run. For a loop that is passed over, it also
// keeps the variables that the loop's turns assign.
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
  bool known = false;          // whether `value.root` is known
  bool astray = false;         // whether a pointer may come to point into other memory
  Alike alike = Alike::block;  // which threads have the same value
  Value value;
};

// A loop that is being passed over, and its stores to variables.
struct Passed {
  const clang::Stmt* loop;
  std::map<std::pair<uint32_t, int64_t>, Target> cells;  // by object and offset
  std::set<uint32_t> objects;                            // objects with stores at unknown offsets
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
