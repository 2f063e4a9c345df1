// The table of all fields of format 1. The reader, the overrides, the JSON Schema and the test of
// docs/spec.md go through it, so that they cannot disagree. A new field is one row here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/names.h"
#include "generator/spec/spec.h"

namespace tilepost {

enum class FieldKind {
  section,      // a mapping of fields "path.…"
  integer,      // one whole number
  size,         // one whole number, or {max: number} for one that is known at run time only
  integers,     // a list of whole numbers
  word,         // one of choices
  words,        // one of choices, or a list of them
  identifier,   // identifier.h
  epilogue,     // a list of some of choices
  text,         // a word of any letters
  texts,        // a list of them
  part,         // a number above 0 and at most 1
  expression,   // one Expression
  expressions,  // a list of them; one alone stands for a list of one
  arguments,    // a mapping of names: what each parameter of a kernel is given
  multiples,    // a mapping of m, n and k: whole numbers, or {equals: …} of one
  user_data,    // a mapping of names: bytes of each, as an Expression
};

// A value as read, before it is stored. Only the members for the field's kind are filled.
struct FieldValue {
  int64_t integer = 0;
  bool bound = false;  // size: whether the number is {max: …}
  std::vector<int64_t> integers;
  std::vector<int> choices;   // values of the spellings; one for a word
  std::vector<Place> places;  // epilogue: of each choice
  std::string text;
  std::vector<Located<std::string>> texts;
  double part = 0;
  std::vector<Expression> expressions;
  std::vector<KernelArgument> arguments;
  std::array<int64_t, 3> multiples = {1, 1, 1};  // of m, n, k
  std::vector<UserData> user_data;
  std::array<int64_t, 3> equals = {};  // multiples: the only m, n, k; 0: not given
  Place where;
};

struct Field {
  std::string_view path = {};  // dotted: "gemm.m"
  FieldKind kind = FieldKind::integer;
  bool required = false;
  int64_t min = 0, max = 0;                // bounds of each number
  std::span<const int64_t> values = {};    // if not empty, the only numbers allowed
  size_t min_items = 0, max_items = 0;     // bounds of a list's length
  std::span<const Spelling> choices = {};  // of kinds word, words and epilogue
  std::string_view noun = {};              // what a text is: "a path", or texts: "paths"
  // The default as the user would write it; "auto": the field stays absent. A section takes this
  // word in place of its mapping.
  std::string_view default_text = {};
  std::string_view same_as = {};      // the default is the value of this field
  std::string_view description = {};  // for the schema
  void (*store)(Spec&, const FieldValue&) = nullptr;

  std::string_view section() const;  // "gemm", or "" at the top
  std::string_view leaf() const;     // "m"
  // Whether the word auto is accepted and leaves the choice to the planner, whatever the kind.
  bool accepts_auto() const { return default_text == "auto"; }
};

// All fields, a section before what is in it, in the order of docs/spec.md.
std::span<const Field> fields();

// The key of a size's mapping.
inline constexpr std::string_view kMaxKey = "max";

// The field at this dotted path, or null.
const Field* find_field(std::string_view path);

// What the field takes, as messages and docs/spec.md say it: "a whole number from 1 to 64".
std::string expectation(const Field& field);

// ", did you mean 'groups'?" for a key that is no field of `section`. The suggestion is a field of
// the section, or a whole path if the key belongs elsewhere. "" if none is near.
std::string suggest_key(std::string_view section, std::string_view key);

// suggest_key() for a dotted path.
std::string suggest_path(std::string_view path);

}  // namespace tilepost
