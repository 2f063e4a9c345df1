// Runs a kernel's body once, for every thread of every block at once.
//
// Values are nodes: expressions of the thread's and the block's index. The conditions that hold at
// a statement are the *facts*. In a branch that not all threads take, an assignment becomes a
// choice between the new and the old value, by the facts. A loop is normally *passed over*: the
// variables that it assigns are unknown afterwards. It is unrolled only if it stores into the
// output, or if a store or a barrier depends on a variable that it assigns. Then the kernel is run
// again from the start (Proof::run). This keeps the interpreted part small even if main loops are
// long.
//
// Code that is not understood is refused if it could store into global memory. Otherwise its result
// is unknown.
//
// The state of a run is in state/. The classes that run statements, expressions and calls are in
// walk/.
#pragma once

#include <optional>
#include <vector>

#include "generator/infer/state/state.h"
#include "generator/infer/state/storage.h"
#include "generator/infer/walk/arguments.h"
#include "generator/infer/walk/calls.h"
#include "generator/infer/walk/expressions.h"
#include "generator/infer/walk/lambdas.h"
#include "generator/infer/walk/meetings.h"
#include "generator/infer/walk/objects.h"
#include "generator/infer/walk/statements.h"
#include "generator/infer/walk/walker.h"

namespace tilepost::inference {

class Interpreter final : private Walker {
 public:
  // `terms` collects the kernel's decisions that depend on m. It is null unless m is bounded.
  Interpreter(const Parsed& parsed, const KernelFacts& facts, Unrolling& unrolling,
              Terms* terms = nullptr);

  // Runs the kernel. Returns false if it must be run again, with more loops unrolled.
  bool run(const clang::FunctionDecl* kernel);

  // The results of the run.
  const Effects& effects() const { return state_.log.effects(); }
  const std::vector<Complaint>& complaints() const { return state_.course.complaints(); }
  const std::optional<InferredPlace>& runs_once() const { return state_.log.runs_once(); }
  const Nodes& nodes() const { return state_.nodes; }

 private:
  void exec(const clang::Stmt* s) override { statements_.exec(s); }
  Value eval(const clang::Expr* e) override { return expressions_.eval(e); }
  Value address(const clang::Expr* e) override { return expressions_.address(e); }
  void discard(const clang::Expr* e) override { expressions_.discard(e); }
  NodeId condition(const clang::Expr* e) override { return expressions_.condition(e); }

  const clang::ParmVarDecl* bind_parameters(const clang::FunctionDecl* kernel);

  const bool m_is_bounded_;
  State state_;
  Storage storage_;
  Meetings meetings_;
  Arguments arguments_;
  Objects objects_;
  Lambdas lambdas_;
  Calls calls_;
  Expressions expressions_;
  Statements statements_;
};

}  // namespace tilepost::inference
