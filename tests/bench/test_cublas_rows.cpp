// With how many rows cuBLASLt is measured.
#include "runtime/bench/gemm/cublas_rows.h"
#include "tests/catch.h"

namespace tilepost::bench {
namespace {

tilepost_plan_t plan_of(int64_t m, tilepost_scales_t scales) {
  tilepost_plan_t plan{};
  plan.map.m = m;
  plan.scales = scales;
  return plan;
}

TEST_CASE("cuBLASLt gets rows up to a multiple of 4 where blocks have scales") {
  for (const int64_t m : {1, 3, 17, 498, 499, 1023}) {
    const tilepost_plan_t plan = plan_of(m, TILEPOST_SCALES_BLOCKS);
    const int64_t rows = rows_for_cublas(plan);
    REQUIRE(rows % 4 == 0);
    REQUIRE(rows > m);
    REQUIRE(rows < m + 4);
    REQUIRE(rows_for_cublas(plan, m + 1) >= m + 1);
    REQUIRE(rows_for_cublas(plan_of(m, TILEPOST_SCALES_NONE)) == m);
    REQUIRE(cublas_rows_in_words(plan_of(m, TILEPOST_SCALES_NONE)).empty());
  }
  REQUIRE(
      cublas_rows_in_words(plan_of(17, TILEPOST_SCALES_BLOCKS)) ==
      "cuBLASLt has scales of blocks only where m is a multiple of 4: it computes 20 rows, ours "
      "17");
}

TEST_CASE("cuBLASLt computes m itself where it can") {
  for (const int64_t m : {4, 20, 8192}) {
    const tilepost_plan_t plan = plan_of(m, TILEPOST_SCALES_BLOCKS);
    REQUIRE(rows_for_cublas(plan) == m);
    REQUIRE(cublas_rows_in_words(plan).empty());
  }
}

}  // namespace
}  // namespace tilepost::bench
