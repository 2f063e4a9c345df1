// Runs ffn_down on the host target: every rank is a thread of this process.
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

// One rank: its operands in, the sum over all ranks out.
void run_rank(tilepost_comm_t comm, const Operands& operands, std::vector<tilepost::Bf16>& out) {
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, ffn_down_program(), nullptr, &op));
  check(tilepost_op_run(op, operands.a.data(), operands.b.data(), out.data(), nullptr));
  check(tilepost_op_synchronize(op));
  check(tilepost_op_destroy(op));
}

}  // namespace

int main() {
  std::vector<tilepost_comm_t> comms(ffn_down::kRanks);
  check(tilepost_comm_create_host(ffn_down::kRanks, comms.data()));

  std::vector<Operands> operands;
  std::vector<std::vector<tilepost::Bf16>> outs(
      ffn_down::kRanks, std::vector<tilepost::Bf16>(ffn_down::kOutElements));
  for (int rank = 0; rank < ffn_down::kRanks; ++rank) operands.push_back(random_operands(rank));

  std::vector<std::thread> threads;
  for (int rank = 0; rank < ffn_down::kRanks; ++rank)
    threads.emplace_back([&, rank] { run_rank(comms[rank], operands[rank], outs[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (tilepost_comm_t comm : comms) check(tilepost_comm_destroy(comm));

  int64_t wrong = 0;
  for (const auto& out : outs) wrong += count_wrong(operands, out);
  std::printf("ffn_down: %lld x %lld summed over %d ranks, %lld elements wrong\n",
              static_cast<long long>(ffn_down::kM), static_cast<long long>(ffn_down::kN),
              ffn_down::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
