// Every field of a machine profile: its name, unit, bounds and meaning, once. Code that reads,
// writes or explains a profile visits the fields in this order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "generator/plan/machine/profile.h"

namespace tilepost {

// The format of a machine profile's text, which the key `tilepost_machine` names.
inline constexpr int kMachineFormat = 1;

struct MachineField {
  const char* name;
  const char* unit;  // "us"; "" for a ratio
  double least, most;
  const char* meaning;
};

// Visits each field. A visitor may change the values.
class MachineVisitor {
 public:
  virtual ~MachineVisitor() = default;

  // The fields up to the matching end() are of a section of this name.
  virtual void begin(const char* name, const char* meaning) = 0;
  virtual void end() = 0;

  virtual void text(const MachineField& field, std::string& value) = 0;
  virtual void arch(const MachineField& field, Arch& value) = 0;
  virtual void number(const MachineField& field, double& value) = 0;
  virtual void whole(const MachineField& field, int64_t& value) = 0;
  // Whole numbers, at least one.
  virtual void list(const MachineField& field, std::vector<int>& value) = 0;
  // Points with rising x, at least one. The unit is "x, y"; bounds are those of y.
  virtual void points(const MachineField& field, std::vector<ProfilePoint>& value) = 0;
  // Pairs of CTAs and lanes, at least one.
  virtual void choices(const MachineField& field, std::vector<CommChoice>& value) = 0;
  // Rows of the catalogue of kernels, each with the fields of visit_kernel.
  virtual void kernels(const MachineField& field, std::map<std::string, KernelTimes>& value) = 0;
};

void visit_machine(MachineVisitor& visitor, MachineProfile& profile);
void visit_kernel(MachineVisitor& visitor, KernelTimes& times);

}  // namespace tilepost
