// Where what is wrong with a source as a whole is told.
#pragma once

#include "generator/diagnostics.h"

namespace tilepost {

// Hands on what it is told, and gives an error without a place one: where the spec asks for what is
// missing in the source.
class PlacedDiagnostics : public Diagnostics {
 public:
  PlacedDiagnostics(Diagnostics& to, Place asked) : to_(to), asked_(asked) {}

  // From here on another field of the spec asks.
  void asked_at(Place asked) { asked_ = asked; }

  std::string_view add_source(std::string_view name, std::string_view text) override {
    return to_.add_source(name, text);
  }

 private:
  void show(Severity severity, Place where, std::string_view message) override {
    if (severity == Severity::error) return to_.error(where.known() ? where : asked_, message);
    if (severity == Severity::warning) return to_.warning(where, message);
    to_.note(where, message);
  }

  Diagnostics& to_;
  Place asked_;
};

}  // namespace tilepost
