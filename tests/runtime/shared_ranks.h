// Ranks that make shared memory and exchange numbers. Each rank is a thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/cuda/shared/memory.h"
#include "tests/runtime/fakes.h"

namespace shared_ranks {

using tilepost::cuda::PeerInfo;
using tilepost::cuda::SharedMemory;

constexpr double kSeconds = 0.03;

// Where the ranks meet. `edit` changes the numbers of a rank on their way.
struct Meeting {
  explicit Meeting(int count) : ranks(count), numbers(count) {}
  // A rank leaves when its create() has returned. Ranks that wait for it then stop waiting at once,
  // however slow the machine is.
  void leave() {
    const std::lock_guard lock(mutex);
    ++left;
    came.notify_all();
  }
  int ranks;
  std::function<void(int rank, PeerInfo& info)> edit;
  std::mutex mutex;
  std::condition_variable came;
  int arrived = 0, round = 0, left = 0;
  std::vector<std::vector<int64_t>> numbers, told;
};

// One rank's channel to the others. The stream of a rank that waits for one that has left gets
// stuck.
class Exchange final : public tilepost::cuda::ControlChannel {
 public:
  Exchange(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                             cudaStream_t stream) override {
    std::unique_lock lock(meeting_.mutex);
    meeting_.numbers[rank_].assign(from, from + count);
    if (count == tilepost::cuda::kPeerInfoNumbers && meeting_.edit)
      meeting_.edit(rank_, *reinterpret_cast<PeerInfo*>(meeting_.numbers[rank_].data()));
    const int round = meeting_.round;
    if (++meeting_.arrived == meeting_.ranks) {
      meeting_.told = meeting_.numbers;
      meeting_.arrived = 0;
      ++meeting_.round;
      meeting_.came.notify_all();
    }
    meeting_.came.wait(lock, [&] { return meeting_.round > round || meeting_.left > 0; });
    if (meeting_.round == round) {
      const std::lock_guard world_lock(fakes::world().mutex);
      fakes::stream_of(stream).hang = {true, [this] { return aborted.load(); }};
      return TILEPOST_OK;
    }
    for (const auto& numbers : meeting_.told) to = std::copy(numbers.begin(), numbers.end(), to);
    return TILEPOST_OK;
  }
  tilepost_result_t check_async() override { return TILEPOST_OK; }
  void abort() override { aborted = true; }

  std::atomic<bool> aborted = false;

 private:
  Meeting& meeting_;
  int rank_;
};

struct Made {
  SharedMemory memory;
  tilepost_result_t result = TILEPOST_OK;
  std::string text;
};

// Makes shared memory for all ranks, each on a device of its own.
inline std::vector<std::unique_ptr<Made>> make(Meeting& meeting, int64_t bytes) {
  std::vector<std::unique_ptr<Made>> made(meeting.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < meeting.ranks; ++rank) {
    made[rank] = std::make_unique<Made>();
    threads.emplace_back([&, rank] {
      fakes::current_device() = rank;
      Exchange exchange(meeting, rank);
      Made& mine = *made[rank];
      mine.result = mine.memory.create(exchange, rank, meeting.ranks, rank, bytes, kSeconds);
      if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
      meeting.leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return made;
}

}  // namespace shared_ranks
