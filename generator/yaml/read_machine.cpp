#include "generator/yaml/read_machine.h"

#include "generator/plan/machine/text.h"
#include "generator/yaml/document.h"
#include "generator/yaml/guard.h"

namespace tilepost {

std::optional<MachineProfile> read_machine_text(llvm::StringRef name, llvm::StringRef text,
                                                Diagnostics& diagnostics) {
  const std::string_view source = diagnostics.add_source(name, text);
  if (!guard_file(source, diagnostics, kMachineFile)) return std::nullopt;
  const std::optional<Value> root = parse_document(source, diagnostics);
  if (!root) return std::nullopt;
  return read_machine(*root, diagnostics);
}

}  // namespace tilepost
