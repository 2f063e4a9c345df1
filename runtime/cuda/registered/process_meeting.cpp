#include "runtime/cuda/registered/process_meeting.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace tilepost::cuda {
namespace {

constexpr std::chrono::milliseconds kPoll{1};

struct Room {
  int64_t came = 0;     // how many times ranks came, over all rounds
  int64_t present = 0;  // how many ranks may come again
};

// The rooms are never destroyed, because static objects may still use them at the end.
struct Rooms {
  std::mutex mutex;
  std::condition_variable came;
  std::map<int64_t, Room> all;
};
Rooms& rooms() {
  static auto* const instance = new Rooms;
  return *instance;
}

}  // namespace

int64_t ProcessMeeting::new_seat() {
  static std::atomic<int64_t> seats = 0;
  return ++seats;
}

ProcessMeeting::ProcessMeeting(std::vector<int64_t> seats) {
  std::ranges::sort(seats);
  room_ = seats.front();
  ranks_ = std::ranges::unique(seats).begin() - seats.begin();
  const std::lock_guard lock(rooms().mutex);
  ++rooms().all[room_].present;
}

// The last rank to leave removes the room. A rank that comes later would wait in vain, in another
// room.
ProcessMeeting::~ProcessMeeting() {
  const std::lock_guard lock(rooms().mutex);
  const auto at = rooms().all.find(room_);
  if (--at->second.present == 0) rooms().all.erase(at);
}

tilepost_result_t ProcessMeeting::meet(double seconds,
                                       const std::function<tilepost_result_t()>& check) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const int64_t wanted = ++rounds_ * ranks_;
  std::unique_lock lock(rooms().mutex);
  Room& room = rooms().all.at(room_);  // the room stays while this rank is present
  ++room.came;
  rooms().came.notify_all();
  while (!rooms().came.wait_for(lock, kPoll, [&] { return room.came >= wanted; })) {
    lock.unlock();
    tilepost_result_t result = check();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (result == TILEPOST_OK && seconds > 0 && elapsed.count() > seconds)
      result = TILEPOST_TIMEOUT;
    lock.lock();
    if (result == TILEPOST_OK || room.came >= wanted) continue;
    --room.came;  // ranks that come now do not find this rank here
    return result;
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
