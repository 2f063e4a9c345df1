#include "generator/bench/statistics.h"

#include <algorithm>
#include <random>

#include "tests/catch.h"

using namespace tilepost;

TEST_CASE("percentiles lie between neighbours in proportion") {
  CHECK(percentile({}, 0.5) == 0);
  CHECK(percentile({7}, 0.9) == 7);
  CHECK(percentile({4, 1, 3, 2}, 0.5) == Approx(2.5));
  CHECK(percentile({30, 10, 20}, 0.25) == Approx(15));
  CHECK(percentile({1, 2, 3}, 0) == 1);
  CHECK(percentile({1, 2, 3}, 1) == 3);
}

TEST_CASE("a summary of the numbers from 1 to 101, in any order") {
  std::vector<double> values;
  for (int i = 1; i <= 101; ++i) values.push_back(i);
  std::shuffle(values.begin(), values.end(), std::mt19937(1));
  const Summary summary = summarise(values);
  CHECK(summary.n == 101);
  CHECK(summary.median == 51);
  CHECK((summary.p10 == Approx(11) && summary.p90 == Approx(91)));
  CHECK((summary.p25 == Approx(26) && summary.p75 == Approx(76)));
  CHECK((summary.min == 1 && summary.max == 101));
}

TEST_CASE("pairing cancels what a round does to both") {
  std::vector<double> ours, theirs;
  std::mt19937 random(2);
  for (int i = 0; i < 50; ++i) {
    const double clock = std::uniform_real_distribution<>(1, 2)(random);
    ours.push_back(100 * clock);
    theirs.push_back(103 * clock);
  }
  const Summary ratio = summarise(paired_ratios(theirs, ours));
  CHECK(ratio.n == 50);
  CHECK((ratio.min == Approx(1.03) && ratio.max == Approx(1.03)));
  CHECK(paired_ratios({1, 2, 3}, {1}).size() == 1);
}

TEST_CASE("geometric means") {
  CHECK(geometric_mean({}) == 0);
  CHECK(geometric_mean({2, 8}) == Approx(4));
  CHECK(geometric_mean({0.5, 2, 1}) == Approx(1));
}
