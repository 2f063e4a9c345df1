// The tool's entry point. It parses the options, runs the command, and reports exceptions.
#include <fcntl.h>

#include <cstdlib>
#include <exception>
#include <new>

#include "generator/cli/commands.h"
#include "generator/printable.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "tilepost/version.h"

namespace {

// Opens standard descriptors that are closed. Otherwise the next file or pipe would get the number
// of such a descriptor, and child processes would lose its data. Standard input is opened for
// writing and standard output for reading, so that using one of them still fails.
void occupy_standard_descriptors() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", kModes[descriptor]) != descriptor)
      std::abort();
}

// Without this handler LLVM ends the process when memory runs out.
void throw_bad_alloc(void* /*data*/, const char* /*reason*/, bool /*generates_crash*/) {
  throw std::bad_alloc();
}

// Registered with atexit, because LLVM prints --help and --version and calls exit() itself. LLVM's
// own check, which comes behind this one, has other words and another exit code.
void check_standard_output() {
  llvm::outs().flush();
  if (!llvm::outs().has_error()) return;
  llvm::outs().clear_error();
  llvm::errs() << "tilepost: error: cannot write to standard output\n";
  std::_Exit(tilepost::kExitIo);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_descriptors();
  llvm::install_bad_alloc_error_handler(throw_bad_alloc);
  llvm::outs();  // made before the function is registered, so it is destroyed behind its call
  std::atexit(check_standard_output);
  try {
    tilepost::Options options;
    std::vector<std::string> mistakes;
    return tilepost::parse_options(argc, argv, options, mistakes)
               ? tilepost::run_command(options)
               : tilepost::refuse_usage(options, mistakes);
  } catch (const std::bad_alloc&) {
    llvm::errs() << "tilepost: error: out of memory\n";
    return tilepost::kExitIo;
  } catch (const std::exception& error) {
    llvm::errs() << "tilepost: " << tilepost::printable(tilepost::internal_error(error)) << "\n";
    return tilepost::kExitBug;
  }
}
