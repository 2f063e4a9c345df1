// Every rank keeps its own product, of one B or of experts.
#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

tilepost_division_t division(const Plan&) {
  return TILEPOST_DIVISION_ROWS;
}

bool pushes_as_it_may(const Plan& plan) {
  return plan.pushes == 0;
}

}  // namespace

const PatternCheck kGemmCheck = {division, pushes_as_it_may, nullptr, nullptr};

}  // namespace tilepost
