// The host target: all ranks in this process, memory is memory.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/verify/world.h"

namespace tilepost::verify {
namespace {

constexpr size_t kAlignment = 256;

template <class T>
std::vector<T> make_rows(const ReferenceJob& job, int rank, Matrix matrix, const int64_t* rows,
                         int64_t num_rows) {
  const int64_t k = job.problem.k;
  const uint64_t stream = stream_of(job.seed, job.run, rank, matrix);
  std::vector<T> values(static_cast<size_t>(num_rows * k));
  for (int64_t i = 0; i < num_rows; ++i)
    for (int64_t j = 0; j < k; ++j)
      values[i * k + j] =
          static_cast<T>(value_at(job.distribution, stream, (rows ? rows[i] : i) * k + j));
  return values;
}

template <class T, class Sum>
Sum dot(const T* a, const T* b, int64_t k) {
  Sum sum = 0;
  for (int64_t i = 0; i < k; ++i) sum += static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
  return sum;
}

template <class T, class Sum>
std::vector<float> norms(const std::vector<T>& values, int64_t rows, int64_t k) {
  std::vector<float> norms(rows);
  for (int64_t i = 0; i < rows; ++i)
    norms[i] = static_cast<float>(
        std::sqrt(static_cast<double>(dot<T, Sum>(&values[i * k], &values[i * k], k))));
  return norms;
}

// Adds one rank's products. B's rows are taken in blocks that stay in cache.
template <class T, class Sum>
void add_rank(const ReferenceJob& job, int rank, std::vector<double>& sum) {
  const Problem& problem = job.problem;
  const std::vector<T> a = make_rows<T>(job, rank, Matrix::a, job.rows, job.num_rows);
  const std::vector<T> b = make_rows<T>(job, rank, Matrix::b, nullptr, problem.n);
  std::vector<float> a_norms, b_norms;
  if (job.weights.product != 0) {
    a_norms = norms<T, Sum>(a, job.num_rows, problem.k);
    b_norms = norms<T, Sum>(b, problem.n, problem.k);
  }
  const int64_t block =
      std::max<int64_t>(1, (1 << 18) / static_cast<int64_t>(problem.k * sizeof(T)));
  for (int64_t j0 = 0; j0 < problem.n; j0 += block)
    for (int64_t i = 0; i < job.num_rows; ++i)
      for (int64_t j = j0; j < std::min(problem.n, j0 + block); ++j) {
        const Sum partial = dot<T, Sum>(&a[i * problem.k], &b[j * problem.k], problem.k);
        const int64_t at = i * problem.n + j;
        sum[at] += static_cast<double>(partial);
        if (job.weights.product != 0)
          job.bound[at] += job.weights.partial * std::fabs(static_cast<float>(partial)) +
                           job.weights.product * a_norms[i] * b_norms[j];
      }
}

class HostDevice final : public RankDevice {
 public:
  void enter() override {}
  CUstream_st* stream() override { return nullptr; }

  void* allocate(size_t bytes) override {
    void* memory =
        std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr)
      throw TargetError("out of memory for " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
  void fill_bytes(void* memory, int byte, size_t bytes) override {
    std::memset(memory, byte, bytes);
  }
  void copy_to_host(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }

  void fill_operand(void* data, int64_t count, const Distribution& distribution, uint64_t stream,
                    tilepost_dtype_t type) override {
    auto* elements = static_cast<uint16_t*>(data);
    for (int64_t i = 0; i < count; ++i)
      elements[i] = encode(value_at(distribution, stream, i), type);
  }

  // Integers are summed as integers, which is exact and fast; all else in double.
  void reference(const ReferenceJob& job) override {
    std::vector<double> sum(static_cast<size_t>(job.num_rows * job.problem.n), 0.0);
    std::fill_n(job.bound, sum.size(), job.weights.absolute);
    for (int rank = 0; rank < job.problem.ranks; ++rank)
      if (job.distribution.kind == DataKind::exact)
        add_rank<int16_t, int32_t>(job, rank, sum);
      else
        add_rank<double, double>(job, rank, sum);
    std::transform(sum.begin(), sum.end(), job.sum,
                   [](double value) { return static_cast<float>(value); });
  }
};

class HostWorld final : public World {
 public:
  explicit HostWorld(int ranks) : devices_(ranks), comms_(ranks) {
    check(tilepost_comm_create_host(ranks, comms_.data()), "tilepost_comm_create_host");
  }
  ~HostWorld() override {
    for (tilepost_comm_t comm : comms_) tilepost_comm_destroy(comm);
  }
  int ranks() const override { return static_cast<int>(devices_.size()); }
  RankDevice& device(int rank) override { return devices_[rank]; }
  tilepost_comm_t comm(int rank) override { return comms_[rank]; }
  const tilepost_plan_t& plan_of(const tilepost_program_t& program) const override {
    return program.plans[0];
  }
  double max_reference_products() const override { return 5e10; }
  double slow_products_per_second() const override { return 2e8; }

 private:
  std::vector<HostDevice> devices_;
  std::vector<tilepost_comm_t> comms_;
};

}  // namespace

const char* target_name() {
  return "host";
}

std::unique_ptr<World> open_world(int ranks) {
  return std::make_unique<HostWorld>(ranks);
}

}  // namespace tilepost::verify
