// Records what the kernel's threads have done so far that other threads can see.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "generator/infer/source/names.h"
#include "generator/infer/state/effects.h"

namespace tilepost::inference {

class AccessLog {
 public:
  const Effects& effects() const { return effects_; }

  // Notes an access. If turns of a loop repeat an access at the same address, the access is noted
  // once. An access by a warp is noted each time, because add_rows changes the access afterwards.
  void note(bool stores, const Access& access);
  // Makes the last access that of a matrix of `rows` rows, which are `pitch` bytes apart.
  void add_rows(bool stores, int64_t rows, NodeId pitch);
  size_t number(bool stores) const { return (stores ? effects_.stores : effects_.reads).size(); }

  // Notes a meeting, unless the same one is noted already.
  void note(const Meeting& meeting);

  // Notes why the kernel's body cannot run again in the same block. Only the first reason is kept.
  void run_once(Where where, const std::string& what);
  const std::optional<InferredPlace>& runs_once() const { return runs_once_; }

  // The place of asynchronous copies that nobody has waited for yet. The place is invalid if there
  // are no such copies.
  void begin_copies(Where where) { pending_copies_ = where; }
  void end_copies() { pending_copies_ = {}; }
  Where pending_copies() const { return pending_copies_; }

 private:
  Effects effects_;
  std::set<std::tuple<bool, NodeId, NodeId, int64_t>> accesses_;  // those in `effects_`
  std::optional<InferredPlace> runs_once_;
  Where pending_copies_;
};

}  // namespace tilepost::inference
