#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "generator/plan/tuning/fields.h"
#include "generator/plan/tuning/text.h"

namespace tilepost {
namespace {

constexpr size_t kMostText = 1024;  // bytes

template <class Number>
std::optional<Number> number_of(const Value& value) {
  if (value.kind != Value::Kind::scalar || value.quoted) return std::nullopt;
  Number number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, fault] = std::from_chars(value.text.data(), end, number);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string path_of(const std::string& outer, std::string_view name) {
  return outer.empty() ? std::string(name) : fmt::format("{}.{}", outer, name);
}

class Reader final : public TuningVisitor {
 public:
  Reader(const Value& entry, std::string path, Diagnostics& diagnostics)
      : diagnostics_(diagnostics) {
    open(&entry, entry.where, std::move(path));
  }

  void begin(const char* name) override {
    const Entry* const entry = take(name);
    const bool mapping = entry != nullptr && entry->value.kind == Value::Kind::mapping;
    if (entry != nullptr && !mapping) wrong(name, *entry, "a mapping");
    if (entry == nullptr) missing(name, "a mapping");
    open(mapping ? &entry->value : nullptr, entry != nullptr ? entry->where : level().where,
         path(name));
  }
  void end() override { close(); }

  void text(const char* name, std::string& value) override {
    const std::string what = fmt::format("a text of at most {} bytes", kMostText);
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, what);
    if (entry->value.kind != Value::Kind::scalar || entry->value.text.size() > kMostText)
      return wrong(name, *entry, what);
    value = entry->value.text;
  }
  void truth(const char* name, bool& value) override {
    int number = value ? 1 : 0;
    constexpr Spelling kWords[] = {{"true", 1}, {"false", 0}};
    word(name, number, kWords);
    value = number != 0;
  }
  void number(const char* name, int64_t& value, int64_t least, int64_t most) override {
    const std::string what = fmt::format("a whole number from {} to {}", least, most);
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, what);
    const std::optional<int64_t> number = number_of<int64_t>(entry->value);
    if (!number || *number < least || *number > most) return wrong(name, *entry, what);
    value = *number;
  }
  void time(const char* name, double& value) override {
    constexpr double kMostUs = 1e9;
    const std::string what = fmt::format("a number from 0 to {} (us)", kMostUs);
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, what);
    const std::optional<double> number = number_of<double>(entry->value);
    if (!number || !std::isfinite(*number) || *number < 0 || *number > kMostUs)
      return wrong(name, *entry, what);
    value = *number;
  }
  void word(const char* name, int& value, std::span<const Spelling> spellings) override {
    const std::string what = list_of(spellings);
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, what);
    const Spelling* const found = find(spellings, entry->value);
    if (found == nullptr) return wrong(name, *entry, what);
    value = found->value;
  }
  void words(const char* name, int& value, std::span<const Spelling> spellings) override {
    const std::string what = "a list of " + list_of(spellings);
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, what);
    if (entry->value.kind != Value::Kind::sequence) return wrong(name, *entry, what);
    value = 0;
    for (const Value& item : entry->value.items) {
      const Spelling* const found = find(spellings, item);
      if (found == nullptr)
        error(item.where, fmt::format("each of {} must be {}; got {}", path(name),
                                      list_of(spellings), describe(item)));
      else
        value |= found->value;
    }
  }
  void list(const char* name, std::vector<int32_t>& value) override {
    const std::string what =
        fmt::format("whole numbers from 0 to {}", std::numeric_limits<int32_t>::max());
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, "a list of " + what);
    if (entry->value.kind != Value::Kind::sequence || entry->value.items.empty())
      return wrong(name, *entry, fmt::format("a list of {}, not empty", what));
    value.clear();
    for (const Value& item : entry->value.items) {
      const std::optional<int32_t> number = number_of<int32_t>(item);
      if (!number || *number < 0)
        return error(item.where,
                     fmt::format("{} must have {}; got {}", path(name), what, describe(item)));
      value.push_back(*number);
    }
  }
  void measured(const char* name, std::vector<MeasuredChoice>& value) override {
    const Entry* const entry = take(name);
    if (entry == nullptr) return missing(name, "a list of mappings");
    if (entry->value.kind != Value::Kind::sequence || entry->value.items.empty())
      return wrong(name, *entry, "a list of mappings, not empty");
    value.clear();
    for (const Value& item : entry->value.items) {
      if (item.kind != Value::Kind::mapping) {
        error(item.where, fmt::format("{} must have mappings; got {}", path(name), describe(item)));
        continue;
      }
      open(&item, item.where, path(name));
      visit_measured(*this, value.emplace_back());
      close();
    }
  }

  // Closes the outermost level. Reports every key that no field has.
  void finish() { close(); }

 private:
  struct Level {
    const Value* mapping;  // null: it is missing, which was reported
    Place where;
    std::string path;
    std::set<std::string_view> taken;
  };

  static std::string list_of(std::span<const Spelling> spellings) {
    std::vector<std::string_view> names;
    for (const Spelling& spelling : spellings) names.push_back(spelling.text);
    return join_with(names, "or");
  }
  static const Spelling* find(std::span<const Spelling> spellings, const Value& value) {
    if (value.kind != Value::Kind::scalar) return nullptr;
    const auto found = std::ranges::find(spellings, value.text, &Spelling::text);
    return found != spellings.end() ? &*found : nullptr;
  }

  Level& level() { return levels_.back(); }
  std::string path(std::string_view name) { return path_of(level().path, name); }

  void open(const Value* mapping, Place where, std::string path) {
    levels_.push_back({mapping, where, std::move(path), {}});
  }
  void close() {
    if (level().mapping != nullptr)
      for (const Entry& entry : level().mapping->entries) {
        if (level().taken.count(entry.key) > 0) continue;
        error(entry.where, fmt::format("unknown key '{}'{}", path(entry.key),
                                       did_you_mean(entry.key, level().taken)));
      }
    levels_.pop_back();
  }

  // The entry of that name in this level, null if there is none. From here on the name counts as
  // read.
  const Entry* take(std::string_view name) {
    level().taken.insert(name);
    return level().mapping != nullptr ? level().mapping->find(name) : nullptr;
  }

  // If a section is missing, only the section itself is reported, not its fields.
  void missing(std::string_view name, const std::string& what) {
    if (level().mapping == nullptr) return;
    error(level().where, fmt::format("missing '{}'; it must be {}", path(name), what));
  }
  void wrong(std::string_view name, const Entry& entry, const std::string& what) {
    error(entry.value.where,
          fmt::format("{} must be {}; got {}", path(name), what, describe(entry.value)));
  }
  void error(Place where, const std::string& message) { diagnostics_.error(where, message); }

  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
};

// Refuses a file of another format, because its fields may be others.
bool check_format(const Value& root, Diagnostics& diagnostics) {
  const bool mapping = root.kind == Value::Kind::mapping;
  const Entry* const format = mapping ? root.find("tilepost_tuning") : nullptr;
  if (format != nullptr && format->value.text == std::to_string(kTuningFormat)) return true;
  std::string got = mapping ? "no such key" : describe(root);
  if (format != nullptr) got = describe(format->value);
  diagnostics.error(
      format != nullptr ? format->value.where : root.where,
      fmt::format("a tuning file begins with 'tilepost_tuning: {}'; got {}", kTuningFormat, got));
  return false;
}

void read_item(const Value& item, std::vector<TuningEntry>& entries, Diagnostics& diagnostics) {
  if (item.kind != Value::Kind::mapping)
    return diagnostics.error(item.where,
                             fmt::format("entries must be mappings; got {}", describe(item)));
  const int errors = diagnostics.errors();
  TuningEntry entry;
  Reader reader(item, fmt::format("entries[{}]", entries.size()), diagnostics);
  visit_entry(reader, entry);
  reader.finish();
  // The entry is shown by its first line.
  entry.where = item.entries.empty() ? item.where : item.entries.front().where;
  for (const TuningEntry& other : entries)
    if (diagnostics.errors() == errors && other.key == entry.key &&
        other.machine.profile == entry.machine.profile && other.machine.gpu == entry.machine.gpu) {
      diagnostics.error(entry.where,
                        "an entry for this spec and machine is there already; remove "
                        "one of the two");
      diagnostics.note(other.where, "the other one is here");
    }
  entries.push_back(std::move(entry));
}

}  // namespace

std::optional<std::vector<TuningEntry>> read_tuning(const Value& root, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  if (!check_format(root, diagnostics)) return std::nullopt;
  std::vector<TuningEntry> entries;
  for (const Entry& entry : root.entries)
    if (entry.key != "tilepost_tuning" && entry.key != "entries")
      diagnostics.error(entry.where,
                        fmt::format("unknown key '{}'; a tuning file has 'entries'", entry.key));
  const Entry* const list = root.find("entries");
  if (list == nullptr)
    diagnostics.error(root.where, "missing 'entries'; it must be a list");
  else if (list->value.kind != Value::Kind::sequence)
    diagnostics.error(list->value.where,
                      fmt::format("entries must be a list; got {}", describe(list->value)));
  else
    for (const Value& item : list->value.items) read_item(item, entries, diagnostics);
  if (diagnostics.errors() != errors) return std::nullopt;
  return entries;
}

}  // namespace tilepost
