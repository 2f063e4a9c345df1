// Lambdas: what they capture, and what they find of it when they run.
#include "generator/infer/interpreter.h"

namespace tilepost::inference {

using clang::dyn_cast;
using clang::isa;

// Captures by copy are copied now, captures by reference are the variables themselves. The lambda
// object holds the index of its captures, which is copied with it.
Value Interpreter::make_lambda(const clang::LambdaExpr* e) {
  Captures captures;
  bool carries = false;  // calling it may give access to the output
  const auto holds = [&](Value place) {
    return place.root == Root::output ||
           (place.root == Root::object && memory_[place.object].held_output);
  };
  auto init = e->capture_init_begin();
  const auto copy = [&](const std::string& name, Type type, const clang::Expr* given) {
    if (e->isMutable())
      complain(e->getBeginLoc(),
               "a lambda may change what it captured here, and in which copy of it is not followed",
               e->getBeginLoc(), "capture by reference, or leave out mutable");
    const Value made = pointer_to(memory_.add(name));
    memory_.begin(made.object, facts_.size());
    initialise(made, type.getNonReferenceType(), given);
    return made;
  };
  for (const clang::LambdaCapture& capture : e->captures()) {
    const clang::Expr* given = *init++;
    if (capture.capturesThis()) {
      captures[nullptr] = capture.getCaptureKind() == clang::LCK_StarThis
                              ? copy("this", given->getType(), given)
                              : frames_.back().self;
      carries |= holds(captures[nullptr]);
    }
    if (!capture.capturesVariable()) continue;
    const clang::ValueDecl* captured = capture.getCapturedVar();
    const auto* variable = dyn_cast<clang::VarDecl>(captured);
    if (variable && !variable->hasLocalStorage()) continue;
    const bool by_reference = capture.getCaptureKind() == clang::LCK_ByRef;
    captures[captured] = by_reference
                             ? address(given)
                             : copy(captured->getNameAsString(), captured->getType(), given);
    // The pointer may be set to the output later.
    const bool changes = by_reference && captured->getType()->isPointerType() &&
                         !captured->getType().isConstQualified() &&
                         !isa<clang::ParmVarDecl>(captured);
    carries |= changes || holds(captures[captured]);
  }
  const Value made = pointer_to(temporary(e, "a lambda"));
  memory_.write(made.object, 0, 1,
                {Root::number, 0, nodes.constant(static_cast<int64_t>(captures_.size()))});
  captures_.push_back(std::move(captures));
  if (carries)
    memory_.write(made.object, 1, std::max<int64_t>(size_of(e->getType()) - 1, 1),
                  {Root::output, 0, unknown("what a lambda captures", e->getExprLoc())});
  return made;
}

// Sets the captures of the lambda whose call was entered.
void Interpreter::open_lambda(Value self, Where where) {
  const auto number = self.root == Root::object && nodes.is_constant(self.node)
                          ? memory_.read(self.object, nodes[self.node].value, 1)
                          : std::nullopt;
  if (!number || !nodes.is_constant(number->node)) {
    complain(where, "which lambda is called here cannot be seen");
    return;
  }
  const Captures& captures = captures_[nodes[number->node].value];
  frames_.back().captures = &captures;
  if (const auto outer = captures.find(nullptr); outer != captures.end()) {
    frames_.back().self = outer->second;
  }
}

}  // namespace tilepost::inference
