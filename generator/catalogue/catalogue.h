// `tilepost catalogue`: weaves and compiles the kernels of many plans, each once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/driver.h"
#include "generator/harness/progress.h"
#include "generator/plan/variant.h"

namespace tilepost {

// The kernels that a catalogue shall have, each with a plan that it serves.
class Variants {
 public:
  // Adds the kernels of plans. Refuses kernels of users, which have no variants.
  bool add(const std::vector<Plan>& plans, Diagnostics& diagnostics);

  // Plans a spec that has these fields and adds its kernels. Does nothing if no such spec can be
  // planned.
  // With `has_kernel` the plan is the best of those whose kernels it has.
  void try_fields(const std::vector<FieldText>& fields, const MachineProfile& machine,
                  const HasKernel& has_kernel = {});

  // In the order of their keys.
  const std::map<std::string, Plan>& plans() const { return plans_; }

 private:
  std::map<std::string, Plan> plans_;
};

// Compiles the kernels, `jobs` at a time (0: one per core), but for those whose files the folder
// has already. Returns the new files, with the manifest as the last one. The manifest has the
// kernels that the folder's manifest names, too. Returns none after an error.
std::vector<OutputFile> compile_catalogue(const Variants& variants, const std::string& folder,
                                          int jobs, Progress& progress, Diagnostics& diagnostics);

}  // namespace tilepost
