// The machine the planner predicts for: every number that was measured, in one value that planning
// is handed. No other file of the planner or the runtime contains a measured number. The numbers
// that a run needs when it gives its m travel in tilepost_model_t.
//
// fields.h names every field with its unit, bounds and meaning. By that table a profile is read
// from YAML and written to it. docs/internals/machine.md says how the numbers came about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/plan/arch.h"
#include "generator/plan/machine/collectives.h"
#include "generator/plan/machine/gemm.h"
#include "generator/plan/machine/peers.h"
#include "generator/plan/machine/points.h"

namespace tilepost {

// The GPU as all kernels find it.
struct ChipProfile {
  int64_t sms;  // that plans for its architecture have where the spec leaves it open
  // A tensor-bound kernel runs at the power limit. On x times clock_sms SMs its clock is
  // x^-clock_gain times that of its row in the catalogue.
  double clock_sms, clock_gain;
  double max_ghz;
  double l2_bytes_per_clock;               // from L2 to an SM when all SMs read
  double memory_bytes_per_us;              // that memory reads and writes
  double copy_bytes_per_us;                // that a copy kernel on all SMs reads and writes
  std::vector<ProfilePoint> resident_sms;  // against CTAs per cluster, for more than a pair of SMs
};

// How much later fewer groups may end than the best, a part of the whole: about the error of the
// model, and what it does not see.
struct SlackProfile {
  double one_lane, lanes;  // collectives
  double turns;            // shares take turns, and what follows a group shares the free SMs
  double turns_hurried;    // shares take turns, sums travel early or helper warps do the tasks
  double turns_pushed;     // shares take turns, and helper warps push the sums
  double rows;             // chunks of A, pushed, which helper warps serve
};

// What the model is known to get wrong, and how far it is trusted.
struct AccuracyProfile {
  SlackProfile slack;
  double noise;  // differences below this part do not count
  // Where links hide how long GEMMs take, two plans may end alike by the model. If the GEMM of one
  // is shorter by more than this part, that one is taken, because the GEMM is not hidden all the
  // time.
  double hidden;
  double margin;  // the part by which overlap has to win, because its losses are certain
  // Products: the part by which collectives and copies beside a GEMM, and runs in sequence, end
  // later than predicted on shapes that nothing was fitted to. Plans whose helper warps move the
  // products do not, so they are preferred by this part.
  double doubt;
};

struct MachineProfile {
  std::string name;  // "4 x H200, NVLink"
  std::string gpu;   // part of what CUDA calls its GPUs: "H200" of "NVIDIA H200"
  Arch arch;         // others have their GEMM scaled from the tensor peak, and collectives as here
  bool measured;     // by times of such a machine; if not, what others tell of it (machines/)
  ChipProfile chip;
  GemmProfile gemm;
  CollectivesProfile collectives;
  PeersProfile peers;
  AccuracyProfile accuracy;

  // The name, and for an estimate that it is one: what messages, reports and plans have.
  std::string words() const;
};

// A machine that tilepost knows without being told.
struct KnownMachine {
  std::string_view key;  // "h200", the name of its file in machines/
  MachineProfile profile;
};

// All known machines, in the order of their keys: one for each file of machines/.
const std::vector<KnownMachine>& known_machines();

// Plans are made for this machine unless another is named.
inline constexpr std::string_view kDefaultMachine = "h200";
const MachineProfile& default_machine();

}  // namespace tilepost
