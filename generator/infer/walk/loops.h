// Runs loops. They are passed over, or unrolled where a store or a barrier needs what they compute.
#pragma once

#include <map>
#include <string>

#include "generator/infer/state/state.h"
#include "generator/infer/walk/walker.h"

namespace tilepost::inference {

// A loop of any kind, as its parts.
struct Loop {
  const clang::Stmt* statement;
  const clang::Stmt* condition_variable;
  const clang::Expr* condition;
  const clang::Expr* step;
  const clang::Stmt* before;  // what runs at the start of each turn
  const clang::Stmt* body;
  bool body_first;
};

class Loops {
 public:
  Loops(State& state, Walker& walker)
      : nodes_(state.nodes),
        facts_(state.facts),
        memory_(state.memory),
        frames_(state.frames),
        course_(state.course),
        open_loops_(state.open_loops),
        walker_(walker) {}

  void exec(const Loop& loop);

 private:
  bool unroll(const Loop& loop);
  void pass_over(const Loop& loop);
  void turn(const Loop& loop);
  void widen(const Passed& assigned);
  bool learn(Passed& assigned, const Passed& seen, const Memory& start);
  NodeId carried(const clang::Stmt* loop, const std::string& text, Alike alike = Alike::none);

  Nodes& nodes_;
  Facts& facts_;
  Memory& memory_;
  Frames& frames_;
  Course& course_;
  OpenLoops& open_loops_;
  Walker& walker_;
  std::map<const clang::Stmt*, Passed> assigned_;  // by loop, as far as known
};

}  // namespace tilepost::inference
