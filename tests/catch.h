// Catch2 2 or 3, whichever is installed, under the names of version 2.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;
namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
inline auto Contains(const std::string& part) {
  return Matchers::ContainsSubstring(part);
}
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
