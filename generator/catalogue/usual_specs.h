// The specs whose kernels `tilepost catalogue` compiles unless it is given specs.
#pragma once

#include <string>
#include <vector>

#include "generator/spec/read_fields.h"

namespace tilepost {

struct UsualSpec {
  std::vector<FieldText> fields;
  // How much its runs count where not all of its kernels find a place: those of few rows, as in
  // decoding, and those of many.
  double few_rows, many_rows;
};

// Runs of at most so many rows are few rows.
inline constexpr int64_t kFewRows = 256;

// Layers of transformers, for any m: for each pattern the layers in which models have it, on 2, 4
// and 8 ranks, with 16-bit types, both layouts of B, with and without bias, and with e4m3 and
// scales; an All-to-All with a route, messages in place of shared memory, and sums that are added
// to a residual and normalised. Empty `archs` and `patterns` stand for the usual ones; others are
// left out.
std::vector<UsualSpec> usual_specs(const std::vector<std::string>& archs,
                                   const std::vector<std::string>& patterns);

}  // namespace tilepost
