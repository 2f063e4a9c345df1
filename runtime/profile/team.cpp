#include "runtime/profile/team.h"

#include <algorithm>
#include <cmath>

#include "runtime/bench/gpu/kernels.h"
#include "runtime/profile/kernels.h"

namespace tilepost::profile {

Team::Team(std::vector<int> of_ranks)
    : gpus(std::move(of_ranks)),
      steps(ranks()),
      us(gpus.size(), std::vector<double>(kMostStreams)),
      memory(gpus.size()),
      texts(gpus.size()) {
  bench::check_tilepost(cuda::make_pinned_memory(gate_memory, sizeof(uint32_t)), "cudaHostAlloc");
  gate = static_cast<uint32_t*>(gate_memory.get());
}

Rank::Rank(Team& team, int rank) : team_(team), rank_(rank) {
  together([&] {
    TILEPOST_BENCH_CUDA(cudaSetDevice(gpu()));
    bench::preload_gate();
    preload_kernels();
    bench::check_tilepost(cuda::make_stream(stream_, false), "make_stream");
    bench::check_tilepost(cuda::make_stream(side_, true), "make_stream");
    clock_ = bench::allocate(2 * sizeof(uint64_t));
    for (std::vector<cuda::Event>* events : {&begin_, &end_}) {
      events->resize(Team::kMostStreams);
      for (cuda::Event& event : *events) TILEPOST_BENCH_CUDA(cudaEventCreate(event.out()));
    }
  });
}

void Rank::together(const std::function<void()>& step) {
  if (!team_.steps.step(rank_, step)) throw Stopped{};
}

void Rank::enqueue(const std::vector<Timed>& work) {
  ++gates_;
  for (size_t i = 0; i < work.size(); ++i) {
    bench::gate(team_.gate, gates_, work[i].stream);
    if (work[i].delay_us > 0)
      count_clock(static_cast<uint64_t*>(clock_.get()), uint64_t{1000} * work[i].delay_us,
                  work[i].stream);
    TILEPOST_BENCH_CUDA(cudaEventRecord(begin_[i].get(), work[i].stream));
  }
  for (size_t i = 0; i < work.size(); ++i) {
    for (int call = 0; call < work[i].count; ++call) work[i].issue(call);
    TILEPOST_BENCH_CUDA(cudaEventRecord(end_[i].get(), work[i].stream));
  }
}

void Rank::read_times(const std::vector<Timed>& work) {
  for (size_t i = 0; i < work.size(); ++i) {
    float ms = 0;
    TILEPOST_BENCH_CUDA(cudaEventSynchronize(end_[i].get()));
    TILEPOST_BENCH_CUDA(cudaEventElapsedTime(&ms, begin_[i].get(), end_[i].get()));
    team_.us[rank_][i] = static_cast<double>(ms) * 1000 / std::max(work[i].count, 1);
  }
}

std::vector<double> Rank::time(const std::vector<Timed>& work) {
  together([&] {
    for (const Timed& each : work)
      if (each.count > 0) each.issue(0);
    for (const Timed& each : work) TILEPOST_BENCH_CUDA(cudaStreamSynchronize(each.stream));
  });
  together([&] { enqueue(work); });
  together([&] {
    if (first()) __atomic_store_n(team_.gate, gates_, __ATOMIC_RELEASE);
    read_times(work);
  });
  std::vector<double> slowest(work.size());
  together([&] {
    for (size_t i = 0; i < work.size(); ++i)
      for (const std::vector<double>& of_rank : team_.us)
        slowest[i] = std::max(slowest[i], of_rank[i]);
    if (first()) team_.alive();
  });
  return slowest;
}

double Rank::time(int count, const std::function<void(int)>& issue, int turns) {
  double least = HUGE_VAL;
  for (int turn = 0; turn < turns; ++turn)
    least = std::min(least, time({{stream(), count, issue}}).front());
  return least;
}

double Rank::time_for(double ms, int most, const std::function<void(int)>& issue) {
  const double guess = time(2, issue, 1);
  return time(std::clamp(static_cast<int>(ms * 1000 / guess), 2, most), issue, 2);
}

void run_team(Team& team, const std::function<void(Rank&)>& body) {
  team.steps.run([&](int rank) {
    try {
      Rank mine(team, rank);
      body(mine);
    } catch (const Stopped&) {
      cudaGetLastError();
    } catch (const std::exception& error) {
      // The other ranks are on their way to their next step, and stop there.
      team.steps.fail("rank " + std::to_string(rank) + ": " + error.what());
      team.steps.step(rank, [] {});
    }
  });
  if (!team.steps.failure().empty()) throw bench::BenchError(team.steps.failure());
}

bool reach_each_other(const std::vector<int>& gpus) {
  for (const int from : gpus)
    for (const int to : gpus) {
      int reaches = 1;
      if (from != to) TILEPOST_BENCH_CUDA(cudaDeviceCanAccessPeer(&reaches, from, to));
      if (reaches == 0) return false;
    }
  return gpus.size() > 1;
}

void open_peers(Rank& rank) {
  rank.together([&] {
    for (const int gpu : rank.team().gpus) {
      if (gpu == rank.gpu()) continue;
      const cudaError_t error = cudaDeviceEnablePeerAccess(gpu, 0);
      if (error != cudaErrorPeerAccessAlreadyEnabled) TILEPOST_BENCH_CUDA(error);
      cudaGetLastError();
    }
  });
}

}  // namespace tilepost::profile
