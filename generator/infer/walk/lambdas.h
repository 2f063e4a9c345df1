// Lambdas: what they capture, and how their bodies find the captures when they run.
#pragma once

#include <deque>

#include "generator/infer/walk/objects.h"

namespace tilepost::inference {

class Lambdas {
 public:
  Lambdas(State& state, Objects& objects, Walker& walker)
      : nodes_(state.nodes),
        facts_(state.facts),
        memory_(state.memory),
        forks_(state.forks),
        types_(state.types),
        frames_(state.frames),
        course_(state.course),
        objects_(objects),
        walker_(walker) {}

  // Makes the lambda's object. Captures by copy are copied now, captures by reference are the
  // variables themselves. The object holds the index of its captures. So a copy of the object has
  // the same captures.
  Value make(const clang::LambdaExpr* e);
  // Sets the captures of the lambda whose call was entered.
  void open(Value self, Where where);

 private:
  Nodes& nodes_;
  const Facts& facts_;
  Memory& memory_;
  const Forks& forks_;
  const Types& types_;
  Frames& frames_;
  Course& course_;
  Objects& objects_;
  Walker& walker_;
  std::deque<Captures> captures_;
};

}  // namespace tilepost::inference
