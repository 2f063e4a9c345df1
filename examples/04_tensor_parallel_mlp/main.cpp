// Runs the MLP on the host target: every rank is a thread of this process.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "mlp.h"

namespace {

void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

// inner[token, i] = silu(gate) * up, both out of row `token` of the first GEMM.
void swiglu(const mlp::Matrix& gate_and_up, mlp::Matrix& inner) {
  for (int64_t token = 0; token < mlp::kTokens; ++token)
    for (int64_t i = 0; i < mlp::kPart; ++i) {
      const tilepost::Bf16* const row = gate_and_up.data() + token * 2 * mlp::kPart;
      const float gate = to_float(row[i]), up = to_float(row[mlp::kPart + i]);
      inner[token * mlp::kPart + i] = tilepost::to_bf16(gate / (1 + std::exp(-gate)) * up);
    }
}

// One rank: its share of x in, its share of y out.
void run_rank(tilepost_comm_t comm, int rank, const mlp::Matrix& all_x, const mlp::Weights& weights,
              mlp::Matrix& y) {
  const mlp::Matrix x = mlp::share_of_x(all_x, rank);
  const mlp::Matrix first = gate_up_part(weights, rank), second = down_part(weights, rank);
  mlp::Matrix gate_and_up(mlp::kTokens * 2 * mlp::kPart), inner(mlp::kTokens * mlp::kPart);
  y.resize(mlp::tokens_of(rank) * mlp::kHidden);

  tilepost_op_t gather = nullptr, scatter = nullptr;
  check(tilepost_op_create(comm, gate_up_program(), nullptr, &gather));
  check(tilepost_op_create(comm, down_program(), nullptr, &scatter));
  check(tilepost_op_run(gather, x.data(), first.data(), gate_and_up.data(), nullptr));
  check(tilepost_op_synchronize(gather));
  swiglu(gate_and_up, inner);
  check(tilepost_op_run(scatter, inner.data(), second.data(), y.data(), nullptr));
  check(tilepost_op_synchronize(scatter));
  check(tilepost_op_destroy(scatter));
  check(tilepost_op_destroy(gather));
}

}  // namespace

int main() {
  std::vector<tilepost_comm_t> comms(mlp::kRanks);
  check(tilepost_comm_create_host(mlp::kRanks, comms.data()));
  const mlp::Matrix x = mlp::make_x();
  const mlp::Weights weights = mlp::make_weights();
  std::vector<mlp::Matrix> y(mlp::kRanks);

  std::vector<std::thread> threads;
  for (int rank = 0; rank < mlp::kRanks; ++rank)
    threads.emplace_back([&, rank] { run_rank(comms[rank], rank, x, weights, y[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (tilepost_comm_t comm : comms) check(tilepost_comm_destroy(comm));

  int64_t wrong = 0;
  for (int rank = 0; rank < mlp::kRanks; ++rank)
    for (int64_t i = 0; i < mlp::tokens_of(rank); ++i)
      wrong += count_wrong(x, weights, mlp::first_token(rank) + i, &y[rank][i * mlp::kHidden]);
  std::printf("mlp: %lld tokens, hidden %lld, inner %lld on %d ranks, %lld elements wrong\n",
              static_cast<long long>(mlp::kTokens), static_cast<long long>(mlp::kHidden),
              static_cast<long long>(mlp::kInner), mlp::kRanks, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
