// What this machine offers: compilers, CUDA, NCCL. gpus.h has its GPUs. Nothing of CUDA is linked.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilepost {

// The command that compiles C++, as words: $CXX ("ccache g++ -m64") if it is set, otherwise c++,
// g++ or clang++. $CXX is split and unquoted as a shell does it, unless all of it names a program.
// The first word becomes the program's path. Returns nothing if the program is not found;
// `looked_for` says what was looked for.
std::vector<std::string> find_host_compiler(std::string& looked_for);

// The CUDA Toolkit and NCCL as the compiler needs them.
struct CudaTools {
  std::string nvcc;
  std::string cuda_include;  // folder of cuda_runtime_api.h
  std::string nccl_include;  // folder of nccl.h
  std::string nccl_library;  // the file
};

// nvcc: $CUDACXX, PATH, /usr/local/cuda/bin; or "", with where it was looked for in `missing`.
std::string find_nvcc(std::string& missing);

// nvcc as find_nvcc() finds it. NCCL: $NCCL_ROOT or else $NCCL_HOME; without them the
// toolkit, the system. Or nothing, with what is missing and where it was looked for in `missing`.
std::optional<CudaTools> find_cuda_tools(std::string& missing);

// The file of one of the toolkit's libraries, such as "libcublasLt.so", or "".
std::string find_toolkit_library(const CudaTools& tools, const std::string& library);

}  // namespace tilepost
