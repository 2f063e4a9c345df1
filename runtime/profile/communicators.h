// NCCL's collectives as the planner's model knows them: by name, CTAs and bytes.
#pragma once

#include <nccl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/transport/comm.h"
#include "runtime/profile/team.h"

namespace tilepost::profile {

// The names of the collectives, as machine profiles have them (`collectives.groups`).
inline constexpr const char* kCollectives[] = {"all_reduce", "reduce_scatter", "all_gather",
                                               "all_to_all"};

// The communicators of one rank: NCCL's default one, and those that the runtime makes for a budget
// of CTAs.
class Communicators {
 public:
  // All ranks make theirs together.
  Communicators(Rank& rank, const tilepost_unique_id_t& id, const tilepost_unique_id_t& plain_id);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // Makes the communicator for a budget of CTAs, with `lane` one of several of the same budget.
  // Collective.
  void prepare(int ctas, int lane = 0);

  // Enqueues one collective on a communicator that is prepared, 0 CTAs: on NCCL's default one.
  // `bytes` are those of the largest buffer on a rank, a multiple of 256 * ranks.
  void issue(const std::string& name, void* from, void* to, int64_t bytes, int ctas, int lane,
             cudaStream_t stream);

  // The child for a budget, for windows.
  const std::shared_ptr<cuda::ChildComm>& child(int ctas) { return children_.at({ctas, 0}); }

 private:
  Rank& rank_;
  cuda::Communicator communicator_;
  ncclComm_t plain_ = nullptr;
  std::map<std::pair<int, int>, std::shared_ptr<cuda::ChildComm>> children_;
};

// Makes a team's identifiers; called once, before the ranks.
tilepost_unique_id_t make_id();

}  // namespace tilepost::profile
