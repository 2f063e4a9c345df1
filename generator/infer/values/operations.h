// Operations on whole numbers, as C has them.
#pragma once

#include <cstdint>

namespace tilepost::inference {

enum class Op : uint8_t {
  constant,  // Node::value is the constant
  symbol,    // Node::value is a Symbol
  choice,    // Node::value is the index of an unknown condition that the whole launch shares
  unknown,   // Node::value is the index of a Reason
  add,
  subtract,
  multiply,
  divide,
  remainder,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  less,
  equal,
  both,    // a && b, for operands that are 0 or 1; their order does not matter
  either,  // a || b, likewise
  negation,
  select,  // a ? b : c
  convert,
};

enum Symbol { thread_x, thread_y, thread_z, block_x, block_y, block_z, kSymbols };

// A C integer type. Values of unsigned 64-bit numbers are kept as their two's complement.
struct IntType {
  uint8_t bits = 64;
  bool is_signed = true;
  bool operator==(const IntType&) const = default;
};
constexpr IntType kInt64{64, true};
constexpr IntType kInt{32, true};

struct Evaluated {
  int64_t value;
  bool lost;
};

// The result of one operation on operands that have values.
Evaluated compute(Op op, IntType type, int64_t a, int64_t b);

// The least and the greatest number of a type.
int64_t least_of(IntType type);
int64_t most_of(IntType type);
inline bool fits(int64_t value, IntType type) {
  return least_of(type) <= value && value <= most_of(type);
}

// Bounds of a number. `exact`: the operation that gives the number needs neither wrapping nor an
// overflow check.
struct Range {
  int64_t least, most;
  bool exact = true;
};
Range bound_of(Op op, IntType type, Range a, Range b);

}  // namespace tilepost::inference
