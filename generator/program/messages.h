// Diagnostics as one text, for tilepost_last_error().
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/diagnostics.h"

namespace tilepost {

// Keeps what is reported, one line for each message. A line begins with the field or with the line
// of the text that the message is about.
class Messages : public Diagnostics {
 public:
  std::string_view add_source(std::string_view name, std::string_view text) override;

  // All errors, with their notes. Those beyond kMaxErrors are counted.
  std::string error_text() const;
  // All warnings, each on a line.
  const std::string& warnings() const { return warnings_; }

 private:
  struct Source {
    std::string name, text;
  };

  void show(Severity severity, Place where, std::string_view message) override;
  // "gemm.k=0: " for a place in a field, "machine:12: " for one in a longer text, or "".
  std::string prefix_of(Place where) const;

  std::deque<Source> sources_;  // a deque never moves its elements
  std::vector<std::string> errors_;
  std::string warnings_;
  Severity last_ = Severity::warning;  // what a note belongs to
};

}  // namespace tilepost
