// What the helper warps of a kernel do beside the GEMM, as the runtime hands it to them: plain C
// structures, a part of tilepost_view_t (plan.h).
#ifndef TILEPOST_TASK_LIST_H
#define TILEPOST_TASK_LIST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What helper warps do beside the GEMM (mark.cuh, helper_warp): add up what lies in `parts` places,
// in fp32 and in their order, or, with one part, move it; to one place of this rank's, and where
// that is asked for to the same place on every other rank; or to one other rank alone. Addresses
// and bytes are multiples of 16.
typedef struct tilepost_task {
  int64_t from;    // of the first part: byte in tilepost_tasks_t::in
  int64_t to;      // of the sum: byte in tilepost_tasks_t::out
  int64_t push;    // of the sum: byte in tilepost_tasks_t::there of every other rank, or of `only`;
                   // -1: nowhere
  int64_t bytes;   // of a part
  int32_t parts;   // tilepost_plan_t::task_parts, or 1
  int32_t waits;   // it begins when this counter of tilepost_tasks_t::stored has its value; -1: at
                   // once
  int32_t counts;  // which counter grows by every chunk that is done: with a push this one of every
                   // other rank's, else of tilepost_tasks_t::done
  int32_t only;  // of a push: the rank that it is for, which alone gets it, this rank neither; -1:
                 // it is for all
} tilepost_task_t;

// The tasks of one run, in the order in which they are done.
typedef struct tilepost_tasks {
  const tilepost_task_t* list;  // [count]
  int64_t stride;               // bytes from one part to the next
  int32_t row_bytes, row_gap;   // tiles are stored in rows of so many bytes with a gap behind each
                                // (tilepost_plan_t::row_gap); 0: what tasks read has no gaps
  const void* in;
  void* out;
  void* const* there;      // [ranks] where pushes go; null: there are none
  uint32_t* const* raise;  // [ranks] and the counters that they raise, this rank's `stored` there
  const uint32_t* stored;  // counters that the kernels of all ranks raise, for tiles of a group or
                           // for chunks of a push, TILEPOST_COUNTER_STRIDE apart,
  const uint32_t* expected;  // and their values when what is to come has come
  uint32_t* done;            // counters as far apart: chunks that are done; null: none
  const uint32_t* abort;     // not 0: the run was given up
  int32_t count, last;       // and from which on they are for the last group (finish_tasks)
  int32_t rank, ranks;       // of pushes
} tilepost_tasks_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_TASK_LIST_H
