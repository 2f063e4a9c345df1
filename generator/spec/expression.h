// Whole numbers that follow from a run's shape: "n / 256", "ceil_div(m, 128)". The spec describes a
// user's kernel with them: its grid, its shared memory, its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// What an expression's m, n and k stand for.
struct ShapeNumbers {
  int64_t m, n, k;
};

// Whole numbers, m, n, k, + - * / %, parentheses, min, max and ceil_div of two. / rounds down, and
// x % y is the remainder of x / y. Numbers have 64 bits; a result that does not fit is an error.
class Expression {
 public:
  Expression() : Expression(0) {}
  explicit Expression(int64_t value);

  // Nothing if the text is no expression; then `why` names the part that is wrong.
  static std::optional<Expression> parse(std::string_view text, std::string& why);

  // The value at a shape. Nothing if a step overflows or divides by 0 or less; then `why` says
  // which step.
  std::optional<int64_t> at(const ShapeNumbers& shape, std::string& why) const;

  // The expression as C++ with the sizes `<shape>.m`, `<shape>.n` and `<shape>.k`. It computes in
  // 64 bits, with the functions of tilepost/internal/whole_numbers.h.
  std::string in_cpp(std::string_view shape) const;

  // Whether the expression contains m.
  bool has_m() const;

  // The expression as it was written.
  const std::string& text() const { return text_; }

 private:
  enum class Step : char {
    number,
    m,
    n,
    k,
    add,
    subtract,
    multiply,
    divide,
    rest,
    min,
    max,
    ceil_div
  };
  struct Node {
    Step step;
    int64_t number = 0;
  };
  friend class ExpressionParser;

  static std::optional<int64_t> apply(Step step, int64_t x, int64_t y);
  static std::string_view name_of(Step step);

  std::vector<Node> nodes_;  // postfix: operands before their operation
  std::string text_;
};

}  // namespace tilepost
