#include "generator/infer/values/operations.h"

#include <algorithm>
#include <limits>

namespace tilepost::inference {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// `value` modulo 2^bits, as a number of that type.
int64_t wrap(uint64_t value, IntType type) {
  if (type.bits == 64) return static_cast<int64_t>(value);
  const uint64_t mask = (uint64_t{1} << type.bits) - 1;
  value &= mask;
  if (type.is_signed && value >> (type.bits - 1)) value |= ~mask;
  return static_cast<int64_t>(value);
}

// Whether the operation interprets the two's complement, as comparisons and divisions do.
bool reads_sign(Op op) {
  return op == Op::less || op == Op::divide || op == Op::remainder || op == Op::shift_right;
}

__int128 in_full(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::add:
      return static_cast<__int128>(a) + b;
    case Op::subtract:
      return static_cast<__int128>(a) - b;
    case Op::multiply:
      return static_cast<__int128>(a) * b;
    default:
      return static_cast<__int128>(a) << b;
  }
}

Evaluated fitted(__int128 value, IntType type) {
  if (!type.is_signed) return {wrap(static_cast<uint64_t>(value), type), false};
  if (value < least_of(type) || value > most_of(type)) return {0, true};
  return {static_cast<int64_t>(value), false};
}

}  // namespace

int64_t least_of(IntType type) {
  return type.bits == 64 ? kLeast : type.is_signed ? -(int64_t{1} << (type.bits - 1)) : 0;
}

int64_t most_of(IntType type) {
  return type.bits == 64 ? kMost : (int64_t{1} << (type.bits - type.is_signed)) - 1;
}

Evaluated compute(Op op, IntType type, int64_t a, int64_t b) {
  const bool huge = !type.is_signed && type.bits == 64 && (a < 0 || b < 0);
  if (huge && reads_sign(op)) return {0, true};
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return fitted(in_full(op, a, b), type);
    case Op::divide:
    case Op::remainder:
      if (b == 0 || (b == -1 && a == least_of(type))) return {0, true};
      return {op == Op::divide ? a / b : a % b, false};
    case Op::bit_and:
      return {a & b, false};
    case Op::bit_or:
      return {a | b, false};
    case Op::bit_xor:
      return {a ^ b, false};
    case Op::shift_left:
      if (b < 0 || b >= type.bits) return {0, true};
      return fitted(in_full(op, a, b), type);
    case Op::shift_right:
      if (b < 0 || b >= type.bits) return {0, true};
      return {a >> b, false};
    case Op::less:
      return {a < b, false};
    case Op::equal:
      return {a == b, false};
    case Op::both:
      return {a && b, false};
    case Op::either:
      return {a || b, false};
    case Op::negation:
      return {!a, false};
    case Op::convert:
      return {wrap(static_cast<uint64_t>(a), type), false};
    default:
      return {0, true};
  }
}

Range bound_of(Op op, IntType type, Range a, Range b) {
  Range node{least_of(type), most_of(type), false};
  const bool natural = type.is_signed || type.bits < 64 || (a.least >= 0 && b.least >= 0);
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply: {
      const int64_t left[] = {a.least, a.most};
      const int64_t right[] = {b.least, b.most};
      __int128 low = in_full(op, left[0], right[0]);
      __int128 high = low;
      for (const int64_t x : left) {
        for (const int64_t y : right) {
          low = std::min(low, in_full(op, x, y));
          high = std::max(high, in_full(op, x, y));
        }
      }
      if (low >= node.least && high <= node.most) {
        node.least = static_cast<int64_t>(low);
        node.most = static_cast<int64_t>(high);
        node.exact = true;
      }
      break;
    }
    case Op::divide:
      node.exact = natural && b.least > 0;
      if (node.exact && a.least >= 0) {
        node.least = a.least / b.most;
        node.most = a.most / b.least;
      }
      break;
    case Op::remainder:
      node.exact = natural && b.least > 0;
      if (node.exact) {
        node.least = a.least >= 0 ? 0 : -(b.most - 1);
        node.most = a.least >= 0 ? std::min(a.most, b.most - 1) : b.most - 1;
      }
      break;
    case Op::bit_and:
      node.exact = true;
      if (a.least >= 0 || b.least >= 0) {
        node.least = 0;
        node.most = a.least < 0 ? b.most : b.least < 0 ? a.most : std::min(a.most, b.most);
      }
      break;
    case Op::bit_or:
    case Op::bit_xor:
      node.exact = true;
      if (a.least >= 0 && b.least >= 0) {
        uint64_t mask = static_cast<uint64_t>(a.most | b.most);
        for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
        node.least = 0;
        node.most = static_cast<int64_t>(mask);
      }
      break;
    case Op::shift_left:
      if (b.least >= 0 && b.most < type.bits && a.least >= 0 &&
          in_full(op, a.most, b.most) <= node.most) {
        node.least = a.least << b.least;
        node.most = a.most << b.most;
        node.exact = true;
      }
      break;
    case Op::shift_right:
      node.exact = natural && b.least >= 0 && b.most < type.bits;
      if (node.exact && a.least >= 0) {
        node.least = a.least >> b.most;
        node.most = a.most >> b.least;
      }
      break;
    case Op::convert:
      node.exact = fits(a.least, type) && fits(a.most, type);
      if (node.exact) {
        node.least = a.least;
        node.most = a.most;
      }
      break;
    default:  // the results are 0 or 1
      node.exact = op != Op::less || natural;
      node.least = 0;
      node.most = 1;
      break;
  }
  return node;
}

}  // namespace tilepost::inference
