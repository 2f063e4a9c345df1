#include "runtime/bench/gemm/check.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/bench/record.h"

namespace tilepost::bench {
namespace {

constexpr double kReferenceProducts = 4e10;  // The products that a reference computes, which takes
                                             // a fraction of a second.
constexpr int kMinRows = 96;                 // The fewest rows of a sample.
constexpr int kMaxRows = 1 << 20;            // The most rows, limited by the reference's grid.

// The rows to check: all rows, or a sample. A sample has the first rows, the last rows, where tiles
// are ragged, and rows drawn at random.
std::vector<int32_t> rows_to_check(const tilepost_plan_t& plan, uint64_t seed) {
  const auto m = static_cast<int>(plan.map.m);
  const double affordable =
      kReferenceProducts / (static_cast<double>(plan.map.n) * static_cast<double>(plan.k));
  const int count = static_cast<int>(
      std::clamp<double>(affordable, std::min(kMinRows, m), std::min(kMaxRows, m)));
  std::vector<int32_t> rows(static_cast<size_t>(m));
  std::iota(rows.begin(), rows.end(), 0);
  if (count >= m) return rows;
  std::mt19937 random(static_cast<uint32_t>(seed));
  const auto begin = rows.begin() + kMinRows / 3, end = rows.end() - kMinRows / 3;
  std::shuffle(begin, end, random);
  std::rotate(begin, end, rows.end());  // moves the last rows to the front
  rows.resize(static_cast<size_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

Checker::Checker(const char* program, const tilepost_plan_t& plan, Operands& operands,
                 CublasLt& cublas, uint64_t seed, cudaStream_t stream)
    : program_(program),
      plan_(plan),
      operands_(operands),
      cublas_(cublas),
      stream_(stream),
      expected_(allocate(rows_for_cublas(plan) * plan.map.n * element_bytes(plan.output))),
      wrong_(allocate(sizeof(unsigned long long))) {
  const std::vector<int32_t> rows = rows_to_check(plan, seed);
  num_rows_ = static_cast<int>(rows.size());
  rows_ = upload(rows);
  operands_.fill_exact(seed);
}

long long Checker::count(const char* variant, const char* against, long long elements,
                         const std::function<void(unsigned long long*)>& compare) {
  auto* const wrong = static_cast<unsigned long long*>(wrong_.get());
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong, 0, sizeof *wrong, stream_));
  compare(wrong);
  const auto result = static_cast<long long>(read_number(wrong, stream_));
  Record("check")
      .set("program", program_)
      .set("variant", variant)
      .set("against", against)
      .set("elements", elements)
      .set("wrong", result);
  return result;
}

long long Checker::check(const char* variant, const Place& place,
                         const std::function<void()>& launch) {
  const OperandSet& set = operands_.set(0);
  const long long sampled = static_cast<long long>(num_rows_) * plan_.map.n;
  TILEPOST_BENCH_CUDA(
      cudaMemsetAsync(set.out, 0xff, static_cast<size_t>(operands_.out_bytes()), stream_));
  launch();
  long long wrong = count(variant, "reference", sampled, [&](unsigned long long* counter) {
    count_wrong(operands_.product(0), set.out, place, static_cast<const int32_t*>(rows_.get()),
                num_rows_, counter, stream_);
  });
  // cuBLASLt's bits differ if it computes an activation by another formula, or computes none.
  const bool comparable = cublas_.candidates() > 0 && cublas_.operations() == plan_.epilogue &&
                          (plan_.epilogue & kActivations) == 0;
  if (comparable)
    wrong = std::max(
        wrong,
        count(variant, "cublaslt", plan_.map.m * plan_.map.n, [&](unsigned long long* counter) {
          count_different(set.out, plan_.output, place, expected_.get(),
                          static_cast<int>(plan_.map.m), static_cast<int>(plan_.map.n), counter,
                          stream_);
        }));
  return wrong;
}

long long Checker::check_against(const char* variant, const Place& place,
                                 const std::function<void()>& launch, const char* against,
                                 const std::function<void()>& original) {
  const OperandSet& set = operands_.set(0);
  const auto bytes = static_cast<size_t>(plan_.map.m * plan_.map.n * element_bytes(plan_.output));
  const auto poison = [&] {
    TILEPOST_BENCH_CUDA(
        cudaMemsetAsync(set.out, 0xff, static_cast<size_t>(operands_.out_bytes()), stream_));
  };
  poison();
  original();
  TILEPOST_BENCH_CUDA(
      cudaMemcpyAsync(expected_.get(), set.out, bytes, cudaMemcpyDeviceToDevice, stream_));
  poison();
  launch();
  return count(variant, against, plan_.map.m * plan_.map.n, [&](unsigned long long* counter) {
    count_different(set.out, plan_.output, place, expected_.get(), static_cast<int>(plan_.map.m),
                    static_cast<int>(plan_.map.n), counter, stream_);
  });
}

long long Checker::check_cublas() {
  if (cublas_.candidates() == 0) return 0;
  OperandSet set = operands_.set(0);
  set.out = expected_.get();
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(
      set.out, 0xff, static_cast<size_t>(plan_.map.m * plan_.map.n * element_bytes(plan_.output)),
      stream_));
  cublas_.launch(set, 0, stream_);
  Product product = operands_.product(0);
  product.operations = cublas_.operations();
  // cuBLASLt computes gelu by the approximation with tanh, which differs from the exact gelu by
  // more than a rounding.
  if ((product.operations & kActivations) != 0) return 0;
  return count("cublaslt", "reference", static_cast<long long>(num_rows_) * plan_.map.n,
               [&](unsigned long long* counter) {
                 count_wrong(product, set.out, {}, static_cast<const int32_t*>(rows_.get()),
                             num_rows_, counter, stream_);
               });
}

}  // namespace tilepost::bench
