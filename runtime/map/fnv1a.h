// FNV-1a in 64 bits (Fowler, Noll, Vo: draft-eastlake-fnv). By this hash ranks check that they hold
// the same plan and the same tiles. Generated programs contain hashes, so the function must not
// change.
#ifndef TILEPOST_FNV1A_H
#define TILEPOST_FNV1A_H

#include <cstdint>

namespace tilepost {

class Fnv1a {
 public:
  // Adds the bytes of `value`, the lowest first, on every machine.
  void mix(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= (value >> (8 * byte)) & 0xff;
      hash_ *= 0x100000001b3u;
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace tilepost

#endif  // TILEPOST_FNV1A_H
