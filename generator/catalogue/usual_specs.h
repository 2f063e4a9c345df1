// The specs whose kernels `tilepost catalogue` compiles unless it is given specs.
#pragma once

#include <string>
#include <vector>

#include "generator/spec/read_fields.h"

namespace tilepost {

// Layers of transformers, for any m: for each pattern the layers in which models have it, on 2, 4
// and 8 ranks, with 16-bit types, both layouts of B, with and without bias. Empty `archs` and
// `patterns` stand for the usual ones; others are left out.
std::vector<std::vector<FieldText>> usual_specs(const std::vector<std::string>& archs,
                                                const std::vector<std::string>& patterns);

}  // namespace tilepost
