// Reads and writes bf16 elements on the host. Tests use small integers, which bf16 holds exactly.
#pragma once

#include <cstdint>
#include <cstring>

namespace fakes::bf16 {

inline float read(const void* base, int64_t index) {
  const uint32_t bits = uint32_t{static_cast<const uint16_t*>(base)[index]} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline void write(void* base, int64_t index, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  static_cast<uint16_t*>(base)[index] = static_cast<uint16_t>(bits >> 16);
}

}  // namespace fakes::bf16
