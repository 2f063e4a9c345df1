// Copies of scales of blocks between the orders of libraries, against places written here.
#include "tilepost/scales.h"

#include <limits>
#include <vector>

#include "tests/catch.h"
#include "tilepost/internal/block_scales.h"

using namespace tilepost::scales;

namespace {

constexpr int64_t kLines = 5, kBlocks = 3;

float value(int64_t line, int64_t block) {
  return static_cast<float>(100 * line + block);
}

// Scales in an order, with NaN where there is padding.
std::vector<float> in_order(Order order) {
  std::vector<float> scales(64, std::numeric_limits<float>::quiet_NaN());
  for (int64_t line = 0; line < kLines; ++line)
    for (int64_t block = 0; block < kBlocks; ++block)
      scales[line * order.line + block * order.block] = value(line, block);
  return scales;
}

}  // namespace

TEST_CASE("scales are found where each library has them") {
  CHECK(blocks_of(128) == 1);
  CHECK(blocks_of(1136) == 9);
  CHECK(padded(9) == 12);
  CHECK(in_order(in_lines(kBlocks))[4 * 3 + 2] == value(4, 2));          // ours, in rows
  CHECK(in_order(in_lines(padded(kBlocks)))[4 * 4 + 2] == value(4, 2));  // B of cuBLASLt
  CHECK(in_order(in_blocks(padded(kLines)))[2 * 8 + 4] == value(4, 2));  // A of cuBLASLt
  const tilepost::ScaleSteps columns = tilepost::scale_steps_of_a(true, 1001, 1136);
  CHECK(in_blocks(padded(1001)).line == columns.row);
  CHECK(in_blocks(padded(1001)).block == columns.block);
}

TEST_CASE("a copy takes every scale and no padding") {
  const Order orders[] = {in_lines(kBlocks), in_lines(padded(kBlocks)), in_blocks(padded(kLines))};
  for (const Order from : orders)
    for (const Order to : orders) {
      const std::vector<float> scales = in_order(from), expected = in_order(to);
      std::vector<float> copied(64, std::numeric_limits<float>::quiet_NaN());
      copy(copied.data(), to, scales.data(), from, kLines, kBlocks);
      int wrong = 0;
      for (size_t i = 0; i < copied.size(); ++i)
        wrong +=
            copied[i] != expected[i] && !(copied[i] != copied[i] && expected[i] != expected[i]);
      CHECK(wrong == 0);
    }
}
