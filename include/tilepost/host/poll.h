// Waiting for a value that another thread stores without waking anybody: look, pause, look again.
#ifndef TILEPOST_HOST_POLL_H
#define TILEPOST_HOST_POLL_H

#include <chrono>
#include <thread>

namespace tilepost {

// The pauses of one wait. Most waits are short, and the thread that is waited for may need the
// core. So the first pauses yield the core. A wait that takes longer looks every 50 us, which costs
// working threads next to nothing.
class Poll {
 public:
  void pause() {
    if (takes_long()) {
      std::this_thread::sleep_for(kInterval);
    } else {
      ++yields_;
      std::this_thread::yield();
    }
  }
  // Whether the first pauses are over.
  bool takes_long() const { return yields_ == kYields; }

 private:
  static constexpr int kYields = 200;
  static constexpr std::chrono::microseconds kInterval{50};

  int yields_ = 0;
};

}  // namespace tilepost

#endif  // TILEPOST_HOST_POLL_H
