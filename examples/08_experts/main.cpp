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

// One rank: its tokens in, what their experts make of them out.
void run_rank(tilepost_comm_t comm, const Operands& own, Matrix& out) {
  tilepost_expert_routing_t routing = nullptr;
  check(tilepost_routing_create(comm, kExperts, kTop, kMostTokens, nullptr, &routing));
  tilepost_options_t options = tilepost_default_options();
  options.routing = routing;  // all layers of a model may have the same
  tilepost_op_t op = nullptr;
  check(tilepost_op_create(comm, experts_layer_program(), &options, &op));

  // A share has kMostTokens rows, of which those behind the rank's tokens may be anything.
  Matrix hidden = own.hidden;
  hidden.resize(static_cast<size_t>(kMostTokens) * kHidden);

  tilepost_layer_operands_t experts{};
  experts.struct_size = sizeof experts;
  experts.b = own.down.data();
  experts.ids = own.ids.data();
  experts.weights = own.weights.data();
  experts.tokens = own.tokens;
  tilepost_run_operands_t operands{};
  operands.struct_size = sizeof operands;
  operands.a = hidden.data();
  operands.b = own.gate_up.data();
  operands.out = out.data();
  operands.m = TILEPOST_PLANNED_M;
  operands.layer = &experts;

  // A layer of a model: routing and both halves. On GPUs the call may be captured into a graph.
  check(tilepost_op_run_with(op, &operands, nullptr));

  check(tilepost_op_synchronize(op));
  check(tilepost_op_destroy(op));
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
