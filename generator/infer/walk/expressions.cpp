#include "generator/infer/walk/expressions.h"

#include "clang/AST/Attr.h"
#include "generator/infer/state/unknowns.h"
#include "generator/infer/walk/statements.h"

namespace tilepost::inference {

using clang::cast;
using clang::dyn_cast;
using clang::isa;

namespace {

// The expression inside of parentheses and of Clang's nodes that do not change its value. Sets
// `ends` to the expression's class if the expression is a temporary object with a destructor.
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

// More significant decimal digits than any double has.
constexpr unsigned kAllDigits = 800;

// Whether Nodes cannot represent the integer type, because it has more than 64 bits or is a
// _BitInt.
bool is_odd(const clang::ASTContext& ast, clang::QualType type) {
  return type->isIntegralOrEnumerationType() &&
         (type->isBitIntType() || ast.getTypeSize(type) > 64);
}

}  // namespace

// Whether Clang can compute the expression as a constant, which becomes `value`. Examples are an
// enumerator, a constexpr variable, a size, and a constexpr call.
bool Expressions::fold(const clang::Expr* e, Value& value) {
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
  if (!isa<clang::CharacterLiteral>(e) && chars_.decide(e)) return false;
  const llvm::APSInt number = result.Val.getInt();
  if (number.getBitWidth() > 64) return false;
  value = {Root::number, 0,
           nodes_.constant(number.isUnsigned() ? static_cast<int64_t>(number.getZExtValue())
                                               : number.getSExtValue())};
  return true;
}

NodeId Expressions::condition(const clang::Expr* e) {
  const Value value = storage_.number_if_null(eval(e));
  if (value.root == Root::number) return facts_.assume(nodes_.condition(value.node));
  return nodes_.condition(unknown(nodes_, "whether a pointer is null", e->getExprLoc()));
}

Value Expressions::eval(const clang::Expr* e) {
  const Value value = eval_plain(e);
  if (e->isTypeDependent()) return value;
  if (!is_odd(parsed_.ast, e->getType())) {
    if (!chars_.differs_by_host(value, e->getType())) return value;
    return {value.root, value.object,
            unknown(nodes_, "a number in a plain char, which has a sign on some hosts alone",
                    e->getExprLoc(), nodes_.alike(value.node))};
  }
  storage_.note_number_of_output(value.root == Root::output);
  return {Root::number, 0, unknown(nodes_, "a number of an unusual type", e->getExprLoc())};
}

Value Expressions::eval_plain(const clang::Expr* e) {
  const clang::CXXRecordDecl* ends = nullptr;
  e = stripped(e, &ends);
  if (!budget_.step(e->getExprLoc())) return {};
  if (ends) objects_.destroy_later(ends, e->getExprLoc());
  if (e->containsErrors())
    return unknown_value(nodes_, e->getType(), "what does not compile", e->getExprLoc());
  Value value;
  if (fold(e, value)) return value;
  if (const auto* cast = dyn_cast<clang::CastExpr>(e)) return eval_cast(cast);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(e)) return eval_unary(unary);
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(e)) return eval_binary(binary);
  if (const auto* choice = dyn_cast<clang::AbstractConditionalOperator>(e)) {
    return choose_between(choice, [&](const clang::Expr* one) { return eval(one); });
  }
  if (const auto* made = dyn_cast<clang::CallExpr>(e)) return calls_.call(made);
  if (const auto* lambda = dyn_cast<clang::LambdaExpr>(e)) return lambdas_.make(lambda);
  if (isa<clang::CXXThisExpr>(e)) return frames_.current().self;
  if (isa<clang::CXXNullPtrLiteralExpr>(e) || isa<clang::ImplicitValueInitExpr>(e) ||
      isa<clang::CXXScalarValueInitExpr>(e) || isa<clang::GNUNullExpr>(e)) {
    if (!e->getType()->isRecordType()) return {Root::number, 0, nodes_.constant(0)};
  }
  if (const auto* real = dyn_cast<clang::FloatingLiteral>(e)) {
    llvm::SmallString<24> digits;
    real->getValue().toString(digits, kAllDigits);
    return {Root::number, 0, nodes_.unknown({"a floating-point number"}, digits.str().str())};
  }
  if (const auto* block = dyn_cast<clang::StmtExpr>(e)) {
    const NodeId before = frames_.gone();
    walker_.exec(block->getSubStmt());
    if (frames_.gone() != before) refuse_statement(course_, block);
    return unknown_value(nodes_, e->getType(), "a statement in an expression", e->getExprLoc());
  }
  const auto* list = dyn_cast<clang::InitListExpr>(e);
  if (list && e->getType()->isScalarType() && list->getNumInits() <= 1) {
    if (list->getNumInits() == 1) return eval(list->getInit(0));
    return {Root::number, 0, nodes_.constant(0)};
  }
  if (isa<clang::CXXConstructExpr>(e) ||
      (list && (e->getType()->isRecordType() || e->getType()->isArrayType()))) {
    const Value made = pointer_to(frames_.temporary(e, ""));
    objects_.initialise(made, e->getType(), e);
    return made;
  }
  if (isa<clang::CXXNewExpr>(e) || isa<clang::CXXDeleteExpr>(e)) {
    course_.complain(e->getExprLoc(),
                     "memory is allocated here, and what is stored to it cannot be seen");
    return unknown_value(nodes_, e->getType(), "allocated memory", e->getExprLoc());
  }
  if (e->isGLValue()) {
    const bool property = isa<clang::MSPropertyRefExpr>(e);  // the value has another type than `e`
    return storage_.load(address(e), property ? parsed_.ast.UnsignedIntTy : e->getType(),
                         e->getExprLoc());
  }
  run_operands(e);
  return unknown_value(nodes_, e->getType(), "an expression that is not understood",
                       e->getExprLoc());
}

// Runs the operands of an expression that is not understood, because the operands could store. If
// an operand is an address, the expression itself could store, and is refused.
void Expressions::run_operands(const clang::Expr* e) {
  for (const clang::Stmt* child : e->children()) {
    const auto* operand = clang::dyn_cast_or_null<clang::Expr>(child);
    if (!operand) continue;
    const Value given = operand->isGLValue() ? address(operand) : eval(operand);
    const bool elsewhere = given.root == Root::output || given.root == Root::other ||
                           (is_uncertain(given.root) && operand->getType()->isPointerType());
    forks_.for_each_place(given, [&](Value one) {
      storage_.note_number_of_output(one.root == Root::output ||
                                     (one.root == Root::object && memory_[one.object].held_output));
    });
    if (elsewhere && !operand->isGLValue())
      course_.complain(e->getExprLoc(),
                       "an expression that is not understood has an address here, and "
                       "whether it stores cannot be seen");
    if (given.root == Root::output && operand->isGLValue()) output_.read_somewhere(e->getExprLoc());
    storage_.forget(given);
  }
}

void Expressions::discard(const clang::Expr* e) {
  if (e->isGLValue()) {
    address(e);
  } else {
    eval(e);
  }
}

Value Expressions::address(const clang::Expr* e) {
  const clang::CXXRecordDecl* ends = nullptr;
  e = stripped(e, &ends);
  if (!budget_.step(e->getExprLoc())) return {};
  if (ends) objects_.destroy_later(ends, e->getExprLoc());
  const Where where = e->getExprLoc();
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(e)) {
    const clang::ValueDecl* decl = name->getDecl();
    if (const Captures* captures = frames_.current().captures) {
      const auto captured = captures->find(decl);
      if (captured != captures->end()) return captured->second;
    }
    if (const auto* binding = dyn_cast<clang::BindingDecl>(decl))
      return address(binding->getBinding());
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (!variable)
      return {Root::unknown, 0, unknown(nodes_, "'" + decl->getNameAsString() + "'", where)};
    bool builtin = false;
    const Value known = builtins_.find(variable, builtin);
    if (builtin) return known;
    if (is_shared(variable)) return {Root::shared, 0, 0};
    if (!variable->hasLocalStorage())
      return {Root::other, memory_.add(variable->getNameAsString()), 0};
    const Value object = pointer_to(frames_.object_of(variable));
    if (!variable->getType()->isReferenceType()) return object;
    return storage_.load(
        object, parsed_.ast.getPointerType(variable->getType().getNonReferenceType()), where);
  }
  // In the toolkit's headers threadIdx.x is a property that calls a function.
  if (const auto* property = dyn_cast<clang::MSPropertyRefExpr>(e)) {
    const clang::Expr* base = property->getBaseExpr();
    if (const auto* opaque = dyn_cast<clang::OpaqueValueExpr>(base)) base = opaque->getSourceExpr();
    const auto* name = dyn_cast<clang::DeclRefExpr>(stripped(base));
    const std::string axis = property->getPropertyDecl()->getNameAsString();
    bool builtin = false;
    const Value known = name ? builtins_.find(name->getDecl(), builtin) : Value{};
    if (!builtin || axis.size() != 1 || axis[0] < 'x' || axis[0] > 'z') {
      return {Root::unknown, 0, unknown(nodes_, "a property", where)};
    }
    return storage_.moved(known, nodes_.constant(4 * (axis[0] - 'x')));
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(e)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (!field) {
      eval(member->getBase());
      return {Root::other, memory_.add(member->getMemberDecl()->getNameAsString()), 0};
    }
    const Value base = member->isArrow() ? eval(member->getBase()) : address(member->getBase());
    if (field->isBitField()) return {Root::unknown, 0, unknown(nodes_, "a bit field", where)};
    const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
    const Value place = storage_.moved(base, nodes_.constant(bits / 8));
    if (!field->getType()->isReferenceType()) return place;
    return storage_.load(place, parsed_.ast.getPointerType(field->getType().getNonReferenceType()),
                         where);
  }
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(e)) {
    const Value base = eval(element->getBase());
    const Value index = eval(element->getIdx());
    return arithmetic_.pointer_arithmetic(clang::BO_Add, base, index, element->getBase()->getType(),
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
    const Value made = pointer_to(frames_.temporary(e, ""));
    storage_.store_variable(made, value, inner->getType(), where);
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
  return {Root::unknown, 0, unknown(nodes_, "an expression that is not understood", where)};
}

Value Expressions::bump(const clang::UnaryOperator* e) {
  const clang::Expr* operand = e->getSubExpr();
  const Type type = operand->getType();
  const Value place = address(operand);
  const Value old = storage_.load(place, type, e->getExprLoc());
  const Value one{Root::number, 0, nodes_.constant(1)};
  const auto kind = e->isIncrementOp() ? clang::BO_Add : clang::BO_Sub;
  Value next =
      arithmetic_.arithmetic(kind, old, one, type, type, parsed_.ast.IntTy, e->getExprLoc());
  storage_.store(place, next, type, e->getExprLoc());
  return e->isPostfix() ? old : next;
}

Value Expressions::eval_unary(const clang::UnaryOperator* e) {
  const Where where = e->getExprLoc();
  switch (e->getOpcode()) {
    case clang::UO_Deref:
      return storage_.load(eval(e->getSubExpr()), e->getType(), where);
    case clang::UO_AddrOf:
      return address(e->getSubExpr());
    case clang::UO_PreInc:
    case clang::UO_PreDec:
    case clang::UO_PostInc:
    case clang::UO_PostDec:
      return bump(e);
    case clang::UO_LNot:
      return {Root::number, 0, nodes_.negation(condition(e->getSubExpr()))};
    case clang::UO_Plus:
    case clang::UO_Extension:
      return eval(e->getSubExpr());
    default:
      break;
  }
  const Value value = eval(e->getSubExpr());
  if (value.root != Root::number || !e->getType()->isIntegralOrEnumerationType()) {
    return unknown_value(nodes_, e->getType(), "a floating-point number", where);
  }
  const IntType type = types_.int_type(e->getType());
  if (e->getOpcode() == clang::UO_Minus) {
    return {Root::number, 0, nodes_.binary(Op::subtract, nodes_.constant(0), value.node, type)};
  }
  if (e->getOpcode() != clang::UO_Not)
    return unknown_value(nodes_, e->getType(), "an operator", where);
  const NodeId flipped = nodes_.binary(Op::bit_xor, value.node, nodes_.constant(-1), kInt64);
  return {Root::number, 0, nodes_.convert(flipped, type)};
}

Value Expressions::logical(const clang::BinaryOperator* e) {
  const bool conjunction = e->getOpcode() == clang::BO_LAnd;
  const NodeId first = condition(e->getLHS());
  if (nodes_.is(first, conjunction ? 0 : 1)) return {Root::number, 0, first};
  const size_t facts = facts_.size();
  if (!nodes_.is_constant(first)) facts_.push(conjunction ? first : nodes_.negation(first));
  const NodeId second = condition(e->getRHS());
  facts_.pop(facts);
  return {Root::number, 0, conjunction ? nodes_.both(first, second) : nodes_.either(first, second)};
}

// The result of `run` for the operand that ?: chooses.
Value Expressions::choose_between(const clang::AbstractConditionalOperator* e,
                                  llvm::function_ref<Value(const clang::Expr*)> run) {
  const auto* twice = dyn_cast<clang::BinaryConditionalOperator>(e);
  if (twice && twice->getCommon()->HasSideEffects(parsed_.ast))
    course_.complain(e->getExprLoc(), "what is in front of ?: here does more than to give a value",
                     e->getExprLoc(), "write it with ? and :");
  const NodeId which = condition(e->getCond());
  if (nodes_.is_constant(which))
    return run(nodes_[which].value ? e->getTrueExpr() : e->getFalseExpr());
  const size_t facts = facts_.size();
  facts_.push(which);
  const Value a = run(e->getTrueExpr());
  facts_.pop(facts);
  facts_.push(nodes_.negation(which));
  const Value b = run(e->getFalseExpr());
  facts_.pop(facts);
  if (e->getType()->isVoidType()) return {};
  return storage_.choose(which, a, b, e->getExprLoc());
}

Value Expressions::assign(const clang::BinaryOperator* e) {
  const Where where = e->getOperatorLoc();
  const Type type = e->getLHS()->getType();
  if (e->getOpcode() == clang::BO_Assign) {
    const Value value = eval(e->getRHS());
    const Value place = address(e->getLHS());
    if (type->isRecordType()) {
      storage_.copy_record(place, value, types_.size_of(type), where);
    } else {
      storage_.store(place, value, type, where);
    }
    return place;
  }
  const auto* compound = cast<clang::CompoundAssignOperator>(e);
  const Value by = eval(e->getRHS());
  const Value place = address(e->getLHS());
  Value old = storage_.load(place, type, where);
  const Type computed = compound->getComputationLHSType();
  if (old.root == Root::number && computed->isIntegralOrEnumerationType() &&
      type->isIntegralOrEnumerationType()) {
    old.node = nodes_.convert(old.node, types_.int_type(computed));
  }
  const auto kind = clang::BinaryOperator::getOpForCompoundAssignment(e->getOpcode());
  Value next = arithmetic_.arithmetic(kind, old, by, compound->getComputationResultType(), type,
                                      e->getRHS()->getType(), where);
  if (next.root == Root::number && type->isIntegralOrEnumerationType())
    next.node = type->isBooleanType() ? nodes_.condition(next.node)
                                      : nodes_.convert(next.node, types_.int_type(type));
  storage_.store(place, next, type, where);
  return place;
}

Value Expressions::eval_binary(const clang::BinaryOperator* e) {
  const auto kind = e->getOpcode();
  if (e->isLogicalOp()) return logical(e);
  if (e->isAssignmentOp()) return storage_.load(assign(e), e->getType(), e->getExprLoc());
  if (kind == clang::BO_Comma) {
    discard(e->getLHS());
    return eval(e->getRHS());
  }
  const Value a = eval(e->getLHS());
  const Value b = eval(e->getRHS());
  const Where where = e->getOperatorLoc();
  if (e->isComparisonOp()) return arithmetic_.compare(kind, a, b, e->getLHS()->getType(), where);
  return arithmetic_.arithmetic(kind, a, b, e->getType(), e->getLHS()->getType(),
                                e->getRHS()->getType(), where);
}

}  // namespace tilepost::inference
