#include "tests/infer/mutate.h"

#include <algorithm>
#include <map>
#include <vector>

namespace tilepost {
namespace {

struct Token {
  size_t begin, end;
  std::string text;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The words, numbers and operators of the code. Comments, strings, types in <> of casts, and lines
// of the preprocessor except #define are left out.
std::vector<Token> tokens_of(const std::string& source) {
  static const std::vector<std::string> operators = {
      "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "++", "--", "->",
      "::", "<",  ">",  "+",  "-",  "*",  "/",  "%",  "&",  "|",  "^",  "=",  "?"};
  std::vector<Token> list;
  for (size_t at = 0; at < source.size();) {
    if (source.compare(at, 2, "//") == 0 || source.compare(at, 8, "#include") == 0) {
      at = std::min(source.find('\n', at), source.size());
      continue;
    }
    if (source[at] == '"') {
      at = source.find('"', at + 1) + 1;
      continue;
    }
    size_t end = at;
    while (end < source.size() &&
           (is_word(source[end]) || (source[end] == '.' && end > at &&
                                     std::isdigit(static_cast<unsigned char>(source[at])))))
      ++end;
    if (end == at) {
      for (const std::string& one : operators) {
        if (source.compare(at, one.size(), one) == 0) {
          end = at + one.size();
          break;
        }
      }
    }
    if (end > at) list.push_back({at, end, source.substr(at, end - at)});
    at = std::max(end, at + 1);
  }
  return list;
}

// What a token may become. The list may be empty.
std::vector<std::string> others(const std::string& token, const std::vector<std::string>& names) {
  static const std::map<std::string, std::vector<std::string>> table = {
      {"<", {"<=", ">", "!="}},
      {"<=", {"<"}},
      {">=", {">", "<"}},
      {">", {">=", "<"}},
      {"==", {"!="}},
      {"!=", {"=="}},
      {"&&", {"||"}},
      {"||", {"&&"}},
      {"+", {"-", "*", "|"}},
      {"-", {"+"}},
      {"*", {"+", "/"}},
      {"/", {"%", "*"}},
      {"%", {"/"}},
      {"+=", {"-=", "="}},
      {"<<", {">>"}},
      {">>", {"<<"}},
      {"&", {"|"}},
      {"|", {"&", "+"}},
      {"^", {"&"}},
      {"++", {"--"}},
      {"threadIdx", {"blockIdx"}},
      {"blockIdx", {"threadIdx"}},
      {"blockDim", {"gridDim"}},
      {"gridDim", {"blockDim"}},
      {"x", {"y", "z"}},
      {"y", {"x", "z"}},
      {"z", {"x"}},
      {"M", {"N"}},
      {"N", {"M", "K"}},
      {"K", {"M"}},
      {"return", {"", "if (threadIdx.x) return"}},
      {"continue", {""}},
      {"break", {""}},
      {"unsigned", {"unsigned char"}},
      {"int", {"short", "unsigned", "signed char"}}};
  if (const auto found = table.find(token); found != table.end()) return found->second;
  if (std::isdigit(static_cast<unsigned char>(token[0])) && token.find('.') == std::string::npos) {
    const long value = std::stol(token);
    return {std::to_string(value + 1), std::to_string(value - 1), std::to_string(2 * value),
            std::to_string(value / 2)};
  }
  if (std::find(names.begin(), names.end(), token) != names.end()) return names;
  return {};
}

// Statements to put at the start of the kernel's body.
constexpr const char* kInserted[] = {"if (threadIdx.x == 3) return;",
                                     "C += 1;",
                                     "C += N;",
                                     "if (blockIdx.x == 1) return;",
                                     "C -= 4;",
                                     "M -= 1;",
                                     "N -= 1;",
                                     "C[threadIdx.x] = 0;",
                                     "if (blockIdx.y) C += 16;",
                                     "M += 1; N += 1;",
                                     "C += blockIdx.z * M * N;",
                                     "float* D = C; C = D + K / 64 - 1;"};

}  // namespace

Mutant mutate(const std::string& source, std::mt19937& random) {
  const std::vector<Token> tokens = tokens_of(source);
  static const std::vector<std::string> names = {"row",   "column", "col",  "i", "j",
                                                 "first", "warp",   "lane", "at"};
  std::vector<std::string> used;
  for (const std::string& name : names) {
    if (std::any_of(tokens.begin(), tokens.end(), [&](const Token& t) { return t.text == name; }))
      used.push_back(name);
  }
  const size_t kernel = source.find("__global__");
  const auto line_of = [&](size_t at) {
    return "line " + std::to_string(1 + std::count(source.begin(),
                                                   source.begin() + static_cast<long>(at), '\n'));
  };
  if (random() % 8 == 0) {
    const size_t body = source.find("{\n", source.find("C", kernel)) + 1;
    const std::string inserted = kInserted[random() % std::size(kInserted)];
    return {source.substr(0, body) + " " + inserted + source.substr(body),
            line_of(body) + ": '" + inserted + "' comes first"};
  }
  for (;;) {
    const Token& token = tokens[random() % tokens.size()];
    const std::vector<std::string> list = others(token.text, used);
    if (list.empty()) continue;
    const std::string& other = list[random() % list.size()];
    if (other == token.text) continue;
    return {source.substr(0, token.begin) + other + source.substr(token.end),
            line_of(token.begin) + ": '" + token.text + "' becomes '" + other + "'"};
  }
}

}  // namespace tilepost
