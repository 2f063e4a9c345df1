// Routing on one GPU (tilepost/routing.h): the tables of random routings have the bits that the
// host's twin (tilepost/host/routing.h) makes, eagerly and in replays of graphs.
//
//   routing check [routings]   1000 routings or as many as asked for, mutants, wrong ids, replays
//   routing time               how long a set takes, in graphs of 20 and eagerly
//
// Exit code: 0 all is right (time: and no slower than the bounds), 1 not, 77 nothing to run here.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gpu/routing.h"

namespace {

using namespace gpu_routing;

constexpr int kSkipped = 77;
constexpr unsigned kDeadlineSeconds = 100;  // for the whole program

// A communicator of one rank, and the stream of all sets.
struct Device {
  tilepost_comm_t comm = nullptr;
  cudaStream_t stream = nullptr;

  Device() {
    OK(tilepost_comms_create(nullptr, 1, &comm));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  Device(const Device&) = delete;
  ~Device() {
    tilepost_comm_destroy(comm);
    cudaStreamDestroy(stream);
  }
};

std::string text_of(const Shape& shape, const Tokens& tokens) {
  return std::to_string(shape.experts) + " experts, top " + std::to_string(shape.top) + ", " +
         std::to_string(tokens.tokens) + " tokens";
}

Shape random_shape(Random& random) {
  Shape shape{1, 1 + below(random, 16), 1 + below(random, 8), 1 + below(random, 300)};
  if (below(random, 3) == 0) shape.experts = 1 + below(random, 512);
  if (below(random, 8) == 0) shape.top = 1 + below(random, 32);
  if (below(random, 3) == 0) shape.most_tokens = 1 + below(random, 5000);
  if (below(random, 25) == 0) shape.most_tokens = 1 + below(random, 40000);
  return shape;
}

Tokens random_tokens_of(const Shape& shape, Random& random) {
  const int kind = below(random, 8);
  const int tokens = kind == 0   ? 0
                     : kind == 1 ? shape.most_tokens
                                 : below(random, shape.most_tokens + 1);
  return random_tokens(shape, tokens, static_cast<Load>(below(random, routing::kLoads)), random);
}

Types random_types(Random& random) {
  return {below(random, 2) == 0, below(random, 2) == 0};
}

// Each object routes some tokens eagerly. Then a graph routes as many tokens with ids that change
// between its replays.
void check_routings(const Device& device, int routings) {
  constexpr int kOfEach = 5;
  Random random(45);
  for (int number = 0; number < routings;) {
    const Shape shape = random_shape(random);
    const Routing routing(device.comm, 0, shape, random_types(random), device.stream);
    const auto check = [&](const Tokens& tokens, const char* how) {
      OK(routing.synchronize());
      if (const auto table = routing.difference(tokens); !table.empty())
        end("routing " + std::to_string(number) + ", " + how + ", " + text_of(shape, tokens) +
            ": " + table + " differ from the twin's");
      ++number;
    };
    for (int i = 0; i < kOfEach; ++i) {
      Tokens tokens = random_tokens_of(shape, random);
      routing.put(tokens);
      routing.set(tokens.tokens);
      check(tokens, "eager");
    }
    Tokens tokens = random_tokens_of(shape, random);
    const Graph graph(device.stream, [&] { routing.set(tokens.tokens); });
    for (int i = 0; i < kOfEach; ++i) {
      tokens = random_tokens(shape, tokens.tokens, static_cast<Load>(i), random);
      routing.put(tokens);
      graph.replay(device.stream);
      check(tokens, "replayed");
    }
  }
  std::printf("ok %d routings have the bits of the host's twin, half of them in graphs\n",
              routings);
}

// A changed weight or expert must be seen.
void check_mutants(const Device& device) {
  constexpr int kMutants = 100;
  Random random(46);
  for (int mutant = 0; mutant < kMutants; ++mutant) {
    const Shape shape{1, 2 + below(random, 127), 1 + below(random, 8), 500};
    const Routing routing(device.comm, 0, shape, random_types(random), device.stream);
    Tokens tokens = random_tokens(shape, 1 + below(random, 500), Load::even, random);
    Tokens mutated = tokens;
    const size_t route = random() % tokens.ids.size();
    if (mutant % 2 == 0)
      mutated.weights[route] = 0;
    else
      mutated.ids[route] = (tokens.ids[route] + 1) % shape.experts;
    routing.put(mutated);
    routing.set(mutated.tokens);
    OK(routing.synchronize());
    routing.put(tokens);
    if (routing.difference(tokens).empty()) end("mutant " + std::to_string(mutant) + " not seen");
    if (!routing.difference(mutated).empty()) end("a mutant's own tables differ");
  }
  std::printf("ok %d mutants seen, lost weights and wrong experts in turn\n", kMutants);
}

// Wrong ids are reported with the first token, by eager sets and by replays.
void check_wrong_ids(const Device& device) {
  Random random(47);
  for (const int count : {7, 5000})
    for (const bool replayed : {false, true}) {
      const Shape shape{1, 64, 4, 5000};
      const Routing routing(device.comm, 0, shape, {true, false}, device.stream);
      Tokens tokens = random_tokens(shape, count, Load::even, random);
      tokens.ids[4 * 5 + 3] = -77'000'000'000;
      tokens.ids[4 * (count - 1)] = -2;
      routing.put(tokens);
      if (replayed) {
        const Graph graph(device.stream, [&] { routing.set(count); });
        graph.replay(device.stream);
        CUDA(cudaStreamSynchronize(device.stream));
      } else {
        routing.set(count);
      }
      const tilepost_result_t result = routing.synchronize();
      const std::string text = tilepost_last_error();
      if (result != TILEPOST_INVALID_ARGUMENT ||
          text.find("rank 0: token 5 has the id -77000000000") == std::string::npos)
        end("a wrong id is reported as: " + text);
      if (const auto table = routing.difference(tokens); !table.empty())
        end("with wrong ids " + table + " differ from the twin's");
    }
  std::printf("ok wrong ids are named, in graphs too\n");
}

// Replays without a wait between them, of two graphs with tokens of their own.
void check_replays(const Device& device, int replays) {
  Random random(48);
  const Shape shape{1, 128, 8, 2048};
  const Routing routing(device.comm, 0, shape, {false, false}, device.stream);
  const Routing other(device.comm, 0, shape, {true, true}, device.stream);
  Tokens tokens = random_tokens(shape, 2048, Load::mixed, random);
  Tokens others = random_tokens(shape, 100, Load::mixed, random);
  routing.put(tokens);
  other.put(others);
  const Graph graph(device.stream, [&] {
    routing.set(tokens.tokens);
    other.set(others.tokens);
    routing.set(100);
    routing.set(tokens.tokens);
  });
  for (int i = 0; i < replays; ++i) graph.replay(device.stream);
  OK(routing.synchronize());
  OK(other.synchronize());
  if (!routing.difference(tokens).empty() || !other.difference(others).empty())
    end("tables differ from the twin's after many replays");
  std::printf("ok %d replays of 4 sets\n", replays);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Microseconds of `count` sets, which `body` puts on the stream.
template <class Body>
double time_us(cudaStream_t stream, int count, const Body& body) {
  constexpr int kTimes = 15;
  cudaEvent_t begin, finish;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&finish));
  std::vector<double> times;
  for (int i = 0; i < kTimes + 2; ++i) {
    float ms = 0;
    CUDA(cudaEventRecord(begin, stream));
    body();
    CUDA(cudaEventRecord(finish, stream));
    CUDA(cudaEventSynchronize(finish));
    CUDA(cudaEventElapsedTime(&ms, begin, finish));
    if (i >= 2) times.push_back(ms * 1e3 / count);
  }
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(finish));
  return median(times);
}

// Returns whether the times are within the bounds.
bool time_sets(const Device& device) {
  constexpr int kSets = 20;
  struct Size {
    int tokens;
    double most_us;  // 0: no bound
  };
  bool fast = true;
  Random random(49);
  std::printf("%8s %8s %4s %12s %12s\n", "tokens", "experts", "top", "in a graph", "eager, us");
  for (const Size size : {Size{1, 6}, Size{16, 6}, Size{128, 6}, Size{512, 0}, Size{2048, 0},
                          Size{8192, 15}, Size{16384, 15}, Size{65536, 0}})
    for (const int experts : {8, 64, 128, 256})
      for (const int top : {1, 2, 4, 8}) {
        const Shape shape{1, experts, top, size.tokens};
        const Routing routing(device.comm, 0, shape, {true, false}, device.stream);
        Tokens tokens = random_tokens(shape, size.tokens, Load::even, random);
        routing.put(tokens);
        const Graph graph(device.stream, [&] {
          for (int i = 0; i < kSets; ++i) routing.set(size.tokens);
        });
        const double us = time_us(device.stream, kSets, [&] { graph.replay(device.stream); });
        const double eager = time_us(device.stream, kSets, [&] {
          for (int i = 0; i < kSets; ++i) routing.set(size.tokens);
        });
        const bool late = size.most_us > 0 && us > size.most_us;
        std::printf("%8d %8d %4d %12.2f %12.2f%s\n", size.tokens, experts, top, us, eager,
                    late ? "  over the bound" : "");
        fast = fast && !late;
        OK(routing.synchronize());
      }
  return fast;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int routings = argc > 2 ? std::atoi(argv[2]) : 1000;
  if ((what != "check" && what != "time") || routings < 1) {
    std::fprintf(stderr, "usage: routing check [routings] | time\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("SKIP: no GPU\n");
    return kSkipped;
  }
  alarm(kDeadlineSeconds);
  const Device device;
  if (what == "time") {
    const bool fast = time_sets(device);
    std::printf("%s\n", fast ? "PASS" : "FAIL: sets take longer than they may");
    return fast ? 0 : 1;
  }
  check_routings(device, routings);
  check_mutants(device);
  check_wrong_ids(device);
  check_replays(device, 5 * routings);
  std::printf("PASS\n");
  return 0;
}
