#include "generator/spec/read_spec.h"

#include "generator/spec/document.h"
#include "generator/spec/fields.h"
#include "generator/spec/guard.h"
#include "generator/spec/overrides.h"
#include "generator/spec/read_field.h"
#include "generator/spec/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

using llvm::StringRef;

class SpecReader {
 public:
  SpecReader(Spec& spec, Diagnostics& diagnostics) : spec_(spec), diagnostics_(diagnostics) {}

  // Reads all fields of `section` ("" at the top) out of `mapping`. `where` is what a missing
  // field is missing from.
  void read_section(StringRef section, const Value& mapping, Place where) {
    for (const Entry& entry : mapping.entries) {
      const Field* field = find_field(section.empty() ? entry.key : path_of(section, entry.key));
      if (field != nullptr && field->section() == section)
        read_entry(*field, entry);
      else
        refuse_key(section, entry);
    }
    for (const Field& field : fields()) {
      if (field.section() != section || mapping.find(field.leaf()) != nullptr) continue;
      if (field.required)
        diagnostics_.error(where,
                           "missing " + quote(field.path) + "; it must be " + expectation(field));
      else
        store_absent(field);
    }
  }

 private:
  static std::string path_of(StringRef section, StringRef key) {
    return (section + "." + key).str();
  }

  void read_entry(const Field& field, const Entry& entry) {
    if (field.kind != FieldKind::section)
      return read_field(field, entry.value, spec_, diagnostics_);
    const bool is_auto = entry.value.kind == Value::Kind::scalar && entry.value.text == "auto";
    if (is_auto && field.accepts_auto()) return store_absent(field);
    if (entry.value.kind != Value::Kind::mapping) {
      diagnostics_.error(entry.value.where, field.path + " must be " + expectation(field) +
                                                "; got " + describe(entry.value));
      return;
    }
    Reading reading;
    reading.where = entry.where;
    field.store(spec_, reading);
    read_section(field.path, entry.value, entry.where);
  }

  void refuse_key(StringRef section, const Entry& entry) {
    std::string hint = suggest_key(section, entry.key);
    if (hint.empty()) {
      std::vector<StringRef> keys;
      for (const Field& field : fields())
        if (field.section() == section) keys.push_back(field.leaf());
      hint = (section.empty() ? "; a spec has " : "; " + section.str() + " has ") + join(keys);
    }
    diagnostics_.error(entry.where, "unknown key " + quote(entry.key) + hint);
  }

  void store_absent(const Field& field) {
    if (field.kind != FieldKind::section) return store_default(field, spec_);
    for (const Field& child : fields())
      if (child.section() == field.path) store_default(child, spec_);
  }

  Spec& spec_;
  Diagnostics& diagnostics_;
};

// A spec of another format is not judged by this one's fields.
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

}  // namespace

std::optional<Spec> read_spec(StringRef name, StringRef text,
                              const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  const int errors = diagnostics.errors();
  const StringRef source = diagnostics.add_source(name, text);
  if (!guard_file(source, diagnostics)) return std::nullopt;
  std::optional<Value> root = parse_document(source, diagnostics);
  if (!root) return std::nullopt;
  if (root->kind != Value::Kind::mapping) {
    diagnostics.error(root->where,
                      "a spec is a mapping that starts with 'tilepost: 1'; got " + describe(*root));
    return std::nullopt;
  }
  apply_overrides(overrides, *root, diagnostics);
  if (!check_format(*root, diagnostics)) return std::nullopt;

  Spec spec;
  spec.path = name.str();
  SpecReader reader(spec, diagnostics);
  const char* start = root->entries.empty() ? root->where.begin : root->entries[0].where.begin;
  reader.read_section("", *root, {start, start});
  apply_rules(spec, diagnostics);
  if (diagnostics.errors() != errors) return std::nullopt;
  return spec;
}

}  // namespace tilepost
