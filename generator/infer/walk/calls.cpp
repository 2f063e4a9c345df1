#include "generator/infer/walk/calls.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

using clang::dyn_cast;
using clang::isa;

// The function that is called. For a virtual one it is null, after a refusal, if the class of the
// object cannot be seen.
const clang::FunctionDecl* Calls::called_by(const clang::CallExpr* e,
                                            const clang::FunctionDecl* function) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (!method || !method->isVirtual()) return function;
  const auto* member = dyn_cast<clang::MemberExpr>(e->getCallee()->IgnoreParens());
  if (member && !member->performsVirtualDispatch(parsed_.ast.getLangOpts())) return function;
  const clang::Expr* object = member ? member->getBase() : e->getArg(0);
  if (const clang::CXXMethodDecl* only = method->getDevirtualizedMethod(object, false)) return only;
  course_.complain(e->getExprLoc(),
                   "'" + method->getNameAsString() +
                       "' is virtual, and which of its kind is called here cannot be seen",
                   e->getExprLoc(), "call it by its class, or make it final");
  return nullptr;
}

// Refuses operands with side effects of builtin functions that need not evaluate their operands.
bool Calls::drops_effects(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const unsigned builtin = function->getBuiltinID();
  const bool asks = builtin != 0 && (parsed_.ast.BuiltinInfo.isUnevaluated(builtin) ||
                                     function->getName() == "__builtin_assume" ||
                                     function->getName() == "__assume");
  if (!asks) return false;
  for (const clang::Expr* operand : e->arguments()) {
    if (!operand->HasSideEffects(parsed_.ast)) continue;
    course_.complain(
        operand->getExprLoc(),
        "'" + function->getNameAsString() + "' need not do what stands in its brackets",
        operand->getExprLoc(), "do it in front of the call");
    return true;
  }
  return false;
}

Value Calls::call(const clang::CallExpr* e) {
  const Where where = e->getExprLoc();
  const clang::FunctionDecl* function = e->getDirectCallee();
  if (isa<clang::CUDAKernelCallExpr>(e)) {
    course_.complain(where, "a kernel is launched here, and its stores cannot be seen", where,
                     "one kernel; launch the other beside the operation");
    return {};
  }
  if (!function) {
    course_.complain(
        where, "a function is called through a pointer here, and its stores cannot be seen", where,
        "call it by its name, give it as a template argument, or mark the kernel: "
        "tilepost::tile, out_base and tile_done");
    return unknown_value(nodes_, e->getType(), "a call through a pointer", where);
  }
  if (intrinsics_.refuses(e, function)) return unknown_value(nodes_, e->getType(), "a call", where);
  function = called_by(e, function);
  if (!function || drops_effects(e, function))
    return unknown_value(nodes_, e->getType(), "a call", where);
  Value known;
  if (intrinsics_.knows(e, function, known)) return known;

  Value self;
  unsigned first = 0;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(e)) {
    const clang::Expr* object = member->getImplicitObjectArgument();
    self = object->getType()->isPointerType() ? walker_.eval(object) : walker_.address(object);
  } else if (isa<clang::CXXOperatorCallExpr>(e) && method && !method->isStatic()) {
    self = walker_.address(e->getArg(0));
    first = 1;
  }
  std::vector<Value> arguments;
  bool carries = self.root == Root::output;  // as when half2's operator= is called on an element
  for (unsigned i = first; i < e->getNumArgs(); ++i) {
    const unsigned parameter = i - first;
    const bool reference = parameter < function->getNumParams() &&
                           function->getParamDecl(parameter)->getType()->isReferenceType();
    arguments.push_back(reference ? walker_.address(e->getArg(i)) : walker_.eval(e->getArg(i)));
    carries |= reference && arguments.back().root == Root::output;  // as by operator+= of half
  }
  if (course_.stopped()) return {};
  // A trivial assignment, made by the compiler, copies the struct.
  if (method && method->isDefaulted() && method->isTrivial() &&
      (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator())) {
    storage_.copy_record(self, arguments[0],
                         types_.size_of(parsed_.ast.getRecordType(method->getParent())), where);
    return self;
  }
  const clang::FunctionDecl* definition = nullptr;
  const bool has_body = function->hasBody(definition) && !definition->isDependentContext();
  for (size_t i = 0; i < arguments.size(); ++i) {
    carries |= storage_.carries_output(arguments[i],
                                       e->getArg(static_cast<unsigned>(i) + first)->getType());
  }
  const bool foreign = origins_.is_foreign(function);
  // make_uint2 and the like make CUDA's vectors of indices.
  const bool makes = function->getIdentifier() && function->getName().starts_with("make_");
  const bool worth = makes || function->isConstexpr() || carries || function->isInStdNamespace() ||
                     function->isImplicit() ||
                     (origins_.acts_for_user(function) && origins_.called_back(function)) ||
                     (method && self.root == Root::object && function->isInlined() &&
                      e->getType()->isIntegralOrEnumerationType());
  if (has_body && (!foreign || worth)) return inline_call(e, definition, self, arguments);
  return opaque_call(e, function, self, arguments);
}

Value Calls::inline_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                         const std::vector<Value>& arguments) {
  const Where where = e->getExprLoc();
  const std::string name = function->getNameAsString();
  if (frames_.run(function)) {
    course_.complain(where, "'" + name + "' calls itself, and how often cannot be seen", where,
                     "write it with a loop");
    return unknown_value(nodes_, e->getType(), "a recursive call", where);
  }
  if (frames_.size() >= kMaxCalls) {
    course_.complain(
        where, "more than " + std::to_string(kMaxCalls) + " calls are within each other here");
    return unknown_value(nodes_, e->getType(), "a call", where);
  }
  frames_.enter(function, e, self);
  frames_.current().site = where;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (method && method->getParent()->isLambda()) lambdas_.open(self, where);
  const size_t named = std::min<size_t>(arguments.size(), function->getNumParams());
  for (size_t i = 0; i < named; ++i)
    arguments_.bind(function->getParamDecl(i), arguments[i], where);
  if (function->isVariadic()) {
    for (size_t i = named; i < arguments.size(); ++i) {
      if (arguments[i].root == Root::output)
        course_.complain(where, "the output pointer goes into '" + name + "'");
    }
  }
  walker_.exec(function->getBody());
  const Frame frame = frames_.current();
  frames_.leave();
  if (frame.has_result) return frame.result;
  if (e->getType()->isVoidType()) return {};
  if (e->getType()->isRecordType()) return pointer_to(frame.result_object);
  return unknown_value(nodes_, e->getType(), "the result of '" + name + "'", where);
}

// A call of a function whose body is not seen. CUDA's own functions store only where their
// arguments point.
Value Calls::opaque_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                         const std::vector<Value>& arguments) {
  const Where where = e->getExprLoc();
  const std::string name = function->getNameAsString();
  if (!origins_.is_foreign(function)) {
    course_.complain(
        where, "the body of '" + name + "' is not in this file, and its stores cannot be seen",
        where, "include its definition");
    return unknown_value(nodes_, e->getType(), "the result of '" + name + "'", where);
  }
  if (origins_.store_in_bulk(function)) {
    course_.complain(where,
                     "'" + name +
                         "' stores in bulk: where that goes is in a tensor map or in memory, and "
                         "cannot be seen",
                     where, "mark the kernel instead: tilepost::tile, out_coord and tile_done");
    return {};
  }
  if (arguments_.refused_callback(e->getExprLoc(), function)) return {};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const unsigned shift = e->getNumArgs() - static_cast<unsigned>(arguments.size());
    const Type type = e->getArg(static_cast<unsigned>(i) + shift)->getType();
    arguments_.hand_over(name, arguments[i], type,
                         i < function->getNumParams() ? function->getParamDecl(i)->getType() : type,
                         where);
  }
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
      method && !method->isStatic()) {
    const Type record = parsed_.ast.getRecordType(method->getParent());
    if (self.root == Root::output && method->isConst())
      output_.read(self, types_.size_of(record), where);
    else
      arguments_.hand_over(
          name, self, parsed_.ast.VoidPtrTy,
          parsed_.ast.getPointerType(method->isConst() ? record.withConst() : record), where);
  }
  if (e->getType()->isRecordType()) return pointer_to(frames_.temporary(e, ""));
  const Type result = function->getReturnType();
  return unknown_value(nodes_, result, "the result of '" + name + "'", where);
}

}  // namespace tilepost::inference
