#include <fmt/format.h>

#include "generator/plan/machine/fields.h"
#include "generator/plan/machine/text.h"
#include "generator/spec/names.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

class Writer final : public MachineVisitor {
 public:
  std::string finish() { return std::move(out_); }

  void begin(const char* name, const char* meaning) override {
    out_ += fmt::format("{}{}:{}{}\n", indent(), name, *meaning != '\0' ? "  # " : "", meaning);
    ++depth_;
  }
  void end() override { --depth_; }

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
      visit_kernel(*this, times);
      --depth_;
    }
    end();
  }

 private:
  std::string indent() const { return std::string(2 * depth_, ' '); }

  void line(const MachineField& field, const std::string& value) {
    const std::string unit = *field.unit != '\0' ? fmt::format("{}: ", field.unit) : "";
    out_ += fmt::format("{}{}: {}  # {}{}\n", indent(), field.name, value, unit, field.meaning);
  }

  std::string out_ = fmt::format("tilepost_machine: {}\n", kMachineFormat);
  int depth_ = 0;
};

}  // namespace

std::string write_machine(const MachineProfile& profile) {
  MachineProfile copy = profile;
  Writer writer;
  visit_machine(writer, copy);
  return writer.finish();
}

}  // namespace tilepost
