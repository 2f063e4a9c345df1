#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "generator/plan/machine/fields.h"
#include "generator/plan/machine/text.h"
#include "generator/spec/names.h"

namespace tilepost {
namespace {

// A number of the text; nothing if the text is no number.
std::optional<double> number_of(const Value& value) {
  if (value.kind != Value::Kind::scalar || value.quoted) return std::nullopt;
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, fault] = std::from_chars(value.text.data(), end, number);
  if (fault != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

class Reader final : public MachineVisitor {
 public:
  Reader(const Value& root, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
    open(&root, root.where);
  }

  void begin(const char* name, const char*) override {
    const Entry* const entry = take(name);
    const bool mapping = entry != nullptr && entry->value.kind == Value::Kind::mapping;
    if (entry != nullptr && !mapping)
      error(entry->value.where,
            fmt::format("{} must be a mapping; got {}", path(name), describe(entry->value)));
    else if (entry == nullptr)
      missing(name, "a mapping");
    path_ = path(name);
    open(mapping ? &entry->value : nullptr, entry != nullptr ? entry->where : levels_.back().where);
  }
  void end() override { close(); }

  void text(const MachineField& field, std::string& value) override {
    const Entry* const entry = take(field.name);
    if (entry == nullptr) return missing(field.name, "a text");
    if (entry->value.kind != Value::Kind::scalar || entry->value.text.empty() ||
        entry->value.text.size() > field.most)
      return wrong(field, *entry, fmt::format("a text of 1 to {} bytes", field.most));
    value = entry->value.text;
  }
  void arch(const MachineField& field, Arch& value) override {
    const Entry* const entry = take(field.name);
    std::vector<std::string_view> names;
    for (const Arch arch : gpu_archs()) names.emplace_back(name_of(arch));
    const std::string archs = join_with(names, "or");
    if (entry == nullptr) return missing(field.name, archs);
    for (const Arch arch : gpu_archs())
      if (entry->value.text == name_of(arch)) {
        value = arch;
        return;
      }
    wrong(field, *entry, archs);
  }
  void number(const MachineField& field, double& value) override {
    const Entry* const entry = take(field.name);
    if (entry == nullptr) return missing(field.name, expected(field));
    const std::optional<double> number = number_of(entry->value);
    if (!number || !fits(field, *number)) return wrong(field, *entry, expected(field));
    value = *number;
  }
  void whole(const MachineField& field, int64_t& value) override {
    const Entry* const entry = take(field.name);
    if (entry == nullptr) return missing(field.name, expected(field, true));
    const std::optional<double> number = number_of(entry->value);
    if (!number || !fits(field, *number) || *number != std::floor(*number))
      return wrong(field, *entry, expected(field, true));
    value = static_cast<int64_t>(*number);
  }
  void list(const MachineField& field, std::vector<int>& value) override {
    value.clear();
    for_items(field, expected(field, true), [&](const Value& item) {
      const std::optional<double> number = number_of(item);
      if (!number || !fits(field, *number) || *number != std::floor(*number)) return false;
      value.push_back(static_cast<int>(*number));
      return true;
    });
  }
  void points(const MachineField& field, std::vector<ProfilePoint>& value) override {
    value.clear();
    const std::string pair = fmt::format("a pair [x, y] ({}) with x above the one before and y {}",
                                         field.unit, bounds(field));
    for_items(field, pair, [&](const Value& item) {
      const auto xy = pair_of(item);
      if (!xy || xy->first < 0 || !fits(field, xy->second)) return false;
      if (!value.empty() && xy->first <= value.back().x) return false;
      value.push_back({xy->first, xy->second});
      return true;
    });
  }
  void choices(const MachineField& field, std::vector<CommChoice>& value) override {
    value.clear();
    for_items(field, "a pair [CTAs, lanes] of whole numbers from 1", [&](const Value& item) {
      const auto both = pair_of(item);
      if (!both || !fits(field, both->first) || !fits(field, both->second)) return false;
      const CommChoice choice = {static_cast<int>(both->first), static_cast<int>(both->second)};
      if (choice.ctas != both->first || choice.lanes != both->second) return false;
      value.push_back(choice);
      return true;
    });
  }
  // A row that no kernel has would be left unread, so its name must be known.
  void kernels(const MachineField& field, std::map<std::string, KernelTimes>& value) override {
    const Entry* const entry = take(field.name);
    if (entry == nullptr) return missing(field.name, "a list of rows");
    if (entry->value.kind != Value::Kind::sequence) return wrong(field, *entry, "a list of rows");
    const std::map<std::string, KernelTimes>& known = default_machine().gemm.kernels;
    std::vector<std::string_view> names;
    for (const auto& [name, times] : known) names.push_back(name);
    value.clear();
    const std::string outer = path_;
    for (const Value& item : entry->value.items) {
      path_ = path_of(outer, field.name);
      read_kernel(item, names, value);
      path_ = outer;
    }
  }

  // Closes the outermost level. Reports every key that no field has.
  void finish() { close(); }

 private:
  struct Level {
    const Value* mapping;  // null: it is missing, which was reported
    Place where;
    std::string outer;  // path of the level outside
    std::set<std::string_view> taken;
  };

  void open(const Value* mapping, Place where) {
    std::string outer = path_;
    if (const size_t dot = outer.rfind('.'); dot != std::string::npos)
      outer.resize(dot);
    else
      outer.clear();
    levels_.push_back({mapping, where, outer, {}});
  }

  void close() {
    Level& level = levels_.back();
    if (level.mapping != nullptr)
      for (const Entry& entry : level.mapping->entries) {
        if (level.taken.count(entry.key) > 0) continue;
        const std::vector<std::string_view> keys(level.taken.begin(), level.taken.end());
        error(entry.where,
              fmt::format("unknown key '{}'{}", path(entry.key), did_you_mean(entry.key, keys)));
      }
    path_ = level.outer;
    levels_.pop_back();
  }

  void read_kernel(const Value& item, const std::vector<std::string_view>& names,
                   std::map<std::string, KernelTimes>& value) {
    if (item.kind != Value::Kind::mapping)
      return error(item.where, fmt::format("{} must have mappings; got {}", path_, describe(item)));
    const std::string outer = path_;
    levels_.push_back({&item, item.where, outer, {}});
    const Entry* const row = take("row");
    KernelTimes times;
    if (row == nullptr) {
      missing("row", "the name of a row of the catalogue");
    } else if (std::ranges::find(names, std::string_view(row->value.text)) == names.end()) {
      error(row->value.where, fmt::format("no kernel is called {}{}", describe(row->value),
                                          did_you_mean(row->value.text, names)));
    } else if (!value.try_emplace(row->value.text).second) {
      error(row->value.where, fmt::format("row {} is there twice", describe(row->value)));
    }
    visit_kernel(*this, times);
    if (row != nullptr) value[row->value.text] = times;
    close();
    path_ = outer;
  }

  // The entry of that name in this level, null if there is none. From here on the name counts as
  // read.
  const Entry* take(std::string_view name) {
    Level& level = levels_.back();
    level.taken.insert(name);
    return level.mapping != nullptr ? level.mapping->find(name) : nullptr;
  }

  template <class Take>
  void for_items(const MachineField& field, const std::string& each, const Take& take_item) {
    const Entry* const entry = take(field.name);
    if (entry == nullptr) return missing(field.name, "a list");
    if (entry->value.kind != Value::Kind::sequence || entry->value.items.empty())
      return wrong(field, *entry, "a list that is not empty");
    for (const Value& item : entry->value.items)
      if (!take_item(item))
        return error(item.where, fmt::format("each of {} must be {}; got {}", path(field.name),
                                             each, describe(item)));
  }

  static std::optional<std::pair<double, double>> pair_of(const Value& item) {
    if (item.kind != Value::Kind::sequence || item.items.size() != 2) return std::nullopt;
    const std::optional<double> x = number_of(item.items[0]), y = number_of(item.items[1]);
    if (!x || !y) return std::nullopt;
    return std::pair(*x, *y);
  }

  static bool fits(const MachineField& field, double value) {
    return value >= field.least && value <= field.most;
  }
  static std::string bounds(const MachineField& field) {
    const bool above_0 = field.least > 0 && field.least < 1e-6;
    return above_0 ? fmt::format("above 0 and up to {}", field.most)
                   : fmt::format("from {} to {}", field.least, field.most);
  }
  static std::string expected(const MachineField& field, bool whole = false) {
    return fmt::format("a {} {}{}", whole ? "whole number" : "number", bounds(field),
                       *field.unit != '\0' ? fmt::format(" ({})", field.unit) : "");
  }

  static std::string path_of(const std::string& outer, std::string_view name) {
    return outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
  }
  std::string path(std::string_view name) const { return path_of(path_, name); }

  // If a section is missing, only the section itself is reported, not its fields.
  void missing(std::string_view name, const std::string& what) {
    if (levels_.back().mapping == nullptr) return;
    error(levels_.back().where, fmt::format("missing '{}'; it must be {}", path(name), what));
  }
  void wrong(const MachineField& field, const Entry& entry, const std::string& what) {
    error(entry.value.where,
          fmt::format("{} must be {}; got {}", path(field.name), what, describe(entry.value)));
  }
  void error(Place where, const std::string& message) { diagnostics_.error(where, message); }

  Diagnostics& diagnostics_;
  std::string path_;
  std::vector<Level> levels_;
};

// Refuses a profile of another format, because its fields may be others.
bool check_format(const Value& root, Diagnostics& diagnostics) {
  const Entry* const format = root.find("tilepost_machine");
  if (format != nullptr && format->value.text == std::to_string(kMachineFormat)) return true;
  diagnostics.error(
      format != nullptr ? format->value.where : root.where,
      fmt::format("a machine profile begins with 'tilepost_machine: {0}'; got {1}", kMachineFormat,
                  format != nullptr ? describe(format->value) : "no such key"));
  return false;
}

}  // namespace

std::optional<MachineProfile> read_machine(const Value& root, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  if (root.kind != Value::Kind::mapping) {
    diagnostics.error(root.where, fmt::format("a machine profile is a mapping that begins with "
                                              "'tilepost_machine: {}'; got {}",
                                              kMachineFormat, describe(root)));
    return std::nullopt;
  }
  if (!check_format(root, diagnostics)) return std::nullopt;
  Value fields = root;
  std::erase_if(fields.entries, [](const Entry& entry) { return entry.key == "tilepost_machine"; });
  MachineProfile profile = {};
  Reader reader(fields, diagnostics);
  visit_machine(reader, profile);
  reader.finish();
  if (diagnostics.errors() != errors) return std::nullopt;
  return profile;
}

}  // namespace tilepost
