// What is tried on the generator with one input, whoever has made the input.
//
// An input is the text of a spec, then any number of overrides ("gemm.m=64"), each after a zero
// byte.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tilepost::fuzz {

// How far an input is taken: parse reads it, plan also plans it, explain also makes the texts and
// JSON of the plan, and emit also weaves and emits code.
enum class Mode { parse, plan, explain, emit };

std::optional<Mode> find_mode(std::string_view name);

enum class Outcome {
  refused,   // by the reader or the planner, with a message
  left_out,  // valid, but more than kMaxElements
  accepted,  // taken as far as the mode demands
};

// Planning takes time in proportion to tiles and tile rows, up to seconds. An input with more rows,
// or with more elements of the output of all ranks, is read but not planned.
constexpr int64_t kMaxRows = int64_t{1} << 18, kMaxElements = int64_t{1} << 24;

// What the generator must never do, besides crashing: refuse without a message, or accept with one;
// print or write characters that control a terminal; write JSON that cannot be read; throw.
struct Finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws a Finding, or an exception that the generator has thrown.
Outcome execute(Mode mode, std::string_view input);

// A dictionary in libFuzzer's form: all fields and words of the table of fields.
std::string dictionary();

}  // namespace tilepost::fuzz
