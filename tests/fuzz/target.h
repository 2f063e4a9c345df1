// What is tried of the generator with one input, whatever made it.
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

// How far an input is taken: read, planned, explained as text and JSON, woven and emitted.
enum class Mode { parse, plan, explain, emit };

std::optional<Mode> find_mode(std::string_view name);

enum class Outcome {
  refused,   // by the reader or the planner, with a message
  left_out,  // valid, but more than kMaxElements
  accepted,  // all of it
};

// Planning takes time in proportion to tiles and tile rows, up to seconds. Past this many rows or
// elements of the output of all ranks an input is read and not planned.
constexpr int64_t kMaxRows = int64_t{1} << 18, kMaxElements = int64_t{1} << 24;

// What the generator may never do, beside crashing: refuse without a message, or accept with one;
// say or write what a terminal would obey; write JSON that cannot be read; throw.
struct Finding : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws a Finding, or what the generator threw.
Outcome execute(Mode mode, std::string_view input);

// A dictionary in libFuzzer's form: all fields and words of the table of fields.
std::string dictionary();

}  // namespace tilepost::fuzz
