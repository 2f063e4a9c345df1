#include "generator/spec/read_tree.h"

#include <fmt/format.h>

#include "generator/spec/layer.h"
#include "generator/spec/read_field.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using std::string_view;

class TreeReader {
 public:
  TreeReader(Spec& spec, Diagnostics& diagnostics) : spec_(spec), diagnostics_(diagnostics) {}

  // Reads all fields of `section` ("" at the top) out of `mapping`. `where` is the place at which a
  // missing field is reported.
  void read_section(string_view section, const Value& mapping, Place where) {
    for (const Entry& entry : mapping.entries) {
      const Field* field =
          find_field(section.empty() ? entry.key : fmt::format("{}.{}", section, entry.key));
      if (field != nullptr && field->section() == section)
        read_entry(*field, entry);
      else
        refuse_key(section, entry);
    }
    for (const Field& field : fields()) {
      if (field.section() != section || mapping.find(field.leaf()) != nullptr) continue;
      if (field.required)
        diagnostics_.error(
            where, fmt::format("missing {}; it must be {}", quote(field.path), expectation(field)));
      else
        store_absent(field);
    }
  }

 private:
  void read_entry(const Field& field, const Entry& entry) {
    if (field.kind != FieldKind::section)
      return read_field(field, entry.value, spec_, diagnostics_);
    const bool is_default = entry.value.kind == Value::Kind::scalar &&
                            !field.default_text.empty() && entry.value.text == field.default_text;
    if (is_default) return store_absent(field);
    if (entry.value.kind != Value::Kind::mapping) {
      diagnostics_.error(entry.value.where, fmt::format("{} must be {}; got {}", field.path,
                                                        expectation(field), describe(entry.value)));
      return;
    }
    FieldValue reading;
    reading.where = entry.where;
    field.store(spec_, reading);
    read_section(field.path, entry.value, entry.where);
  }

  void refuse_key(string_view section, const Entry& entry) {
    std::string hint = suggest_key(section, entry.key);
    if (hint.empty()) {
      std::vector<string_view> keys;
      for (const Field& field : fields())
        if (field.section() == section) keys.push_back(field.leaf());
      hint = fmt::format("; {} has {}", section.empty() ? "a spec" : section, join(keys));
    }
    diagnostics_.error(entry.where, fmt::format("unknown key {}{}", quote(entry.key), hint));
  }

  void store_absent(const Field& field) {
    if (field.kind != FieldKind::section) return store_default(field, spec_);
    for (const Field& child : fields())
      if (child.section() == field.path) store_default(child, spec_);
  }

  Spec& spec_;
  Diagnostics& diagnostics_;
};

// Refuses a spec of another format at once, because its fields may be other ones.
bool check_format(const Value& root, Diagnostics& diagnostics) {
  const Entry* format = root.find("tilepost");
  if (format == nullptr) return true;
  const int errors = diagnostics.errors();
  Spec ignored;
  read_field(*find_field("tilepost"), format->value, ignored, diagnostics);
  if (diagnostics.errors() == errors) return true;
  diagnostics.note(format->where, "this version of tilepost reads format 1 only");
  return false;
}

// The entry `key` of `mapping`, made if it is missing.
Entry& entry_of(Value& mapping, string_view key, Place where) {
  if (Entry* entry = mapping.find(key)) return *entry;
  mapping.entries.push_back({std::string(key), where, {}});
  return mapping.entries.back();
}

// A mapping of one entry.
Value mapping_of(string_view key, Place where, Value value) {
  Value mapping;
  mapping.kind = Value::Kind::mapping;
  mapping.where = where;
  mapping.entries.push_back({std::string(key), where, std::move(value)});
  return mapping;
}

}  // namespace

std::optional<Spec> read_tree(const Value& root, string_view path, Place where,
                              Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  if (!check_format(root, diagnostics)) return std::nullopt;
  Spec spec;
  spec.path = path;
  TreeReader(spec, diagnostics).read_section("", root, where);
  if (spec.layer) check_layer(spec, diagnostics);
  if (!spec.layer || diagnostics.errors() == errors) apply_rules(spec, diagnostics);
  // What is wrong with the first half of a layer would be wrong with the second, too.
  if (spec.layer && diagnostics.errors() == errors) {
    apply_rules(operations_of(spec).back(), diagnostics);
    if (diagnostics.errors() != errors) note_second_half(spec, diagnostics);
  }
  if (diagnostics.errors() != errors) return std::nullopt;
  return spec;
}

Target find_target(string_view path, Place where, Diagnostics& diagnostics) {
  if (const Field* field = find_field(path)) return {field, false};
  const std::string suffix = fmt::format(".{}", kMaxKey);
  if (path.ends_with(suffix)) {
    const Field* field = find_field(path.substr(0, path.size() - suffix.size()));
    if (field != nullptr && field->kind == FieldKind::size) return {field, true};
  }
  diagnostics.error(where, fmt::format("unknown field {}{}", quote(path), suggest_path(path)));
  return {};
}

const Entry* find_entry(const Target& target, const Value& root) {
  const string_view section = target.field->section();
  if (section.empty()) return root.find(target.field->leaf());
  const Entry* mapping = root.find(section);
  return mapping != nullptr ? mapping->value.find(target.field->leaf()) : nullptr;
}

void put(const Target& target, Place where, Value value, Value& root) {
  if (target.bound) value = mapping_of(kMaxKey, where, std::move(value));
  Value* mapping = &root;
  if (const string_view name = target.field->section(); !name.empty()) {
    Entry& section = entry_of(root, name, where);
    if (section.value.kind != Value::Kind::mapping) {  // `schedule: auto`, or not there at all
      section.value = {};
      section.value.kind = Value::Kind::mapping;
      section.value.where = where;
    }
    mapping = &section.value;
  }
  Entry& entry = entry_of(*mapping, target.field->leaf(), where);
  entry.where = where;
  entry.value = std::move(value);
}

}  // namespace tilepost
