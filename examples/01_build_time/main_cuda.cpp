// Runs ffn_down on kRanks GPUs of this machine: a thread per GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "data.h"

namespace {

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

tilepost::Bf16* to_device(const std::vector<tilepost::Bf16>& matrix) {
  tilepost::Bf16* device = nullptr;
  check(cudaMalloc(&device, matrix.size() * sizeof(matrix[0])));
  check(
      cudaMemcpy(device, matrix.data(), matrix.size() * sizeof(matrix[0]), cudaMemcpyHostToDevice));
  return device;
}

// One rank on its GPU: its operands in, the sum over all ranks out.
void run_rank(int rank, const tilepost_unique_id_t& id, const Operands& operands,
              std::vector<tilepost::Bf16>& out) {
  check(cudaSetDevice(rank));
  tilepost_comm_t comm = nullptr;
  check(tilepost_comm_init(&id, rank, ffn_down::kRanks, &comm));
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, ffn_down_program(), nullptr, &op));

  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  tilepost::Bf16* a = to_device(operands.a);
  tilepost::Bf16* b = to_device(operands.b);
  tilepost::Bf16* c = to_device(out);
  check(tilepost_op_run(op, a, b, c, stream));
  check(tilepost_op_synchronize(op));
  check(cudaMemcpy(out.data(), c, out.size() * sizeof(out[0]), cudaMemcpyDeviceToHost));

  check(tilepost_op_destroy(op));
  check(tilepost_comm_destroy(comm));
  check(cudaStreamDestroy(stream));
  for (tilepost::Bf16* pointer : {a, b, c}) check(cudaFree(pointer));
}

}  // namespace

int main() {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  if (gpus < ffn_down::kRanks) {
    std::fprintf(stderr, "ffn_down is planned for %d ranks, this machine has %d GPUs\n",
                 ffn_down::kRanks, gpus);
    return 1;
  }
  tilepost_unique_id_t id;
  check(tilepost_get_unique_id(&id));

  std::vector<Operands> operands;
  std::vector<std::vector<tilepost::Bf16>> outs(
      ffn_down::kRanks, std::vector<tilepost::Bf16>(ffn_down::kOutElements));
  for (int rank = 0; rank < ffn_down::kRanks; ++rank) operands.push_back(random_operands(rank));

  std::vector<std::thread> threads;
  for (int rank = 0; rank < ffn_down::kRanks; ++rank)
    threads.emplace_back([&, rank] { run_rank(rank, id, operands[rank], outs[rank]); });
  for (std::thread& thread : threads) thread.join();

  int64_t wrong = 0;
  for (const auto& out : outs) wrong += count_wrong(operands, out);
  std::printf("ffn_down: %lld x %lld summed over %d GPUs, %lld elements wrong\n",
              static_cast<long long>(ffn_down::kM), static_cast<long long>(ffn_down::kN),
              ffn_down::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
