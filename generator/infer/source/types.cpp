#include "generator/infer/source/types.h"

#include "llvm/ADT/APFloat.h"

namespace tilepost::inference {

using llvm::APFloat;

int64_t Types::size_of(Type type) const {
  type = type.getNonReferenceType();
  if (type->isVoidType() || type->isFunctionType()) return 1;
  if (type->isDependentType() || type->isIncompleteType()) return 0;
  return ast_.getTypeSizeInChars(type).getQuantity();
}

IntType Types::int_type(Type type) const {
  if (type->isPointerType() || !type->isIntegralOrEnumerationType()) return kInt64;
  if (type->isBooleanType()) return {8, false};
  const uint64_t bits = ast_.getTypeSize(type);
  if (bits > 64) return kInt64;  // a number that does not fit in 64 bits is lost
  return {static_cast<uint8_t>(bits), type->isSignedIntegerOrEnumerationType()};
}

bool Types::holds_all(Type type, Type of) const {
  const auto format = [&](Type real) -> const llvm::fltSemantics& {
    return ast_.getFloatTypeSemantics(real);
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

bool Types::is_exact(const Nodes& nodes, Value value, Type of, Type real) const {
  if (holds_all(real, of)) return true;
  if (value.root != Root::number || !nodes.is_constant(value.node)) return false;
  const int64_t number = nodes[value.node].value;
  APFloat rounded(ast_.getFloatTypeSemantics(real));
  const llvm::APInt bits(64, static_cast<uint64_t>(number), true);
  const bool is_whole = int_type(of).is_signed || number >= 0;
  return is_whole && rounded.convertFromAPInt(bits, true, llvm::RoundingMode::NearestTiesToEven) ==
                         APFloat::opOK;
}

}  // namespace tilepost::inference
