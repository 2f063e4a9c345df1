// The JSON Schema of format 1, made from the table of fields.
#include <fmt/format.h>

#include "generator/spec/fields.h"
#include "generator/spec/identifier.h"
#include "generator/yaml/read_spec.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

namespace json = llvm::json;

json::Object integer_schema(const Field& field) {
  if (field.min == field.max) return json::Object{{"const", field.min}};
  if (field.values.empty())
    return json::Object{{"type", "integer"}, {"minimum", field.min}, {"maximum", field.max}};
  return json::Object{
      {"enum", json::Array(llvm::ArrayRef<int64_t>(field.values.data(), field.values.size()))}};
}

json::Object size_schema(const Field& field) {
  json::Object bound{
      {"type", "object"},
      {"properties", json::Object{{llvm::StringRef(kMaxKey), integer_schema(field)}}},
      {"required", json::Array{llvm::StringRef(kMaxKey)}},
      {"additionalProperties", false}};
  return json::Object{{"anyOf", json::Array{integer_schema(field), std::move(bound)}}};
}

// YAML reads a bare true or false as a truth value, and one in quotes as a word.
json::Object word_schema(const Field& field) {
  json::Array texts;
  for (const Spelling& choice : field.choices) {
    texts.push_back(llvm::StringRef(choice.text));
    if (choice.text == "true" || choice.text == "false") texts.push_back(choice.text == "true");
  }
  return json::Object{{"enum", std::move(texts)}};
}

// One word or a list without repetition, in which host stands alone.
json::Object words_schema(const Field& field) {
  json::Object no_host{{"not", json::Object{{"contains", json::Object{{"const", "host"}}}}}};
  json::Object list{{"type", "array"},
                    {"items", word_schema(field)},
                    {"minItems", 1},
                    {"uniqueItems", true},
                    {"anyOf", json::Array{json::Object{{"maxItems", 1}}, std::move(no_host)}}};
  return json::Object{{"anyOf", json::Array{word_schema(field), std::move(list)}}};
}

json::Object identifier_schema() {
  json::Array names;
  for (const llvm::StringRef name : taken_names()) names.push_back(name);
  json::Object reserved{{"enum", std::move(names)}};
  json::Object prefixed{{"pattern", fmt::format("^{}", kReservedPrefix)}};
  json::Object taken{{"anyOf", json::Array{std::move(reserved), std::move(prefixed)}}};
  return json::Object{{"type", "string"},
                      {"maxLength", static_cast<int64_t>(kMaxNameLength)},
                      {"pattern", llvm::StringRef(kNamePattern)},
                      {"not", std::move(taken)}};
}

json::Object any_of(std::initializer_list<const char*> types) {
  json::Array list;
  for (const char* type : types) list.push_back(json::Object{{"type", type}});
  return json::Object{{"anyOf", std::move(list)}};
}

// A text may also be a number or a truth value, because YAML reads some words as such.
json::Object text_schema() {
  json::Object text{{"type", "string"}, {"pattern", "."}};
  return json::Object{{"anyOf", json::Array{std::move(text), any_of({"number", "boolean"})}}};
}

// The schema takes any string: Expression checks what it says.
json::Object expression_schema() {
  json::Object number{{"type", "integer"}, {"minimum", 0}};
  return json::Object{{"anyOf", json::Array{std::move(number), any_of({"string"})}}};
}

json::Object expressions_schema(const Field& field) {
  json::Object list{{"type", "array"},
                    {"items", expression_schema()},
                    {"minItems", static_cast<int64_t>(field.min_items)},
                    {"maxItems", static_cast<int64_t>(field.max_items)}};
  return json::Object{{"anyOf", json::Array{expression_schema(), std::move(list)}}};
}

json::Object multiples_schema(const Field& field) {
  json::Object sizes;
  for (const char* size : {"m", "n", "k"}) {
    json::Object equals{{"type", "object"},
                        {"properties", json::Object{{"equals", integer_schema(field)}}},
                        {"required", json::Array{"equals"}},
                        {"additionalProperties", false}};
    sizes[size] = json::Object{{"anyOf", json::Array{integer_schema(field), std::move(equals)}}};
  }
  return json::Object{
      {"type", "object"}, {"properties", std::move(sizes)}, {"additionalProperties", false}};
}

json::Object section_schema(llvm::StringRef section);

json::Object value_schema(const Field& field) {
  switch (field.kind) {
    case FieldKind::section:
      return section_schema(field.path);
    case FieldKind::integer:
      return integer_schema(field);
    case FieldKind::size:
      return size_schema(field);
    case FieldKind::integers:
      return json::Object{{"type", "array"},
                          {"items", integer_schema(field)},
                          {"minItems", static_cast<int64_t>(field.min_items)},
                          {"maxItems", static_cast<int64_t>(field.max_items)}};
    case FieldKind::word:
      return word_schema(field);
    case FieldKind::words:
      return words_schema(field);
    case FieldKind::identifier:
      return identifier_schema();
    case FieldKind::text:
      return text_schema();
    case FieldKind::texts:
      return json::Object{{"type", "array"},
                          {"items", text_schema()},
                          {"maxItems", static_cast<int64_t>(field.max_items)}};
    case FieldKind::part:
      return json::Object{{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
    case FieldKind::expression:
      return expression_schema();
    case FieldKind::expressions:
      return expressions_schema(field);
    case FieldKind::arguments:
      return json::Object{{"type", "object"},
                          {"additionalProperties", any_of({"string", "number", "null"})}};
    case FieldKind::multiples:
      return multiples_schema(field);
    case FieldKind::user_data:
      return json::Object{{"type", "object"},
                          {"maxProperties", static_cast<int64_t>(field.max_items)},
                          {"additionalProperties", expression_schema()}};
    case FieldKind::epilogue:
      break;
  }
  return json::Object{{"type", "array"}, {"items", word_schema(field)}, {"uniqueItems", true}};
}

json::Object field_schema(const Field& field) {
  json::Object schema = value_schema(field);
  const bool stands_for = field.kind == FieldKind::section && !field.default_text.empty();
  if (stands_for || (field.accepts_auto() && field.kind != FieldKind::word))
    schema = json::Object{
        {"anyOf", json::Array{json::Object{{"const", llvm::StringRef(field.default_text)}},
                              std::move(schema)}}};
  std::string description(field.description);
  if (!field.same_as.empty()) description += fmt::format("; default: as {}", field.same_as);
  if (!field.default_text.empty()) description += fmt::format("; default: {}", field.default_text);
  schema["description"] = description;
  return schema;
}

json::Object section_schema(llvm::StringRef section) {
  json::Object properties;
  json::Array required;
  for (const Field& field : fields()) {
    if (llvm::StringRef(field.section()) != section) continue;
    const llvm::StringRef key = field.leaf();
    properties[key] = field_schema(field);
    if (field.required) required.push_back(key);
  }
  json::Object schema{
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

}  // namespace

std::string spec_json_schema() {
  json::Object schema = section_schema("");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "tilepost spec, format 1";
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream(stream, /*IndentSize=*/2).value(json::Value(std::move(schema)));
  stream << '\n';
  return text;
}

}  // namespace tilepost
