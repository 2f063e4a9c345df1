#include "generator/infer/state/course.h"

#include <utility>

namespace tilepost::inference {

void Course::complain(Where where, const std::string& text, Where note_at,
                      const std::string& note) {
  complained_ |= trial_;
  if (trial_ || stopped()) return;
  complaints_.push_back({frames_.in_source(where), text, frames_.in_source(note_at), note});
}

Course::Trial Course::begin_trial() {
  return {std::exchange(trial_, true), std::exchange(complained_, false)};
}

void Course::end_trial(const Trial& trial) {
  trial_ = trial.within_another;
  complained_ |= trial.complained_before;
}

void Course::need_loops_of(NodeId node, Where meeting) {
  for (const NodeId lost : nodes_.unknowns(node)) {
    const auto* loop = static_cast<const clang::Stmt*>(nodes_.reason(lost).loop);
    if (!loop || was_tried(loop)) continue;
    need(loop);
    if (meeting.isValid()) unrolling_.meetings.emplace(loop, frames_.in_source(meeting));
  }
}

void Course::need(const clang::Stmt* loop) {
  unrolling_.loops.insert(loop);
  restart_ = true;
}

bool Course::unrolls(const clang::Stmt* loop) const {
  return unrolling_.loops.count(loop) && !was_tried(loop);
}

void Course::give_up(const clang::Stmt* loop) {
  unrolling_.tried.insert(loop);
  restart_ = true;
}

std::optional<Where> Course::meeting_of(const clang::Stmt* loop) const {
  const auto found = unrolling_.meetings.find(loop);
  return found == unrolling_.meetings.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tilepost::inference
