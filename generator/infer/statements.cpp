// Statements, under the conditions that hold where they stand.
#include "generator/infer/interpreter.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"

namespace tilepost::inference {

using clang::cast;
using clang::dyn_cast;
using clang::isa;

void Interpreter::exec(const clang::Stmt* s) {
  if (!s || !step(s->getBeginLoc())) return;
  if (const auto* block = dyn_cast<clang::CompoundStmt>(s)) return exec_compound(block);
  if (const auto* e = dyn_cast<clang::Expr>(s)) return discard(e);
  if (const auto* declaration = dyn_cast<clang::DeclStmt>(s)) return exec_declaration(declaration);
  if (const auto* choice = dyn_cast<clang::IfStmt>(s)) return exec_if(choice);
  if (const auto* back = dyn_cast<clang::ReturnStmt>(s)) return exec_return(back);
  if (const auto* choice = dyn_cast<clang::SwitchStmt>(s)) return exec_switch(choice);
  if (const auto* assembly = dyn_cast<clang::GCCAsmStmt>(s)) return exec_asm(assembly);
  if (const auto* label = dyn_cast<clang::AttributedStmt>(s)) return exec(label->getSubStmt());
  if (const auto* label = dyn_cast<clang::LabelStmt>(s)) return exec(label->getSubStmt());
  if (const auto* loop = dyn_cast<clang::ForStmt>(s)) {
    if (loop->getInit()) exec(loop->getInit());
    return exec_loop({loop, loop->getConditionVariableDeclStmt(), loop->getCond(), loop->getInc(),
                      nullptr, loop->getBody(), false});
  }
  if (const auto* loop = dyn_cast<clang::WhileStmt>(s)) {
    return exec_loop({loop, loop->getConditionVariableDeclStmt(), loop->getCond(), nullptr, nullptr,
                      loop->getBody(), false});
  }
  if (const auto* loop = dyn_cast<clang::DoStmt>(s)) {
    return exec_loop({loop, nullptr, loop->getCond(), nullptr, nullptr, loop->getBody(), true});
  }
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(s)) {
    if (loop->getInit()) exec(loop->getInit());
    exec(loop->getRangeStmt());
    exec(loop->getBeginStmt());
    exec(loop->getEndStmt());
    return exec_loop({loop, nullptr, loop->getCond(), loop->getInc(), loop->getLoopVarStmt(),
                      loop->getBody(), false});
  }
  if (isa<clang::BreakStmt>(s) || isa<clang::ContinueStmt>(s)) {
    Frame& frame = frames_.back();
    NodeId& left = isa<clang::BreakStmt>(s) ? frame.broken : frame.continued;
    left = nodes.either(left, facts_since(frame.facts));
    return;
  }
  if (!isa<clang::NullStmt>(s)) refuse_statement(s);
}

void Interpreter::refuse_statement(const clang::Stmt* s) {
  const std::string what =
      isa<clang::GotoStmt>(s) || isa<clang::IndirectGotoStmt>(s)
          ? "a goto jumps here"
          : std::string("a statement of the kind ") + s->getStmtClassName() + " is here";
  complain(s->getBeginLoc(), what + ", and which stores are reached cannot be seen",
           s->getBeginLoc(), "write it with if, for and while");
}

// After a statement by which some threads leave, the next ones run for the others only.
void Interpreter::exec_compound(const clang::CompoundStmt* s) {
  const size_t facts = facts_.size();
  for (const clang::Stmt* child : s->body()) {
    const NodeId before = gone();
    exec(child);
    if (stopped()) break;
    const NodeId now = assume(gone());
    if (nodes.is(now, 1)) break;
    if (now != before && !nodes.is(now, 0)) push_fact(nodes.negation(now));
  }
  pop_facts(facts);
}

void Interpreter::exec_declaration(const clang::DeclStmt* s) {
  for (const clang::Decl* decl : s->decls()) {
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) declare(variable);
    if (const auto* parts = dyn_cast<clang::DecompositionDecl>(decl)) {
      for (const clang::BindingDecl* part : parts->bindings()) {
        if (const clang::VarDecl* holder = part->getHoldingVar()) declare(holder);
      }
    }
  }
}

void Interpreter::declare(const clang::VarDecl* variable) {
  if (variable->hasAttr<clang::CleanupAttr>())
    return complain(variable->getLocation(),
                    "what is run when '" + variable->getNameAsString() + "' ends is not followed");
  if (!variable->hasLocalStorage()) {
    // Such a variable is initialised once before the kernel, or by each block. Its contents are not
    // tracked.
    const clang::Expr* init = variable->getInit();
    if (const auto* made = clang::dyn_cast_or_null<clang::CXXConstructExpr>(init)) {
      if (!made->getConstructor()->isTrivial()) construct({Root::shared, 0, 0}, made);
    }
    return;
  }
  const uint32_t frame = frames_.back().id;
  const auto [at, is_new] = variables_.try_emplace({frame, variable}, 0);
  if (is_new) at->second = memory_.add(variable->getNameAsString());
  memory_.begin(at->second, facts_.size());
  const Value target = pointer_to(at->second);
  const clang::Expr* init = variable->getInit();
  if (!init) return;
  if (variable->getType()->isReferenceType()) {
    const Type pointer = parsed_.ast.getPointerType(variable->getType().getNonReferenceType());
    store_variable(target, address(init), pointer, variable->getLocation());
    return;
  }
  initialise(target, variable->getType(), init);
}

// Gives the object at `target` its first value.
void Interpreter::initialise(Value target, Type type, const clang::Expr* init) {
  if (!step(init->getExprLoc())) return;
  const clang::Expr* plain = init->IgnoreParens();
  if (const auto* clean = dyn_cast<clang::ExprWithCleanups>(plain)) {
    return initialise(target, type, clean->getSubExpr());
  }
  if (const auto* made = dyn_cast<clang::MaterializeTemporaryExpr>(plain)) {
    return initialise(target, type, made->getSubExpr());
  }
  if (const auto* member = dyn_cast<clang::CXXDefaultInitExpr>(plain)) {
    return initialise(target, type, member->getExpr());
  }
  if (const auto* inherited = dyn_cast<clang::CXXInheritedCtorInitExpr>(plain))
    return construct_base(target, inherited);
  if (const auto* made = dyn_cast<clang::CXXConstructExpr>(plain)) {
    if (type->isRecordType()) return construct(target, made);
    // Constructs each element of an array, of any number of dimensions.
    const Type element = parsed_.ast.getBaseElementType(type);
    const int64_t size = std::max<int64_t>(size_of(element), 1);
    destroy_later(element->getAsCXXRecordDecl(), init->getExprLoc());
    if (made->getConstructor()->isTrivial()) return;
    for (int64_t at = 0; at < size_of(type); at += size) {
      if (!step(init->getExprLoc())) return;
      construct(moved(target, nodes.constant(at)), made);
    }
    return;
  }
  if (const auto* list = dyn_cast<clang::InitListExpr>(plain)) {
    if (const clang::ArrayType* array = parsed_.ast.getAsArrayType(type)) {
      const int64_t size = size_of(array->getElementType());
      destroy_later(parsed_.ast.getBaseElementType(type)->getAsCXXRecordDecl(), init->getExprLoc());
      for (unsigned i = 0; i < list->getNumInits(); ++i) {
        initialise(moved(target, nodes.constant(i * size)), array->getElementType(),
                   list->getInit(i));
      }
      return;
    }
    if (const clang::RecordDecl* record = type->getAsRecordDecl()) {
      destroy_later(dyn_cast<clang::CXXRecordDecl>(record), init->getExprLoc());
      unsigned next = 0;
      if (const auto* derived = dyn_cast<clang::CXXRecordDecl>(record)) {
        for (const auto& base : derived->bases()) {
          if (next >= list->getNumInits()) return;
          const auto offset = parsed_.ast.getASTRecordLayout(record).getBaseClassOffset(
              base.getType()->getAsCXXRecordDecl());
          initialise(moved(target, nodes.constant(offset.getQuantity())), base.getType(),
                     list->getInit(next++));
        }
      }
      for (const clang::FieldDecl* field : record->fields()) {
        if (record->isUnion() && field != list->getInitializedFieldInUnion()) continue;
        if (next >= list->getNumInits()) return;
        if (field->isUnnamedBitField()) continue;
        const clang::Expr* value = list->getInit(next++);
        const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
        const Value place = moved(target, nodes.constant(bits / 8));
        if (field->isBitField()) {
          eval(value);
        } else if (field->getType()->isReferenceType()) {
          const Type pointer = parsed_.ast.getPointerType(field->getType().getNonReferenceType());
          store(place, address(value), pointer, value->getExprLoc());
        } else {
          initialise(place, field->getType(), value);
        }
      }
      return;
    }
  }
  const Value value = eval(init);
  destroy_later(parsed_.ast.getBaseElementType(type)->getAsCXXRecordDecl(), init->getExprLoc());
  if (type->isRecordType()) {
    copy_record(target, value, size_of(type), init->getExprLoc());
  } else if (!type->isArrayType()) {
    store(target, value, type, init->getExprLoc());
  }
}

void Interpreter::exec_under(NodeId condition, const clang::Stmt* s) {
  if (!s || nodes.is(condition, 0)) return;
  const size_t facts = facts_.size();
  push_fact(condition);
  exec(s);
  pop_facts(facts);
}

void Interpreter::exec_if(const clang::IfStmt* s) {
  if (s->getInit()) exec(s->getInit());
  if (s->getConditionVariableDeclStmt()) exec(s->getConditionVariableDeclStmt());
  if (s->isConsteval()) return exec(s->isNegatedConsteval() ? s->getThen() : s->getElse());
  const NodeId which = condition(s->getCond());
  if (nodes.is_constant(which)) return exec(nodes[which].value ? s->getThen() : s->getElse());
  exec_under(which, s->getThen());
  exec_under(nodes.negation(which), s->getElse());
}

void Interpreter::exec_return(const clang::ReturnStmt* s) {
  const clang::Expr* given = s->getRetValue();
  Frame& frame = frames_.back();
  const size_t index = frames_.size() - 1;
  const NodeId here = facts_since(frame.facts);
  const Type type = frame.function->getReturnType();
  if (given && type->isReferenceType()) {
    const Value value = address(given);
    Frame& mine = frames_[index];
    mine.result = mine.has_result ? choose(here, value, mine.result, s->getReturnLoc()) : value;
    mine.has_result = true;
  } else if (given && type->isRecordType()) {
    const Value target = pointer_to(frame.result_object);
    const Value value = eval(given);
    copy_record(target, value, size_of(type), s->getReturnLoc());
    frames_[index].result = target;
    frames_[index].has_result = true;
  } else if (given) {
    const Value value = eval(given);
    Frame& mine = frames_[index];
    mine.result = mine.has_result ? choose(here, value, mine.result, s->getReturnLoc()) : value;
    mine.has_result = true;
  }
  Frame& mine = frames_[index];
  mine.returned = nodes.either(mine.returned, here);
}

// Runs the statements of the body one after the other, each for those threads that have entered the
// body at a label above it.
void Interpreter::exec_switch(const clang::SwitchStmt* s) {
  if (s->getInit()) exec(s->getInit());
  if (s->getConditionVariableDeclStmt()) exec(s->getConditionVariableDeclStmt());
  const Value value = eval(s->getCond());
  const IntType type = int_type(s->getCond()->getType());
  const auto* body = dyn_cast<clang::CompoundStmt>(s->getBody());
  std::map<const clang::SwitchCase*, NodeId> labels;
  NodeId any = nodes.constant(0);
  bool plain = body && value.root == Root::number;
  size_t others = 0;  // default
  for (const clang::SwitchCase* label = s->getSwitchCaseList(); label;
       label = label->getNextSwitchCase()) {
    const auto* one = dyn_cast<clang::CaseStmt>(label);
    if (!one) {
      ++others;
      continue;
    }
    clang::Expr::EvalResult number;
    plain &= !one->getRHS() && one->getLHS()->EvaluateAsInt(number, parsed_.ast);
    if (!plain) break;
    const NodeId is = nodes.condition(nodes.binary(
        Op::equal, value.node, nodes.constant(number.Val.getInt().getExtValue()), type));
    labels[label] = is;
    any = nodes.either(any, is);
  }
  const auto* cases = plain ? body : nullptr;
  size_t found = 0;
  const NodeId broken = frames_.back().broken;
  const size_t index = frames_.size() - 1;
  NodeId entered = nodes.constant(0);
  for (const clang::Stmt* child : cases ? llvm::ArrayRef(cases->body_begin(), cases->size())
                                        : llvm::ArrayRef<clang::Stmt*>()) {
    while (const auto* label = dyn_cast<clang::SwitchCase>(child)) {
      const auto at = labels.find(label);
      entered = nodes.either(entered, at == labels.end() ? nodes.negation(any) : at->second);
      ++found;
      child = label->getSubStmt();
    }
    const NodeId left = assume(gone());
    exec_under(assume(nodes.both(entered, nodes.negation(left))), child);
    if (stopped()) return;
  }
  frames_[index].broken = broken;
  if (!plain || found != labels.size() + others) {
    complain(s->getSwitchLoc(),
             "this switch jumps into the middle of statements, and which stores are reached cannot "
             "be seen",
             s->getSwitchLoc(), "write it with if");
  }
}

}  // namespace tilepost::inference
