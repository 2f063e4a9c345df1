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
#include "tilepost/version.h"

struct cudaLaunchConfig_st;  // cudaLaunchConfig_t of CUDA's headers

#ifdef __cplusplus
extern "C" {
#endif

// Element types of A and B; of the output all but the 8-bit one.
typedef enum tilepost_dtype {
  TILEPOST_BF16 = 0,
  TILEPOST_F16 = 1,
  TILEPOST_E4M3 = 2,  // 8 bits: 4 exponent, 3 mantissa, no infinities (OCP 8-bit floating point)
  TILEPOST_F32 = 3,   // of kernels of the user's own, and of the host target
} tilepost_dtype_t;

typedef enum tilepost_pattern {
  TILEPOST_GEMM_ALL_REDUCE = 0,
  TILEPOST_GEMM = 1,  // no communication: every rank keeps its own product
  TILEPOST_GEMM_REDUCE_SCATTER = 2,
  TILEPOST_GEMM_ALL_TO_ALL = 3,
  TILEPOST_ALL_GATHER_GEMM = 4,
  TILEPOST_ALL_TO_ALL_GEMM = 5,
} tilepost_pattern_t;

// Which rank gets a row of the product (TILEPOST_GEMM_ALL_TO_ALL), or of A
// (TILEPOST_ALL_TO_ALL_GEMM).
typedef enum tilepost_routing {
  TILEPOST_ROUTING_EVEN = 0,  // ceil(m / ranks) consecutive rows each, the last ranks what is left
  TILEPOST_ROUTING_SPLITS = 1,  // consecutive rows, how many is said at run time
  TILEPOST_ROUTING_ROWS = 2,    // a rank for every row, said at run time
} tilepost_routing_t;

// How the schedule is divided into groups, and what follows for the place of a tile. A rank's
// *share* is the rows that are its own: those it ends with (ReduceScatter), gets from each rank
// (All-to-All) or brings to those that multiply them (ARRIVALS).
typedef enum tilepost_division {
  // Rows in their order. Panel: a group is a band of whole rows; tile: a run of slots.
  TILEPOST_DIVISION_ROWS = 0,
  // Panel layout: no tile crosses the border of a share, every group has an equal part of every
  // share, and its block of the send buffer has these parts one after the other, by rank, each
  // padded to whole tiles.
  TILEPOST_DIVISION_SHARES = 1,
  // Tile layout: a group is whole tile columns. A tile column is a slab of whole rows: slot order
  // goes down the rows.
  TILEPOST_DIVISION_COLUMNS = 2,
  // Communication first, panel layout: rows of A arrive in group 0 from this rank's own share, in
  // group g > 0 from the same part of all the other shares; or, where these take turns, from those
  // that follow next, the share behind the own one first. A tile is in the group that brings the
  // last of its rows, and waits for that group's counter; those of the next ranks come first. Tiles
  // may cross the border of a share, and groups may have none.
  TILEPOST_DIVISION_ARRIVALS = 3,
} tilepost_division_t;

// How B lies in memory; A is [m, k] row-major always.
typedef enum tilepost_operands {
  TILEPOST_TN = 0,  // B [n, k] row-major
  TILEPOST_NN = 1,  // B [k, n] row-major
} tilepost_operands_t;

// How the products of e4m3 are summed (16-bit inputs are always summed in full fp32).
typedef enum tilepost_accumulate {
  TILEPOST_PRECISE = 0,  // in fp32 at least every 128 products
  TILEPOST_FAST = 1,     // in the tensor cores' accumulator of about 14 bits
} tilepost_accumulate_t;

// What happens to a sum before it is rounded, a set of these in this order:
//   x = sum * scale_a[0] * scale_b[0]                 SCALE
//   x = sum * scale_a[row] * scale_b[column]          SCALE_ROWS, SCALE_COLUMNS
//   x = x + bias[column]                              BIAS
//   x = gelu(x) or silu(x)                            GELU (by erf), SILU
//   x = x + residual[row, column]                     RESIDUAL
typedef enum tilepost_epilogue_op {
  TILEPOST_SCALE = 1,
  TILEPOST_SCALE_ROWS = 2,
  TILEPOST_SCALE_COLUMNS = 4,
  TILEPOST_BIAS = 8,
  TILEPOST_GELU = 16,
  TILEPOST_SILU = 32,
  TILEPOST_RESIDUAL = 64,
} tilepost_epilogue_op_t;

// Where a finished tile goes.
typedef enum tilepost_layout {
  TILEPOST_PANEL = 0,  // row-major output; a group is a band of whole rows
  TILEPOST_TILE = 1,   // one column of tile_m x tile_n tiles in slot order
} tilepost_layout_t;

typedef enum tilepost_transport {
  TILEPOST_TRANSPORT_NONE = 0,            // the whole GEMM, then one collective
  TILEPOST_TRANSPORT_NCCL = 1,            // a stock NCCL collective per group
  TILEPOST_TRANSPORT_HOST = 2,            // threads of one process
  TILEPOST_TRANSPORT_NCCL_SYMMETRIC = 3,  // as NCCL, out of symmetric windows
  TILEPOST_TRANSPORT_COPY_ENGINE = 4,     // copy engines read the other ranks' memory
  TILEPOST_TRANSPORT_PEER = 5,            // the kernel stores into the other ranks' memory
  TILEPOST_TRANSPORT_PEER_TILES = 6,      // the same for few rows: one kernel is the whole run
} tilepost_transport_t;

// Which rank touches the memory of which. It decides what ranks exchange (steps.h).
typedef enum tilepost_access {
  TILEPOST_ACCESS_MESSAGES = 0,  // no rank: both sides take part in collectives, sends, receives
  TILEPOST_ACCESS_READ = 1,      // the rank that needs something copies it out of the other rank's
                                 // memory; the rank that has rows of A copies them into the others
  TILEPOST_ACCESS_WRITE = 2,     // the kernel stores tiles in memory of the rank with their rows
  TILEPOST_ACCESS_TILES = 3,  // few rows: the kernels of all ranks meet and exchange tile by tile,
                              // or rows of A part by part (tilepost_exchange_t); nothing is left to
                              // do before or behind them
} tilepost_access_t;

// TILEPOST_ACCESS_TILES: how often a row of a tile goes from rank to rank.
typedef enum tilepost_shots {
  TILEPOST_SHOTS_NONE = 0,  // other access
  TILEPOST_ONE_SHOT = 1,    // every rank stores what it has computed with all that get it, who add
                            // it up, or take every rank's (All-to-All); or its rows of A
  TILEPOST_TWO_SHOT = 2,    // AllReduce: with the one rank that adds it up, which stores the sum
                            // with all others
  TILEPOST_ONE_SHOT_LINES = 3,  // one shot in lines of sixteen bytes, twelve of them data and the
                                // rest the number of the run: no flag comes behind the data
} tilepost_shots_t;

// TILEPOST_ACCESS_WRITE: how the ranks' parts of a sum come together.
typedef enum tilepost_sum {
  TILEPOST_SUM_STAGED = 0,  // side by side, a slot per rank; added in fp32 in the order of ranks
  TILEPOST_SUM_ADDED = 1,   // added to one another in the output's type as they arrive: the order
                            // varies, and every addition rounds
} tilepost_sum_t;

// How the communication stream waits for a group's counter.
typedef enum tilepost_wait {
  TILEPOST_WAIT_POLL = 0,    // a one-warp kernel polls
  TILEPOST_WAIT_STREAM = 1,  // cuStreamWaitValue32
} tilepost_wait_t;

// What happens to the tile layout after the collective.
typedef enum tilepost_consumer {
  TILEPOST_CONSUMER_NONE = 0,       // the output stays in the plan's layout
  TILEPOST_CONSUMER_UNPERMUTE = 1,  // a pass per group writes the output row-major
  TILEPOST_CONSUMER_RMS_NORM = 2,   // out = x * rsqrt(mean(x^2) + epsilon) * weight, by rows
  TILEPOST_CONSUMER_RESIDUAL_RMS_NORM = 3,  // x + residual is kept, then the same
} tilepost_consumer_t;

// One position of the schedule. Sixteen bytes, read by the kernel in one load.
typedef struct tilepost_tile {
  int32_t m;    // first row: of A, and of the product
  int32_t n;    // first column of the product
  int32_t row;  // first row of the destination: of the row-major send buffer (panel), or of the
                // column of slots (tile); -1 for a padding tile, which is computed and not stored.
                // With a row map, row r of the tile goes to row + row_map[m + r]
  int32_t group;  // whose counter the tile raises, or waits for (TILEPOST_DIVISION_ARRIVALS),
                  // unless its launch does (neighbours)
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
  int32_t cluster;           // CTAs that share a tile column and a group: consecutive positions
  int32_t band;              // tile rows swept together inside a group, for reuse in L2
  int32_t signals_per_tile;  // how often the kernel raises the counter for one position
  tilepost_layout_t layout;
  tilepost_division_t division;
  int32_t ranks;    // shares of the rows; 1 where ranks do not divide them
  int32_t stagger;  // SHARES: 0, or the positions computed at a time: then every rank has an order
                    // of its own, in which the shares of all ranks take turns (tile_map.h)
  int32_t round_robin;  // ARRIVALS: 1: one share after the other arrives, 0: parts of all at once
  int32_t num_groups;
  // [num_groups] end of each group: in tile rows (ROWS, panel), in positions (ROWS, tile), in tile
  // rows of a share (SHARES), in tile columns (COLUMNS). ARRIVALS: 0 for group 0, which is the
  // whole own share, then in tile rows of each other share, or, if they take turns, of all of them
  // one after the other, share_tiles (tile_map.h) each.
  const int32_t* cuts;
  int32_t turn;  // SHARES with stagger and one group: 0, or the tiles of a share that are computed
                 // behind one another before the next share's: the shares of the other ranks take
                 // such turns, and the rank's own share comes behind them (tile_map.h)
  int32_t lag;   // so many turns later than the others' tiles of the same number
} tilepost_map_t;

// How the kernel takes its arguments; before the view, which is always last:
typedef enum tilepost_launch {
  TILEPOST_LAUNCH_TMA = 0,       // CUtensorMap a, b, c by value; tilepost_shape_t;
                                 // tilepost_epilogue_t
  TILEPOST_LAUNCH_POINTERS = 1,  // const T* a, const T* b, C* c; tilepost_shape_t;
                                 // tilepost_epilogue_t
  TILEPOST_LAUNCH_HOST = 2,      // tilepost_host_kernel_t
  TILEPOST_LAUNCH_CUSTOM = 3,    // as its launcher gives them to it (tilepost_launcher_t)
} tilepost_launch_t;

// C[m, n] = A[m, k] * B, all row-major with the given leading dimensions (elements); B is [n, k] or
// [k, n] (tilepost_operands_t).
typedef struct tilepost_shape {
  int32_t m, n, k;
  int32_t lda, ldb, ldc;
} tilepost_shape_t;

// The epilogue's operands, device pointers (host pointers on the host target). Which of them are
// read is fixed by the plan's epilogue; the others may be anything.
typedef struct tilepost_epilogue {
  const float* scale_a;  // [1], or [m] with SCALE_ROWS
  const float* scale_b;  // [1], or [n] with SCALE_COLUMNS
  const void* bias;      // [n], of the output's type; null adds nothing
  const void* residual;  // [m, n] row-major, of the output's type
  void* out;             // where the kernel stores, for kernels that store without a tensor map
} tilepost_epilogue_t;

// TILEPOST_ACCESS_TILES: what a kernel does with the rows that it adds up, where the plan's
// consumer normalises (tilepost_consumer_t). Device pointers.
typedef struct tilepost_norm {
  const void* weight;  // [n], of the output's type
  void* residual;      // rows as out has them: TILEPOST_CONSUMER_RESIDUAL_RMS_NORM
  float epsilon;
} tilepost_norm_t;

// Elements of 16 bits in a line (TILEPOST_ONE_SHOT_LINES).
#define TILEPOST_LINE_ELEMENTS 6

// Of a run's kind: its kernel meets those of the other ranks by itself, and leaves it to the next
// run to say that it has ended.
#define TILEPOST_EXCHANGES 0x80000000u

// The most ranks whose kernels exchange tiles: the GPUs of one host.
#define TILEPOST_MOST_EXCHANGING 8

// What a kernel works with that is a whole run and meets the kernels of other ranks by itself
// (tilepost_plan_t::meets). Runs have numbers, modulo 2^32.
//
// Where kernels exchange tiles (TILEPOST_ACCESS_TILES), a CTA's rows of a tile are a *part*; parts
// have numbers, from 0, the same on all ranks, and what is sent of a part is received by the CTA
// that has the part on the other rank. What a run stores lies in the buffers of its parity, 0 or 1.
//
// Where rows of A move, a part is a piece of the rows of one rank, each of which has parts from
// number 0 on; slots then are [2 parities], each of which has all ranks' rows in their order.
typedef struct tilepost_exchange {
  // By rank, as this rank addresses it: memory that ranks share, laid out alike on all of them.
  char* memory[TILEPOST_MOST_EXCHANGING];
  // In it, in bytes:
  int64_t begun;       // lines, TILEPOST_COUNTER_STRIDE words each, by rank: the runs that it has
                       // begun, then what the last two were (runtime/cuda/shared/flags.h)
  int64_t ended;       // lines alike: the runs that it has ended
  int64_t arrived;     // flags [2 parities][2 shots][parts][TILEPOST_MOST_EXCHANGING], by rank that
                       // has stored: the number of the run
  int64_t slots;       // [2 parities][ranks], by rank that has stored
  int64_t slot_bytes;  // of one of them: the rows that a rank gets, of the output's length
  const void* slot_maps;  // CUtensorMap [2 parities][ranks]: this rank's slot on every rank
  void* const* there;     // [ranks] TILEPOST_TWO_SHOT: where sums go, rows as out has them
  void* out;
  // Of A, where that moves: this rank's rows, and where the caller wants all ranks'; null: nowhere.
  const void* own_rows;
  void* gathered;
  uint32_t* run;  // this rank's: runs begun [0], the kind of the last one [2], threads that
                  // have read both for the next one [3], and which half of `expected` holds [4];
                  // CTAs of a replay that have all sources [5], threads that have stored all [6]
  uint32_t* given_up;  // this rank's: not 0 since a wait has ended without what it was for
  // TILEPOST_ACCESS_WRITE. This rank's, by counter that other ranks' kernels raise here: what it
  // reads when all of the last run's is here, in the half that holds; the other one is for this
  // run's. And what this run adds to it.
  uint32_t* expected;       // [2 halves][counters]
  const uint32_t* targets;  // [num_targets] of the first counters, or where rows of A move of
                            // those of the run's parity; the others do not grow
  int32_t counters, num_targets;
  uint32_t kind;      // of this run: runs of one kind share their buffers, and alternate;
                      // TILEPOST_EXCHANGES is set
  uint32_t words[4];  // what all ranks must have in common in a run
  int32_t rank, ranks;
  int32_t rows;          // of the run's product
  int32_t share_rows;    // of an equal share of them, where a rank gets its share; else not read
  int32_t most_parts;    // of any run
  int32_t lines;         // TILEPOST_ONE_SHOT_LINES: of a part in a slot, sixteen bytes each
  int32_t row_units;     // of rows of A: of one, sixteen bytes each
  int32_t part_units;    // of rows of A: of a part, but the last one
  uint64_t deadline_ns;  // of every wait; 0: none
  // In memory of the host (runtime/cuda/watch/watch_page.h):
  const uint32_t* abort;
  uint32_t* begun_waits;   // [ranks][4]
  uint32_t* ended_waits;   // [ranks][4]
  uint32_t* arrived_wait;  // [4]
  uint32_t* difference;
  uint32_t* replays;  // begun, ended, which; null: the run is not captured
  uint32_t replayed;  // which of the captured runs it is
  tilepost_norm_t norm;
} tilepost_exchange_t;

// A CUtensorMap, for code without the CUDA driver's header. It is not aligned by itself: GCC would
// note how it passes such a structure by value. Kernels align the view that it is in.
typedef struct tilepost_tensor_map {
  uint64_t words[16];
} tilepost_tensor_map_t;

// Tensor maps begin at multiples of so many bytes, and so a view is as large.
#define TILEPOST_TENSOR_MAP_ALIGNMENT 64

// What a woven kernel gets besides its own arguments.
typedef struct tilepost_view {
  // By rank, of a kernel that adds sources where all ranks get the sums: where this rank's go
  // there.
  tilepost_tensor_map_t push_maps[TILEPOST_MOST_EXCHANGING];
  const tilepost_tile_t* tiles;  // [num_tiles] the schedule
  const int32_t* positions;      // [map_tile_rows(map) * tiles_n] schedule position by tile row and
                                 // column (tile_map.h)
  uint32_t* counters;            // one per group, TILEPOST_COUNTER_STRIDE apart
  const int32_t* row_map;  // [m] routing rows: what a tile adds to its row for each of its rows
  int32_t num_tiles;
  int32_t tiles_n;
  int32_t share_rows;   // rows of a share; tile rows start anew with every share
  int32_t share_tiles;  // tile rows of a share
  uint32_t ready;       // counter value at which a group's input has arrived (ARRIVALS)
  // TILEPOST_ACCESS_WRITE; tables by the rank that owns a tile's rows:
  int32_t rank;                    // whose stores to itself are not paced
  int32_t pace;                    // clock cycles from one store of a tile to the next, 0: none
  const void* out_maps;            // CUtensorMap [ranks]: where this rank's rows of that share go
  uint32_t* const* peer_counters;  // [ranks] its counters; the tile raises its group's there
  void* const*
      peer_out;  // [ranks] the same place as out_maps, for kernels that store with pointers
  const void* source_maps;  // CUtensorMap [ranks]: this rank's slots, by the rank that stores there
                            // (tilepost_plan_t::fused_sum)
  tilepost_tasks_t tasks;   // of helper warps
  // ARRIVALS with tasks or TILEPOST_ACCESS_TILES, whose kernel gets a map of the own rows of A, at
  // their places among all:
  const void* in_map;  // CUtensorMap: of where all rows of A arrive, in a whole run [2] by its
                       // parity; null: the kernel's own map is of that
  tilepost_exchange_t exchange;  // of a kernel that is a whole run; ranks is 0: it is not
  void* const* user;   // on the host target, [kernel.num_user]; on GPUs the launcher has it
  uint64_t unused[4];  // fills the structure up
} tilepost_view_t;

// Counters are 128 bytes apart, so that no two share a cache line.
#define TILEPOST_COUNTER_STRIDE 32

// A host kernel computes the positions worker, worker + workers, … of the view's schedule.
typedef void (*tilepost_host_kernel_t)(const void* a, const void* b, void* c,
                                       tilepost_shape_t shape, tilepost_epilogue_t epilogue,
                                       int worker, int workers, tilepost_view_t view);

// What a launcher is called with: one launch of a woven kernel. It holds during the call alone.
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

// Launches call->function once, with call->config, its own arguments and behind them &call->view
// (cudaLaunchKernelExC), and nothing else; allocates nothing, since it may be captured. `user` is
// the run's (tilepost_run_operands_t). Returns a cudaError_t.
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
  const void* function;                  // the __global__ function; null on the host target
  tilepost_host_kernel_t host_function;  // null on a GPU
  tilepost_launcher_t launcher;          // TILEPOST_LAUNCH_CUSTOM only; null otherwise
  int32_t arch;                          // 80, 86, 89, 90; 0 on the host target
  int32_t tile_k;                        // elements of K per pipeline stage
  int32_t cluster;                       // CTAs per cluster of the launch
  int32_t early;  // may be launched before the kernel in front of it in the stream has ended, for
                  // which it waits itself
  tilepost_box_t box_a, box_b, box_c;  // TILEPOST_LAUNCH_TMA
  int32_t threads;                     // per CTA
  int32_t shared_bytes;                // dynamic shared memory per CTA
  int32_t helper_bytes;                // of it, what a helper warp may use (mark.cuh)
  int32_t ctas_per_sm;
  int32_t block[3];      // a CTA's threads along x, y and z; 0: all along x
  int32_t tile_per_cta;  // 1: the grid has a CTA for every position of the schedule, which computes
                         // that one; 0: CTAs compute several, gemm_ctas apart
  const char* const* user;  // [num_user] what a run's user has the addresses of: "user.scales"
  int32_t num_user;         // 0: that is the launcher's alone
} tilepost_kernel_t;

// What the planner expects of the plan's kernel and collectives, for choosing the groups of another
// m at run time (groups.h). Microseconds. All 0 where nothing is timed.
typedef struct tilepost_model {
  double start;             // before the first wave
  double wave;              // one wave on gemm_ctas CTAs
  double read_b, read_row;  // reading B, and a row of A, takes all SMs: no GEMM ends before that
  double wait;      // ARRIVALS: before everything else; elsewhere before collectives that start as
                    // soon as their group is done, on top of latency
  double latency;   // of a collective, with its wait
  double per_byte;  // of a group's block
  double tail;      // of the last collective; ARRIVALS: of each, while the next one goes on
  double sequence_wave;                        // one wave on all SMs, nothing beside it
  double sequence_latency, sequence_per_byte;  // of one collective on the whole GPU
  int32_t sequence_ctas;  // of the GEMM when nothing runs beside it; 0: every run overlaps
  int64_t most_bytes;     // of a group that has more than one cut point; 0: no bound
  double slack;           // a part of the whole: fewer groups may end so much later than the best
  double margin;          // a part of the run in sequence: overlap is to win by more than that
} tilepost_model_t;

// The most plans of one architecture, and user data of one kernel.
#define TILEPOST_MOST_RANGES 4
#define TILEPOST_MOST_USER_DATA 16

// One plan: one kernel on one architecture. A program for any m may have several for each: the
// first could serve every run, those behind it are for fewer and fewer rows. A run is the plan's
// that is for the fewest rows of those that have room for it.
typedef struct tilepost_plan {
  tilepost_pattern_t pattern;
  int32_t ranks;
  int64_t k;  // on each rank; m and n are in map
  tilepost_dtype_t input, output;
  tilepost_operands_t operands;
  tilepost_accumulate_t accumulate;
  int32_t epilogue;  // a set of TILEPOST_SCALE …
  tilepost_routing_t routing;
  int32_t any_m;      // 1: the m of runs is bounded, and every run says its own
  int64_t rows_sent;  // TILEPOST_ALL_TO_ALL_GEMM: the m of runs, rows of A on each rank, or its
                      // bound; map.m is then the most that a rank receives. Elsewhere 0: map.m
  tilepost_model_t model;  // of plans whose runs differ in rows: what groups are chosen by
  tilepost_map_t map;
  uint64_t map_hash;   // tile_map.h: hash of the tile table the planner verified (of rank 0)
  int32_t sms;         // SMs of the GPU planned for
  int32_t gemm_ctas;   // grid of the GEMM
  int32_t comm_ctas;   // upper bound given to NCCL, over all lanes
  int32_t comm_lanes;  // communicators that take turns at the groups, each on a stream of its own
  tilepost_transport_t transport;
  tilepost_access_t access;  // follows from transport; on the host target it stands for it
  tilepost_sum_t sum;
  tilepost_shots_t shots;
  int32_t pushes;      // 1: what all ranks are to have, sums of an AllReduce and rows of
                       // A, is stored there by the rank that has it; 0: they copy it
  int32_t task_parts;  // parts that the kernel's helper warps add up, 1: rows that they move
                       // (All-to-All of a product: to the output; rows of A: the own ones to where
                       // all are gathered, WRITE: by all ranks); 0: that is left to the runtime
  int32_t reads_own;   // 1: the kernel reads this rank's rows of A where the caller has them
  int32_t row_gap;     // WRITE with tasks, rows of the product: elements that follow each row where
                       // other ranks store it, so that all begin on lines of memory
  int32_t pace;        // tilepost_view_t::pace
  int32_t
      fused_sum;  // WRITE: 1: other ranks' tiles go straight into slots, and the kernel adds them
                  // up in the epilogue of its own tiles, which come later (tilepost_map_t::turn)
  int32_t meets;  // WRITE: 1: the kernel begins and ends runs that overlap by itself, and there
                  // is no other; 0: kernels in front of it and behind it do. Elsewhere 0; of
                  // TILES every kernel does
  tilepost_wait_t wait;
  tilepost_consumer_t consumer;
  int32_t neighbours;  // 1: collectives of other communicators may run beside it, in any order: no
                       // GEMM waits for other ranks; where rows of A arrive, it is launched for
                       // each group of them when they have come
  const tilepost_group_t* groups;  // [map.num_groups]
  tilepost_kernel_t kernel;
} tilepost_plan_t;

// What one generated file defines.
typedef struct tilepost_program {
  uint32_t abi_version;  // TILEPOST_ABI_VERSION it was generated for
  const char* name;
  int32_t num_plans;
  const tilepost_plan_t* plans;
} tilepost_program_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_PLAN_H
