// Specs that are nearly right, made of right ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilepost::fuzz {

// The input of this number: a function of the arguments alone, so that one is made again without
// those before it. One of the seeds, in which fields of the table got other values, or, for `wild`
// inputs more often than not, lines, words and bytes were changed.
std::string make_input(const std::vector<std::string>& seeds, uint64_t seed, uint64_t number,
                       bool wild);

}  // namespace tilepost::fuzz
