#include "runtime/verify/run/opaque_memory.h"

#include <algorithm>

#include "runtime/harness/opaque_bytes.h"

namespace tilepost::verify {
namespace {

// The room around a part, in bytes: what a kernel may read by mistake if it takes each of n * k
// numbers for four bytes. Room is a multiple of the least room, so that the part behind it is
// aligned.
constexpr int64_t kLeastRoom = 1 << 16, kMostRoom = 1 << 24;

int64_t room_of(const tilepost_shape_t& shape) {
  const int64_t room = std::clamp(int64_t{4} * shape.n * shape.k, kLeastRoom, kMostRoom);
  return room / kLeastRoom * kLeastRoom;
}

}  // namespace

OpaqueMemory::OpaqueMemory(RankDevice& device, const harness::PlainLaunch& kernel)
    : device_(device), has_b_(kernel.b.bytes != nullptr), user_(kernel.num_user) {
  if (has_b_) parts_.emplace_back().data = kernel.b;
  for (int i = 0; i < kernel.num_user; ++i) parts_.emplace_back().data = kernel.user[i];
}

OpaqueMemory::~OpaqueMemory() {
  for (const Part& part : parts_)
    if (part.memory != nullptr) device_.release(part.memory);
}

void OpaqueMemory::fill(const tilepost_shape_t& shape, uint64_t seed, int run, int rank) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.room = room_of(shape);
    part.bytes = std::max<int64_t>(part.data.bytes(shape), 0);
    const int64_t all = part.bytes + 2 * part.room;
    if (all > part.capacity) {
      if (part.memory != nullptr) device_.release(part.memory);
      part.memory = static_cast<char*>(device_.allocate(static_cast<size_t>(all)));
      part.capacity = all;
    }
    const auto matrix = static_cast<Matrix>(static_cast<size_t>(Matrix::user) + i);
    part.filled = harness::opaque_bytes(part.bytes, stream_of(seed, run, rank, matrix));
    device_.copy_to_device(part.memory + part.room, part.filled.data(), part.filled.size());
    fill_around(static_cast<int>(i), mix(seed + i));
    if (!has_b_ || i > 0) user_[i - (has_b_ ? 1 : 0)] = part.memory + part.room;
  }
}

void OpaqueMemory::fill_around(int index, uint64_t stream) {
  const Part& part = parts_[index];
  const std::vector<unsigned char> room = harness::opaque_bytes(part.room, stream);
  device_.copy_to_device(part.memory, room.data(), room.size());
  device_.copy_to_device(part.memory + part.room + part.bytes, room.data(), room.size());
}

const void* OpaqueMemory::b() const {
  return has_b_ ? parts_.front().memory + parts_.front().room : nullptr;
}

std::string OpaqueMemory::changed() const {
  for (const Part& part : parts_) {
    std::vector<unsigned char> now(part.filled.size());
    device_.copy_to_host(now.data(), part.memory + part.room, now.size());
    if (now != part.filled) return part.data.name;
  }
  return "";
}

}  // namespace tilepost::verify
