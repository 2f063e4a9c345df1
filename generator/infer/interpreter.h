// Runs a kernel's body once, for every thread of every block at once.
//
// Values are nodes: expressions of the thread's and the block's index. The conditions that hold at
// a statement are the *facts*. In a branch that not all threads take, an assignment becomes a
// choice between the new and the old value, by the facts. A loop is *passed over*: what it assigns
// is unknown afterwards. A loop is unrolled only if that is not enough, because it stores into the
// output or a store depends on what it assigns. Then the kernel is run again from the start
// (Proof::run). This keeps the interpreted part small even if main loops are long.
//
// Code that is not understood is refused if it could store into global memory. Otherwise its result
// is unknown.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "generator/infer/footprint.h"
#include "generator/infer/hidden_stores.h"
#include "generator/infer/infer.h"
#include "generator/infer/values/memory.h"
#include "generator/infer/values/nodes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost::inference {

// Limits, so that kernels that cannot be enumerated end with a clear refusal, which names the
// limit.
constexpr int kMaxSteps = 4'000'000;      // statements and expressions
constexpr int kMaxSharedSteps = 400'000;  // the same if blocks may share their work
constexpr size_t kMaxNodes = 2'000'000;   // values
constexpr size_t kMaxStores = 100'000;    // of each thread; the same for reads of the output
constexpr int kMaxTurns = 20'000;         // of one loop that is unrolled
constexpr int kMaxMeetingTurns = 2'000;   // … if threads meet in the loop: each turn adds work
constexpr size_t kMaxCalls = 48;          // the depth of calls

// What one run of a kernel passes on to the next.
struct Unrolling {
  std::set<const clang::Stmt*> loops;  // the loops to unroll
  std::set<const clang::Stmt*> tried;  // those that could not be unrolled
  // A place where blocks may share work, if they ever get there. A kernel that takes long to follow
  // is refused with this as the reason.
  std::optional<SharedWork> shared_work;
  // For loops that are unrolled to see which threads meet: where they meet.
  std::map<const clang::Stmt*, clang::SourceLocation> meetings;
};

// What a run finds.
struct Findings : Doings {
  std::vector<Complaint> complaints;
  std::optional<InferredPlace> runs_once;
};

class Interpreter {
 public:
  // `terms` is for a launch whose m is bounded, and notes what the kernel decides by m; else null.
  Interpreter(const Parsed& parsed, const KernelFacts& facts, Unrolling& unrolling,
              Terms* terms = nullptr);

  // Runs the kernel. Returns false if it must be run again, with more loops unrolled.
  bool run(const clang::FunctionDecl* kernel);

  Findings findings;
  Nodes nodes;

 private:
  using Where = clang::SourceLocation;
  using Type = clang::QualType;

  // The places of a lambda's captures; `this` is under null.
  using Captures = std::map<const clang::ValueDecl*, Value>;

  // A call that is being run.
  struct Frame {
    const clang::FunctionDecl* function = nullptr;
    uint32_t id = 0;   // the same whenever the call is the same
    size_t facts = 0;  // how many facts held at its start
    Value self;        // `this`
    Where site;        // of the call
    uint32_t result_object = 0;
    Value result;
    bool has_result = false;
    NodeId returned = 0;                 // under which condition it has returned
    NodeId broken = 0;                   // … it has left the innermost loop or switch
    NodeId continued = 0;                // … it has left the loop's turn
    const Captures* captures = nullptr;  // of a lambda
  };
  // A part of a variable that a loop assigns.
  struct Target {
    int64_t size = 0;
    bool known = false;          // `value` says what it points into
    bool astray = false;         // a pointer that may come to point into something else
    Alike alike = Alike::block;  // which threads have the same value
    Value value;
  };
  // A loop that is being passed over: what was stored to variables in it.
  struct Passed {
    const clang::Stmt* loop;
    std::map<std::pair<uint32_t, int64_t>, Target> cells;  // by object and offset
    std::set<uint32_t> objects;                            // those stored to at an unknown place
    Alike alike = Alike::block;                            // which threads take equally many turns
  };

  // interpreter.cpp: the start, facts, complaints
  void bind_parameters(const clang::FunctionDecl* kernel);
  void complain(Where where, const std::string& text, Where note_at = {},
                const std::string& note = "");
  // For a place in a header, the call in the source that leads there.
  Where in_source(Where where) const;
  bool stopped() const { return restart_ || !findings.complaints.empty(); }
  bool step(Where where);
  NodeId unknown(const std::string& text, Where where, Alike alike = Alike::none);
  Value unknown_value(Type type, const std::string& text, Where where, Alike alike = Alike::none);
  Alike alike(Value a, Value b) const { return std::min(nodes.alike(a.node), nodes.alike(b.node)); }
  std::string explain(NodeId lost) const;
  void push_fact(NodeId condition);
  void pop_facts(size_t size);
  NodeId facts_since(size_t first);
  NodeId assume(NodeId node, int depth = 0);
  NodeId assume_anew(NodeId node, int depth);
  NodeId gone();
  void need_loops_of(NodeId node, Where meeting = {});
  const void* loop_of(NodeId node) const;
  NodeId given(int64_t value, const std::string& name);
  int64_t place(Value pointer);
  void run_once(Where where, const std::string& what);

  // access.cpp: variables and memory
  uint32_t object_of(const clang::ValueDecl* variable);
  uint32_t temporary(const clang::Expr* maker, const std::string& name);
  Value pointer_to(uint32_t object) const { return {Root::object, object, 0}; }
  Value moved(Value pointer, NodeId bytes);
  Value load(Value from, Type type, Where where);
  void store(Value to, Value value, Type type, Where where);
  void store_output(Value to, int64_t width, Where where, bool by_warp = false);
  bool follows_null(Value pointer, const char* what, Where where);
  Value number_if_null(Value value);
  void store_variable(Value to, Value value, Type type, Where where);
  void copy_record(Value to, Value from, int64_t size, Where where);
  void forget(Value pointer);
  void read_output(Value from, int64_t width, Where where, bool by_warp = false);
  void read_somewhere(Where where);
  void note_access(bool stores, Access access);
  Value choose(NodeId condition, Value a, Value b, Where where);
  bool carries_output(Value value, Type type) const;
  int64_t size_of(Type type) const;
  IntType int_type(Type type) const;
  std::string name_of(Value pointer) const;

  // expressions.cpp, arithmetic.cpp
  Value eval(const clang::Expr* e);
  Value eval_plain(const clang::Expr* e);
  Value address(const clang::Expr* e);
  void discard(const clang::Expr* e);
  void run_operands(const clang::Expr* e);
  Value eval_cast(const clang::CastExpr* e);
  Value cast_class(const clang::CastExpr* e, Type derived, int direction);
  Value eval_unary(const clang::UnaryOperator* e);
  Value eval_binary(const clang::BinaryOperator* e);
  Value choose_between(const clang::AbstractConditionalOperator* e,
                       llvm::function_ref<Value(const clang::Expr*)> run);
  Value bit_cast(const clang::CastExpr* e);
  Value load_from(const clang::Expr* place);
  Value logical(const clang::BinaryOperator* e);
  Value assign(const clang::BinaryOperator* e);
  Value arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type type, Type left,
                   Type right, Where where);
  void refuse_number(Where where);
  Value compare(clang::BinaryOperatorKind kind, Value a, Value b, Type operands, Where where);
  Value pointer_arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type left, Type right,
                           Where where);
  Value bump(const clang::UnaryOperator* e);
  Value builtin_variable(const clang::ValueDecl* variable, bool& found);
  NodeId condition(const clang::Expr* e);
  bool fold(const clang::Expr* e, Value& value);
  std::string key_of(Value value) const;

  // keys.cpp
  bool holds_all(Type type, Type of) const;
  bool is_exact(Value value, Type of, Type real) const;
  Value read_as(Value value, Type type, Where where);

  // plain_char.cpp
  bool hangs_on_char(const clang::Expr* e);
  Value without_sign(Value value, Type type, Where where);

  // statements.cpp
  void exec(const clang::Stmt* s);
  void refuse_statement(const clang::Stmt* s);
  void exec_compound(const clang::CompoundStmt* s);
  void exec_declaration(const clang::DeclStmt* s);
  void exec_if(const clang::IfStmt* s);
  void exec_return(const clang::ReturnStmt* s);
  void exec_switch(const clang::SwitchStmt* s);
  void exec_under(NodeId condition, const clang::Stmt* s);
  void declare(const clang::VarDecl* variable);
  void initialise(Value target, Type type, const clang::Expr* init);

  // loops.cpp
  struct Loop {
    const clang::Stmt* statement;
    const clang::Stmt* condition_variable;
    const clang::Expr* condition;
    const clang::Expr* step;
    const clang::Stmt* before;  // at the start of each turn
    const clang::Stmt* body;
    bool body_first;
  };
  void exec_loop(const Loop& loop);
  bool unroll(const Loop& loop);
  void pass_over(const Loop& loop);
  void turn(const Loop& loop);
  void widen(const Passed& assigned);
  bool learn(Passed& assigned, const Passed& seen, const Memory& start);
  NodeId carried(const clang::Stmt* loop, const std::string& text, Alike alike = Alike::none);
  void note_store(uint32_t object, std::optional<int64_t> offset, int64_t size);

  // calls.cpp
  Value call(const clang::CallExpr* e);
  bool drops_effects(const clang::CallExpr* e, const clang::FunctionDecl* function);
  const clang::FunctionDecl* called_by(const clang::CallExpr* e,
                                       const clang::FunctionDecl* function);
  Value inline_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                    const std::vector<Value>& arguments);
  Value opaque_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value self,
                    const std::vector<Value>& arguments);
  void hand_over(const std::string& name, Value value, Type type, Type declared, Where where);
  void construct(Value target, const clang::CXXConstructExpr* e);
  void construct_base(Value target, const clang::CXXInheritedCtorInitExpr* e);
  void run_constructor(Value target, const clang::CXXConstructorDecl* constructor,
                       const std::vector<Value>& arguments, bool carries, const clang::Expr* e);
  void initialise_parts(Value target, const clang::CXXConstructorDecl* constructor, Where where);
  void destroy_later(const clang::CXXRecordDecl* record, Where where);
  void enter(const clang::FunctionDecl* function, const void* site, Value self);
  void leave();
  void bind(const clang::ParmVarDecl* parameter, Value value, Where where);
  bool is_foreign(const clang::FunctionDecl* function) const;
  bool is_foreign(Where declared) const;
  const clang::FunctionDecl* called_back(const clang::FunctionDecl* function);
  bool refused_callback(Where where, const clang::FunctionDecl* function);
  bool has_user_type(Type type, int depth = 0) const;
  bool has_user_type(llvm::ArrayRef<clang::TemplateArgument> arguments, int depth = 0) const;
  bool acts_for_user(const clang::FunctionDecl* function) const;

  // lambdas.cpp
  Value make_lambda(const clang::LambdaExpr* e);
  void open_lambda(Value self, Where where);

  // intrinsics.cpp: functions known by name
  bool known_call(const clang::CallExpr* e, const clang::FunctionDecl* function, Value& result);
  bool refused_call(const clang::CallExpr* e, const clang::FunctionDecl* function);
  void refuse_stale(Where where);
  void move_matrix(const clang::CallExpr* e, bool stores);

  // meetings.cpp
  void note_meeting(const clang::CallExpr* e, const clang::FunctionDecl* function);
  void note_meeting(Where where, llvm::StringRef instruction,
                    const std::vector<llvm::StringRef>& operands, Value last);
  void meet(Where where, bool of_warp, NodeId lanes);
  NodeId mask_of(const clang::Expr* given);
  NodeId lanes_of(const clang::CXXRecordDecl* group);

  // assembly.cpp
  struct Assembly;
  void exec_asm(const clang::GCCAsmStmt* s);
  void exec_instructions(Assembly& assembly, llvm::StringRef text);
  void meet_under(Assembly& assembly, llvm::StringRef name,
                  const std::vector<llvm::StringRef>& operands, NodeId guard);
  void exec_harmless(Assembly& assembly, llvm::StringRef name,
                     const std::vector<llvm::StringRef>& operands, bool predicated);
  void exec_store(Assembly& assembly, llvm::StringRef name, llvm::StringRef target, NodeId guard);
  void note_one_shot(Assembly& assembly, llvm::StringRef name, llvm::StringRef operand);

  const Parsed& parsed_;
  const KernelFacts& launch_;
  Unrolling& unrolling_;
  Terms* terms_;
  Memory memory_;
  std::vector<Frame> frames_;
  std::vector<NodeId> facts_;
  std::map<NodeId, int> known_;  // the facts, and the parts of conjunctions among them
  std::unordered_map<NodeId, NodeId> assumed_;  // nodes, simplified by the present facts
  std::vector<Passed> passed_;
  std::vector<const clang::Stmt*> unrolled_;  // the unrolled loops around the current statement
  std::map<std::pair<uint32_t, const void*>, uint32_t> frame_ids_;
  std::map<std::pair<uint32_t, const void*>, uint32_t> variables_;  // frame, declaration -> object
  std::map<const clang::Stmt*, Passed> assigned_;                   // by loops, as far as known
  std::deque<Captures> captures_;
  HiddenStores hidden_stores_;
  std::map<std::string, Value> builtins_;
  const clang::ParmVarDecl* out_ = nullptr;
  bool restart_ = false;
  bool output_as_number_ = false;  // unknown values may hold its address
  bool in_destructor_ = false;
  bool trial_ = false;            // complaints of this turn are not yet certain
  bool trial_complaint_ = false;  // there was such a complaint
  clang::SourceLocation pending_copies_;
  std::unordered_map<const clang::Expr*, bool> hangs_on_char_;    // answers so far
  std::set<std::tuple<bool, NodeId, NodeId, int64_t>> accesses_;  // those in the findings
  int steps_ = 0;
};

}  // namespace tilepost::inference
