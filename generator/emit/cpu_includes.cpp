#include "generator/emit/cpu_includes.h"

#include "generator/resources.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// Whether the header is the toolkit's, spelled "<cublas_v2.h>", and has no stand-in on the CPU.
bool is_cudas_alone(const OwnKernel& own, StringRef spelled) {
  const std::string name = spelled.drop_front().drop_back().str();
  if (find_resource("runtime/verify/host/shim/include/" + name) || find_resource("include/" + name))
    return false;
  return llvm::sys::fs::exists(own.toolkit + "/include/" + name) ||
         llvm::sys::fs::exists(own.toolkit + "/include/cccl/" + name);
}

}  // namespace

void leave_out_cudas_headers(const OwnKernel& own, WovenKernel& kernel) {
  if (own.toolkit.empty()) return;
  llvm::erase_if(kernel.includes,
                 [&](const std::string& spelled) { return is_cudas_alone(own, spelled); });
  llvm::erase_if(kernel.first, [&](StringRef line) {
    return line.consume_front("#include ") && line.size() > 2 && is_cudas_alone(own, line);
  });
}

}  // namespace tilepost
