// Finds where threads of a block wait for each other.
//
// CUDA lets threads leave the kernel while others go on. A barrier then waits for those that are
// left (CUDA C++ Programming Guide, Synchronization Functions; PTX ISA, bar: "all non-exited
// threads"). Suppose that a thread of a woven kernel leaves the body and waits at its tile's end
// instead. Then the barriers in the body would count this thread. So where whole warps may be
// missing, the woven kernel's threads end one by one (Inferred::leaves). Either all lanes of a warp
// must come to a meeting, or none.
#pragma once

#include <vector>

#include "clang/AST/DeclCXX.h"
#include "generator/infer/state/state.h"
#include "generator/infer/walk/walker.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost::inference {

class Meetings {
 public:
  Meetings(State& state, Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        facts_(state.facts),
        frames_(state.frames),
        course_(state.course),
        log_(state.log),
        walker_(walker) {}

  // Notes the call if it is of a function that waits.
  void note(const clang::CallExpr* e, const clang::FunctionDecl* function);
  // Notes the instruction if it waits. `last` is its last operand, if this is a number.
  void note(Where where, llvm::StringRef instruction, const std::vector<llvm::StringRef>& operands,
            Value last);
  // The lanes that a mask names, or 0 if the mask is not known.
  NodeId mask_of(const clang::Expr* given);

 private:
  void meet(Where where, bool of_warp, NodeId lanes);
  NodeId lanes_of(const clang::CXXRecordDecl* group);

  const Parsed& parsed_;
  Nodes& nodes_;
  const Facts& facts_;
  const Frames& frames_;
  Course& course_;
  AccessLog& log_;
  Walker& walker_;
};

}  // namespace tilepost::inference
