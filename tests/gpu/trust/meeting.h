// How the ranks of soak.cpp meet. They are threads of this process, or processes whose parent
// passes words on.
#pragma once

#include <memory>
#include <vector>

#include "tests/gpu/trust/report.h"

namespace gpu_test {

class Meeting {
 public:
  virtual ~Meeting() = default;

  // Waits for all ranks. Returns what rank 0 has brought, on all ranks.
  virtual std::string meet(int rank, const std::string& brought) = 0;
  // Adds a line to the table. Only rank 0 calls it.
  virtual void row(const std::string& name, const std::string& verdict,
                   const std::vector<std::string>& fields) = 0;

  void barrier(int rank) { meet(rank, "-"); }
  tilepost_unique_id_t new_id(int rank) {
    tilepost_unique_id_t id{};
    if (rank == 0) TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
    return from_hex(meet(rank, to_hex(id)));
  }
};

// All ranks are threads. The process ends with exit code 1 if they do not meet for `patience`
// seconds.
class ThreadMeeting : public Meeting {
 public:
  ThreadMeeting(Ranks& ranks, Report& report, double patience);
  ~ThreadMeeting() override;
  std::string meet(int rank, const std::string& brought) override;
  void row(const std::string& name, const std::string& verdict,
           const std::vector<std::string>& fields) override;

 private:
  struct Watch;
  Ranks& ranks_;
  Report& report_;
  std::string word_;
  std::unique_ptr<Watch> watch_;
};

// The meeting in the process of one rank.
class ProcessMeeting : public Meeting {
 public:
  explicit ProcessMeeting(Orders& orders) : orders_(orders) {}
  std::string meet(int rank, const std::string& brought) override;
  void row(const std::string& name, const std::string& verdict,
           const std::vector<std::string>& fields) override;

 private:
  Orders& orders_;
};

// The meeting in the parent: passes words on until all ranks have sent 'done'. Returns "" or what
// went wrong.
std::string host_meeting(Children& ranks, Report& report, double patience);

}  // namespace gpu_test
