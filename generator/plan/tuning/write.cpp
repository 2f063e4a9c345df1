#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/tuning/fields.h"
#include "generator/plan/tuning/text.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

class Writer final : public TuningVisitor {
 public:
  std::string write(TuningEntry& entry) {
    out_.clear();
    begins_item_ = true;
    visit_entry(*this, entry);
    return std::move(out_);
  }

  void begin(const char* name) override {
    out_ += lead() + name + ":\n";
    indent_ += 2;
  }
  void end() override { indent_ -= 2; }

  void text(const char* name, std::string& value) override { line(name, in_yaml(value)); }
  void truth(const char* name, bool& value) override { line(name, value ? "true" : "false"); }
  void number(const char* name, int64_t& value, int64_t, int64_t) override {
    line(name, std::to_string(value));
  }
  void time(const char* name, double& value) override { line(name, fmt::format("{}", value)); }
  void word(const char* name, int& value, std::span<const Spelling> spellings) override {
    const auto found = std::ranges::find(spellings, value, &Spelling::value);
    if (found != spellings.end()) line(name, std::string(found->text));
  }
  void words(const char* name, int& value, std::span<const Spelling> spellings) override {
    std::string text;
    for (const Spelling& spelling : spellings)
      if ((value & spelling.value) != 0)
        text += (text.empty() ? "" : ", ") + std::string(spelling.text);
    line(name, "[" + text + "]");
  }
  // Lines are bounded (generator/yaml/guard.h), and lists may be long.
  void list(const char* name, std::vector<int32_t>& value) override {
    constexpr size_t kInLine = 12;
    std::string text = "[";
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) text += i % kInLine == 0 ? ",\n" + std::string(indent_ + 2, ' ') : ", ";
      text += std::to_string(value[i]);
    }
    line(name, text + "]");
  }
  void measured(const char* name, std::vector<MeasuredChoice>& value) override {
    begin(name);
    indent_ += 2;
    for (MeasuredChoice& choice : value) {
      begins_item_ = true;
      visit_measured(*this, choice);
    }
    indent_ -= 2;
    end();
  }

 private:
  // The blanks before a line. An item of a list begins with a dash in place of the last two.
  std::string lead() {
    std::string blanks(indent_, ' ');
    if (begins_item_) blanks[indent_ - 2] = '-';
    begins_item_ = false;
    return blanks;
  }

  void line(const char* name, const std::string& value) {
    out_ += fmt::format("{}{}: {}\n", lead(), name, value);
  }

  std::string out_;
  size_t indent_ = 4;
  bool begins_item_ = false;
};

}  // namespace

std::string write_tuning(const std::vector<TuningEntry>& entries) {
  Writer writer;
  std::string text = fmt::format(
      "# Written by 'tilepost tune': the fastest plans that were measured, for --tuning.\n"
      "tilepost_tuning: {}\nentries:{}\n",
      kTuningFormat, entries.empty() ? " []" : "");
  for (TuningEntry entry : entries) text += writer.write(entry);
  return text;
}

}  // namespace tilepost
