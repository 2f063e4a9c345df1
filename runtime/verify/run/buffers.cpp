#include "runtime/verify/run/buffers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/harness/text.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/reference/block_scales.h"
#include "runtime/verify/reference/experts.h"
#include "runtime/verify/reference/norm.h"
#include "runtime/verify/reference/quantised.h"
#include "runtime/verify/reference/token_sums.h"

namespace tilepost::verify {
namespace {

constexpr size_t kOperandAlignment = 16;  // tilepost_op_run
constexpr int kCanary = 0xa5;

}  // namespace

FencedMemory::FencedMemory(RankDevice& device, size_t most_bytes)
    : device_(device), memory_(device.allocate(most_bytes + 2 * kCanaryBytes)) {}

void FencedMemory::poison(size_t bytes) {
  bytes_ = bytes;
  device_.fill_bytes(memory_, kCanary, bytes + 2 * kCanaryBytes);
  if (bytes > 0) device_.fill_bytes(data(), kPoison, bytes);
}

std::string FencedMemory::fetch(const char* name, std::vector<unsigned char>& bytes) const {
  std::vector<unsigned char> all(bytes_ + 2 * kCanaryBytes);
  device_.copy_to_host(all.data(), memory_, all.size());
  const auto inside = all.begin() + kCanaryBytes, after = inside + static_cast<int64_t>(bytes_);
  const auto is_canary = [](unsigned char byte) { return byte == kCanary; };
  bytes.assign(inside, after);
  const bool before_is_good = std::all_of(all.begin(), inside, is_canary);
  if (before_is_good && std::all_of(after, all.end(), is_canary)) return "";
  return std::string("memory ") + (before_is_good ? "after " : "before ") + name +
         " was overwritten";
}

RunBuffers::RunBuffers(RankDevice& device, const Problem& problem, int64_t out_elements)
    : device_(device),
      problem_(problem),
      out_(device, static_cast<size_t>(out_elements) * out_bytes()) {
  const auto allocate = [&](int64_t count, size_t bytes) {
    return count == 0 ? nullptr : device.allocate(static_cast<size_t>(count) * bytes);
  };
  const auto allocate_for = [&](Matrix matrix, size_t bytes) {
    const bool of_a = matrix == Matrix::scale_a && moves_scales();
    const bool of_token = matrix == Matrix::residual && problem.combines();
    return allocate(count_of(matrix, of_a || of_token ? problem.m : problem.most_rows()), bytes);
  };
  a_ = allocate((problem.combines() ? problem.most_rows() : problem.m) * problem.k, input_bytes());
  if (problem.own != nullptr) opaque_ = std::make_unique<OpaqueMemory>(device, *problem.own);
  const bool matrix = problem.own == nullptr || problem.own->b.bytes == nullptr;
  b_ = allocate(matrix ? problem.num_b() * problem.rows_of_b() * problem.k : 0, input_bytes());
  expert_ends_ = static_cast<int32_t*>(allocate(problem.experts, sizeof(int32_t)));
  const int64_t routes = (problem.m + problem.ranks - 1) / problem.ranks * problem.top;
  ids_ = static_cast<int32_t*>(allocate(routes, sizeof(int32_t)));
  weights_ = static_cast<float*>(allocate(routes, sizeof(float)));
  scale_a_ = static_cast<float*>(allocate_for(Matrix::scale_a, sizeof(float)));
  scale_b_ = static_cast<float*>(allocate_for(Matrix::scale_b, sizeof(float)));
  bias_ = allocate_for(Matrix::bias, output_bytes());
  residual_ = allocate_for(Matrix::residual, output_bytes());
  norm_weight_ = allocate_for(Matrix::norm_weight, output_bytes());
  norm_residual_ = allocate_for(Matrix::norm_residual, output_bytes());
  if (row_of(problem.pattern).moves_input())
    gathered_ = std::make_unique<FencedMemory>(
        device, static_cast<size_t>(problem.most_gathered() * problem.k) * input_bytes());
  if (moves_scales())
    gathered_scales_ = std::make_unique<FencedMemory>(
        device, static_cast<size_t>(problem.most_rows() * problem.blocks()) * sizeof(float));
  if (problem.quantised)
    out_scales_ = std::make_unique<FencedMemory>(
        device, static_cast<size_t>(count_scales_of_out(problem, out_elements / problem.n)) *
                    sizeof(float));
}

bool RunBuffers::moves_scales() const {
  return problem_.blocks() > 0 && row_of(problem_.pattern).moves_input();
}

RunBuffers::~RunBuffers() {
  for (void* memory : {a_, b_, static_cast<void*>(scale_a_), static_cast<void*>(scale_b_), bias_,
                       residual_, norm_weight_, norm_residual_, static_cast<void*>(expert_ends_),
                       static_cast<void*>(ids_), static_cast<void*>(weights_)})
    if (memory != nullptr) device_.release(memory);
}

int64_t RunBuffers::count_of(Matrix matrix, int64_t m) const {
  const auto has = [&](int operation) { return (problem_.epilogue & operation) != 0; };
  const int64_t columns = problem_.num_b() * problem_.rows_of_b();
  switch (matrix) {
    case Matrix::scale_a:
      if (problem_.blocks() > 0) return count_scales_of_a(problem_, m);
      return has(TILEPOST_SCALE_ROWS) ? m : has(TILEPOST_SCALE) ? 1 : 0;
    case Matrix::scale_b:
      if (problem_.blocks() > 0)
        return (problem_.n + Problem::kBlock - 1) / Problem::kBlock * problem_.blocks();
      return has(TILEPOST_SCALE_COLUMNS) ? columns : has(TILEPOST_SCALE) ? 1 : 0;
    case Matrix::bias:
      return has(TILEPOST_BIAS) ? columns : 0;
    case Matrix::residual:
      return has(TILEPOST_RESIDUAL) ? m * problem_.n : 0;
    case Matrix::norm_weight:
      return problem_.normalises() ? problem_.n : 0;
    case Matrix::norm_residual:
      return problem_.keeps_sum() ? m * problem_.n : 0;
    default:
      return 0;
  }
}

// Two runs of three request the gathered A. In one of these a rank's own rows already lie in their
// place in it. This requires that every rank can have its rows there, and that the place has the
// alignment that a needs.
void RunBuffers::prepare(const Distribution& distribution, uint64_t seed, int run, int rank,
                         const RunShape& shape, int64_t out_elements) {
  const auto stream = [&](Matrix matrix) { return stream_of(seed, run, rank, matrix); };
  const int64_t rows = shape.product_rows(rank);
  m_ = shape.m();
  rows_ = rows;
  out_.poison(static_cast<size_t>(out_elements) * out_bytes());
  if (out_scales_ != nullptr)
    out_scales_->poison(static_cast<size_t>(count_scales_of_out(problem_, shape.out_rows(rank))) *
                        sizeof(float));
  run_a_ = a_;
  gathers_ = gathered_ != nullptr && run % 3 != 2;
  if (gathered_ != nullptr)
    gathered_->poison(static_cast<size_t>((problem_.dispatches() ? m_ : rows) * problem_.k) *
                      input_bytes());
  // In one of three runs only one of the two is requested.
  gathers_scales_ = moves_scales() && run % 3 != 0;
  if (gathers_scales_)
    gathered_scales_->poison(static_cast<size_t>(rows * problem_.blocks()) * sizeof(float));
  const size_t in_place = static_cast<size_t>(shape.own_begin(rank) * problem_.k) * input_bytes();
  if (gathers_ && run % 3 == 1 && row_of(problem_.pattern).rows_end == RowsEnd::all &&
      in_place % kOperandAlignment == 0)
    run_a_ = static_cast<char*>(gathered_->data()) + in_place;
  device_.fill_operand(run_a_, shape.a_rows(rank) * problem_.k, distribution, stream(Matrix::a),
                       problem_.input);
  if (b_ != nullptr)
    fill_of_experts(b_, problem_.num_b() * problem_.rows_of_b() * problem_.k, distribution,
                    stream(Matrix::b), problem_.input);
  if (problem_.has_tokens()) {
    const std::vector<int32_t>& ids = shape.ids(rank);
    const std::vector<float> weights =
        weights_of_routes(distribution.kind, seed, run, rank, ids.size());
    device_.copy_to_device(ids_, ids.data(), ids.size() * sizeof(int32_t));
    device_.copy_to_device(weights_, weights.data(), weights.size() * sizeof(float));
  } else if (problem_.experts > 0) {
    const std::vector<int32_t> ends = expert_ends(problem_, rows, seed, run, rank);
    device_.copy_to_device(expert_ends_, ends.data(), ends.size() * sizeof(int32_t));
  }
  if (opaque_) opaque_->fill(problem_.shape(rows), seed, run, rank);
  const auto fill_scales = [&](float* data, Matrix matrix) {
    device_.fill_scales(data, count_of(matrix, rows), distribution, stream(matrix));
  };
  if (problem_.blocks() > 0)
    put_scales(scales_of_a(problem_, distribution, stream(Matrix::scale_a),
                           moves_scales() ? shape.a_rows(rank) : rows));
  else
    fill_scales(scale_a_, Matrix::scale_a);
  fill_scales_of_experts(count_of(Matrix::scale_b, rows), distribution, stream(Matrix::scale_b));
  fill_of_experts(bias_, count_of(Matrix::bias, rows), addends(distribution), stream(Matrix::bias),
                  problem_.output);
  const int64_t residual_rows = problem_.combines() ? shape.out_rows(rank) : rows;
  device_.fill_operand(residual_, count_of(Matrix::residual, residual_rows), addends(distribution),
                       stream(Matrix::residual), problem_.output);
  fill_consumer(distribution, seed, run, rank, shape);
}

void RunBuffers::fill_of_experts(void* data, int64_t count, const Distribution& distribution,
                                 uint64_t stream, tilepost_dtype_t type) {
  const int64_t each = count / problem_.num_b();
  for (int expert = 0; expert < problem_.num_b(); ++expert)
    device_.fill_operand(static_cast<char*>(data) + expert * each * element_bytes(type), each,
                         distribution, stream_of_expert(stream, expert), type);
}

void RunBuffers::fill_scales_of_experts(int64_t count, const Distribution& distribution,
                                        uint64_t stream) {
  const int64_t parts = count > 1 ? problem_.num_b() : 1, each = count / parts;
  for (int expert = 0; expert < parts; ++expert)
    device_.fill_scales(scale_b_ + expert * each, each, distribution,
                        stream_of_expert(stream, expert));
}

void RunBuffers::put_scales(const std::vector<float>& scales) {
  if (!scales.empty())
    device_.copy_to_device(scale_a_, scales.data(), scales.size() * sizeof(float));
}

void RunBuffers::fill_consumer(const Distribution& distribution, uint64_t seed, int run, int rank,
                               const RunShape& shape) {
  device_.fill_operand(norm_weight_, count_of(Matrix::norm_weight, shape.rows(rank)),
                       addends(distribution), stream_of(seed, run, 0, Matrix::norm_weight),
                       problem_.output);
  kept_rows_ = problem_.keeps_sum() ? shape.out_rows(rank) : 0;
  device_.fill_operand(norm_residual_, kept_rows_ * problem_.n, addends(distribution),
                       stream_of(seed, run, residual_rank(problem_, rank), Matrix::norm_residual),
                       problem_.output);
}

// Every rank passes a bias. The runtime must ensure that only rank 0's bias counts in a sum.
tilepost_run_operands_t RunBuffers::operands() const {
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = run_a_;
  operands.b = b_ != nullptr ? b_ : opaque_->b();
  if (opaque_) operands.user = const_cast<void**>(opaque_->user());
  operands.out = out_.data();
  operands.scale_a = scale_a_;
  operands.scale_b = scale_b_;
  operands.bias = bias_;
  operands.residual = residual_;
  operands.m = problem_.any_m && !problem_.routed() ? m_ : TILEPOST_PLANNED_M;
  operands.gathered = gathers_ ? gathered_->data() : nullptr;
  if (gathers_scales_) operands.gathered_scales = static_cast<float*>(gathered_scales_->data());
  if (out_scales_ != nullptr) operands.out_scales = static_cast<float*>(out_scales_->data());
  operands.norm_weight = norm_weight_;
  operands.norm_residual = norm_residual_;
  operands.norm_epsilon = kNormEpsilon;
  operands.expert_ends = expert_ends_;
  return operands;
}

std::vector<float> RunBuffers::original(const std::vector<int64_t>& rows) const {
  const auto n = static_cast<size_t>(problem_.n);
  std::vector<unsigned char> bytes(static_cast<size_t>(rows_) * n * output_bytes());
  FencedMemory product(device_, bytes.size());
  product.poison(bytes.size());
  const tilepost_run_operands_t given = operands();
  const int error = problem_.own->launch(given.a, given.b, product.data(), problem_.shape(rows_),
                                         opaque_->user(), device_.stream());
  if (error != 0)
    throw TargetError(std::string("launching ") + problem_.own->name + ", as its author does, " +
                      "failed with CUDA's error " + std::to_string(error));
  if (const std::string wrong = product.fetch("the original's output", bytes); !wrong.empty())
    throw TargetError(wrong);
  std::vector<float> values;
  values.reserve(rows.size() * n);
  for (const int64_t row : rows)
    for (int64_t i = row * problem_.n; i < (row + 1) * problem_.n; ++i) {
      values.push_back(decode(load_bits(bytes.data(), i, problem_.output), problem_.output));
      if (!std::isfinite(values.back()))
        throw TargetError(harness::format(
            "%s as it is, unwoven, gives %g at (%lld, %lld): what it reads of random bytes, of "
            "which every number is finite, cannot be held to anything",
            problem_.own->name, static_cast<double>(values.back()), static_cast<long long>(row),
            static_cast<long long>(i - row * problem_.n)));
    }
  return values;
}

std::string RunBuffers::fetch_out(std::vector<unsigned char>& out) const {
  return out_.fetch("the output", out);
}

std::string RunBuffers::fetch_out_scales(std::vector<float>& scales) const {
  std::vector<unsigned char> bytes;
  std::string overwritten = out_scales_->fetch("the output's scales", bytes);
  scales.resize(bytes.size() / sizeof(float));
  std::memcpy(scales.data(), bytes.data(), bytes.size());
  return overwritten;
}

std::string RunBuffers::fetch_gathered(std::vector<unsigned char>& gathered) const {
  return gathered_->fetch("the gathered A", gathered);
}

std::string RunBuffers::fetch_gathered_scales(std::vector<unsigned char>& scales) const {
  return gathered_scales_->fetch("the gathered scales", scales);
}

void RunBuffers::fetch_kept(std::vector<unsigned char>& kept) const {
  kept.resize(static_cast<size_t>(kept_rows_ * problem_.n) * output_bytes());
  device_.copy_to_host(kept.data(), norm_residual_, kept.size());
}

}  // namespace tilepost::verify
