// Loops: passed over, or unrolled where a store needs what they compute.
#include "generator/infer/interpreter.h"

namespace tilepost::inference {

void Interpreter::exec_loop(const Loop& loop) {
  Frame& frame = frames_.back();
  const NodeId broken = frame.broken;
  const NodeId continued = frame.continued;
  const size_t index = frames_.size() - 1;
  const size_t facts = facts_.size();
  frame.broken = nodes.constant(0);
  frame.continued = nodes.constant(0);
  if (unrolling_.loops.count(loop.statement) && !unrolling_.tried.count(loop.statement)) {
    if (!unroll(loop)) {
      // The loop cannot be unrolled, so what depends on it stays unknown.
      unrolling_.tried.insert(loop.statement);
      restart_ = true;
    }
  } else {
    pass_over(loop);
  }
  pop_facts(facts);
  frames_[index].broken = broken;
  frames_[index].continued = continued;
}

// One turn's body and step.
void Interpreter::turn(const Loop& loop) {
  if (loop.before) exec(loop.before);
  const size_t index = frames_.size() - 1;
  const size_t facts = facts_.size();
  exec(loop.body);
  frames_[index].continued = nodes.constant(0);
  pop_facts(facts);
}

// Runs turn after turn, as long as any thread goes on. Returns false if it cannot be known whether
// one does.
bool Interpreter::unroll(const Loop& loop) {
  const size_t index = frames_.size() - 1;
  unrolled_.push_back(loop.statement);
  bool known = true;
  const auto meeting = unrolling_.meetings.find(loop.statement);
  for (int turns = 0; !stopped(); ++turns) {
    if (turns > kMaxMeetingTurns && meeting != unrolling_.meetings.end()) {
      complain(meeting->second,
               "others wait for threads here in a loop of more than " +
                   std::to_string(kMaxMeetingTurns) +
                   " turns, of which each thread may take another number",
               loop.statement->getBeginLoc(),
               "let the loop begin, go on and end in the same way in all threads");
      break;
    }
    if (turns > kMaxTurns) {
      complain(loop.statement->getBeginLoc(),
               "this loop has more than " + std::to_string(kMaxTurns) +
                   " turns, and stores depend on it",
               loop.statement->getBeginLoc(),
               "mark the kernel: tilepost::tile, out_base and tile_done");
      break;
    }
    if (loop.condition && !(loop.body_first && turns == 0)) {
      if (loop.condition_variable) exec(loop.condition_variable);
      const NodeId goes_on = condition(loop.condition);
      if (stopped() || nodes.is(goes_on, 0)) break;
      if (nodes[goes_on].lost) {
        need_loops_of(goes_on);
        known = restart_;
        break;
      }
      if (!nodes.is(goes_on, 1)) push_fact(goes_on);
    }
    turn(loop);
    if (stopped()) break;
    // Threads that have left take no part in the next turn.
    const NodeId left = assume(nodes.either(frames_[index].broken, frames_[index].returned));
    if (nodes.is(left, 1)) break;
    if (nodes[left].lost) {
      known = false;
      break;
    }
    if (!nodes.is(left, 0)) push_fact(nodes.negation(left));
    if (loop.step) discard(loop.step);
  }
  unrolled_.pop_back();
  return known;
}

void Interpreter::note_store(uint32_t object, std::optional<int64_t> offset, int64_t size) {
  for (Passed& passed : passed_) {
    if (offset) {
      int64_t& known = passed.cells[{object, *offset}].size;
      known = std::max(known, size);
    } else {
      passed.objects.insert(object);
    }
  }
}

// Makes everything unknown that the loop's turns assign. A pointer that always points into the same
// memory still does so.
void Interpreter::widen(const Passed& assigned) {
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

NodeId Interpreter::carried(const clang::Stmt* loop, const std::string& text, Alike alike) {
  return nodes.unknown({text, loop->getBeginLoc().getRawEncoding(), loop, alike});
}

// Adds to `assigned` what one turn has stored, which began with the memory `start` and ended with
// the present memory. Returns whether there was anything new.
bool Interpreter::learn(Passed& assigned, const Passed& seen, const Memory& start) {
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
    const Alike same = now ? alike(*now, old.value_or(*now)) : Alike::none;
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

// Runs one turn that stands for all: whatever a turn may assign is unknown before it and after it.
// What a turn assigns shows only when it is run, so it is run until it assigns nothing new.
void Interpreter::pass_over(const Loop& loop) {
  const size_t index = frames_.size() - 1;
  Passed& assigned =
      assigned_.try_emplace(loop.statement, Passed{loop.statement, {}, {}, Alike::block})
          .first->second;
  const NodeId returned = frames_[index].returned;
  const Memory before = memory_;
  const bool was_trial = std::exchange(trial_, true);
  const bool had_complaint = std::exchange(trial_complaint_, false);
  for (bool last = false;;) {
    memory_.restore(before);
    widen(assigned);
    const Memory start = memory_;
    passed_.push_back({loop.statement, {}, {}, Alike::block});
    NodeId leaves = nodes.constant(0);  // whether a thread leaves the loop
    const size_t facts = facts_.size();
    if (loop.condition_variable) exec(loop.condition_variable);
    if (loop.condition && !loop.body_first) {
      const NodeId goes_on = condition(loop.condition);
      leaves = nodes.either(leaves, nodes.negation(goes_on));
      if (!nodes.is_constant(goes_on)) push_fact(goes_on);
    }
    turn(loop);
    if (loop.step) discard(loop.step);
    if (loop.condition && loop.body_first)
      leaves = nodes.either(leaves, nodes.negation(condition(loop.condition)));
    leaves = nodes.either(leaves, frames_[index].broken);
    if (frames_[index].returned != returned) leaves = nodes.either(leaves, frames_[index].returned);
    pop_facts(facts);
    passed_.back().alike = nodes.alike(leaves);
    const Passed seen = std::move(passed_.back());
    passed_.pop_back();
    if (stopped() || last) break;
    if (learn(assigned, seen, start)) {
      frames_[index].returned = returned;
      continue;
    }
    // Now everything the turn assigns is known. It is run once more if it had complaints, which are
    // now reported.
    if (was_trial || !trial_complaint_) break;
    trial_ = false;
    last = true;
  }
  trial_ = was_trial;
  trial_complaint_ |= had_complaint;
  widen(assigned);
  if (frames_[index].returned != returned) {
    const NodeId some = nodes.condition(carried(loop.statement, "whether a loop returns"));
    frames_[index].returned = nodes.either(returned, some);
  }
}

}  // namespace tilepost::inference
