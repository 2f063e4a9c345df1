// For what is tried and may fail.
#pragma once

#include "generator/diagnostics.h"

namespace tilepost {

// Counts errors and says nothing.
class SilentDiagnostics : public Diagnostics {
 public:
  std::string_view add_source(std::string_view, std::string_view text) override { return text; }

 private:
  void show(Severity, Place, std::string_view) override {}
};

}  // namespace tilepost
