#include "generator/infer/walk/meetings.h"

#include "clang/AST/DeclTemplate.h"
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

// The class of cooperative_groups that a call is about, as the object of a method or as the first
// argument of a free function; or null.
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

// Whether a function of a group only returns information. All others may wait: sync, shfl, reduce,
// wait …
bool only_asks(StringRef name) {
  constexpr StringRef kQuestions[] = {
      "block_index",       "block_rank",      "cluster_rank",     "dim_blocks",  "dim_clusters",
      "dim_threads",       "get_type",        "group_dim",        "group_index", "is_valid",
      "meta_group_rank",   "meta_group_size", "num_blocks",       "num_threads", "size",
      "thread_index",      "thread_rank",     "this_cluster",     "this_grid",   "this_thread",
      "this_thread_block", "tiled_partition", "coalesced_threads"};
  return llvm::is_contained(kQuestions, name);
}

// How many threads a group has, if its type says so; else 0.
int64_t size_of_tile(const clang::CXXRecordDecl* group) {
  const auto* tile = dyn_cast<clang::ClassTemplateSpecializationDecl>(group);
  if (!tile) return 0;
  const clang::TemplateArgument& size = tile->getTemplateArgs()[0];
  return size.getKind() == clang::TemplateArgument::Integral ? size.getAsIntegral().getExtValue()
                                                             : 0;
}

// Whether all threads of a group are in one warp.
bool is_in_warp(const clang::CXXRecordDecl* group) {
  return size_of_tile(group) <= kWarp &&
         (group->getName().contains("tile") || group->getName() == "coalesced_group");
}

// Whether the instruction's last operand names the lanes that wait (PTX ISA). Other instructions,
// such as mma, are for whole warps, and the plain kernel already uses them so.
bool names_lanes(StringRef instruction) {
  return instruction.starts_with("bar.warp") || instruction.starts_with("shfl") ||
         instruction.starts_with("vote") || instruction.starts_with("match") ||
         instruction.starts_with("redux") || instruction.starts_with("elect");
}

}  // namespace

NodeId Meetings::mask_of(const clang::Expr* given) {
  clang::Expr::EvalResult mask;
  if (given->EvaluateAsInt(mask, parsed_.ast)) {
    const llvm::APSInt number = mask.Val.getInt().extOrTrunc(kWarp);
    return nodes_.constant(static_cast<int64_t>(number.getZExtValue()));
  }
  if (given->HasSideEffects(parsed_.ast)) return nodes_.constant(0);
  const Value value = walker_.eval(given);
  return value.root == Root::number ? value.node : nodes_.constant(0);
}

// The mask of the lanes of a group that is a part of a warp, or 0 if the group's type has no such
// size. The size is a power of 2, and the number of the first lane is a multiple of the size.
NodeId Meetings::lanes_of(const clang::CXXRecordDecl* group) {
  const int64_t size = size_of_tile(group);
  if (size <= 0 || size > kWarp) return nodes_.constant(0);
  const NodeId first = nodes_.binary(Op::bit_and, nodes_.lane(), nodes_.constant(-size), kInt64);
  return nodes_.binary(Op::shift_left, nodes_.constant((int64_t{1} << size) - 1), first, kInt64);
}

void Meetings::note(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const StringRef name = function->getName();
  const clang::CXXRecordDecl* const group = group_of(e, function);
  if (group && !only_asks(name)) return meet(e->getExprLoc(), is_in_warp(group), lanes_of(group));
  if (is_of_block(name)) return meet(e->getExprLoc(), /*of_warp=*/false, nodes_.constant(0));
  if (is_of_warp(name))
    meet(e->getExprLoc(), /*of_warp=*/true,
         e->getNumArgs() > 0 ? mask_of(e->getArg(0)) : nodes_.constant(0));
}

// Notes an instruction that waits. `bar.sync 1, 128` waits for 128 threads. Because no tile ends at
// a barrier other than 0, it only matters whether whole warps come. Any other instruction with
// `.sync` in its name waits for lanes of the warp: shfl, vote, mma … `last` is the last operand, if
// that is a number.
void Meetings::note(Where where, StringRef instruction, const std::vector<StringRef>& operands,
                    Value last) {
  const bool of_warp = !instruction.starts_with("bar") || instruction.starts_with("bar.warp");
  if (of_warp) {
    if (instruction.contains(".sync"))
      meet(where, of_warp, names_lanes(instruction) ? last.node : nodes_.constant(0));
    return;
  }
  unsigned number = 0;
  const bool apart = operands.size() > 1 && !operands[0].getAsInteger(10, number) && number > 0;
  if (apart)
    meet(where, /*of_warp=*/true, nodes_.constant(-1));
  else
    meet(where, of_warp, nodes_.constant(0));
}

// Notes a meeting. The proof must know which threads come. So an unknown condition is allowed only
// if it is the same for all threads that wait for each other. `lanes` is the mask of the lanes of
// its warp that a thread waits for here. If `lanes` is 0, a thread waits only for lanes that come.
void Meetings::meet(Where where, bool of_warp, NodeId lanes) {
  Meeting meeting{
      nodes_.constant(1), nodes_.constant(1), frames_.outermost().returned, of_warp, lanes, where};
  const Alike enough = !of_warp ? Alike::block : Alike::warp;
  nodes_.decide(lanes);
  const bool is_for_all = !of_warp || !nodes_.is(lanes, 0);
  std::vector<NodeId> parts = facts_.all();
  while (!parts.empty()) {
    const NodeId id = parts.back();
    const Node part = nodes_[id];
    parts.pop_back();
    if (part.op == Op::both) {
      parts.insert(parts.end(), {part.a, part.b});
    } else if (part.safe || !part.thread) {
      meeting.guard = nodes_.both(meeting.guard, id);
    } else if (is_for_all && nodes_.alike(id) < enough) {
      course_.need_loops_of(id, where);
      if (course_.restarts()) return;
      meeting.unsure = nodes_.both(meeting.unsure, id);
    }
  }
  const bool guarded = is_for_all && nodes_.alike(meeting.guard) < enough;
  if (nodes_.is(meeting.gone, 0) && !guarded && nodes_.is(meeting.unsure, 1)) return;
  log_.note(meeting);
}

}  // namespace tilepost::inference
