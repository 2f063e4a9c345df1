// What functions are given: the parameters of a call that is run, and what may happen to the
// arguments of one that is not.
#pragma once

#include <string>

#include "generator/infer/state/storage.h"

namespace tilepost::inference {

class Arguments {
 public:
  Arguments(State& state, Storage& storage)
      : parsed_(state.parsed),
        memory_(state.memory),
        types_(state.types),
        origins_(state.origins),
        frames_(state.frames),
        course_(state.course),
        storage_(storage),
        output_(storage.output()) {}

  // Gives a parameter of the entered call its value. For a reference this is the place.
  void bind(const clang::ParmVarDecl* parameter, Value value, Where where);
  // Refuses a header's function that is not run if it calls the user's code, which would not be run
  // either.
  bool refused_callback(Where where, const clang::FunctionDecl* function);
  // A function whose body is not seen may read and store where an argument points, and where
  // pointers in an object that it is given point.
  void hand_over(const std::string& name, Value value, Type type, Type declared, Where where);

 private:
  const Parsed& parsed_;
  const Memory& memory_;
  const Types& types_;
  Origins& origins_;
  Frames& frames_;
  Course& course_;
  Storage& storage_;
  Output& output_;
};

}  // namespace tilepost::inference
