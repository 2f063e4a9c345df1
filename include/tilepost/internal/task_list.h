// The tasks that the runtime gives to the helper warps of a kernel: plain C structures, which are a
// part of tilepost_view_t (plan.h).
#ifndef TILEPOST_TASK_LIST_H
#define TILEPOST_TASK_LIST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One task of helper warps (mark.cuh, helper_warp). The warps add up `parts` parts, in fp32 and in
// the order of the parts, or move a single part. The result goes to one place on this rank and, if
// asked for, to one place on every other rank, the same on all. Or it goes to one other rank alone.
// Addresses and bytes are multiples of 16.
//
// A task without parts moves scales of A's blocks. Its addresses and bytes are multiples of 4.
typedef struct tilepost_task {
  int64_t from;    // where the first part begins: byte in tilepost_tasks_t::in, or of the scales
                   // that the kernel is given for the rows of A
  int64_t to;      // where the sum goes: byte in tilepost_tasks_t::out
  int64_t push;    // where the sum goes on every other rank, or on `only`: byte in
                   // tilepost_tasks_t::there; -1: nowhere
  int64_t bytes;   // of a part
  int32_t parts;   // tilepost_plan_t::task_parts, or 1; 0: the task moves scales
  int32_t waits;   // the task begins when this counter of tilepost_tasks_t::stored has reached its
                   // expected value; -1: at once
  int32_t counts;  // which counter grows by one for every chunk done: with a push on every rank
                   // that gets it, else in tilepost_tasks_t::done
  int32_t only;    // the only rank that gets a push, so that not even this rank keeps it; -1: all
                   // ranks get it
} tilepost_task_t;

// The tasks of one run, in the order in which they are done.
typedef struct tilepost_tasks {
  const tilepost_task_t* list;  // [count]
  int64_t stride;               // bytes from one part to the next
  int32_t row_bytes, row_gap;   // bytes of a row of tiles as it is stored, and of the gap behind it
                                // (tilepost_plan_t::row_gap); gap 0: what tasks read has no gaps
  const void* in;
  void* out;
  void* const* there;      // [ranks] where pushes go; null: there are no pushes
  uint32_t* const* raise;  // [ranks] the counters that pushes raise: the `stored` of that rank
  const uint32_t* stored;  // counters that the kernels of all ranks raise, for tiles of a group or
                           // chunks of a push, TILEPOST_COUNTER_STRIDE words apart
  const uint32_t* expected;  // what these counters read when all has come
  uint32_t* done;            // counters of chunks done, as far apart as `stored`; null: none
  const uint32_t* abort;     // not 0: the run was given up
  int32_t count, last;       // how many tasks; the first task of the last group (finish_tasks)
  int32_t rank, ranks;       // for pushes
} tilepost_tasks_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_TASK_LIST_H
