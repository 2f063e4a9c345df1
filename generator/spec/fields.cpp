#include "generator/spec/fields.h"

#include "generator/diagnostics.h"
#include "generator/spec/identifier.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using llvm::StringRef;

std::string numbers(const Field& field) {
  if (field.min == field.max) return std::to_string(field.min);
  if (field.values.empty())
    return "from " + std::to_string(field.min) + " to " + std::to_string(field.max);
  std::string out;
  for (size_t i = 0; i < field.values.size(); ++i) {
    if (i > 0) out += i + 1 < field.values.size() ? ", " : " or ";
    out += std::to_string(field.values[i]);
  }
  return out;
}

std::string words(const Field& field) {
  std::vector<StringRef> texts;
  for (const Spelling& choice : field.choices) texts.push_back(choice.text);
  return texts.size() == 1 ? quote(texts[0]) : "one of " + join(texts);
}

// The expectation without auto.
std::string plain_expectation(const Field& field) {
  switch (field.kind) {
    case FieldKind::section:
      return "a mapping";
    case FieldKind::integer:
      return field.min == field.max || !field.values.empty() ? numbers(field)
                                                             : "a whole number " + numbers(field);
    case FieldKind::size:
      return "a whole number " + numbers(field) + ", or {max: such a number}";
    case FieldKind::integers: {
      std::string count = std::to_string(field.max_items);
      if (field.min_items != field.max_items)
        count = std::to_string(field.min_items) + " to " + count;
      return "a list of " + count + " whole numbers " + numbers(field);
    }
    case FieldKind::word:
      return words(field);
    case FieldKind::words:
      return words(field) + ", or a list of them";
    case FieldKind::identifier:
      return "a C identifier of at most " + std::to_string(kMaxNameLength) + " characters";
    case FieldKind::epilogue:
      break;
  }
  std::vector<StringRef> operations;
  for (const Spelling& choice : field.choices) operations.push_back(choice.text);
  return "a list of some of " + join(operations);
}

}  // namespace

StringRef Field::section() const {
  return path.contains('.') ? path.split('.').first : "";
}

StringRef Field::leaf() const {
  return path.contains('.') ? path.split('.').second : path;
}

const Field* find_field(StringRef path) {
  for (const Field& field : fields())
    if (field.path == path) return &field;
  return nullptr;
}

std::string expectation(const Field& field) {
  const bool say_auto = field.accepts_auto() && field.kind != FieldKind::word;
  return plain_expectation(field) + (say_auto ? ", or auto" : "");
}

std::string suggest_key(StringRef section, StringRef key) {
  const Field* top = find_field(key);
  if (top != nullptr && !section.empty())
    return "; it stands at the top of the spec, not under " + quote(section);
  std::vector<StringRef> siblings;
  for (const Field& field : fields())
    if (field.section() == section) siblings.push_back(field.leaf());
  const std::string sibling = did_you_mean(key, siblings);
  return sibling.empty() ? suggest_path(key) : sibling;
}

std::string suggest_path(StringRef path) {
  std::vector<StringRef> paths;
  std::string same_leaf;
  for (const Field& field : fields()) {
    paths.push_back(field.path);
    if (field.leaf() == path) same_leaf += (same_leaf.empty() ? "" : " or ") + quote(field.path);
  }
  return same_leaf.empty() ? did_you_mean(path, paths) : ", did you mean " + same_leaf + "?";
}

}  // namespace tilepost
