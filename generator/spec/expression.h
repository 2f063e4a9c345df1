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
// x % y is what x / y leaves. Numbers have 64 bits; what does not fit is no number.
class Expression {
 public:
  Expression() : Expression(0) {}
  explicit Expression(int64_t value);

  // Nothing where the text is no expression; then `why` says at which part.
  static std::optional<Expression> parse(std::string_view text, std::string& why);

  // Nothing where a step has no result: it overflows, or divides by 0 or less. Then `why` says
  // which.
  std::optional<int64_t> at(const ShapeNumbers& shape, std::string& why) const;

  // As C++ of 64-bit numbers `<shape>.m`, `<shape>.n` and `<shape>.k`
  // (tilepost/internal/whole_numbers.h).
  std::string in_cpp(std::string_view shape) const;

  // Whether it is another number for another m.
  bool has_m() const;

  // As it was written.
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

  std::vector<Node> nodes_;  // operands before what is done with them
  std::string text_;
};

}  // namespace tilepost
