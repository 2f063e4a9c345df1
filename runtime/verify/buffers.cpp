#include "runtime/verify/buffers.h"

#include <algorithm>

namespace tilepost::verify {
namespace {

constexpr int kCanary = 0xa5;
constexpr int kPoison = 0xff;  // 0xffff is a NaN in bf16 and in f16

}  // namespace

RunBuffers::RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements)
    : device_(device), problem_(problem), out_elements_(out_elements) {
  const auto allocate = [&](int64_t count, size_t bytes) {
    return count == 0 ? nullptr : device.allocate(static_cast<size_t>(count) * bytes);
  };
  a_ = allocate(problem.m * problem.k, input_bytes());
  b_ = allocate(problem.n * problem.k, input_bytes());
  scale_a_ = static_cast<float*>(allocate(count_of(Matrix::scale_a), sizeof(float)));
  scale_b_ = static_cast<float*>(allocate(count_of(Matrix::scale_b), sizeof(float)));
  bias_ = allocate(count_of(Matrix::bias), 2);
  residual_ = allocate(count_of(Matrix::residual), 2);
  out_ = device.allocate(static_cast<size_t>(out_elements) * 2 + 2 * kCanaryBytes);
}

RunBuffers::~RunBuffers() {
  for (void* memory :
       {a_, b_, static_cast<void*>(scale_a_), static_cast<void*>(scale_b_), bias_, residual_, out_})
    if (memory != nullptr) device_.release(memory);
}

int64_t RunBuffers::count_of(Matrix matrix) const {
  const auto has = [&](int operation) { return (problem_.epilogue & operation) != 0; };
  switch (matrix) {
    case Matrix::scale_a:
      return has(TILEPOST_SCALE_ROWS) ? problem_.m : has(TILEPOST_SCALE) ? 1 : 0;
    case Matrix::scale_b:
      return has(TILEPOST_SCALE_COLUMNS) ? problem_.n : has(TILEPOST_SCALE) ? 1 : 0;
    case Matrix::bias:
      return has(TILEPOST_BIAS) ? problem_.n : 0;
    case Matrix::residual:
      return has(TILEPOST_RESIDUAL) ? problem_.m * problem_.n : 0;
    default:
      return 0;
  }
}

void RunBuffers::prepare(const Distribution& distribution, uint64_t seed, int run, int rank) {
  const auto stream = [&](Matrix matrix) { return stream_of(seed, run, rank, matrix); };
  device_.fill_operand(a_, problem_.m * problem_.k, distribution, stream(Matrix::a),
                       problem_.input);
  device_.fill_operand(b_, problem_.n * problem_.k, distribution, stream(Matrix::b),
                       problem_.input);
  device_.fill_scales(scale_a_, count_of(Matrix::scale_a), distribution, stream(Matrix::scale_a));
  device_.fill_scales(scale_b_, count_of(Matrix::scale_b), distribution, stream(Matrix::scale_b));
  device_.fill_operand(bias_, count_of(Matrix::bias), addends(distribution), stream(Matrix::bias),
                       problem_.output);
  device_.fill_operand(residual_, count_of(Matrix::residual), addends(distribution),
                       stream(Matrix::residual), problem_.output);
  const size_t out_bytes = static_cast<size_t>(out_elements_) * 2;
  device_.fill_bytes(out_, kCanary, out_bytes + 2 * kCanaryBytes);
  device_.fill_bytes(out(), kPoison, out_bytes);
}

// Every rank passes a bias: that only rank 0's counts in a sum is the runtime's to see to.
tilepost_run_operands_t RunBuffers::operands() const {
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = a_;
  operands.b = b_;
  operands.out = out();
  operands.scale_a = scale_a_;
  operands.scale_b = scale_b_;
  operands.bias = bias_;
  operands.residual = residual_;
  return operands;
}

std::string RunBuffers::fetch(std::vector<uint16_t>& out) const {
  const auto is_canary = [](unsigned char byte) { return byte == kCanary; };
  unsigned char canary[kCanaryBytes];
  out.resize(static_cast<size_t>(out_elements_));
  device_.copy_to_host(out.data(), this->out(), out.size() * 2);
  device_.copy_to_host(canary, out_, kCanaryBytes);
  if (!std::all_of(canary, canary + kCanaryBytes, is_canary))
    return "memory before the output was overwritten";
  device_.copy_to_host(canary, static_cast<char*>(this->out()) + out.size() * 2, kCanaryBytes);
  if (!std::all_of(canary, canary + kCanaryBytes, is_canary))
    return "memory after the output was overwritten";
  return "";
}

}  // namespace tilepost::verify
