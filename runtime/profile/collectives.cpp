// NCCL's collectives alone, beside a GEMM, out of symmetric windows, and in turns with a GEMM.
#include <algorithm>
#include <optional>

#include "runtime/bench/record.h"
#include "runtime/profile/communicators.h"
#include "runtime/profile/gemm_runner.h"
#include "runtime/profile/steps.h"

namespace tilepost::profile {
namespace {

constexpr int64_t kKib = 1024, kMib = kKib * kKib;
constexpr int kBudgets[] = {2, 4, 8, 12, 16, 20, 24, 32};  // CTAs
constexpr int64_t kSizes[] = {16 * kKib, 64 * kKib, 256 * kKib, kMib,      4 * kMib,
                              8 * kMib,  16 * kMib, 32 * kMib,  64 * kMib, 128 * kMib};
constexpr int64_t kMostBytes = 256 * kMib;
constexpr int kMostCalls = 60;
constexpr double kTurnMs = 2.5;
constexpr int kLater = 40;  // us, by which the GEMM begins before what runs beside it

std::vector<int> first_gpus(int ranks) {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < ranks; ++gpu) gpus.push_back(gpu);
  return gpus;
}

// What a rank of a team needs to time collectives.
struct Side {
  Side(Rank& of, const std::string& collective, const tilepost_unique_id_t& id,
       const tilepost_unique_id_t& plain)
      : rank(of), name(collective), comms(of, id, plain) {
    rank.together([&] {
      from = bench::allocate(kMostBytes);
      to = bench::allocate(kMostBytes);
      TILEPOST_BENCH_CUDA(cudaMemset(from.get(), 0, kMostBytes));
    });
  }
  void issue(int64_t bytes, int ctas, int lane, cudaStream_t stream) {
    comms.issue(name, from.get(), to.get(), bytes, ctas, lane, stream);
  }
  double us(int64_t bytes, int ctas) {
    return rank.time_for(kTurnMs, kMostCalls,
                         [&, bytes, ctas](int) { issue(bytes, ctas, 0, rank.stream()); });
  }

  Rank& rank;
  const std::string name;
  Communicators comms;
  cuda::DeviceMemory from, to;
};

void run(const Context& context, const std::string& name, int ranks,
         const std::function<void(Side&)>& body) {
  Team team(first_gpus(ranks));
  team.alive = context.alive;
  const tilepost_unique_id_t id = make_id(), plain = make_id();
  run_team(team, [&](Rank& rank) {
    Side side(rank, name, id, plain);
    body(side);
    rank.together([&] { TILEPOST_BENCH_CUDA(cudaDeviceSynchronize()); });
  });
}

// The first members of a record of a collective. Only the first rank prints.
void print(const Side& side, const char* how, int ctas, int64_t bytes, double us) {
  if (!side.rank.first()) return;
  bench::Record("time")
      .set("kind", "collective")
      .set("how", how)
      .set("name", side.name)
      .set("ranks", side.rank.ranks())
      .set("ctas", ctas)
      .set("bytes", static_cast<long long>(bytes))
      .set("us", us);
}

// A GEMM on the SMs that `left` CTAs and a waiter leave free, in turns alone and beside
// collectives.
struct Beside {
  Beside(const Context& context, Rank& of, int left) : rank(of) {
    rank.together([&] {
      const int sms = context.machine.device.sms;
      gemm.emplace(context.work, context.work.beside, sms - left, context.machine.device,
                   rank.stream());
    });
    alone = rank.time(
        6, [&](int call) { gemm->launch(call); }, 3);
  }
  Timed computing(int count) {
    return {rank.stream(), count, [&](int call) { gemm->launch(call); }};
  }

  Rank& rank;
  std::optional<GemmRunner> gemm;
  double alone = 0;
};

// Times what `transfer` issues beside GEMMs that last longer, then GEMMs beside transfers that last
// longer. `us`: the transfer's time alone.
std::pair<double, double> both_beside(Beside& beside, double us,
                                      const std::function<void(int)>& transfer) {
  Rank& rank = beside.rank;
  const int transfers = std::clamp(static_cast<int>(4 * beside.alone / us), 2, 200);
  const int covering = static_cast<int>(1.7 * transfers * us / beside.alone) + 2;
  const double moved =
      rank.time({beside.computing(covering), {rank.side(), transfers, transfer, kLater}}).back();
  const int gemms = 4;
  const int more = std::max(2, static_cast<int>(1.7 * gemms * beside.alone / us) + 2);
  const double computed =
      rank.time({beside.computing(gemms), {rank.side(), more, transfer, kLater}}).front();
  return {moved, computed};
}

}  // namespace

void measure_collective(const Context& context, const std::string& name, int ranks) {
  run(context, name, ranks, [&](Side& side) {
    for (const int ctas : kBudgets) side.comms.prepare(ctas);
    for (const int64_t bytes : kSizes) {
      print(side, "default", 0, bytes, side.us(bytes, 0));
      for (const int ctas : kBudgets)
        if (bytes >= kMib || ctas == 16) print(side, "ring", ctas, bytes, side.us(bytes, ctas));
    }
    print(side, "default", 0, kMostBytes, side.us(kMostBytes, 0));
  });
}

void measure_beside(const Context& context, const std::string& name, int ranks) {
  constexpr int kTried[] = {8, 12, 16, 24, 32};
  constexpr int64_t kBytes = 16 * kMib;
  run(context, name, ranks, [&](Side& side) {
    Rank& rank = side.rank;
    const auto print_both = [&](int ctas, int lanes, double alone, double moved, double gemm,
                                double computed) {
      if (!rank.first()) return;
      bench::Record("time")
          .set("kind", "beside")
          .set("name", name)
          .set("ranks", ranks)
          .set("ctas", ctas)
          .set("lanes", lanes)
          .set("bytes", static_cast<long long>(kBytes))
          .set("alone_us", alone)
          .set("us", moved)
          .set("gemm_alone_us", gemm)
          .set("gemm_us", computed);
    };
    for (const int ctas : kTried) {
      if (4 * ctas > context.machine.device.sms) continue;
      side.comms.prepare(ctas);
      Beside beside(context, rank, ctas + 1);
      const double alone = side.us(kBytes, ctas);
      const auto [moved, computed] =
          both_beside(beside, alone, [&](int) { side.issue(kBytes, ctas, 0, rank.side()); });
      print_both(ctas, 1, alone, moved, beside.alone, computed);
    }
    // Two lanes, which take turns at groups: half the CTAs each.
    for (const int each : {8, 12, 16}) {
      if (8 * each > context.machine.device.sms) continue;
      for (const int lane : {0, 1}) side.comms.prepare(each, lane);
      cuda::Stream other;
      rank.together([&] { bench::check_tilepost(cuda::make_stream(other, true), "make_stream"); });
      const int count = 12;
      const auto on = [&](int lane, cudaStream_t stream, int delay_us = 0) {
        return Timed{stream, count,
                     [&, lane, stream](int) { side.issue(kBytes, each, lane, stream); }, delay_us};
      };
      const std::vector<double> alone = rank.time({on(0, rank.side()), on(1, other.get())});
      Beside beside(context, rank, 2 * each + 1);
      const double slower = std::max(alone[0], alone[1]);
      const int covering = static_cast<int>(2.0 * count * slower / beside.alone) + 2;
      const std::vector<double> times = rank.time(
          {beside.computing(covering), on(0, rank.side(), kLater), on(1, other.get(), kLater)});
      print_both(2 * each, 2, slower / 2, std::max(times[1], times[2]) / 2, beside.alone, 0);
      rank.together([&] { TILEPOST_BENCH_CUDA(cudaDeviceSynchronize()); });
    }
  });
}

void measure_symmetric(const Context& context, const std::string& name, int ranks) {
  constexpr int kTried[] = {4, 8, 12, 16};
  constexpr int64_t kTriedSizes[] = {2 * kMib, 8 * kMib, 32 * kMib, 64 * kMib};
  run(context, name, ranks, [&](Side& side) {
    Rank& rank = side.rank;
    for (const int ctas : kTried) {
      side.comms.prepare(ctas);
      void* memory = nullptr;
      ncclWindow_t window = nullptr;
      rank.together([&] {
        TILEPOST_BENCH_STATUS(ncclMemAlloc(&memory, 2 * 64 * kMib));
        TILEPOST_BENCH_CUDA(cudaMemset(memory, 0, 2 * 64 * kMib));
        bench::check_tilepost(
            side.comms.child(ctas)->issue(false,
                                          [&](ncclComm_t comm) {
                                            TILEPOST_BENCH_STATUS(ncclCommWindowRegister(
                                                comm, memory, 2 * 64 * kMib, &window,
                                                NCCL_WIN_COLL_SYMMETRIC));
                                            return TILEPOST_OK;
                                          }),
            "ncclCommWindowRegister");
        if (window == nullptr) throw bench::BenchError("NCCL gives no symmetric windows here");
      });
      for (const int64_t bytes : kTriedSizes) {
        char* const from = static_cast<char*>(memory);
        const double us = rank.time_for(kTurnMs, kMostCalls, [&](int) {
          side.comms.issue(name, from, from + 64 * kMib, bytes, ctas, 0, rank.stream());
        });
        print(side, "symmetric", ctas, bytes, us);
      }
      rank.together([&] {
        TILEPOST_BENCH_CUDA(cudaDeviceSynchronize());
        side.comms.child(ctas)->issue(false, [&](ncclComm_t comm) {
          ncclCommWindowDeregister(comm, window);
          return TILEPOST_OK;
        });
        ncclMemFree(memory);
      });
    }
  });
}

void measure_relief(const Context& context) {
  run(context, "reduce_scatter", 2, [&](Side& side) {
    Rank& rank = side.rank;
    Beside beside(context, rank, 0);
    const double sent = side.us(32 * kMib, 0);
    const int count = std::clamp(static_cast<int>(60000 / (sent + beside.alone)), 5, 200);
    // Under load for long enough that the clock has settled.
    const auto both = [&](int call) {
      beside.gemm->launch(call);
      side.issue(32 * kMib, 0, 0, rank.stream());
    };
    const double turns = rank.time(count, both, 4);
    const double hot = rank.time(
        count, [&](int call) { beside.gemm->launch(call); }, 4);
    if (!rank.first()) return;
    bench::Record("time")
        .set("kind", "relief")
        .set("turns_us", turns)
        .set("gemm_us", hot)
        .set("collective_us", sent);
  });
}

}  // namespace tilepost::profile
