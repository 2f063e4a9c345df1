#include "generator/infer/state/output.h"

#include "clang/Lex/Lexer.h"
#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

// If it is unknown whether a thread gets here, the read counts for that thread.
void Output::read(Value from, int64_t width, Where where, bool by_warp) {
  course_.need_loops_of(from.node);
  if (course_.restarts()) return;
  log_.note(false,
            {from.node, facts_.since(0), width, 1, 0, by_warp, frames_.in_source(where), {}, {}});
}

void Output::read_somewhere(Where where) {
  course_.complain(where, "the output may be read here, and which of its elements cannot be seen",
                   where,
                   "a kernel may read what its block stores: with an assignment, or WMMA's "
                   "load_matrix_sync");
}

void Output::store(Value to, int64_t width, Where where, bool by_warp, Type number) {
  if (where.isMacroID() &&
      clang::Lexer::getImmediateMacroName(where, parsed_.sm, parsed_.ast.getLangOpts()) == "assert")
    return course_.complain(where, "this store is in an assert, which -DNDEBUG leaves out", where,
                            "store in front of the assert");
  for (const Passed& passed : open_loops_.passed()) {
    if (course_.was_tried(passed.loop)) {
      return course_.complain(
          where, "this store is in a loop whose turns cannot be counted", where,
          "its bounds must follow from numbers of the launch, the block's index and "
          "the thread's; or mark the kernel: tilepost::tile, out_base and tile_done");
    }
    course_.need(passed.loop);
  }
  const NodeId guard = facts_.since(0);
  course_.need_loops_of(to.node);
  course_.need_loops_of(guard);
  if (course_.restarts()) return;
  if (nodes_[to.node].lost) {
    return course_.complain(
        where, "where this store goes depends on " + std::string(explain(nodes_, to.node)), where,
        "addresses must follow from numbers of the launch, the block's index and the "
        "thread's");
  }
  Access store{to.node, guard, width, 1, 0, by_warp, frames_.in_source(where), number, {}};
  if (const clang::Stmt* loop = open_loops_.outermost_unrolled()) store.loop = loop->getBeginLoc();
  log_.note(true, store);
}

// PTX ISA, ld.global.nc: a read of memory that the kernel itself writes may give the old contents.
void Output::refuse_stale(Where where) {
  course_.complain(
      where, "the output is read as memory that the kernel does not change, and it stores there",
      where, "read it with an assignment");
}

}  // namespace tilepost::inference
