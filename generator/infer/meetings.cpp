// Where threads of a block wait for each other.
//
// CUDA lets threads leave the kernel while others go on: a barrier is for those that are left (CUDA
// C++ Programming Guide, Synchronization Functions; PTX ISA, bar: "all non-exited threads"). Where
// whole warps may be missing the woven kernel's threads end one by one (Inferred::leaves): one that
// waited at the end of its tile would count as if it had come to the barrier in the body. Lanes of
// a warp have to come together, or none.
#include "clang/AST/DeclTemplate.h"
#include "generator/infer/interpreter.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost::inference {

using clang::dyn_cast;
using llvm::StringRef;

namespace {

bool is_of_warp(StringRef name) {
  return name == "__syncwarp" ||
         (name.ends_with("_sync") && (name.starts_with("__shfl") || name.starts_with("__any") ||
                                      name.starts_with("__all") || name.starts_with("__ballot") ||
                                      name.starts_with("__match") || name.starts_with("__reduce")));
}

bool is_of_block(StringRef name) {
  return name.starts_with("__syncthreads") || name.starts_with("__nvvm_bar") ||
         name.starts_with("__barrier_sync");
}

// The class of cooperative_groups that waits, by a method or as an argument of a free function.
const clang::CXXRecordDecl* group_of(const clang::CallExpr* e,
                                     const clang::FunctionDecl* function) {
  const clang::CXXRecordDecl* record = nullptr;
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(function))
    record = method->getParent();
  else if (e->getNumArgs() > 0)
    record = e->getArg(0)->getType().getNonReferenceType()->getAsCXXRecordDecl();
  const bool is_group =
      record && record->getIdentifier() &&
      StringRef(record->getQualifiedNameAsString()).starts_with("cooperative_groups::");
  return is_group ? record : nullptr;
}

// What a group only tells of itself. Everything else of it may wait: sync, shfl, reduce, wait …
bool only_asks(StringRef name) {
  constexpr StringRef kQuestions[] = {
      "block_index",       "block_rank",      "cluster_rank",     "dim_blocks",  "dim_clusters",
      "dim_threads",       "get_type",        "group_dim",        "group_index", "is_valid",
      "meta_group_rank",   "meta_group_size", "num_blocks",       "num_threads", "size",
      "thread_index",      "thread_rank",     "this_cluster",     "this_grid",   "this_thread",
      "this_thread_block", "tiled_partition", "coalesced_threads"};
  return llvm::is_contained(kQuestions, name);
}

// Whether all threads of such a group are of one warp.
bool is_in_warp(const clang::CXXRecordDecl* group) {
  if (const auto* tile = dyn_cast<clang::ClassTemplateSpecializationDecl>(group)) {
    const clang::TemplateArgument& size = tile->getTemplateArgs()[0];
    if (size.getKind() == clang::TemplateArgument::Integral && size.getAsIntegral() > 32)
      return false;
  }
  return group->getName().contains("tile") || group->getName() == "coalesced_group";
}

}  // namespace

void Interpreter::note_meeting(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const StringRef name = function->getName();
  const clang::CXXRecordDecl* const group = group_of(e, function);
  const bool of_group = group && !only_asks(name);
  const bool of_warp = of_group ? is_in_warp(group) : is_of_warp(name);
  if (of_group || of_warp || is_of_block(name)) meet(e->getExprLoc(), of_warp);
}

// `bar.sync 1, 128` is for as many threads as it says, at a barrier where no tile ends. What else
// has `.sync` in its name waits for lanes of the warp: shfl, vote, mma …
void Interpreter::note_meeting(Where where, StringRef instruction,
                               const std::vector<StringRef>& operands) {
  if (!instruction.starts_with("bar.") && !instruction.starts_with("barrier.")) {
    if (instruction.contains(".sync")) meet(where, /*of_warp=*/true);
    return;
  }
  unsigned number = 0;
  const bool apart = operands.size() > 1 && !operands[0].getAsInteger(10, number) && number > 0;
  if (!apart) meet(where, /*of_warp=*/instruction.starts_with("bar.warp"));
}

// What is not known is the same for all threads of the block, or of no use here: who of them comes
// has to be seen.
void Interpreter::meet(Where where, bool of_warp) {
  Meeting meeting{nodes.constant(1), nodes.constant(1), frames_.front().returned, of_warp, where};
  std::vector<NodeId> parts = facts_;
  while (!parts.empty()) {
    const Node& part = nodes[parts.back()];
    const NodeId id = parts.back();
    parts.pop_back();
    if (part.op == Op::both) {
      parts.insert(parts.end(), {part.a, part.b});
    } else if (part.safe || !part.thread) {
      meeting.guard = nodes.both(meeting.guard, id);
    } else if (!of_warp) {
      need_loops_of(id);
      if (restart_) return;
      meeting.unsure = nodes.both(meeting.unsure, id);
    }
  }
  const bool all_come = nodes.is(meeting.gone, 0) &&
                        (of_warp || (!nodes[meeting.guard].thread && nodes.is(meeting.unsure, 1)));
  if (all_come) return;
  const auto same = [&](const Meeting& other) {
    return other.guard == meeting.guard && other.unsure == meeting.unsure &&
           other.gone == meeting.gone && other.of_warp == of_warp;
  };
  if (std::ranges::none_of(findings.meetings, same)) findings.meetings.push_back(meeting);
}

}  // namespace tilepost::inference
