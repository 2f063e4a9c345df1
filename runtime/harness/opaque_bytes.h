// Random bytes for data whose form only a kernel of the user's own knows.
#pragma once

#include <cstdint>
#include <vector>

namespace tilepost::harness {

// Random bytes that are finite numbers in every floating-point type, at even addresses. Types of 16
// bits and more have magnitudes from 2^-15 to 2, and types of 8 bits have magnitudes below 2. Read
// as integers the bytes are random, except that bit 6 of every byte is 0 and that every second byte
// has three more fixed bits.
inline std::vector<unsigned char> opaque_bytes(int64_t count, uint64_t stream) {
  std::vector<unsigned char> bytes(static_cast<size_t>(count));
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes.size(); ++i, bits >>= 8) {
    if (i % 8 == 0) {
      // The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
      bits = stream + (i / 8 + 1) * 0x9e3779b97f4a7c15u;
      bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
      bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
      bits ^= bits >> 31;
    }
    // The upper byte of a number of 16 bits has a random sign, the fixed bits 0111, and three
    // random bits.
    bytes[i] = static_cast<unsigned char>(i % 2 == 0 ? bits & 0xbf : (bits & 0x87) | 0x38);
  }
  return bytes;
}

}  // namespace tilepost::harness
