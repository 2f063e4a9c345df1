// B and user data of a kernel that alone knows their form. They are random bytes, with room around
// them that the kernel must not read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/harness/plain_launch.h"
#include "runtime/verify/run/world.h"

namespace tilepost::verify {

class OpaqueMemory {
 public:
  // `device` and `kernel` must outlive this object. A kernel without such data has no parts.
  OpaqueMemory(RankDevice& device, const harness::PlainLaunch& kernel);
  ~OpaqueMemory();
  OpaqueMemory(const OpaqueMemory&) = delete;
  OpaqueMemory& operator=(const OpaqueMemory&) = delete;

  // Makes fresh bytes for a run of a rank. The shape determines how many.
  void fill(const tilepost_shape_t& shape, uint64_t seed, int run, int rank);
  // Changes the bytes around part `index`.
  void fill_around(int index, uint64_t stream);

  int count() const { return static_cast<int>(parts_.size()); }
  const char* name(int index) const { return parts_[index].data.name; }
  int64_t bytes(int index) const { return parts_[index].bytes; }

  const void* b() const;  // null if B is a matrix
  void* const* user() const { return user_.data(); }

  // The name of a part that has changed since it was filled, or "".
  std::string changed() const;

 private:
  struct Part {
    harness::OpaqueData data;
    char* memory = nullptr;
    int64_t room = 0, bytes = 0;  // bytes of the room before and behind the part, and of the part
                                  // itself
    int64_t capacity = 0;
    std::vector<unsigned char> filled;
  };

  RankDevice& device_;
  const bool has_b_;
  std::vector<Part> parts_;  // B comes first, if only the kernel knows B's form
  std::vector<void*> user_;
};

}  // namespace tilepost::verify
