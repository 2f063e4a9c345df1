#include "generator/infer/walk/loops.h"

#include <algorithm>

#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

namespace {

// How many turns of one loop are unrolled at most. The second limit is for loops in which threads
// meet, because there each turn adds work.
constexpr int kMaxTurns = 20'000;
constexpr int kMaxMeetingTurns = 2'000;

}  // namespace

void Loops::exec(const Loop& loop) {
  Frame& frame = frames_.current();
  const NodeId broken = frame.broken;
  const NodeId continued = frame.continued;
  const size_t index = frames_.size() - 1;
  const size_t facts = facts_.size();
  frame.broken = nodes_.constant(0);
  frame.continued = nodes_.constant(0);
  if (course_.unrolls(loop.statement)) {
    if (!unroll(loop)) {
      // The loop cannot be unrolled, so values that depend on the loop stay unknown.
      course_.give_up(loop.statement);
    }
  } else {
    pass_over(loop);
  }
  facts_.pop(facts);
  frames_[index].broken = broken;
  frames_[index].continued = continued;
}

// Runs the body of one turn, and `loop.before` in front of it. The caller runs the step.
void Loops::turn(const Loop& loop) {
  if (loop.before) walker_.exec(loop.before);
  const size_t index = frames_.size() - 1;
  const size_t facts = facts_.size();
  walker_.exec(loop.body);
  frames_[index].continued = nodes_.constant(0);
  facts_.pop(facts);
}

// Runs turn after turn, as long as any thread goes on. Returns false if it is unknown whether a
// thread does.
bool Loops::unroll(const Loop& loop) {
  const size_t index = frames_.size() - 1;
  open_loops_.begin_unrolled(loop.statement);
  bool known = true;
  const std::optional<Where> meeting = course_.meeting_of(loop.statement);
  for (int turns = 0; !course_.stopped(); ++turns) {
    if (turns > kMaxMeetingTurns && meeting) {
      course_.complain(*meeting,
                       "others wait for threads here in a loop of more than " +
                           std::to_string(kMaxMeetingTurns) +
                           " turns, of which each thread may take another number",
                       loop.statement->getBeginLoc(),
                       "let the loop begin, go on and end in the same way in all threads");
      break;
    }
    if (turns > kMaxTurns) {
      course_.complain(loop.statement->getBeginLoc(),
                       "this loop has more than " + std::to_string(kMaxTurns) +
                           " turns, and stores depend on it",
                       loop.statement->getBeginLoc(),
                       "mark the kernel: tilepost::tile, out_base and tile_done");
      break;
    }
    if (loop.condition && !(loop.body_first && turns == 0)) {
      if (loop.condition_variable) walker_.exec(loop.condition_variable);
      const NodeId goes_on = walker_.condition(loop.condition);
      if (course_.stopped() || nodes_.is(goes_on, 0)) break;
      if (nodes_[goes_on].lost) {
        course_.need_loops_of(goes_on);
        known = course_.restarts();
        break;
      }
      if (!nodes_.is(goes_on, 1)) facts_.push(goes_on);
    }
    turn(loop);
    if (course_.stopped()) break;
    // Threads that have left take no part in the next turn.
    const NodeId left =
        facts_.assume(nodes_.either(frames_[index].broken, frames_[index].returned));
    if (nodes_.is(left, 1)) break;
    if (nodes_[left].lost) {
      known = false;
      break;
    }
    if (!nodes_.is(left, 0)) facts_.push(nodes_.negation(left));
    if (loop.step) walker_.discard(loop.step);
  }
  open_loops_.end_unrolled();
  return known;
}

// Makes all variables that the loop's turns assign unknown. Of a pointer that always points into
// the same memory, only the offset becomes unknown.
void Loops::widen(const Passed& assigned) {
  const std::string text = "a value that is carried round a loop";
  for (const uint32_t object : assigned.objects) {
    memory_.forget(object);
    memory_[object].loop = assigned.loop;
  }
  for (const auto& [place, target] : assigned.cells) {
    memory_.forget(place.first, place.second, target.size);
    memory_[place.first].loop = assigned.loop;
    if (!target.known) continue;
    Value value = target.value;
    value.node = carried(assigned.loop, text, std::min(target.alike, assigned.alike));
    memory_.write(place.first, place.second, target.size, value);
  }
}

NodeId Loops::carried(const clang::Stmt* loop, const std::string& text, Alike alike) {
  return nodes_.unknown({text, loop->getBeginLoc().getRawEncoding(), loop, alike});
}

// Adds the stores of one turn, `seen`, to `assigned`. The turn began with the memory `start` and
// ended with the present memory. Returns whether it has changed `assigned`.
bool Loops::learn(Passed& assigned, const Passed& seen, const Memory& start) {
  bool changed = seen.alike < assigned.alike;
  assigned.alike = std::min(assigned.alike, seen.alike);
  for (const uint32_t object : seen.objects) {
    if (object < start.size()) changed |= assigned.objects.insert(object).second;
  }
  for (const auto& [place, target] : seen.cells) {
    if (place.first >= start.size()) continue;  // a variable of the turn itself
    Target& known = assigned.cells[place];
    changed |= known.size < target.size;
    known.size = std::max(known.size, target.size);
    const auto old = start.read(place.first, place.second, known.size);
    const auto now = memory_.read(place.first, place.second, known.size);
    const Alike same = now ? alike(nodes_, *now, old.value_or(*now)) : Alike::none;
    changed |= same < known.alike;
    known.alike = std::min(known.alike, same);
    const std::optional<Value> shape = old ? old : now;
    if (known.astray || !shape) continue;
    known.astray =
        !old && shape->root != Root::number && start.is_lost(place.first, place.second, known.size);
    if (known.astray) {
      known.known = changed = true;
      known.value = {Root::unknown, 0, 0};
      continue;
    }
    if (!known.known) {
      known.known = changed = true;
      known.value = *shape;
    }
    const bool stays = known.value.same_root(*shape) && (!now || now->same_root(known.value));
    if (!stays) {
      known.astray = changed = true;
      known.value = {Root::unknown, 0, 0};
    }
  }
  return changed;
}

// Runs one turn that stands for all turns: the variables that a turn may assign are unknown before
// and after it. Only a run of the turn shows these variables, so the turn is run until it assigns
// no new one.
void Loops::pass_over(const Loop& loop) {
  const size_t index = frames_.size() - 1;
  Passed& assigned =
      assigned_.try_emplace(loop.statement, Passed{loop.statement, {}, {}, Alike::block})
          .first->second;
  const NodeId returned = frames_[index].returned;
  const Memory before = memory_;
  const Course::Trial trial = course_.begin_trial();
  for (bool last = false;;) {
    memory_.restore(before);
    widen(assigned);
    const Memory start = memory_;
    open_loops_.begin_pass(loop.statement);
    NodeId leaves = nodes_.constant(0);  // whether a thread leaves the loop
    const size_t facts = facts_.size();
    if (loop.condition_variable) walker_.exec(loop.condition_variable);
    if (loop.condition && !loop.body_first) {
      const NodeId goes_on = walker_.condition(loop.condition);
      leaves = nodes_.either(leaves, nodes_.negation(goes_on));
      if (!nodes_.is_constant(goes_on)) facts_.push(goes_on);
    }
    turn(loop);
    if (loop.step) walker_.discard(loop.step);
    if (loop.condition && loop.body_first)
      leaves = nodes_.either(leaves, nodes_.negation(walker_.condition(loop.condition)));
    leaves = nodes_.either(leaves, frames_[index].broken);
    if (frames_[index].returned != returned)
      leaves = nodes_.either(leaves, frames_[index].returned);
    facts_.pop(facts);
    Passed seen = open_loops_.end_pass();
    seen.alike = nodes_.alike(leaves);
    if (course_.stopped() || last) break;
    if (learn(assigned, seen, start)) {
      frames_[index].returned = returned;
      continue;
    }
    // Now all variables that the turn assigns are known. If there were complaints, the turn is run
    // once more to report them.
    if (!course_.must_say_why(trial)) break;
    course_.be_certain();
    last = true;
  }
  course_.end_trial(trial);
  widen(assigned);
  if (frames_[index].returned != returned) {
    const NodeId some = nodes_.condition(carried(loop.statement, "whether a loop returns"));
    frames_[index].returned = nodes_.either(returned, some);
  }
}

}  // namespace tilepost::inference
