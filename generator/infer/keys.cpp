// What happens to a number, and to its key, when it is read in another type. All values with one
// key are the same number. So a number that may have been rounded, truncated or read from other
// bytes has no key.
#include "generator/infer/interpreter.h"
#include "llvm/ADT/APFloat.h"

namespace tilepost::inference {

using llvm::APFloat;

// Whether `type` can represent each number of the type `of`.
bool Interpreter::holds_all(Type type, Type of) const {
  const auto format = [&](Type real) -> const llvm::fltSemantics& {
    return parsed_.ast.getFloatTypeSemantics(real);
  };
  if (type->isRealFloatingType() && of->isRealFloatingType()) {
    const llvm::fltSemantics &wide = format(type), &narrow = format(of);
    return APFloat::semanticsPrecision(wide) >= APFloat::semanticsPrecision(narrow) &&
           APFloat::semanticsMaxExponent(wide) >= APFloat::semanticsMaxExponent(narrow) &&
           APFloat::semanticsMinExponent(wide) <= APFloat::semanticsMinExponent(narrow);
  }
  if (!of->isIntegralOrEnumerationType()) return false;
  const IntType from = int_type(of);
  if (type->isRealFloatingType())
    return from.bits - (from.is_signed ? 1u : 0u) <= APFloat::semanticsPrecision(format(type));
  if (type->isBooleanType()) return of->isBooleanType();
  const IntType to = int_type(type);
  return to.is_signed == from.is_signed ? to.bits >= from.bits
                                        : to.is_signed && to.bits > from.bits;
}

// Whether the floating-point type `real` can represent the number.
bool Interpreter::is_exact(Value value, Type of, Type real) const {
  if (holds_all(real, of)) return true;
  if (value.root != Root::number || !nodes.is_constant(value.node)) return false;
  const int64_t number = nodes[value.node].value;
  APFloat rounded(parsed_.ast.getFloatTypeSemantics(real));
  const llvm::APInt bits(64, static_cast<uint64_t>(number), true);
  const bool is_whole = int_type(of).is_signed || number >= 0;
  return is_whole && rounded.convertFromAPInt(bits, true, llvm::RoundingMode::NearestTiesToEven) ==
                         APFloat::opOK;
}

// The number whose bytes are read as a number of that type. It may have been stored in another
// type.
Value Interpreter::read_as(Value value, Type type, Where where) {
  if (value.root != Root::number || !type->isArithmeticType()) return value;
  const bool real = type->isRealFloatingType();
  const bool has_key = nodes[value.node].op == Op::unknown && !nodes.key(value.node).empty();
  if (has_key) {
    bool keeps = real;  // as a literal does
    for (const clang::ParmVarDecl* parameter : frames_.front().function->parameters()) {
      if (parameter->getName() == nodes.key(value.node))
        keeps = holds_all(type, parameter->getType());
    }
    if (!keeps) value.node = nodes.without_key(value.node);
  } else if (!real) {
    value.node = nodes.convert(value.node, int_type(type));
  } else if (nodes.is_constant(value.node) && !nodes.is(value.node, 0)) {
    value.node = unknown("a whole number's bytes", where, Alike::block);
  }
  return value;
}

}  // namespace tilepost::inference
