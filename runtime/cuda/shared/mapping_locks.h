// Which ranks have another's memory mapped, told between the processes of a host.
//
// What becomes of memory that is freed while another process has it open is undefined (CUDA Runtime
// API, cudaIpcOpenMemHandle). So a rank holds a lock on a byte of a file that all of them have open
// for as long as it has another's memory open: the byte number owner * kMostPeers + importer. The
// locks are the file's as it was opened, not the process's (fcntl, "Open file description locks"),
// and the system takes them back when a process dies. The file lies in memory, has no bytes, and no
// name any more once all ranks have opened it.
#pragma once

#include <cstdint>

namespace tilepost::cuda {

class MappingLocks {
 public:
  MappingLocks() = default;
  MappingLocks(MappingLocks&& other) noexcept;
  MappingLocks& operator=(MappingLocks&& other) noexcept;
  // Gives back all locks that were taken through it.
  ~MappingLocks();

  // One rank makes the file and tells the others its `token`; 0: it could not be made. They open
  // it; then that rank takes its name away.
  int64_t make();
  bool open(int64_t token);
  static void take_name_away(int64_t token);
  explicit operator bool() const { return file_ >= 0; }

  // This rank, `importer`, opens the memory of `owner`, or has closed it. False: no lock was had.
  bool hold(int owner, int importer) const;
  void let_go(int owner, int importer) const;
  // Whether anybody else holds a lock on the memory of `owner`. If not, nobody can from now on.
  bool is_held(int owner) const;

  // Keeps the locks until the process ends.
  void leak() { file_ = -1; }

 private:
  int file_ = -1;
};

}  // namespace tilepost::cuda
