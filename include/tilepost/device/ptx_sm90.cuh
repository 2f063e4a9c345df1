// PTX of sm_90a: mbarriers, the tensor memory accelerator (TMA), clusters, registers per warpgroup,
// and words of shared memory. The matrix instructions are in wgmma.cuh. Addresses of shared memory
// are 32-bit (ptx::shared_address).
#ifndef TILEPOST_DEVICE_PTX_SM90_CUH
#define TILEPOST_DEVICE_PTX_SM90_CUH

#include <cuda.h>

#include <cstdint>

namespace tilepost::ptx {

// ---- mbarriers (PTX ISA, Parallel Synchronization: mbarrier)

// One thread, before any other operation on the barrier. A phase completes after `arrivals`
// arrivals and all expected bytes.
__device__ __forceinline__ void init_barrier(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes the calling thread's init_barrier visible to the cluster and to TMA; followed by
// cluster_sync or __syncthreads.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and lets the phase wait for `bytes` more bytes of TMA loads.
__device__ __forceinline__ void arrive_expecting(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Arrives at a barrier of this CTA: a release operation of CTA scope.
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives once all copies that this thread has started with copy_async are complete. It counts as
// one of the phase's arrivals, and who sees the phase complete sees what was copied (PTX ISA,
// cp.async.mbarrier.arrive; .noinc).
__device__ __forceinline__ void arrive_behind_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Arrives at the barrier at the same address in CTA `rank` of the cluster. The arrival has no
// .release.cluster, which would put a GPU-wide memory barrier into every step of the main loop
// (ptxas 13.0: MEMBAR.ALL.GPU). None is needed. The arrival hands back a stage that was only read,
// by wgmma operations that have been waited for. What is written into the stage next comes from
// TMA, and is awaited at the stage's own barrier.
__device__ __forceinline__ void arrive_remote(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Waits until the phase of the given parity has completed: an acquire operation of CTA scope. Right
// after init_barrier, parity 1 counts as completed and parity 0 does not.
__device__ __forceinline__ void wait_barrier(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- TMA (PTX ISA, cp.async.bulk.tensor and its completion)

__device__ __forceinline__ void prefetch_tensor_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Lets this CTA use a map that lies in global memory, where the host wrote it. TMA reads maps
// through a proxy of its own, which caches them, and a kernel's start orders nothing there (CUDA
// C++ Programming Guide, Tensor Memory Access: a map in global memory needs this fence in every
// block, of .sys scope where the host wrote it; PTX ISA, membar/fence: fence.proxy.tensormap).
__device__ __forceinline__ void acquire_tensor_map(const CUtensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

// Loads the map's box at (x, y) into shared memory and counts its bytes on `barrier`. Elements
// outside the tensor become zero and count too.
__device__ __forceinline__ void load_box(uint32_t destination, const CUtensorMap* map,
                                         uint32_t barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// Brings the map's box at (x, y) into L2. This may come before the memory has its final contents:
// later writes to it go to L2 too, so that nothing old is kept.
__device__ __forceinline__ void prefetch_box(const CUtensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(map), "r"(x),
               "r"(y)
               : "memory");
}

// load_box into every CTA of the cluster whose bit is set in `ranks`, at the same addresses; each
// counts the bytes on its own barrier.
__device__ __forceinline__ void load_box_multicast(uint32_t destination, const CUtensorMap* map,
                                                   uint32_t barrier, int x, int y, uint16_t ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(ranks)
      : "memory");
}

// Stores a box from shared memory at (x, y), as part of the thread's next bulk group. Elements
// outside the tensor are not written.
__device__ __forceinline__ void store_box(const CUtensorMap* map, uint32_t source, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(source), "r"(x), "r"(y)
      : "memory");
}

// Adds a box of 16-bit floating-point elements in shared memory to what is at (x, y), in the map's
// type, rounding to nearest; otherwise as store_box. Each addition is an operation of its own,
// relaxed and of .gpu scope (PTX ISA, cp.reduce.async.bulk.tensor); docs/internals/memory-model.md
// says what that means where several GPUs add.
__device__ __forceinline__ void add_box(const CUtensorMap* map, uint32_t source, int x, int y) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], "
      "[%1];" ::"l"(map),
      "r"(source), "r"(x), "r"(y)
      : "memory");
}

// Loads `bytes` consecutive bytes that are not needed again into shared memory, and counts them on
// `barrier`. Addresses and sizes are multiples of 16. The policy makes what the load leaves in L2
// the first to be evicted (PTX ISA, createpolicy and cache eviction priority hints).
__device__ __forceinline__ void load_bytes_once(uint32_t destination, const void* source,
                                                uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 once;\n"
      "createpolicy.fractional.L2::evict_first.b64 once, 1.0;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], once;\n"
      "}" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// Stores `bytes` consecutive bytes of shared memory, as part of the thread's next bulk group.
__device__ __forceinline__ void store_bytes(void* destination, uint32_t source, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination),
               "r"(source), "r"(bytes)
               : "memory");
}

// Ends the thread's current bulk group, which may be empty.
__device__ __forceinline__ void commit_bulk() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until all but the newest kPending of the thread's bulk groups have read their sources, so
// that shared memory may be reused. The writes may still be under way.
template <int kPending>
__device__ __forceinline__ void wait_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// Waits until all but the newest kPending of the thread's bulk groups are complete: the writes are
// made and visible to this thread, in the generic proxy too, since completion includes a fence from
// the async proxy (PTX ISA, Async proxy).
template <int kPending>
__device__ __forceinline__ void wait_bulk() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

// Orders what precedes in shared memory, the thread's own accesses and what it has acquired, before
// later accesses by TMA and matrix instructions. Used between writing a panel and the arrival that
// lets another thread store it, and behind a wait for what other threads have copied (PTX ISA 8.6,
// Proxies).
__device__ __forceinline__ void fence_shared_to_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Orders what the thread has observed of global memory before later accesses by TMA. Used between
// acquiring a counter and accessing what the counter guards (PTX ISA 8.6, Proxies).
__device__ __forceinline__ void fence_global_to_async() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

// ---- Clusters and launch

// This CTA's rank in its cluster.
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A barrier of all threads of the cluster that orders their memory accesses.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// Waits for the kernels that this one depends on, if it was launched to overlap their end
// (programmatic dependent launch); otherwise does nothing. A thread calls it before its first
// access to memory that those kernels use.
__device__ __forceinline__ void wait_for_previous_kernels() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets the next kernels start as CTAs of this one leave, once every CTA has called this or has left
// (PTX ISA, griddepcontrol). These are kernels that were launched to overlap this one's end. They
// wait for the end of this one in their own wait_for_previous_kernels.
__device__ __forceinline__ void allow_next_kernels() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// ---- Sixteen bytes in one access (PTX ISA 8.2.1, Scalar Data-types: .b128 is a scalar, where .v4
// is four that have no order)

// A thread of another GPU finds all of the sixteen bytes, or none of them.
__device__ __forceinline__ void store_line_sys(void* destination, uint4 line) {
  const uint64_t low = line.x | static_cast<uint64_t>(line.y) << 32,
                 high = line.z | static_cast<uint64_t>(line.w) << 32;
  asm volatile(
      "{\n"
      ".reg .b128 line;\n"
      "mov.b128 line, {%1, %2};\n"
      "st.relaxed.sys.global.b128 [%0], line;\n"
      "}" ::"l"(destination),
      "l"(low), "l"(high)
      : "memory");
}
__device__ __forceinline__ uint4 load_line_sys(const void* source) {
  uint64_t low, high;
  asm volatile(
      "{\n"
      ".reg .b128 line;\n"
      "ld.relaxed.sys.global.b128 line, [%2];\n"
      "mov.b128 {%0, %1}, line;\n"
      "}"
      : "=l"(low), "=l"(high)
      : "l"(source)
      : "memory");
  return {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
          static_cast<uint32_t>(high >> 32)};
}

// ---- A word of shared memory by which one thread of the CTA tells others something

// A release and an acquire operation of CTA scope (PTX ISA 8.8, Release and Acquire Patterns).
__device__ __forceinline__ void store_release_shared(uint32_t destination, uint32_t word) {
  asm volatile("st.release.cta.shared::cta.u32 [%0], %1;" ::"r"(destination), "r"(word) : "memory");
}
__device__ __forceinline__ uint32_t load_acquire_shared(uint32_t source) {
  uint32_t word;
  asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];" : "=r"(word) : "r"(source) : "memory");
  return word;
}

// ---- Registers (PTX ISA, setmaxnreg): all four warps of a warpgroup

// Gives registers back. Each thread keeps kRegisters.
template <int kRegisters>
__device__ __forceinline__ void shrink_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Takes registers, so that each thread has kRegisters. Waits until the CTA has enough of them free.
template <int kRegisters>
__device__ __forceinline__ void grow_registers() {
  static_assert(kRegisters >= 24 && kRegisters <= 256 && kRegisters % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- Fragments to shared memory

// Stores four 8 x 8 matrices of 16-bit elements. Lane l gives the address of one row: of matrix l /
// 8 the row l % 8. Of each matrix it holds two elements of row l / 4, those from 2 (l % 4) on.
__device__ __forceinline__ void store_matrices(uint32_t row, uint32_t m0, uint32_t m1, uint32_t m2,
                                               uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(m0), "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}
// Stores two matrices. The addresses are those of lanes 0 to 15.
__device__ __forceinline__ void store_matrices(uint32_t row, uint32_t m0, uint32_t m1) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(m0),
               "r"(m1)
               : "memory");
}

// Access to a word, to two floats, or to sixteen bytes, of shared memory. Adding returns what was
// there.
__device__ __forceinline__ void store_shared_word(uint32_t destination, uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(destination), "r"(word) : "memory");
}
__device__ __forceinline__ void store_shared_half(uint32_t destination, uint16_t half) {
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(destination), "h"(half) : "memory");
}
__device__ __forceinline__ uint32_t add_shared_word(uint32_t destination, uint32_t word) {
  uint32_t before;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "r"(destination), "r"(word)
               : "memory");
  return before;
}
__device__ __forceinline__ uint32_t load_shared_word(uint32_t source) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(source) : "memory");
  return word;
}
__device__ __forceinline__ float2 load_shared_floats(uint32_t source) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(source)
               : "memory");
  return pair;
}
__device__ __forceinline__ uint4 load_shared_quad(uint32_t source) {
  uint4 quad;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(quad.x), "=r"(quad.y), "=r"(quad.z), "=r"(quad.w)
               : "r"(source)
               : "memory");
  return quad;
}

__device__ __forceinline__ void store_shared_quad(uint32_t destination, uint4 quad) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(destination), "r"(quad.x),
               "r"(quad.y), "r"(quad.z), "r"(quad.w)
               : "memory");
}

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_PTX_SM90_CUH
