// Runs the MLP on kRanks GPUs of this machine, a thread per GPU: checks it, then times it beside
// cuBLAS and NCCL in sequence.
#include <algorithm>
#include <barrier>
#include <thread>

#include "check.h"
#include "sequence.h"
#include "swiglu.h"

namespace {

constexpr int kWarmUps = 5, kRounds = 15;
constexpr int kRuns = 10;            // of one sample, back to back
constexpr int64_t kCheckedRows = 3;  // of every rank: the first, one between, the last

void* to_device(const mlp::Matrix& matrix) {
  void* device = nullptr;
  check(cudaMalloc(&device, matrix.size() * sizeof(matrix[0])));
  check(
      cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(matrix[0]), cudaMemcpyHostToDevice));
  return device;
}

// What the ranks of this process share.
struct Shared {
  const mlp::Matrix x = mlp::make_x();
  const mlp::Weights weights = mlp::make_weights();
  tilepost_unique_id_t id{}, nccl_id{};
  std::barrier<> barrier{mlp::kRanks};
  int64_t wrong[mlp::kRanks] = {};
  double us[mlp::kRanks] = {};            // of the sample taken last
  std::vector<double> ours, in_sequence;  // of the slowest rank, a sample per round
};

class Rank {
 public:
  Rank(Shared& shared, int rank) : shared_(shared), rank_(rank) {
    check(cudaSetDevice(rank));
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
    check(tilepost_comm_init(&shared.id, rank, mlp::kRanks, &comm_));
    check(tilepost_op_create(comm_, gate_up_program(), nullptr, &gather_));
    check(tilepost_op_create(comm_, down_program(), nullptr, &scatter_));
    buffers_.x = to_device(mlp::share_of_x(shared.x, rank));
    buffers_.first = to_device(gate_up_part(shared.weights, rank));
    buffers_.second = to_device(down_part(shared.weights, rank));
    buffers_.gate_and_up = to_device(mlp::Matrix(mlp::kTokens * 2 * mlp::kPart));
    buffers_.inner = to_device(mlp::Matrix(mlp::kTokens * mlp::kPart));
    buffers_.y = to_device(mlp::Matrix(mlp::kShare * mlp::kHidden));
  }
  ~Rank() {
    check(tilepost_op_destroy(scatter_));
    check(tilepost_op_destroy(gather_));
    check(tilepost_comm_destroy(comm_));
    for (void* buffer : {buffers_.x, buffers_.first, buffers_.second, buffers_.gate_and_up,
                         buffers_.inner, buffers_.y})
      check(cudaFree(buffer));
    check(cudaEventDestroy(begin_));
    check(cudaEventDestroy(end_));
    check(cudaStreamDestroy(stream_));
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  // The whole forward pass on one stream: no host in between.
  void forward() {
    check(tilepost_op_run(gather_, buffers_.x, buffers_.first, buffers_.gate_and_up, stream_));
    check(swiglu(buffers_.gate_and_up, buffers_.inner, mlp::kTokens, mlp::kPart, stream_));
    check(tilepost_op_run(scatter_, buffers_.inner, buffers_.second, buffers_.y, stream_));
  }

  void verify() {
    mlp::Matrix y(mlp::tokens_of(rank_) * mlp::kHidden);
    forward();
    check(tilepost_op_synchronize(scatter_));
    check(cudaMemcpy(y.data(), buffers_.y, y.size() * sizeof(y[0]), cudaMemcpyDeviceToHost));
    const int64_t rows = mlp::tokens_of(rank_);
    for (int64_t i = 0; i < std::min(kCheckedRows, rows); ++i) {
      const int64_t row = i * (rows - 1) / (kCheckedRows - 1);
      shared_.wrong[rank_] += count_wrong(shared_.x, shared_.weights, mlp::first_token(rank_) + row,
                                          &y[row * mlp::kHidden]);
    }
  }

  // Rounds of both ways, kRuns back to back in each.
  void measure() {
    mlp::Sequence sequence(shared_.nccl_id, rank_);
    for (int round = -kWarmUps; round < kRounds; ++round) {
      const double ours = sample([&] { forward(); });
      const double other = sample([&] { sequence.run(buffers_, stream_); });
      if (rank_ != 0 || round < 0) continue;
      shared_.ours.push_back(ours);
      shared_.in_sequence.push_back(other);
    }
  }

 private:
  template <class Body>
  double sample(Body body) {
    check(cudaStreamSynchronize(stream_));
    shared_.barrier.arrive_and_wait();
    body();  // before the clock runs: ranks do not start at once
    check(cudaEventRecord(begin_, stream_));
    for (int run = 0; run < kRuns; ++run) body();
    check(cudaEventRecord(end_, stream_));
    check(cudaEventSynchronize(end_));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    shared_.us[rank_] = double{milliseconds} * 1000 / kRuns;
    shared_.barrier.arrive_and_wait();
    return *std::max_element(shared_.us, shared_.us + mlp::kRanks);
  }

  Shared& shared_;
  const int rank_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  tilepost_comm_t comm_ = nullptr;
  tilepost_op_t gather_ = nullptr, scatter_ = nullptr;
  mlp::Buffers buffers_{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  if (gpus < mlp::kRanks) {
    std::fprintf(stderr, "the MLP is planned for %d ranks, this machine has %d GPUs\n", mlp::kRanks,
                 gpus);
    return 1;
  }
  Shared shared;
  check(tilepost_get_unique_id(&shared.id));
  check(tilepost_get_unique_id(&shared.nccl_id));
  std::vector<std::thread> threads;
  for (int number = 0; number < mlp::kRanks; ++number)
    threads.emplace_back([&, number] {
      Rank rank(shared, number);
      rank.verify();
      if constexpr (mlp::kTokens % mlp::kRanks == 0) rank.measure();
    });
  for (std::thread& thread : threads) thread.join();

  int64_t wrong = 0;
  for (const int64_t count : shared.wrong) wrong += count;
  std::printf("mlp: %lld tokens, hidden %lld, inner %lld on %d GPUs, %lld elements wrong\n",
              static_cast<long long>(mlp::kTokens), static_cast<long long>(mlp::kHidden),
              static_cast<long long>(mlp::kInner), mlp::kRanks, static_cast<long long>(wrong));
  if (wrong != 0) return 1;
  if (!shared.ours.empty())
    std::printf("mlp: %.0f us, cuBLAS and NCCL in sequence %.0f us\n", median(shared.ours),
                median(shared.in_sequence));
  return 0;
}
