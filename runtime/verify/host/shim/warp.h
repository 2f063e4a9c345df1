// Barriers, and the exchanges between the lanes of a warp (CUDA C++ Programming Guide, Warp Shuffle
// Functions, Warp Vote Functions). cpu_shim.h includes this file.
#ifndef TILEPOST_SHIM_WARP_H
#define TILEPOST_SHIM_WARP_H

inline void __syncthreads() {
  if (!tilepost::cpu::current_block->in_turn) tilepost::cpu::Fibres::current()->wait_for_block();
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  if (!tilepost::cpu::current_block->in_turn) tilepost::cpu::Fibres::current()->wait_for_warp(mask);
}

namespace tilepost::cpu {

inline unsigned lane() {
  return thread_in_block() % kWarpSize;
}

// Returns the value that lane `from` of the warp passes in.
template <class T>
T exchange(unsigned mask, const T& own, unsigned from) {
  static_assert(sizeof(T) <= sizeof(Block::Value));
  auto& values = current_block->values[thread_in_block() / kWarpSize];
  std::memcpy(values[lane()].bytes, &own, sizeof own);
  __syncwarp(mask);
  T other = own;
  const bool there = (mask >> from & 1) != 0 && !current_block->in_turn;
  if (there) std::memcpy(static_cast<void*>(&other), values[from].bytes, sizeof other);
  __syncwarp(mask);
  return other;
}

}  // namespace tilepost::cpu

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned lane = tilepost::cpu::lane(), segment = lane & ~(static_cast<unsigned>(width) - 1);
  return tilepost::cpu::exchange(
      mask, value, segment + static_cast<unsigned>(from) % static_cast<unsigned>(width));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const unsigned lane = tilepost::cpu::lane(), other = lane ^ static_cast<unsigned>(lanes);
  const bool inside = other / static_cast<unsigned>(width) <= lane / static_cast<unsigned>(width);
  return tilepost::cpu::exchange(mask, value, inside ? other : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = tilepost::cpu::lane();
  return tilepost::cpu::exchange(mask, value,
                                 lane % static_cast<unsigned>(width) >= by ? lane - by : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = tilepost::cpu::lane(), in_segment = lane % static_cast<unsigned>(width);
  return tilepost::cpu::exchange(mask, value,
                                 in_segment + by < static_cast<unsigned>(width) ? lane + by : lane);
}

inline unsigned __ballot_sync(unsigned mask, int vote) {
  unsigned votes = 0;
  for (unsigned lane = 0; lane < tilepost::cpu::kWarpSize; ++lane)
    if ((mask >> lane & 1) != 0 && tilepost::cpu::exchange(mask, vote, lane) != 0)
      votes |= 1u << lane;
  return votes;
}
inline int __any_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) != 0;
}
inline int __all_sync(unsigned mask, int vote) {
  return __ballot_sync(mask, vote) == mask;
}

#endif  // TILEPOST_SHIM_WARP_H
