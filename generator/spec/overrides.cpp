#include "generator/spec/overrides.h"

#include "generator/spec/fields.h"
#include "generator/spec/guard.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// The entry `key` of `mapping`, made if it is missing.
Entry& entry_of(Value& mapping, StringRef key, llvm::SMRange where) {
  if (Entry* entry = mapping.find(key)) return *entry;
  mapping.entries.push_back({key.str(), where, {}});
  return mapping.entries.back();
}

void put(const Field& field, llvm::SMRange where, Value value, Value& root) {
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
    const Field* field = find_field(override_.path);
    if (field == nullptr) {
      diagnostics.error(range_of(path), "unknown field " + quote(path) + suggest_path(path));
      continue;
    }
    if (!guard_value(word, diagnostics)) continue;
    if (std::optional<Value> value = parse_document(word, diagnostics))
      put(*field, range_of(path), std::move(*value), root);
  }
}

}  // namespace tilepost
