// printf into a string: the harness uses the standard library only.
#pragma once

#include <string>

namespace tilepost::harness {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace tilepost::harness
