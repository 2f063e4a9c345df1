// How the CTAs of a cluster share a tile by ranges of K. Each CTA multiplies its own range. Every
// row of the tile is owned by one CTA. Each CTA sends its partial sums to the mates that own them,
// and the owner adds them up.
//
// Sums are owned in units of eight rows of the output, which are four registers of each thread of a
// warpgroup. kUnits units are divided among kCtas CTAs in the order of their ranks. An owner adds
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
  static constexpr int kUnitSums = 4;                              // per thread
  static constexpr int kThreadBytes = kUnitSums * 4;               // per thread, of a unit
  static constexpr int kUnitBytes = kThreadBytes * 128;            // per warpgroup, of a unit
  static constexpr int kMaxOwned = (kUnits + kCtas - 1) / kCtas;   // most units of a CTA
  static constexpr int kPartBytes = kMaxOwned * kUnitBytes;        // from one CTA to another
  static constexpr int kReceivedBytes = (kCtas - 1) * kPartBytes;  // per warpgroup

  // The first unit that the CTA of rank `rank` owns. Its last unit lies in front of the first one
  // of the next CTA.
  static __host__ __device__ constexpr int first_unit(int rank) { return rank * kUnits / kCtas; }

  // The address at which warpgroup `consumer` of CTA `owner` receives the partial sums that CTA
  // `source` has of the owner's units. The memory for all received sums begins at `base`.
  static __device__ __forceinline__ uint32_t part(uint32_t base, int consumer, int owner,
                                                  int source) {
    const int slot = consumer * (kCtas - 1) + source - (source > owner ? 1 : 0);
    return base + slot * kPartBytes;
  }

  // Sends each mate the partial sums that the mate owns, from each thread to the same thread there.
  // `received` is the barrier that counts the bytes. `received` and `base` are the same in every
  // CTA.
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

  // Adds up one unit, in the order of ranks, to `total`. `owner` is the rank of this CTA.
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

  // Reports to the cluster, at barrier `ready` of each CTA, that this warp has read the partial
  // sums that it was sent. The arrival is a release of cluster scope, behind a __syncwarp that
  // orders the other lanes' loads before it (PTX ISA, bar.warp.sync). So these loads come before
  // the stores of mates that acquire the arrival.
  static __device__ __forceinline__ void let_parts_come(uint32_t ready, int lane) {
    __syncwarp();
    if (lane < kCtas) ptx::arrive_remote_release(ready, lane);
  }
};

// The share of a CTA with rank `rank` in its cluster: the positions first, first + stride, … below
// `tiles`, and of the `stages` stages of K those from first_stage up to, but not including,
// last_stage. A CTA has at least one stage. If none is left for it, it has one behind the end of K,
// where loads give zeros.
template <int kCtas>
struct SplitWork {
  int rank;
  int first, stride, tiles;
  int first_stage, last_stage;

  __device__ SplitWork(int of_rank, int of_tiles, int stages) : rank(of_rank), tiles(of_tiles) {
    first = static_cast<int>(blockIdx.x) / kCtas;
    stride = static_cast<int>(gridDim.x) / kCtas;
    first_stage = rank * stages / kCtas;
    last_stage = (rank + 1) * stages / kCtas;
    if (first_stage == last_stage) last_stage = (first_stage = stages) + 1;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_SPLIT_K_CUH
