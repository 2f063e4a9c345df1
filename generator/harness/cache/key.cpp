#include "generator/harness/cache/key.h"

#include <cstdlib>
#include <set>

#include "generator/harness/output_reader.h"
#include "generator/resources.h"
#include "generator/whole_files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Program.h"

namespace tilepost {
namespace {

// Raise this number when the contents of entries or their form change.
constexpr const char* kFormat = "tilepost objects 1";

// GCC's manual, "Environment Variables Affecting GCC"; CUDA's nvcc manual, "NVCC Environment
// Variables".
constexpr const char* kVariables[] = {
    "CPATH",           "C_INCLUDE_PATH",    "CPLUS_INCLUDE_PATH", "COMPILER_PATH",
    "GCC_EXEC_PREFIX", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN",
};

constexpr double kVersionSeconds = 60;

// Parts of a key, each with its length: "ab" and "c" are not "a" and "bc".
class Parts {
 public:
  void add(llvm::StringRef part) {
    hasher_.update(std::to_string(part.size()) + ":");
    hasher_.update(part);
  }
  std::string hash() { return llvm::toHex(hasher_.final<16>(), /*LowerCase=*/true); }

 private:
  llvm::BLAKE3 hasher_;
};

// Adds what identifies a compiler: its file and the version that it prints, because the file may be
// a script or a driver of other programs. Returns false if it prints no version.
bool add_compiler(const std::vector<std::string>& words, Parts& key) {
  for (const std::string& word : words) {
    const auto program = llvm::sys::findProgramByName(word);
    key.add(word);
    if (program) key.add(hash_of(text_of_file(*program).value_or("")));
  }
  std::vector<std::string> ask = words;
  ask.emplace_back("--version");
  std::string said;
  const HarnessEnd end =
      run_lines(ask, kVersionSeconds, [&](llvm::StringRef line) { said += line.str() + "\n"; });
  key.add(said);
  return end.ended && end.exit_status == 0 && !said.empty();
}

// The words of a command that name its compiler: "ccache", "g++".
std::vector<std::string> compiler_of(const Command& command) {
  std::vector<std::string> words;
  for (const std::string& word : command.argv) {
    if (llvm::StringRef(word).starts_with("-")) break;
    words.push_back(word);
  }
  return words;
}

}  // namespace

std::string hash_of(llvm::StringRef text) {
  return llvm::toHex(llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

std::string cache_key(const std::vector<Command>& commands, const WorkDir& dir) {
  Parts key;
  key.add(kFormat);
  std::set<std::vector<std::string>> compilers;
  for (const Command& command : commands) {
    for (const std::string& word : command.argv) {
      std::string relative = word;
      if (const size_t at = word.find(dir.path()); at != std::string::npos)
        relative.replace(at, dir.path().size(), "@");
      key.add(relative);
    }
    key.add(text_of_file(command.source).value_or(""));
    compilers.insert(compiler_of(command));
  }
  for (const Resource& resource : resources())
    if (resource.path.starts_with("include/") || resource.path.starts_with("runtime/") ||
        resource.path.starts_with("templates/")) {
      key.add(resource.path);
      key.add(resource.text);
    }
  for (const std::vector<std::string>& compiler : compilers)
    if (compiler.empty() || !add_compiler(compiler, key)) return "";
  // nvcc compiles the rest with the gcc that PATH finds.
  if (llvm::sys::findProgramByName("gcc")) add_compiler({"gcc"}, key);
  for (const char* name : kVariables) {
    const char* value = std::getenv(name);
    key.add(name);
    key.add(value == nullptr ? "unset" : std::string("=") + value);
  }
  return key.hash();
}

}  // namespace tilepost
