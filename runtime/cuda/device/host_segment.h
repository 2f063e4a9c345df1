// Host memory that the processes of a host share: a segment of System V. It has no name in a file
// system, and Linux frees it when the last process that has attached it is gone, however processes
// end. /dev/shm does not limit its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilepost::cuda {

class HostSegment {
 public:
  // How other ranks find a segment. Both fields are 0 if there is none.
  struct Address {
    int64_t segment, token;
  };

  // The bytes at the front of every segment that belong to this class.
  static constexpr size_t kFront = 64;

  HostSegment() = default;
  HostSegment(const HostSegment&) = delete;
  HostSegment& operator=(const HostSegment&) = delete;
  ~HostSegment() { detach(); }

  // Makes a segment of `bytes` bytes, which are zero behind the front. The rank that makes it keeps
  // it attached until the others have joined. When this returns, the memory is sure to be freed. If
  // the system gives no memory, returns an empty address, and errno says why.
  Address make(size_t bytes);

  // Attaches the segment at `address`, unless this object has made it. Returns false if there is
  // none of that size: it is on another host, or in a container that shares no memory with this
  // one.
  bool join(const Address& address, size_t bytes);

  bool is_attached() const { return memory_ != nullptr; }
  // The whole segment. Requires is_attached().
  char* memory() const { return static_cast<char*>(memory_); }

  // Leaves the mapping to the process, for when a device may still use it.
  void leak() { memory_ = nullptr; }

 private:
  bool attach(int64_t segment, size_t bytes);
  void detach();

  void* memory_ = nullptr;
};

}  // namespace tilepost::cuda
