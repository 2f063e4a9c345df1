// Waiting for what another thread stores without waking anybody: a look, a pause, a look.
#ifndef TILEPOST_HOST_POLL_H
#define TILEPOST_HOST_POLL_H

#include <chrono>
#include <thread>

namespace tilepost {

// The pauses of one wait. The thread that is waited for may need the core: the first pauses hand it
// over, as what is waited for is mostly near. One that is not is looked for every 50 us, which
// costs those who work next to nothing.
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
