// What copy engines and kernels move between GPUs that reach each other's memory.
#include <algorithm>
#include <numeric>
#include <optional>

#include "runtime/bench/record.h"
#include "runtime/profile/gemm_runner.h"
#include "runtime/profile/kernels.h"
#include "runtime/profile/steps.h"
#include "runtime/profile/team.h"

namespace tilepost::profile {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kRoom = 256 * kMib;  // for what all other ranks copy to this one

std::vector<int> first_gpus(int ranks) {
  std::vector<int> gpus(static_cast<size_t>(ranks));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// A rank whose memory the others touch: `own`, which is read, and `room`, where others store.
struct Touched {
  explicit Touched(Rank& of) : rank(of) {
    open_peers(rank);
    rank.together([&] {
      own = bench::allocate(kRoom);
      room = bench::allocate(kRoom);
      TILEPOST_BENCH_CUDA(cudaMemset(own.get(), 0, kRoom));
      TILEPOST_BENCH_CUDA(cudaMemset(room.get(), 0, kRoom));
      rank.team().memory[static_cast<size_t>(rank.rank())] = own.get();
      for (int i = 1; i < rank.ranks(); ++i) {
        cuda::Stream& stream = streams.emplace_back();
        bench::check_tilepost(cuda::make_stream(stream, true), "make_stream");
      }
    });
    rank.together([&] {
      for (int i = 1; i < rank.ranks(); ++i)
        others.push_back(static_cast<char*>(
            rank.team().memory[static_cast<size_t>((rank.rank() + i) % rank.ranks())]));
    });
  }
  char* mine() const { return static_cast<char*>(own.get()); }
  char* landing() const { return static_cast<char*>(room.get()); }
  int peers() const { return rank.ranks() - 1; }

  Rank& rank;
  cuda::DeviceMemory own, room;
  std::vector<char*> others;          // the next rank's memory, then the one's behind it, …
  std::vector<cuda::Stream> streams;  // one for each other rank
};

void run(const Context& context, int ranks, const std::function<void(Touched&)>& body) {
  Team team(first_gpus(ranks));
  team.alive = context.alive;
  run_team(team, [&](Rank& rank) {
    Touched touched(rank);
    body(touched);
    rank.together([&] { TILEPOST_BENCH_CUDA(cudaDeviceSynchronize()); });
  });
}

void copy(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  TILEPOST_BENCH_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream));
}

// Every rank reads `bytes` in all, an equal part from each other rank, in pieces of at most `chunk`
// bytes. Each other rank has a stream of its own.
double pull_us(Touched& touched, int64_t bytes, int64_t chunk) {
  const int64_t part = bytes / touched.peers();
  std::vector<Timed> work;
  const int repeats = static_cast<int>(std::clamp<int64_t>(64 * kMib / bytes, 2, 20));
  for (int i = 0; i < touched.peers(); ++i) {
    const cudaStream_t stream = touched.streams[static_cast<size_t>(i)].get();
    work.push_back({stream, repeats, [&touched, part, chunk, i, stream](int) {
                      for (int64_t at = 0; at < part; at += chunk)
                        copy(touched.landing() + i * part + at,
                             touched.others[static_cast<size_t>(i)] + at,
                             std::min(chunk, part - at), stream);
                    }});
  }
  double least = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<double> us = touched.rank.time(work);
    least = std::min(least, *std::max_element(us.begin(), us.end()));
  }
  return least;
}

// Every rank stores `bytes` in all into the other ranks' memory, one rank after the other on one
// stream, in pieces of at most `chunk` bytes.
double push_us(Touched& touched, int64_t bytes, int64_t chunk) {
  const int64_t part = bytes / touched.peers();
  const int repeats = static_cast<int>(std::clamp<int64_t>(64 * kMib / bytes, 2, 20));
  return touched.rank.time(repeats, [&](int) {
    for (char* const other : touched.others)
      for (int64_t at = 0; at < part; at += chunk)
        copy(other + at, touched.landing() + at, std::min(chunk, part - at), touched.rank.stream());
  });
}

void print(const Touched& touched, const char* way, int64_t bytes, int64_t chunk, double us) {
  if (!touched.rank.first()) return;
  bench::Record("time")
      .set("kind", "copy")
      .set("how", way)
      .set("ranks", touched.rank.ranks())
      .set("bytes", static_cast<long long>(bytes))
      .set("chunk", static_cast<long long>(chunk))
      .set("us", us);
}

// GEMMs beside copies that last longer.
double gemm_beside(Touched& touched, const GemmRunner& gemm, double alone, bool pulls,
                   int64_t& sent) {
  constexpr int kGemms = 4;
  constexpr int64_t kChunk = 8 * kMib;
  const double us =
      pulls ? pull_us(touched, 64 * kMib, kChunk) : push_us(touched, 64 * kMib, kChunk);
  const int copies = static_cast<int>(1.6 * kGemms * alone / us) + 2;
  std::vector<Timed> work = {{touched.rank.stream(), kGemms, [&](int call) { gemm.launch(call); }}};
  const int64_t part = 64 * kMib / touched.peers();
  for (int i = 0; i < (pulls ? touched.peers() : 1); ++i) {
    const cudaStream_t stream = touched.streams[static_cast<size_t>(i)].get();
    work.push_back(
        {stream, copies, [&, i, stream](int) {
           for (int peer = pulls ? i : 0; peer < (pulls ? i + 1 : touched.peers()); ++peer)
             for (int64_t at = 0; at < part; at += kChunk) {
               char* const other = touched.others[static_cast<size_t>(peer)] + at;
               char* const here = touched.landing() + peer * part + at;
               const int64_t bytes = std::min(kChunk, part - at);
               pulls ? copy(here, other, bytes, stream) : copy(other, here, bytes, stream);
             }
         }});
  }
  const std::vector<double> times = touched.rank.time(work);
  sent = static_cast<int64_t>(64.0 * kMib * times[0] / times[1]);  // during one GEMM
  return times[0];
}

}  // namespace

void measure_pairs(const Context& context) {
  const int gpus = context.machine.gpus;
  for (int from = 0; from < gpus; ++from)
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      int reaches = 0, rank_of_link = 0, atomics = 0;
      TILEPOST_BENCH_CUDA(cudaDeviceCanAccessPeer(&reaches, to, from));
      if (!context.may_reach) reaches = 0;
      TILEPOST_BENCH_CUDA(
          cudaDeviceGetP2PAttribute(&rank_of_link, cudaDevP2PAttrPerformanceRank, to, from));
      TILEPOST_BENCH_CUDA(
          cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, to, from));
      double us = 0;
      if (reaches != 0) {
        Team team({from, to});
        team.alive = context.alive;
        run_team(team, [&](Rank& rank) {
          Touched touched(rank);
          const double both = push_us(touched, 64 * kMib, 64 * kMib);
          if (rank.first()) us = both;
        });
      }
      bench::Record("time")
          .set("kind", "pair")
          .set("from", from)
          .set("to", to)
          .set("reaches", reaches)
          .set("link", rank_of_link)
          .set("atomics", atomics)
          .set("bytes", static_cast<long long>(64 * kMib))
          .set("us", us);
    }
}

void measure_copies(const Context& context, int ranks) {
  run(context, ranks, [&](Touched& touched) {
    const int64_t peers = touched.peers();
    for (const int64_t mib : {1, 2, 4, 8, 16, 32, 64}) {
      const int64_t bytes = mib * kMib * peers;
      if (bytes > kRoom) continue;
      print(touched, "pull", bytes, bytes, pull_us(touched, bytes, bytes));
      print(touched, "push", bytes, bytes, push_us(touched, bytes, bytes));
    }
    for (const int64_t chunk : {1, 2, 4, 8}) {
      const int64_t bytes = 32 * kMib * peers;
      print(touched, "pull", bytes, chunk * kMib, pull_us(touched, bytes, chunk * kMib));
      print(touched, "push", bytes, chunk * kMib, push_us(touched, bytes, chunk * kMib));
    }
  });
}

void measure_stores(const Context& context, int ranks) {
  constexpr int kRounds = 200;
  run(context, ranks, [&](Touched& touched) {
    Rank& rank = touched.rank;
    for (const int64_t mib : {8, 32, 64}) {
      const int64_t bytes = mib * kMib;
      const double us = rank.time(8, [&](int call) {
        copy_by_kernel(touched.landing(),
                       touched.others[static_cast<size_t>(call) % touched.others.size()], bytes, 0,
                       rank.stream());
      });
      print(touched, "store", bytes, bytes, us);
    }
    if (rank.rank() > 1) {
      // Two ranks pass a number; the others keep step.
      rank.time(
          1, [](int) {}, 2);
      return;
    }
    uint32_t before = 0;
    auto* const own = reinterpret_cast<uint32_t*>(touched.mine());
    auto* const theirs =
        reinterpret_cast<uint32_t*>(rank.first() ? touched.others.front() : touched.others.back());
    const double us = rank.time(
        1,
        [&](int) {
          pass_number(own, theirs, before, kRounds, rank.first(), rank.stream());
          before += kRounds;
        },
        2);
    print(touched, "flag", 4, 4, us / kRounds / 2);
  });
}

void measure_copies_beside(const Context& context, int ranks) {
  run(context, ranks, [&](Touched& touched) {
    std::optional<GemmRunner> gemm;
    touched.rank.together([&] {
      gemm.emplace(context.work, context.work.beside, context.machine.device.sms,
                   context.machine.device, touched.rank.stream());
    });
    const double alone = touched.rank.time(6, [&](int call) { gemm->launch(call); });
    for (const bool pulls : {true, false}) {
      int64_t sent = 0;
      const double beside = gemm_beside(touched, *gemm, alone, pulls, sent);
      if (touched.rank.first())
        bench::Record("time")
            .set("kind", "copies_beside")
            .set("how", pulls ? "pull" : "push")
            .set("ranks", ranks)
            .set("bytes", static_cast<long long>(sent))
            .set("gemm_alone_us", alone)
            .set("gemm_us", beside);
    }
  });
}

}  // namespace tilepost::profile
