// Checks what happens to the tiles that a kernel chooses: which are stored, which are done, and
// when.
//
// Tiles are followed through variables, members, parameters and results, without regard to order.
// All places that one value may pass through form a *flow*. Within a function, what happens to one
// variable is taken to happen in the order of the text.
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "generator/weave/marked/check_marks.h"
#include "generator/weave/marked/walk.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

// Something that happens to a tile, in a function.
struct Event {
  enum class Kind { stored, done, chosen };
  Kind kind;
  const clang::ValueDecl* tile;  // the variable that holds the tile; null for an expression
  const clang::Expr* where;
  std::vector<const clang::Stmt*> around;
};

bool stores(Mark mark) {
  return mark == Mark::out || mark == Mark::out_base || mark == Mark::out_coord;
}

// The mark's argument that is a tile, or null.
const clang::Expr* tile_of(const clang::CallExpr* call) {
  for (const clang::Expr* argument : arguments_of(call))
    if (is_type(argument->getType(), "Tile")) return argument;
  return nullptr;
}

bool is_loop(const clang::Stmt* statement) {
  return isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(statement);
}

bool is_inside(const clang::SourceManager& sm, clang::SourceLocation where,
               const clang::Stmt* outer) {
  return !sm.isBeforeInTranslationUnit(where, outer->getBeginLoc()) &&
         !sm.isBeforeInTranslationUnit(outer->getEndLoc(), where);
}

// The variables that a statement declares. A lambda declares its captures with an initialiser.
std::vector<const clang::VarDecl*> declared_in(const clang::Stmt* statement) {
  std::vector<const clang::VarDecl*> list;
  const auto add = [&](const clang::Decl* decl) {
    if (const auto* variable = dyn_cast_or_null<clang::VarDecl>(decl)) list.push_back(variable);
  };
  if (const auto* declared = dyn_cast<clang::DeclStmt>(statement))
    for (const clang::Decl* decl : declared->decls()) add(decl);
  if (const auto* lambda = dyn_cast<clang::LambdaExpr>(statement))
    for (const clang::LambdaCapture& capture : lambda->captures())
      if (lambda->isInitCapture(&capture)) add(capture.getCapturedVar());
  return list;
}

// The events of a function, in the order in which the text shows them. The events of a lambda for
// tiles from outside of the lambda happen where the lambda is called. Every place that names the
// lambda may call it.
class EventsInOrder {
 public:
  explicit EventsInOrder(const clang::SourceManager& sm) : sm_(sm) {}

  std::vector<Event> all;

  void declare(const clang::VarDecl* variable) {
    if (!variable->getInit()) return;
    const clang::Expr* init = plain(variable->getInit());
    initial_.insert(init);
    if (variable->isInitCapture() && named(init)) same_[variable] = named(init);
  }

  void add(Event event) {
    while (const clang::ValueDecl* other = same_.lookup(event.tile)) event.tile = other;
    for (size_t i = event.around.size(); i-- > 0;) {
      const auto* lambda = dyn_cast<clang::LambdaExpr>(event.around[i]);
      if (!lambda) continue;
      if (is_inside(sm_, event.tile->getLocation(), lambda)) break;
      Event later = event;
      later.around.erase(later.around.begin(), later.around.begin() + static_cast<long>(i) + 1);
      later_[lambda->getLambdaClass()].push_back(std::move(later));
      if (initial_.contains(lambda)) return;
    }
    all.push_back(std::move(event));
  }

  // An expression that names a lambda counts as a call, unless it copies or captures the lambda.
  void mention(const clang::Expr* expression, Around around) {
    if (!isa<clang::DeclRefExpr, clang::MemberExpr>(expression) || initial_.contains(expression))
      return;
    const clang::CXXRecordDecl* type = expression->getType()->getAsCXXRecordDecl();
    const auto found = type ? later_.find(type) : later_.end();
    if (found == later_.end() || is_captured(expression, around)) return;
    for (Event event : std::vector<Event>(found->second)) {
      event.where = expression;
      event.around.insert(event.around.begin(), around.begin(), around.end());
      add(std::move(event));
    }
  }

 private:
  static bool is_captured(const clang::Expr* expression, Around around) {
    for (size_t i = 0; i < around.size(); ++i) {
      const auto* lambda = dyn_cast<clang::LambdaExpr>(around[i]);
      const clang::Stmt* part = i + 1 < around.size() ? around[i + 1] : expression;
      if (lambda && llvm::is_contained(lambda->capture_inits(), part)) return true;
    }
    return false;
  }

  const clang::SourceManager& sm_;
  llvm::DenseMap<const clang::CXXRecordDecl*, std::vector<Event>> later_;  // by lambda's class
  llvm::DenseMap<const clang::ValueDecl*, const clang::ValueDecl*> same_;
  llvm::SmallPtrSet<const clang::Expr*, 16> initial_;  // variables' first values
};

// Flows as a forest: expressions and variables that may have the same value have the same root.
class Flows {
 public:
  using Node = const void*;

  Node root(Node node) {
    for (auto found = above_.find(node); found != above_.end(); found = above_.find(node))
      node = found->second;
    return node;
  }
  void join(Node a, Node b) {
    if (!a || !b || root(a) == root(b)) return;
    above_[root(b)] = root(a);
  }

 private:
  llvm::DenseMap<Node, Node> above_;
};

class TileCheck {
 public:
  TileCheck(const Parsed& parsed, const Functions& functions, const MarkFacts& facts)
      : parsed_(parsed), functions_(functions), facts_(facts) {}

  void run() {
    for (const clang::FunctionDecl* function : functions_)
      walk(function, [&](const clang::Stmt* statement, Around) {
        follow(function, statement);
        check_grid(statement);
      });
    check_flows();
    for (bool grew = true; grew;) grew = summarise();
    for (const clang::FunctionDecl* function : functions_) check_order(function);
  }

 private:
  // ---- Flows

  // The node that stands for the value of a tile's expression; null for a tile that the kernel
  // makes without a mark.
  Flows::Node node_of(const clang::Expr* expression) {
    expression = plain(expression);
    if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression)) {
      flows_.join(node_of(choice->getTrueExpr()), node_of(choice->getFalseExpr()));
      return node_of(choice->getTrueExpr());
    }
    if (const auto* call = dyn_cast<clang::CallExpr>(expression)) {
      const clang::FunctionDecl* function = callee_of(call);
      return mark_called(call) == Mark::tile || !function ? static_cast<Flows::Node>(call)
                                                          : function;
    }
    if (const clang::ValueDecl* decl = named(expression)) return decl;
    return isa<clang::InitListExpr, clang::CXXConstructExpr, clang::CXXScalarValueInitExpr>(
               expression)
               ? nullptr
               : static_cast<Flows::Node>(expression);
  }

  void follow(const clang::FunctionDecl* function, const clang::Stmt* statement) {
    if (const auto* declared = dyn_cast<clang::DeclStmt>(statement)) {
      for (const clang::Decl* decl : declared->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        if (variable && variable->getInit() && is_type(variable->getType(), "Tile"))
          flows_.join(variable, node_of(variable->getInit()));
      }
    } else if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
      if (result->getRetValue() && is_type(result->getRetValue()->getType(), "Tile"))
        flows_.join(function, node_of(result->getRetValue()));
    } else if (const auto* set = dyn_cast<clang::BinaryOperator>(statement)) {
      if (set->isAssignmentOp() && is_type(set->getLHS()->getType(), "Tile"))
        flows_.join(node_of(set->getLHS()), node_of(set->getRHS()));
    } else if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
      follow_call(call);
    }
  }

  void follow_call(const clang::CallExpr* call) {
    const auto* assign = dyn_cast<clang::CXXOperatorCallExpr>(call);
    if (assign && assign->isAssignmentOp() && is_type(assign->getArg(0)->getType(), "Tile")) {
      flows_.join(node_of(assign->getArg(0)), node_of(assign->getArg(1)));
      return;
    }
    const clang::FunctionDecl* function = callee_of(call);
    const Mark mark = mark_called(call);
    if (mark == Mark::tile) chosen_.push_back(call);
    if (mark != Mark::none || !function) {
      const clang::Expr* tile = tile_of(call);
      if (tile && (stores(mark) || mark == Mark::tile_done)) marks_.push_back({call, mark, tile});
      return;
    }
    const bool known = llvm::is_contained(functions_, function) || is_lambdas(function);
    const auto arguments = arguments_of(call);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!is_type(arguments[i]->getType(), "Tile")) continue;
      const auto index = static_cast<unsigned>(i);
      if (known && index < function->getNumParams())
        flows_.join(function->getParamDecl(index), node_of(arguments[i]));
      else
        flows_.join(&unknown_, node_of(arguments[i]));
    }
  }

  static bool is_lambdas(const clang::FunctionDecl* function) {
    const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
    return method && method->getParent()->isLambda();
  }

  void check_flows() {
    const auto find = [&](Flows::Node node, auto&& accept) {
      return llvm::find_if(marks_, [&](const MarkCall& one) {
        const Flows::Node other = node_of(one.tile);
        return other && flows_.root(other) == flows_.root(node) && accept(one.mark);
      });
    };
    for (const MarkCall& one : marks_) {
      const Flows::Node node = node_of(one.tile);
      const bool from_mark = node && llvm::any_of(chosen_, [&](const clang::CallExpr* call) {
                               return flows_.root(call) == flows_.root(node);
                             });
      if (node && flows_.root(node) == flows_.root(&unknown_)) continue;
      if (!from_mark) {
        parsed_.error(one.call->getBeginLoc(),
                      std::string("the tile of this '") + name_of(one.mark) +
                          "' does not come from tilepost::tile: the schedule does not know it; "
                          "take it from tilepost::tile(grid, position)");
      } else if (stores(one.mark) &&
                 find(node, [](Mark mark) { return mark == Mark::tile_done; }) == marks_.end()) {
        parsed_.error(one.call->getBeginLoc(),
                      "the tile is stored here, and tilepost::tile_done is never said of it: what "
                      "waits for its group would wait in vain; call it behind the tile's last "
                      "store");
      }
    }
  }

  // ---- The grid

  void check_grid(const clang::Stmt* statement) {
    const auto* list = dyn_cast<clang::InitListExpr>(statement);
    constexpr unsigned kFields = 6;  // the number of members of TileGrid in mark.cuh
    if (!list || !is_type(list->getType(), "TileGrid") || list->getNumInits() != kFields) return;
    const std::pair<const char*, int64_t> wanted[] = {
        {"tile_m", facts_.tile_m}, {"tile_n", facts_.tile_n}, {"cluster", facts_.cluster}};
    for (unsigned i = 0; i < std::size(wanted); ++i) {
      const clang::Expr* given = list->getInit(2 + i);
      clang::Expr::EvalResult value;
      if (given->isValueDependent() || !given->EvaluateAsInt(value, parsed_.ast)) continue;
      const int64_t is = value.Val.getInt().getExtValue();
      if (is == wanted[i].second) continue;
      parsed_.error(given->getBeginLoc(), std::string(wanted[i].first) + " of the grid is " +
                                              std::to_string(is) + " here, and the spec says " +
                                              std::to_string(wanted[i].second) + " in kernel." +
                                              (i == 2 ? "cluster" : "tile"));
    }
  }

  // ---- Order

  // Notes the parameters whose tile is stored or done by the parameter's function, or by functions
  // that this function calls. Returns whether it has noted a new parameter.
  bool summarise() {
    bool grew = false;
    for (const clang::FunctionDecl* function : functions_)
      for (const Event& event : events_of(function)) {
        const auto* parameter = dyn_cast_or_null<clang::ParmVarDecl>(event.tile);
        if (!parameter || event.kind == Event::Kind::chosen) continue;
        auto& known = event.kind == Event::Kind::done ? dones_ : stored_;
        grew |= known.insert({parameter, true}).second;
      }
    return grew;
  }

  // Maps each pointer into a tile of the output to the tile.
  using Begins = llvm::DenseMap<const clang::ValueDecl*, const clang::ValueDecl*>;

  std::vector<Event> events_of(const clang::FunctionDecl* function) {
    EventsInOrder events(parsed_.sm);
    // Pointers into a tile of the output. Every use of such a pointer counts as a store.
    Begins begins;
    walk(function, [&](const clang::Stmt* statement, Around around) {
      const auto add = [&](Event::Kind kind, const clang::ValueDecl* tile,
                           const clang::Expr* where) {
        if (tile) events.add({kind, tile, where, around.vec()});
      };
      for (const clang::VarDecl* variable : declared_in(statement)) {
        begin(variable, begins);
        events.declare(variable);
      }
      if (const auto* call = dyn_cast<clang::CallExpr>(statement)) events_of_call(call, add);
      const auto* name = dyn_cast<clang::DeclRefExpr>(statement);
      if (const auto found = name ? begins.find(name->getDecl()) : begins.end();
          found != begins.end())
        add(Event::Kind::stored, found->second, name);
      if (const auto* expression = dyn_cast<clang::Expr>(statement))
        events.mention(expression, around);
    });
    return events.all;
  }

  // If a declared variable points into a tile of the output, notes which tile.
  static void begin(const clang::VarDecl* variable, Begins& begins) {
    const auto* call =
        variable->getInit() ? dyn_cast<clang::CallExpr>(plain(variable->getInit())) : nullptr;
    if (call && mark_called(call) == Mark::out_base)
      begins[variable] = named(tile_of(call));
    else if (variable->getType()->isPointerType() || variable->getType()->isReferenceType())
      if (const clang::ValueDecl* tile = found_in(variable->getInit(), begins))
        begins[variable] = tile;
  }

  // The tile of the first variable in an expression that points into a tile of the output, or null.
  static const clang::ValueDecl* found_in(const clang::Stmt* expression, const Begins& begins) {
    if (!expression) return nullptr;
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression))
      return begins.lookup(name->getDecl());
    for (const clang::Stmt* part : expression->children())
      if (const clang::ValueDecl* tile = found_in(part, begins)) return tile;
    return nullptr;
  }

  template <class Add>
  void events_of_call(const clang::CallExpr* call, const Add& add) {
    const Mark mark = mark_called(call);
    const clang::Expr* tile = mark == Mark::none ? nullptr : tile_of(call);
    if (stores(mark) && tile) add(Event::Kind::stored, named(tile), call);
    if (mark == Mark::tile_done && tile) add(Event::Kind::done, named(tile), call);
    if (mark != Mark::none) return;
    const auto* assign = dyn_cast<clang::CXXOperatorCallExpr>(call);
    if (assign && assign->isAssignmentOp())
      return add(Event::Kind::chosen, named(assign->getArg(0)), call);
    const clang::FunctionDecl* function = callee_of(call);
    const auto arguments = arguments_of(call);
    for (size_t i = 0; function && i < arguments.size() && i < function->getNumParams(); ++i) {
      const clang::ParmVarDecl* parameter = function->getParamDecl(static_cast<unsigned>(i));
      if (!is_type(parameter->getType(), "Tile")) continue;
      const clang::QualType pointee = parameter->getType()->getPointeeType();
      if (!pointee.isNull() && !pointee.isConstQualified())
        add(Event::Kind::chosen, named(arguments[i]), call);
      if (stored_.count(parameter)) add(Event::Kind::stored, named(arguments[i]), call);
      if (dones_.count(parameter)) add(Event::Kind::done, named(arguments[i]), call);
    }
  }

  // Whether at most one of the events happens, because they are in different branches of one
  // condition.
  static bool exclude_each_other(const Event& a, const Event& b) {
    size_t common = 0;
    while (common < a.around.size() && common < b.around.size() &&
           a.around[common] == b.around[common])
      ++common;
    if (common == 0) return false;
    const clang::Stmt* around = a.around[common - 1];
    if (isa<clang::SwitchStmt>(around)) return true;
    const auto* branch = dyn_cast<clang::IfStmt>(around);
    const auto part = [&](const Event& event) {
      return common < event.around.size() ? event.around[common]
                                          : static_cast<const clang::Stmt*>(event.where);
    };
    return branch && ((part(a) == branch->getThen() && part(b) == branch->getElse()) ||
                      (part(b) == branch->getThen() && part(a) == branch->getElse()));
  }

  void check_order(const clang::FunctionDecl* function) {
    const std::vector<Event> events = events_of(function);
    for (size_t i = 0; i < events.size(); ++i) {
      if (events[i].kind != Event::Kind::done) continue;
      if (facts_.signals == 1) check_loop(events, events[i]);
      for (size_t j = i + 1; j < events.size(); ++j) {
        if (events[j].tile != events[i].tile) continue;
        if (events[j].kind == Event::Kind::chosen) break;
        if (exclude_each_other(events[i], events[j])) continue;
        if (events[j].kind == Event::Kind::stored)
          parsed_.error(events[j].where->getBeginLoc(),
                        "the tile is stored here, behind its tile_done: whoever waited for it may "
                        "have read it by then; call tile_done behind the tile's last store");
        else if (facts_.signals == 1)
          parsed_.error(events[j].where->getBeginLoc(),
                        "the tile was done already, and kernel.signals says that tile_done counts "
                        "once for each tile; remove one of the calls, or say signals: 2");
        else
          continue;
        parsed_.note(events[i].where->getBeginLoc(), "it is done here");
        break;
      }
    }
  }

  // Refuses a tile_done in a loop whose turns all have the same tile: the tile would be done once
  // in each turn.
  void check_loop(const std::vector<Event>& events, const Event& done) {
    for (const clang::Stmt* outer : llvm::reverse(done.around)) {
      if (isa<clang::LambdaExpr>(outer)) return;
      if (!is_loop(outer)) continue;
      if (isa<clang::FieldDecl>(done.tile) ||
          is_inside(parsed_.sm, done.tile->getLocation(), outer))
        return;
      const bool changes = llvm::any_of(events, [&](const Event& event) {
        return event.kind == Event::Kind::chosen && event.tile == done.tile &&
               is_inside(parsed_.sm, event.where->getBeginLoc(), outer);
      });
      if (changes) return;
      parsed_.error(done.where->getBeginLoc(),
                    "tile_done is called in every turn of a loop for the same tile, and "
                    "kernel.signals says that it counts once; call it behind the loop");
      parsed_.note(outer->getBeginLoc(), "the loop is here");
      return;
    }
  }

  struct MarkCall {
    const clang::CallExpr* call;
    Mark mark;
    const clang::Expr* tile;
  };

  const Parsed& parsed_;
  const Functions& functions_;
  const MarkFacts& facts_;
  Flows flows_;
  const char unknown_ = 0;  // the node of tiles that are passed to unknown functions
  std::vector<const clang::CallExpr*> chosen_;
  std::vector<MarkCall> marks_;
  // Parameters whose tile is stored, and those whose tile is done, by the parameter's function.
  llvm::DenseMap<const clang::ParmVarDecl*, bool> stored_, dones_;
};

}  // namespace

void check_tiles(const Parsed& parsed, const Functions& functions, const MarkFacts& facts) {
  TileCheck(parsed, functions, facts).run();
}

}  // namespace tilepost
