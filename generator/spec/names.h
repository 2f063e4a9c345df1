// How the spec spells each enumerator: one list per enum, read by the reader and the schema. The
// lists come from the tables of enumerators (runtime/map/enumerators.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/spec.h"

namespace tilepost {

// Spelling::value of 'auto', which leaves the choice to the planner.
inline constexpr int kAuto = -1;

struct Spelling {
  std::string_view text;
  int value = 0;  // of the enumerator
};

// The pattern of a spec that describes a whole layer of experts (Spec::layer). Its two halves have
// patterns of their own, and so no enumerator stands for it.
inline constexpr Spelling kLayerPattern = {"moe", kNumPatterns};

// What a spec may have as its pattern: the patterns, and kLayerPattern.
std::span<const Spelling> patterns_of_specs();

// All spellings of E, 'auto' first where the planner may choose. Defined for the enums of spec.h.
template <class E>
std::span<const Spelling> spellings();

// The architectures that are GPUs, in the order of the enumerators.
std::vector<Arch> gpu_archs();

// "a, b and c", where `last` is "and". "" for no words.
std::string join_with(const std::vector<std::string_view>& words, std::string_view last);

// The dtypes with a property, as messages list them, with `last` before the last one.
template <bool (DtypeRow::*kHas)() const>
std::string dtypes_with(std::string_view last) {
  std::vector<std::string_view> names;
  for (const DtypeRow& row : kDtypes)
    if ((row.*kHas)()) names.push_back(row.name);
  return join_with(names, last);
}

}  // namespace tilepost
