// PTX of sm_90a for the CTAs of a cluster, which are mates and hand data to one another: the
// cluster's barrier in two halves, stores into a mate's shared memory, mbarriers of cluster scope.
// Also TMA loads with a policy for L2.
//
// Addresses of shared memory are 32-bit. Those of this CTA (ptx::shared_address) are addresses of
// the cluster's window too (PTX ISA, State Spaces: .shared::cta lies within .shared::cluster).
#ifndef TILEPOST_DEVICE_PTX_CLUSTER_CUH
#define TILEPOST_DEVICE_PTX_CLUSTER_CUH

#include <cuda.h>

#include <cstdint>

namespace tilepost::ptx {

// ---- The cluster's barrier (PTX ISA, barrier.cluster). Every thread of the cluster arrives, then
// waits; a warp does so as one.

// Arrives without ordering anything. That is enough for barriers that were initialised before
// fence_barrier_init (PTX ISA, membar/fence: fence.mbarrier_init, whose example this is). With
// .release every thread would begin with a GPU-wide memory barrier.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Waits until all threads of the cluster have arrived; an acquire operation.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ---- Shared memory of a mate

// The address, in CTA `rank` of the cluster, of what lies at `address` in this CTA.
__device__ __forceinline__ uint32_t remote_address(uint32_t address, uint32_t rank) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

// Starts storing sixteen bytes at `destination` and counts them on `barrier`. Both are in the
// shared memory of one CTA of the cluster. The stores are weak and in no order. Counting them on
// the barrier is a release operation of cluster scope (PTX ISA, st.async), so a thread that waits
// for the barrier's phase with wait_barrier_cluster sees them. No fence is needed, not even one
// between proxies: st.async writes in the generic proxy (PTX ISA, Async proxy: bulk copies and
// wgmma use the async proxy).
__device__ __forceinline__ void store_async(uint32_t destination, uint32_t barrier, float x,
                                            float y, float z, float w) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(destination),
      "r"(barrier), "f"(x), "f"(y), "f"(z), "f"(w)
      : "memory");
}

// Loads sixteen bytes of this CTA's shared memory.
__device__ __forceinline__ void load_shared(float (&values)[4], uint32_t source) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(source)
               : "memory");
}

// Arrives at the barrier in CTA `rank`: a release operation of cluster scope. ptxas puts a GPU-wide
// memory barrier in front of it, so it is not for a main loop, which uses arrive_remote.
__device__ __forceinline__ void arrive_remote_release(uint32_t barrier, uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   remote_address(barrier, rank))
               : "memory");
}

// As wait_barrier, but an acquire operation of cluster scope: what other CTAs released by their
// arrivals, or by counting bytes, is visible afterwards (PTX ISA, mbarrier.try_wait).
__device__ __forceinline__ void wait_barrier_cluster(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- TMA loads with a policy for L2 (PTX ISA, createpolicy, Cache Eviction Priority Hints)

// A policy under which what is loaded is the first to be evicted: for data that is used once.
__device__ __forceinline__ uint64_t policy_evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// The policy of a load without one.
__device__ __forceinline__ uint64_t policy_evict_normal() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// As load_box, under a policy.
__device__ __forceinline__ void load_box_hinted(uint32_t destination, const CUtensorMap* map,
                                                uint32_t barrier, int x, int y, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}

// ---- Fragments to shared memory

// Stores two 8 x 8 matrices of 16-bit elements, transposed. Lane l < 16 gives the address of row l
// % 8 of the transposed matrix l / 8. Of each matrix before it is transposed, lane l holds the
// elements (l / 4, 2 (l % 4)) and (l / 4, 2 (l % 4) + 1), which end up in one column.
__device__ __forceinline__ void store_matrices_transposed(uint32_t row, uint32_t m0, uint32_t m1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(m0),
               "r"(m1)
               : "memory");
}
// Stores four matrices. Every lane gives an address.
__device__ __forceinline__ void store_matrices_transposed(uint32_t row, uint32_t m0, uint32_t m1,
                                                          uint32_t m2, uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_PTX_CLUSTER_CUH
