// Arguments of calls. If a call is run, its parameters get their values. If it is not run, the
// function may read and store through the arguments.
#pragma once

#include <string>

#include "generator/infer/state/storage.h"

namespace tilepost::inference {

class Arguments {
 public:
  Arguments(State& state, Storage& storage)
      : parsed_(state.parsed),
        memory_(state.memory),
        forks_(state.forks),
        types_(state.types),
        origins_(state.origins),
        frames_(state.frames),
        course_(state.course),
        storage_(storage),
        output_(storage.output()) {}

  // Gives a parameter of the entered call its value, which for a reference is a place.
  void bind(const clang::ParmVarDecl* parameter, Value value, Where where);
  // Refuses a call of a header's function, which is not run, if the function calls the user's code:
  // the effects of that code would be missed. Returns whether the call was refused.
  bool refused_callback(Where where, const clang::FunctionDecl* function);
  // Takes an argument for the function `name`, whose body is not seen. The function may read and
  // store through the argument, and through pointers inside of an object that the argument points
  // to.
  void hand_over(const std::string& name, Value value, Type type, Type declared, Where where);

 private:
  const Parsed& parsed_;
  const Memory& memory_;
  const Forks& forks_;
  const Types& types_;
  Origins& origins_;
  Frames& frames_;
  Course& course_;
  Storage& storage_;
  Output& output_;
};

}  // namespace tilepost::inference
