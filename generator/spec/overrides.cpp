#include "generator/spec/overrides.h"

#include "generator/spec/fields.h"
#include "generator/spec/guard.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// The entry `key` of `mapping`, made if it is missing.
Entry& entry_of(Value& mapping, StringRef key, Place where) {
  if (Entry* entry = mapping.find(key)) return *entry;
  mapping.entries.push_back({key.str(), where, {}});
  return mapping.entries.back();
}

// A mapping of one entry.
Value mapping_of(StringRef key, Place where, Value value) {
  Value mapping;
  mapping.kind = Value::Kind::mapping;
  mapping.where = where;
  mapping.entries.push_back({key.str(), where, std::move(value)});
  return mapping;
}

// What an override's path names: a field, or the bound of a size ("gemm.m.max").
struct Target {
  const Field* field = nullptr;
  bool bound = false;
};
Target find_target(StringRef path) {
  const Field* field = find_field(path);
  if (field != nullptr || !path.consume_back(("." + kMaxKey).str())) return {field, false};
  field = find_field(path);
  if (field == nullptr || field->kind != FieldKind::size) return {};
  return {field, true};
}

void put(const Field& field, Place where, Value value, Value& root) {
  Value* mapping = &root;
  if (!field.section().empty()) {
    Entry& section = entry_of(root, field.section(), where);
    if (section.value.kind != Value::Kind::mapping) {  // `schedule: auto`, or not there at all
      section.value = {};
      section.value.kind = Value::Kind::mapping;
      section.value.where = where;
    }
    mapping = &section.value;
  }
  Entry& entry = entry_of(*mapping, field.leaf(), where);
  entry.where = where;
  entry.value = std::move(value);
}

}  // namespace

void apply_overrides(const std::vector<Override>& overrides, Value& root,
                     Diagnostics& diagnostics) {
  constexpr StringRef kFlag = "-D ";
  for (const Override& override_ : overrides) {
    const StringRef text = diagnostics.add_source(
        "<command line>", (kFlag + override_.path + "=" + override_.value).str());
    const StringRef path = text.substr(kFlag.size(), override_.path.size());
    const StringRef word = text.drop_front(kFlag.size() + path.size() + 1);
    const Target target = find_target(override_.path);
    if (target.field == nullptr) {
      diagnostics.error(place_of(path), "unknown field " + quote(path) + suggest_path(path));
      continue;
    }
    if (!guard_value(word, diagnostics)) continue;
    std::optional<Value> value = parse_document(word, diagnostics);
    if (!value) continue;
    if (target.bound) *value = mapping_of(kMaxKey, place_of(path), std::move(*value));
    put(*target.field, place_of(path), std::move(*value), root);
  }
}

}  // namespace tilepost
