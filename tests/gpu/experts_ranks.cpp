// Tokens that go to experts (dispatch_grouped_gemm) on several ranks, each a process: tables and
// results of random routings, eagerly and in replays whose ids change; the same bits in every run;
// and runs with more rows than the plan is for, which end on all ranks and write nothing.
//
//   experts_ranks ranks [routings] [replays]   of each program 200 and 500, unless told otherwise
//
// It runs the generated programs of this pattern and so many ranks, which `programs.sh … experts`
// makes: those with bilinear, whose results are compared with whole numbers bit by bit, and those
// with swiglu. Those with max_rows are for the last check.
//
// Exit code: 0 all is right, 1 not, 77 nothing to run here.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/map/layer_programs.h"
#include "tests/gpu/expert_half.h"
#include "tests/gpu/registry.h"

namespace {

using namespace gpu_experts;

constexpr unsigned kDeadlineSeconds = 300;  // for the whole program

void check_result(const Half& half, const std::vector<Tokens>& all, int set, int number,
                  const char* how) {
  std::string wrong = half.wrong_tables(all);
  if (wrong.empty()) wrong = half.wrong_rows(all, set);
  if (!wrong.empty())
    end("rank " + std::to_string(half.rank()) + ", " + half.name() + ", " + how + " " +
        std::to_string(number) + ": " + wrong);
}

// All ranks draw the same random numbers.
void check_routings(Half& half, int routings) {
  Random random(451);
  for (int number = 0; number < routings; ++number) {
    const auto most = static_cast<int>(half.plan().map.m);
    const int64_t m = below(random, 4) == 0 ? most : 1 + below(random, most);
    const auto load = static_cast<Load>(below(random, routing::kLoads));
    auto all = half.random_all(random_counts(half.plan(), m, random), load, random);
    const int set = number % kSets;
    half.put(all[half.rank()], set);
    half.run(all[half.rank()].tokens, m);
    OK(half.synchronize());
    check_result(half, all, set, number, "routing");
  }
}

// One graph, whose replays route other ids and read other tokens.
void check_replays(Half& half, int replays) {
  Random random(452);
  const int64_t m = half.plan().map.m;
  const std::vector<int> counts = random_counts(half.plan(), m, random);
  const Graph graph(half.stream(), [&] { half.run(counts[half.rank()], m); });
  for (int number = 0; number < replays; ++number) {
    auto all = half.random_all(counts, static_cast<Load>(number % routing::kLoads), random);
    const int set = number % kSets;
    half.put(all[half.rank()], set);
    graph.replay(half.stream());
    CUDA(cudaStreamSynchronize(half.stream()));
    OK(tilepost_op_status(half.op()));
    check_result(half, all, set, number, "replay");
  }
}

// The same ids and tokens give the same bits, in `runs` runs and as many replays.
void check_same_bits(Half& half, int runs) {
  Random random(453);
  const int64_t m = half.plan().map.m;
  const std::vector<int> counts(half.plan().ranks, static_cast<int>(share_of(half.plan(), m)));
  auto all = half.random_all(counts, Load::even, random);
  const int tokens = counts[half.rank()];
  const Graph graph(half.stream(), [&] { half.run(tokens, m); });
  std::vector<Bf16> first;
  for (int number = 0; number < 2 * runs; ++number) {
    half.put(all[half.rank()], 0);
    if (number < runs)
      half.run(tokens, m);
    else
      graph.replay(half.stream());
    OK(half.synchronize());
    const std::vector<Bf16> found = half.read_out();
    if (number == 0) first = found;
    if (std::memcmp(found.data(), first.data(), found.size() * sizeof(Bf16)) != 0)
      end(half.name() + ": run " + std::to_string(number) + " has other bits than the first one");
  }
  if (count_written(first) == 0) end(half.name() + ": nothing was written");
}

void check_half_bound(const tilepost_program_t& program, Rank& me, bool replays) {
  const Half half(program, me);
  check_bound(
      half, me, replays, kTypes, [&](const std::vector<Tokens>& all) { half.put(all[me.rank], 0); },
      [&](const std::vector<Tokens>& all) { check_result(half, all, 0, 0, "bounded run"); });
}

int run(Rank me, int routings, int replays) {
  constexpr int kSameBits = 100;
  alarm(kDeadlineSeconds);
  if (!me.set_device()) return kSkipped;
  int programs = 0;
  for (int i = 0; i < kNumPrograms; ++i) {
    const tilepost_program_t& program = *kPrograms[i];
    const tilepost_plan_t& plan = program.plans[0];
    if (plan.pattern != TILEPOST_DISPATCH_GROUPED_GEMM || plan.ranks != me.ranks) continue;
    if (tilepost::is_layer(program)) continue;  // expert_layers runs those
    ++programs;
    if (plan.most_rows < plan.map.m * plan.top) {
      for (const bool replayed : {false, true}) check_half_bound(program, me, replayed);
    } else if (plan.epilogue == TILEPOST_BILINEAR) {
      Half half(program, me);
      check_routings(half, routings);
      check_replays(half, replays);
    } else {
      Half half(program, me);
      check_same_bits(half, kSameBits);
    }
    if (me.rank == 0) std::printf("%s: right\n", program.name), std::fflush(stdout);
  }
  return programs == 0 ? kSkipped : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const int routings = argc > 2 ? std::atoi(argv[2]) : 200;
  const int replays = argc > 3 ? std::atoi(argv[3]) : 500;
  if (ranks < 2 || ranks > kMostRanks || routings < 1 || replays < 1) {
    std::fprintf(stderr, "usage: experts_ranks 2..%d [routings] [replays]\n", kMostRanks);
    return 2;
  }
  const int worst = fork_ranks(ranks, [&](const Rank& me) { return run(me, routings, replays); });
  if (worst == 0)
    std::printf("PASS: %d routings, %d replays of each program, %d ranks\n", routings, replays,
                ranks);
  return worst;
}
