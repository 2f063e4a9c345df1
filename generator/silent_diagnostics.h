// Diagnostics for attempts that may fail without a message.
#pragma once

#include "generator/diagnostics.h"

namespace tilepost {

// Counts errors and shows nothing.
class SilentDiagnostics : public Diagnostics {
 public:
  std::string_view add_source(std::string_view, std::string_view text) override { return text; }

 private:
  void show(Severity, Place, std::string_view) override {}
};

}  // namespace tilepost
