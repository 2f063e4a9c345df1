// Inline PTX: which instructions a kernel may have, and what they store.
//
// An instruction is recognised by the beginning of its name. An unknown instruction is refused.
#pragma once

#include <vector>

#include "generator/infer/state/storage.h"
#include "generator/infer/walk/meetings.h"
#include "generator/infer/walk/walker.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost::inference {

class InlineAssembly {
 public:
  InlineAssembly(State& state, Storage& storage, Meetings& meetings, Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        facts_(state.facts),
        forks_(state.forks),
        course_(state.course),
        log_(state.log),
        storage_(storage),
        output_(storage.output()),
        meetings_(meetings),
        walker_(walker) {}

  void exec(const clang::GCCAsmStmt* s);

 private:
  struct Assembly;
  void exec_instructions(Assembly& assembly, llvm::StringRef text);
  void meet_under(Assembly& assembly, llvm::StringRef name,
                  const std::vector<llvm::StringRef>& operands, NodeId guard);
  void exec_harmless(Assembly& assembly, llvm::StringRef name,
                     const std::vector<llvm::StringRef>& operands, bool predicated);
  void exec_store(Assembly& assembly, llvm::StringRef name, llvm::StringRef target, NodeId guard);
  void note_one_shot(Assembly& assembly, llvm::StringRef name, llvm::StringRef operand);

  const Parsed& parsed_;
  Nodes& nodes_;
  Facts& facts_;
  const Forks& forks_;
  Course& course_;
  AccessLog& log_;
  Storage& storage_;
  Output& output_;
  Meetings& meetings_;
  Walker& walker_;
};

}  // namespace tilepost::inference
