#include "generator/spec/read_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "generator/spec/identifier.h"
#include "generator/spec/text.h"
#include "generator/spec/words/other_names.h"

namespace tilepost {
namespace {

using std::string_view;

// The number a plain scalar spells: decimal, no leading zeros (octal to some readers of YAML).
std::optional<int64_t> parse_integer(const Value& value) {
  const string_view text = value.text;
  const string_view digits = text.substr(std::min(text.find_first_not_of('-'), text.size()));
  if (value.kind != Value::Kind::scalar || value.quoted || digits.empty() ||
      (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// The finite decimal number that a plain scalar spells.
std::optional<double> parse_real(const Value& value) {
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  const bool read = value.kind == Value::Kind::scalar && !value.quoted && error == std::errc() &&
                    stop == end && std::isfinite(number);
  return read ? std::optional(number) : std::nullopt;
}

const Spelling* find_spelling(const Field& field, string_view text) {
  for (const Spelling& choice : field.choices)
    if (choice.text == text) return &choice;
  return nullptr;
}

template <class List, class T>
bool contains(const List& list, const T& value) {
  return std::ranges::find(list, value) != std::end(list);
}

class FieldReader {
 public:
  FieldReader(const Field& field, Diagnostics& diagnostics)
      : field_(field), diagnostics_(diagnostics) {}

  // Fills `reading`. Returns false if the value is refused, with the reason reported.
  bool read(const Value& value, FieldValue& reading) {
    reading.where = value.where;
    switch (field_.kind) {
      case FieldKind::section:
        break;
      case FieldKind::integer:
        return read_integer(value, reading.integer);
      case FieldKind::size:
        return read_size(value, reading);
      case FieldKind::integers:
        return read_integers(value, reading);
      case FieldKind::word:
        return read_word(value, reading);
      case FieldKind::words:
        return read_words(value, reading);
      case FieldKind::identifier:
        return read_identifier(value, reading);
      case FieldKind::epilogue:
        return read_epilogue(value, reading);
      case FieldKind::text:
        return read_text(value, reading.text);
      case FieldKind::texts:
        return read_texts(value, reading.texts);
      case FieldKind::part:
        return read_part(value, reading.part);
      case FieldKind::expression:
        return read_expression(value, reading.expressions.emplace_back());
      case FieldKind::expressions:
        return read_expressions(value, reading.expressions);
      case FieldKind::arguments:
        return read_arguments(value, reading.arguments);
      case FieldKind::multiples:
        return read_multiples(value, reading);
      case FieldKind::user_data:
        return read_user_data(value, reading.user_data);
    }
    return true;
  }

 private:
  // "gemm.m must be …; ", and what it is not.
  bool refuse_because(const Value& value, string_view reason) {
    diagnostics_.error(value.where,
                       fmt::format("{} must be {}; {}", field_.path, expectation(field_), reason));
    return false;
  }

  bool refuse(const Value& value, string_view hint = "") {
    return refuse_because(value, fmt::format("got {}{}", describe(value), hint));
  }

  bool refuse_later(const Value& value, string_view what) {
    diagnostics_.error(value.where,
                       fmt::format("{}: {} is not supported by this version; supported: {}",
                                   field_.path, what, expectation(field_)));
    return false;
  }

  bool in_range(int64_t number) const {
    return number >= field_.min && number <= field_.max &&
           (field_.values.empty() || contains(field_.values, number));
  }

  bool read_integer(const Value& value, int64_t& out) {
    const std::optional<int64_t> number = parse_integer(value);
    if (!number || !in_range(*number)) return refuse(value);
    out = *number;
    return true;
  }

  bool read_size(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::mapping) return read_integer(value, reading.integer);
    const Value* most = nullptr;
    bool ok = true;
    for (const Entry& entry : value.entries) {
      if (entry.key == kMaxKey) {
        most = &entry.value;
        continue;
      }
      std::string hint = did_you_mean(entry.key, {kMaxKey});
      if (hint.empty()) hint = fmt::format("; {} has {}", field_.path, kMaxKey);
      diagnostics_.error(entry.where, fmt::format("unknown key {}{}", quote(entry.key), hint));
      ok = false;
    }
    reading.bound = true;
    if (most == nullptr) return ok && refuse(value, fmt::format(" without {}", quote(kMaxKey)));
    return read_bound(*most, reading.integer) && ok;
  }

  bool read_bound(const Value& value, int64_t& out) {
    const std::optional<int64_t> number = parse_integer(value);
    if (number && in_range(*number)) {
      out = *number;
      return true;
    }
    diagnostics_.error(
        value.where, fmt::format("{}.{} must be a whole number from {} to {}; got {}", field_.path,
                                 kMaxKey, field_.min, field_.max, describe(value)));
    return false;
  }

  bool read_integers(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::sequence) return refuse(value);
    const size_t count = value.items.size();
    if (count < field_.min_items || count > field_.max_items)
      return refuse_because(value, fmt::format("got a list of {}", count));
    bool ok = true;
    for (const Value& item : value.items) {
      const std::optional<int64_t> number = parse_integer(item);
      if (number && in_range(*number))
        reading.integers.push_back(*number);
      else
        ok = refuse_item(item);
    }
    return ok;
  }

  bool refuse_item(const Value& item) {
    diagnostics_.error(item.where,
                       fmt::format("every number of {} must be from {} to {}; got {}", field_.path,
                                   field_.min, field_.max, describe(item)));
    return false;
  }

  bool read_word(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::scalar) return refuse(value);
    const Spelling* choice = find_spelling(field_, value.text);
    if (choice == nullptr) return refuse_word(value);
    reading.choices.push_back(choice->value);
    return true;
  }

  bool refuse_word(const Value& value) {
    std::vector<string_view> texts;
    for (const Spelling& choice : field_.choices) texts.push_back(choice.text);
    const OtherName other = other_name(value.text, texts);
    return other.not_yet ? refuse_later(value, quote(value.text)) : refuse(value, other.hint);
  }

  bool read_words(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::sequence) return read_word(value, reading);
    if (value.items.empty()) return refuse_because(value, "got an empty list");
    bool ok = true;
    for (const Value& item : value.items) {
      FieldValue one;
      ok = read_word(item, one) && add_choice(item, one, reading) && ok;
    }
    return ok;
  }

  bool add_choice(const Value& item, const FieldValue& one, FieldValue& reading) {
    if (contains(reading.choices, one.choices.front())) {
      diagnostics_.error(item.where,
                         fmt::format("{} lists {} twice", field_.path, quote(item.text)));
      return false;
    }
    reading.choices.push_back(one.choices.front());
    return true;
  }

  bool read_identifier(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::scalar) return refuse(value);
    if (const std::string reason = why_not_a_name(value.text); !reason.empty())
      return refuse_because(value, fmt::format("{} {}", quote(value.text), reason));
    reading.text = value.text;
    return true;
  }

  bool read_epilogue(const Value& value, FieldValue& reading) {
    if (value.kind != Value::Kind::sequence) return refuse(value);
    bool ok = true;
    for (const Value& item : value.items) ok = read_operation(item, reading) && ok;
    return ok;
  }

  bool read_operation(const Value& item, FieldValue& reading) {
    FieldValue one;
    if (!read_word(item, one)) return false;
    if (!add_choice(item, one, reading)) return false;
    reading.places.push_back(item.where);
    return true;
  }

  bool read_text(const Value& value, std::string& text) {
    if (value.kind != Value::Kind::scalar || value.text.empty()) return refuse(value);
    text = value.text;
    return true;
  }

  bool read_texts(const Value& value, std::vector<Located<std::string>>& texts) {
    if (value.kind != Value::Kind::sequence) return refuse(value);
    if (value.items.size() > field_.max_items)
      return refuse_because(value, fmt::format("got a list of {}", value.items.size()));
    bool ok = true;
    for (const Value& item : value.items)
      ok = read_text(item, texts.emplace_back(Located<std::string>{{}, item.where}).value) && ok;
    return ok;
  }

  bool read_part(const Value& value, double& part) {
    const std::optional<double> number = parse_real(value);
    if (!number || !(*number > 0 && *number <= 1)) return refuse(value);
    part = *number;
    return true;
  }

  bool read_expression(const Value& value, Expression& expression) {
    if (value.kind != Value::Kind::scalar) return refuse(value);
    std::string why;
    std::optional<Expression> read = Expression::parse(value.text, why);
    if (!read) return refuse(value, ": " + why);
    expression = std::move(*read);
    return true;
  }

  bool read_expressions(const Value& value, std::vector<Expression>& expressions) {
    if (value.kind != Value::Kind::sequence)
      return read_expression(value, expressions.emplace_back());
    const size_t count = value.items.size();
    if (count < field_.min_items || count > field_.max_items)
      return refuse_because(value, fmt::format("got a list of {}", count));
    bool ok = true;
    for (const Value& item : value.items)
      ok = read_expression(item, expressions.emplace_back()) && ok;
    return ok;
  }

  bool read_arguments(const Value& value, std::vector<KernelArgument>& arguments) {
    if (value.kind != Value::Kind::mapping) return refuse(value);
    bool ok = true;
    for (const Entry& entry : value.entries) {
      KernelArgument& argument = arguments.emplace_back();
      argument.parameter = entry.key;
      argument.where = entry.where;
      if (!is_c_name(entry.key)) {
        diagnostics_.error(entry.where, fmt::format("{} has parameters' names; {} is none",
                                                    field_.path, quote(entry.key)));
        ok = false;
      }
      if (read_argument(entry.value, argument)) continue;
      arguments.pop_back();
      ok = false;
    }
    return ok;
  }

  bool read_argument(const Value& value, KernelArgument& argument) {
    using Kind = KernelArgument::Kind;
    constexpr std::pair<string_view, Kind> kMemory[] = {
        {"a", Kind::a}, {"b", Kind::b}, {"out", Kind::out}, {"null", Kind::null}};
    const bool is_null = value.kind == Value::Kind::null && value.text == "null";
    if (value.kind != Value::Kind::scalar && !is_null) return refuse(value);
    for (const auto& [word, kind] : kMemory) {
      if (value.text != word) continue;
      argument.kind = kind;
      return true;
    }
    constexpr string_view kUser = "user.";
    if (value.text.starts_with(kUser)) {
      argument.kind = Kind::user;
      argument.data = value.text.substr(kUser.size());
      return true;
    }
    const std::optional<double> real = parse_real(value);
    if (real && !parse_integer(value)) {
      argument.kind = Kind::real;
      argument.real = *real;
      return true;
    }
    // An expression cannot begin with a sign, so a negative number is read here.
    if (const std::optional<int64_t> whole = parse_integer(value); whole && *whole < 0) {
      argument.whole = Expression(*whole);
      return true;
    }
    return read_number(value, argument.whole);
  }

  // Reads a whole number. If the value is a single unknown word, the refusal suggests what was
  // meant.
  bool read_number(const Value& value, Expression& whole) {
    std::string why;
    if (!is_c_name(value.text) || Expression::parse(value.text, why))
      return read_expression(value, whole);
    const std::string meant = did_you_mean(value.text, {"a", "b", "out", "null", "m", "n", "k"});
    if (!meant.empty()) return refuse(value, meant);
    return refuse(value, fmt::format(": {} is not known; data of your own is user.{}, and "
                                     "kernel.user says its bytes",
                                     quote(value.text), value.text));
  }

  bool read_user_data(const Value& value, std::vector<UserData>& list) {
    if (value.kind != Value::Kind::mapping) return refuse(value);
    if (value.entries.size() > field_.max_items)
      return refuse_because(value, fmt::format("got {}", value.entries.size()));
    bool ok = true;
    for (const Entry& entry : value.entries) {
      UserData& data = list.emplace_back();
      data.name = entry.key;
      data.where = entry.where;
      if (!is_c_name(entry.key)) {
        diagnostics_.error(entry.where, fmt::format("{} has names as C has them; {} is none",
                                                    field_.path, quote(entry.key)));
        ok = false;
      }
      ok = read_expression(entry.value, data.bytes) && ok;
    }
    return ok;
  }

  bool read_multiples(const Value& value, FieldValue& reading) {
    constexpr string_view kSizes[] = {"m", "n", "k"};
    if (value.kind != Value::Kind::mapping) return refuse(value);
    bool ok = true;
    for (const Entry& entry : value.entries) {
      const auto* size = std::ranges::find(kSizes, string_view(entry.key));
      if (size == std::end(kSizes)) {
        diagnostics_.error(entry.where, fmt::format("unknown key {}; {} has m, n and k",
                                                    quote(entry.key), field_.path));
        ok = false;
        continue;
      }
      const auto i = static_cast<size_t>(size - kSizes);
      const bool alone = entry.value.kind == Value::Kind::mapping &&
                         entry.value.entries.size() == 1 &&
                         entry.value.entries.front().key == "equals";
      ok = read_integer(alone ? entry.value.entries.front().value : entry.value,
                        alone ? reading.equals[i] : reading.multiples[i]) &&
           ok;
    }
    return ok;
  }

  const Field& field_;
  Diagnostics& diagnostics_;
};

// Called for a field whose value was refused. Some rules between fields would report such a field
// as missing, though it was given. For these kinds of fields, makes `reading` a value that no rule
// refuses and returns true.
bool stands_for_refused(const Field& field, FieldValue& reading) {
  switch (field.kind) {
    case FieldKind::expression:
      reading.expressions = {Expression(1)};
      return true;
    case FieldKind::expressions:
      reading.expressions.clear();
      return true;
    case FieldKind::arguments:
      if (!std::ranges::count(reading.arguments, KernelArgument::Kind::out, &KernelArgument::kind))
        reading.arguments.emplace_back().kind = KernelArgument::Kind::out;
      return true;
    default:
      return false;
  }
}

}  // namespace

void read_field(const Field& field, const Value& value, Spec& spec, Diagnostics& diagnostics) {
  const bool is_auto = value.kind == Value::Kind::scalar && value.text == "auto";
  if (is_auto && field.accepts_auto() && field.kind != FieldKind::word) return;
  FieldValue reading;
  FieldReader reader(field, diagnostics);
  const bool taken = reader.read(value, reading) || stands_for_refused(field, reading);
  if (taken && field.store != nullptr) field.store(spec, reading);
}

void store_default(const Field& field, Spec& spec) {
  if (field.kind != FieldKind::word || field.store == nullptr) return;
  const Spelling* choice = find_spelling(field, field.default_text);
  if (choice == nullptr) return;
  FieldValue reading;
  reading.choices.push_back(choice->value);
  field.store(spec, reading);
}

}  // namespace tilepost
