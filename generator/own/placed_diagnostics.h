// Gives errors about a source as a whole a place in the spec.
#pragma once

#include "generator/diagnostics.h"

namespace tilepost {

// Passes messages on. An error without a place gets the place of the field in the spec that asks
// for what the source lacks.
class PlacedDiagnostics : public Diagnostics {
 public:
  PlacedDiagnostics(Diagnostics& to, Place asked) : to_(to), asked_(asked) {}

  // After this call errors without a place get this place.
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
