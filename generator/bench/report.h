// What `tilepost bench` shows: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "generator/bench/bench.h"
#include "generator/bench/records.h"
#include "generator/bench/statistics.h"
#include "generator/harness/programs.h"

namespace tilepost {

// What a report contains besides the measurements.
struct BenchContext {
  std::string date;      // "2026-11-21T15:04:05Z"
  std::string revision;  // of the tool's sources, "" if unknown
  BenchOptions options;
  bool end_to_end = false;  // whether some operation may be measured on all ranks
};

// One ratio of two variants' times: how many times faster `faster` is than `than`.
struct RatioKind {
  const char* name;
  const char* faster;
  const char* than;
};
inline constexpr RatioKind kRatioKinds[] = {{"ours vs cublaslt", "ours", "cublaslt"},
                                            {"plain vs cublaslt", "plain", "cublaslt"},
                                            {"signal on vs off", "ours", "plain"},
                                            {"ours vs sequence", "ours", "sequence"},
                                            {"fused vs sequence", "fused", "sequence"}};

// The ratio of each round. Empty if one of the variants was not measured.
std::vector<double> ratios_of(const ModeSamples& samples, const RatioKind& kind);

// The table's lines. The head is shown once the machine is known, the rows of a program once it has
// ended, and the foot at the end. The foot has the geometric means and how much failed.
std::string table_head(const BenchContext& context, const llvm::json::Object& machine,
                       double seconds);
std::string table_rows(const HarnessProgram& program, const ProgramSamples& samples);
// The head and a row of the table of operations on all ranks: the modes "overlap", "steady" and
// "graph". PyTorch's times are beside "overlap" and "graph".
std::string overlap_head();
std::string overlap_row(const HarnessProgram& program, const ProgramSamples& samples,
                        const ModeSamples& mode);
std::string table_foot(const std::vector<HarnessProgram>& programs, const BenchLog& log);

std::string bench_json(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                       const BenchLog& log);

}  // namespace tilepost
