// Runs down_proj on kRanks GPUs of this machine, a thread for each, beside what it replaces: the
// kernel as its author launches it, whose products are summed here.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "down_proj.h"
#include "launch.h"
#include "tilepost/numeric.h"

namespace down_proj = tilepost_gen_down_proj;

namespace {

using Matrix = std::vector<tilepost::Bf16>;

void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::exit(1);
}

// Few elements are not zero, so every sum is a small whole number, exact in bf16 in any order.
Matrix random_matrix(uint32_t seed, int64_t elements) {
  std::mt19937 random(seed);
  Matrix matrix(static_cast<size_t>(elements));
  for (tilepost::Bf16& element : matrix)
    element = tilepost::to_bf16(random() % 8 == 0 ? (random() % 2 == 0 ? 1.0f : -1.0f) : 0.0f);
  return matrix;
}

void* to_device(const Matrix& matrix) {
  void* device = nullptr;
  check(cudaMalloc(&device, matrix.size() * sizeof(matrix[0])));
  check(
      cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(matrix[0]), cudaMemcpyHostToDevice));
  return device;
}

Matrix to_host(const void* device) {
  Matrix matrix(down_proj::kOutElements);
  check(
      cudaMemcpy(matrix.data(), device, matrix.size() * sizeof(matrix[0]), cudaMemcpyDeviceToHost));
  return matrix;
}

struct Rank {
  Matrix product, sum;  // of this rank alone, as the kernel launched plainly gives it; of all
};

void run_rank(int rank, const tilepost_unique_id_t& id, Rank& result) {
  check(cudaSetDevice(rank));
  tilepost_comm_t comm = nullptr;
  check(tilepost_comm_init(&id, rank, down_proj::kRanks, &comm));
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, down_proj_program(), nullptr, &op));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  const auto seed = static_cast<uint32_t>(2 * rank);
  void* a = to_device(random_matrix(seed, down_proj::kM * down_proj::kK));
  void* b = to_device(random_matrix(seed + 1, down_proj::kN * down_proj::kK));
  void* c = to_device(Matrix(down_proj::kOutElements));
  check(launch_tiled_gemm(static_cast<__nv_bfloat16*>(a), static_cast<__nv_bfloat16*>(b),
                          static_cast<__nv_bfloat16*>(c), static_cast<int>(down_proj::kM),
                          static_cast<int>(down_proj::kN), static_cast<int>(down_proj::kK),
                          stream));
  check(cudaStreamSynchronize(stream));
  result.product = to_host(c);
  check(tilepost_op_run(op, a, b, c, stream));
  check(tilepost_op_synchronize(op));
  result.sum = to_host(c);

  check(tilepost_op_destroy(op));
  check(tilepost_comm_destroy(comm));
  check(cudaStreamDestroy(stream));
  for (void* pointer : {a, b, c}) check(cudaFree(pointer));
}

}  // namespace

int main() {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  if (gpus < down_proj::kRanks) {
    std::fprintf(stderr, "down_proj is planned for %d ranks, this machine has %d GPUs\n",
                 down_proj::kRanks, gpus);
    return 1;
  }
  tilepost_unique_id_t id;
  check(tilepost_get_unique_id(&id));
  std::vector<Rank> ranks(down_proj::kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < down_proj::kRanks; ++rank)
    threads.emplace_back([&, rank] { run_rank(rank, id, ranks[rank]); });
  for (std::thread& thread : threads) thread.join();

  int64_t wrong = 0;
  for (size_t i = 0; i < ranks[0].sum.size(); ++i) {
    float sum = 0;
    for (const Rank& rank : ranks) sum += to_float(rank.product[i]);
    for (const Rank& rank : ranks) wrong += to_float(rank.sum[i]) != sum;
  }
  std::printf("down_proj: %lld x %lld summed over %d GPUs, %lld elements wrong\n",
              static_cast<long long>(down_proj::kM), static_cast<long long>(down_proj::kN),
              down_proj::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
