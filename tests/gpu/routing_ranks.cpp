// Routing of several ranks (tilepost/routing.h), each a process: on every rank the tables of random
// routings have the bits that the host's twin makes, eagerly and in replays, and are what the
// reference says. A rank that does not come is named.
//
//   routing_ranks ranks [routings]   200 routings unless told otherwise; rank r is on device r, or
//                                    on r modulo the number of devices: then the driver lets the
//                                    kernels of ranks on one GPU take turns
//
// Exit code: 0 all is right, 1 not, 77 nothing to run here.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gpu/forked_ranks.h"

namespace {

using namespace gpu_routing;

constexpr unsigned kDeadlineSeconds = 120;  // for the whole program

Shape random_shape(int ranks, Random& random) {
  Shape shape{ranks, ranks * (1 + below(random, 40)), 1 + below(random, 8), 1 + below(random, 300)};
  if (below(random, 4) == 0) shape.most_tokens = 1 + below(random, 9000);
  return shape;
}

// The tokens of all ranks, encoded. Some ranks have none.
std::vector<Tokens> random_all(const Shape& shape, const std::vector<Types>& types, Load load,
                               const std::vector<int>& counts, Random& random) {
  std::vector<Tokens> all;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    all.push_back(random_tokens(shape, counts[rank], load, random));
    all.back().encode(types[rank]);
  }
  return all;
}

std::vector<int> random_counts(const Shape& shape, Random& random) {
  std::vector<int> counts;
  for (int rank = 0; rank < shape.ranks; ++rank)
    counts.push_back(below(random, 5) == 0 ? 0 : below(random, shape.most_tokens + 1));
  return counts;
}

// All ranks draw the same random numbers.
void check_routings(tilepost_comm_t comm, const Rank& me, cudaStream_t stream, int routings) {
  constexpr int kOfEach = 5;
  Random random(450 + me.ranks);
  for (int number = 0; number < routings;) {
    const Shape shape = random_shape(me.ranks, random);
    std::vector<Types> types;
    for (int rank = 0; rank < me.ranks; ++rank)
      types.push_back({below(random, 2) == 0, below(random, 2) == 0});
    const Routing routing(comm, me.rank, shape, types[me.rank], stream);
    const auto check = [&](const std::vector<Tokens>& all, const char* how) {
      OK(routing.synchronize());
      std::string wrong = routing.difference(all, types);
      if (wrong.empty()) wrong = wrong_tables(shape, me.rank, all, routing.read());
      if (!wrong.empty())
        end("rank " + std::to_string(me.rank) + ", routing " + std::to_string(number) + ", " + how +
            ": " + wrong);
      ++number;
    };
    for (int i = 0; i < kOfEach; ++i) {
      const auto load = static_cast<Load>(below(random, routing::kLoads));
      auto all = random_all(shape, types, load, random_counts(shape, random), random);
      routing.put(all[me.rank]);
      routing.set(all[me.rank].tokens);
      check(all, "eager");
    }
    const std::vector<int> counts = random_counts(shape, random);
    const Graph graph(stream, [&] { routing.set(counts[me.rank]); });
    for (int i = 0; i < kOfEach; ++i) {
      auto all = random_all(shape, types, static_cast<Load>(i), counts, random);
      routing.put(all[me.rank]);
      graph.replay(stream);
      check(all, "replayed");
    }
  }
}

// Every rank is told of the same wrong id.
void check_wrong_id(tilepost_comm_t comm, const Rank& me, cudaStream_t stream) {
  const Shape shape{me.ranks, 16 * me.ranks, 4, 3000};
  Random random(7);
  const std::vector<Types> types(me.ranks, Types{true, false});
  const Routing routing(comm, me.rank, shape, types[0], stream);
  auto all = random_all(shape, types, Load::even, std::vector<int>(me.ranks, 3000), random);
  all[me.ranks - 1].ids[4 * 2001 + 1] = -6'000'000'000;
  all[me.ranks - 1].ids[4 * 2001 + 3] = -2;
  all[me.ranks - 1].encode(types[0]);
  routing.put(all[me.rank]);
  routing.set(3000);
  const tilepost_result_t result = routing.synchronize();
  const std::string text = tilepost_last_error();
  const std::string expected =
      "rank " + std::to_string(me.ranks - 1) + ": token 2001 has the id -6000000000";
  if (result != TILEPOST_INVALID_ARGUMENT || text.find(expected) == std::string::npos)
    end("rank " + std::to_string(me.rank) + ": a wrong id is reported as: " + text);
  if (const auto table = routing.difference(all, types); !table.empty())
    end("with a wrong id " + table + " differ");
}

// How long sets take, back to back. On one GPU this says nothing.
void time_sets(tilepost_comm_t comm, const Rank& me, cudaStream_t stream) {
  constexpr int kSets = 20, kReplays = 15;
  for (const int tokens : {1, 64, 1024, 8192}) {
    const Shape shape{me.ranks, 128, 8, tokens};
    Random random(8);
    const std::vector<Types> types(me.ranks, Types{true, false});
    const Routing routing(comm, me.rank, shape, types[0], stream);
    auto all = random_all(shape, types, Load::even, std::vector<int>(me.ranks, tokens), random);
    routing.put(all[me.rank]);
    const Graph graph(stream, [&] {
      for (int i = 0; i < kSets; ++i) routing.set(tokens);
    });
    cudaEvent_t begin, finish;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&finish));
    graph.replay(stream);
    CUDA(cudaEventRecord(begin, stream));
    for (int i = 0; i < kReplays; ++i) graph.replay(stream);
    CUDA(cudaEventRecord(finish, stream));
    OK(routing.synchronize());
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, begin, finish));
    if (me.rank == 0)
      std::printf("%d tokens a rank, 128 experts, top 8: %.2f us a set\n", tokens,
                  ms * 1e3 / (kSets * kReplays));
  }
}

// The last rank does not come to the first set. It stays until the others have found that out.
void check_late_rank(tilepost_comm_t comm, Rank& me, cudaStream_t stream) {
  const Shape shape{me.ranks, me.ranks, 1, 8};
  const Routing routing(comm, me.rank, shape, {false, false}, stream, 1.5);
  if (me.rank == me.ranks - 1) return me.meet_all();
  OK(tilepost_routing_status(routing.get()));
  routing.set(0);
  const tilepost_result_t result = routing.synchronize();
  const std::string text = tilepost_last_error();
  const std::string late = "rank " + std::to_string(me.ranks - 1) + " did not come to set 1";
  if (result != TILEPOST_TIMEOUT || text.find(late) == std::string::npos)
    end("rank " + std::to_string(me.rank) + ": a late rank is reported as: " + text);
  if (tilepost_routing_set(routing.get(), nullptr, nullptr, 0, stream) != TILEPOST_TIMEOUT)
    end("a set is taken after a timeout");
  me.meet_all();
}

int run(Rank me, int routings) {
  alarm(kDeadlineSeconds);
  if (!me.set_device()) return kSkipped;
  tilepost_comm_t const comm = me.make_comm();
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_routings(comm, me, stream, routings);
  check_wrong_id(comm, me, stream);
  time_sets(comm, me, stream);
  check_late_rank(comm, me, stream);
  OK(tilepost_comm_destroy(comm));
  CUDA(cudaStreamDestroy(stream));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const int routings = argc > 2 ? std::atoi(argv[2]) : 200;
  if (ranks < 2 || ranks > kMostRanks || routings < 1) {
    std::fprintf(stderr, "usage: routing_ranks 2..%d [routings]\n", kMostRanks);
    return 2;
  }
  const int worst = fork_ranks(ranks, [&](const Rank& me) { return run(me, routings); });
  if (worst == 0) std::printf("PASS: %d routings of %d ranks\n", routings, ranks);
  return worst;
}
