// The spec: what the user wrote, each value with its place in the file. Format 1, docs/spec.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/spec/expression.h"
#include "runtime/map/enumerators.h"
#include "runtime/map/patterns.h"
#include "tilepost/dtype.h"
#include "tilepost/plan.h"

namespace tilepost {

// A value and its place in the spec. The place of a default is unknown.
template <class T>
struct Located {
  T value{};
  Place where;
  bool given() const { return where.known(); }
};

enum class Arch { sm_80, sm_86, sm_89, sm_90a, host };

// The spelling in the spec, for example "sm_90a".
const char* name_of(Arch value);

struct GemmSpec {
  Located<int64_t> m, n,
      k;               // elements; k on each rank; m of A on each rank where its rows are routed
  bool any_m = false;  // `m: {max: …}`: m is a bound, every run has an m of its own
  Located<tilepost_dtype_t> a, b, out;
  bool b_is_user = false;  // `b: user`: B is in a form of the kernel's own; b is then the type of a
  Located<tilepost_operands_t> layout;
  Located<tilepost_accumulate_t> accumulate;
  Located<tilepost_scales_t> scales;
  Located<tilepost_scales_order_t> scales_a, scales_out;
  std::vector<Located<tilepost_epilogue_op_t>> epilogue;  // in the order they are applied
  Located<int64_t> experts;       // PatternRow::has_experts; of all ranks; 0 where not given
  Located<int64_t> top;           // PatternRow::dispatches: experts of a token; 0 where not given
  Located<tilepost_gate_t> gate;  // for operations that combine gate and up
  Place where;
};

// The planner chooses absent fields.
struct ScheduleSpec {
  std::optional<Located<std::vector<int64_t>>> tile;  // [rows, columns]
  std::optional<Located<int64_t>> stages;
  std::optional<Located<int64_t>> cluster;
  std::optional<Located<std::vector<int64_t>>> groups;  // in waves
  std::optional<Located<int64_t>> comm_sms;             // CTAs that the collectives get
  std::optional<Located<int64_t>> lanes;                // collectives that may overlap
  std::optional<Located<int64_t>> sms;                  // SMs of the GPU planned for
  std::optional<Located<int64_t>> kernels;  // any m: the most kernels, each for a range of m
  Located<std::optional<tilepost_layout_t>> layout;
  Located<std::optional<tilepost_wait_t>> wait;
  Located<std::optional<tilepost_sum_t>> sum;
  Located<std::optional<tilepost_shots_t>> shots;
  Place where;
};

// What a parameter of the user's kernel is given.
struct KernelArgument {
  enum class Kind { a, b, out, null, user, whole, real };

  std::string parameter;  // the parameter's name
  Kind kind = Kind::whole;
  Expression whole;  // Kind::whole
  double real = 0;   // Kind::real
  std::string data;  // Kind::user: which UserData
  Place where;
};

// Memory that every run hands to the user's kernel besides its operands. The kernel only reads it.
struct UserData {
  std::string name;
  Expression bytes;
  Place where;
};

// A kernel of the user's own.
struct KernelSpec {
  Located<std::string> file;           // relative to the spec's folder
  Located<bool> cutlass;               // a CUTLASS type with tilepost's scheduler and epilogue
  Located<std::string> function;       // "lib::my_gemm<128, 256>"; cutlass: that type
  Located<std::vector<int64_t>> tile;  // [rows, columns] that a block computes
  Located<std::vector<Expression>> threads;        // of a block: x, y, z
  Located<std::vector<Expression>> grid;           // unmarked: as its author launches it: x, y, z
  Located<Expression> shared_bytes;                // dynamic shared memory of a block
  Located<std::vector<KernelArgument>> arguments;  // or launcher
  Located<std::string> launcher;                   // a function of the file: "lib::launch"
  Located<std::vector<UserData>> user;             // in the order in which runs hand it over
  Located<Expression> b_bytes;                     // GemmSpec::b_is_user: bytes of B
  Located<std::array<int64_t, 3>> requires_{{1, 1, 1}, {}};  // m, n, k are multiples of these
  std::array<int64_t, 3> equals{};  // also of kernel.requires: the only m, n, k; 0: any multiple
  Located<int64_t> blocks_per_sm{1, {}};
  Located<bool> loop;               // unmarked: whether its blocks take tiles in turn
  Located<int64_t> signals{1, {}};  // marked: how often tile_done is called for a tile
  Located<int64_t> cluster{1, {}};  // marked: blocks of a cluster, side by side along x
  // For marked kernels that store with TMA by tilepost::out_map: the rows and columns of one store,
  // and its swizzle in bytes.
  Located<std::vector<int64_t>> store_box;
  Located<double> efficiency{0.5, {}};                      // of the tensor cores' peak
  Located<std::vector<Located<std::string>>> include_dirs;  // relative to the spec's folder
  // Folders of headers that generated code includes from where they are; relative to the spec's
  // folder.
  Located<std::vector<Located<std::string>>> system_include_dirs;
  Located<std::vector<Located<std::string>>> defines;  // "NAME" or "NAME=value"
  Located<std::vector<Located<std::string>>> flags;    // of nvcc (kernel/kernel_flags.h)
  Place where;
};

// What a layer of experts (pattern 'moe') has besides its first half. The rest of the spec
// describes that half (layer.h).
struct LayerSpec {
  std::optional<Located<tilepost_epilogue_op_t>> residual;  // added to the sums of the second half
};

// A part of a layer of experts. A spec, or a plan, that is no part of a layer has Half::none.
enum class Half { none, first, second };

// "first" or "second"; "" for Half::none.
const char* name_of(Half half);

struct Spec {
  std::string path;  // as given on the command line
  Located<std::string> name;
  Located<tilepost_pattern_t> pattern;
  std::optional<LayerSpec> layer;
  Half half = Half::none;               // of operations_of (layer.h)
  Located<tilepost_routing_t> routing;  // PatternRow::routes
  // The most rows that a rank receives where rows of A are routed; absent: all rows that are sent.
  std::optional<Located<int64_t>> max_received;
  // The most rows that a rank has where tokens go to experts; absent: as many as there can be.
  std::optional<Located<int64_t>> max_rows;
  Located<int64_t> ranks;
  GemmSpec gemm;
  Located<std::vector<Arch>> archs;  // `arch: sm_90a` or `arch: [sm_80, sm_90a]`
  ScheduleSpec schedule;
  Located<std::optional<tilepost_transport_t>> transport;
  Located<bool> neighbours;  // whether collectives of other communicators run beside it
  Located<bool> registered;  // whether outputs of runs are registered, or lent by the operation
  Located<tilepost_consumer_t> consumer;
  std::optional<KernelSpec> kernel;  // absent: the bundled one
};

}  // namespace tilepost
