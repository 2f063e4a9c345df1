// Where threads of a block wait for each other.
//
// CUDA lets threads leave the kernel while others go on: a barrier is for those that are left (CUDA
// C++ Programming Guide, Synchronization Functions; PTX ISA, bar: "all non-exited threads"). Woven,
// a thread that leaves the body waits at the end of its tile, where it counts at that barrier as if
// it had come to the one in the body. So all threads have to come, or none.
#include "generator/infer/interpreter.h"

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
StringRef group_of(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const clang::CXXRecordDecl* record = nullptr;
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(function))
    record = method->getParent();
  else if (e->getNumArgs() > 0)
    record = e->getArg(0)->getType().getNonReferenceType()->getAsCXXRecordDecl();
  const bool is_group =
      record && record->getIdentifier() &&
      StringRef(record->getQualifiedNameAsString()).starts_with("cooperative_groups::");
  return is_group ? record->getName() : "";
}

}  // namespace

void Interpreter::note_meeting(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const StringRef name = function->getName(), group = group_of(e, function);
  const bool group_waits = name == "sync" || name.starts_with("barrier_") ||
                           name.starts_with("shfl") || name == "any" || name == "all" ||
                           name == "ballot";
  const bool of_group = !group.empty() && group_waits;
  const bool of_warp =
      of_group ? group.contains("tile") || group == "coalesced_group" : is_of_warp(name);
  if (of_group || of_warp || is_of_block(name)) meet(e->getExprLoc(), of_warp);
}

// `bar.sync 1, 128` is for as many threads as it says, at a barrier where no tile ends.
void Interpreter::note_meeting(Where where, StringRef instruction,
                               const std::vector<StringRef>& operands) {
  if (!instruction.starts_with("bar.") && !instruction.starts_with("barrier.")) return;
  unsigned number = 0;
  const bool apart = operands.size() > 1 && !operands[0].getAsInteger(10, number) && number > 0;
  if (!apart) meet(where, /*of_warp=*/instruction.starts_with("bar.warp"));
}

void Interpreter::meet(Where where, bool of_warp) {
  const Meeting meeting{facts_since(0), frames_.front().returned, of_warp, where};
  const bool all_come = nodes.is(meeting.gone, 0) && (of_warp || !nodes[meeting.guard].thread);
  if (all_come) return;
  const auto same = [&](const Meeting& other) {
    return other.guard == meeting.guard && other.gone == meeting.gone && other.of_warp == of_warp;
  };
  if (std::ranges::none_of(findings.meetings, same)) findings.meetings.push_back(meeting);
}

}  // namespace tilepost::inference
