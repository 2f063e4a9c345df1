// CUDA's functions, which are known by name: those that store, those that compute an index or a
// bound, and those that no block of a reordered grid may call.
#pragma once

#include "generator/infer/state/storage.h"
#include "generator/infer/walk/meetings.h"

namespace tilepost::inference {

class Intrinsics {
 public:
  Intrinsics(State& state, Storage& storage, Meetings& meetings, Walker& walker)
      : parsed_(state.parsed),
        launch_(state.launch),
        nodes_(state.nodes),
        types_(state.types),
        origins_(state.origins),
        course_(state.course),
        log_(state.log),
        storage_(storage),
        output_(storage.output()),
        meetings_(meetings),
        walker_(walker) {}

  // Refuses a call of a function that no kernel may call, whatever the arguments are. Returns
  // whether the call was refused.
  bool refuses(const clang::CallExpr* e, const clang::FunctionDecl* function);
  // Whether the call is one of a function that is known by name. If so, runs it and sets `result`.
  bool knows(const clang::CallExpr* e, const clang::FunctionDecl* function, Value& result);

 private:
  void move_matrix(const clang::CallExpr* e, bool stores);

  const Parsed& parsed_;
  const KernelFacts& launch_;
  Nodes& nodes_;
  const Types& types_;
  const Origins& origins_;
  Course& course_;
  AccessLog& log_;
  Storage& storage_;
  Output& output_;
  Meetings& meetings_;
  Walker& walker_;
};

}  // namespace tilepost::inference
