#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "generator/spec/fields.h"

namespace tilepost::fuzz {
namespace {

class Maker {
 public:
  Maker(const std::vector<std::string>& seeds, uint64_t seed, uint64_t number)
      : seeds_(seeds), random_(seed * 0x9e3779b97f4a7c15 + number) {}

  std::string make(bool wild);

 private:
  // ---- Choices

  // A number below `bound`, which is below 2^32. It is the same with every standard library.
  size_t below(size_t bound) { return static_cast<size_t>(random_() % std::max<size_t>(bound, 1)); }

  template <class List>
  const auto& any_of(const List& list) {
    return list[below(std::size(list))];
  }

  // A place in the text, its end included.
  size_t place() { return below(text_.size() + 1); }

  // ---- Values as the table of fields has them. Most of them are allowed

  std::string number(const Field& field) {
    if (!field.values.empty()) return std::to_string(any_of(field.values));
    const int64_t span = field.max - field.min;
    switch (below(16)) {
      case 0:
        return std::to_string(below(2) != 0 ? field.max : field.min);
      case 1:
        return std::to_string(below(2) != 0 ? field.max + 1 : field.min - 1);
      case 2: {  // powers of two and their neighbours
        const int64_t power = int64_t{1} << below(32);
        return std::to_string(power + static_cast<int64_t>(below(3)) - 1);
      }
      default:  // small ones are more frequent
        return std::to_string(field.min + static_cast<int64_t>(below(std::min<int64_t>(
                                              span, int64_t{1} << (1 + below(13))))));
    }
  }

  std::string list_of_numbers(const Field& field) {
    if (field.leaf() == "tile") {
      constexpr int kTiles[] = {16, 32, 48, 64, 128, 192, 256, 512};
      return "[" + std::to_string(any_of(kTiles)) + ", " + std::to_string(any_of(kTiles)) + "]";
    }
    std::string text;
    for (size_t i = 1 + below(5); i > 0; --i) text += number(field) + (i > 1 ? ", " : "");
    return "[" + text + "]";
  }

  std::string list_of_words(const Field& field, size_t most) {
    std::string text;
    size_t first = 0;  // in the order of the table, which the epilogue needs
    for (size_t i = below(most + 1); i > 0 && first < field.choices.size(); --i) {
      first += below(field.choices.size() - first);
      text += (text.empty() ? "" : ", ") + std::string(field.choices[first++].text);
    }
    return "[" + text + "]";
  }

  std::string expression() {
    constexpr const char* kExpressions[] = {
        "1",     "128",   "m",         "n / 64", "'ceil_div(m, 64)'",      "(m + n) * k % 7",
        "m - n", "m / 0", "k * k * k", "'min('", "9223372036854775807 * n"};
    return any_of(kExpressions);
  }

  std::string value(const Field& field) {
    if (field.accepts_auto() && below(8) == 0) return "auto";
    switch (field.kind) {
      case FieldKind::integer:
        return number(field);
      case FieldKind::size:
        return below(4) == 0 ? "{max: " + number(field) + "}" : number(field);
      case FieldKind::integers:
        return list_of_numbers(field);
      case FieldKind::word:
        return std::string(any_of(field.choices).text);
      case FieldKind::words:
        return below(4) == 0 ? list_of_words(field, 3) : std::string(any_of(field.choices).text);
      case FieldKind::epilogue:
        return list_of_words(field, 4);
      case FieldKind::identifier:
        return below(2) != 0 ? "x" : "tilepost_x";
      case FieldKind::section:
        return below(2) != 0 ? "auto" : "{}";
      case FieldKind::text:
        return below(2) != 0 ? "lib::f<64>" : "a.cu";
      case FieldKind::texts:
        return below(2) != 0 ? "[A, 'B=2']" : "[include]";
      case FieldKind::part:
        return below(4) == 0 ? "1" : "0." + std::to_string(below(1000));
      case FieldKind::expression:
        return expression();
      case FieldKind::expressions:
        return below(2) != 0 ? expression() : "[" + expression() + ", " + expression() + "]";
      case FieldKind::arguments:
        return "{C: out, A: a, M: " + expression() + ", x: 0.5, y: null, z: user.q}";
      case FieldKind::user_data:
        return "{q: " + expression() + ", r: 8}";
      case FieldKind::multiples:
        return "{m: " + number(field) + ", k: " + number(field) + "}";
    }
    return "";
  }

  void override_field() {
    const Field* field = &any_of(fields());
    while (field->kind == FieldKind::section && below(32) != 0) field = &any_of(fields());
    text_ += '\0' + std::string(field->path) + "=" + value(*field);
  }

  // ---- Damage

  std::string word() {
    const Field& field = any_of(fields());
    switch (below(5)) {
      case 0:
        return std::string(field.path);
      case 1:
        return std::string(field.leaf()) + ": ";
      case 2:
        return value(field);
      case 3:
        return "\n" + std::string(below(4) * 2, ' ') + std::string(field.leaf()) + ": " +
               value(field) + "\n";
      default: {
        constexpr const char* kMarks[] = {
            "[",       "]",       "{",     "}",   ",",  ": ",   "- ",   "'",
            "\"",      "#",       "&a ",   "*a",  "!!", "|\n",  "\t",   "%YAML 1.2\n",
            "\n",      "? ",      "---\n", "...", "~",  "\r",   "\xff", "\xe2\x80\xae",
            "\x1b[2J", "\\u0000", "0x10",  "1e9", "-",  "null", "<<: "};
        return any_of(kMarks);
      }
    }
  }

  void damage() {
    const size_t at = place(), length = std::min(text_.size() - at, 1 + below(24));
    switch (below(9)) {
      case 0:
        if (at < text_.size()) text_[at] = static_cast<char>(random_());
        return;
      case 1:
        text_.erase(at, length);
        return;
      case 2:
        text_.insert(place(), text_.substr(at, length));
        return;
      case 3: {
        const std::string& other = any_of(seeds_);
        const size_t from = below(other.size());
        text_.replace(at, length, other.substr(from, 1 + below(64)));
        return;
      }
      case 4:
        if (below(8) == 0) {  // a very long repetition
          const std::string part = word();
          std::string many;
          for (size_t i = 1 + below(1u << (1 + below(12))); i > 0; --i) many += part;
          text_.insert(at, many);
          return;
        }
        [[fallthrough]];
      default:
        text_.insert(at, word());
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
  std::string text_;
};

std::string Maker::make(bool wild) {
  text_ = any_of(seeds_);
  const bool damaged = below(16) < (wild ? 11u : 1u);
  for (size_t i = 1 + below(wild ? 5 : 3); i > 0; --i) override_field();
  if (damaged)
    for (size_t i = 1 + below(6); i > 0; --i) damage();
  return text_;
}

}  // namespace

std::string make_input(const std::vector<std::string>& seeds, uint64_t seed, uint64_t number,
                       bool wild) {
  return Maker(seeds, seed, number).make(wild);
}

}  // namespace tilepost::fuzz
