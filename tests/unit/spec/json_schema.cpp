#include "tests/unit/spec/json_schema.h"

#include <regex>

namespace tilepost::test {
namespace {

namespace json = llvm::json;

bool matches(const json::Value& value, const json::Value& schema) {
  return mismatch(value, *schema.getAsObject()).empty();
}

std::string check_type(const json::Value& value, llvm::StringRef type) {
  const bool ok = type == "object"    ? value.getAsObject() != nullptr
                  : type == "array"   ? value.getAsArray() != nullptr
                  : type == "string"  ? value.getAsString().has_value()
                  : type == "integer" ? value.getAsInteger().has_value()
                  : type == "number"  ? value.getAsNumber().has_value()
                  : type == "null"    ? value.getAsNull().has_value()
                  : type == "boolean" ? value.getAsBoolean().has_value()
                                      : false;
  return ok ? "" : "not of type " + type.str();
}

std::string check_properties(const json::Object& object, const json::Object& schema) {
  const json::Object* properties = schema.getObject("properties");
  const auto size = static_cast<int64_t>(object.size());
  if (size > schema.getInteger("maxProperties").value_or(size)) return "too many properties";
  for (const auto& [key, value] : object) {
    const json::Object* property = properties != nullptr ? properties->getObject(key) : nullptr;
    if (property == nullptr) {
      if (schema.getBoolean("additionalProperties") == false) return "additional " + key.str();
      const json::Object* others = schema.getObject("additionalProperties");
      if (others != nullptr && !matches(value, json::Object(*others)))
        return "value of " + key.str();
      continue;
    }
    if (const std::string reason = mismatch(value, *property); !reason.empty())
      return key.str() + ": " + reason;
  }
  if (const json::Array* required = schema.getArray("required"))
    for (const json::Value& key : *required)
      if (object.get(*key.getAsString()) == nullptr) return "missing " + key.getAsString()->str();
  return "";
}

std::string check_array(const json::Array& array, const json::Object& schema) {
  const auto size = static_cast<int64_t>(array.size());
  if (size < schema.getInteger("minItems").value_or(0)) return "too few items";
  if (size > schema.getInteger("maxItems").value_or(size)) return "too many items";
  if (const json::Object* items = schema.getObject("items"))
    for (const json::Value& item : array)
      if (const std::string reason = mismatch(item, *items); !reason.empty())
        return "item " + reason;
  if (schema.getBoolean("uniqueItems").value_or(false))
    for (size_t i = 0; i < array.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (array[i] == array[j]) return "repeated item";
  if (const json::Value* contained = schema.get("contains"))
    if (llvm::none_of(array, [&](const json::Value& item) { return matches(item, *contained); }))
      return "does not contain";
  return "";
}

std::string check_string(llvm::StringRef text, const json::Object& schema) {
  if (text.size() > static_cast<uint64_t>(schema.getInteger("maxLength").value_or(1 << 30)))
    return "too long";
  if (const auto pattern = schema.getString("pattern"))
    if (!std::regex_search(text.str(), std::regex(pattern->str()))) return "pattern";
  return "";
}

std::string check_choices(const json::Value& value, const json::Object& schema) {
  if (const json::Value* constant = schema.get("const"); constant && !(*constant == value))
    return "not the constant";
  if (const json::Array* choices = schema.getArray("enum"))
    if (!llvm::is_contained(*choices, value)) return "not in enum";
  if (const json::Array* any = schema.getArray("anyOf"))
    if (llvm::none_of(*any, [&](const json::Value& one) { return matches(value, one); }))
      return "none of anyOf";
  if (const json::Value* negated = schema.get("not"); negated && matches(value, *negated))
    return "matches not";
  return "";
}

}  // namespace

std::string mismatch(const json::Value& value, const json::Object& schema) {
  static const char* const kKnown[] = {"$schema",      "title",      "description",
                                       "type",         "properties", "required",
                                       "items",        "enum",       "const",
                                       "minimum",      "not",        "additionalProperties",
                                       "maximum",      "anyOf",      "pattern",
                                       "minItems",     "maxItems",   "contains",
                                       "uniqueItems",  "maxLength",  "exclusiveMinimum",
                                       "maxProperties"};
  for (const auto& [key, unused] : schema)
    if (!llvm::is_contained(kKnown, key.str())) return "keyword " + key.str();
  if (const auto type = schema.getString("type"))
    if (std::string reason = check_type(value, *type); !reason.empty()) return reason;
  if (std::string reason = check_choices(value, schema); !reason.empty()) return reason;
  if (const auto number = value.getAsInteger()) {
    if (*number < schema.getInteger("minimum").value_or(*number)) return "below minimum";
    if (*number > schema.getInteger("maximum").value_or(*number)) return "above maximum";
  }
  if (const auto number = value.getAsNumber())
    if (*number <= schema.getNumber("exclusiveMinimum").value_or(*number - 1))
      return "not above minimum";
  if (const auto number = value.getAsNumber())
    if (*number > schema.getNumber("maximum").value_or(*number)) return "above maximum";
  if (const json::Object* object = value.getAsObject()) return check_properties(*object, schema);
  if (const json::Array* array = value.getAsArray()) return check_array(*array, schema);
  if (const auto text = value.getAsString()) return check_string(*text, schema);
  return "";
}

}  // namespace tilepost::test
