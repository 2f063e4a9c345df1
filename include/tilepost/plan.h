// The plan as generated code states it and the runtime executes it: plain C structures.
//
// A generated file defines one tilepost_program_t with one tilepost_plan_t per architecture.
// Nothing here is computed at run time except the tile table, which both sides build from `map`
// with the same code (tile_map.h) and compare by hash.
#ifndef TILEPOST_PLAN_H
#define TILEPOST_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tilepost/internal/task_list.h"
#include "tilepost/plan_enums.h"
#include "tilepost/version.h"

struct cudaLaunchConfig_st;  // cudaLaunchConfig_t of CUDA's headers

#ifdef __cplusplus
extern "C" {
#endif

// One position of the schedule. Sixteen bytes, read by the kernel in one load.
typedef struct tilepost_tile {
  int32_t m;    // first row: of A, and of the product
  int32_t n;    // first column of the product
  int32_t row;  // first row of the destination: of the row-major send buffer (panel), or of the
                // column of slots (tile); -1 for a padding tile, which is computed and not stored.
                // With a row map, row r of the tile goes to row + row_map[m + r]
  int32_t group;  // the tile raises this group's counter, or waits for it
                  // (TILEPOST_DIVISION_ARRIVALS), unless its launch waits (neighbours)
} tilepost_tile_t;

// A group: consecutive schedule positions whose destination is one contiguous block.
typedef struct tilepost_group {
  int32_t first_tile;  // first schedule position
  int32_t num_tiles;   // positions, padding included
  uint32_t target;     // what one run adds to the group's counter; 0 for a group without tiles,
                       // which only maps made at run time have
  int64_t offset;      // first element of the block in the send buffer
  int64_t count;       // elements of the block
} tilepost_group_t;

// Everything the tile table follows from.
typedef struct tilepost_map {
  int64_t m, n;              // output shape, elements
  int32_t tile_m, tile_n;    // elements
  int32_t cluster;           // CTAs at consecutive positions that share a tile column and a group
  int32_t band;              // tile rows swept together inside a group, for reuse in L2
  int32_t signals_per_tile;  // how often the kernel raises the counter for one position
  tilepost_layout_t layout;
  tilepost_division_t division;
  int32_t ranks;    // shares of the rows; 1 where the rows are not divided among ranks
  int32_t stagger;  // SHARES: 0, or how many positions are computed at a time; every rank then has
                    // an order of its own, in which the shares of all ranks take turns (tile_map.h)
  int32_t round_robin;  // ARRIVALS: 1: shares arrive in turn; 0: parts of all together
  int32_t num_groups;
  // [num_groups] the end of each group, counted in tile rows (ROWS, panel), positions (ROWS, tile),
  // tile rows of a share (SHARES) or tile columns (COLUMNS). ARRIVALS: 0 for group 0, which is the
  // whole own share; the others count tile rows of each other share or, if the shares take turns,
  // of all other shares one after the other, share_tiles (tile_map.h) each.
  const int32_t* cuts;
  int32_t turn;  // SHARES with stagger and one group: 0, or how many tiles of a share are computed
                 // before tiles of the next share; the other ranks' shares take such turns, and the
                 // rank's own share comes behind them (tile_map.h)
  int32_t lag;   // the rank's own turn t comes behind the others' turn t + lag
} tilepost_map_t;

// C[m, n] = A[m, k] * B, all row-major with the given leading dimensions (elements); B is [n, k] or
// [k, n] (tilepost_operands_t).
typedef struct tilepost_shape {
  int32_t m, n, k;
  int32_t lda, ldb, ldc;
} tilepost_shape_t;

// The epilogue's operands, device pointers (host pointers on the host target). Which of them are
// read is fixed by the plan's epilogue and its scales; the others may be anything.
typedef struct tilepost_epilogue {
  const float* scale_a;  // [1], or [m] with SCALE_ROWS, or of A's blocks (tilepost_scales_order_t),
                         // for all rows that the kernel multiplies (tilepost_view_t::in_scales)
  const float* scale_b;  // [1], or [n] with SCALE_COLUMNS, or of B's blocks; experts: [experts,
                         // rows of B]
  const void* bias;      // [n], of the output's type; null adds nothing; experts: as scale_b
  const void* residual;  // [m, n] row-major, of the output's type
  void* out;             // where the kernel stores, for kernels that store without a tensor map
  float* out_scales;     // where a kernel that quantises stores the scales (tilepost_plan_t)
  int64_t out_scale_row, out_scale_block;  // elements from a row's to the next one's, and from a
                                           // block's to the next one's
} tilepost_epilogue_t;

// TILEPOST_ACCESS_TILES, where the plan's consumer normalises (tilepost_consumer_t): what the
// kernel needs to normalise the rows that it adds up. Device pointers.
typedef struct tilepost_norm {
  const void* weight;  // [n], of the output's type
  void* residual;      // [rows, n] as out: TILEPOST_CONSUMER_RESIDUAL_RMS_NORM only
  float epsilon;
} tilepost_norm_t;

// Elements of 16 bits in a line (TILEPOST_ONE_SHOT_LINES).
#define TILEPOST_LINE_ELEMENTS 6

// A bit of tilepost_exchange_t::kind. A run with this bit is one kernel, which meets the other
// ranks' kernels by itself. The kernel does not announce that its run has ended: the next run does.
#define TILEPOST_EXCHANGES 0x80000000u

// The most ranks whose kernels exchange tiles: the GPUs of one host.
#define TILEPOST_MOST_EXCHANGING 8

// What a kernel works with if it is a whole run: it then meets the other ranks' kernels by itself
// (tilepost_plan_t::whole_run). Runs are numbered, modulo 2^32.
//
// Where kernels exchange tiles (TILEPOST_ACCESS_TILES), the rows of a tile that one CTA has are a
// *part*. Parts are numbered from 0, alike on all ranks. A part is received by the CTA that has the
// same part on the other rank. A run uses the buffers of its parity: its number modulo 2, 0 or 1.
//
// Where rows of A move, a part is a piece of one rank's rows, and each rank's parts are numbered
// from 0. `slots` then is [2 parities], and each of the two has all ranks' rows in their order.
typedef struct tilepost_exchange {
  // By rank: the memory that ranks share, as this rank addresses it. All have the same layout.
  char* memory[TILEPOST_MOST_EXCHANGING];
  // Where things lie in that memory, in bytes from its beginning:
  int64_t begun;       // a line of TILEPOST_COUNTER_STRIDE words for each rank: how many runs it
                       // has begun, then what the last two were (runtime/cuda/shared/flags.h)
  int64_t ended;       // such lines: how many runs each rank has ended
  int64_t arrived;     // flags [2 parities][2 shots][parts][TILEPOST_MOST_EXCHANGING], the last by
                       // the rank that has stored; a flag is the number of the run
  int64_t slots;       // [2 parities][ranks], by the rank that has stored
  int64_t slot_bytes;  // of one slot: the rows that a rank gets; rows of A: all ranks' rows
  const void* slot_maps;  // CUtensorMap [2 parities][ranks]: this rank's slot on every rank
  void* const* there;     // [ranks] TILEPOST_TWO_SHOT: where sums go, with rows as in out
  void* out;
  // Where A moves: this rank's rows of A, and where the caller wants all rows (null: nowhere).
  const void* own_rows;
  void* gathered;
  uint32_t* run;  // this rank's words (exchange_words.h): [0] runs begun, [1] `given_up`, [2] the
                  // kind of the last run, [3] threads of this run that have read [0] and [2], [4]
                  // which half of `expected` is valid, [5] CTAs of a replay that have all sources,
                  // [6] threads that have completed all stores
  uint32_t* given_up;  // this rank's: not 0 once a wait was given up
  // TILEPOST_ACCESS_WRITE. Other ranks' kernels raise counters of this rank. The valid half of
  // `expected` says what each counter reads when all of the last run has come. This run writes its
  // own values into the other half. `targets` is what this run adds.
  uint32_t* expected;       // [2 halves][counters]
  const uint32_t* targets;  // [num_targets] for the first counters or, where rows of A move, for
                            // those of the run's parity; the others do not grow
  int32_t counters, num_targets;
  uint32_t kind;      // of this run; runs of one kind have the same buffers and take turns at them;
                      // TILEPOST_EXCHANGES is set
  uint32_t words[4];  // they describe the run, and all ranks must have the same
  int32_t rank, ranks;
  int32_t rows;          // of the run's product
  int32_t share_rows;    // in an equal share, where a rank gets its share; else not read
  int32_t most_parts;    // the most parts that any run has
  int32_t lines;         // TILEPOST_ONE_SHOT_LINES: lines of a part in a slot, 16 bytes each
  int32_t row_units;     // rows of A: units in a row, 16 bytes each, or elements (RowParts)
  int32_t part_units;    // rows of A: units in a part, fewer in the last one
  uint64_t deadline_ns;  // of every wait; 0: none
  // In memory of the host (runtime/cuda/watch/watch_page.h):
  const uint32_t* abort;
  uint32_t* begun_waits;   // [ranks][4]
  uint32_t* ended_waits;   // [ranks][4]
  uint32_t* arrived_wait;  // [2][4], shared by all waits for parts: an open wait, a wait that gave
                           // up; on the host target [1]: the rank waited for, counted from 1
  uint32_t* difference;
  uint32_t* replays;  // [3]: replays begun, replays ended, `replayed`; null: not captured
  uint32_t replayed;  // which of the captured runs this is
  tilepost_norm_t norm;
} tilepost_exchange_t;

// A CUtensorMap, for code without the CUDA driver's header. The structure is not aligned by itself:
// GCC would print a note wherever it is passed by value. Kernels align the view that contains it.
typedef struct tilepost_tensor_map {
  uint64_t words[16];
} tilepost_tensor_map_t;

// A tile row where tokens go to experts: `rows` rows of the output from `row` on, of which the last
// to arrive come with `group`. The list of a run begins with an entry whose `row` is the number of
// tile rows. They follow it by group, then by expert, then by row (internal/token_tiles.h).
typedef struct tilepost_token_tile {
  int32_t row, rows;
  int32_t expert;
  int32_t group;
} tilepost_token_tile_t;

// The alignment of tensor maps in bytes. A view's size is a multiple of this, too.
#define TILEPOST_TENSOR_MAP_ALIGNMENT 64

// What a woven kernel gets besides its own arguments.
typedef struct tilepost_view {
  // By rank: where tiles that this rank finishes go on that rank (tilepost_plan_t::fused).
  tilepost_tensor_map_t push_maps[TILEPOST_MOST_EXCHANGING];
  const tilepost_tile_t* tiles;  // [num_tiles] the schedule
  const int32_t* positions;      // [map_tile_rows(map) * tiles_n] schedule position by tile row and
                                 // column (tile_map.h)
  uint32_t* counters;            // one per group, TILEPOST_COUNTER_STRIDE words apart
  const int32_t* row_map;  // [m] routing rows: what a tile adds to its row for each of its rows
  int32_t num_tiles;
  int32_t tiles_n;
  int32_t share_rows;   // rows of a share; tile rows start anew with every share
  int32_t share_tiles;  // tile rows of a share
  uint32_t ready;       // counter value at which a group's input has arrived (ARRIVALS)
  // TILEPOST_ACCESS_WRITE; tables by the rank that owns a tile's rows:
  int32_t rank;                    // of this rank, whose stores to itself are not paced
  int32_t pace;                    // clock cycles from one store of a tile to the next, 0: none
  const void* out_maps;            // CUtensorMap [ranks]: where this rank's rows of that share go
  uint32_t* const* peer_counters;  // [ranks] the owners' counters; a tile raises that of its group
  void* const*
      peer_out;  // [ranks] the same place as out_maps, for kernels that store with pointers
  const void* source_maps;  // CUtensorMap [ranks]: this rank's slots, by the rank that stores there
                            // (tilepost_plan_t::fused)
  tilepost_tasks_t tasks;   // of helper warps
  // ARRIVALS with tasks or TILEPOST_ACCESS_TILES, where the kernel's own map of A covers this
  // rank's own rows alone, at their places among all rows:
  const void* in_map;  // CUtensorMap of where all rows of A arrive, in a whole run [2] by its
                       // parity; null: the kernel's own map covers that
  tilepost_exchange_t exchange;  // for a kernel that is a whole run; if it is not, ranks is 0
  void* const* user;  // [kernel.num_user] on the host target; on GPUs the launcher has it
  // Patterns with experts, read by the device: [experts] the row of A behind the expert's last row.
  const int32_t* expert_ends;
  int32_t experts;
  int32_t most_tokens;  // of a rank, by which tokens are numbered (tilepost/routing.h)
  // ARRIVALS with scales of blocks, where scale_a has those of this rank's own rows alone, at their
  // places among all rows: where the scales of all rows arrive, in a whole run that of runs with an
  // even number. Null: scale_a has those of all.
  const float* in_scales;
  // TILEPOST_DISPATCH_GROUPED_GEMM, read by the device. Rows of A are those of tokens: row_tokens
  // has for each row the number of its token (tilepost/routing.h), and token_tiles is the list of
  // tile rows (tilepost_token_tile_t).
  const int32_t* row_tokens;
  const struct tilepost_token_tile* token_tiles;
  // Row 0 of all gathered tokens: where this rank has its own, at their places among all, and where
  // all come together.
  const void* own_tokens;
  const void* all_tokens;
  int32_t token_rows;  // rows of a rank's share of the gathered tokens
  uint64_t unused[4];  // fills the structure up
} tilepost_view_t;

// Counters are 128 bytes apart, so that no two share a cache line.
#define TILEPOST_COUNTER_STRIDE 32

// A host kernel computes the positions worker, worker + workers, … of the view's schedule.
typedef void (*tilepost_host_kernel_t)(const void* a, const void* b, void* c,
                                       tilepost_shape_t shape, tilepost_epilogue_t epilogue,
                                       int worker, int workers, tilepost_view_t view);

// What a launcher is called with: one launch of a woven kernel. It is valid during the call only.
typedef struct tilepost_launch_call {
  size_t struct_size;    // sizeof(tilepost_launch_call_t): lets the structure grow
  const void* function;  // the woven kernel
  const struct cudaLaunchConfig_st* config;  // grid, block, cluster, shared memory and stream
  const void* a;                             // [shape.m, shape.k]
  const void* b;
  void* out;         // where the kernel stores: [out_rows, shape.ldc], as the schedule says
  int64_t out_rows;  // may be more than shape.m, where shares of rows are padded to whole tiles
  tilepost_shape_t shape;
  tilepost_epilogue_t epilogue;
  tilepost_view_t view;  // the kernel's last argument
} tilepost_launch_call_t;

// Launches call->function once (cudaLaunchKernelExC), with call->config, the kernel's own arguments
// and behind them &call->view. It launches nothing else, and allocates nothing, since the launch
// may be captured. `user` is the run's (tilepost_run_operands_t). Returns a cudaError_t.
typedef int (*tilepost_launcher_t)(const tilepost_launch_call_t* call, void* user);

// The boxes that a kernel's tensor maps move (CUDA driver API, cuTensorMapEncodeTiled), in elements
// of the matrix as it lies in memory.
typedef struct tilepost_box {
  int32_t columns, rows;
  int32_t swizzle;  // bytes: 128, or 0 for none
  int32_t promote;  // bytes that L2 fetches around a miss: 0, 64, 128 or 256
} tilepost_box_t;

typedef struct tilepost_kernel {
  const char* name;  // of the template or the user's function
  tilepost_launch_t launch;
  const void* function;                  // a __global__ function or cudaKernel_t; null on the host
  tilepost_host_kernel_t host_function;  // null on a GPU
  tilepost_launcher_t launcher;          // TILEPOST_LAUNCH_CUSTOM only; null otherwise
  int32_t arch;                          // 80, 86, 89, 90; 0 on the host target
  int32_t tile_k;                        // elements of K per pipeline stage
  int32_t cluster;                       // CTAs per cluster of the launch
  int32_t early;  // 1: may be launched before the kernel in front of it in the stream has ended; it
                  // waits for that end itself
  tilepost_box_t box_a, box_b, box_c;  // TILEPOST_LAUNCH_TMA
  int32_t threads;                     // per CTA
  int32_t shared_bytes;                // dynamic shared memory per CTA
  int32_t helper_bytes;                // how much of it a helper warp may use (mark.cuh)
  int32_t ctas_per_sm;
  int32_t block[3];         // a CTA's threads along x, y and z; 0: all along x
  int32_t tile_per_cta;     // 1: the grid has a CTA for every position of the schedule; 0: a CTA
                            // computes several positions, gemm_ctas apart
  const char* const* user;  // [num_user] names of what a run's `user` points to: "user.scales"
  int32_t num_user;         // 0: `user` is for the launcher alone
} tilepost_kernel_t;

// The planner's predictions for the plan's kernel and collectives. Groups for another m are chosen
// by this model at run time (groups.h). Times are in microseconds, and 0 where nothing is timed.
typedef struct tilepost_model {
  double start;             // before the first wave
  double wave;              // one wave on gemm_ctas CTAs
  double read_b, read_row;  // to read B, and a row of A, with all SMs: no GEMM ends sooner
  double wait;           // ARRIVALS: before everything else; otherwise, on top of latency, before
                         // collectives that start as soon as their group is done
  double latency;        // of a collective, with its wait
  double per_byte;       // of a group's block, for each byte
  double tail;           // of the last collective; ARRIVALS: of each, while the next one goes on
  double sequence_wave;  // one wave on all SMs, nothing beside it
  double sequence_latency, sequence_per_byte;  // of one collective on the whole GPU
  int32_t sequence_ctas;  // grid of the GEMM when nothing runs beside it; 0: every run overlaps
  int64_t most_bytes;     // the most in a group that could be cut further; 0: no bound
  double slack;           // fewer groups are taken if they end at most this fraction later
  double margin;          // fraction of the run in sequence: overlap must win by more than that
} tilepost_model_t;

// The most plans for one architecture, and the most user data for one kernel.
#define TILEPOST_MOST_RANGES 4
#define TILEPOST_MOST_USER_DATA 16

// One plan: one kernel on one architecture. A program for any m may have several plans for each
// architecture. The first could serve every run, and those behind it are for fewer and fewer rows.
// A run is served by the plan for the fewest rows that has room for it.
typedef struct tilepost_plan {
  tilepost_pattern_t pattern;
  int32_t ranks;
  int64_t k;  // on each rank; m and n are in map
  tilepost_dtype_t input, output;
  tilepost_operands_t operands;
  tilepost_accumulate_t accumulate;
  tilepost_scales_t scales;          // of blocks of A and B
  tilepost_scales_order_t scales_a;  // with scales of blocks: how A's lie
  // 1: `out` has elements of TILEPOST_E4M3, and each TILEPOST_SCALE_BLOCK elements of a row have a
  // scale of their own, which a run stores in out_scales. Another GEMM takes both as its A and
  // scale_a, with TILEPOST_SCALES_BLOCKS. `output` is then the type of the product before that: of
  // what ranks exchange and add up, of bias, of residuals and of weights. Where products stay on
  // the rank that computes them, the kernel quantises the sums in fp32. Otherwise the consumer
  // quantises what ranks have added up and rounded to `output`.
  int32_t quantised;
  tilepost_scales_order_t scales_out;  // if quantised: how these scales lie
  int32_t epilogue;                    // a set of TILEPOST_SCALE …
  int32_t experts;                     // patterns with experts: how many B there are; otherwise 0
  int32_t top;           // patterns with a routing of tokens: experts of a token; otherwise 0
  int64_t most_rows;     // likewise: rows of experts at most, map.m * top or fewer; otherwise 0
  tilepost_gate_t gate;  // read with operations that combine gate and up
  tilepost_routing_t routing;
  int32_t any_m;      // 1: every run says its own m, up to a bound
  int64_t rows_sent;  // TILEPOST_ALL_TO_ALL_GEMM: the m of runs (rows of A on each rank) or its
                      // bound; map.m is then the most rows that a rank receives. Otherwise 0: runs
                      // have map.m rows
  tilepost_model_t model;  // chooses groups where runs differ in rows
  tilepost_map_t map;
  uint64_t map_hash;    // tile_map.h: hash of the tile table the planner verified (of rank 0)
  const char* machine;  // the machine planned for; null where nothing is predicted
  const char* gpu;      // part of what CUDA calls its GPUs, "H200"; null likewise
  int32_t sms;          // SMs of the GPU planned for
  int32_t gemm_ctas;    // grid of the GEMM
  int32_t comm_ctas;    // upper bound given to NCCL, over all lanes
  int32_t comm_lanes;   // communicators that take turns at the groups, each on a stream of its own
  tilepost_transport_t transport;
  tilepost_access_t access;  // follows from transport; on the host target, used in its place
  tilepost_sum_t sum;
  tilepost_shots_t shots;
  int32_t pushes;      // 1: the rank that has what others need (sums of an AllReduce, rows of A,
                       // with `fused` also tiles of an All-to-All) stores it in their memory, where
                       // it stays; 0: they copy it
  int32_t task_parts;  // how many parts the kernel's helper warps add up; 1: they move rows
                       // (All-to-All of a product: to the output; rows of A: this rank's to where
                       // all are gathered, with WRITE on all ranks); 0: the runtime does that
  int32_t reads_own;   // 1: the kernel reads this rank's rows of A where the caller has them
  int32_t row_gap;     // WRITE, where the kernel adds up or moves rows of the product: unused
                       // elements behind each row as other ranks store it, so that all begin on
                       // lines of memory
  int32_t pace;        // tilepost_view_t::pace
  int32_t fused;  // WRITE only. 1: the kernel's epilogue does all that crosses ranks. It adds what
                  // other ranks have stored in slots to its own tiles, which come later
                  // (tilepost_map_t::turn). All-to-All: tiles go into the output that gets them
  int32_t
      whole_run;  // WRITE only. 1: the kernel itself begins and ends runs that overlap; 0: kernels
                  // in front of it and behind it do. With TILES every kernel does so, and this is 0
  tilepost_wait_t wait;
  tilepost_consumer_t consumer;
  int32_t neighbours;  // 1: collectives of other communicators may run beside it, in any order,
                       // because no GEMM waits for other ranks; where rows of A arrive, the GEMM is
                       // launched for each group when its rows have come
  const tilepost_group_t* groups;  // [map.num_groups]
  tilepost_kernel_t kernel;
} tilepost_plan_t;

// What one generated file defines.
typedef struct tilepost_program {
  uint32_t abi_version;  // TILEPOST_ABI_VERSION that it was generated for
  const char* name;
  int32_t num_plans;
  const tilepost_plan_t* plans;
} tilepost_program_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_PLAN_H
