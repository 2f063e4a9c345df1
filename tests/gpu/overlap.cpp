// What overlap gains: GEMM, then AllReduce (cuBLAS, NCCL as it comes) against a generated program.
//
//   overlap [program …] [--rounds 30] [--warmup 5]
//
// In every round each variant runs once, in a new random order, the same on all ranks. Streams wait
// at a gate until every rank has put its work on them, so that launching costs nothing; caches are
// flushed in between. A variant's time in a round is that of the slowest rank, by events; the
// median over the rounds is printed, in microseconds, with the quartiles of the ratio. The
// program's result is compared with that of the sequence first, bit by bit, on integers; the timed
// operands are normal numbers.
#include <cublas_v2.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/gpu/checker.h"

using namespace gpu_test;

namespace {

enum Variant { kGemm, kAllReduce, kSequence, kTilepost, kVariants };
constexpr std::array<const char*, kVariants> kNames = {"gemm", "allreduce", "sequence", "tilepost"};
constexpr int64_t kFlushBytes = int64_t{256} << 20;  // more than any L2

#define CUBLAS_OK(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS, #call)
#define NCCL_OK(call) EXPECT((call) == ncclSuccess, #call)

// What users have today: cublasGemmEx and ncclAllReduce in one stream.
class Baseline {
 public:
  Baseline(const tilepost_program_t& program, Ranks& ranks, int rank)
      : plan_(plan_of(program)), shape_(shape_of(program)) {
    const tilepost_unique_id_t id = ranks.new_id(rank);
    ncclUniqueId nccl_id;
    std::memcpy(&nccl_id, id.bytes, sizeof nccl_id);
    NCCL_OK(ncclCommInitRank(&nccl_, ranks.world(), nccl_id, rank));
    CUBLAS_OK(cublasCreate(&cublas_));
    out_ = memory_.allocate(int64_t{shape_.m} * shape_.n * 2);
  }
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;
  ~Baseline() {
    cublasDestroy(cublas_);
    ncclCommDestroy(nccl_);
  }

  // out = a * b^T, row-major: to cuBLAS, which counts by columns, out^T = b * a^T.
  void gemm(const void* a, const void* b, cudaStream_t stream) {
    const bool bf16 = plan_.input == TILEPOST_BF16;
    const cudaDataType_t type = bf16 ? CUDA_R_16BF : CUDA_R_16F;
    const float one = 1, zero = 0;
    CUBLAS_OK(cublasSetStream(cublas_, stream));
    CUBLAS_OK(cublasGemmEx(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, shape_.n, shape_.m, shape_.k, &one, b,
                           type, shape_.k, a, type, shape_.k, &zero, out_, type, shape_.n,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  void all_reduce(cudaStream_t stream) {
    const ncclDataType_t type = plan_.output == TILEPOST_BF16 ? ncclBfloat16 : ncclFloat16;
    NCCL_OK(ncclAllReduce(out_, out_, size_t(shape_.m) * shape_.n, type, ncclSum, nccl_, stream));
  }
  const void* out() const { return out_; }

 private:
  const tilepost_plan_t& plan_;
  const Shape shape_;
  Device memory_;
  ncclComm_t nccl_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  void* out_ = nullptr;
};

// What the ranks measure together.
struct Measurement {
  Measurement() {
    CUDA_OK(cudaHostAlloc(&gate, sizeof *gate, cudaHostAllocPortable));
    *gate = 0;
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;
  ~Measurement() { cudaFreeHost(gate); }

  uint32_t* gate = nullptr;
  std::array<float, 64> by_rank{};
  std::array<std::vector<float>, kVariants> times;  // [variant][round], slowest rank
};

class RankBench {
 public:
  RankBench(const tilepost_program_t& program, Ranks& ranks, int rank, Measurement& shared)
      : program_(program),
        ranks_(ranks),
        rank_(rank),
        shared_(shared),
        baseline_(program, ranks, rank) {
    TILEPOST_OK_(tilepost::Comm::init(ranks.new_id(rank), rank, ranks.world(), comm_));
    TILEPOST_OK_(tilepost::Op::create(comm_, &program, op_));
    flush_ = memory_.allocate(kFlushBytes);
    CUDA_OK(cudaEventCreate(&begin_));
    CUDA_OK(cudaEventCreate(&end_));
  }
  RankBench(const RankBench&) = delete;
  RankBench& operator=(const RankBench&) = delete;
  ~RankBench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Fills the operands and compares the two results.
  void verify(Checker& checker) {
    const auto& set = checker.set(0);
    auto* wrong = memory_.allocate<unsigned long long>(sizeof(unsigned long long));
    CUDA_OK(cudaMemsetAsync(wrong, 0, sizeof *wrong, checker.stream()));
    checker.fill_set(0, 1);
    baseline_.gemm(set.a, set.b, checker.stream());
    baseline_.all_reduce(checker.stream());
    TILEPOST_OK_(checker.run_set(op_, 0));
    compare(set.out, checker.place(), baseline_.out(), plan_of(program_).output, shape_of(program_),
            wrong, checker.stream());
    unsigned long long count = 0;
    CUDA_OK(cudaMemcpyAsync(&count, wrong, sizeof count, cudaMemcpyDeviceToHost, checker.stream()));
    CUDA_OK(cudaStreamSynchronize(checker.stream()));
    EXPECT(count == 0, std::to_string(count) + " elements differ from cuBLAS and NCCL, rank " +
                           std::to_string(rank_));
  }

  void measure(Checker& checker, int rounds, int warmup) {
    checker.fill_set_normal(0, 2);
    std::mt19937 random(1);  // the same order on every rank
    std::array<int, kVariants> order{kGemm, kAllReduce, kSequence, kTilepost};
    for (int round = -warmup; round < rounds; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const int variant : order) time_one(checker, static_cast<Variant>(variant), round >= 0);
    }
  }

  tilepost::Op& op() { return op_; }

 private:
  void start(Checker& checker, Variant variant) {
    const auto& set = checker.set(0);
    if (variant == kTilepost) {
      TILEPOST_OK_(checker.run_set(op_, 0));
      return;
    }
    if (variant != kAllReduce) baseline_.gemm(set.a, set.b, checker.stream());
    if (variant != kGemm) baseline_.all_reduce(checker.stream());
  }

  void time_one(Checker& checker, Variant variant, bool counts) {
    CUDA_OK(cudaMemsetAsync(flush_, 0, kFlushBytes, checker.stream()));
    CUDA_OK(cudaStreamSynchronize(checker.stream()));
    gate(shared_.gate, ++gates_, checker.stream());
    CUDA_OK(cudaEventRecord(begin_, checker.stream()));
    start(checker, variant);
    CUDA_OK(cudaEventRecord(end_, checker.stream()));
    ranks_.barrier();
    if (rank_ == 0) __atomic_store_n(shared_.gate, gates_, __ATOMIC_RELEASE);
    CUDA_OK(cudaStreamSynchronize(checker.stream()));
    float milliseconds = 0;
    CUDA_OK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    shared_.by_rank[rank_] = milliseconds * 1000;
    ranks_.barrier();
    if (rank_ == 0 && counts)
      shared_.times[variant].push_back(
          *std::max_element(shared_.by_rank.begin(), shared_.by_rank.begin() + ranks_.world()));
    ranks_.barrier();
  }

  const tilepost_program_t& program_;
  Ranks& ranks_;
  const int rank_;
  Measurement& shared_;
  Baseline baseline_;
  Device memory_;
  tilepost::Comm comm_;
  tilepost::Op op_;
  void* flush_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  uint32_t gates_ = 0;
};

float quantile(std::vector<float> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void print_header() {
  std::printf("#%-23s %6s %6s %6s %5s", "program", "m", "n", "k", "ranks");
  for (const char* name : kNames) std::printf(" %9s", name);
  std::printf(" %6s %11s\n", "ratio", "quartiles");
  std::printf("#%-23s %6s %6s %6s %5s %9s %9s %9s %9s %6s %11s\n", "", "", "", "", "", "us", "us",
              "us", "us", "", "");
}

void print(const tilepost_program_t& program, const Measurement& measured) {
  const Shape shape = shape_of(program);
  std::printf("%-24s %6d %6d %6d %5d", program.name, shape.m, shape.n, shape.k, shape.ranks);
  for (const auto& times : measured.times) std::printf(" %9.1f", quantile(times, 0.5));
  std::vector<float> ratios;
  for (size_t i = 0; i < measured.times[kTilepost].size(); ++i)
    ratios.push_back(measured.times[kSequence][i] / measured.times[kTilepost][i]);
  std::printf(" %6.3f %5.3f-%5.3f\n", quantile(ratios, 0.5), quantile(ratios, 0.25),
              quantile(ratios, 0.75));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  const int rounds = std::max(1, static_cast<int>(arguments.number("rounds", 30)));
  const int warmup = static_cast<int>(arguments.number("warmup", 5));
  print_header();
  return run_programs(arguments, [&](const tilepost_program_t& program) {
    Ranks ranks(plan_of(program).ranks);
    Measurement measured;
    ranks.run([&](int rank) {
      RankBench bench(program, ranks, rank, measured);
      Checker checker(program, bench.op(), rank, 1);
      bench.verify(checker);
      bench.measure(checker, rounds, warmup);
      ranks.barrier();
    });
    print(program, measured);
  });
}
