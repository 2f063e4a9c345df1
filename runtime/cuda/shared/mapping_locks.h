// Tells the processes of a host which ranks have another rank's memory mapped.
//
// It is undefined what becomes of memory that is freed while another process has it open (CUDA
// Runtime API, cudaIpcOpenMemHandle). So all ranks have a file open, and a rank holds a lock on one
// byte of it for as long as it has another rank's memory open: on byte number owner * kMostPeers +
// importer. The locks belong to the file as it was opened, not to the process (fcntl, "Open file
// description locks"), and the system takes them back when a process dies. The file lies in memory,
// has no bytes, and has no name any more once all ranks have opened it.
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

  // hold() is called before this rank, `importer`, opens the memory of `owner`, and is false if it
  // got no lock. let_go() is called when it has closed that memory.
  bool hold(int owner, int importer) const;
  void let_go(int owner, int importer) const;
  // Whether anybody else holds a lock on the memory of `owner`. If not, nobody can get one from now
  // on.
  bool is_held(int owner) const;

  // Keeps the locks until the process ends.
  void leak() { file_ = -1; }

 private:
  int file_ = -1;
};

}  // namespace tilepost::cuda
