// The least time that any way to run an operation could take.
#pragma once

#include <optional>

#include "generator/plan/plan.h"

namespace tilepost {

// The least time, in us, in which a rank's data can pass the links; nothing where ranks send
// different amounts, or where the rate of the links is not known.
std::optional<double> links_us(const Plan& plan);

// As predicted, in us: the GEMM on all SMs, or links_us() if that is more. Nothing where no times
// are predicted, or where links_us() says nothing of an operation that communicates.
std::optional<double> limit_us(const Plan& plan);

}  // namespace tilepost
