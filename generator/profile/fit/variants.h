// The kernels and products that are measured on an architecture.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/kernels/config.h"
#include "generator/plan/kernels/gemm_model.h"
#include "generator/plan/plan.h"

namespace tilepost {

// A kernel that multiplies by itself, with a plan of one small product.
struct GemmVariant {
  std::string name;  // "gemm_sm90_128x256_s4_c2": the file, and what measurements call it
  KernelConfig config;
  KernelRequest request;
  Plan plan;
};

// A product that a variant is timed with.
struct GemmCase {
  size_t variant;
  int64_t m, n, k;
  int ctas;
};

struct GemmCases {
  std::vector<GemmVariant> variants;
  std::vector<GemmCase> cool, sustained;  // those of equal m, n, k and type follow each other
  GemmCase beside = {};                   // what computes beside transfers
};

// What to measure on a GPU of `sms` SMs. `profile`: by whose model variants are chosen.
GemmCases cases_for(Arch arch, int sms, const MachineProfile& profile);

// What the planner predicts for a variant's product, by any profile.
class GemmPrediction {
 public:
  // The product of m x n x k on `ctas` CTAs. `beside`: as in a plan in which collectives run beside
  // it, whose kernels have times of their own (KernelTimes).
  GemmPrediction(const GemmVariant& variant, int64_t m, int64_t n, int64_t k, int ctas,
                 bool beside);

  // The time on a cool chip, us.
  double operator()(const MachineProfile& profile) const;

 private:
  KernelConfig config_;
  KernelRequest request_;
  Plan plan_;
  int at_once_;
};

// The grid that the planner gives a product that has `sms` SMs to itself: the fewest CTAs that need
// no more waves than all.
int ctas_alone(const MachineProfile& profile, const GemmVariant& variant, int64_t m, int64_t n,
               int sms);

}  // namespace tilepost
