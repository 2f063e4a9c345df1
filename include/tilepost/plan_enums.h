// The words of a plan (tilepost/plan.h): what its dtype, pattern, layout, transport and so on may
// be.
#ifndef TILEPOST_PLAN_ENUMS_H
#define TILEPOST_PLAN_ENUMS_H

#ifdef __cplusplus
extern "C" {
#endif

// Element types. A and B may have any of them, and the product any but the 8-bit one. An output of
// 8 bits is quantised from it (tilepost_plan_t::quantised).
typedef enum tilepost_dtype {
  TILEPOST_BF16 = 0,
  TILEPOST_F16 = 1,
  TILEPOST_E4M3 = 2,  // 8 bits: 4 exponent, 3 mantissa, no infinities (OCP 8-bit floating point)
  TILEPOST_F32 = 3,   // only kernels of the user's own, and the host target
} tilepost_dtype_t;

typedef enum tilepost_pattern {
  TILEPOST_GEMM_ALL_REDUCE = 0,
  TILEPOST_GEMM = 1,  // no communication: every rank keeps its own product
  TILEPOST_GEMM_REDUCE_SCATTER = 2,
  TILEPOST_GEMM_ALL_TO_ALL = 3,
  TILEPOST_ALL_GATHER_GEMM = 4,
  TILEPOST_ALL_TO_ALL_GEMM = 5,
  TILEPOST_GROUPED_GEMM = 6,  // no communication: rows of A sorted by expert, a B for each expert
  TILEPOST_DISPATCH_GROUPED_GEMM = 7,  // tokens come together, and each is multiplied by the B of
                                       // those of its experts that are this rank's
  TILEPOST_GROUPED_GEMM_COMBINE = 8,   // rows of experts are multiplied, and those of each token
                                       // are summed with their weights, at home with the token
} tilepost_pattern_t;

// Which rank gets a row of the product (TILEPOST_GEMM_ALL_TO_ALL), or of A
// (TILEPOST_ALL_TO_ALL_GEMM).
typedef enum tilepost_routing {
  TILEPOST_ROUTING_EVEN = 0,    // ceil(m / ranks) consecutive rows each; fewer on the last ranks
  TILEPOST_ROUTING_SPLITS = 1,  // consecutive rows; their number is set at run time
  TILEPOST_ROUTING_ROWS = 2,    // a rank for every row, set at run time
} tilepost_routing_t;

// How the schedule is divided into groups, which also decides where a tile goes. A rank's *share*
// is the rows that belong to it: the rows that it ends with (ReduceScatter), that it gets from each
// rank (All-to-All), or that it brings to the ranks that multiply them (ARRIVALS).
typedef enum tilepost_division {
  // Rows in their order. A group is a band of whole rows (panel) or consecutive slots (tile).
  TILEPOST_DIVISION_ROWS = 0,
  // Panel layout. No tile crosses the border of a share, and every group has an equal part of every
  // share. A group's block of the send buffer has these parts one after the other, by rank, each
  // padded to whole tiles.
  TILEPOST_DIVISION_SHARES = 1,
  // Tile layout. A group is whole tile columns. A tile column is a slab of whole rows, because
  // slots follow each other down the rows.
  TILEPOST_DIVISION_COLUMNS = 2,
  // Panel layout, communication first. Group 0 is this rank's own share of the rows of A. The rows
  // of a group g > 0 arrive together: they are the same part of all other shares or, where the
  // shares take turns, the next rows, beginning with the next rank's share. A tile is in the group
  // that brings the last of its rows, and waits for that group's counter. Within a group the next
  // ranks' tiles come first. Tiles may cross the border of a share. A group may have no tiles.
  TILEPOST_DIVISION_ARRIVALS = 3,
} tilepost_division_t;

// How B lies in memory. A is always [m, k] row-major.
typedef enum tilepost_operands {
  TILEPOST_TN = 0,  // B [n, k] row-major
  TILEPOST_NN = 1,  // B [k, n] row-major
} tilepost_operands_t;

// How the products of e4m3 are summed (16-bit inputs are always summed in full fp32).
typedef enum tilepost_accumulate {
  TILEPOST_PRECISE = 0,  // in fp32 at least every 128 products
  TILEPOST_FAST = 1,     // in the tensor cores' accumulator of about 14 bits
} tilepost_accumulate_t;

// What the elements of A and B stand for. A scale multiplies a block of them.
typedef enum tilepost_scales {
  TILEPOST_SCALES_NONE = 0,  // for themselves, but for what the epilogue does to their sums
  // For themselves times the scale of their block. A block is, of A, up to TILEPOST_SCALE_BLOCK
  // elements of a row and, of B, as many of up to as many columns. Blocks begin at multiples of
  // that along k and n, so that the last ones may be smaller.
  TILEPOST_SCALES_BLOCKS = 1,
} tilepost_scales_t;

// How the scales of A's blocks lie in memory, with TILEPOST_SCALES_BLOCKS. There are
// ceil(k / TILEPOST_SCALE_BLOCK) of them for each row of A. Those of B always are
// [ceil(n / TILEPOST_SCALE_BLOCK), ceil(k / TILEPOST_SCALE_BLOCK)], row-major.
typedef enum tilepost_scales_order {
  TILEPOST_SCALES_ROWS = 0,     // row by row: the scales of a row of A follow each other
  TILEPOST_SCALES_COLUMNS = 1,  // block by block along k: the scales of one block of all rows
                                // follow each other, and the next block's begin m rounded up to a
                                // multiple of TILEPOST_SCALES_PITCH elements further on
} tilepost_scales_order_t;

#define TILEPOST_SCALE_BLOCK 128
#define TILEPOST_SCALES_PITCH 4

// Operations on a sum before it is rounded. A plan has a set of them, applied in this order:
//   x = sum * scale_a[0] * scale_b[0]                 SCALE
//   x = sum * scale_a[row] * scale_b[column]          SCALE_ROWS, SCALE_COLUMNS
//   x = x + bias[column]                              BIAS
//   x = gelu(x) or silu(x)                            GELU (by erf), SILU
//   x = silu(gate) * up, and so on                    SWIGLU, GEGLU, SWIGLU_CLAMPED, BILINEAR
//   x = x + residual[row, column]                     RESIDUAL
//
// The operations of the fourth line are those of experts (PatternRow::has_experts). B has two rows
// for each column of the output, whose sums are called gate and up (tilepost_gate_t). Scales and
// bias are applied to both. Then
//   SWIGLU          silu(gate) * up
//   GEGLU           gelu(gate) * up
//   SWIGLU_CLAMPED  g * sigmoid(1.702 g) * (u + 1), with g = min(gate, 7) and u = up clamped to ±7
//   BILINEAR        gate * up
typedef enum tilepost_epilogue_op {
  TILEPOST_SCALE = 1,
  TILEPOST_SCALE_ROWS = 2,
  TILEPOST_SCALE_COLUMNS = 4,
  TILEPOST_BIAS = 8,
  TILEPOST_GELU = 16,
  TILEPOST_SILU = 32,
  TILEPOST_RESIDUAL = 64,
  TILEPOST_SWIGLU = 128,
  TILEPOST_GEGLU = 256,
  TILEPOST_SWIGLU_CLAMPED = 512,
  TILEPOST_BILINEAR = 1024,
} tilepost_epilogue_op_t;

// Where B has the rows of gate and up, for operations of the epilogue that combine the two. An
// expert has 2 n rows then, and n is the number of columns of the output.
typedef enum tilepost_gate {
  TILEPOST_GATE_HALVES = 0,       // all rows of gate, then all rows of up
  TILEPOST_GATE_INTERLEAVED = 1,  // a row of gate, then the row of up of the same column
} tilepost_gate_t;

// Where a finished tile goes.
typedef enum tilepost_layout {
  TILEPOST_PANEL = 0,  // row-major output; a group is a band of whole rows
  TILEPOST_TILE = 1,   // one column of tile_m x tile_n tiles in slot order
} tilepost_layout_t;

typedef enum tilepost_transport {
  TILEPOST_TRANSPORT_NONE = 0,            // the whole GEMM, then one collective
  TILEPOST_TRANSPORT_NCCL = 1,            // a stock NCCL collective per group
  TILEPOST_TRANSPORT_HOST = 2,            // threads of one process
  TILEPOST_TRANSPORT_NCCL_SYMMETRIC = 3,  // as NCCL, with buffers in symmetric windows
  TILEPOST_TRANSPORT_COPY_ENGINE = 4,     // copy engines read the other ranks' memory
  TILEPOST_TRANSPORT_PEER = 5,            // the kernel stores into the other ranks' memory
  TILEPOST_TRANSPORT_PEER_TILES = 6,      // the same for few rows: one kernel is the whole run
  TILEPOST_TRANSPORT_HOST_COPIES = 7,     // copy engines carry messages through pinned host memory
} tilepost_transport_t;

// Which rank touches whose memory. This decides what ranks exchange (steps.h).
typedef enum tilepost_access {
  TILEPOST_ACCESS_MESSAGES = 0,  // none: both sides take part in collectives, sends and receives
  TILEPOST_ACCESS_READ = 1,      // the rank that needs something copies it out of the other rank's
                                 // memory; a rank's rows of A are copied by it, into the others'
  TILEPOST_ACCESS_WRITE = 2,     // the kernel stores tiles in the memory of their rows' owners
  TILEPOST_ACCESS_TILES = 3,  // few rows: the kernels of all ranks meet and exchange tiles one by
                              // one, or rows of A part by part (tilepost_exchange_t); nothing is
                              // left to do before or behind these kernels
} tilepost_access_t;

// TILEPOST_ACCESS_TILES: how often a row of a tile goes from rank to rank.
typedef enum tilepost_shots {
  TILEPOST_SHOTS_NONE = 0,  // any other access
  TILEPOST_ONE_SHOT = 1,    // every rank stores its tiles, or its rows of A, in the memory of all
                            // ranks that get them; these add the tiles up, or keep every rank's
                            // (All-to-All)
  TILEPOST_TWO_SHOT = 2,    // AllReduce: every rank stores a row in the memory of the one rank that
                            // adds it up, and that rank stores the sum in the memory of all others
  TILEPOST_ONE_SHOT_LINES = 3,  // one shot in lines of 16 bytes: 12 bytes of data and the number of
                                // the run, so that no flag has to follow the data
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

// What is done with the output when it has arrived.
typedef enum tilepost_consumer {
  TILEPOST_CONSUMER_NONE = 0,       // the output stays in the plan's layout
  TILEPOST_CONSUMER_UNPERMUTE = 1,  // a pass per group writes the output row-major
  TILEPOST_CONSUMER_RMS_NORM = 2,   // out = x * rsqrt(mean(x^2) + epsilon) * weight, by rows
  TILEPOST_CONSUMER_RESIDUAL_RMS_NORM = 3,  // x + residual is kept, and then normalised
  TILEPOST_CONSUMER_QUANTISE = 4,  // a pass per group or run rounds x to 8 bits, with scales of
                                   // blocks (tilepost_plan_t::quantised), and writes it row-major
} tilepost_consumer_t;

// Which arguments the kernel takes. The view comes behind them, always as the last one.
typedef enum tilepost_launch {
  TILEPOST_LAUNCH_TMA = 0,       // CUtensorMap a, b, c by value; tilepost_shape_t;
                                 // tilepost_epilogue_t
  TILEPOST_LAUNCH_POINTERS = 1,  // const T* a, const T* b, C* c; tilepost_shape_t;
                                 // tilepost_epilogue_t
  TILEPOST_LAUNCH_HOST = 2,      // tilepost_host_kernel_t
  TILEPOST_LAUNCH_CUSTOM = 3,    // those that its launcher gives it (tilepost_launcher_t)
} tilepost_launch_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TILEPOST_PLAN_ENUMS_H
