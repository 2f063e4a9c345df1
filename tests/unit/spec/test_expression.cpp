// Expressions of m, n and k: their values, errors, and the same expressions in C++.
#include <climits>
#include <random>

#include "generator/spec/expression.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"
#include "tilepost/internal/whole_numbers.h"

namespace {

using namespace tilepost;

constexpr ShapeNumbers kShape = {100, 30, 7};

std::optional<int64_t> value_of(std::string_view text, const ShapeNumbers& shape = kShape) {
  std::string why;
  const std::optional<Expression> expression = Expression::parse(text, why);
  CAPTURE(text, why);
  REQUIRE(expression.has_value());
  return expression->at(shape, why);
}

std::string refusal(std::string_view text) {
  std::string why;
  CHECK_FALSE(Expression::parse(text, why).has_value());
  return why;
}

}  // namespace

TEST_CASE("an expression has the value that arithmetic gives it") {
  CHECK(value_of("0") == 0);
  CHECK(value_of("9223372036854775807") == INT64_MAX);
  CHECK(value_of("m") == 100);
  CHECK(value_of("m + n * k") == 310);
  CHECK(value_of("(m + n) * k") == 910);
  CHECK(value_of("m - n - k") == 63);
  CHECK(value_of("m / n / k") == 0);
  CHECK(value_of("m % n") == 10);
  CHECK(value_of("ceil_div(m, n)") == 4);
  CHECK(value_of(" min ( m , max(n, k)) ") == 30);
  CHECK(value_of("(k - n) / 10") == -3);  // rounded down, not towards 0
  CHECK(value_of("(k - n) % 10") == 7);
  CHECK(value_of("ceil_div(k - n, 10)") == -2);
}

TEST_CASE("what has no value says at which step") {
  std::string why;
  for (const char* text :
       {"m / (n - 30)", "m % 0", "ceil_div(m, k - 7)", "m / (k - n)", "9223372036854775807 + 1",
        "0 - 9223372036854775807 - 2", "9223372036854775807 * 2"}) {
    CAPTURE(text);
    why.clear();
    CHECK_FALSE(Expression::parse(text, why)->at(kShape, why).has_value());
    CHECK(why.starts_with("at m=100, n=30, k=7 '"));
  }
}

TEST_CASE("what is no expression says why") {
  CHECK(refusal("") == "a number is missing before the end");
  CHECK(refusal("m +") == "a number is missing before the end");
  CHECK(refusal("m n") == "'n' is not expected");
  CHECK(refusal("-1") == "a number is missing before '-1'");
  CHECK(refusal("q") == "'q' is not known; known are m, n, k, min, max and ceil_div");
  CHECK(refusal("0x10") == "'0x10' is no whole number of 64 bits");
  CHECK(refusal("9223372036854775808") == "'9223372036854775808' is no whole number of 64 bits");
  CHECK(refusal("1.5") == "'.5' is not expected");
  CHECK(refusal("min(m)") == "',' is missing before ')'");
  CHECK(refusal("ceil_div(n") ==
        "',' is missing before the end; in a list an expression with a comma needs quotes");
  CHECK(refusal(std::string(40, '(') + "m") == "it is nested more than 32 deep");
  CHECK(refusal(std::string(300, '1')) == "it has 300 characters; the bound is 256");
}

TEST_CASE("an expression knows whether it follows m, and keeps its text") {
  std::string why;
  CHECK(Expression::parse("ceil_div(m, 64)", why)->has_m());
  CHECK_FALSE(Expression::parse("n * k", why)->has_m());
  CHECK(Expression::parse("n  / 2", why)->text() == "n  / 2");
  CHECK(Expression(128).text() == "128");
}

TEST_CASE("in C++ an expression is what it is in the spec") {
  std::string why;
  CHECK(Expression::parse("(m + n) * k / 2", why)->in_cpp("shape") ==
        "tilepost::floor_div(((static_cast<long long>(shape.m) + shape.n) * shape.k), 2LL)");
  CHECK(Expression::parse("m * n", why)->in_cpp("s") == "(static_cast<long long>(s.m) * s.n)");
  CHECK(Expression::parse("m * 65536 - n", why)->in_cpp("s") == "((s.m * 65536LL) - s.n)");
  CHECK(Expression::parse("min(m % 3, max(n, ceil_div(k, 4)))", why)->in_cpp("s") ==
        "tilepost::least(tilepost::floor_mod(s.m, 3LL), tilepost::greatest(s.n, "
        "tilepost::ceil_div(s.k, 4LL)))");
}

TEST_CASE("division rounds as it says for every sign") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 10000; ++i) {
    const auto x = static_cast<int64_t>(random()) >> (random() % 60);
    const int64_t y = (static_cast<int64_t>(random() >> 1) >> (random() % 60)) + 1;
    CAPTURE(x, y);
    const int64_t down = floor_div(x, y), rest = floor_mod(x, y);
    CHECK((rest >= 0 && rest < y));
    CHECK(static_cast<__int128>(down) * y + rest == x);
    CHECK(ceil_div(x, y) == down + (rest > 0 ? 1 : 0));
  }
}
