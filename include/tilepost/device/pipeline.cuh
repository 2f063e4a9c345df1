// The mbarriers at which the warps of an sm_90a kernel meet: those of the stages, which a loader
// fills and consumers multiply, and those of the panels, which consumers fill and a store thread
// empties.
//
// A kernel's barriers lie side by side, eight bytes each, from the shared-memory address `base` on.
// Each kind of barrier takes the numbers kFirst to kEnd - 1. One thread initialises them and then
// fences (ptx::fence_barrier_init).
#ifndef TILEPOST_DEVICE_PIPELINE_CUH
#define TILEPOST_DEVICE_PIPELINE_CUH

#include <cstdint>

#include "tilepost/device/mates.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"

namespace tilepost {

constexpr int kMbarrierBytes = 8;

// kCount barriers of one kind.
template <int kFirst, int kCount>
struct Barriers {
  static constexpr int kEnd = kFirst + kCount;
  uint32_t base;

  __device__ __forceinline__ uint32_t operator[](int i) const {
    return base + (kFirst + i) * kMbarrierBytes;
  }
};

// full[stage] completes when the loads of a stage have landed: it takes the loader's arrival, those
// of others that fill the stage, and the bytes that the loader expects. empty[stage] completes when
// the stage has been multiplied.
template <int kFirst, int kStages>
struct StageBarriers {
  static constexpr int kEnd = kFirst + 2 * kStages;
  uint32_t base;

  __device__ __forceinline__ uint32_t full(int stage) const {
    return base + (kFirst + stage) * kMbarrierBytes;
  }
  __device__ __forceinline__ uint32_t empty(int stage) const {
    return base + (kFirst + kStages + stage) * kMbarrierBytes;
  }
  // `readers` is the number of arrivals that empty a stage, and `copiers` that of threads that fill
  // it besides the loader (ptx::arrive_behind_copies).
  __device__ __forceinline__ void init(int readers, int copiers = 0) const {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::init_barrier(full(stage), 1 + copiers);
      ptx::init_barrier(empty(stage), readers);
    }
  }
  // The loader, before it fills the ring's next stage with `bytes` bytes. Waits until that stage
  // has been multiplied. Returns the barrier on which the loads count. In a cluster a mate's share
  // of the loads may land before this call, which is no fault: the barrier's count of bytes is
  // signed.
  __device__ __forceinline__ uint32_t await_empty(const Ring<kStages>& ring, int bytes) const {
    const uint32_t filled = full(ring.index);
    ptx::wait_barrier(empty(ring.index), ring.parity);
    ptx::arrive_expecting(filled, bytes);
    return filled;
  }
  // The loader, after its last stage: waits until the whole cluster has multiplied every stage.
  __device__ __forceinline__ void await_all_empty(Ring<kStages>& ring) const {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::wait_barrier(empty(ring.index), ring.parity);
      ring.advance();
    }
  }
  // Tells the loader of every CTA that loads something for this one that this consumer is done with
  // a stage. All threads of the consumer call; `thread` counts in its warpgroup.
  template <class Mates = Mates<1, 1>>
  __device__ __forceinline__ void release(int stage, int thread, Mates mates = {}) const {
    if constexpr (Mates::kAll > 1) {
      if (thread < Mates::kSenders) ptx::arrive_remote(empty(stage), mates.sender(thread));
    } else {
      if (thread == 0) ptx::arrive(empty(stage));
    }
  }
};

// The barriers of kBuffers panels for each of kConsumers warpgroups. full: a panel is in shared
// memory, with one arrival per warp. empty: TMA has read the panel.
template <int kFirst, int kConsumers, int kBuffers>
struct PanelBarriers {
  static constexpr int kEnd = kFirst + 2 * kConsumers * kBuffers;
  static constexpr int kWarps = 4;  // per consumer
  uint32_t base;

  __device__ __forceinline__ uint32_t full(int consumer, int buffer) const {
    return base + (kFirst + consumer * kBuffers + buffer) * kMbarrierBytes;
  }
  __device__ __forceinline__ uint32_t empty(int consumer, int buffer) const {
    return base + (kFirst + (kConsumers + consumer) * kBuffers + buffer) * kMbarrierBytes;
  }
  // All threads of a consumer, after their writes into `buffer`. Lets TMA read the buffer. `thread`
  // counts in the warpgroup.
  __device__ __forceinline__ void pass_on(int consumer, int buffer, int thread) const {
    ptx::fence_shared_to_async();
    __syncwarp();
    if (thread % 32 == 0) ptx::arrive(full(consumer, buffer));
  }
  __device__ __forceinline__ void init(int consumer) const {
    for (int buffer = 0; buffer < kBuffers; ++buffer) {
      ptx::init_barrier(full(consumer, buffer), kWarps);
      ptx::init_barrier(empty(consumer, buffer), 1);
    }
  }
};

// Used by a store thread to give buffers back to the consumer that fills them, once TMA has read
// them. The thread does not wait for the store that was committed last, but for the one before,
// which has had time to read its buffer. With a single buffer it waits for the last store, because
// the consumer needs that buffer next. With kReads the thread also gives back buffers that
// consumers have only read.
template <class PanelBarriers, int kBuffers, bool kReads = false>
struct PanelReturns {
  PanelBarriers barriers;
  int consumer;
  int previous = kReads ? -1 : 0;  // the buffer to be given back; -1: none

  // Called when the store of panel `panel` of a tile, from buffer `buffer`, has been committed.
  __device__ __forceinline__ void stored(int panel, int buffer) {
    if constexpr (kBuffers == 1) {
      ptx::wait_bulk_read<0>();
      ptx::arrive(barriers.empty(consumer, 0));
    } else if (kReads ? previous >= 0 : panel > 0) {
      ptx::wait_bulk_read<1>();
      ptx::arrive(barriers.empty(consumer, previous));
    }
    previous = buffer;
  }
  // Gives back a buffer that nothing was stored from, in a kernel that adds sources: its consumer
  // has read it. First gives back the buffer of the last store, because a consumer may wait for
  // that one next.
  __device__ __forceinline__ void read(int buffer) {
    if (kBuffers > 1 && previous >= 0) finish();
    previous = -1;
    ptx::arrive(barriers.empty(consumer, buffer));
  }
  // Called after a tile's last panel. Gives back the buffer that is left.
  __device__ __forceinline__ void finish() const {
    if constexpr (kBuffers > 1) {
      ptx::wait_bulk_read<0>();
      ptx::arrive(barriers.empty(consumer, previous));
    }
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_PIPELINE_CUH
