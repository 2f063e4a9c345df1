// Small changes to a kernel's text that may make it store elsewhere, twice, or not at all.
#pragma once

#include <random>
#include <string>

namespace tilepost {

struct Mutant {
  std::string source;
  std::string change;  // for messages: "line 6: '<' becomes '<='"
};

// Makes a change that `random` chooses: of an index, a guard, a step, a constant, a pointer or an
// exit.
Mutant mutate(const std::string& source, std::mt19937& random);

}  // namespace tilepost
