#include <fmt/format.h>

#include "generator/plan/machine/fields.h"
#include "generator/plan/machine/text.h"
#include "generator/spec/names.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

class Writer final : public MachineVisitor {
 public:
  explicit Writer(const MachineNotes& notes) : notes_(notes) {
    for (const std::string& line : notes.head) out_ += line.empty() ? "#\n" : "# " + line + "\n";
  }
  std::string finish() { return std::move(out_); }
  std::vector<std::string> paths() { return std::move(paths_); }

  void begin(const char* name, const char* meaning) override {
    out_ += fmt::format("{}{}:{}{}\n", indent(), name, *meaning != '\0' ? "  # " : "", meaning);
    ++depth_;
    sections_.emplace_back(name);
  }
  void end() override {
    --depth_;
    sections_.pop_back();
  }

  void text(const MachineField& field, std::string& value) override { line(field, in_yaml(value)); }
  void arch(const MachineField& field, Arch& value) override { line(field, name_of(value)); }
  // The shortest digits that are read back as the same number.
  void number(const MachineField& field, double& value) override {
    line(field, fmt::format("{}", value));
  }
  void whole(const MachineField& field, int64_t& value) override {
    line(field, std::to_string(value));
  }
  void list(const MachineField& field, std::vector<int>& value) override {
    std::string items;
    for (const int item : value) items += fmt::format("{}{}", items.empty() ? "" : ", ", item);
    line(field, "[" + items + "]");
  }
  void points(const MachineField& field, std::vector<ProfilePoint>& value) override {
    std::string items;
    for (const ProfilePoint& point : value)
      items += fmt::format("{}[{}, {}]", items.empty() ? "" : ", ", point.x, point.y);
    line(field, "[" + items + "]");
  }
  void choices(const MachineField& field, std::vector<CommChoice>& value) override {
    std::string items;
    for (const CommChoice& choice : value)
      items += fmt::format("{}[{}, {}]", items.empty() ? "" : ", ", choice.ctas, choice.lanes);
    line(field, "[" + items + "]");
  }
  void kernels(const MachineField& field, std::map<std::string, KernelTimes>& value) override {
    begin(field.name, field.meaning);
    for (auto& [row, times] : value) {
      out_ += fmt::format("{}- row: {}\n", indent(), in_yaml(row));
      ++depth_;
      sections_.push_back(row);
      visit_kernel(*this, times);
      sections_.pop_back();
      --depth_;
    }
    end();
  }

 private:
  std::string indent() const { return std::string(2 * depth_, ' '); }

  void line(const MachineField& field, const std::string& value) {
    const std::string unit = *field.unit != '\0' ? fmt::format("{}: ", field.unit) : "";
    std::string path;
    for (const std::string& section : sections_) path += section + ".";
    path += field.name;
    const auto note = notes_.of_field.find(path);
    out_ += fmt::format("{}{}: {}  # {}{}{}\n", indent(), field.name, value, unit, field.meaning,
                        note == notes_.of_field.end() ? "" : "; " + note->second);
    paths_.push_back(std::move(path));
  }

  const MachineNotes& notes_;
  std::vector<std::string> sections_, paths_;
  std::string out_ = fmt::format("tilepost_machine: {}\n", kMachineFormat);
  int depth_ = 0;
};

}  // namespace

std::string write_machine(const MachineProfile& profile, const MachineNotes& notes) {
  MachineProfile copy = profile;
  Writer writer(notes);
  visit_machine(writer, copy);
  return writer.finish();
}

std::vector<std::string> machine_paths(const MachineProfile& profile) {
  MachineProfile copy = profile;
  const MachineNotes notes;
  Writer writer(notes);
  visit_machine(writer, copy);
  return writer.paths();
}

}  // namespace tilepost
