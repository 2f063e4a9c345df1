// The calls of a source: which function calls which, and where. The weaver needs them to fold
// tunables and to hand the view down.
#pragma once

#include <optional>
#include <vector>

#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "generator/clang/parser.h"

namespace tilepost {

// The marks of tilepost/mark.cuh.
enum class Mark {
  none,
  tunable,
  experts,
  num_tiles,
  tile,
  out,
  out_base,
  out_coord,
  out_map,
  open_out_maps,
  num_sources,
  begin_sources,
  end_sources,
  num_pushes,
  push_map,
  stores_done,
  await_source,
  source_map,
  pace,
  in_map,
  open_in_map,
  input_ready,
  input_has_come,
  open_input,
  helper_warp,
  finish_tasks,
  open_exchange,
  num_places,
  out_place,
  part_stored,
  exchange_tiles,
  finish_exchange,
  exchange_rows,
  tile_done,
  in_scales
};

// The mark as it is spelled in sources: "tile_done".
const char* name_of(Mark mark);
// The mark that a declaration stands for, or none. It may be a using-declaration or a template.
Mark mark_of(const clang::NamedDecl* decl);
// The mark of that name, or none.
Mark mark_named(llvm::StringRef name);

// The function that stands for all of its redeclarations, instantiations and specialisations, which
// share one parameter list.
const clang::FunctionDecl* representative(const clang::FunctionDecl* function);

// Where in the source an expression stands.
struct Scope {
  const clang::FunctionDecl* function = nullptr;  // null at namespace scope
  std::vector<const clang::LambdaExpr*> lambdas;  // from the function inwards
  bool default_argument = false;
};

// A use of the name of a function or a mark, in a call or not, or a use of blockIdx or gridDim.
struct Reference {
  // DeclRefExpr or MemberExpr, in a template perhaps UnresolvedLookupExpr or UnresolvedMemberExpr.
  const clang::Expr* name = nullptr;
  const clang::CallExpr* call = nullptr;              // null if the name is not called
  std::vector<const clang::FunctionDecl*> functions;  // representatives of those it may name
  Mark mark = Mark::none;
  bool place = false;  // whether the name is CUDA's blockIdx or gridDim
  Scope scope;
};

// Every reference from the main file's code, including its instantiations. If a template calls a
// member of an object whose type depends on the template's arguments, only the instantiations show
// which function is called.
std::vector<Reference> find_references(const Parsed& parsed);

// The tokens of a call. `open` is the ( of its arguments.
struct CallTokens {
  size_t name_begin, name_end;  // the qualified name, template arguments not included
  const Token* open;
  bool has_template_arguments;
};

// Finds the tokens that spell a call of `what`. Refuses a call whose tokens macros take from
// several places.
std::optional<CallTokens> find_call_tokens(const Parsed& parsed, const Reference& reference,
                                           llvm::StringRef what);

}  // namespace tilepost
