#include "generator/diagnostics.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tilepost {
namespace {

using std::string_view;

// How many letters must be added, dropped or replaced to turn one text into the other.
size_t edit_distance(string_view from, string_view to) {
  std::vector<size_t> row(to.size() + 1);  // distances of a prefix of `from` to all those of `to`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

bool is_separator(char c) {
  return c == '_' || c == '-' || c == '.' || c == ' ';
}

// The parts of a text between separators.
std::vector<string_view> parts_of(string_view text) {
  std::vector<string_view> parts;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const size_t first = begin;
    while (begin < text.size() && !is_separator(text[begin])) ++begin;
    if (begin > first) parts.push_back(text.substr(first, begin - first));
  }
  return parts;
}

// Whether `choice` lacks a part of `word`: 'gemm' for 'gemm_rs', but not 'bf16' for 'b_f16'. Such a
// choice does something else than was asked for.
bool drops_a_part(string_view word, string_view choice) {
  const std::vector<string_view> parts = parts_of(word);
  if (parts.size() <= parts_of(choice).size()) return false;
  std::string whole;
  for (const string_view part : parts) whole += part;
  std::string letters(choice);
  std::erase_if(letters, is_separator);
  return edit_distance(whole, letters) > 0;
}

}  // namespace

std::string lower_case(string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

void Diagnostics::error(Place where, string_view message) {
  if (errors_ < std::numeric_limits<int>::max()) ++errors_;
  show(Severity::error, where, message);
}

void Diagnostics::warning(Place where, string_view message) {
  if (refuses_warnings_) return error(where, std::string(message) + " [--werror]");
  show(Severity::warning, where, message);
}

std::string did_you_mean(string_view word, const std::vector<string_view>& choices) {
  // A third of the letters may be wrong; beyond that a guess confuses more than it helps.
  constexpr size_t kMaxWord = 64;
  if (word.empty() || word.size() > kMaxWord) return "";
  const size_t limit = word.size() == 1 ? 0 : (word.size() + 2) / 3;
  const std::string lower = lower_case(word);
  size_t best = limit + 1;
  std::string nearest, nearest_lower;
  for (const string_view choice : choices) {
    const std::string other = lower_case(choice);
    if (drops_a_part(lower, other)) continue;
    const size_t distance = edit_distance(lower, other);
    // Among equally near choices one that begins with the word wins: sm_90 suggests sm_90a rather
    // than sm_80.
    const bool completes =
        distance == best && other.starts_with(lower) && !nearest_lower.starts_with(lower);
    if (distance < best || (completes && distance <= limit)) {
      best = distance;
      nearest = choice;
      nearest_lower = other;
    }
  }
  return best <= limit ? ", did you mean '" + nearest + "'?" : "";
}

}  // namespace tilepost
