// Diagnostics for attempts that may fail without a message.
#pragma once

#include <deque>
#include <string>

#include "generator/diagnostics.h"

namespace tilepost {

// Counts errors and shows nothing.
class SilentDiagnostics : public Diagnostics {
 public:
  std::string_view add_source(std::string_view, std::string_view text) override {
    return texts_.emplace_back(text);
  }

 private:
  void show(Severity, Place, std::string_view) override {}

  std::deque<std::string> texts_;  // a deque never moves its elements
};

}  // namespace tilepost
