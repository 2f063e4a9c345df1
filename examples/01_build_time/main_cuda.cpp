// Runs ffn_down on kRanks GPUs of this machine: a thread per GPU.
#include <thread>

#include "rank_cuda.h"

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
    threads.emplace_back([&, rank] { run_rank(rank, rank, id, operands[rank], outs[rank]); });
  for (std::thread& thread : threads) thread.join();

  int64_t wrong = 0;
  for (const auto& out : outs) wrong += count_wrong(operands, out);
  std::printf("ffn_down: %lld x %lld summed over %d GPUs, %lld elements wrong\n",
              static_cast<long long>(ffn_down::kM), static_cast<long long>(ffn_down::kN),
              ffn_down::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
