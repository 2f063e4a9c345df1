#include "generator/spec/read_fields.h"

#include <fmt/format.h>

#include "generator/spec/read_tree.h"
#include "generator/spec/tree/read_value.h"

namespace tilepost {

using std::string_view;

std::optional<Spec> read_fields(std::span<const FieldText> given, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  bool readable = true;
  Value root;
  root.kind = Value::Kind::mapping;
  for (const FieldText& field : given) {
    const string_view text =
        diagnostics.add_source("<field>", fmt::format("{}={}", field.path, field.value));
    const string_view path = text.substr(0, field.path.size());
    const Target target = find_target(path, place_of(path), diagnostics);
    if (target.field == nullptr) continue;
    if (const Entry* first = find_entry(target, root)) {
      refuse_twice(path, place_of(path), first->where, diagnostics);
      continue;
    }
    std::optional<Value> value = read_value(text.substr(path.size() + 1), diagnostics);
    readable = readable && value;
    if (value) put(target, place_of(path), std::move(*value), root);
  }
  if (!readable) return std::nullopt;  // a field without a value would count as missing
  std::optional<Spec> spec = read_tree(root, "", Place{}, diagnostics);
  return diagnostics.errors() == errors ? std::move(spec) : std::nullopt;
}

}  // namespace tilepost
