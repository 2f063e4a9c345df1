// Runs calls. A function of the user's is run in place. A call is refused if its stores could be
// missed.
#pragma once

#include <vector>

#include "generator/infer/walk/arguments.h"
#include "generator/infer/walk/intrinsics.h"
#include "generator/infer/walk/lambdas.h"
#include "generator/infer/walk/walker.h"

namespace tilepost::inference {

class Calls {
 public:
  Calls(State& state, Storage& storage, Arguments& arguments, Lambdas& lambdas, Meetings& meetings,
        Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        types_(state.types),
        origins_(state.origins),
        frames_(state.frames),
        course_(state.course),
        storage_(storage),
        output_(storage.output()),
        arguments_(arguments),
        lambdas_(lambdas),
        intrinsics_(state, storage, meetings, walker),
        walker_(walker) {}

  // Runs or refuses the call, and returns its value.
  Value call(const clang::CallExpr* e);

 private:
  const clang::FunctionDecl* called_by(const clang::CallExpr* e,
                                       const clang::FunctionDecl* function);
  bool drops_effects(const clang::CallExpr* e, const clang::FunctionDecl* function);
  Value inline_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                    const std::vector<Value>& arguments);
  Value opaque_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                    const std::vector<Value>& arguments);

  const Parsed& parsed_;
  Nodes& nodes_;
  const Types& types_;
  Origins& origins_;
  Frames& frames_;
  Course& course_;
  Storage& storage_;
  Output& output_;
  Arguments& arguments_;
  Lambdas& lambdas_;
  Intrinsics intrinsics_;
  Walker& walker_;
};

}  // namespace tilepost::inference
