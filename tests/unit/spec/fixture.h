// A spec that is read from memory, with the messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostic_printer.h"
#include "generator/yaml/read_spec.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilepost::test {

struct Outcome {
  std::optional<Spec> spec;  // its ranges are dangling, so only use values
  std::string log;
  int errors = 0;
};

inline Outcome read(llvm::StringRef text, const std::vector<Override>& overrides = {}) {
  Outcome outcome;
  llvm::raw_string_ostream stream(outcome.log);
  {
    DiagnosticPrinter diagnostics(stream);
    outcome.spec = read_spec("spec.yaml", text, overrides, diagnostics);
    outcome.errors = diagnostics.errors();
  }
  return outcome;
}

// A spec that is accepted. Tests append `schedule` and more.
inline constexpr llvm::StringLiteral kMinimal =
    "tilepost: 1\n"
    "name: small\n"
    "pattern: gemm_all_reduce\n"
    "ranks: 4\n"
    "gemm: {m: 129, n: 64, k: 7, a: bf16}\n"
    "arch: sm_90a\n";

// A kernel of the user's own with only the required fields, as an override of "kernel".
inline constexpr const char* kOwnKernel =
    "{file: a.cu, function: 'lib::f<64>', tile: [64, 64], threads: 128, "
    "grid: [n / 64, 'ceil_div(m, 64)'], arguments: {C: out, A: a, B: b, M: m, alpha: 0.5}}";

// The minimal spec, with `line` in place of the line of `key`.
inline std::string with_line(llvm::StringRef key, llvm::StringRef line) {
  std::string out;
  llvm::SmallVector<llvm::StringRef> lines;
  kMinimal.split(lines, '\n', -1, false);
  for (const llvm::StringRef old : lines)
    out += (old.starts_with(key.str() + ":") ? line : old).str() + "\n";
  return out;
}

// A file of the repository.
inline std::string read_file(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(TILEPOST_SOURCE_DIR "/") + path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

}  // namespace tilepost::test
