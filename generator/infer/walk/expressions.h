// Computes the values of expressions and the places that they name.
#pragma once

#include "generator/infer/source/plain_char.h"
#include "generator/infer/state/arithmetic.h"
#include "generator/infer/state/builtins.h"
#include "generator/infer/walk/calls.h"
#include "generator/infer/walk/lambdas.h"
#include "generator/infer/walk/objects.h"
#include "generator/infer/walk/walker.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost::inference {

class Expressions {
 public:
  Expressions(State& state, Storage& storage, Objects& objects, Lambdas& lambdas, Calls& calls,
              Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        facts_(state.facts),
        memory_(state.memory),
        forks_(state.forks),
        types_(state.types),
        frames_(state.frames),
        course_(state.course),
        budget_(state.budget),
        storage_(storage),
        output_(storage.output()),
        objects_(objects),
        lambdas_(lambdas),
        calls_(calls),
        walker_(walker),
        arithmetic_(state, storage),
        builtins_(state),
        chars_(state.parsed.ast, state.nodes) {}

  Value eval(const clang::Expr* e);
  // The place that an expression names.
  Value address(const clang::Expr* e);
  // Runs an expression for its effects. Its value is not read.
  void discard(const clang::Expr* e);
  // Whether the expression is true, simplified by the facts.
  NodeId condition(const clang::Expr* e);

 private:
  Value eval_plain(const clang::Expr* e);
  void run_operands(const clang::Expr* e);
  Value eval_unary(const clang::UnaryOperator* e);
  Value eval_binary(const clang::BinaryOperator* e);
  Value choose_between(const clang::AbstractConditionalOperator* e,
                       llvm::function_ref<Value(const clang::Expr*)> run);
  Value logical(const clang::BinaryOperator* e);
  Value assign(const clang::BinaryOperator* e);
  Value bump(const clang::UnaryOperator* e);
  bool fold(const clang::Expr* e, Value& value);

  // These functions are in casts.cpp.
  Value eval_cast(const clang::CastExpr* e);
  Value cast_class(const clang::CastExpr* e, Type derived, int direction);
  Value bit_cast(const clang::CastExpr* e);
  Value load_from(const clang::Expr* place);

  const Parsed& parsed_;
  Nodes& nodes_;
  Facts& facts_;
  Memory& memory_;
  const Forks& forks_;
  const Types& types_;
  Frames& frames_;
  Course& course_;
  Budget& budget_;
  Storage& storage_;
  Output& output_;
  Objects& objects_;
  Lambdas& lambdas_;
  Calls& calls_;
  Walker& walker_;
  Arithmetic arithmetic_;
  Builtins builtins_;
  PlainChars chars_;
};

}  // namespace tilepost::inference
