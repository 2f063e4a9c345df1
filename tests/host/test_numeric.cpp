// bf16, f16 and e4m3 against arithmetic on double, for every pattern and for millions of floats.
#include "tilepost/numeric.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"
#include "tests/host/reference.h"

namespace {

using tilepost::Bf16;
using tilepost::F16;

template <class T>
struct Traits;
template <>
struct Traits<Bf16> {
  static constexpr tilepost_dtype_t kType = TILEPOST_BF16;
  static constexpr uint16_t kQuiet = 0x0040;
};
template <>
struct Traits<F16> {
  static constexpr tilepost_dtype_t kType = TILEPOST_F16;
  static constexpr uint16_t kQuiet = 0x0200;
};

// Whether from_float agrees with the reference on the float with these bits.
template <class T>
bool rounds_right(uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  const uint16_t got = tilepost::from_float<T>(value).bits;
  if (!std::isnan(value)) return got == reference::encode(Traits<T>::kType, value);
  const bool same_sign = (got & 0x8000) == (bits >> 16 & 0x8000);
  return same_sign && std::isnan(reference::decode(Traits<T>::kType, got)) &&
         (got & Traits<T>::kQuiet) != 0;
}

}  // namespace

static_assert(sizeof(Bf16) == 2 && sizeof(F16) == 2);
static_assert(tilepost::to_bf16(1.0f).bits == 0x3f80);
static_assert(tilepost::to_f16(1.0f).bits == 0x3c00);
static_assert(std::is_same_v<tilepost::HostElement<tilepost::DType::bf16>, Bf16>);
static_assert(std::is_same_v<tilepost::HostElement<tilepost::DType::f16>, F16>);

TEMPLATE_TEST_CASE("every 16-bit pattern widens exactly and comes back", "", Bf16, F16) {
  int wrong = 0;
  for (uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const TestType element{static_cast<uint16_t>(pattern)};
    const float wide = tilepost::to_float(element);
    const double expected = reference::decode(Traits<TestType>::kType, element.bits);
    const uint16_t back = tilepost::from_float<TestType>(wide).bits;
    if (std::isnan(expected))
      wrong += !std::isnan(wide) || back != (pattern | Traits<TestType>::kQuiet);
    else
      wrong += wide != expected || std::signbit(wide) != std::signbit(expected) || back != pattern;
  }
  CHECK(wrong == 0);
}

static_assert(sizeof(tilepost::E4m3) == 1);
static_assert(std::is_same_v<tilepost::HostElement<tilepost::DType::e4m3>, tilepost::E4m3>);

// OCP 8-bit floating point: bias 7, no infinities, and NaN where all bits but the sign are ones.
TEST_CASE("every e4m3 pattern widens exactly") {
  for (int pattern = 0; pattern <= 0xff; ++pattern) {
    CAPTURE(pattern);
    const float wide = tilepost::to_float(tilepost::E4m3{static_cast<uint8_t>(pattern)});
    const int exponent = pattern >> 3 & 15, fraction = pattern & 7;
    if ((pattern & 0x7f) == 0x7f) {
      CHECK(std::isnan(wide));
      continue;
    }
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    CHECK(wide == (pattern & 0x80 ? -magnitude : magnitude));
    CHECK(std::signbit(wide) == (pattern >= 0x80));
  }
  CHECK(tilepost::to_float(tilepost::E4m3{0x7e}) == 448.0f);
}

// Of all magnitudes the nearest one, or of two the even one. What lies beyond 448 becomes 448.
TEST_CASE("floats round to the nearest e4m3") {
  using tilepost::E4m3;
  const auto nearest = [](float value) {
    int best = 0;
    for (int pattern = 1; pattern < 0x7f; ++pattern) {
      const auto away = [&](int of) {
        return std::fabs(double{std::fabs(value)} - to_float(E4m3{static_cast<uint8_t>(of)}));
      };
      if (away(pattern) < away(best) || (away(pattern) == away(best) && pattern % 2 == 0))
        best = pattern;
    }
    return best | (std::signbit(value) ? 0x80 : 0);
  };
  const auto agrees = [&](float value) { return tilepost::to_e4m3(value).bits == nearest(value); };
  int wrong = 0;
  for (int pattern = 0; pattern < 0x7f; ++pattern) {
    const float wide = to_float(E4m3{static_cast<uint8_t>(pattern)});
    const float next = pattern < 0x7e ? to_float(E4m3{static_cast<uint8_t>(pattern + 1)}) : 480;
    for (const float centre : {wide, std::midpoint(wide, next)})
      for (const float value : {std::nextafter(centre, 0.0f), centre, std::nextafter(centre, 1e9f)})
        wrong += !agrees(value) + !agrees(-value);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) wrong += !agrees(value);
  }
  CHECK(wrong == 0);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(tilepost::to_e4m3(infinity).bits == 0x7e);
  CHECK(tilepost::to_e4m3(-infinity).bits == 0xfe);
  CHECK(tilepost::to_e4m3(-std::numeric_limits<float>::quiet_NaN()).bits == 0x7f);
}

TEMPLATE_TEST_CASE("floats round to nearest even: boundaries", "", Bf16, F16) {
  int wrong = 0;
  // Tries every 16-bit number, the midpoint to the next one, and the floats close to both.
  for (uint32_t pattern = 0; pattern <= 0xffff; ++pattern) {
    const float wide = tilepost::to_float(TestType{static_cast<uint16_t>(pattern)});
    const float next = tilepost::to_float(TestType{static_cast<uint16_t>(pattern + 1)});
    for (const float centre : {wide, std::midpoint(wide, next)})
      for (int step = -2; step <= 2; ++step)
        wrong += !rounds_right<TestType>(std::bit_cast<uint32_t>(centre) + step);
  }
  const float limits[] = {std::numeric_limits<float>::max(),
                          std::numeric_limits<float>::min(),
                          std::numeric_limits<float>::denorm_min(),
                          std::numeric_limits<float>::infinity(),
                          65519.996f,
                          65520.0f,
                          65504.0f,
                          0x1p-14f,
                          0x1.ffcp-15f,
                          0x1.ffep-15f,
                          0x1p-24f,
                          0x1p-25f,
                          0x1.000002p-25f};
  for (const float limit : limits)
    for (int step = -2; step <= 2; ++step) {
      wrong += !rounds_right<TestType>(std::bit_cast<uint32_t>(limit) + step);
      wrong += !rounds_right<TestType>(std::bit_cast<uint32_t>(-limit) + step);
    }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("floats round to nearest even: random", "", Bf16, F16) {
  constexpr int kFloats = 10'000'000;
  std::mt19937 random(20240607);
  int wrong = 0;
  for (int i = 0; i < kFloats; ++i) wrong += !rounds_right<TestType>(random());
  // Patterns that are uniform over all floats are rarely in f16's range. So as many again are drawn
  // inside it.
  for (int i = 0; i < kFloats; ++i) {
    const uint32_t bits = random();
    const uint32_t exponent = 127 - 27 + (bits >> 23 & 0xff) % 45;
    wrong += !rounds_right<TestType>((bits & 0x807fffff) | exponent << 23);
  }
  CHECK(wrong == 0);
}
