// Routing of experts: which rows each expert of a mixture-of-experts layer multiplies. A router has
// chosen `top` experts for each token, with a weight for each. From these ids and weights, which
// are in device memory, a routing makes tables on the device. Nothing goes to the host.
//
// Words: a *route* is one pair of a token and an expert that the router has chosen for it. Each of
// the R ranks has tokens, and experts / R consecutive experts: rank r has those from r * experts /
// R on. The routes to a rank's experts are the *rows* of that rank. Rows are sorted by expert, and
// within an expert by the rank of the token, beginning with the rank itself (r, r + 1, …, R - 1, 0,
// …, r - 1), then by token, then by the route's position among the token's routes. So the order
// depends on nothing but ids and numbers of tokens. A token that names an expert twice has two rows
// there.
//
// The names of the functions begin with tilepost_routing. tilepost_routing_t is something else: how
// the rows of an All-to-All are divided (plan_enums.h).
#ifndef TILEPOST_ROUTING_H
#define TILEPOST_ROUTING_H

#include "tilepost/tilepost.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilepost_expert_routing* tilepost_expert_routing_t;

// The type of ids.
typedef enum tilepost_ids {
  TILEPOST_IDS_I32 = 0,
  TILEPOST_IDS_I64 = 1,
} tilepost_ids_t;

typedef struct tilepost_routing_options {
  size_t struct_size;        // sizeof(tilepost_routing_options_t): lets the structure grow
  tilepost_ids_t ids;        // the type of this rank's ids
  tilepost_dtype_t weights;  // the type of this rank's weights: TILEPOST_F32 or TILEPOST_BF16
  double deadline_seconds;  // for every wait for other ranks, and for tilepost_routing_synchronize;
                            // 0 = no deadline
} tilepost_routing_options_t;

// The defaults: struct_size is set, ids are int32, weights are fp32, and the deadline is 60 s.
tilepost_routing_options_t tilepost_default_routing_options(void);

// Makes a routing of a communicator: allocates all that it needs, and loads its kernels. `experts`
// is the number of experts of all ranks, which the ranks divide, and each rank has at most 512.
// `top` is how many experts a token has, from 1 to 32. `most_tokens` bounds the tokens of a rank.
// These three are the same on all ranks. `options` may be null. At most 32 ranks route.
//
// On GPUs, ranks exchange ids and weights through memory that they share: where GPUs do not reach
// each other's memory, several ranks are TILEPOST_UNSUPPORTED. Collective: every rank calls this,
// in the same order.
tilepost_result_t tilepost_routing_create(tilepost_comm_t comm, int32_t experts, int32_t top,
                                          int64_t most_tokens,
                                          const tilepost_routing_options_t* options,
                                          tilepost_expert_routing_t* routing);

// Routes m tokens of this rank: makes the tables (tilepost_routing_info_t) of these ids and
// weights, in place of the tables before. ids and weights are [m, top], row-major, in device memory
// of the communicator's device (host memory on the host target), aligned to their elements. They
// must not change until the call has executed. With m = 0, both may be null.
//
// An id from 0 to experts - 1 is an expert. -1 is no expert, and so is an id of `experts` and more.
// An id below -1 is an error that names rank, token and id. It is found when the call executes, and
// tilepost_routing_status and later calls return it. The tables are made as if that id were -1.
//
// A rank that does not come within the deadline is TILEPOST_TIMEOUT on the other ranks, and the
// communicator is aborted.
//
// Asynchronous in `stream` (null on the host target). It allocates nothing, and may be captured
// into a CUDA graph, whose replays read ids and weights anew. Calls of one routing, replays too,
// and what reads its tables follow each other in streams or by events: there is one set of tables.
// Collective: every rank calls this, in the same order, with its own 0 <= m <= most_tokens.
tilepost_result_t tilepost_routing_set(tilepost_expert_routing_t routing, const void* ids,
                                       const void* weights, int64_t m, struct CUstream_st* stream);

// Returns the first error of the calls of tilepost_routing_set that have executed, TILEPOST_OK if
// there is none, or TILEPOST_IN_PROGRESS if such a call has not finished yet. Does not wait. Of
// replays of graphs it knows errors alone: wait for their stream before this call. After an error
// the routing takes no further calls of tilepost_routing_set. Make a new one.
tilepost_result_t tilepost_routing_status(tilepost_expert_routing_t routing);

// Waits for the calls of tilepost_routing_set so far, but not for replays of graphs, within the
// deadline. Then returns what tilepost_routing_status returns.
tilepost_result_t tilepost_routing_synchronize(tilepost_expert_routing_t routing);

// The tables of a rank, in device memory (host memory on the host target), at addresses that stay
// the same as long as the routing. Of tables with an entry for each token of a rank, only the
// entries of tokens that the rank has now mean anything. A token's number is rank * most_tokens +
// token, so that a gathered matrix of tokens has most_tokens rows for each rank.
typedef struct tilepost_routing_info {
  const int32_t* expert_ends;  // [experts / ranks] for each of this rank's experts the row behind
                               // its last one: tilepost_run_operands_t::expert_ends
  const int32_t* row_tokens;   // [most_rows] for each row of this rank the number of its token
  const int32_t* token_rows;   // [ranks, most_tokens, top] for each token its rows on this rank, in
                               // the order of their experts, then of their positions; -1 behind the
                               // last one
  const float* token_weights;  // [ranks, most_tokens, top] the weights of these rows, and 0 behind
                               // the last one
  const uint32_t* token_ranks;  // [most_tokens] for each token of this rank the ranks that have
                                // rows of it: bit r for rank r
  const int32_t* tokens;        // [ranks] how many tokens each rank has
  const int32_t* rank_rows;     // [ranks] how many rows each rank has
  int64_t most_rows;            // ranks * most_tokens * top: rows at the worst
  int64_t device_bytes;         // what the routing has allocated
} tilepost_routing_info_t;

tilepost_result_t tilepost_routing_get_info(tilepost_expert_routing_t routing,
                                            tilepost_routing_info_t* info);

// Destroys a routing: waits for its calls of tilepost_routing_set, within the deadline, and frees
// everything. Graphs that call it must not be replayed any more. Null is allowed. Destroy a routing
// before its communicator.
tilepost_result_t tilepost_routing_destroy(tilepost_expert_routing_t routing);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_ROUTING_H
