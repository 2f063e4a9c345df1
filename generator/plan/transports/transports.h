// What can carry the groups of a plan: one object per transport, each in a file of its own.
//
// A new transport is a file with a class derived from Transport, and a line in transports.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"
#include "generator/spec/spec.h"

namespace tilepost {

// The most ranks that are taken to be GPUs of one host, which reach each other's memory.
inline constexpr int kMostOnOneHost = 8;

// A group's collective, or what stands in for it, as the model sees it; us.
struct CollectiveModel {
  double latency = 0;
  double per_byte = 0;
  double tail = 0;  // of the last one, which no other lane hides, or of a chunk's arrival
};

// What a transport needs to know of a schedule to predict how long its groups take to move. The
// groups themselves are not chosen yet.
struct TransferProblem {
  const Plan& plan;  // the problem and what is chosen by the spec
  const MachineProfile& profile;
  CommChoice comm;
  double wave;         // of the GEMM with nothing beside it, us
  double wave_beside;  // next to collectives on other SMs, us
  double computed;     // the whole GEMM with nothing beside it, us
  // Bytes that a wave stores, or would store if no CTAs shared a tile. The waves of CTAs that share
  // tiles are too short to hide much.
  double wave_bytes;
  double tile_kib;     // of a CTA's part of a tile
  double bytes;        // of all groups
  int tile_rows;       // rows of tiles in all
  int task_parts;      // tilepost_plan_t::task_parts
  bool reads_own;      // tilepost_plan_t::reads_own
  bool fused = false;  // tilepost_plan_t::fused
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;
};

// How long moving groups takes, and how long the GEMM takes meanwhile; us.
struct TransferModel {
  double wave = 0;         // beside the transfers, or with its own stores
  CollectiveModel group;   // what follows the tiles of a group, or brings a chunk
  double announce = 0;     // rows of A: before everything, after the copy of the own ones
  int64_t most_bytes = 0;  // tilepost_model_t::most_bytes
};

// The constants of a transport.
struct TransportRow {
  tilepost_transport_t value;
  bool overlaps;      // whether groups move beside the GEMM; if not, one collective moves all
  bool windows;       // whether what is sent lies in symmetric windows
  const char* needs;  // what the machine must have that a plan cannot know; "" if nothing
};

class Transport {
 public:
  const TransportRow row;

  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  // The access of plans with this transport, on every target.
  tilepost_access_t access() const { return access_of(row.value); }
  // Whether ranks touch each other's memory.
  bool shares_memory() const { return access() != TILEPOST_ACCESS_MESSAGES; }

  // Whether further lanes need CTAs of their own, as communicators of NCCL do. Other lanes are
  // streams.
  virtual bool lanes_take_ctas() const { return !shares_memory(); }

  // Reports what the transport cannot carry of a spec that asks for it.
  virtual void check(const Spec&, Diagnostics&) const {}

  // Whether the planner may choose it where the spec leaves the transport open. `plan` has what the
  // spec says.
  virtual bool may_try(const Spec&, const Plan&, const MachineProfile&) const { return false; }

  // Why it cannot go with rows that TMA cannot address, "" if it can.
  virtual std::string why_not_rows(const std::string& /*why_not_tma*/) const { return ""; }

  // Whether the kernel stores as the transport needs it.
  virtual bool stores(const KernelConfig&) const { return true; }

  // Called where the spec asks for this transport. Keeps those of the kernels that can go with it.
  // Returns false after it reported that there are none.
  virtual bool keep_kernels(const Spec&, const Plan&, std::vector<KernelChoice>&,
                            Diagnostics&) const {
    return true;
  }

  // Whether the kernel `one` can go with it, given `all` kernels that serve the problem.
  // `task_parts`: as the function of that name returns it, but 0 where the spec asks for SMs that
  // do the tasks.
  virtual bool serves(const Plan&, const std::vector<KernelChoice>& /*all*/,
                      const KernelConfig& /*one*/, int /*task_parts*/) const {
    return true;
  }

  // tilepost_plan_t::task_parts for a kernel of this configuration: as many as there are ranks
  // where their parts of a sum lie side by side, 1 where rows have to be moved on, 0 where there is
  // nothing to do or the kernel has no helper warp that could do it.
  int task_parts(const KernelConfig& config, const Plan& plan) const;

  // Whether the epilogue of kernels of this configuration can do all that crosses ranks
  // (tilepost_plan_t::fused).
  virtual bool fuses(const KernelConfig&, const Plan&) const { return false; }

  // tilepost_plan_t::reads_own of a plan with this kernel and this many task parts.
  virtual bool reads_own(const KernelConfig&, const Plan&, int /*task_parts*/) const {
    return false;
  }

  // What to try for tilepost_plan_t::shots.
  virtual std::vector<tilepost_shots_t> shots(const Spec&, const Plan&) const {
    return {TILEPOST_SHOTS_NONE};
  }

  // tilepost_plan_t::pushes of a plan whose access, sum, shots and tasks are chosen.
  virtual bool pushes(const Plan&) const { return false; }

  // tilepost_plan_t::row_gap of a plan whose access and tasks are chosen.
  virtual int row_gap(const Plan&) const { return 0; }

  // tilepost_plan_t::whole_run of a plan whose access, kernel and tasks are chosen.
  virtual bool whole_run(const Plan&) const { return false; }

  // The CTA counts and lanes to try for moving groups where the spec leaves them open. If several
  // end equally soon, the first is preferred. Some may be more than a small GPU has.
  virtual std::vector<CommChoice> choices(const Plan&, const MachineProfile&,
                                          int task_parts) const = 0;

  virtual TransferModel model(const TransferProblem& problem) const = 0;

  // What moves where, for explain, a line each. Empty if `row` says everything.
  virtual std::vector<std::string> describe(const Plan&) const { return {}; }

 protected:
  explicit Transport(const TransportRow& facts) : row(facts) {}

 private:
  // task_parts() of a kernel that has a helper warp.
  virtual int tasks_beside(const Plan&) const { return 0; }
};

// The transport of that value, for plans of every target. Requires a value other than
// TILEPOST_TRANSPORT_HOST, which no plan has as its planned transport.
const Transport& transport_of(tilepost_transport_t value);

// The transport that the spec asks for, or that the plan needs for what the spec asks for. A bound
// on the rows whose sums go home needs 'peer' on GPUs: its kernel stores nothing in a run that has
// too many rows, where steps of other transports would write the output.
std::optional<tilepost_transport_t> wish_of(const Spec& spec, const Plan& plan);

// That transport, if there is one (wish_of). If it is left open: those that the pattern, the
// layout and the architecture allow, in order of preference. NCCL's collectives, which run
// everywhere, come first, then the transports that need peer access between all ranks, on machines
// whose times are known. nccl_symmetric is not among them, since its windows have to be asked for.
// None where nothing is sent beside the GEMM.
std::vector<const Transport*> transports_to_try(const Spec& spec, const Plan& plan,
                                                const MachineProfile& profile);

// Whether the machine can have the transport that the spec asks for. If it cannot, reports what the
// profile lacks. Plans of the host target need nothing of the machine.
bool check_machine(const Spec& spec, const Plan& plan, const MachineProfile& profile,
                   Diagnostics& diagnostics);

// How the pattern runs without overlap: "the GEMM on all SMs, then one collective".
const char* sequence_text(tilepost_pattern_t pattern);

// "one shot", "one shot in lines", "two shots". Requires a value other than TILEPOST_SHOTS_NONE.
const char* words_of(tilepost_shots_t shots);

}  // namespace tilepost
