#include <set>

#include "clang/AST/TypeLoc.h"
#include "generator/weave/marks/hand_down.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

class Threader {
 public:
  Threader(const Parsed& parsed, const WeaveRequest& request, const clang::FunctionDecl* kernel,
           const Pieces& pieces, Edits& edits)
      : parsed_(parsed),
        request_(request),
        pieces_(pieces),
        edits_(edits),
        references_(kept_references(parsed, pieces)),
        kernel_(representative(kernel)) {}

  void run() {
    const Handed view = {"const " + request_.view_type + "& view_", "view_", "&view_",
                         "carries a mark"};
    HandDown hand_down(parsed_, pieces_, references_, kernel_, view, edits_);
    rewrite_marks(hand_down);
    if (!check_marks_present()) return;
    hand_down.run();
    add_kernel_parameter();
  }

 private:
  void rewrite_marks(HandDown& hand_down) {
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
      if (!tokens || !hand_down.enter(reference, "the mark '" + name + "'")) continue;
      if (tokens->has_template_arguments) {
        parsed_.error(reference.name->getBeginLoc(),
                      "the mark '" + name +
                          "' takes its types from "
                          "its arguments; leave out the ones in <…>");
        continue;
      }
      edits_.replace(tokens->name_begin, tokens->name_end, "tilepost::woven::" + name);
      hand_down.pass_to(*tokens, reference);
    }
  }

  // Refuses a kernel without the marks that say where it stores, when a tile is finished and, if
  // the plan needs it, where it reads.
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
    require(marks_.count(Mark::out) || marks_.count(Mark::out_base) || by_tma,
            "reaches no tilepost::out, no tilepost::out_base, no tilepost::out_coord and no "
            "tilepost::out_place: nothing says where it stores its output; mark the stores");
    const bool needs_maps = request_.stores && by_tma;
    require(!needs_maps || marks_.count(Mark::out_map),
            "reaches no tilepost::out_map: its TMA stores go to the memory of several ranks, each "
            "with a tensor map of its own; take the map from it");
    require(!needs_maps || marks_.count(Mark::open_out_maps),
            "reaches no tilepost::open_out_maps: the tensor maps it stores with lie in global "
            "memory, of which TMA may remember older ones; call it in each thread that stores, "
            "before its first store");
    check_tasks(require);
    check_sources(require);
    check_own_rows(require);
    if (request_.exchanges_parts) check_exchange(require);
    if (request_.gathers) check_gathering(require);
    require(marks_.count(Mark::tile_done),
            "reaches no tilepost::tile_done: nothing says when a tile is finished; call it "
            "after the tile's last store");
    return complete;
  }

  // Requires the mark by which a warp of each CTA works beside the GEMM.
  template <class Require>
  void check_tasks(const Require& require) const {
    require(!request_.tasks || marks_.count(Mark::helper_warp),
            "reaches no tilepost::helper_warp: the plan leaves it to a warp of each CTA to add up "
            "or move rows; call it in a warp that has nothing else to do");
  }

  // Requires the marks by which the kernel begins runs, adds other ranks' parts of its tiles, and
  // stores tiles in other ranks' outputs.
  template <class Require>
  void check_sources(const Require& require) const {
    require(
        !request_.fused || (marks_.count(Mark::begin_sources) && marks_.count(Mark::end_sources)),
        "reaches no tilepost::begin_sources or end_sources: the plan has a warp of each CTA "
        "begin and end its runs; mark where it does");
    const bool all = marks_.count(Mark::num_sources) && marks_.count(Mark::await_source) &&
                     marks_.count(Mark::source_map);
    require(!request_.sources || all,
            "reaches no tilepost::num_sources, await_source or source_map: the plan has it add "
            "other ranks' tiles to its own; mark where it does");
    const bool pushes = marks_.count(Mark::num_pushes) && marks_.count(Mark::push_map) &&
                        marks_.count(Mark::stores_done);
    require(!request_.spreads || pushes,
            "reaches no tilepost::num_pushes, push_map or stores_done: the plan has it store "
            "finished tiles with other ranks; mark where it does");
  }

  // Requires the marks by which the kernel reads rows of A in two places. A kernel that copies rows
  // of tokens has both addresses from tilepost::experts.
  template <class Require>
  void check_own_rows(const Require& require) const {
    if (request_.reads_own && marks_.count(Mark::experts)) return;
    require(!request_.reads_own || marks_.count(Mark::in_map),
            "reaches no tilepost::in_map: this rank's rows of A and those that arrive lie in "
            "different memory, each with a tensor map of its own; take the map from it");
    require(!request_.reads_own || marks_.count(Mark::open_in_map),
            "reaches no tilepost::open_in_map: a tensor map that it loads with lies in global "
            "memory, of which TMA may remember an older one; call it in the thread that loads, "
            "before its first load");
  }

  // Requires the marks by which the kernels of all ranks exchange parts of tiles.
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

  // Requires the marks by which the kernels of all ranks exchange rows of A. Helper warps signal to
  // the thread that loads A which rows have arrived.
  template <class Require>
  void check_gathering(const Require& require) const {
    require(!request_.cuda || marks_.count(Mark::open_input),
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
    parsed_.error(kernel_->getLocation(), "kernel '" + request_.function + "' " + reason);
  }

  // The view is the kernel's last parameter, because launches pass the kernel's own arguments
  // first.
  void add_kernel_parameter() {
    const std::string parameter =
        (request_.cuda ? "const __grid_constant__ " : "const ") + request_.view_type + " view_";
    for (const clang::FunctionDecl* one : declarations_of(kernel_)) {
      const Token* open = open_of(parsed_, one);
      const auto end =
          open ? parsed_.spelled(one->getFunctionTypeLoc().getRParenLoc()) : std::nullopt;
      if (!end) continue;
      if (one->param_empty()) {
        set_only_parameter(parsed_, open, parameter, edits_);
      } else {
        edits_.insert(*end, ", " + parameter);
      }
    }
  }

  const Parsed& parsed_;
  const WeaveRequest& request_;
  const Pieces& pieces_;
  Edits& edits_;
  const std::vector<Reference> references_;  // in the pieces that are kept
  const clang::FunctionDecl* const kernel_;
  std::set<Mark> marks_;
};

}  // namespace

void thread_view(const Parsed& parsed, const WeaveRequest& request,
                 const clang::FunctionDecl* kernel, const Pieces& pieces, Edits& edits) {
  Threader(parsed, request, kernel, pieces, edits).run();
}

}  // namespace tilepost
