// The spec: what the user wrote, each value with its place in the file. Format 1, docs/spec.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/spec/expression.h"
#include "runtime/map/patterns.h"
#include "tilepost/plan.h"

namespace tilepost {

// A value and where it stands; the place is unknown where a default was taken.
template <class T>
struct Located {
  T value{};
  Place where;
  bool given() const { return where.known(); }
};

enum class Arch { sm_80, sm_86, sm_89, sm_90a, host };

// The spelling in the spec, "sm_90a" say.
const char* name_of(tilepost_pattern_t value);
const char* name_of(tilepost_routing_t value);
const char* name_of(tilepost_dtype_t value);
const char* name_of(tilepost_operands_t value);
const char* name_of(tilepost_accumulate_t value);
const char* name_of(tilepost_epilogue_op_t value);
const char* name_of(Arch value);
const char* name_of(tilepost_layout_t value);
const char* name_of(tilepost_transport_t value);
const char* name_of(tilepost_sum_t value);
const char* name_of(tilepost_wait_t value);
const char* name_of(tilepost_consumer_t value);

struct GemmSpec {
  Located<int64_t> m, n,
      k;               // elements; k on each rank; m of A on each rank where its rows are routed
  bool any_m = false;  // `m: {max: …}`: m is a bound, every run says its own
  Located<tilepost_dtype_t> a, b, out;
  bool b_is_user = false;  // `b: user`: in a form of the kernel's own; its type is then that of a
  Located<tilepost_operands_t> layout;
  Located<tilepost_accumulate_t> accumulate;
  std::vector<Located<tilepost_epilogue_op_t>> epilogue;  // in the order they are applied
  Place where;
};

// Absent fields are the planner's to choose.
struct ScheduleSpec {
  std::optional<Located<std::vector<int64_t>>> tile;  // [rows, columns]
  std::optional<Located<int64_t>> stages;
  std::optional<Located<int64_t>> cluster;
  std::optional<Located<std::vector<int64_t>>> groups;  // in waves
  std::optional<Located<int64_t>> comm_sms;             // CTAs for the collectives
  std::optional<Located<int64_t>> lanes;                // collectives that may overlap
  std::optional<Located<int64_t>> sms;                  // SMs of the GPU planned for
  std::optional<Located<int64_t>> kernels;              // any m: at most, each for a range of m
  Located<std::optional<tilepost_layout_t>> layout;
  Located<std::optional<tilepost_wait_t>> wait;
  Located<std::optional<tilepost_sum_t>> sum;
  Located<std::optional<tilepost_shots_t>> shots;
  Place where;
};

// What a parameter of the user's kernel is given.
struct KernelArgument {
  enum class Kind { a, b, out, null, user, whole, real };

  std::string parameter;  // its name
  Kind kind = Kind::whole;
  Expression whole;  // Kind::whole
  double real = 0;   // Kind::real
  std::string data;  // Kind::user: which UserData
  Place where;
};

// Memory that every run hands to the user's kernel besides its operands, and that it only reads.
struct UserData {
  std::string name;
  Expression bytes;
  Place where;
};

// A kernel of the user's own. Absent lists and numbers say nothing.
struct KernelSpec {
  Located<std::string> file;  // relative to the spec's folder
  Located<bool> cutlass;      // it is a type of CUTLASS's with tilepost's scheduler and epilogue
  Located<std::string> function;                   // "lib::my_gemm<128, 256>"; cutlass: that type
  Located<std::vector<int64_t>> tile;              // [rows, columns] that a block computes
  Located<std::vector<Expression>> threads;        // of a block: x, y, z
  Located<std::vector<Expression>> grid;           // unmarked: as it is launched alone: x, y, z
  Located<Expression> shared_bytes;                // dynamic shared memory of a block
  Located<std::vector<KernelArgument>> arguments;  // or launcher
  Located<std::string> launcher;                   // a function of the file: "lib::launch"
  Located<std::vector<UserData>> user;             // in the order in which runs hand it over
  Located<Expression> b_bytes;                     // GemmSpec::b_is_user: of B
  Located<std::array<int64_t, 3>> requires_{{1, 1, 1}, {}};  // m, n, k are multiples of these
  std::array<int64_t, 3> equals{};  // of requires_ too: what m, n, k are; 0: any such multiple
  Located<int64_t> blocks_per_sm{1, {}};
  Located<bool> loop;               // unmarked: its blocks take tiles in turn
  Located<int64_t> signals{1, {}};  // marked: how often tile_done is said of a tile
  Located<int64_t> cluster{1, {}};  // marked: blocks of a cluster, side by side along x
  // Marked, with TMA stores by tilepost::out_map: rows and columns of a store, bytes of its
  // swizzle.
  Located<std::vector<int64_t>> store_box;
  Located<double> efficiency{0.5, {}};                      // of the tensor cores' peak
  Located<std::vector<Located<std::string>>> include_dirs;  // relative to the spec's folder
  // Of headers that stay where they are; likewise.
  Located<std::vector<Located<std::string>>> system_include_dirs;
  Located<std::vector<Located<std::string>>> defines;  // "NAME" or "NAME=value"
  Place where;
};

struct Spec {
  std::string path;  // as given on the command line
  Located<std::string> name;
  Located<tilepost_pattern_t> pattern;
  Located<tilepost_routing_t> routing;  // PatternRow::routes
  // Rows that a rank receives at most where rows of A are routed; absent: all that are sent.
  std::optional<Located<int64_t>> max_received;
  Located<int64_t> ranks;
  GemmSpec gemm;
  Located<std::vector<Arch>> archs;  // `arch: sm_90a` or `arch: [sm_80, sm_90a]`
  ScheduleSpec schedule;
  Located<std::optional<tilepost_transport_t>> transport;
  Located<bool> neighbours;  // collectives of other communicators run beside it
  Located<tilepost_consumer_t> consumer;
  std::optional<KernelSpec> kernel;  // absent: the bundled one
};

}  // namespace tilepost
