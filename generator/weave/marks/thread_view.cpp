#include <set>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/TypeLoc.h"
#include "generator/weave/marks/calls.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

class Threader {
 public:
  Threader(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces, Edits& edits)
      : parsed_(parsed), request_(request), pieces_(pieces), edits_(edits) {
    for (Reference& reference : find_references(parsed)) {
      const auto offset = parsed.expanded(reference.name->getBeginLoc());
      if (offset && pieces.kept(*offset)) references_.push_back(std::move(reference));
    }
    for (const clang::FunctionDecl* kernel : find_kernels(parsed, request.function)) {
      kernel_ = representative(kernel);
    }
  }

  void run() {
    rewrite_marks();
    if (!check_marks_present()) return;
    spread();
    for (const Reference& reference : references_) pass_on(reference);
    for (const clang::FunctionDecl* function : need_) add_parameter(function);
    add_kernel_parameter();
    check_skipped();
  }

 private:
  void rewrite_marks() {
    for (const Reference& reference : references_) {
      if (reference.mark == Mark::none || reference.mark == Mark::tunable) continue;
      const std::string name = name_of(reference.mark);
      marks_.insert(reference.mark);
      if (!reference.call) {
        parsed_.error(reference.name->getBeginLoc(),
                      "the address of the mark '" + name + "' is taken; call it by name");
        continue;
      }
      const auto tokens = find_call_tokens(parsed_, reference, name);
      if (!tokens || !enter(reference, "the mark '" + name + "'")) continue;
      if (tokens->has_template_arguments) {
        parsed_.error(reference.name->getBeginLoc(),
                      "the mark '" + name +
                          "' takes its types from "
                          "its arguments; leave out the ones in <…>");
        continue;
      }
      edits_.replace(tokens->name_begin, tokens->name_end, "tilepost::woven::" + name);
      insert_view(*tokens, reference);
    }
  }

  // Refuses a kernel that leaves open where it stores, when a tile is finished or, if the plan
  // needs it, where it reads.
  bool check_marks_present() {
    bool complete = true;
    const auto require = [&](bool present, const llvm::Twine& reason) {
      if (!present) refuse_kernel(reason);
      complete = complete && present;
    };
    require(!request_.waits || marks_.count(Mark::input_ready),
            "reaches no tilepost::input_ready: nothing says where it starts to read a tile's rows "
            "of A, which arrive while it runs; call it before the tile's first load");
    const bool by_tma = marks_.count(Mark::out_coord) || marks_.count(Mark::out_place);
    require(marks_.count(Mark::out) || by_tma,
            "reaches no tilepost::out, no tilepost::out_coord and no tilepost::out_place: nothing "
            "says where it stores its output; mark the stores");
    const bool needs_maps = request_.stores && by_tma;
    require(!needs_maps || marks_.count(Mark::out_map),
            "reaches no tilepost::out_map: its TMA stores go to the memory of several ranks, each "
            "with a tensor map of its own; take the map from it");
    require(!needs_maps || marks_.count(Mark::open_out_maps),
            "reaches no tilepost::open_out_maps: the tensor maps it stores with lie in global "
            "memory, of which TMA may remember older ones; call it in each thread that stores, "
            "before its first store");
    check_tasks(require);
    if (request_.exchanges) check_exchange(require);
    if (request_.gathers) check_gathering(require);
    require(marks_.count(Mark::tile_done),
            "reaches no tilepost::tile_done: nothing says when a tile is finished; call it "
            "after the tile's last store");
    return complete;
  }

  // What lets a warp of each CTA work beside the GEMM, and the GEMM read what that moves elsewhere.
  template <class Require>
  void check_tasks(const Require& require) const {
    const bool reads_own = request_.tasks && request_.waits;
    require(!reads_own || marks_.count(Mark::in_map),
            "reaches no tilepost::in_map: this rank's rows of A and those that arrive lie in "
            "different memory, each with a tensor map of its own; take the map from it");
    require(!reads_own || marks_.count(Mark::open_in_map),
            "reaches no tilepost::open_in_map: a tensor map that it loads with lies in global "
            "memory, of which TMA may remember an older one; call it in the thread that loads, "
            "before its first load");
    require(!request_.tasks || marks_.count(Mark::helper_warp),
            "reaches no tilepost::helper_warp: the plan leaves it to a warp of each CTA to add up "
            "or move rows; call it in a warp that has nothing else to do");
  }

  // What lets the kernels of all ranks exchange the parts that their CTAs have of tiles.
  template <class Require>
  void check_exchange(const Require& require) const {
    require(marks_.count(Mark::open_exchange),
            "reaches no tilepost::open_exchange: other ranks may still read what its stores "
            "overwrite; call it in each thread that stores, before its first store");
    require(marks_.count(Mark::num_places) && marks_.count(Mark::out_place),
            "reaches no tilepost::num_places or no tilepost::out_place: its TMA stores go to the "
            "memory of several ranks; store each box once for every place");
    require(marks_.count(Mark::part_stored),
            "reaches no tilepost::part_stored: nothing tells other ranks that its part of a tile "
            "has come; call it after the part's last store");
    require(marks_.count(Mark::exchange_tiles),
            "reaches no tilepost::exchange_tiles: the plan leaves it to warps of each CTA to add "
            "up what other ranks store; call it in warps that have nothing else to do");
  }

  // What lets them exchange rows of A, of which helper warps tell the thread that loads them.
  template <class Require>
  void check_gathering(const Require& require) const {
    require(marks_.count(Mark::open_input),
            "reaches no tilepost::open_input: nothing says where idle warps of each CTA tell which "
            "rows of A have come; call it in one thread, before the first barrier of the CTA");
    require(marks_.count(Mark::in_map),
            "reaches no tilepost::in_map: this rank's rows of A and those that arrive lie in "
            "different memory, each with a tensor map of its own; take the map from it");
    require(marks_.count(Mark::exchange_rows),
            "reaches no tilepost::exchange_rows: the plan leaves it to warps of each CTA to store "
            "rows of A with other ranks; call it in warps that have nothing else to do");
  }

  void refuse_kernel(const llvm::Twine& reason) {
    if (kernel_) {
      parsed_.error(kernel_->getLocation(), "kernel '" + request_.function + "' " + reason);
    }
  }

  // The scope of a reference gets hold of the view: its function needs the parameter, its lambdas
  // capture it. Refuses where that cannot be.
  bool enter(const Reference& reference, const std::string& what) {
    const Scope& scope = reference.scope;
    const clang::SourceLocation where = reference.name->getBeginLoc();
    if (!scope.function) {
      parsed_.error(where, what + " is used outside of a function; move it into the kernel");
      return false;
    }
    if (scope.default_argument) {
      parsed_.error(where, what + " is used in a default argument; pass it at the call");
      return false;
    }
    if (const auto* method = dyn_cast<clang::CXXMethodDecl>(scope.function)) {
      const std::string owner = method->getParent()->getNameAsString();
      parsed_.error(where, what + " is used in a member function of '" + owner +
                               "', where the weaver cannot add a parameter; move it to a free "
                               "function");
      return false;
    }
    if (scope.function->isOverloadedOperator()) {
      parsed_.error(where, what +
                               " is used in an overloaded operator, where the weaver cannot add "
                               "a parameter; move it to a function with a name");
      return false;
    }
    for (const clang::LambdaExpr* lambda : scope.lambdas) capture(lambda);
    need_.insert(representative(scope.function));
    return true;
  }

  void capture(const clang::LambdaExpr* lambda) {
    if (lambda->getCaptureDefault() != clang::LCD_None) return;
    const auto open = parsed_.spelled(lambda->getIntroducerRange().getBegin());
    if (!open) {
      parsed_.error(lambda->getBeginLoc(),
                    "a mark is used in a lambda that a macro pastes "
                    "together; write [&] in the kernel's file");
      return;
    }
    const bool empty = lambda->capture_begin() == lambda->capture_end();
    edits_.insert(*open + 1, empty ? "&view_" : "&view_, ");
  }

  void insert_view(const CallTokens& tokens, const Reference& reference) {
    const Token* first = parsed_.tokens.next(tokens.open);
    const bool empty = first && first->kind == clang::tok::r_paren;
    const bool no_arguments = reference.call->getNumArgs() == 0 ||
                              isa<clang::CXXDefaultArgExpr>(reference.call->getArg(0));
    if (!empty && no_arguments) {
      parsed_.error(reference.name->getBeginLoc(),
                    "a macro supplies an empty argument list here; write '()'");
    }
    edits_.insert(tokens.open->end, empty ? "view_" : "view_, ");
  }

  // Callers of functions that need the view need it too.
  void spread() {
    for (bool grew = true; grew && parsed_.report.ok();) {
      const size_t before = need_.size();
      for (const Reference& reference : references_) {
        if (!names_needing(reference) || representative_of(reference.scope) == kernel_) continue;
        enter(reference, "'" + name_of(reference) + "', which carries a mark,");
      }
      grew = need_.size() > before;
    }
  }

  static const clang::FunctionDecl* representative_of(const Scope& scope) {
    return scope.function && scope.lambdas.empty() ? representative(scope.function) : nullptr;
  }

  static std::string name_of(const Reference& reference) {
    return reference.functions.front()->getNameAsString();
  }
  static const char* name_of(Mark mark) { return tilepost::name_of(mark); }

  bool names_needing(const Reference& reference) const {
    return std::any_of(reference.functions.begin(), reference.functions.end(),
                       [&](const clang::FunctionDecl* function) { return need_.count(function); });
  }

  void pass_on(const Reference& reference) {
    if (!names_needing(reference)) return;
    const std::string name = name_of(reference);
    const clang::SourceLocation where = reference.name->getBeginLoc();
    for (const clang::FunctionDecl* function : reference.functions) {
      if (function == kernel_) {
        parsed_.error(where, "the kernel '" + name +
                                 "' is launched or named by code it reaches "
                                 "itself; that cannot be woven");
        return;
      }
      if (need_.count(function)) continue;
      parsed_.error(where, "'" + name +
                               "' may mean several functions here, and only some of them "
                               "carry marks; give them different names");
      parsed_.note(function->getLocation(), "this one carries none");
      return;
    }
    if (!reference.call) {
      parsed_.error(where, "the address of '" + name +
                               "', which carries a mark, is taken: calls "
                               "through a pointer cannot be given the view; call it by name");
      return;
    }
    if (isa<clang::CXXOperatorCallExpr>(reference.call)) return;  // refused where it is defined
    if (const auto tokens = find_call_tokens(parsed_, reference, name)) {
      insert_view(*tokens, reference);
    }
  }

  // Helpers take the view first: default arguments and packs stay last.
  void add_parameter(const clang::FunctionDecl* function) {
    if (function == kernel_) return;
    for (const clang::FunctionDecl* one : declarations_of(function)) {
      const Token* open = open_of(one);
      if (!open) continue;
      const Token* first = parsed_.tokens.next(open);
      const std::string parameter = "const " + request_.view_type + "& view_";
      if (one->param_empty() && !one->isVariadic()) {
        replace_parameters(open, first, parameter);
      } else {
        edits_.insert(open->end, parameter + ", ");
      }
    }
  }

  // All of one function: redeclarations, and the explicit specialisations of a template.
  static std::vector<const clang::FunctionDecl*> declarations_of(
      const clang::FunctionDecl* function) {
    std::vector<const clang::FunctionDecl*> all(function->redecls_begin(), function->redecls_end());
    if (const auto* pattern = function->getDescribedFunctionTemplate()) {
      all.clear();
      for (const auto* one : pattern->redecls()) {
        all.push_back(clang::cast<clang::FunctionTemplateDecl>(one)->getTemplatedDecl());
      }
      for (const clang::FunctionDecl* special : pattern->specializations()) {
        if (special->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization) continue;
        all.insert(all.end(), special->redecls_begin(), special->redecls_end());
      }
    }
    return all;
  }

  // The ( of its parameters. An implicit declaration has none and needs none.
  const Token* open_of(const clang::FunctionDecl* function) const {
    const clang::FunctionTypeLoc type = function->getFunctionTypeLoc();
    const auto offset = type ? parsed_.spelled(type.getLParenLoc()) : std::nullopt;
    const Token* open = offset ? parsed_.tokens.at(*offset) : nullptr;
    if (!open) {
      parsed_.error(function->getLocation(), "the parameters of '" + function->getName() +
                                                 "' are not written here, so none can be added; "
                                                 "declare it with a parameter list");
    }
    return open;
  }

  // `()` and `(void)`.
  void replace_parameters(const Token* open, const Token* first, const std::string& parameter) {
    const bool is_void = first && parsed_.tokens.text(*first) == "void";
    edits_.replace(open->end, is_void ? first->end : open->end, parameter);
  }

  // The kernel takes it last: what launches it passes the kernel's own arguments first.
  void add_kernel_parameter() {
    const std::string parameter =
        (request_.cuda ? "const __grid_constant__ " : "const ") + request_.view_type + " view_";
    for (const clang::FunctionDecl* one : declarations_of(kernel_)) {
      const Token* open = open_of(one);
      const auto end =
          open ? parsed_.spelled(one->getFunctionTypeLoc().getRParenLoc()) : std::nullopt;
      if (!end) continue;
      if (one->param_empty()) {
        replace_parameters(open, parsed_.tokens.next(open), parameter);
      } else {
        edits_.insert(*end, ", " + parameter);
      }
    }
  }

  // Code that this parse left out must not call what now takes a view.
  void check_skipped() {
    for (const Range skipped : parsed_.skipped) {
      for (const StringRef word : identifiers(parsed_, skipped)) {
        const auto at = static_cast<size_t>(word.data() - parsed_.text.text.data());
        for (const clang::FunctionDecl* function : need_) {
          if (function == kernel_ || !function->getIdentifier() || function->getName() != word ||
              !pieces_.kept(at)) {
            continue;
          }
          parsed_.error_at({at, at + word.size()},
                           "the preprocessor leaves out this use of '" + word +
                               "', which carries a mark, when the kernel is woven; use `if "
                               "constexpr` or move it out of the #if");
        }
      }
    }
  }

  const Parsed& parsed_;
  const WeaveRequest& request_;
  const Pieces& pieces_;
  Edits& edits_;
  std::vector<Reference> references_;  // in what is kept
  const clang::FunctionDecl* kernel_ = nullptr;
  std::set<Mark> marks_;
  llvm::SetVector<const clang::FunctionDecl*> need_;  // in the order found
};

}  // namespace

void thread_view(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                 Edits& edits) {
  Threader(parsed, request, pieces, edits).run();
}

}  // namespace tilepost
