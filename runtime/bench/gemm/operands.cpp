#include "runtime/bench/gemm/operands.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/bench/gemm/cublas_rows.h"
#include "runtime/bench/gpu/checked.h"
#include "runtime/harness/opaque_bytes.h"
#include "runtime/map/patterns.h"
#include "tilepost/internal/block_scales.h"

namespace tilepost::bench {
namespace {

constexpr int64_t kMaxSets = 512;
constexpr int kEpilogueMax = 8;  // The largest bias and residual. They are whole numbers, exact in
                                 // every type.
constexpr int64_t kDenseLimit = 1 << 19;  // fp32 sums this many products of numbers up to 4 exactly
// The average number of non-zero products of a sum, where operands are sparse. They are so few that
// every partial sum, and each rank's sum, is exact in 16-bit outputs and in the few bits in which
// tensor cores add some dtypes (DtypeRow::sums_short).
constexpr double kSparseProducts = 64;

// `rows` rows of `blocks` scales of blocks, as [rows, blocks] with the given steps, and 0 between
// them and behind the last. They are 1 or 2, so that sums stay as short as exact data makes them.
std::vector<float> block_scales(int64_t rows, int64_t blocks, const ScaleSteps& steps) {
  std::vector<float> scales(static_cast<size_t>(std::max(rows * steps.row, blocks * steps.block)));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      scales[static_cast<size_t>(row * steps.row + block * steps.block)] =
          (row * 5 + block * 3 + row * block) % 7 < 4 ? 1.0f : 2.0f;
  return scales;
}

bool has(const tilepost_plan_t& plan, int operations) {
  return (plan.epilogue & operations) != 0;
}

}  // namespace

int64_t count_sets(int64_t bytes) {
  int device = 0, l2_bytes = 0;
  size_t free_bytes = 0, total_bytes = 0;
  TILEPOST_BENCH_CUDA(cudaGetDevice(&device));
  TILEPOST_BENCH_CUDA(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device));
  TILEPOST_BENCH_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const int64_t wanted = 2 * int64_t{l2_bytes} / bytes + 2;
  const int64_t room = static_cast<int64_t>(free_bytes) * 3 / 4 / bytes;
  return std::clamp<int64_t>(std::min(wanted, room), 1, kMaxSets);
}

Operands::Operands(const tilepost_plan_t& plan, int64_t out_elements, cudaStream_t stream,
                   const harness::PlainLaunch* own)
    : plan_(plan),
      stream_(stream),
      a_count_(std::max(rows_of_runs(plan), rows_for_cublas(plan)) * plan.k),
      b_count_(plan.map.n * plan.k),
      out_count_(rows_for_cublas(plan) * plan.map.n),
      out_bytes_(std::max(out_elements, out_count_) * element_bytes(plan.output)) {
  const int64_t a_bytes = a_count_ * element_bytes(plan.input);
  // An opaque B still has room for a matrix B, because cuBLASLt, which is timed beside a user's
  // kernel, multiplies a matrix.
  if (own != nullptr) read_sizes(*own);
  const int64_t b_bytes = std::max(b_count_ * element_bytes(plan.input), opaque_b_bytes_);
  const int64_t user_bytes = std::accumulate(user_bytes_.begin(), user_bytes_.end(), int64_t{0});
  const int64_t residual_bytes =
      has(plan, TILEPOST_RESIDUAL) ? out_count_ * element_bytes(plan.output) : 0;
  const auto take = [this](int64_t bytes) {
    memory_.push_back(allocate(bytes));
    return memory_.back().get();
  };
  for (int64_t i = count_sets(a_bytes + b_bytes + user_bytes + out_bytes_ + residual_bytes); i > 0;
       --i)
    sets_.push_back({take(a_bytes), take(b_bytes), take(out_bytes_),
                     residual_bytes > 0 ? take(residual_bytes) : nullptr});
  for (OperandSet& set : sets_) {
    if (user_bytes_.empty()) break;
    std::vector<void*>& addresses = user_.emplace_back();
    for (const int64_t bytes : user_bytes_) addresses.push_back(take(bytes));
    set.user = addresses.data();
  }
  make_epilogue();
}

void Operands::read_sizes(const harness::PlainLaunch& own) {
  const auto size = [](int64_t x) { return static_cast<int32_t>(x); };
  const int64_t n = plan_.map.n, k = plan_.k;
  const tilepost_shape_t shape = {size(plan_.map.m),
                                  size(n),
                                  size(k),
                                  size(k),
                                  size(plan_.operands == TILEPOST_NN ? n : k),
                                  size(n)};
  if (own.b.bytes != nullptr) opaque_b_bytes_ = own.b.bytes(shape);
  for (int i = 0; i < own.num_user; ++i)
    user_bytes_.push_back(std::max<int64_t>(own.user[i].bytes(shape), 1));
}

void Operands::fill_opaque(const OperandSet& set, uint64_t seed) {
  const auto fill = [&](const void* memory, int64_t bytes, uint64_t stream) {
    if (bytes == 0) return;
    const std::vector<unsigned char> random = harness::opaque_bytes(bytes, stream);
    TILEPOST_BENCH_CUDA(cudaMemcpyAsync(const_cast<void*>(memory), random.data(), random.size(),
                                        cudaMemcpyHostToDevice, stream_));
    TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream_));
  };
  constexpr uint64_t kStreams = 32;  // more than a kernel has kinds of opaque data
  fill(set.b, opaque_b_bytes_, seed * kStreams);
  for (size_t i = 0; i < user_bytes_.size(); ++i)
    fill(set.user[i], user_bytes_[i], seed * kStreams + 1 + i);
}

void Operands::clear_a() {
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(const_cast<void*>(sets_[0].a), 0,
                                      static_cast<size_t>(a_count_ * element_bytes(plan_.input)),
                                      stream_));
}

// Scales are powers of two, so exact sums stay exact.
void Operands::make_epilogue() {
  const auto powers = [](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(1.0f, static_cast<int>(i * 7 % 5) - 3);
    return values;
  };
  if (has(plan_, TILEPOST_SCALE))
    scale_a_ = upload<float>({kScaleA}), scale_b_ = upload<float>({kScaleB});
  if (has(plan_, TILEPOST_SCALE_ROWS)) scale_a_ = upload(powers(plan_.map.m));
  if (has(plan_, TILEPOST_SCALE_COLUMNS)) scale_b_ = upload(powers(plan_.map.n));
  if (plan_.scales != TILEPOST_SCALES_NONE) make_block_scales();
  constexpr uint64_t kBiasSeed = 11, kResidualSeed = 12;
  if (has(plan_, TILEPOST_BIAS)) {
    bias_ = allocate(plan_.map.n * element_bytes(plan_.output));
    fill_integers(bias_.get(), plan_.map.n, plan_.output, kBiasSeed, kEpilogueMax, 1, stream_);
  }
  for (const OperandSet& set : sets_)
    if (set.residual != nullptr)
      fill_integers(const_cast<void*>(set.residual), out_count_, plan_.output, kResidualSeed,
                    kEpilogueMax, 1, stream_);
}

void Operands::make_block_scales() {
  constexpr int64_t kPitch = 4;
  const int64_t m = plan_.map.m, k = plan_.k, along_k = scale_blocks(k);
  const int64_t of_b = scale_blocks(plan_.map.n);
  const ScaleSteps rows = scale_steps_of_a(false, m, k), columns = scale_steps_of_a(true, m, k);
  const ScaleSteps padded = {(along_k + kPitch - 1) / kPitch * kPitch, 1};
  scale_a_ = upload(block_scales(m, along_k, rows));
  scale_b_ = upload(block_scales(of_b, along_k, scale_steps_of_b(k)));
  columns_a_ = upload(block_scales(m, along_k, columns));
  padded_b_ = upload(block_scales(of_b, along_k, padded));
}

void Operands::fill_exact(uint64_t seed, int rank) {
  const bool dense = rank < 0 && !row_of(plan_.input).sums_short() && plan_.k < kDenseLimit;
  const int max = dense ? 4 : 1;
  const double products = static_cast<double>(plan_.k) * (rank < 0 ? 1 : plan_.ranks);
  const double share = dense ? 1 : std::min(1.0, std::sqrt(kSparseProducts / products));
  const uint64_t first = 2 * (seed * 64 + static_cast<uint64_t>(std::max(rank, 0)));
  const OperandSet& set = sets_[0];
  fill_integers(const_cast<void*>(set.a), a_count_, plan_.input, first, max, share, stream_);
  fill_integers(const_cast<void*>(set.b), b_count_, plan_.input, first + 1, max, share, stream_);
  fill_opaque(set, first + 1);
}

void Operands::fill_normal(uint64_t seed) {
  for (const OperandSet& set : sets_) {
    bench::fill_normal(const_cast<void*>(set.a), a_count_, plan_.input, 2 * seed, stream_);
    bench::fill_normal(const_cast<void*>(set.b), b_count_, plan_.input, 2 * seed + 1, stream_);
    fill_opaque(set, 2 * seed + 1);
    ++seed;
  }
}

tilepost_epilogue_t Operands::epilogue(int set) const {
  const bool columns =
      plan_.scales != TILEPOST_SCALES_NONE && plan_.scales_a == TILEPOST_SCALES_COLUMNS;
  return {static_cast<const float*>(columns ? columns_a_.get() : scale_a_.get()),
          static_cast<const float*>(scale_b_.get()),
          bias_.get(),
          sets_[set].residual,
          sets_[set].out,
          nullptr};
}

Product Operands::product(int set) const {
  BlockScales blocks;
  if (plan_.scales != TILEPOST_SCALES_NONE)
    blocks = {static_cast<const float*>(scale_a_.get()), static_cast<const float*>(scale_b_.get()),
              static_cast<const float*>(columns_a_.get()),
              static_cast<const float*>(padded_b_.get())};
  return {sets_[set].a,
          sets_[set].b,
          epilogue(set),
          plan_.input,
          plan_.output,
          static_cast<int>(plan_.map.m),
          static_cast<int>(plan_.map.n),
          static_cast<int>(plan_.k),
          plan_.operands == TILEPOST_NN,
          plan_.epilogue,
          blocks};
}

}  // namespace tilepost::bench
