// Expressions: their values and the places they name.
#include "generator/infer/interpreter.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"

namespace tilepost::inference {

using clang::cast;
using clang::dyn_cast;
using clang::isa;

namespace {

// The expression without nodes that only the tree has. Sets `ends` to the class of a temporary
// object that has a destructor.
const clang::Expr* stripped(const clang::Expr* e, const clang::CXXRecordDecl** ends = nullptr) {
  for (;;) {
    e = e->IgnoreParens();
    if (const auto* clean = dyn_cast<clang::ExprWithCleanups>(e)) {
      e = clean->getSubExpr();
    } else if (const auto* bound = dyn_cast<clang::CXXBindTemporaryExpr>(e)) {
      e = bound->getSubExpr();
      if (ends) *ends = e->getType()->getAsCXXRecordDecl();
    } else if (const auto* replaced = dyn_cast<clang::SubstNonTypeTemplateParmExpr>(e)) {
      e = replaced->getReplacement();
    } else if (const auto* known = dyn_cast<clang::OpaqueValueExpr>(e);
               known && known->getSourceExpr()) {
      e = known->getSourceExpr();
    } else if (const auto* constant = dyn_cast<clang::ConstantExpr>(e)) {
      e = constant->getSubExpr();
    } else if (const auto* by_default = dyn_cast<clang::CXXDefaultArgExpr>(e)) {
      e = by_default->getExpr();
    } else if (const auto* member = dyn_cast<clang::CXXDefaultInitExpr>(e)) {
      e = member->getExpr();
    } else if (const auto* pseudo = dyn_cast<clang::PseudoObjectExpr>(e)) {
      e = pseudo->getSyntacticForm();
    } else {
      return e;
    }
  }
}

bool is_shared(const clang::VarDecl* variable) {
  return variable->hasAttr<clang::CUDASharedAttr>();
}

// No double has more significant decimal digits.
constexpr unsigned kAllDigits = 800;

// Whether Nodes has no such integer type: it has more than 64 bits or is a _BitInt.
bool is_odd(const clang::ASTContext& ast, clang::QualType type) {
  return type->isIntegralOrEnumerationType() &&
         (type->isBitIntType() || ast.getTypeSize(type) > 64);
}

}  // namespace

// threadIdx and the like, which are in no file of the user's.
Value Interpreter::builtin_variable(const clang::ValueDecl* variable, bool& found) {
  const std::string name = variable->getNameAsString();
  found = !variable->getDeclContext()->isFunctionOrMethod() && !parsed_.in_main(variable) &&
          (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
           name == "warpSize");
  if (!found) return {};
  const auto [at, is_new] = builtins_.try_emplace(name);
  if (!is_new) return at->second;
  const uint32_t object = memory_.add(name);
  at->second = pointer_to(object);
  if (name == "warpSize") {
    memory_.write(object, 0, 4, {Root::number, 0, nodes.constant(32)});
    return at->second;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const NodeId node = name == "threadIdx"  ? nodes.symbol(static_cast<Symbol>(thread_x + axis))
                        : name == "blockIdx" ? nodes.symbol(static_cast<Symbol>(block_x + axis))
                        : name == "blockDim"
                            ? nodes.constant(launch_.threads[axis])
                            : given(launch_.grid[axis], "gridDim." + std::string(1, "xyz"[axis]));
    memory_.write(object, 4 * axis, 4, {Root::number, 0, node});
  }
  return at->second;
}

// The value of a constant that Clang can compute: an enumerator, a constexpr variable, a size, a
// constexpr call.
bool Interpreter::fold(const clang::Expr* e, Value& value) {
  if (e->isValueDependent() || !e->getType()->isIntegralOrEnumerationType()) return false;
  bool worth = isa<clang::IntegerLiteral>(e) || isa<clang::CXXBoolLiteralExpr>(e) ||
               isa<clang::CharacterLiteral>(e) || isa<clang::UnaryExprOrTypeTraitExpr>(e) ||
               isa<clang::TypeTraitExpr>(e) || isa<clang::SizeOfPackExpr>(e) ||
               isa<clang::CXXNoexceptExpr>(e);
  if (const auto* cast = dyn_cast<clang::ImplicitCastExpr>(e)) {
    worth = isa<clang::DeclRefExpr>(stripped(cast->getSubExpr())) ||
            isa<clang::MemberExpr>(stripped(cast->getSubExpr()));
  }
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(e)) {
    worth = isa<clang::EnumConstantDecl>(name->getDecl());
  }
  if (const auto* call = dyn_cast<clang::CallExpr>(e)) {
    worth = call->getDirectCallee() && call->getDirectCallee()->isConstexpr();
  }
  clang::Expr::EvalResult result;
  if (!worth || !e->EvaluateAsInt(result, parsed_.ast) || result.HasSideEffects) return false;
  if (!isa<clang::CharacterLiteral>(e) && hangs_on_char(e)) return false;
  const llvm::APSInt number = result.Val.getInt();
  if (number.getBitWidth() > 64) return false;
  value = {Root::number, 0,
           nodes.constant(number.isUnsigned() ? static_cast<int64_t>(number.getZExtValue())
                                              : number.getSExtValue())};
  return true;
}

// A name for a number that is the same in the whole launch; else empty.
std::string Interpreter::key_of(Value value) const {
  if (value.root == Root::other && nodes.is(value.node, 0) && memory_[value.object].is_parameter)
    return name_of(value);
  if (value.root != Root::number) return "";
  if (nodes.is_constant(value.node)) return std::to_string(nodes[value.node].value);
  return nodes[value.node].op == Op::unknown ? nodes.key(value.node) : "";
}

NodeId Interpreter::condition(const clang::Expr* e) {
  const Value value = number_if_null(eval(e));
  if (value.root == Root::number) return assume(nodes.condition(value.node));
  return nodes.condition(unknown("whether a pointer is null", e->getExprLoc()));
}

Value Interpreter::eval(const clang::Expr* e) {
  const Value value = eval_plain(e);
  if (e->isTypeDependent()) return value;
  if (!is_odd(parsed_.ast, e->getType())) return without_sign(value, e->getType(), e->getExprLoc());
  output_as_number_ |= value.root == Root::output;
  return {Root::number, 0, unknown("a number of an unusual type", e->getExprLoc())};
}

Value Interpreter::eval_plain(const clang::Expr* e) {
  const clang::CXXRecordDecl* ends = nullptr;
  e = stripped(e, &ends);
  if (!step(e->getExprLoc())) return {};
  if (ends) destroy_later(ends, e->getExprLoc());
  if (e->containsErrors())
    return unknown_value(e->getType(), "what does not compile", e->getExprLoc());
  Value value;
  if (fold(e, value)) return value;
  if (const auto* cast = dyn_cast<clang::CastExpr>(e)) return eval_cast(cast);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(e)) return eval_unary(unary);
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(e)) return eval_binary(binary);
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(e)) {
    return choose_between(choice, [&](const clang::Expr* one) { return eval(one); });
  }
  if (const auto* made = dyn_cast<clang::CallExpr>(e)) return call(made);
  if (const auto* lambda = dyn_cast<clang::LambdaExpr>(e)) return make_lambda(lambda);
  if (isa<clang::CXXThisExpr>(e)) return frames_.back().self;
  if (isa<clang::CXXNullPtrLiteralExpr>(e) || isa<clang::ImplicitValueInitExpr>(e) ||
      isa<clang::CXXScalarValueInitExpr>(e) || isa<clang::GNUNullExpr>(e)) {
    if (!e->getType()->isRecordType()) return {Root::number, 0, nodes.constant(0)};
  }
  if (const auto* real = dyn_cast<clang::FloatingLiteral>(e)) {
    llvm::SmallString<24> digits;
    real->getValue().toString(digits, kAllDigits);
    return {Root::number, 0, nodes.unknown({"a floating-point number"}, digits.str().str())};
  }
  if (const auto* block = dyn_cast<clang::StmtExpr>(e)) {
    const NodeId before = gone();
    exec(block->getSubStmt());
    if (gone() != before) refuse_statement(block);
    return unknown_value(e->getType(), "a statement in an expression", e->getExprLoc());
  }
  const auto* list = dyn_cast<clang::InitListExpr>(e);
  if (list && e->getType()->isScalarType() && list->getNumInits() <= 1) {
    if (list->getNumInits() == 1) return eval(list->getInit(0));
    return {Root::number, 0, nodes.constant(0)};
  }
  if (isa<clang::CXXConstructExpr>(e) ||
      (list && (e->getType()->isRecordType() || e->getType()->isArrayType()))) {
    const Value made = pointer_to(temporary(e, ""));
    initialise(made, e->getType(), e);
    return made;
  }
  if (isa<clang::CXXNewExpr>(e) || isa<clang::CXXDeleteExpr>(e)) {
    complain(e->getExprLoc(), "memory is allocated here, and what is stored to it cannot be seen");
    return unknown_value(e->getType(), "allocated memory", e->getExprLoc());
  }
  if (e->isGLValue()) {
    const bool property = isa<clang::MSPropertyRefExpr>(e);  // its type is not that of the value
    return load(address(e), property ? parsed_.ast.UnsignedIntTy : e->getType(), e->getExprLoc());
  }
  run_operands(e);
  return unknown_value(e->getType(), "an expression that is not understood", e->getExprLoc());
}

// Runs the operands of an expression that is not understood, because they could store. An
// expression with an address among its operands could store itself, and is refused.
void Interpreter::run_operands(const clang::Expr* e) {
  for (const clang::Stmt* child : e->children()) {
    const auto* operand = clang::dyn_cast_or_null<clang::Expr>(child);
    if (!operand) continue;
    const Value given = operand->isGLValue() ? address(operand) : eval(operand);
    const bool elsewhere = given.root == Root::output || given.root == Root::other ||
                           (given.root == Root::unknown && operand->getType()->isPointerType());
    output_as_number_ |= given.root == Root::output ||
                         (given.root == Root::object && memory_[given.object].held_output);
    if (elsewhere && !operand->isGLValue())
      complain(e->getExprLoc(),
               "an expression that is not understood has an address here, and "
               "whether it stores cannot be seen");
    if (given.root == Root::output && operand->isGLValue()) read_somewhere(e->getExprLoc());
    forget(given);
  }
}

// Runs an expression for what it does. Its value is not even read.
void Interpreter::discard(const clang::Expr* e) {
  if (e->isGLValue()) {
    address(e);
  } else {
    eval(e);
  }
}

Value Interpreter::address(const clang::Expr* e) {
  const clang::CXXRecordDecl* ends = nullptr;
  e = stripped(e, &ends);
  if (!step(e->getExprLoc())) return {};
  if (ends) destroy_later(ends, e->getExprLoc());
  const Where where = e->getExprLoc();
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(e)) {
    const clang::ValueDecl* decl = name->getDecl();
    if (const Captures* captures = frames_.back().captures) {
      const auto captured = captures->find(decl);
      if (captured != captures->end()) return captured->second;
    }
    if (const auto* binding = dyn_cast<clang::BindingDecl>(decl))
      return address(binding->getBinding());
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (!variable) return {Root::unknown, 0, unknown("'" + decl->getNameAsString() + "'", where)};
    bool builtin = false;
    const Value known = builtin_variable(variable, builtin);
    if (builtin) return known;
    if (is_shared(variable)) return {Root::shared, 0, 0};
    if (!variable->hasLocalStorage())
      return {Root::other, memory_.add(variable->getNameAsString()), 0};
    const Value object = pointer_to(object_of(variable));
    if (!variable->getType()->isReferenceType()) return object;
    return load(object, parsed_.ast.getPointerType(variable->getType().getNonReferenceType()),
                where);
  }
  // In the toolkit's headers threadIdx.x is a property that calls a function.
  if (const auto* property = dyn_cast<clang::MSPropertyRefExpr>(e)) {
    const clang::Expr* base = property->getBaseExpr();
    if (const auto* opaque = dyn_cast<clang::OpaqueValueExpr>(base)) base = opaque->getSourceExpr();
    const auto* name = dyn_cast<clang::DeclRefExpr>(stripped(base));
    const std::string axis = property->getPropertyDecl()->getNameAsString();
    bool builtin = false;
    const Value known = name ? builtin_variable(name->getDecl(), builtin) : Value{};
    if (!builtin || axis.size() != 1 || axis[0] < 'x' || axis[0] > 'z') {
      return {Root::unknown, 0, unknown("a property", where)};
    }
    return moved(known, nodes.constant(4 * (axis[0] - 'x')));
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(e)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (!field) {
      eval(member->getBase());
      return {Root::other, memory_.add(member->getMemberDecl()->getNameAsString()), 0};
    }
    const Value base = member->isArrow() ? eval(member->getBase()) : address(member->getBase());
    if (field->isBitField()) return {Root::unknown, 0, unknown("a bit field", where)};
    const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
    const Value place = moved(base, nodes.constant(bits / 8));
    if (!field->getType()->isReferenceType()) return place;
    return load(place, parsed_.ast.getPointerType(field->getType().getNonReferenceType()), where);
  }
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(e)) {
    const Value base = eval(element->getBase());
    const Value index = eval(element->getIdx());
    return pointer_arithmetic(clang::BO_Add, base, index, element->getBase()->getType(),
                              element->getIdx()->getType(), where);
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(e)) {
    if (unary->getOpcode() == clang::UO_Deref) return eval(unary->getSubExpr());
    if (unary->isIncrementDecrementOp()) {
      bump(unary);
      return address(unary->getSubExpr());
    }
    if (unary->getOpcode() == clang::UO_Extension) return address(unary->getSubExpr());
  }
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(e)) {
    if (binary->getOpcode() == clang::BO_Comma) {
      discard(binary->getLHS());
      return address(binary->getRHS());
    }
    if (binary->isAssignmentOp()) return assign(binary);
  }
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(e)) {
    return choose_between(choice, [&](const clang::Expr* one) { return address(one); });
  }
  if (const auto* temporary_made = dyn_cast<clang::MaterializeTemporaryExpr>(e)) {
    const clang::Expr* inner = temporary_made->getSubExpr();
    if (inner->getType()->isRecordType() || inner->getType()->isArrayType()) return eval(inner);
    const Value value = eval(inner);
    const Value made = pointer_to(temporary(e, ""));
    store_variable(made, value, inner->getType(), where);
    return made;
  }
  if (const auto* changed = dyn_cast<clang::CastExpr>(e)) {
    if (changed->getCastKind() == clang::CK_LValueToRValue ||
        changed->getCastKind() == clang::CK_ArrayToPointerDecay) {
      return eval(changed);
    }
    if (changed->isGLValue()) return eval_cast(changed);
  }
  if (isa<clang::CallExpr>(e) || isa<clang::CXXConstructExpr>(e) || isa<clang::InitListExpr>(e) ||
      isa<clang::CXXThisExpr>(e) || isa<clang::LambdaExpr>(e)) {
    return eval(e);
  }
  if (isa<clang::StringLiteral>(e) || isa<clang::PredefinedExpr>(e))
    return {Root::other, memory_.add("a text"), 0};
  run_operands(e);
  return {Root::unknown, 0, unknown("an expression that is not understood", where)};
}

Value Interpreter::bump(const clang::UnaryOperator* e) {
  const clang::Expr* operand = e->getSubExpr();
  const Type type = operand->getType();
  const Value place = address(operand);
  const Value old = load(place, type, e->getExprLoc());
  const Value one{Root::number, 0, nodes.constant(1)};
  const auto kind = e->isIncrementOp() ? clang::BO_Add : clang::BO_Sub;
  Value next = arithmetic(kind, old, one, type, type, parsed_.ast.IntTy, e->getExprLoc());
  store(place, next, type, e->getExprLoc());
  return e->isPostfix() ? old : next;
}

Value Interpreter::eval_unary(const clang::UnaryOperator* e) {
  const Where where = e->getExprLoc();
  switch (e->getOpcode()) {
    case clang::UO_Deref:
      return load(eval(e->getSubExpr()), e->getType(), where);
    case clang::UO_AddrOf:
      return address(e->getSubExpr());
    case clang::UO_PreInc:
    case clang::UO_PreDec:
    case clang::UO_PostInc:
    case clang::UO_PostDec:
      return bump(e);
    case clang::UO_LNot:
      return {Root::number, 0, nodes.negation(condition(e->getSubExpr()))};
    case clang::UO_Plus:
    case clang::UO_Extension:
      return eval(e->getSubExpr());
    default:
      break;
  }
  const Value value = eval(e->getSubExpr());
  if (value.root != Root::number || !e->getType()->isIntegralOrEnumerationType()) {
    return unknown_value(e->getType(), "a floating-point number", where);
  }
  const IntType type = int_type(e->getType());
  if (e->getOpcode() == clang::UO_Minus) {
    return {Root::number, 0, nodes.binary(Op::subtract, nodes.constant(0), value.node, type)};
  }
  if (e->getOpcode() != clang::UO_Not) return unknown_value(e->getType(), "an operator", where);
  const NodeId flipped = nodes.binary(Op::bit_xor, value.node, nodes.constant(-1), kInt64);
  return {Root::number, 0, nodes.convert(flipped, type)};
}

Value Interpreter::logical(const clang::BinaryOperator* e) {
  const bool conjunction = e->getOpcode() == clang::BO_LAnd;
  const NodeId first = condition(e->getLHS());
  if (nodes.is(first, conjunction ? 0 : 1)) return {Root::number, 0, first};
  const size_t facts = facts_.size();
  if (!nodes.is_constant(first)) push_fact(conjunction ? first : nodes.negation(first));
  const NodeId second = condition(e->getRHS());
  pop_facts(facts);
  return {Root::number, 0, conjunction ? nodes.both(first, second) : nodes.either(first, second)};
}

// The result of `run` for the chosen operand.
Value Interpreter::choose_between(const clang::AbstractConditionalOperator* e,
                                  llvm::function_ref<Value(const clang::Expr*)> run) {
  const auto* twice = dyn_cast<clang::BinaryConditionalOperator>(e);
  if (twice && twice->getCommon()->HasSideEffects(parsed_.ast))
    complain(e->getExprLoc(), "what is in front of ?: here does more than to give a value",
             e->getExprLoc(), "write it with ? and :");
  const NodeId which = condition(e->getCond());
  if (nodes.is_constant(which))
    return run(nodes[which].value ? e->getTrueExpr() : e->getFalseExpr());
  const size_t facts = facts_.size();
  push_fact(which);
  const Value a = run(e->getTrueExpr());
  pop_facts(facts);
  push_fact(nodes.negation(which));
  const Value b = run(e->getFalseExpr());
  pop_facts(facts);
  if (e->getType()->isVoidType()) return {};
  return choose(which, a, b, e->getExprLoc());
}

Value Interpreter::assign(const clang::BinaryOperator* e) {
  const Where where = e->getOperatorLoc();
  const Type type = e->getLHS()->getType();
  if (e->getOpcode() == clang::BO_Assign) {
    const Value value = eval(e->getRHS());
    const Value place = address(e->getLHS());
    if (type->isRecordType()) {
      copy_record(place, value, size_of(type), where);
    } else {
      store(place, value, type, where);
    }
    return place;
  }
  const auto* compound = cast<clang::CompoundAssignOperator>(e);
  const Value by = eval(e->getRHS());
  const Value place = address(e->getLHS());
  Value old = load(place, type, where);
  const Type computed = compound->getComputationLHSType();
  if (old.root == Root::number && computed->isIntegralOrEnumerationType() &&
      type->isIntegralOrEnumerationType()) {
    old.node = nodes.convert(old.node, int_type(computed));
  }
  const auto kind = clang::BinaryOperator::getOpForCompoundAssignment(e->getOpcode());
  Value next = arithmetic(kind, old, by, compound->getComputationResultType(), type,
                          e->getRHS()->getType(), where);
  if (next.root == Root::number && type->isIntegralOrEnumerationType())
    next.node = type->isBooleanType() ? nodes.condition(next.node)
                                      : nodes.convert(next.node, int_type(type));
  store(place, next, type, where);
  return place;
}

Value Interpreter::eval_binary(const clang::BinaryOperator* e) {
  const auto kind = e->getOpcode();
  if (e->isLogicalOp()) return logical(e);
  if (e->isAssignmentOp()) return load(assign(e), e->getType(), e->getExprLoc());
  if (kind == clang::BO_Comma) {
    discard(e->getLHS());
    return eval(e->getRHS());
  }
  const Value a = eval(e->getLHS());
  const Value b = eval(e->getRHS());
  const Where where = e->getOperatorLoc();
  if (e->isComparisonOp()) return compare(kind, a, b, e->getLHS()->getType(), where);
  return arithmetic(kind, a, b, e->getType(), e->getLHS()->getType(), e->getRHS()->getType(),
                    where);
}

}  // namespace tilepost::inference
