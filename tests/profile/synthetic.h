// Measurements of a machine that does not exist: times that follow from constants, with noise.
#pragma once

#include "generator/profile/fit/fit.h"
#include "generator/profile/fit/variants.h"

namespace tilepost {

struct Synthetic {
  MachineProfile profile;  // the constants
  int gpus = 2;
  int sms = 132;
  double noise = 0.01;  // the part by which times are off, evenly between - and +
  bool peer_access = true;
  uint64_t seed = 1;

  // What the measuring program would print of such a machine.
  Measurements measure() const;

 private:
  int compute_number() const;  // 90 for sm_90a
};

}  // namespace tilepost
