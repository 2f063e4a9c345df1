// What stands behind a tilepost_program_t that was planned in this process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/program/catalogue.h"

namespace tilepost {

// A program with all that its structures point to. It stays where it is.
class MadeProgram {
 public:
  MadeProgram(std::vector<Plan> plans, std::string warnings);
  MadeProgram(const MadeProgram&) = delete;
  MadeProgram& operator=(const MadeProgram&) = delete;

  const tilepost_program_t& program() const { return program_; }
  const std::vector<Plan>& plans() const { return plans_; }
  const std::string& warnings() const { return warnings_; }

  // Made once, when they are first asked for.
  const std::string& explanation();
  const std::string& picture();

  // The key of each plan's kernel.
  const std::vector<std::string>& variants() const { return variants_; }

  // Gives every plan its kernel. If one is missing, no plan is changed.
  tilepost_result_t load(Catalogue& catalogue);

 private:
  std::vector<Plan> plans_;
  std::string warnings_;
  std::vector<std::string> variants_;
  std::vector<tilepost_plan_t> stated_;  // the plans as the runtime reads them
  tilepost_program_t program_ = {};
  std::vector<std::shared_ptr<const LoadedKernel>> kernels_;  // of each plan; empty: not loaded
  std::mutex texts_;                                          // of the two that follow
  std::string explanation_, picture_;
};

}  // namespace tilepost
