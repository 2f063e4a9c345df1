// Uses the layer as a framework would: several steps, fresh inputs in each.
#include <cstdio>
#include <exception>
#include <thread>

#include "linear.h"

namespace {

constexpr int kRanks = 4;
constexpr int kSteps = 3;
constexpr uint16_t kOne = 0x3f80;  // 1.0 in bf16

// Rank r's input has ones in its first `active` columns and its weight is all ones, so every
// element of the result is the sum of the ranks' active columns: at most 256, exact in bf16.
int active_columns(int rank, int step) {
  return 8 * (rank + 1) + step;
}

uint16_t expected_bits(int step) {
  float sum = 0;
  for (int rank = 0; rank < kRanks; ++rank) sum += float(active_columns(rank, step));
  return static_cast<uint16_t>(__builtin_bit_cast(uint32_t, sum) >> 16);
}

int64_t run_rank(RowParallelLinear& layer, int rank) {
  const std::vector<uint16_t> weight(layer.columns() * layer.depth(), kOne);
  int64_t wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<uint16_t> input(layer.rows() * layer.depth(), 0);
    for (int64_t row = 0; row < layer.rows(); ++row)
      for (int column = 0; column < active_columns(rank, step); ++column)
        input[row * layer.depth() + column] = kOne;
    std::vector<uint16_t> out(layer.rows() * layer.columns());
    layer.forward(input.data(), weight.data(), out.data());
    for (const uint16_t bits : out) wrong += bits != expected_bits(step);
  }
  return wrong;
}

}  // namespace

int main() try {
  auto layers = RowParallelLinear::create_all(kRanks);
  std::vector<int64_t> wrong(kRanks, -1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        wrong[rank] = run_rank(*layers[rank], rank);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  bool right = true;
  for (const int64_t count : wrong) right = right && count == 0;
  std::printf("attn_out: %d steps on %d ranks, %s\n", kSteps, kRanks, right ? "right" : "wrong");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
