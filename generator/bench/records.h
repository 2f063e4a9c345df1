// The harness's records (runtime/bench/record.h), read as they come.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace tilepost {

// One comparison of a variant's results with `against`: another variant, or what counts as right.
struct CheckRecord {
  std::string variant;  // "ours", "plain", "cublaslt", "overlap"
  std::string against;
  int64_t elements = 0, wrong = 0;
  std::string out;  // of variant overlap: "own", "registered" or "caller's" memory; else ""
};

// All samples of one program in one mode.
struct ModeSamples {
  std::string mode;  // "cool", "sustained"; from end to end "overlap", "steady", "graph", "torch …"
  std::map<std::string, std::vector<double>> us;  // by variant: microseconds, a value per round
  std::vector<double> mhz, watts;                 // a value per round in which it is known
  // How many candidates cuBLASLt has, and the index of the fastest.
  int candidates = 0, fastest = -1;
  std::string cublas_kernels;  // the kernels of the fastest candidate, or "" if unknown
  int cublas_sms = 0;          // how many SMs cuBLASLt may use
  int cublas_operations = 0;   // which operations of the plan's epilogue cuBLASLt computes
  int64_t rows = 0;            // how many rows the GEMM multiplies; 0: as many as in the plan
};

struct ProgramSamples {
  std::string program;
  std::vector<CheckRecord> checks;
  std::vector<ModeSamples> modes;
  std::vector<std::string> notes;
  std::string failure;  // why there is no measurement, or ""
  bool ended = false;   // whether the harness has come to the program's end

  // How many elements were wrong in the worst check.
  int64_t wrong() const;
  // The samples of the mode of this name; null if there are none.
  const ModeSamples* mode(llvm::StringRef name) const;
  bool has_mode(llvm::StringRef name) const { return mode(name) != nullptr; }
  // Whether the harness has come to the program's end, has measured in some mode, nothing failed
  // and no element was wrong.
  bool ok() const;
};

class BenchLog {
 public:
  enum class Event { none, machine, begin, sample, end };

  // Takes one line. A line that is no record is ignored. Returns what the record is about, and sets
  // `program` to the record's program.
  Event take(llvm::StringRef line, std::string& program);

  // These functions add what was measured outside of the harness.
  void add_mode(const std::string& program, ModeSamples samples);
  void add_note(const std::string& program, const std::string& text);
  void set_torch(const std::string& version, const std::string& nccl);

  const llvm::json::Object& machine() const { return machine_; }
  // The versions of PyTorch and of its NCCL, such as "2.11.0, NCCL 2.28.9", or "".
  const std::string& torch() const { return torch_; }
  // The program's records; empty ones if it has none.
  const ProgramSamples& of(const std::string& program) const;
  // Why the harness could not measure anything, or "".
  const std::string& failure() const { return failure_; }

 private:
  llvm::json::Object machine_;
  std::map<std::string, ProgramSamples> programs_;
  std::string failure_, torch_;
};

}  // namespace tilepost
