// The ranks of one measurement, a thread and a GPU each, and how times are taken on all of them at
// once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/bench/gpu/checked.h"
#include "runtime/cuda/device/resources.h"
#include "runtime/harness/rank_team.h"

namespace tilepost::profile {

// Work that is timed on one stream: `issue` is called `count` times.
struct Timed {
  cudaStream_t stream;
  int count;
  std::function<void(int)> issue;  // gets 0, 1, … count - 1
  // How much later than the others it begins. What runs beside a GEMM begins when that has its SMs:
  // clusters need pairs of them, which kernels of single CTAs would leave apart.
  int delay_us = 0;
};

// What the ranks of a measurement share.
struct Team {
  static constexpr int kMostStreams = 4;  // that are timed at the same time

  explicit Team(std::vector<int> gpus);

  const std::vector<int> gpus;  // of each rank
  harness::RankTeam steps;
  cuda::PinnedMemory gate_memory;
  uint32_t* gate = nullptr;             // a word for which all streams wait before a run
  std::vector<std::vector<double>> us;  // [ranks][streams] the time of one call
  std::vector<void*> memory;            // [ranks] memory that other ranks touch
  std::vector<std::string> texts;       // [ranks] what ranks tell each other
  std::function<void()> alive = [] {};  // called by rank 0 after every measurement
  int ranks() const { return static_cast<int>(gpus.size()); }
};

// One rank. All ranks call the same functions in the same order.
class Rank {
 public:
  Rank(Team& team, int rank);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return team_.ranks(); }
  int gpu() const { return team_.gpus[static_cast<size_t>(rank_)]; }
  bool first() const { return rank_ == 0; }
  Team& team() { return team_; }
  cudaStream_t stream() const { return stream_.get(); }
  // A stream whose kernels go first, for what runs beside those of stream().
  cudaStream_t side() const { return side_.get(); }

  // Runs `step` on this rank, and waits for the others. If a step fails on some rank, throws
  // Stopped on all of them.
  void together(const std::function<void()>& step);

  // Lets all ranks do this work at once and returns, for each of `work`, the microseconds of one
  // call on the slowest rank. The work is called once before, so that nothing is loaded or
  // connected while it is timed.
  std::vector<double> time(const std::vector<Timed>& work);
  // The time of work on stream(): the least of `turns` times.
  double time(int count, const std::function<void(int)>& issue, int turns = 3);
  // Calls `issue` so often that one turn takes about `ms` milliseconds on the slowest rank, but no
  // more often than `most`, and returns the time of a call.
  double time_for(double ms, int most, const std::function<void(int)>& issue);

 private:
  void enqueue(const std::vector<Timed>& work);
  void read_times(const std::vector<Timed>& work);

  Team& team_;
  const int rank_;
  cuda::Stream stream_, side_;
  std::vector<cuda::Event> begin_, end_;
  cuda::DeviceMemory clock_;  // of kernels that delay a stream
  uint32_t gates_ = 0;
};

// Thrown on all ranks when a step has failed on one. Team::steps has the text.
struct Stopped {};

// Runs body(rank) on a thread for each rank. Throws BenchError if a rank failed.
void run_team(Team& team, const std::function<void(Rank&)>& body);

// Whether the ranks' GPUs reach each other's memory, all of them. If they do, lets every rank's GPU
// touch the others' memory.
bool reach_each_other(const std::vector<int>& gpus);
void open_peers(Rank& rank);

}  // namespace tilepost::profile
