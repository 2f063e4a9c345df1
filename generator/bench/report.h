// What `tilepost bench` shows: a table for people, JSON for programs.
#pragma once

#include <optional>
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

// What is the least that any way could take, in us: the GEMM alone, or what a rank has to send, in
// a mode from end to end. Nothing where one of them is not known.
std::optional<double> limit_us(const Plan& plan, const ModeSamples& samples);

// Why there are no times of a program; requires that it is not ok().
std::string refusal(const ProgramSamples& samples);

// The table's lines: its head, once the machine is known; a program's, once it has ended; the
// geometric means and what failed, at the end.
std::string table_head(const BenchContext& context, const llvm::json::Object& machine,
                       double seconds);
std::string table_rows(const HarnessProgram& program, const ProgramSamples& samples);
// The head and a row of the table of operations on all ranks: the modes "overlap", "steady" and
// "graph". PyTorch's times are beside "overlap" and "graph".
std::string overlap_head();
std::string overlap_row(const HarnessProgram& program, const ProgramSamples& samples,
                        const ModeSamples& mode);
std::string table_foot(const std::vector<HarnessProgram>& programs, const BenchLog& log);

// An SVG file: the ratios of all points with their quartiles and limits, and, where a spec was
// measured with several small numbers of rows, its times by rows.
std::string bench_picture(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                          const BenchLog& log);

std::string bench_json(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                       const BenchLog& log);

}  // namespace tilepost
