// The threads of a block, on one thread of the CPU. Each has a stack of its own, and runs until it
// waits.
//
// So a block's threads run in the same order in every run. Blocks on several threads of the CPU do
// not affect each other. A barrier that can never open is detected at once.
#ifndef TILEPOST_SHIM_FIBRES_H
#define TILEPOST_SHIM_FIBRES_H

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tilepost::cpu {

constexpr unsigned kWarpSize = 32;

class Fibres {
 public:
  // Calls body(i) for every i below `threads`, each on a stack of its own, until all calls have
  // returned. Calls `enter(i)` whenever thread i starts or continues. Throws if threads wait for
  // something that cannot come.
  template <class Enter, class Body>
  void run(unsigned threads, const Enter& enter, const Body& body) {
    const Call call{&body, [](const void* of, unsigned i) { (*static_cast<const Body*>(of))(i); }};
    call_ = &call;
    Fibres* const outer = current();
    current() = this;
    begin(threads);
    while (live_ > 0) {
      bool moved = false;
      for (unsigned i = 0; i < threads; ++i) {
        if (fibres_[i].state != State::ready) continue;
        moved = true;
        running_ = i;
        enter(i);
        swapcontext(&scheduler_, &fibres_[i].context);
      }
      if (!moved && !open_barriers()) {
        current() = outer;
        throw std::runtime_error(
            "threads of a block wait at a barrier or shuffle to which not all come");
      }
      if (moved) open_barriers();
    }
    current() = outer;
  }

  // The calling thread waits for all threads of the block that have not ended, or for the threads
  // of its warp that `mask` has.
  void wait_for_block() { wait(State::at_block, 0); }
  void wait_for_warp(uint32_t mask) { wait(State::at_warp, mask); }

  // The fibres that run on this thread of the CPU, or null.
  static Fibres*& current() {
    static thread_local Fibres* fibres = nullptr;
    return fibres;
  }
  // The fibres of this thread of the CPU. They are kept, so that a program that runs many blocks
  // reuses their stacks.
  static Fibres& of_thread() {
    static thread_local Fibres fibres;
    return fibres;
  }

 private:
  // The memory for a kernel's local variables. Only pages that are touched take memory.
  static constexpr size_t kStackBytes = 256 << 10;

  enum class State { ready, at_block, at_warp, ended };
  struct Fibre {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    State state = State::ended;
    uint32_t mask = 0;
  };
  struct Call {
    const void* body;
    void (*call)(const void* body, unsigned i);
  };

  void begin(unsigned threads) {
    while (fibres_.size() < threads) {
      fibres_.emplace_back();
      fibres_.back().stack = std::unique_ptr<char[]>(new char[kStackBytes]);
    }
    threads_ = live_ = threads;
    for (unsigned i = 0; i < threads; ++i) {
      Fibre& fibre = fibres_[i];
      getcontext(&fibre.context);
      fibre.context.uc_stack.ss_sp = fibre.stack.get();
      fibre.context.uc_stack.ss_size = kStackBytes;
      fibre.context.uc_link = &scheduler_;
      makecontext(&fibre.context, &Fibres::start, 0);
      fibre.state = State::ready;
    }
  }

  static void start() {
    Fibres& self = *current();
    self.call_->call(self.call_->body, self.running_);
    self.fibres_[self.running_].state = State::ended;
    --self.live_;
  }

  void wait(State state, uint32_t mask) {
    Fibre& fibre = fibres_[running_];
    fibre.state = state;
    fibre.mask = mask;
    swapcontext(&fibre.context, &scheduler_);
  }

  // Opens barriers at which all have arrived. Returns whether a barrier was opened.
  bool open_barriers() {
    unsigned at_block = 0;
    bool opened = false;
    for (unsigned first = 0; first < threads_; first += kWarpSize)
      for (unsigned lane = 0; lane < kWarpSize && first + lane < threads_; ++lane) {
        at_block += fibres_[first + lane].state == State::at_block;
        opened |= fibres_[first + lane].state == State::at_warp && open_warp(first, lane);
      }
    if (at_block < live_ || live_ == 0) return opened;
    for (unsigned i = 0; i < threads_; ++i)
      if (fibres_[i].state == State::at_block) fibres_[i].state = State::ready;
    return true;
  }

  // Lets the lanes for which `lane` waits continue, if all of them have arrived.
  bool open_warp(unsigned first, unsigned lane) {
    const uint32_t mask = fibres_[first + lane].mask;
    const auto waits_for = [&](unsigned other) {
      return (mask >> other & 1) != 0 && first + other < threads_ &&
             fibres_[first + other].state != State::ended;
    };
    for (unsigned other = 0; other < kWarpSize; ++other) {
      if (!waits_for(other)) continue;
      const Fibre& fibre = fibres_[first + other];
      if (fibre.state != State::at_warp || fibre.mask != mask) return false;
    }
    for (unsigned other = 0; other < kWarpSize; ++other)
      if (waits_for(other)) fibres_[first + other].state = State::ready;
    return true;
  }

  ucontext_t scheduler_{};
  std::vector<Fibre> fibres_;
  const Call* call_ = nullptr;
  unsigned threads_ = 0, live_ = 0, running_ = 0;
};

}  // namespace tilepost::cpu

#endif  // TILEPOST_SHIM_FIBRES_H
