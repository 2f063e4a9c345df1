// What copy engines carry between GPUs and pinned host memory, and through it to another GPU.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "runtime/bench/record.h"
#include "runtime/map/host_rings.h"
#include "runtime/profile/gemm_runner.h"
#include "runtime/profile/steps.h"
#include "runtime/profile/team.h"

namespace tilepost::profile {
namespace {

constexpr int64_t kKib = 1024, kMib = kKib * kKib;
constexpr int64_t kTotal = 64 * kMib;  // of one measurement, each way
constexpr int64_t kChunks[] = {512 * kKib, kMib, 2 * kMib, 4 * kMib, 8 * kMib, 16 * kMib};
constexpr int kRing = 4;  // buffers in host memory on the way from one GPU to another

void copy(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  TILEPOST_BENCH_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream));
}

struct Buffers {
  explicit Buffers(Rank& rank) {
    rank.together([&] {
      device = bench::allocate(2 * kTotal);
      TILEPOST_BENCH_CUDA(cudaMemset(device.get(), 0, 2 * kTotal));
      bench::check_tilepost(cuda::make_pinned_memory(host, 2 * kTotal), "cudaHostAlloc");
    });
  }
  char* on_device() const { return static_cast<char*>(device.get()); }
  char* on_host() const { return static_cast<char*>(host.get()); }

  cuda::DeviceMemory device;
  cuda::PinnedMemory host;
};

// Copies of `chunk` bytes, kTotal in all, to the host or back.
Timed copies(const Buffers& buffers, int64_t chunk, bool out, cudaStream_t stream) {
  return {stream, static_cast<int>(kTotal / chunk), [&buffers, chunk, out, stream](int call) {
            const int64_t at = call * chunk;
            if (out)
              copy(buffers.on_host() + at, buffers.on_device() + at, chunk, stream);
            else
              copy(buffers.on_device() + kTotal + at, buffers.on_host() + kTotal + at, chunk,
                   stream);
          }};
}

void print(const Rank& rank, int ranks, const char* way, int64_t chunk, double us_per_mib) {
  if (rank.rank() != 0) return;
  bench::Record("time")
      .set("kind", "host")
      .set("how", way)
      .set("ranks", ranks)
      .set("chunk", static_cast<long long>(chunk))
      .set("us_per_mib", us_per_mib);
}

constexpr double per_mib(double us_of_chunk, int64_t chunk) {
  return us_of_chunk * kMib / static_cast<double>(chunk);
}

// ---- From one GPU through host memory to another

// The buffers and events between a sender and a receiver, in memory of the host that both use.
struct Channel {
  explicit Channel(int64_t chunk_bytes, int chunks) : chunk(chunk_bytes), count(chunks) {}
  const int64_t chunk;
  const int count;
  cuda::PinnedMemory ring;
  std::vector<cudaEvent_t> full, empty;  // of each chunk
};

// The channels of GPU 0 of the team to GPU 1, and back. Events belong to the GPU that records them.
void make_channels(const Team& team, int64_t chunk, int count, std::vector<Channel>& channels) {
  channels.clear();
  for (int from = 0; from < 2; ++from) {
    Channel& channel = channels.emplace_back(chunk, count);
    bench::check_tilepost(
        cuda::make_pinned_memory(channel.ring, static_cast<size_t>(kRing * chunk)),
        "cudaHostAlloc");
    const auto make = [&](std::vector<cudaEvent_t>& events, int gpu) {
      TILEPOST_BENCH_CUDA(cudaSetDevice(team.gpus[static_cast<size_t>(gpu)]));
      events.resize(static_cast<size_t>(count));
      for (cudaEvent_t& event : events)
        TILEPOST_BENCH_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    };
    make(channel.full, from);
    make(channel.empty, 1 - from);
  }
}

void drop_channels(std::vector<Channel>& channels) {
  for (Channel& channel : channels)
    for (std::vector<cudaEvent_t>* events : {&channel.full, &channel.empty})
      for (cudaEvent_t event : *events) cudaEventDestroy(event);
  channels.clear();
}

// Two GPUs send all chunks of the channels to each other at once. Rank 0 enqueues all of it, for
// events of both must be recorded before they are waited for. Returns microseconds.
double through_host(Rank& rank, std::vector<Channel>& channels, const std::vector<char*>& memory,
                    const std::vector<cudaStream_t>& out, const std::vector<cudaStream_t>& in,
                    cudaEvent_t* begin, cudaEvent_t* end) {
  double us = 0;
  rank.together([&] {
    if (!rank.first()) return;
    float slowest = 0;
    for (int gpu = 0; gpu < 2; ++gpu) {
      TILEPOST_BENCH_CUDA(cudaSetDevice(rank.team().gpus[gpu]));
      TILEPOST_BENCH_CUDA(cudaDeviceSynchronize());
      TILEPOST_BENCH_CUDA(cudaEventRecord(begin[gpu], in[gpu]));
    }
    for (int i = 0; i < channels[0].count; ++i)
      for (int from = 0; from < 2; ++from) {
        Channel& channel = channels[static_cast<size_t>(from)];
        char* const buffer = static_cast<char*>(channel.ring.get()) + i % kRing * channel.chunk;
        TILEPOST_BENCH_CUDA(cudaSetDevice(rank.team().gpus[from]));
        if (i >= kRing)
          TILEPOST_BENCH_CUDA(cudaStreamWaitEvent(out[from], channel.empty[i - kRing], 0));
        copy(buffer, memory[from] + i * channel.chunk, channel.chunk, out[from]);
        TILEPOST_BENCH_CUDA(cudaEventRecord(channel.full[i], out[from]));
        TILEPOST_BENCH_CUDA(cudaSetDevice(rank.team().gpus[1 - from]));
        TILEPOST_BENCH_CUDA(cudaStreamWaitEvent(in[1 - from], channel.full[i], 0));
        copy(memory[1 - from] + kTotal + i * channel.chunk, buffer, channel.chunk, in[1 - from]);
        TILEPOST_BENCH_CUDA(cudaEventRecord(channel.empty[i], in[1 - from]));
      }
    for (int gpu = 0; gpu < 2; ++gpu) {
      TILEPOST_BENCH_CUDA(cudaSetDevice(rank.team().gpus[gpu]));
      TILEPOST_BENCH_CUDA(cudaEventRecord(end[gpu], in[gpu]));
    }
    for (int gpu = 0; gpu < 2; ++gpu) {
      float ms = 0;
      TILEPOST_BENCH_CUDA(cudaEventSynchronize(end[gpu]));
      TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&ms, begin[gpu], end[gpu]));
      slowest = std::max(slowest, ms);
    }
    TILEPOST_BENCH_CUDA(cudaSetDevice(rank.gpu()));
    us = static_cast<double>(slowest) * 1000;
    rank.team().alive();
  });
  return us;
}

// Times a pair of GPUs: chunks of all sizes, and several totals of the chunks that plans have.
void measure_path(const Context& context, int one, int other) {
  Team team({one, other});
  team.alive = context.alive;
  std::vector<char*> memory(2);
  std::vector<cudaStream_t> out(2), in(2);
  cudaEvent_t begin[2], end[2];
  std::vector<Channel> channels;
  run_team(team, [&](Rank& rank) {
    const int me = rank.rank();
    Buffers buffers(rank);
    rank.together([&] {
      memory[static_cast<size_t>(me)] = buffers.on_device();
      out[static_cast<size_t>(me)] = rank.side();
      in[static_cast<size_t>(me)] = rank.stream();
      TILEPOST_BENCH_CUDA(cudaEventCreate(&begin[me]));
      TILEPOST_BENCH_CUDA(cudaEventCreate(&end[me]));
    });
    const auto measure = [&](int64_t chunk, int64_t total) {
      rank.together([&] {
        if (rank.first()) make_channels(team, chunk, static_cast<int>(total / chunk), channels);
        TILEPOST_BENCH_CUDA(cudaSetDevice(rank.gpu()));
      });
      double least = 1e30;
      for (int turn = 0; turn < 4; ++turn)
        least = std::min(least, through_host(rank, channels, memory, out, in, begin, end));
      rank.together([&] {
        if (!rank.first()) return;
        drop_channels(channels);
        bench::Record("time")
            .set("kind", "host_path")
            .set("from", one)
            .set("to", other)
            .set("chunk", static_cast<long long>(chunk))
            .set("bytes", static_cast<long long>(total))
            .set("us", least);
      });
    };
    for (const int64_t chunk : kChunks) measure(chunk, kTotal);
    for (const int64_t total : {4 * kMib, 8 * kMib, 16 * kMib, 32 * kMib})
      measure(kHostChunkBytes, total);
    rank.together([&] {
      cudaEventDestroy(begin[me]);
      cudaEventDestroy(end[me]);
    });
  });
}

}  // namespace

void measure_host_copies(const Context& context, int gpus) {
  std::vector<int> all(static_cast<size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  Team team(all);
  team.alive = context.alive;
  run_team(team, [&](Rank& rank) {
    const Buffers buffers(rank);
    for (const int64_t chunk : kChunks) {
      const Timed out = copies(buffers, chunk, true, rank.stream());
      const Timed in = copies(buffers, chunk, false, rank.side());
      print(rank, gpus, "out", chunk, per_mib(rank.time({out}).front(), chunk));
      print(rank, gpus, "in", chunk, per_mib(rank.time({in}).front(), chunk));
      const std::vector<double> both = rank.time({out, in});
      print(rank, gpus, "both", chunk, per_mib(std::max(both[0], both[1]), chunk));
    }
    // The GEMM beside copies, in chunks as plans have them, which take longer than it.
    std::optional<GemmRunner> gemm;
    cuda::Stream computing;
    rank.together([&] {
      bench::check_tilepost(cuda::make_stream(computing, false), "make_stream");
      gemm.emplace(context.work, context.work.beside, context.machine.device.sms,
                   context.machine.device, computing.get());
    });
    const auto launch = [&](int call) { gemm->launch(call); };
    const Timed out = copies(buffers, kHostChunkBytes, true, rank.stream());
    const Timed in = copies(buffers, kHostChunkBytes, false, rank.side());
    const double alone = rank.time({{computing.get(), 6, launch}}).front();
    const double copied = rank.time({out}).front() * out.count;
    const int covered = std::max(1, static_cast<int>(0.8 * copied / alone));
    const double computed = rank.time({{computing.get(), covered, launch}, out, in}).front();
    if (rank.first())
      bench::Record("time")
          .set("kind", "copies_beside")
          .set("how", "host")
          .set("ranks", gpus)
          .set("bytes", 0)
          .set("gemm_alone_us", alone)
          .set("gemm_us", computed);
    rank.together([&] { TILEPOST_BENCH_CUDA(cudaDeviceSynchronize()); });
  });
}

void measure_host_paths(const Context& context) {
  constexpr int kMostPairs = 6;  // of many GPUs only the first pairs: each takes half a second
  int pairs = 0;
  for (int one = 0; one < context.machine.gpus; ++one)
    for (int other = one + 1; other < context.machine.gpus; ++other)
      if (pairs++ < kMostPairs) measure_path(context, one, other);
}

}  // namespace tilepost::profile
