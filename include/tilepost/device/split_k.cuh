// The CTAs of a cluster that share a tile's products: each sums a range of K, then sends of its
// partial sums to every mate what that one owns, which adds them up.
//
// Sums are owned in units of eight rows of the output, four registers of each thread of a
// warpgroup. kUnits units are divided among kCtas CTAs in the order of their ranks. The owner adds
// in that order too, so that the result is always the same.
#ifndef TILEPOST_DEVICE_SPLIT_K_CUH
#define TILEPOST_DEVICE_SPLIT_K_CUH

#include <cstdint>

#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_cluster.cuh"
#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost {

template <int kUnits, int kCtas>
struct SplitK {
  static constexpr int kUnitRows = 8;
  static constexpr int kUnitSums = 4;                              // of a thread
  static constexpr int kThreadBytes = kUnitSums * 4;               // of a unit
  static constexpr int kUnitBytes = kThreadBytes * 128;            // as the threads hold them
  static constexpr int kMaxOwned = (kUnits + kCtas - 1) / kCtas;   // units of one CTA
  static constexpr int kPartBytes = kMaxOwned * kUnitBytes;        // that one CTA sends another
  static constexpr int kReceivedBytes = (kCtas - 1) * kPartBytes;  // of a warpgroup

  // The first unit that the CTA of rank `rank` owns; the next one's first is behind its last.
  static __host__ __device__ constexpr int first_unit(int rank) { return rank * kUnits / kCtas; }

  // Where, from `base` on, warpgroup `consumer` of an owner receives what rank `source` has summed
  // of its units.
  static __device__ __forceinline__ uint32_t part(uint32_t base, int consumer, int owner,
                                                  int source) {
    const int slot = consumer * (kCtas - 1) + source - (source > owner ? 1 : 0);
    return base + slot * kPartBytes;
  }

  // Sends the partial sums of what the mates own to the same thread there. `received`
  // is the barrier that counts the bytes: it and `base` are the same in every CTA.
  static __device__ __forceinline__ void send(uint32_t base, uint32_t received,
                                              const float (&sums)[kUnits * kUnitSums], int rank,
                                              int consumer, int thread) {
#pragma unroll
    for (int owner = 0; owner < kCtas; ++owner) {
      if (owner == rank) continue;
      const uint32_t target =
          ptx::remote_address(part(base, consumer, owner, rank) + thread * kThreadBytes, owner);
      const uint32_t barrier = ptx::remote_address(received, owner);
#pragma unroll
      for (int unit = first_unit(owner); unit < first_unit(owner + 1); ++unit) {
        const float* s = &sums[unit * kUnitSums];
        ptx::store_async(target + (unit - first_unit(owner)) * kUnitBytes, barrier, s[0], s[1],
                         s[2], s[3]);
      }
    }
  }

  // Waits until the mates' partial sums have come. All threads of the warpgroup call.
  static __device__ __forceinline__ void receive(uint32_t received, uint32_t parity, int rank,
                                                 int thread) {
    const int owned = first_unit(rank + 1) - first_unit(rank);
    if (thread == 0) ptx::arrive_expecting(received, owned * (kCtas - 1) * kUnitBytes);
    ptx::wait_barrier_cluster(received, parity);
  }

  // Adds up one unit, in the order of ranks, of which `owner` is this CTA's.
  static __device__ __forceinline__ void add(uint32_t base, const float (&sums)[kUnits * kUnitSums],
                                             float (&total)[kUnitSums], int owner, int unit,
                                             int consumer, int thread) {
#pragma unroll
    for (int source = 0; source < kCtas; ++source) {
      float summed[kUnitSums];
      if (source == owner) {
#pragma unroll
        for (int i = 0; i < kUnitSums; ++i) summed[i] = sums[unit * kUnitSums + i];
      } else {
        ptx::load_shared(summed, part(base, consumer, owner, source) +
                                     (unit - first_unit(owner)) * kUnitBytes +
                                     thread * kThreadBytes);
      }
#pragma unroll
      for (int i = 0; i < kUnitSums; ++i) total[i] = source == 0 ? summed[i] : total[i] + summed[i];
    }
  }

  // Tells the cluster, at barrier `ready` of each CTA, that this warp has read the partial sums it
  // was sent: a release of cluster scope, after __syncwarp has ordered the other lanes' loads (PTX
  // ISA, bar.warp.sync), so that they come before the stores of the mates that acquire it.
  static __device__ __forceinline__ void let_parts_come(uint32_t ready, int lane) {
    __syncwarp();
    if (lane < kCtas) ptx::arrive_remote_release(ready, lane);
  }
};

// What of the problem is a CTA's, of rank `rank` in its cluster: the positions first, first +
// stride, … below tiles, and of the `stages` of K those from first_stage to last_stage: at least
// one, if only one behind K's end, all zeros.
template <int kCtas>
struct SplitWork {
  int rank;
  int first, stride, tiles;
  int first_stage, last_stage;

  __device__ SplitWork(int rank, int tiles, int stages) : rank(rank), tiles(tiles) {
    first = static_cast<int>(blockIdx.x) / kCtas;
    stride = static_cast<int>(gridDim.x) / kCtas;
    first_stage = rank * stages / kCtas;
    last_stage = (rank + 1) * stages / kCtas;
    if (first_stage == last_stage) last_stage = (first_stage = stages) + 1;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_SPLIT_K_CUH
