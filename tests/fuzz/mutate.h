// Specs that are nearly right, made of right ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilepost::fuzz {

// Makes the input of this number. It depends only on the arguments, so that an input can be made
// again without those before it. The input is one of the seeds with other values in some fields.
// `wild` inputs mostly have changed lines, words and bytes instead.
std::string make_input(const std::vector<std::string>& seeds, uint64_t seed, uint64_t number,
                       bool wild);

}  // namespace tilepost::fuzz
