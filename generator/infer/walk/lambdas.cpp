#include "generator/infer/walk/lambdas.h"

#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

using clang::dyn_cast;
using clang::isa;

Value Lambdas::make(const clang::LambdaExpr* e) {
  Captures captures;
  bool carries = false;  // whether calling the lambda may give access to the output
  const auto holds = [&](Value place) {
    bool any = false;
    forks_.for_each_place(place, [&](Value one) {
      any |=
          one.root == Root::output || (one.root == Root::object && memory_[one.object].held_output);
    });
    return any;
  };
  auto init = e->capture_init_begin();
  const auto copy = [&](const std::string& name, Type type, const clang::Expr* given) {
    if (e->isMutable())
      course_.complain(
          e->getBeginLoc(),
          "a lambda may change what it captured here, and in which copy of it is not followed",
          e->getBeginLoc(), "capture by reference, or leave out mutable");
    const Value made = pointer_to(memory_.add(name));
    memory_.begin(made.object, facts_.size());
    objects_.initialise(made, type.getNonReferenceType(), given);
    return made;
  };
  for (const clang::LambdaCapture& capture : e->captures()) {
    const clang::Expr* given = *init++;
    if (capture.capturesThis()) {
      captures[nullptr] = capture.getCaptureKind() == clang::LCK_StarThis
                              ? copy("this", given->getType(), given)
                              : frames_.current().self;
      carries |= holds(captures[nullptr]);
    }
    if (!capture.capturesVariable()) continue;
    const clang::ValueDecl* captured = capture.getCapturedVar();
    const auto* variable = dyn_cast<clang::VarDecl>(captured);
    if (variable && !variable->hasLocalStorage()) continue;
    const bool by_reference = capture.getCaptureKind() == clang::LCK_ByRef;
    captures[captured] = by_reference
                             ? walker_.address(given)
                             : copy(captured->getNameAsString(), captured->getType(), given);
    // The pointer may be set to the output later.
    const bool changes = by_reference && captured->getType()->isPointerType() &&
                         !captured->getType().isConstQualified() &&
                         !isa<clang::ParmVarDecl>(captured);
    carries |= changes || holds(captures[captured]);
  }
  const Value made = pointer_to(frames_.temporary(e, "a lambda"));
  memory_.write(made.object, 0, 1,
                {Root::number, 0, nodes_.constant(static_cast<int64_t>(captures_.size()))});
  captures_.push_back(std::move(captures));
  if (carries)
    memory_.write(made.object, 1, std::max<int64_t>(types_.size_of(e->getType()) - 1, 1),
                  {Root::output, 0, unknown(nodes_, "what a lambda captures", e->getExprLoc())});
  return made;
}

void Lambdas::open(Value self, Where where) {
  const auto number = self.root == Root::object && nodes_.is_constant(self.node)
                          ? memory_.read(self.object, nodes_[self.node].value, 1)
                          : std::nullopt;
  if (!number || !nodes_.is_constant(number->node)) {
    course_.complain(where, "which lambda is called here cannot be seen");
    return;
  }
  const Captures& captures = captures_[nodes_[number->node].value];
  frames_.current().captures = &captures;
  if (const auto outer = captures.find(nullptr); outer != captures.end()) {
    frames_.current().self = outer->second;
  }
}

}  // namespace tilepost::inference
