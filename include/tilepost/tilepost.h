// The runtime's C interface.
//
// Every call returns a result. tilepost_last_error() returns the text of the last failure on the
// calling thread. No call prints, throws, aborts or exits. One process per GPU and one process with
// a thread per GPU both work. A tilepost_comm_t and its operations belong to one rank, and one
// thread uses them at a time.
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
  TILEPOST_INVALID_ARGUMENT = 2,  // such as a null or misaligned pointer, a wrong stream or size
  TILEPOST_UNSUPPORTED = 3,       // this device, driver or plan cannot do what the call asks
  TILEPOST_OUT_OF_MEMORY = 4,
  TILEPOST_CUDA_ERROR = 5,
  TILEPOST_NCCL_ERROR = 6,
  TILEPOST_TIMEOUT = 7,  // a deadline passed; the communicator was aborted
  TILEPOST_ABORTED = 8,  // the communicator was aborted earlier; make a new one
  TILEPOST_INTERNAL_ERROR = 9,
} tilepost_result_t;

// The name of a result, such as "TILEPOST_TIMEOUT". Never null.
const char* tilepost_result_name(tilepost_result_t result);

// What went wrong in the last call on this thread that did not return TILEPOST_OK, with values and
// bounds. Valid until this thread's next call. Never null.
const char* tilepost_last_error(void);

typedef struct tilepost_comm* tilepost_comm_t;
typedef struct tilepost_op* tilepost_op_t;

// Structures that a caller fills in begin with struct_size, which the caller sets to the size of
// the structure in this header. Members are only added at the end. A runtime takes the structures
// of all earlier versions, as if the members that they lack were not given. It refuses a structure
// that is larger than its own or has any other size. tilepost_op_info_t has no struct_size, because
// the runtime writes that structure. It changes with TILEPOST_ABI_VERSION alone.

// ---- Communicators
// ---------------------------------------------------------------------------------

// Enough bytes for an ncclUniqueId.
typedef struct tilepost_unique_id {
  char bytes[128];
} tilepost_unique_id_t;

// Makes an id. Rank 0 calls this and sends the id to the other ranks by any means (MPI_Bcast, a
// file, a store).
tilepost_result_t tilepost_get_unique_id(tilepost_unique_id_t* id);

// A communicator of `world` ranks on the current device. Collective: returns when all ranks have
// called.
tilepost_result_t tilepost_comm_init(const tilepost_unique_id_t* id, int rank, int world,
                                     tilepost_comm_t* comm);

// Gathers `bytes` bytes from every rank for a bootstrap of the caller's own: `own` are this rank's,
// and `all` gets those of all ranks, one after the other by rank. Returns when all has come, and
// returns 0 if it has. `user` is what the caller has passed along.
typedef int (*tilepost_all_gather_t)(const void* own, void* all, size_t bytes, void* user);

// A communicator of `world` ranks on the current device, as tilepost_comm_init makes one, for ranks
// that find each other by means of their own: MPI, a store, sockets. No id is needed. `all_gather`
// is called a few times on this thread, equally often and with the same numbers of bytes on all
// ranks, and not after this call has returned. Any number but 0 that it returns ends this call with
// TILEPOST_INVALID_ARGUMENT.
//
// Where all ranks are on one host and share its memory (docs/runtime.md, Bootstraps), they talk
// through that memory, and NCCL's communicators are only made by operations that have collectives
// of NCCL. Elsewhere this call makes one. Collective: returns when all ranks have called.
tilepost_result_t tilepost_comm_init_with(tilepost_all_gather_t all_gather, void* user, int rank,
                                          int world, tilepost_comm_t* comm);

// Uses the caller's communicator on the current device. tilepost splits communicators of its own
// from it, with the CTA budget of each plan, and never issues a collective on the caller's.
// Collective: every rank of `nccl` calls this. The caller keeps `nccl`, and destroys it after
// tilepost's communicator.
tilepost_result_t tilepost_comm_adopt(struct ncclComm* nccl, tilepost_comm_t* comm);

// Makes a communicator of `count` ranks in this process, comms[rank] on device devices[rank] for
// each; null: on devices 0 to count - 1. It is for one thread with several GPUs, and not
// collective. 1 <= count <= 64, and no device twice.
tilepost_result_t tilepost_comms_create(const int* devices, int count, tilepost_comm_t* comms);

// The host target: makes `world` ranks in this process, comms[rank] for each. 1 <= world <= 64.
tilepost_result_t tilepost_comm_create_host(int world, tilepost_comm_t* comms);

// Destroys a communicator. While it has operations this returns TILEPOST_INVALID_ARGUMENT and
// destroys nothing. Null is allowed.
tilepost_result_t tilepost_comm_destroy(tilepost_comm_t comm);

// ---- Operations
// ------------------------------------------------------------------------------------

typedef struct tilepost_options {
  size_t struct_size;       // sizeof(tilepost_options_t): lets the structure grow
  double deadline_seconds;  // for every wait of a run; 0 = no deadline
  int host_workers;         // host target: threads per rank that compute tiles; 0 = 2
  int share_memory;         // 1: the memory that other ranks touch is common to the communicator's
                     // operations made with 1, whose runs must never overlap; the same on all
                     // ranks. 0 = memory of its own (on the host target also with 1, unless kernels
                     // exchange tiles)
  int64_t schedule_bytes;  // plans for any m: how many bytes of schedules are kept besides that of
                           // the plan's m, 1 to 2^40; the least recently used schedule makes room;
                           // 0 = 64 MiB
  struct tilepost_expert_routing* routing;  // dispatch_grouped_gemm, grouped_gemm_combine, moe: the
                                            // routing of the communicator whose tables runs read
                                            // (tilepost/routing.h). It has the plan's experts and
                                            // top, and room for the tokens of a share. Destroy it
                                            // after the operation. Null for all other patterns. A
                                            // structure without this member is accepted too
} tilepost_options_t;

// The defaults: struct_size is set, the deadline is 60 s, and all else is 0. The structure is that
// of the runtime's version. A caller that was compiled with the header of an earlier version fills
// in its own structure instead.
tilepost_options_t tilepost_default_options(void);

// Makes an operation: allocates all that runs need, loads every kernel, makes the NCCL communicator
// of the plan and warms it up. Collective: every rank calls this, in the same order. `options` may
// be null. The program must outlive the operation. Pattern gemm does not communicate: each rank
// makes and runs its operations alone, on a communicator of any size.
//
// Neighbours: some GEMMs hold their SMs while they wait for other ranks (docs/transports.md, Order
// of runs). Runs of one communicator therefore take turns. The runtime does not see collectives of
// other communicators, NCCL's or yours. If such a collective and such a run are issued in one order
// on one rank and in the other order on another rank, the run ends with TILEPOST_TIMEOUT. Order the
// two by events, alike on all ranks, or plan with `neighbours: true`: then no GEMM waits for other
// ranks.
tilepost_result_t tilepost_op_create(tilepost_comm_t comm, const tilepost_program_t* program,
                                     const tilepost_options_t* options, tilepost_op_t* op);

// As tilepost_op_create, for one thread with several ranks: makes an operation on each of the
// `count` communicators, ops[i] on comms[i], at the same time on threads of its own. Each rank that
// is not among them makes its operation with tilepost_op_create or in a call like this one. If one
// cannot be made, none is, and the error is that of the first.
tilepost_result_t tilepost_ops_create(const tilepost_comm_t* comms, int count,
                                      const tilepost_program_t* program,
                                      const tilepost_options_t* options, tilepost_op_t* ops);

// Memory of one operation on one rank, in bytes. What NCCL allocates for its communicators is not
// in it, nor what is only used while the operation is being made.
typedef struct tilepost_memory {
  size_t struct_size;    // sizeof(tilepost_memory_t)
  int64_t device_bytes;  // tilepost_op_info_t::device_bytes; on the host target, of the process
  int64_t shared_bytes;  // how many of these the other ranks read or write, too
  int64_t pinned_bytes;  // pinned host memory; 0 on the host target
} tilepost_memory_t;

// The memory that tilepost_op_create with these arguments would take. Makes nothing, and is not
// collective. With share_memory, an operation that would find room in memory which is already there
// takes no shared_bytes. Routed plans may take more with a later route.
tilepost_result_t tilepost_program_memory(tilepost_comm_t comm, const tilepost_program_t* program,
                                          const tilepost_options_t* options,
                                          tilepost_memory_t* memory);

// The memory that an operation has taken. On the host target it grows with the schedules of new
// numbers of rows, and with memory for A that a run does not bring along.
tilepost_result_t tilepost_op_memory(tilepost_op_t op, tilepost_memory_t* memory);

// Starts one run. The run is asynchronous in `stream` and may be captured into a CUDA graph. It
// allocates nothing after the first run with its number of rows. A run has m rows in all. A rank's
// share of them is ceil(m / ranks) consecutive rows, and the last ranks get what is left. By
// pattern, the operands are:
//
//   gemm                  a [m, k]                    out [m, n]: this rank's own product
//   grouped_gemm          a [m, k], sorted by expert  out [m, n]: each row times its expert's b
//   gemm_all_reduce       a [m, k]                    out [m, n]: the sum over ranks
//   gemm_reduce_scatter   a [m, k]                    out [share, n]: this rank's rows of the sum
//   gemm_all_to_all       a [m, k]                    out [rows, n]: the rows for this rank, by
//                                                     source rank and then by source row
//   all_gather_gemm       a [share, k], this rank's   out [m, n]: all ranks' rows times b
//   all_to_all_gemm       a [m, k], this rank's       out [rows, n]: the rows for this rank, in
//                                                     the same order, times b
//   dispatch_grouped_gemm a [share, k], this rank's   out [most_rows, n]: the rows of this rank's
//                         tokens                      experts (tilepost/routing.h), each times the
//                                                     b of its expert
//   grouped_gemm_combine  a [most_rows, k], the rows  out [share, n]: this rank's tokens, each the
//                         of this rank's experts      sum of its rows on all ranks, each times the
//                                                     b of its expert, by weights
//
// With dispatch_grouped_gemm a rank has as many tokens as the last call of tilepost_routing_set
// says, at most a share. The rows of a behind them are gathered too, and may be anything. most_rows
// is the plan's, or m * top if that is less. Rows of out behind the last expert's are not written.
// A run whose rows exceed the plan's most_rows ends on all ranks with an error, and writes nothing.
//
// With grouped_gemm_combine rows of a behind the last expert's may be anything. A rank rounds its
// part of a token's sum once. These parts are added up in fp32 and rounded. Rows of out of tokens
// that have no expert, and of those that the rank does not have, are 0. The epilogue's residual,
// [share, n], has rows of this rank's tokens, which are added to them.
//
// b is [n, k] (layout tn) or [k, n] (nn). Everything is row-major. Only where the plan keeps the
// tile layout, out has tilepost_op_info's out_elements in the order that docs/runtime.md describes.
// Pointers are 16-byte aligned device pointers of the communicator's device, and `stream` is a
// stream of that device. A pointer may be null where this rank reads and writes no row through it:
// one without a share of a or of out, say, or without rows to multiply. Such a pointer is not
// looked at. On the host target pointers are host pointers with the same alignment, and `stream` is
// null.
//
// Collective: every rank calls this, in the same order. Do not call it between ncclGroupStart and
// ncclGroupEnd: NCCL would start the run's collectives behind the work that marks the run's end.
// This call runs the plan's m, and is for plans that need no other operands. Other plans, and runs
// with another m, need tilepost_op_run_with.
tilepost_result_t tilepost_op_run(tilepost_op_t op, const void* a, const void* b, void* out,
                                  struct CUstream_st* stream);

// A number of rows of a run or a route: the plan's m, or its bound with m: {max: …}.
#define TILEPOST_PLANNED_M (-1)

// What runs of a layer of experts (pattern moe) take besides the operands of its first half. `out`
// is that of the second half, and so is `residual`: this rank's tokens.
typedef struct tilepost_layer_operands {
  size_t struct_size;  // sizeof(tilepost_layer_operands_t)
  const void* b;       // [experts of a rank, k, n] with layout tn: the second half multiplies by it
  const void* bias;    // [experts of a rank, k] if the epilogue has bias, which is of both halves
  const void* ids;     // [tokens, top] as tilepost_routing_set takes them, like the weights: the
  const void* weights;  // run routes the tokens first
  int64_t tokens;       // of this rank, at most its share of the run's m. TILEPOST_ROUTED on all
                        // ranks: tilepost_routing_set has routed them, and the run does not
} tilepost_layer_operands_t;
#define TILEPOST_ROUTED (-1)

// What a run reads and writes. The operands that the plan's epilogue (plan.h: tilepost_epilogue_t),
// its scales and its consumer name must be given. The other operands are ignored. Where the
// products of ranks are summed, rank 0's bias is added, and the other ranks' are ignored. bias,
// residual, norm_weight, norm_residual and gathered are 16-byte aligned, scales are 4-byte aligned,
// and all are in memory of the same kind as a and b. What a run writes, which is out,
// norm_residual, gathered, gathered_scales and out_scales, may not overlap another operand. There
// are two exceptions: a may be this rank's rows in gathered, and where a rank keeps the product
// that it computes (gemm, all_gather_gemm, all_to_all_gemm), in rows and not quantised, residual
// may be out itself.
typedef struct tilepost_run_operands {
  size_t struct_size;  // sizeof(tilepost_run_operands_t): lets the structure grow
  const void* a;
  const void* b;
  void* out;
  const float* scale_a;  // as tilepost_epilogue_t says, or the scales of A's and of B's blocks
  const float*
      scale_b;  // (tilepost_scales_t), in the order that tilepost_scales_order_t says. Where
                // rows of A move, those of A are of the rows of a, and move with them
  const void* bias;
  const void* residual;
  int64_t m;  // rows of this run, the same on all ranks. A plan for any m takes 0 to the plan's m,
              // or TILEPOST_PLANNED_M for the plan's m; a run of 0 rows does nothing. Other plans
              // take their own m, and routed plans the rows of the route; for both, 0 and
              // TILEPOST_PLANNED_M mean the same
  void* gathered;  // all_gather_gemm: [m, k], gets all ranks' a; a may point to this rank's rows in
                   // it. all_to_all_gemm: [rows, k], gets the rows for this rank. Null: these rows
                   // stay in memory of the operation
  const void* norm_weight;  // [n], of the output's type: consumers rms_norm, residual_rms_norm
  void* norm_residual;  // [rows, n] as out, of the output's type: residual_rms_norm adds it to the
                        // product's rows and stores the sum here
  float norm_epsilon;   // added to the mean of the squares
  void* user;           // where the plan's kernel has user data (kernel.num_user): points to the
                        // addresses of these data, in order; the addresses are 16-byte aligned, of
                        // the same kind of memory as a and b, and are read during this call.
                        // Otherwise the launcher of a kernel of your own gets it as it is. A
                        // structure without this member is accepted too
  const int32_t* expert_ends;  // grouped_gemm: [experts] for each expert the row of a behind its
                               // last row, so that expert e has the rows from expert_ends[e - 1] on
                               // (expert 0: from 0 on). They do not decrease, and the last one is
                               // at most m: the rows behind it are not computed. Memory of the same
                               // kind as a, 4-byte aligned, read when the run executes. A structure
                               // without this member is accepted too
  float* gathered_scales;  // scales of blocks where rows of A move: [rows, ceil(k / 128)], gets the
                           // scales of the rows of gathered, in their order. Null: they stay in
                           // memory of the operation. A structure without this member is accepted
                           // too
  float* out_scales;  // where `out` is quantised (tilepost_plan_t::quantised): gets the scales of
                      // its blocks, for n as for k the scales of A's blocks, in the order
                      // scales_out of the plan. A structure without this member is accepted too
  const tilepost_layer_operands_t* layer;  // pattern moe: the other operands, read during this
                                           // call. A structure without this member is accepted too
} tilepost_run_operands_t;

// As tilepost_op_run, with more operands. The operands must not change until the run has ended.
tilepost_result_t tilepost_op_run_with(tilepost_op_t op, const tilepost_run_operands_t* operands,
                                       struct CUstream_st* stream);

// Where the rows of the following runs go, for gemm_all_to_all and all_to_all_gemm with routing
// splits or rows. With all_to_all_gemm, a route by which any rank would receive more than the
// plan's map.m rows is TILEPOST_INVALID_ARGUMENT on all ranks, and no route is set then.
typedef struct tilepost_route {
  size_t struct_size;     // sizeof(tilepost_route_t)
  int64_t m;              // this rank's rows, 0 to the plan's m, or TILEPOST_PLANNED_M. Ranks may
                          // differ. Another m than the plan's needs a plan for any m
  const int64_t* splits;  // [ranks] routing splits: how many consecutive rows go to each rank;
                          // they sum to m
  const int32_t* destinations;  // [m] routing rows: the rank of each row
} tilepost_route_t;

// What a route means for this rank. The arrays are host memory and live until the next route.
typedef struct tilepost_arrivals {
  size_t struct_size;        // sizeof(tilepost_arrivals_t)
  int64_t rows;              // rows of out: all that ranks send here
  const int64_t* rows_from;  // [ranks] how many of them come from each rank, in this order
  const int64_t* landed;     // [m] for each row of this rank the row of its destination's out
} tilepost_arrivals_t;

// Sets the route of the runs that follow. Collective: ranks exchange how many rows they send each
// other. The call waits for the runs so far and for the other ranks, within the deadline. Do not
// call it while a stream is being captured. Captured runs are replayed with the route that they
// were captured with, and must not be replayed after another route was set. `arrivals` may be null.
tilepost_result_t tilepost_op_route(tilepost_op_t op, const tilepost_route_t* route,
                                    tilepost_arrivals_t* arrivals);

// Registers a buffer of the caller's, so that the other ranks store results straight into it. A run
// whose out is the beginning of a registered buffer gets its results there without a copy, as in
// tilepost_op_info_t::out. The memory stays an ordinary output: it may be read and written wherever
// it could be before, and the output in it is complete when the run ends. A buffer is registered
// once, for all runs until it is unregistered or the operation is destroyed.
//
// Collective: every rank calls this, in the same order, with a buffer of its own and the same
// number of bytes. `bytes` bounds the outputs that may go there. In a run all ranks pass buffers of
// the same registration as out, or none passes a registered buffer. If one rank passes another one,
// all ranks get an error that names it. An out that begins inside a registered buffer, or is larger
// than the buffer, is TILEPOST_INVALID_ARGUMENT. Any other out is treated as always.
//
// The call returns TILEPOST_UNSUPPORTED where nothing would be gained. Ranks store into each
// other's outputs only in runs whose tilepost_op_info_t::out is not null: those of gemm_all_reduce
// with transport peer, helper warps and no consumer (on the host target, where the plan says so),
// and those of gemm_all_to_all whose spec says `registered: true`. In other runs pass the buffer as
// out without registering it. TILEPOST_UNSUPPORTED is also for memory that other ranks cannot be
// given access to: `buffer` must be 16-byte aligned device memory of cudaMalloc. Memory of pools
// (cudaMallocAsync), of cuMemCreate (expandable segments) and managed memory are refused. An
// operation has at most 256 buffers at a time, and one more is TILEPOST_UNSUPPORTED, too. An
// invalid argument on one rank is an error on all ranks. The call waits for the runs so far and for
// the other ranks, within the deadline. Do not call it while a run of the operation is being
// captured, on whichever stream.
//
// The memory must not be freed before it is unregistered. If the operation fails or is destroyed
// without unregistering it, the memory must not be freed before all ranks have destroyed the
// operation. Until then other processes have the whole allocation open that contains the buffer.
//
// Registering and unregistering allocate and free nothing on the device. Between ranks of one
// process the first registration enables peer access between their devices. That may wait for all
// work on these devices, so no work there may need this rank to go on, except for runs of the
// communicator. Peer access stays enabled. From then on cudaMalloc and cudaFree, and so create and
// destroy, may wait for kernels on all these devices. So such ranks must call these functions while
// none of the ranks has a run in flight or registers a buffer. The ranks must meet before any of
// them starts a run or registers a buffer again.
tilepost_result_t tilepost_op_register(tilepost_op_t op, void* buffer, int64_t bytes);

// Undoes the registration of the buffer that begins at `buffer`. Collective, like
// tilepost_op_register. When the call returns, no rank has the memory open. Before the call,
// destroy graphs that were captured with the buffer as out.
tilepost_result_t tilepost_op_unregister(tilepost_op_t op, const void* buffer);

// Returns TILEPOST_OK when all runs so far have finished, TILEPOST_IN_PROGRESS when some have not,
// or the error that ended one. Does not wait.
tilepost_result_t tilepost_op_status(tilepost_op_t op);

// Waits for all runs so far, within the deadline.
tilepost_result_t tilepost_op_synchronize(tilepost_op_t op);

typedef struct tilepost_op_info {
  const tilepost_plan_t* plan;  // the plan chosen for this device; of a layer of experts, that of
                                // its second half
  int32_t rank;
  int64_t out_elements;  // elements of out that a run with the plan's m writes on this rank; routed
                         // plans: with the route set last
  int64_t device_bytes;  // what the operation allocated: tables, counters, staging; if operations
                         // share memory, what was allocated for this one
  const int32_t* rows;   // where gemm or gemm_all_reduce keeps the tile layout: the destination row
                         // of the tile in tile row m and tile column n, at m * tiles_n + n (device
                         // memory; host memory on the host target); null otherwise
  void* out;  // where ranks push results into each other's outputs, without a consumer: memory of
              // the operation, as large as the output, into which the other ranks store. A run with
              // this as its out gets the results there without a copy. Every run of the operation,
              // and of any operation that shares this memory, overwrites it, whatever its out is.
              // So no other operand of such a run may lie in it. Null otherwise
} tilepost_op_info_t;

tilepost_result_t tilepost_op_get_info(tilepost_op_t op, tilepost_op_info_t* info);

// Sets `overlaps` to 1 if runs of m rows communicate while they compute, and to 0 if they do one
// after the other, because there are too few rows to gain anything. All ranks get the same answer.
// `m` is a number of rows that runs of the operation may have, or TILEPOST_PLANNED_M. The runs of
// pattern gemm never overlap.
tilepost_result_t tilepost_op_overlaps(tilepost_op_t op, int64_t m, int* overlaps);

// Deviations from the plan that are no errors, one line each: NCCL_* variables that override the
// plan's communication budget, or a GPU of another size than the plan's. The text is empty when
// there are none, or when op is null. It is valid as long as the operation. Never null.
const char* tilepost_op_warnings(tilepost_op_t op);

// Destroys an operation: waits for its runs, within the deadline, and frees everything. Null is
// allowed.
tilepost_result_t tilepost_op_destroy(tilepost_op_t op);

// How many bytes of device and pinned host memory operations of this process have left unfreed.
// After a failure the device may still use such memory, or another process may not have unmapped
// memory that it shares. Memory of the latter kind is freed later, by a call that makes or destroys
// an operation that shares memory. 0 on the host target.
int64_t tilepost_bytes_left(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_TILEPOST_H
