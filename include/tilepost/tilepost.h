// The runtime's C interface.
//
// Every call returns a result; the text of the last failure on the calling thread is
// tilepost_last_error(). No call prints, throws, aborts or exits. One process per GPU and one
// process with a thread per GPU both work; a tilepost_comm_t and its operations belong to one rank
// and are used by one thread at a time.
#ifndef TILEPOST_TILEPOST_H
#define TILEPOST_TILEPOST_H

#include <stddef.h>

#include "tilepost/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;  // cudaStream_t
struct ncclComm;     // ncclComm_t

typedef enum tilepost_result {
  TILEPOST_OK = 0,
  TILEPOST_IN_PROGRESS = 1,       // status only: a run has not finished yet
  TILEPOST_INVALID_ARGUMENT = 2,  // null or misaligned pointer, wrong stream, wrong size
  TILEPOST_UNSUPPORTED = 3,       // this device, driver or plan cannot serve it
  TILEPOST_OUT_OF_MEMORY = 4,
  TILEPOST_CUDA_ERROR = 5,
  TILEPOST_NCCL_ERROR = 6,
  TILEPOST_TIMEOUT = 7,  // a deadline passed; the communicator was aborted
  TILEPOST_ABORTED = 8,  // the communicator was aborted earlier; make a new one
  TILEPOST_INTERNAL_ERROR = 9,
} tilepost_result_t;

// The name of a result, "TILEPOST_TIMEOUT" say. Never null.
const char* tilepost_result_name(tilepost_result_t result);

// What went wrong in the last call on this thread that did not return TILEPOST_OK, with values and
// bounds. Valid until this thread's next call. Never null.
const char* tilepost_last_error(void);

typedef struct tilepost_comm* tilepost_comm_t;
typedef struct tilepost_op* tilepost_op_t;

// ---- Communicators
// ---------------------------------------------------------------------------------

// Enough bytes for an ncclUniqueId.
typedef struct tilepost_unique_id {
  char bytes[128];
} tilepost_unique_id_t;

// For rank 0, which sends it to the others by any means (MPI_Bcast, a file, a store).
tilepost_result_t tilepost_get_unique_id(tilepost_unique_id_t* id);

// A communicator of `world` ranks on the current device. Collective: returns when all ranks have
// called.
tilepost_result_t tilepost_comm_init(const tilepost_unique_id_t* id, int rank, int world,
                                     tilepost_comm_t* comm);

// Uses the caller's communicator on the current device. tilepost splits communicators of its own
// from it, with the CTA budget of each plan, and never issues a collective on the caller's.
// Collective: every rank of `nccl` calls it. The caller keeps ownership and destroys it after
// tilepost's.
tilepost_result_t tilepost_comm_adopt(struct ncclComm* nccl, tilepost_comm_t* comm);

// The host target: `world` ranks in this process, comms[rank] for each. 1 <= world <= 64.
tilepost_result_t tilepost_comm_create_host(int world, tilepost_comm_t* comms);

// TILEPOST_INVALID_ARGUMENT, and nothing is destroyed, while it has operations. Null is allowed.
tilepost_result_t tilepost_comm_destroy(tilepost_comm_t comm);

// ---- Operations
// ------------------------------------------------------------------------------------

typedef struct tilepost_options {
  size_t struct_size;       // sizeof(tilepost_options_t): lets the structure grow
  double deadline_seconds;  // for every wait of a run; 0 = no deadline
  int host_workers;         // host target: threads per rank that compute tiles; 0 = 2
  int share_memory;  // 1: runs of this operation never overlap runs of the communicator's other
                     // operations made so, and may use the same memory that ranks touch. The same
                     // on all ranks; 0 = memory of its own, as on the host target in any case
  int64_t schedule_bytes;  // any m: bytes of schedules that are kept besides that of the plan's m,
                           // 1 to 2^40; the one used longest ago makes room; 0 = 64 MiB
} tilepost_options_t;

// struct_size set, a deadline of 60 s.
tilepost_options_t tilepost_default_options(void);

// Allocates all that runs need, loads every kernel, makes the NCCL communicator of the plan and
// warms it up. Collective: every rank calls it, in the same order. `options` may be null. The
// program must outlive the operation. Pattern gemm communicates nothing: its operations are made
// and run by each rank alone, on a communicator of any size.
//
// Neighbours: some GEMMs hold their SMs until other ranks have come (docs/transports.md, Order of
// runs). Runs of one communicator take turns for them. Collectives of other communicators, NCCL's
// or yours, the runtime does not see: beside one that is issued in another order on another rank,
// such a run ends with TILEPOST_TIMEOUT. Order the two by events on all ranks alike, or plan with
// `neighbours: true`, for which no GEMM waits for other ranks.
tilepost_result_t tilepost_op_create(tilepost_comm_t comm, const tilepost_program_t* program,
                                     const tilepost_options_t* options, tilepost_op_t* op);

// Starts one run. Asynchronous in `stream`, allocates nothing after the first run with its number
// of rows, may be captured into a CUDA graph. Per pattern, with m rows in all, and a rank's share
// of them ceil(m / ranks) consecutive rows, the last ranks what is left:
//
//   gemm                  a [m, k]                    out [m, n]: this rank's own product
//   gemm_all_reduce       a [m, k]                    out [m, n]: the sum over ranks
//   gemm_reduce_scatter   a [m, k]                    out [share, n]: this rank's rows of the sum
//   gemm_all_to_all       a [m, k]                    out [rows, n]: the rows for this rank, by
//                                                     source rank and then by source row
//   all_gather_gemm       a [share, k], this rank's   out [m, n]: all ranks' rows times b
//   all_to_all_gemm       a [m, k], this rank's       out [rows, n]: the rows for this rank, in
//                                                     the same order, times b
//
// b is [n, k] (layout tn) or [k, n] (nn). Everything is row-major; where the plan keeps the tile
// layout, out has tilepost_op_info's out_elements in the order docs/runtime.md describes. Pointers
// are device pointers, 16-byte aligned, of the communicator's device; `stream` is a stream of that
// device. No pointer is null, also on a rank that has no rows. On the host target pointers are host
// pointers, aligned alike, and `stream` is null. Collective: every
// rank calls it, in the same order. Not between the caller's ncclGroupStart and ncclGroupEnd: NCCL
// would start the run's collectives behind what says that it has ended. For plans that need nothing
// else; the others take tilepost_op_run_with.
tilepost_result_t tilepost_op_run(tilepost_op_t op, const void* a, const void* b, void* out,
                                  struct CUstream_st* stream);

// What a run reads and writes. Of the epilogue's operands (plan.h: tilepost_epilogue_t) those that
// the plan's epilogue names must be there, and the others are not looked at; so with the
// consumer's. Where ranks are summed the bias is rank 0's, and that of other ranks is not looked
// at. bias, residual, norm_weight, norm_residual and gathered are 16-byte aligned, scales 4-byte
// aligned, memory as for a and b.
typedef struct tilepost_run_operands {
  size_t struct_size;  // sizeof(tilepost_run_operands_t): lets the structure grow
  const void* a;
  const void* b;
  void* out;
  const float* scale_a;
  const float* scale_b;
  const void* bias;
  const void* residual;
  int64_t m;       // rows of this run, 1 to the plan's m, the same on all ranks; 0: the plan's.
                   // Another than the plan's needs a plan for any m. Routed: as routed
  void* gathered;  // all_gather_gemm: [m, k], gets all ranks' a; null: kept by the operation.
                   // a may be this rank's rows in it already. all_to_all_gemm: [rows, k], gets the
                   // rows for this rank
  const void* norm_weight;  // [n], of the output's type: consumers rms_norm, residual_rms_norm
  void* norm_residual;  // [rows, n] of out's rows, of the output's type: residual_rms_norm adds it
                        // to the product's rows and keeps the sum here
  float norm_epsilon;   // added to the mean of the squares
  void* user;           // where the plan's kernel has user data (kernel.num_user): points to their
                        // addresses, in order, 16-byte aligned memory as for a and b. Else handed
                        // to the launcher of a kernel of your own as it is. What it points to is
                        // read during this call. A structure without this member is taken too
} tilepost_run_operands_t;

// tilepost_op_run with more operands. They must stay as they are until the run has ended.
tilepost_result_t tilepost_op_run_with(tilepost_op_t op, const tilepost_run_operands_t* operands,
                                       struct CUstream_st* stream);

// Where the rows of the following runs go: gemm_all_to_all and all_to_all_gemm with routing splits
// or rows. With the latter a route by which any rank would receive more than the plan's map.m rows
// is an invalid argument on all ranks, and then no route is set.
typedef struct tilepost_route {
  size_t struct_size;     // sizeof(tilepost_route_t)
  int64_t m;              // this rank's rows, 0 to the plan's m; -1: the plan's. Ranks may
                          // differ. Another than the plan's needs a plan for any m
  const int64_t* splits;  // [ranks] routing splits: how many consecutive rows go to each rank;
                          // they sum to m
  const int32_t* destinations;  // [m] routing rows: the rank of each row
} tilepost_route_t;

// What a route means for this rank. The arrays are host memory and live until the next route.
typedef struct tilepost_arrivals {
  size_t struct_size;        // sizeof(tilepost_arrivals_t)
  int64_t rows;              // of out: what all ranks send here
  const int64_t* rows_from;  // [ranks] how many of them come from each rank, in this order
  const int64_t* landed;     // [m] for each row of this rank the row of its destination's out
} tilepost_arrivals_t;

// Sets the route of the runs that follow. Collective: ranks exchange how many rows they send each
// other. Waits for the runs so far and for the other ranks, within the deadline; not while a stream
// is being captured. Captured runs are replayed with the route they were captured with, and must
// not be replayed after another one was set. `arrivals` may be null.
tilepost_result_t tilepost_op_route(tilepost_op_t op, const tilepost_route_t* route,
                                    tilepost_arrivals_t* arrivals);

// Lets the other ranks store results straight into memory of the caller's: a run whose out is the
// begin of a registered buffer gets them there without a copy, as in tilepost_op_info_t::out. The
// memory stays an ordinary output: it may be read and written wherever it could be before, and it
// is whole when the run ends. Once per buffer; it holds for all runs until it is unregistered or
// the operation is destroyed.
//
// Collective: every rank calls it, in the same order, with a buffer of its own and the same number
// of bytes; `bytes` bounds the outputs that may go there. In a run all ranks pass the buffer of the
// same registration as out, or none does: a rank that passes another one is an error on all ranks,
// which names it. An out inside of a registered buffer, or larger than it, is
// TILEPOST_INVALID_ARGUMENT. Any other out is treated as ever.
//
// TILEPOST_UNSUPPORTED where nothing would be gained: ranks store in each other's outputs in runs
// of gemm_all_reduce with transport peer, helper warps and no consumer (on the host target, where
// the plan says so), those whose tilepost_op_info_t::out is not null. Then pass the buffer as out
// without registering it. TILEPOST_UNSUPPORTED too for memory that other ranks cannot be given:
// `buffer` is device memory of cudaMalloc, 16-byte aligned; memory of pools (cudaMallocAsync), of
// cuMemCreate (expandable segments) and managed memory are refused. What one rank alone passes
// wrongly is an error on all. So is a buffer beyond the 256th that an operation has at a time:
// TILEPOST_UNSUPPORTED. Waits for the runs so far and for the other ranks, within the deadline; not
// while a run of the operation is being captured, on whichever stream.
//
// The memory must not be freed before it is unregistered, nor, where the operation is destroyed
// without that or has failed, before all ranks have destroyed it: other processes have it open
// until then, all of the allocation that it is part of.
//
// Registering and unregistering allocate and free nothing on the device. Between ranks of one
// process the first registration enables peer access between their devices: it may wait for all
// that is there, so no work there may need this rank to go on, but for runs of the communicator.
// Peer access stays on, and cudaMalloc and cudaFree, and so create and destroy, may from then on
// wait for kernels of all these devices. Such ranks call them while none of them has a run in
// flight or registers, and meet before one does.
tilepost_result_t tilepost_op_register(tilepost_op_t op, void* buffer, int64_t bytes);

// Undoes it, for what begins at `buffer`. Collective likewise; when it returns no rank has the
// memory open. Destroy graphs before that were captured with the buffer as out.
tilepost_result_t tilepost_op_unregister(tilepost_op_t op, const void* buffer);

// TILEPOST_OK when all runs so far have finished, TILEPOST_IN_PROGRESS, or the error that ended
// one.
tilepost_result_t tilepost_op_status(tilepost_op_t op);

// Waits for all runs so far; ends within the deadline.
tilepost_result_t tilepost_op_synchronize(tilepost_op_t op);

typedef struct tilepost_op_info {
  const tilepost_plan_t* plan;  // the plan chosen for this device
  int32_t rank;
  int64_t out_elements;  // elements of out that a run with the plan's m writes on this rank;
                         // routed: with the route set last
  int64_t device_bytes;  // what the operation allocated: tables, counters, staging; of memory
                         // that operations share, what was allocated for this one
  const int32_t* rows;   // tile layout kept by gemm and gemm_all_reduce: for tile m * tiles_n + n,
                        // the destination row (device memory; host memory on the host target); null
                        // otherwise
  void* out;  // gemm_all_reduce whose ranks push their sums, without a consumer: memory of the
              // operation, [m, n], into which the other ranks store. A run that is given it as its
              // out gets the sums there without a copy. The next run overwrites it, whatever that
              // run's out, so none of a run's other operands may lie in it; nor of a run of any
              // operation that shares this memory, which overwrites it too. Null otherwise
} tilepost_op_info_t;

tilepost_result_t tilepost_op_get_info(tilepost_op_t op, tilepost_op_info_t* info);

// What is not as planned but no error, one line each: NCCL_* variables that override the plan's
// communication budget, a GPU of another size than the plan's. Empty when there is nothing to say,
// or when op is null. Valid as long as the operation. Never null.
const char* tilepost_op_warnings(tilepost_op_t op);

// Waits for its runs (within the deadline) and frees everything. Null is allowed.
tilepost_result_t tilepost_op_destroy(tilepost_op_t op);

// Bytes of device and pinned host memory that operations of this process have left to it: after a
// failure the device may still use them, and another process may not have unmapped what it shares.
// The latter are freed later, by a call that makes or destroys such an operation. 0 on the host
// target.
int64_t tilepost_bytes_left(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_TILEPOST_H
