#include "generator/clang/guard/faults.h"

#include <csetjmp>
#include <csignal>
#include <iterator>
#include <utility>
#include <vector>

namespace tilepost {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

thread_local std::optional<size_t> place_of_thread;
thread_local sigjmp_buf* way_out = nullptr;  // where a guarded call of this thread ends

// A signal of another thread has its usual effect: it comes again when the handler has returned.
void leave(int number) {
  if (way_out) siglongjmp(*way_out, number);
  std::signal(number, SIG_DFL);
}

// Handles the signals, on a stack of its own: the thread's may be full.
class Handlers {
 public:
  Handlers() : stack_(size_t{64} << 10) {
    stack_t own = {};
    own.ss_sp = stack_.data();
    own.ss_size = stack_.size();
    sigaltstack(&own, &stack_before_);
    struct sigaction action = {};
    action.sa_handler = leave;
    action.sa_flags = SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;
  ~Handlers() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }

 private:
  std::vector<char> stack_;
  stack_t stack_before_ = {};
  struct sigaction before_[std::size(kSignals)] = {};
};

// Ends the guard, also where the body throws.
struct WayOut {
  explicit WayOut(sigjmp_buf* to) : outer(std::exchange(way_out, to)) {}
  WayOut(const WayOut&) = delete;
  WayOut& operator=(const WayOut&) = delete;
  ~WayOut() { way_out = outer; }
  sigjmp_buf* outer;
};

}  // namespace

void note_place(std::optional<size_t> offset) {
  place_of_thread = offset;
}

std::optional<size_t> noted_place() {
  return place_of_thread;
}

int call_guarded(llvm::function_ref<void()> body) {
  const Handlers handlers;
  sigjmp_buf here;
  const WayOut guard(&here);
  constexpr int kRestoreMask = 1;
  if (const int number = sigsetjmp(here, kRestoreMask); number != 0) return number;
  body();
  return 0;
}

}  // namespace tilepost
