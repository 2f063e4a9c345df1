#include "generator/yaml/read_tuning.h"

#include "generator/plan/tuning/text.h"
#include "generator/yaml/document.h"
#include "generator/yaml/guard.h"

namespace tilepost {

std::optional<std::vector<TuningEntry>> read_tuning_text(llvm::StringRef name, llvm::StringRef text,
                                                         Diagnostics& diagnostics) {
  const std::string_view source = diagnostics.add_source(name, text);
  if (!guard_file(source, diagnostics, kTuningFile)) return std::nullopt;
  const std::optional<Value> root = parse_document(source, diagnostics);
  if (!root) return std::nullopt;
  return read_tuning(*root, diagnostics);
}

}  // namespace tilepost
