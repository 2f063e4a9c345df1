// printf into a string. The harness uses nothing beyond the standard library.
#pragma once

#include <string>

namespace tilepost::harness {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace tilepost::harness
