// Casts of every kind.
#include "clang/AST/RecordLayout.h"
#include "generator/infer/state/unknowns.h"
#include "generator/infer/walk/expressions.h"

namespace tilepost::inference {

// __builtin_bit_cast of numbers and pointers. The contents of a struct are lost.
Value Expressions::bit_cast(const clang::CastExpr* e) {
  const clang::Expr* operand = e->getSubExpr();
  const Where where = e->getExprLoc();
  const Value from = address(operand);
  if (operand->getType()->isScalarType() && e->getType()->isScalarType())
    return storage_.read_as(storage_.load(from, operand->getType(), where), e->getType(), where);
  if (from.root == Root::output) output_.read(from, types_.size_of(operand->getType()), where);
  forks_.for_each_place(from, [&](Value one) {
    if (one.root == Root::object && memory_[one.object].held_output)
      course_.complain(where, "the output pointer is in what is made another type here");
  });
  if (e->getType()->isRecordType()) return pointer_to(frames_.temporary(e, ""));
  return unknown_value(nodes_, e->getType(), "bits of a struct", where);
}

// The value at the place. If the place is a choice between two places, this is the choice between
// their values.
Value Expressions::load_from(const clang::Expr* place) {
  if (const auto* choice = clang::dyn_cast<clang::ConditionalOperator>(place->IgnoreParens()))
    return choose_between(choice, [&](const clang::Expr* one) { return load_from(one); });
  return storage_.load(address(place), place->getType(), place->getExprLoc());
}

// A cast between a class and its base, which lies at the same offset in all objects unless it is
// virtual. `direction` is 1 to the base, -1 from it. The cast lists the bases on its path, from the
// derived class on.
Value Expressions::cast_class(const clang::CastExpr* e, Type derived, int direction) {
  const clang::Expr* operand = e->getSubExpr();
  const Value value = e->isGLValue() ? address(operand) : eval(operand);
  const Type type = derived->isPointerType() ? derived->getPointeeType() : derived;
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  int64_t bytes = 0;
  for (const clang::CXXBaseSpecifier* base : e->path()) {
    const clang::CXXRecordDecl* next = base->getType()->getAsCXXRecordDecl();
    if (base->isVirtual())
      return unknown_value(nodes_, e->getType(), "a virtual base", e->getExprLoc());
    bytes += parsed_.ast.getASTRecordLayout(record).getBaseClassOffset(next).getQuantity();
    record = next;
  }
  return storage_.moved(value, nodes_.constant(direction * bytes));
}

Value Expressions::eval_cast(const clang::CastExpr* e) {
  const clang::Expr* operand = e->getSubExpr();
  const Where where = e->getExprLoc();
  const Type type = e->getType();
  switch (e->getCastKind()) {
    case clang::CK_LValueToRValue:
      return load_from(operand);
    case clang::CK_ArrayToPointerDecay:
    case clang::CK_LValueBitCast:
      return address(operand);
    case clang::CK_NullToPointer:
      return {Root::number, 0, nodes_.constant(0)};
    case clang::CK_FunctionToPointerDecay:
      return {Root::unknown, 0, unknown(nodes_, "a function's address", where)};
    case clang::CK_UncheckedDerivedToBase:
    case clang::CK_DerivedToBase:
      return cast_class(e, operand->getType(), 1);
    case clang::CK_BaseToDerived:
      return cast_class(e, type, -1);
    case clang::CK_LValueToRValueBitCast:
      return bit_cast(e);
    default:
      break;
  }
  if (e->isGLValue()) return address(operand);
  const Value value = eval(operand);
  const bool pointer = value.root != Root::number;
  switch (e->getCastKind()) {
    case clang::CK_IntegralToPointer:
      if (pointer) return value;
      return unknown_value(nodes_, type, "a number that is made a pointer", where);
    case clang::CK_IntegralCast:
    case clang::CK_PointerToIntegral:
      if (pointer && types_.int_type(type).bits == 64) return value;
      if (!pointer && nodes_[value.node].lost && types_.holds_all(type, operand->getType()))
        return value;
      if (!pointer) return {Root::number, 0, nodes_.convert(value.node, types_.int_type(type))};
      if (value.root == Root::output || value.root == Root::object)
        arithmetic_.refuse_number(where);
      storage_.note_number_of_output(value.root == Root::output);
      return unknown_value(nodes_, type, "an address", where);
    case clang::CK_PointerToBoolean:
      if (const Value tested = storage_.number_if_null(value); tested.root == Root::number)
        return {Root::number, 0, nodes_.truth(tested.node)};
      if (value.root != Root::other && !is_uncertain(value.root) && value.root != Root::null)
        return {Root::number, 0, nodes_.constant(1)};
      if (const std::string key = arithmetic_.key_of(value); !key.empty()) {
        return {Root::number, 0, nodes_.negation(nodes_.choice(key + " == 0"))};
      }
      return unknown_value(nodes_, type, "whether a pointer is null", where);
    case clang::CK_FloatingToBoolean:
      if (const std::string key = arithmetic_.key_of(value); !key.empty()) {
        return {Root::number, 0, nodes_.negation(nodes_.choice(key + " == 0"))};
      }
      return unknown_value(nodes_, type, "a floating-point number", where,
                           nodes_.alike(value.node));
    case clang::CK_IntegralToBoolean:
      if (value.root == Root::output || value.root == Root::object)
        return {Root::number, 0, nodes_.constant(1)};
      if (pointer) return {Root::number, 0, nodes_.condition(unknown(nodes_, "an address", where))};
      if (!arithmetic_.key_of(value).empty() && !nodes_.is_constant(value.node)) {
        return {Root::number, 0,
                nodes_.negation(nodes_.choice(arithmetic_.key_of(value) + " == 0"))};
      }
      return {Root::number, 0, nodes_.condition(value.node)};
    case clang::CK_BooleanToSignedIntegral:
      return {Root::number, 0, nodes_.binary(Op::subtract, nodes_.constant(0), value.node, kInt64)};
    case clang::CK_IntegralToFloating:
    case clang::CK_FloatingCast:
      if (value.root == Root::output || value.root == Root::object)
        arithmetic_.refuse_number(where);
      if (const std::string key = arithmetic_.key_of(value);
          !key.empty() && types_.is_exact(nodes_, value, operand->getType(), type)) {
        return {Root::number, 0, nodes_.unknown({"a floating-point number"}, key)};
      }
      return unknown_value(nodes_, type, "a floating-point number", where,
                           nodes_.alike(value.node));
    case clang::CK_FloatingToIntegral:
      return unknown_value(nodes_, type, "a floating-point number", where,
                           nodes_.alike(value.node));
    case clang::CK_ToVoid:
      return {};
    default:  // casts that leave the value as it is
      return value;
  }
}

}  // namespace tilepost::inference
