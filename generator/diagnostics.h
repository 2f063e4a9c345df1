// Where a phase reports what is wrong with its input. The planner and the rules know this interface
// only. An implementation decides how a message reaches the user: diagnostic_printer.h in the
// generator.
//
// A phase reports every error it finds, and the driver stops after a phase with errors. No file is
// written before every phase has passed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// A stretch of a text that was made known to a Diagnostics. The code that reads a text makes its
// places; all other code passes them on. The place of a value is unknown if the value is a default.
struct Place {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool known() const { return begin != nullptr; }
};

// The place of `text`, which must point into a known text.
inline Place place_of(std::string_view text) {
  return {text.data(), text.data() + text.size()};
}

class Diagnostics {
 public:
  // Nobody reads more errors than this, or more warnings. Further ones are counted and not shown.
  static constexpr int kMaxErrors = 20;

  Diagnostics() = default;
  virtual ~Diagnostics() = default;
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // Makes a text known under a name. Returns a view of the copy that places must point into; the
  // copy lives as long as this object.
  virtual std::string_view add_source(std::string_view name, std::string_view text) = 0;

  // Messages start in lower case, have no full stop, quote the user's words in '…', and state the
  // value and the bound. A message at an unknown place is shown without a source line.
  void error(Place where, std::string_view message);
  void error(std::string_view message) { error(Place{}, message); }
  // Reports input that is possible but probably not what the user meant: it is slow, guessed, or
  // has no effect.
  void warning(Place where, std::string_view message);
  void note(Place where, std::string_view message) { show(Severity::note, where, message); }

  // After this call warnings are errors, and their messages end with "[--werror]".
  void refuse_warnings() { refuses_warnings_ = true; }

  int errors() const { return errors_; }
  bool ok() const { return errors_ == 0; }

 protected:
  enum class Severity { error, warning, note };

 private:
  // Called for each message, after an error was counted. A note belongs to the message before it.
  virtual void show(Severity severity, Place where, std::string_view message) = 0;

  int errors_ = 0;
  bool refuses_warnings_ = false;
};

// The text with A to Z in lower case.
std::string lower_case(std::string_view text);

// ", did you mean 'x'?" for the choice nearest to `word`, or "" if none is near. A choice that
// lacks a part of the word, as 'gemm' does of 'gemm_rs', is never suggested.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& choices);

// did_you_mean() for any other list of texts.
template <class Texts>
std::string did_you_mean(std::string_view word, const Texts& choices) {
  return did_you_mean(word, std::vector<std::string_view>(choices.begin(), choices.end()));
}

}  // namespace tilepost
