#include "runtime/verify/buffers.h"

#include <algorithm>

namespace tilepost::verify {
namespace {

constexpr int kCanary = 0xa5;
constexpr int kPoison = 0xff;  // 0xffff is a NaN in bf16 and in f16

}  // namespace

RunBuffers::RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements)
    : device_(device), problem_(problem), out_elements_(out_elements) {
  a_ = device.allocate(static_cast<size_t>(problem.m * problem.k) * 2);
  b_ = device.allocate(static_cast<size_t>(problem.n * problem.k) * 2);
  out_ = device.allocate(static_cast<size_t>(out_elements) * 2 + 2 * kCanaryBytes);
}

RunBuffers::~RunBuffers() {
  for (void* memory : {a_, b_, out_})
    if (memory != nullptr) device_.release(memory);
}

void RunBuffers::prepare(const Distribution& distribution, uint64_t seed, int run, int rank) {
  device_.fill_operand(a_, problem_.m * problem_.k, distribution,
                       stream_of(seed, run, rank, Matrix::a), problem_.input);
  device_.fill_operand(b_, problem_.n * problem_.k, distribution,
                       stream_of(seed, run, rank, Matrix::b), problem_.input);
  const size_t out_bytes = static_cast<size_t>(out_elements_) * 2;
  device_.fill_bytes(out_, kCanary, out_bytes + 2 * kCanaryBytes);
  device_.fill_bytes(out(), kPoison, out_bytes);
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
