// How ranks find each other by a function of the caller's (tilepost_comm_init_with). They exchange
// who they are, and whether they share memory of their host. Ranks that do need nothing else.
#pragma once

#include <memory>

#include "runtime/core/error.h"
#include "runtime/cuda/shared/host/host_meeting.h"

namespace tilepost::cuda {

// Makes an id of NCCL.
tilepost_result_t make_unique_id(tilepost_unique_id_t& id);

// The caller's function, and the rank that calls it.
struct Bootstrap {
  tilepost_all_gather_t all_gather;
  void* user;
  int rank, world;
};

// What ranks have in common.
struct Meeting {
  std::shared_ptr<HostMeeting> on_host;  // null if a rank does not see the memory
  tilepost_unique_id_t id;               // of NCCL, if there is no memory in common
};

// Makes the meeting. Collective. `own` is the result of this rank's own checks, whose text is the
// thread's last error. Fails on all ranks if one of them fails, or if the numbers that come back
// show that the function does not gather. TILEPOST_INVALID_ARGUMENT: the function returned an
// error.
tilepost_result_t make_meeting(const Bootstrap& bootstrap, tilepost_result_t own, Meeting& meeting);

}  // namespace tilepost::cuda
