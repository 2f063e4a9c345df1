// templates/gemm_host.cpp un-woven is a plain GEMM.
#include "tests/catch.h"
#include "tests/host/reference.h"

void gemm_host(const void* a, const void* b, void* c, tilepost_shape_t shape,
               tilepost_epilogue_t epilogue, int worker, int workers);

TEST_CASE("the un-woven host kernel is a GEMM, for any number of workers") {
  std::mt19937_64 random(11);
  for (const int m : {1, 7, 64, 129, 700})
    for (const int n : {1, 7, 64, 129})
      for (const int k : {1, 7, 64, 129}) {
        const auto a = reference::random_matrix(TILEPOST_BF16, m, k, false, random);
        const auto b = reference::random_matrix(TILEPOST_BF16, n, k, false, random);
        const int ld = n + 3;
        reference::Matrix c(static_cast<size_t>(m) * ld, 0x1234);
        const int workers = 1 + (m + n + k) % 5;
        for (int worker = 0; worker < workers; ++worker)
          gemm_host(a.data(), b.data(), c.data(), {m, n, k, k, k, ld}, {}, worker, workers);
        const auto expected = reference::gemm(TILEPOST_BF16, a, b, m, n, k, false);
        int wrong = 0;
        for (int row = 0; row < m; ++row)
          for (int col = 0; col < ld; ++col)
            wrong += c[static_cast<size_t>(row) * ld + col] !=
                     (col < n ? expected[static_cast<size_t>(row) * n + col] : 0x1234);
        INFO("m " << m << " n " << n << " k " << k);
        REQUIRE(wrong == 0);
      }
}
