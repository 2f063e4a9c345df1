#include "generator/spec/fields.h"

#include <fmt/format.h>

#include "generator/diagnostics.h"
#include "generator/spec/identifier.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using std::string_view;

std::string numbers(const Field& field) {
  if (field.min == field.max) return fmt::to_string(field.min);
  if (field.values.empty()) return fmt::format("from {} to {}", field.min, field.max);
  std::string out;
  for (size_t i = 0; i < field.values.size(); ++i) {
    if (i > 0) out += i + 1 < field.values.size() ? ", " : " or ";
    out += fmt::to_string(field.values[i]);
  }
  return out;
}

std::vector<string_view> texts_of(std::span<const Spelling> choices) {
  std::vector<string_view> texts;
  for (const Spelling& choice : choices) texts.push_back(choice.text);
  return texts;
}

std::string words(const Field& field) {
  const std::vector<string_view> texts = texts_of(field.choices);
  return texts.size() == 1 ? quote(texts[0]) : "one of " + join(texts);
}

constexpr char kExpression[] = "a whole number or an expression of m, n and k";

// expectation() without the word auto.
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
      std::string count = fmt::to_string(field.max_items);
      if (field.min_items != field.max_items)
        count = fmt::format("{} to {}", field.min_items, count);
      return fmt::format("a list of {} whole numbers {}", count, numbers(field));
    }
    case FieldKind::word:
      return words(field);
    case FieldKind::words:
      return words(field) + ", or a list of them";
    case FieldKind::identifier:
      return fmt::format("a C identifier of at most {} characters", kMaxNameLength);
    case FieldKind::text:
      return std::string(field.noun);
    case FieldKind::texts:
      return fmt::format("a list of at most {} {}", field.max_items, field.noun);
    case FieldKind::part:
      return "a number above 0 and at most 1";
    case FieldKind::expression:
      return kExpression;
    case FieldKind::expressions:
      return fmt::format("{}, or a list of {} to {} such", kExpression, field.min_items,
                         field.max_items);
    case FieldKind::arguments:
      return "a mapping from parameters to a, b, out, null, user.NAME, a real number, or " +
             std::string(kExpression);
    case FieldKind::user_data:
      return fmt::format("a mapping from at most {} names to {}", field.max_items, kExpression);
    case FieldKind::multiples:
      return "a mapping of m, n and k to whole numbers " + numbers(field) +
             ", or to {equals: …} with one";
    case FieldKind::epilogue:
      break;
  }
  return "a list of some of " + join(texts_of(field.choices));
}

}  // namespace

string_view Field::section() const {
  const size_t dot = path.find('.');
  return dot == string_view::npos ? "" : path.substr(0, dot);
}

string_view Field::leaf() const {
  return path.substr(path.find('.') + 1);  // npos + 1 is 0
}

const Field* find_field(string_view path) {
  for (const Field& field : fields())
    if (field.path == path) return &field;
  return nullptr;
}

std::string expectation(const Field& field) {
  const bool say_auto = field.accepts_auto() && field.kind != FieldKind::word;
  const bool section = field.kind == FieldKind::section && !field.default_text.empty();
  return plain_expectation(field) + (say_auto  ? ", or auto"
                                     : section ? fmt::format(", or {}", field.default_text)
                                               : "");
}

std::string suggest_key(string_view section, string_view key) {
  const Field* top = find_field(key);
  if (top != nullptr && !section.empty())
    return "; it stands at the top of the spec, not under " + quote(section);
  std::vector<string_view> siblings;
  for (const Field& field : fields())
    if (field.section() == section) siblings.push_back(field.leaf());
  const std::string sibling = did_you_mean(key, siblings);
  return sibling.empty() ? suggest_path(key) : sibling;
}

std::string suggest_path(string_view path) {
  std::vector<string_view> paths;
  std::string same_leaf;
  for (const Field& field : fields()) {
    paths.push_back(field.path);
    if (field.leaf() == path) same_leaf += (same_leaf.empty() ? "" : " or ") + quote(field.path);
  }
  return same_leaf.empty() ? did_you_mean(path, paths) : ", did you mean " + same_leaf + "?";
}

}  // namespace tilepost
