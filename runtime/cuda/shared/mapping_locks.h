// Shows the processes of a host which ranks have another rank's memory mapped.
//
// If memory is freed while another process has it open, the result is undefined (CUDA Runtime API,
// cudaIpcOpenMemHandle). So all ranks have a file open. While a rank has another rank's memory
// open, it holds a lock on one byte of the file: byte number owner * kMostPeers + importer. The
// locks belong to the open file description, not to the process (fcntl, "Open file description
// locks"), and the system releases them when a process dies. The file lies in memory, has no bytes,
// and has no name any more once all ranks have opened it.
#pragma once

#include <cstdint>

namespace tilepost::cuda {

class MappingLocks {
 public:
  MappingLocks() = default;
  MappingLocks(MappingLocks&& other) noexcept;
  MappingLocks& operator=(MappingLocks&& other) noexcept;
  // Releases all locks that were taken through this object.
  ~MappingLocks();

  // One rank makes the file and sends its `token` to the others; 0 means that it could not be made.
  // The others open the file. Then the rank that made it removes its name.
  int64_t make();
  bool open(int64_t token);
  static void take_name_away(int64_t token);
  explicit operator bool() const { return file_ >= 0; }

  // hold() is called before this rank, `importer`, opens the memory of `owner`. It returns whether
  // the rank got the lock. let_go() is called when the rank has closed that memory.
  bool hold(int owner, int importer) const;
  void let_go(int owner, int importer) const;
  // Whether any other rank holds a lock on the memory of `owner`. If not, this object now holds all
  // of these locks, so no other rank can get one any more.
  bool is_held(int owner) const;

  // Keeps the locks until the process ends.
  void leak() { file_ = -1; }

 private:
  int file_ = -1;
};

}  // namespace tilepost::cuda
