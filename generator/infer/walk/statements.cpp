#include "generator/infer/walk/statements.h"

#include "clang/AST/Attr.h"
#include "generator/clang/guard/faults.h"

namespace tilepost::inference {

using clang::dyn_cast;
using clang::isa;

void refuse_statement(Course& course, const clang::Stmt* s) {
  const std::string what =
      isa<clang::GotoStmt>(s) || isa<clang::IndirectGotoStmt>(s)
          ? "a goto jumps here"
          : std::string("a statement of the kind ") + s->getStmtClassName() + " is here";
  course.complain(s->getBeginLoc(), what + ", and which stores are reached cannot be seen",
                  s->getBeginLoc(), "write it with if, for and while");
}

void Statements::exec(const clang::Stmt* s) {
  if (!s || !budget_.step(s->getBeginLoc())) return;
  note_place(parsed_.expanded(frames_.in_source(s->getBeginLoc())));
  if (const auto* block = dyn_cast<clang::CompoundStmt>(s)) return exec_compound(block);
  if (const auto* e = dyn_cast<clang::Expr>(s)) return walker_.discard(e);
  if (const auto* declaration = dyn_cast<clang::DeclStmt>(s)) return exec_declaration(declaration);
  if (const auto* choice = dyn_cast<clang::IfStmt>(s)) return exec_if(choice);
  if (const auto* back = dyn_cast<clang::ReturnStmt>(s)) return exec_return(back);
  if (const auto* choice = dyn_cast<clang::SwitchStmt>(s)) return exec_switch(choice);
  if (const auto* assembly = dyn_cast<clang::GCCAsmStmt>(s)) return assembly_.exec(assembly);
  if (const auto* label = dyn_cast<clang::AttributedStmt>(s)) return exec(label->getSubStmt());
  if (const auto* label = dyn_cast<clang::LabelStmt>(s)) return exec(label->getSubStmt());
  if (const auto* loop = dyn_cast<clang::ForStmt>(s)) {
    if (loop->getInit()) exec(loop->getInit());
    return loops_.exec({loop, loop->getConditionVariableDeclStmt(), loop->getCond(), loop->getInc(),
                        nullptr, loop->getBody(), false});
  }
  if (const auto* loop = dyn_cast<clang::WhileStmt>(s)) {
    return loops_.exec({loop, loop->getConditionVariableDeclStmt(), loop->getCond(), nullptr,
                        nullptr, loop->getBody(), false});
  }
  if (const auto* loop = dyn_cast<clang::DoStmt>(s)) {
    return loops_.exec({loop, nullptr, loop->getCond(), nullptr, nullptr, loop->getBody(), true});
  }
  if (const auto* loop = dyn_cast<clang::CXXForRangeStmt>(s)) {
    if (loop->getInit()) exec(loop->getInit());
    exec(loop->getRangeStmt());
    exec(loop->getBeginStmt());
    exec(loop->getEndStmt());
    return loops_.exec({loop, nullptr, loop->getCond(), loop->getInc(), loop->getLoopVarStmt(),
                        loop->getBody(), false});
  }
  if (isa<clang::BreakStmt>(s) || isa<clang::ContinueStmt>(s)) {
    Frame& frame = frames_.current();
    NodeId& left = isa<clang::BreakStmt>(s) ? frame.broken : frame.continued;
    left = nodes_.either(left, facts_.since(frame.facts));
    return;
  }
  if (!isa<clang::NullStmt>(s)) refuse_statement(course_, s);
}

// After a statement by which some threads leave, the next ones run for the others only.
void Statements::exec_compound(const clang::CompoundStmt* s) {
  const size_t facts = facts_.size();
  for (const clang::Stmt* child : s->body()) {
    const NodeId before = frames_.gone();
    exec(child);
    if (course_.stopped()) break;
    const NodeId now = facts_.assume(frames_.gone());
    if (nodes_.is(now, 1)) break;
    if (now != before && !nodes_.is(now, 0)) facts_.push(nodes_.negation(now));
  }
  facts_.pop(facts);
}

void Statements::exec_declaration(const clang::DeclStmt* s) {
  for (const clang::Decl* decl : s->decls()) {
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl)) declare(variable);
    if (const auto* parts = dyn_cast<clang::DecompositionDecl>(decl)) {
      for (const clang::BindingDecl* part : parts->bindings()) {
        if (const clang::VarDecl* holder = part->getHoldingVar()) declare(holder);
      }
    }
  }
}

void Statements::declare(const clang::VarDecl* variable) {
  if (variable->hasAttr<clang::CleanupAttr>())
    return course_.complain(
        variable->getLocation(),
        "what is run when '" + variable->getNameAsString() + "' ends is not followed");
  if (!variable->hasLocalStorage()) {
    // Such a variable is initialised once before the kernel, or by each block. Its contents are not
    // tracked.
    const clang::Expr* init = variable->getInit();
    if (const auto* made = clang::dyn_cast_or_null<clang::CXXConstructExpr>(init)) {
      if (!made->getConstructor()->isTrivial()) objects_.construct({Root::shared, 0, 0}, made);
    }
    return;
  }
  const Value target = pointer_to(frames_.begin(variable, variable->getNameAsString()));
  const clang::Expr* init = variable->getInit();
  if (!init) return;
  if (variable->getType()->isReferenceType()) {
    const Type pointer = parsed_.ast.getPointerType(variable->getType().getNonReferenceType());
    storage_.store_variable(target, walker_.address(init), pointer, variable->getLocation());
    return;
  }
  objects_.initialise(target, variable->getType(), init);
}

void Statements::exec_under(NodeId condition, const clang::Stmt* s) {
  if (!s || nodes_.is(condition, 0)) return;
  const size_t facts = facts_.size();
  facts_.push(condition);
  exec(s);
  facts_.pop(facts);
}

void Statements::exec_if(const clang::IfStmt* s) {
  if (s->getInit()) exec(s->getInit());
  if (s->getConditionVariableDeclStmt()) exec(s->getConditionVariableDeclStmt());
  if (s->isConsteval()) return exec(s->isNegatedConsteval() ? s->getThen() : s->getElse());
  const NodeId which = walker_.condition(s->getCond());
  if (nodes_.is_constant(which)) return exec(nodes_[which].value ? s->getThen() : s->getElse());
  exec_under(which, s->getThen());
  exec_under(nodes_.negation(which), s->getElse());
}

void Statements::exec_return(const clang::ReturnStmt* s) {
  const clang::Expr* given = s->getRetValue();
  Frame& frame = frames_.current();
  const size_t index = frames_.size() - 1;
  const NodeId here = facts_.since(frame.facts);
  const Type type = frame.function->getReturnType();
  if (given && type->isReferenceType()) {
    const Value value = walker_.address(given);
    Frame& mine = frames_[index];
    mine.result =
        mine.has_result ? storage_.choose(here, value, mine.result, s->getReturnLoc()) : value;
    mine.has_result = true;
  } else if (given && type->isRecordType()) {
    const Value target = pointer_to(frame.result_object);
    const Value value = walker_.eval(given);
    storage_.copy_record(target, value, types_.size_of(type), s->getReturnLoc());
    frames_[index].result = target;
    frames_[index].has_result = true;
  } else if (given) {
    const Value value = walker_.eval(given);
    Frame& mine = frames_[index];
    mine.result =
        mine.has_result ? storage_.choose(here, value, mine.result, s->getReturnLoc()) : value;
    mine.has_result = true;
  }
  Frame& mine = frames_[index];
  mine.returned = nodes_.either(mine.returned, here);
}

// Runs the statements of the body one after the other, each for those threads that have entered the
// body at a label above it.
void Statements::exec_switch(const clang::SwitchStmt* s) {
  if (s->getInit()) exec(s->getInit());
  if (s->getConditionVariableDeclStmt()) exec(s->getConditionVariableDeclStmt());
  const Value value = walker_.eval(s->getCond());
  const IntType type = types_.int_type(s->getCond()->getType());
  const auto* body = dyn_cast<clang::CompoundStmt>(s->getBody());
  std::map<const clang::SwitchCase*, NodeId> labels;
  NodeId any = nodes_.constant(0);
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
    const NodeId is = nodes_.condition(nodes_.binary(
        Op::equal, value.node, nodes_.constant(number.Val.getInt().getExtValue()), type));
    labels[label] = is;
    any = nodes_.either(any, is);
  }
  const auto* cases = plain ? body : nullptr;
  size_t found = 0;
  const NodeId broken = frames_.current().broken;
  const size_t index = frames_.size() - 1;
  NodeId entered = nodes_.constant(0);
  for (const clang::Stmt* child : cases ? llvm::ArrayRef(cases->body_begin(), cases->size())
                                        : llvm::ArrayRef<clang::Stmt*>()) {
    while (const auto* label = dyn_cast<clang::SwitchCase>(child)) {
      const auto at = labels.find(label);
      entered = nodes_.either(entered, at == labels.end() ? nodes_.negation(any) : at->second);
      ++found;
      child = label->getSubStmt();
    }
    const NodeId left = facts_.assume(frames_.gone());
    exec_under(facts_.assume(nodes_.both(entered, nodes_.negation(left))), child);
    if (course_.stopped()) return;
  }
  frames_[index].broken = broken;
  if (!plain || found != labels.size() + others) {
    course_.complain(
        s->getSwitchLoc(),
        "this switch jumps into the middle of statements, and which stores are reached cannot "
        "be seen",
        s->getSwitchLoc(), "write it with if");
  }
}

}  // namespace tilepost::inference
