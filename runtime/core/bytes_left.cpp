#include "runtime/core/bytes_left.h"

#include <atomic>

#include "tilepost/tilepost.h"

namespace tilepost {
namespace {

std::atomic<int64_t> bytes_left{0};

}  // namespace

void add_bytes_left(int64_t bytes) {
  bytes_left += bytes;
}

}  // namespace tilepost

int64_t tilepost_bytes_left(void) {
  return tilepost::bytes_left;
}
