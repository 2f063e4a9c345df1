// PTX that every architecture since sm_80 has: addresses, counters between kernels, clocks,
// barriers of a CTA.
//
// These wrappers and their neighbours ptx_sm80.cuh, ptx_sm90.cuh, ptx_cluster.cuh and wgmma.cuh,
// and the conversions in element.cuh, are the only inline PTX of tilepost. Each function is one
// instruction, named for what it does. Where it takes part in ordering memory, the comment names
// the rule of the PTX ISA that it relies on. docs/internals/memory-model.md puts the rules
// together.
#ifndef TILEPOST_DEVICE_PTX_CUH
#define TILEPOST_DEVICE_PTX_CUH

#include <cstdint>

namespace tilepost::ptx {

// The 32-bit shared-memory address of `pointer`, as the instructions of this folder take it.
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// The inverse: the generic pointer to a 32-bit shared-memory address.
__device__ __forceinline__ void* shared_pointer(uint32_t address) {
  return __cvta_shared_to_generic(address);
}

// Adds `value` to a counter that other kernels, copy engines and other GPUs wait for. A release
// operation of system scope (PTX ISA 8.8, Release and Acquire Patterns): what this thread has
// stored or observed before is visible to a thread that acquires the new value (8.9.5, Causality
// Order).
//
// .sys, not .gpu: NCCL's kernels run in another memory synchronization domain, and ordering between
// domains needs system scope even on one GPU (CUDA C++ Programming Guide, Memory Synchronization
// Domains).
__device__ __forceinline__ void red_release_sys(uint32_t* counter, uint32_t value) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

// Subtracts one from a number in shared memory, acquiring and releasing within the block. Returns
// what the number was.
__device__ __forceinline__ uint32_t decrement_shared(uint32_t* number) {
  uint32_t before;
  asm volatile("atom.acq_rel.cta.shared.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "r"(shared_address(number)), "r"(0xffffffffu)
               : "memory");
  return before;
}

// Adds to a counter without ordering anything: for counters that only show how far a kernel has
// come.
__device__ __forceinline__ void red_relaxed_sys(uint32_t* counter, uint32_t value) {
  asm volatile("red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

// Raises a word of this GPU's to `value`, unless it is greater already. Orders nothing.
__device__ __forceinline__ void red_max_relaxed(uint64_t* word, uint64_t value) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// Stores a counter's value, releasing as red_release_sys does: for counters with one writer.
__device__ __forceinline__ void store_release_sys(uint32_t* counter, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

// The same for a word of 64 bits, aligned to eight bytes.
__device__ __forceinline__ void store_release_sys(uint64_t* word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// Orders what this thread has stored or observed before it ahead of the thread's stores behind it.
// With each relaxed store behind it the fence is a release, so that one fence serves all of these
// stores. With each relaxed load in front of it the fence is an acquire (PTX ISA 8.8, Release and
// Acquire Patterns). __threadfence_system() is a fence.sc, which waits for more than that needs.
__device__ __forceinline__ void fence_sys() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// Reads a counter without ordering anything: for polling.
__device__ __forceinline__ uint32_t load_relaxed_sys(const uint32_t* counter) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// Reads a counter as an acquire operation: everything released by the additions whose result it
// reads, and by earlier ones of the same chain, is visible afterwards. Read-modify-writes continue
// the chain (PTX ISA 8.9.4, Memory synchronization; 8.9.2, Observation Order), so one load that
// sees the target has acquired every tile of a group.
__device__ __forceinline__ uint32_t load_acquire_sys(const uint32_t* counter) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// The same for a word of 64 bits, aligned to eight bytes.
__device__ __forceinline__ uint64_t load_acquire_sys(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

// Asks for a line of memory to be brought into L2, and does not wait for it.
__device__ __forceinline__ void prefetch_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// Loads sixteen bytes that no thread writes while the kernel runs (ld.global.nc), in one load.
// `source` is aligned to sixteen bytes.
struct Quad {
  int x, y, z, w;
};
__device__ __forceinline__ Quad load_readonly(const void* source) {
  Quad quad;
  asm volatile("ld.global.nc.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(quad.x), "=r"(quad.y), "=r"(quad.z), "=r"(quad.w)
               : "l"(source));
  return quad;
}

// Nanoseconds since an arbitrary start, the same on all SMs; ticks in steps of up to 1 us.
__device__ __forceinline__ uint64_t global_time_ns() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

// The SM's clock, in cycles modulo 2^32.
__device__ __forceinline__ uint32_t clock_cycles() {
  uint32_t cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}

// Suspends the thread for somewhere between 0 and twice `ns` nanoseconds; at most 1 ms.
__device__ __forceinline__ void sleep_ns(uint32_t ns) {
  asm volatile("nanosleep.u32 %0;" ::"r"(ns) : "memory");
}

// Waits at a barrier for `threads` threads of the CTA, which are whole warps. The barrier's number
// is 1 to 15; 0 is that of __syncthreads. Orders the threads' memory accesses as __syncthreads does
// (PTX ISA, barrier).
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Arrives at a barrier of sync_threads and goes on. Threads that sync there see what the calling
// warp has done before.
__device__ __forceinline__ void arrive_threads(int barrier, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// As sync_threads. Returns whether `says` is true in any of the threads.
__device__ __forceinline__ bool sync_threads_any(int barrier, int threads, bool says) {
  uint32_t any;
  asm volatile(
      "{\n"
      ".reg .pred says, any;\n"
      "setp.ne.u32 says, %3, 0;\n"
      "barrier.red.or.pred any, %1, %2, says;\n"
      "selp.u32 %0, 1, 0, any;\n"
      "}"
      : "=r"(any)
      : "r"(barrier), "r"(threads), "r"(static_cast<uint32_t>(says))
      : "memory");
  return any != 0;
}

}  // namespace tilepost::ptx

#endif  // TILEPOST_DEVICE_PTX_CUH
