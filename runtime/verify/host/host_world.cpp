// The host target: all ranks are in this process, and a rank's memory is ordinary memory.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/verify/host/host_runner.h"
#include "runtime/verify/reference/block_scales.h"
#include "runtime/verify/reference/epilogue.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {
namespace {

constexpr size_t kAlignment = 256;

template <class T>
std::vector<T> make_a(const ReferenceJob& job, int rank) {
  const int64_t k = job.problem.k, blocks = job.problem.blocks();
  const RowSource source{job.seed, job.run, rank, job.origins.data()};
  std::vector<T> values(static_cast<size_t>(job.num_rows * k));
  for (int64_t i = 0; i < job.num_rows; ++i) {
    const uint64_t stream = source.stream(job.rows[i]);
    const uint64_t scales = source.stream(job.rows[i], Matrix::scale_a);
    const int64_t row = source.row_there(job.rows[i]);
    for (int64_t j = 0; j < k; ++j)
      values[i * k + j] =
          static_cast<T>(value_at(job.distribution, stream, row * k + j) *
                         block_scale_of_a(job.distribution, scales, row, j, blocks));
  }
  return values;
}

// The columns of B, as rows of k elements.
template <class T>
std::vector<T> make_b(const ReferenceJob& job, int rank) {
  const Problem& problem = job.problem;
  const uint64_t stream =
      stream_of_expert(stream_of(job.seed, job.run, rank, Matrix::b), job.expert);
  const uint64_t scales = stream_of(job.seed, job.run, rank, Matrix::scale_b);
  std::vector<T> values(static_cast<size_t>(problem.n * problem.k));
  for (int64_t i = 0; i < problem.n; ++i)
    for (int64_t j = 0; j < problem.k; ++j)
      values[i * problem.k + j] =
          static_cast<T>(value_at(job.distribution, stream, problem.b_index(j, i)) *
                         block_scale_of_b(job.distribution, scales, i, j, problem.blocks()));
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
  const EpilogueSource epilogue = epilogue_source(job, rank);
  const std::vector<T> a = make_a<T>(job, rank);
  const std::vector<T> b = make_b<T>(job, rank);
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
        const float norms = job.weights.product != 0 ? a_norms[i] * b_norms[j] : 0;
        add_partial(epilogue, job.weights, job.rows[i], j, static_cast<double>(partial), norms,
                    sum[at], job.bound[at]);
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
  void copy_to_device(void* target, const void* source, size_t bytes) override {
    std::memcpy(target, source, bytes);
  }

  void fill_operand(void* data, int64_t count, const Distribution& distribution, uint64_t stream,
                    tilepost_dtype_t type) override {
    const NumberFormat format = format_of(type);
    for (int64_t i = 0; i < count; ++i)
      store_bits(data, i, encode(value_at(distribution, stream, i), format), format);
  }
  void fill_scales(float* data, int64_t count, const Distribution& distribution,
                   uint64_t stream) override {
    for (int64_t i = 0; i < count; ++i) data[i] = scale_at(distribution, stream, i);
  }

  // Integers are summed as integers, which is exact and fast. All other data are summed in double.
  void reference(const ReferenceJob& job) override {
    std::vector<double> sum(static_cast<size_t>(job.num_rows * job.problem.n), 0.0);
    std::fill_n(job.bound, sum.size(), 0.0f);
    for (int rank = job.first_rank; rank < job.end_rank; ++rank)
      if (job.distribution.kind == DataKind::exact)
        add_rank<int16_t, int32_t>(job, rank, sum);
      else
        add_rank<double, double>(job, rank, sum);
    const EpilogueSource epilogue = epilogue_source(job, job.first_rank);
    for (int64_t at = 0; at < static_cast<int64_t>(sum.size()); ++at) {
      const int64_t row = job.rows[at / job.problem.n], col = at % job.problem.n;
      finish(epilogue, job.weights, row, col, sum[at], job.bound[at]);
      job.sum[at] = static_cast<float>(sum[at]);
    }
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
  std::unique_ptr<KernelRunner> runner(const tilepost_plan_t& plan,
                                       const harness::PlainLaunch& plain) override {
    return std::make_unique<HostRunner>(plan, plain);
  }
  double max_reference_products() const override { return 5e10; }
  double max_audit_products() const override { return 1e9; }
  double slow_products_per_second() const override { return 2e8; }

 private:
  std::vector<HostDevice> devices_;
  std::vector<tilepost_comm_t> comms_;
};

}  // namespace

const char* target_name() {
  return "host";
}

int ranks_available(int ranks) {
  return ranks;
}

std::string obstacle(const tilepost_program_t&, int) {
  return "";
}

std::unique_ptr<World> open_world(int ranks) {
  return std::make_unique<HostWorld>(ranks);
}

}  // namespace tilepost::verify
