// The spec: what the user wrote, each value with its place in the file. Format 1, docs/spec.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/Support/SMLoc.h"

namespace tilepost {

// A value and where it stands; the range is invalid where a default was taken.
template <class T>
struct Located {
  T value{};
  llvm::SMRange where;
  bool given() const { return where.isValid(); }
};

// The values are those of tilepost/plan.h.
enum class Pattern { gemm_all_reduce, gemm, gemm_reduce_scatter, gemm_all_to_all, all_gather_gemm };

// Whether ranks exchange anything. If not, the plan is one group on all SMs, transport none.
inline bool communicates(Pattern pattern) {
  return pattern != Pattern::gemm;
}

// Whether ranks add up what they compute.
inline bool reduces(Pattern pattern) {
  return pattern == Pattern::gemm_all_reduce || pattern == Pattern::gemm_reduce_scatter;
}

enum class Routing { even, splits, rows };
enum class ElementType { bf16, f16, e4m3 };  // e4m3: of A and B only
enum class GemmLayout { tn, nn };
enum class Accumulate { precise, fast };

// In the order they are applied; the values are those of tilepost/plan.h (TILEPOST_SCALE …).
enum class EpilogueOp {
  scale = 1,
  scale_rows = 2,
  scale_columns = 4,
  bias = 8,
  gelu = 16,
  silu = 32,
  residual = 64
};
enum class Arch { sm_80, sm_86, sm_89, sm_90a, host };
enum class OutputLayout { automatic, panel, tile };
// Host target: nccl means the in-process collective; the others move what they move.
enum class Transport { automatic, nccl, none, nccl_symmetric, copy_engine, peer };

// Whether ranks touch each other's memory (tilepost_access_t).
inline bool shares_memory(Transport transport) {
  return transport == Transport::copy_engine || transport == Transport::peer;
}

enum class Sum { automatic, staged, added };  // transport peer: tilepost_sum_t
enum class Wait { automatic, poll, stream };
enum class Consumer { none, unpermute, rms_norm, residual_rms_norm };

// The spelling in the spec, "sm_90a" say.
const char* name_of(Pattern value);
const char* name_of(Routing value);
const char* name_of(ElementType value);
const char* name_of(GemmLayout value);
const char* name_of(Accumulate value);
const char* name_of(EpilogueOp value);
const char* name_of(Arch value);
const char* name_of(OutputLayout value);
const char* name_of(Transport value);
const char* name_of(Sum value);
const char* name_of(Wait value);
const char* name_of(Consumer value);

struct GemmSpec {
  Located<int64_t> m, n, k;  // elements; k on each rank
  bool any_m = false;        // `m: {max: …}`: m is a bound, every run says its own
  Located<ElementType> a, b, out;
  Located<GemmLayout> layout;
  Located<Accumulate> accumulate;
  std::vector<Located<EpilogueOp>> epilogue;  // in the order they are applied
  llvm::SMRange where;
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
  Located<OutputLayout> layout;
  Located<Wait> wait;
  Located<Sum> sum;
  llvm::SMRange where;
};

struct Spec {
  std::string path;  // as given on the command line
  Located<std::string> name;
  Located<Pattern> pattern;
  Located<Routing> routing;  // gemm_all_to_all
  Located<int64_t> ranks;
  GemmSpec gemm;
  Located<std::vector<Arch>> archs;  // `arch: sm_90a` or `arch: [sm_80, sm_90a]`
  ScheduleSpec schedule;
  Located<Transport> transport;
  Located<Consumer> consumer;
};

}  // namespace tilepost
