#include "generator/yaml/read_spec.h"

#include <fmt/format.h>

#include "generator/spec/read_tree.h"
#include "generator/yaml/document.h"
#include "generator/yaml/guard.h"

namespace tilepost {
namespace {

// Puts a value of the command line in place of the file's, before fields are read.
void apply_override(const Override& given, Value& root, Diagnostics& diagnostics) {
  constexpr std::string_view kFlag = "-D ";
  const std::string_view text = diagnostics.add_source(
      "<command line>", fmt::format("{}{}={}", kFlag, given.path, given.value));
  const std::string_view path = text.substr(kFlag.size(), given.path.size());
  const std::string_view word = text.substr(kFlag.size() + path.size() + 1);
  const Target target = find_target(path, place_of(path), diagnostics);
  if (target.field == nullptr || !guard_value(word, diagnostics)) return;
  std::optional<Value> value = parse_document(word, diagnostics);
  if (value) put(target, place_of(path), std::move(*value), root);
}

}  // namespace

std::optional<Spec> read_spec(llvm::StringRef name, llvm::StringRef text,
                              const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  const std::string_view source = diagnostics.add_source(name, text);
  if (!guard_file(source, diagnostics)) return std::nullopt;
  std::optional<Value> root = parse_document(source, diagnostics);
  if (!root) return std::nullopt;
  if (root->kind != Value::Kind::mapping) {
    diagnostics.error(
        root->where,
        fmt::format("a spec is a mapping that starts with 'tilepost: 1'; got {}", describe(*root)));
    return std::nullopt;
  }
  for (const Override& given : overrides) apply_override(given, *root, diagnostics);
  const char* start = root->entries.empty() ? root->where.begin : root->entries[0].where.begin;
  std::optional<Spec> spec = read_tree(*root, name, {start, start}, diagnostics);
  return diagnostics.errors() == errors ? std::move(spec) : std::nullopt;
}

}  // namespace tilepost
