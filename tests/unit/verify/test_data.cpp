// The random operands: their statistics, their encodings, and that "exact" data is exact.
#include "runtime/verify/reference/data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/catch.h"

using namespace tilepost::verify;

namespace {

constexpr tilepost_dtype_t kTypes[] = {TILEPOST_BF16, TILEPOST_F16};

std::vector<float> draw(const Distribution& distribution, uint64_t stream, int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = value_at(distribution, stream, i);
  return values;
}

}  // namespace

TEST_CASE("every value survives its encoding") {
  for (const tilepost_dtype_t type : kTypes)
    for (const DataKind kind : {DataKind::exact, DataKind::random})
      for (const int k : {1, 7, 64, 1000, 100000})
        for (const float value : draw(make_distribution(kind, k, 4, type), mix(k), 20000))
          REQUIRE(decode(encode(value, type), type) == value);
}

TEST_CASE("e4m3 values survive their encoding") {
  for (const DataKind kind : {DataKind::exact, DataKind::random})
    for (const int k : {1, 7, 64, 1000})
      for (const tilepost_dtype_t output : kTypes) {
        const Distribution data = make_distribution(kind, k, 1, output, TILEPOST_E4M3);
        for (const float value : draw(data, mix(k), 20000)) {
          const uint16_t bits = encode(value, TILEPOST_E4M3);
          REQUIRE(bits <= 0xff);
          // The definition of e4m3: bias 7, three bits of fraction.
          const int exponent = bits >> 3 & 15, fraction = bits & 7;
          const float magnitude = exponent == 0 ? std::ldexp(float(fraction), -9)
                                                : std::ldexp(float(8 + fraction), exponent - 10);
          REQUIRE((bits & 0x80 ? -magnitude : magnitude) == value);
        }
      }
}

// Inputs of random data, whatever dtypes there will be.
TEST_CASE("random values take every significand of the distribution's bits, and no longer one") {
  for (int bits = 1; bits <= 8; ++bits) {
    const Distribution data = {DataKind::random, 0, 0, bits};
    std::set<int> significands;
    float most = 0;
    for (const float value : draw(data, mix(static_cast<uint64_t>(bits)), 2000000)) {
      most = std::max(most, std::abs(value));
      const float steps = std::ldexp(std::abs(value), bits + 2);  // of the least binade
      REQUIRE(steps == std::floor(steps));
      int whole = static_cast<int>(steps);
      while (whole != 0 && whole % 2 == 0) whole /= 2;
      REQUIRE(whole < 1 << bits);
      significands.insert(whole);
    }
    INFO(bits << " bits");
    CHECK(most < 8);
    // Half of the significands are odd. The greatest of many bits are rare.
    CHECK(significands.count(0) == 1);
    CHECK(significands.size() - 1 >= (bits <= 4 ? 1u << bits >> 1 : 1u << bits >> 2));
  }
}

TEST_CASE("scales are powers of two in exact data, and all of a range in random data") {
  const Distribution exact = make_distribution(DataKind::exact, 64, 1, TILEPOST_BF16);
  const Distribution random = make_distribution(DataKind::random, 64, 1, TILEPOST_BF16);
  std::set<float> exact_values, random_values;
  for (int i = 0; i < 60000; ++i) {
    exact_values.insert(scale_at(exact, 5, i));
    random_values.insert(scale_at(random, 5, i));
  }
  CHECK(exact_values == std::set<float>{1, 2});
  CHECK(random_values.size() == 2048);
  CHECK(*random_values.begin() == 0.5f);
  CHECK(*random_values.rbegin() < 2.0f);
}

TEST_CASE("decode knows every bit pattern") {
  CHECK(decode(0x3f80, TILEPOST_BF16) == 1.0f);
  CHECK(decode(0xc000, TILEPOST_BF16) == -2.0f);
  CHECK(std::isnan(decode(0xffff, TILEPOST_BF16)));
  CHECK(decode(0x3c00, TILEPOST_F16) == 1.0f);
  CHECK(decode(0x0001, TILEPOST_F16) == std::ldexp(1.0f, -24));
  CHECK(decode(0x8400, TILEPOST_F16) == -std::ldexp(1.0f, -14));
  CHECK(decode(0x7bff, TILEPOST_F16) == 65504.0f);
  CHECK(std::isinf(decode(0x7c00, TILEPOST_F16)));
  CHECK(std::isnan(decode(0xffff, TILEPOST_F16)));
  // Every finite f16 against its definition.
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const int exponent = bits >> 10, fraction = bits & 0x3ff;
    const float expected = exponent == 0 ? std::ldexp(float(fraction), -24)
                                         : std::ldexp(float(1024 + fraction), exponent - 25);
    REQUIRE(decode(static_cast<uint16_t>(bits), TILEPOST_F16) == expected);
  }
}

TEST_CASE("integers up to the limit are exact and the next one is not") {
  for (const tilepost_dtype_t type : kTypes) {
    const int limit = exact_limit(type);
    for (int i = 0; i <= limit; ++i)
      REQUIRE(decode(encode(static_cast<float>(i), type), type) == static_cast<float>(i));
    CHECK(decode(encode(static_cast<float>(limit + 1), type), type) !=
          static_cast<float>(limit + 1));
  }
}

TEST_CASE("few products: no sum can leave the exact integers") {
  for (const tilepost_dtype_t type : kTypes)
    for (int ranks = 1; ranks <= 64; ++ranks)
      for (int k = 1; k * ranks <= exact_limit(type); ++k) {
        const Distribution data = make_distribution(DataKind::exact, k, ranks, type);
        REQUIRE(data.max_value >= 1);
        REQUIRE(int64_t{k} * ranks * data.max_value * data.max_value <= exact_limit(type));
      }
}

// The worst order of a sum first adds all products of one sign. Their sum is at most the number of
// non-zero products.
TEST_CASE("many products: no sum leaves the exact integers, whatever its order") {
  for (const tilepost_dtype_t type : kTypes)
    for (const int products : {exact_limit(type) + 1, 4 * exact_limit(type), 100000, 1000000}) {
      const Distribution data = make_distribution(DataKind::exact, products, 1, type);
      int worst = 0;
      double total = 0;
      constexpr int kSums = 40;
      for (int element = 0; element < kSums; ++element) {
        int nonzero = 0;
        for (int i = 0; i < products; ++i)
          nonzero += value_at(data, stream_of(1, element, 0, Matrix::a), i) *
                         value_at(data, stream_of(1, element, 0, Matrix::b), i) !=
                     0;
        worst = std::max(worst, nonzero);
        total += nonzero;
      }
      INFO("type " << type << ", " << products << " products, worst " << worst);
      const double expected = exact_limit(type) / 4.0;
      CHECK(worst <= exact_limit(type) / 2);
      CHECK(total / kSums > 0.7 * expected);
      CHECK(total / kSums < 1.3 * expected);
    }
}

// P(Binomial >= 4 mu) <= (e^3 / 4^4)^mu, as distribution.cpp claims.
TEST_CASE("the bound on leaving the exact integers is below 1e-70, with any epilogue 1e-16") {
  const double mean = exact_limit(TILEPOST_BF16) / 4.0;
  CHECK(mean * std::log10(std::exp(3.0) / 256.0) < -70);
  const double least = (exact_limit(TILEPOST_BF16) - 2 * kMaxAddend) / 4.0 / 4.0;
  CHECK(least * std::log10(std::exp(3.0) / 256.0) < -16);
}

TEST_CASE("exact values are balanced and cover their range") {
  const Distribution few = make_distribution(DataKind::exact, 1, 2, TILEPOST_BF16);
  CHECK(few.max_value == 11);
  std::map<float, int> counts;
  for (const float value : draw(few, 7, 230000)) ++counts[value];
  CHECK(counts.size() == 23);
  for (const auto& [value, count] : counts) {
    INFO(value);
    CHECK(std::abs(count - 10000) < 500);
  }
}

TEST_CASE("random values are near a bell: centred, symmetric, six binades") {
  const std::vector<float> values = draw({DataKind::random, 0, 0}, 3, 1000000);
  double sum = 0, squares = 0;
  int positive = 0, negative = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
    positive += value > 0;
    negative += value < 0;
  }
  CHECK(std::fabs(sum / values.size()) < 0.01);
  CHECK(std::sqrt(squares / values.size()) == Approx(1.09).margin(0.03));
  CHECK(std::abs(positive - negative) < 6000);
  CHECK(*std::max_element(values.begin(), values.end()) > 6);
  CHECK(*std::max_element(values.begin(), values.end()) <= 255.0f / 32);
}

TEST_CASE("streams differ in every coordinate and repeat for the same") {
  std::set<uint64_t> streams;
  for (int run = 0; run < 20; ++run)
    for (int rank = 0; rank < 8; ++rank)
      for (const Matrix matrix : {Matrix::a, Matrix::b})
        for (const uint64_t seed : {1, 2, 3}) streams.insert(stream_of(seed, run, rank, matrix));
  CHECK(streams.size() == 20 * 8 * 2 * 3);
  CHECK(stream_of(5, 6, 7, Matrix::b) == stream_of(5, 6, 7, Matrix::b));
  const Distribution data{DataKind::random, 0, 0};
  CHECK(draw(data, 1, 100) == draw(data, 1, 100));
  CHECK(draw(data, 1, 100) != draw(data, 2, 100));
}
