// Finds out which threads reach a tile_done. This depends on the conditions around the call and
// around the calls that lead to it, and on statements before it by which threads leave. The check
// follows through variables whether a condition differs between threads. It disregards the order of
// statements.
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "generator/weave/marked/check_marks.h"
#include "generator/weave/marked/walk.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// Where a value may differ: nowhere in a block, between warps but not within one, or between any
// two threads.
enum Level { kBlock, kWarp, kThread };

constexpr int kWarpSize = 32;

Level worse(Level a, Level b) {
  return a > b ? a : b;
}

bool names_threads(StringRef text) {
  constexpr const char* kWords[] = {"lane", "%tid", "elect", "thread_rank", "warpid"};
  return llvm::any_of(kWords, [&](const char* word) { return text.contains(word); });
}

class Levels {
 public:
  Levels(const Parsed& parsed, const Functions& functions) : parsed_(parsed) {
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (const clang::FunctionDecl* function : functions) {
        walk(function, [&](const clang::Stmt* statement, Around around) {
          spread(function, statement, around);
        });
        if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(function))
          for (const clang::CXXCtorInitializer* member : constructor->inits())
            raise(member->getMember(), of(member->getInit()));
      }
    }
  }

  // The level of the conditions around `statement` in its function. They decide which of the
  // threads that enter the function reach the statement. Sets `why` to the condition that raises
  // the level.
  Level around(const clang::Stmt* statement, Around outer,
               const clang::Expr** why = nullptr) const {
    Level level = kBlock;
    const clang::Stmt* inner = statement;
    for (const clang::Stmt* stands : llvm::reverse(outer)) {
      for (const clang::Expr* condition : conditions(stands, inner)) {
        const Level of_it = of(condition);
        if (of_it > level && why) *why = condition;
        level = worse(level, of_it);
      }
      inner = stands;
    }
    return level;
  }

  Level of(const clang::Stmt* statement) const {
    const auto* expression = dyn_cast_or_null<clang::Expr>(statement);
    if (!expression) return kBlock;
    clang::Expr::EvalResult value;
    if (!expression->isValueDependent() && expression->EvaluateAsInt(value, parsed_.ast))
      return kBlock;
    expression = plain(expression);
    if (const auto* property = dyn_cast<clang::MSPropertyRefExpr>(expression))
      return of(property->getBaseExpr());
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression))
      return of_variable(name->getDecl());
    if (const auto* member = dyn_cast<clang::MemberExpr>(expression))
      return worse(of(member->getBase()), of_variable(member->getMemberDecl()));
    if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return of_call(call);
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(expression))
      return of_operation(operation);
    return of_parts(expression);
  }

 private:
  Level of_parts(const clang::Stmt* statement) const {
    Level level = kBlock;
    for (const clang::Stmt* part : statement->children()) level = worse(level, of(part));
    return level;
  }

  Level of_variable(const clang::ValueDecl* decl) const {
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (variable && variable->getIdentifier() && variable->getName() == "threadIdx") return kThread;
    const auto found = variables_.find(decl);
    return found == variables_.end() ? kBlock : found->second;
  }

  // Some operations on a thread's number have the same result in all lanes of a warp: division by a
  // multiple of 32, a shift by 5 or more, and comparisons at a multiple of 32.
  Level of_operation(const clang::BinaryOperator* operation) const {
    const Level level = of_parts(operation);
    clang::Expr::EvalResult value;
    if (level != kThread || !operation->getRHS()->EvaluateAsInt(value, parsed_.ast)) return level;
    const int64_t by = value.Val.getInt().getExtValue();
    const bool whole = by % kWarpSize == 0;
    switch (operation->getOpcode()) {
      case clang::BO_Div:
      case clang::BO_LT:
      case clang::BO_GE:
        return whole ? kWarp : level;
      case clang::BO_GT:
      case clang::BO_LE:
        return by % kWarpSize == kWarpSize - 1 ? kWarp : level;
      case clang::BO_Shr:
        return by >= 5 ? kWarp : level;
      default:
        return level;
    }
  }

  Level of_call(const clang::CallExpr* call) const {
    const clang::FunctionDecl* function = callee_of(call);
    const std::string name = function ? function->getNameAsString() : "";
    const StringRef known = name;
    if (known.starts_with("__syncthreads")) return kBlock;
    if (known == "__shfl_sync" && call->getNumArgs() > 2)
      return worse(of(call->getArg(2)) == kThread ? kThread : kBlock,
                   of(call->getArg(1)) == kBlock ? kBlock : kWarp);
    if (known.starts_with("__ballot") || known.starts_with("__any_sync") ||
        known.starts_with("__all_sync"))
      return of_parts(call) == kBlock ? kBlock : kWarp;
    if (names_threads(known)) return kThread;
    if (function && function->getBody() && parsed_.in_main(function)) return of_variable(function);
    return of_parts(call);
  }

  // The conditions that decide whether `inner`, a part of `outer`, is reached.
  static llvm::SmallVector<const clang::Expr*, 2> conditions(const clang::Stmt* outer,
                                                             const clang::Stmt* inner) {
    const auto unless_part = [&](const clang::Expr* condition) {
      llvm::SmallVector<const clang::Expr*, 2> list;
      if (condition && condition != inner) list.push_back(condition);
      return list;
    };
    if (const auto* branch = dyn_cast<clang::IfStmt>(outer)) return unless_part(branch->getCond());
    if (const auto* loop = dyn_cast<clang::WhileStmt>(outer)) return unless_part(loop->getCond());
    if (const auto* loop = dyn_cast<clang::DoStmt>(outer)) return unless_part(loop->getCond());
    if (const auto* loop = dyn_cast<clang::ForStmt>(outer))
      return unless_part(loop->getInit() == inner ? nullptr : loop->getCond());
    if (const auto* choice = dyn_cast<clang::SwitchStmt>(outer))
      return unless_part(choice->getCond());
    if (const auto* choice = dyn_cast<clang::ConditionalOperator>(outer))
      return unless_part(choice->getCond());
    if (const auto* both = dyn_cast<clang::BinaryOperator>(outer); both && both->isLogicalOp())
      return unless_part(both->getLHS());
    return {};
  }

  void raise(const clang::ValueDecl* decl, Level level) {
    if (!decl) return;
    const auto* variable = dyn_cast<clang::VarDecl>(decl);
    if (variable && variable->hasAttr<clang::CUDASharedAttr>()) return;  // all threads share it
    Level& known = variables_[decl];
    if (level <= known) return;
    known = level;
    changed_ = true;
  }

  void spread(const clang::FunctionDecl* function, const clang::Stmt* statement, Around outer) {
    const Level here = around(statement, outer);
    if (const auto* declared = dyn_cast<clang::DeclStmt>(statement)) {
      for (const clang::Decl* decl : declared->decls())
        if (const auto* variable = dyn_cast<clang::VarDecl>(decl); variable && variable->getInit())
          raise(variable, of(variable->getInit()));
    } else if (const auto* operation = dyn_cast<clang::BinaryOperator>(statement)) {
      if (operation->isAssignmentOp())
        raise(named(operation->getLHS()), worse(here, of(operation->getRHS())));
    } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp()) raise(named(unary->getSubExpr()), here);
    } else if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
      if (!in_lambda(outer)) raise(function, worse(here, of(result->getRetValue())));
    } else if (const auto* assembly = dyn_cast<clang::GCCAsmStmt>(statement)) {
      spread_asm(assembly, here);
    } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
      spread_call(call, here);
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(statement)) {
      spread_arguments(made->getConstructor()->getDefinition(),
                       {made->getArgs(), made->getNumArgs()});
    }
  }

  void spread_asm(const clang::GCCAsmStmt* assembly, Level here) {
    Level level = names_threads(assembly->getAsmString()->getString()) ? kThread : here;
    for (const clang::Expr* input : assembly->inputs()) level = worse(level, of(input));
    for (const clang::Expr* output : assembly->outputs()) raise(named(output), level);
  }

  void spread_call(const clang::CallExpr* call, Level here) {
    if (const auto* assign = dyn_cast<clang::CXXOperatorCallExpr>(call);
        assign && assign->isAssignmentOp() && assign->getNumArgs() == 2)
      raise(named(assign->getArg(0)), worse(here, of(assign->getArg(1))));
    spread_arguments(callee_of(call), arguments_of(call));
  }

  void spread_arguments(const clang::FunctionDecl* function,
                        llvm::ArrayRef<const clang::Expr*> arguments) {
    if (!function || !function->getBody() || !parsed_.in_main(function)) return;
    for (size_t i = 0; i < arguments.size() && i < function->getNumParams(); ++i) {
      const clang::ParmVarDecl* parameter = function->getParamDecl(static_cast<unsigned>(i));
      raise(parameter, of(arguments[i]));
      const clang::QualType type = parameter->getType();
      const bool writes = (type->isReferenceType() || type->isPointerType()) &&
                          !type->getPointeeType().isConstQualified();
      if (writes) raise(named(arguments[i]), of_variable(parameter));
    }
  }

 public:
  static bool in_lambda(Around outer) {
    return llvm::any_of(outer, [](const clang::Stmt* one) { return isa<clang::LambdaExpr>(one); });
  }

 private:
  const Parsed& parsed_;
  // The levels of variables, of members, and of the results of functions.
  llvm::DenseMap<const clang::ValueDecl*, Level> variables_;
  bool changed_ = false;
};

class CallerCheck {
 public:
  CallerCheck(const Parsed& parsed, const Functions& functions)
      : parsed_(parsed), functions_(functions), levels_(parsed, functions) {
    find_contexts();
  }

  void run() {
    for (const clang::FunctionDecl* function : functions_)
      walk(function, [&](const clang::Stmt* statement, Around around) {
        const auto* call = dyn_cast<clang::CallExpr>(statement);
        if (call && mark_called(call) == Mark::tile_done && call->getNumArgs() == 2)
          check(function, call, around);
      });
  }

 private:
  struct Context {
    Level level = kBlock;
    const clang::Stmt* why = nullptr;  // a condition, or an exit by which threads leave before
    bool leaves = false;
  };

  static Context worse_of(const Context& a, const Context& b) { return b.level > a.level ? b : a; }

  Context context_of(const clang::FunctionDecl* function, const clang::Stmt* statement,
                     Around around) const {
    Context context;
    const clang::Expr* why = nullptr;
    context.level = levels_.around(statement, around, &why);
    context.why = why;
    if (context.level == kBlock) context = left_before(function, statement, around);
    const auto found = contexts_.find(function);
    return found == contexts_.end() ? context : worse_of(context, found->second);
  }

  // The first return, break or continue by which only some threads leave the function, or a loop
  // around `statement`, before they reach it.
  Context left_before(const clang::FunctionDecl* function, const clang::Stmt* statement,
                      Around around) const {
    Context context;
    if (Levels::in_lambda(around)) return context;
    const clang::SourceManager& sm = parsed_.sm;
    walk(function, [&](const clang::Stmt* exit, Around outer) {
      if (!isa<clang::ReturnStmt, clang::BreakStmt, clang::ContinueStmt>(exit)) return;
      if (Levels::in_lambda(outer)) return;
      const clang::Stmt* loop = nullptr;
      for (const clang::Stmt* one : llvm::reverse(outer)) {
        const bool stops = isa<clang::SwitchStmt>(one) && isa<clang::BreakStmt>(exit);
        if (!stops && !isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(one)) continue;
        loop = one;
        break;
      }
      const bool leaves =
          isa<clang::ReturnStmt>(exit) || (loop && llvm::is_contained(around, loop));
      const bool before =
          sm.isBeforeInTranslationUnit(exit->getBeginLoc(), statement->getBeginLoc());
      // An exit behind the statement, in a loop around both, comes before the statement in the
      // loop's next turn.
      const bool again =
          loop && llvm::is_contained(around, loop) && !isa<clang::ContinueStmt>(exit);
      if (!leaves || (!before && !again)) return;
      const Level level = levels_.around(exit, outer);
      if (level > context.level) context = {level, exit, true};
    });
    return context;
  }

  void find_contexts() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const clang::FunctionDecl* function : functions_)
        walk(function, [&](const clang::Stmt* statement, Around around) {
          const auto* call = dyn_cast<clang::CallExpr>(statement);
          const clang::FunctionDecl* called = call ? callee_of(call) : nullptr;
          if (!called || !llvm::is_contained(functions_, called)) return;
          const Context context = context_of(function, call, around);
          Context& known = contexts_[called];
          if (context.level <= known.level) return;
          known = context;
          changed = true;
        });
    }
  }

  void check(const clang::FunctionDecl* function, const clang::CallExpr* call, Around around) {
    const clang::QualType kind = call->getArg(1)->getType();
    const Context context = context_of(function, call, around);
    const auto refuse = [&](const char* what) {
      parsed_.error(call->getBeginLoc(), what);
      if (context.why)
        parsed_.note(context.why->getBeginLoc(), context.leaves
                                                     ? "some threads leave here"
                                                     : "this is not the same for all threads");
    };
    if (is_type(kind, "BlockStores") && context.level != kBlock)
      refuse(
          "not all threads of the block come to this tile_done, which waits for all of them: "
          "with BlockStores all call it; move it out of the condition, or say WarpStores or "
          "BulkStores if others store nothing");
    if (is_type(kind, "WarpStores") && context.level == kThread)
      refuse(
          "not all lanes of a warp come to this tile_done: with WarpStores all call it; move it "
          "out of the condition");
    if (is_type(kind, "BulkStores") && context.level == kBlock)
      refuse(
          "all threads of the block come to this tile_done: with BulkStores the one thread calls "
          "it that has issued the TMA stores; move it to them");
    if (is_type(kind, "BulkStores") && context.level == kWarp)
      refuse(
          "all lanes of a warp come to this tile_done: with BulkStores the one thread calls it "
          "that has issued the TMA stores; move it to them");
  }

  const Parsed& parsed_;
  const Functions& functions_;
  const Levels levels_;
  llvm::DenseMap<const clang::FunctionDecl*, Context> contexts_;  // the worst of all calls
};

}  // namespace

void check_callers(const Parsed& parsed, const Functions& functions) {
  CallerCheck(parsed, functions).run();
}

}  // namespace tilepost
