#include "generator/spec/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "generator/spec/text.h"
#include "tilepost/internal/whole_numbers.h"

namespace tilepost {

// A recursive-descent parser: a sum of products of the operands that bind tightest.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::string& why) : text_(text), why_(why) {}

  bool parse(std::vector<Expression::Node>& nodes) {
    nodes_ = &nodes;
    if (text_.size() > kMostCharacters)
      return refuse(
          fmt::format("it has {} characters; the bound is {}", text_.size(), kMostCharacters));
    if (!sum()) return false;
    skip_blanks();
    return at_ == text_.size() || refuse(fmt::format("{} is not expected", rest()));
  }

 private:
  using Step = Expression::Step;
  static constexpr size_t kMostCharacters = 256;
  static constexpr int kMostNested = 32;

  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }

  std::string rest() const { return at_ == text_.size() ? "the end" : quote(text_.substr(at_)); }

  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool expect(char wanted) {
    if (take(wanted)) return true;
    // YAML ends a bare word in a list at a comma.
    const char* hint =
        at_ == text_.size() ? "; in a list an expression with a comma needs quotes" : "";
    return refuse(fmt::format("'{}' is missing before {}{}", wanted, rest(), hint));
  }

  bool push(Step step) {
    nodes_->push_back({step});
    return true;
  }

  bool sum() {
    if (!product()) return false;
    for (;;) {
      const Step step = take('+') ? Step::add : take('-') ? Step::subtract : Step::number;
      if (step == Step::number) return true;
      if (!product() || !push(step)) return false;
    }
  }

  bool product() {
    if (!part()) return false;
    for (;;) {
      const Step step = take('*')   ? Step::multiply
                        : take('/') ? Step::divide
                        : take('%') ? Step::rest
                                    : Step::number;
      if (step == Step::number) return true;
      if (!part() || !push(step)) return false;
    }
  }

  bool part() {
    if (++nested_ > kMostNested)
      return refuse(fmt::format("it is nested more than {} deep", kMostNested));
    const bool ok = read_part();
    --nested_;
    return ok;
  }

  bool read_part() {
    if (take('(')) return sum() && expect(')');
    skip_blanks();
    const size_t length =
        std::min(text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", at_),
                 text_.size()) -
        at_;
    const std::string_view word = text_.substr(at_, length);
    if (word.empty()) return refuse(fmt::format("a number is missing before {}", rest()));
    at_ += length;
    if (word[0] >= '0' && word[0] <= '9') return number(word);
    if (word == "m") return push(Step::m);
    if (word == "n") return push(Step::n);
    if (word == "k") return push(Step::k);
    for (const Step step : {Step::min, Step::max, Step::ceil_div})
      if (word == Expression::name_of(step)) return call(step);
    return refuse(
        fmt::format("{} is not known; known are m, n, k, min, max and ceil_div", quote(word)));
  }

  bool number(std::string_view word) {
    int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end)
      return refuse(fmt::format("{} is no whole number of 64 bits", quote(word)));
    nodes_->push_back({Step::number, value});
    return true;
  }

  bool call(Step step) {
    return expect('(') && sum() && expect(',') && sum() && expect(')') && push(step);
  }

  std::string_view text_;
  std::string& why_;
  std::vector<Expression::Node>* nodes_ = nullptr;
  size_t at_ = 0;
  int nested_ = 0;
};

Expression::Expression(int64_t value)
    : nodes_{{Step::number, value}}, text_(fmt::to_string(value)) {}

std::optional<Expression> Expression::parse(std::string_view text, std::string& why) {
  Expression expression;
  expression.nodes_.clear();
  expression.text_ = text;
  if (!ExpressionParser(text, why).parse(expression.nodes_)) return std::nullopt;
  return expression;
}

std::string_view Expression::name_of(Step step) {
  switch (step) {
    case Step::add:
      return "+";
    case Step::subtract:
      return "-";
    case Step::multiply:
      return "*";
    case Step::divide:
      return "/";
    case Step::rest:
      return "%";
    case Step::min:
      return "min";
    case Step::max:
      return "max";
    case Step::ceil_div:
      return "ceil_div";
    case Step::m:
      return "m";
    case Step::n:
      return "n";
    case Step::k:
      return "k";
    case Step::number:
      break;
  }
  return "";
}

std::optional<int64_t> Expression::apply(Step step, int64_t x, int64_t y) {
  int64_t result = 0;
  const bool divides = step == Step::divide || step == Step::rest || step == Step::ceil_div;
  if (divides && y <= 0) return std::nullopt;
  switch (step) {
    case Step::add:
      return __builtin_add_overflow(x, y, &result) ? std::nullopt : std::optional(result);
    case Step::subtract:
      return __builtin_sub_overflow(x, y, &result) ? std::nullopt : std::optional(result);
    case Step::multiply:
      return __builtin_mul_overflow(x, y, &result) ? std::nullopt : std::optional(result);
    case Step::divide:
      return floor_div(x, y);
    case Step::rest:
      return floor_mod(x, y);
    case Step::ceil_div:
      return ceil_div(x, y);
    case Step::min:
      return std::min(x, y);
    case Step::max:
      return std::max(x, y);
    case Step::number:
    case Step::m:
    case Step::n:
    case Step::k:
      break;
  }
  return std::nullopt;
}

std::optional<int64_t> Expression::at(const ShapeNumbers& shape, std::string& why) const {
  std::vector<int64_t> stack;
  for (const Node& node : nodes_) {
    switch (node.step) {
      case Step::number:
        stack.push_back(node.number);
        continue;
      case Step::m:
        stack.push_back(shape.m);
        continue;
      case Step::n:
        stack.push_back(shape.n);
        continue;
      case Step::k:
        stack.push_back(shape.k);
        continue;
      default:
        break;
    }
    const int64_t y = stack.back();
    stack.pop_back();
    const std::optional<int64_t> result = apply(node.step, stack.back(), y);
    if (!result) {
      why = fmt::format("at m={}, n={}, k={} '{}' of {} and {} is no number of 64 bits", shape.m,
                        shape.n, shape.k, name_of(node.step), stack.back(), y);
      return std::nullopt;
    }
    stack.back() = *result;
  }
  return stack.back();
}

namespace {

bool is_size(const std::string& x) {
  return x.ends_with(".m") || x.ends_with(".n") || x.ends_with(".k");
}

}  // namespace

std::string Expression::in_cpp(std::string_view shape) const {
  std::vector<std::string> stack;
  for (const Node& node : nodes_) {
    switch (node.step) {
      case Step::number:
        stack.push_back(fmt::format("{}LL", node.number));
        continue;
      case Step::m:
      case Step::n:
      case Step::k:
        stack.push_back(fmt::format("{}.{}", shape, name_of(node.step)));
        continue;
      default:
        break;
    }
    const std::string y = std::move(stack.back());
    stack.pop_back();
    std::string& x = stack.back();
    switch (node.step) {
      case Step::add:
      case Step::subtract:
      case Step::multiply:
        // Sizes have 32 bits in generated code, all other operands have 64.
        if (is_size(x) && is_size(y)) x = fmt::format("static_cast<long long>({})", x);
        x = fmt::format("({} {} {})", x, name_of(node.step), y);
        break;
      case Step::divide:
        x = fmt::format("tilepost::floor_div({}, {})", x, y);
        break;
      case Step::rest:
        x = fmt::format("tilepost::floor_mod({}, {})", x, y);
        break;
      default:
        x = fmt::format("tilepost::{}({}, {})",
                        node.step == Step::min   ? "least"
                        : node.step == Step::max ? "greatest"
                                                 : "ceil_div",
                        x, y);
        break;
    }
  }
  return stack.back();
}

bool Expression::has_m() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return node.step == Step::m; });
}

}  // namespace tilepost
