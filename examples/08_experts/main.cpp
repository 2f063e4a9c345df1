// Runs a layer of experts on the host target: every rank is a thread of this process. On GPUs the
// calls are the same, with device memory and a stream.
#include <tilepost/routing.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "layer.h"

namespace {

void check(tilepost_result_t result) {
  if (result == TILEPOST_OK) return;
  std::fprintf(stderr, "%s: %s\n", tilepost_result_name(result), tilepost_last_error());
  std::exit(1);
}

// Starts a run with operands for as many tokens as the routing has.
void run(tilepost_op_t op, const Matrix& a, const Matrix& b, Matrix& out) {
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.out = out.data();
  operands.m = TILEPOST_PLANNED_M;
  check(tilepost_op_run_with(op, &operands, nullptr));
}

// One rank: its tokens in, what their experts make of them out.
void run_rank(tilepost_comm_t comm, const Operands& own, Matrix& out) {
  tilepost_expert_routing_t routing = nullptr;
  check(tilepost_routing_create(comm, kExperts, kTop, kMostTokens, nullptr, &routing));
  tilepost_options_t options = tilepost_default_options();
  options.routing = routing;  // both halves read its tables
  tilepost_op_t up = nullptr, down = nullptr;
  check(tilepost_op_create(comm, up_program(), &options, &up));
  check(tilepost_op_create(comm, down_program(), &options, &down));

  // Memory is for the worst routing, so no token is ever dropped. A share has kMostTokens rows,
  // of which those behind the rank's tokens may be anything.
  tilepost_routing_info_t tables{};
  check(tilepost_routing_get_info(routing, &tables));
  Matrix hidden = own.hidden, rows(static_cast<size_t>(tables.most_rows) * kInner);
  hidden.resize(static_cast<size_t>(kMostTokens) * kHidden);

  // A step of a model: on GPUs these three calls may be captured into a graph.
  check(tilepost_routing_set(routing, own.ids.data(), own.weights.data(), own.tokens, nullptr));
  run(up, hidden, own.gate_up, rows);
  run(down, rows, own.down, out);

  check(tilepost_op_synchronize(down));
  check(tilepost_op_destroy(down));
  check(tilepost_op_destroy(up));
  check(tilepost_routing_destroy(routing));
}

}  // namespace

int main() {
  std::vector<tilepost_comm_t> comms(kRanks);
  check(tilepost_comm_create_host(kRanks, comms.data()));

  std::vector<Operands> operands;
  for (int rank = 0; rank < kRanks; ++rank) operands.push_back(random_operands(rank));
  std::vector<Matrix> outs(kRanks, Matrix(static_cast<size_t>(kMostTokens) * kHidden));

  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { run_rank(comms[rank], operands[rank], outs[rank]); });
  for (std::thread& thread : threads) thread.join();
  for (tilepost_comm_t comm : comms) check(tilepost_comm_destroy(comm));

  constexpr double kMostError = 0.02;  // rows, sums and weights have eight bits of precision
  bool right = true;
  for (int rank = 0; rank < kRanks; ++rank) {
    const double error = error_of(operands, rank, outs[rank]);
    std::printf("rank %d: %d tokens by %d of %d experts each, off by %.4f of the largest element\n",
                rank, operands[rank].tokens, kTop, kExperts, error);
    right = right && error < kMostError;
  }
  std::printf(right ? "right\n" : "wrong\n");
  return right ? 0 : 1;
}
