#include "generator/bench/target.h"

#include <fmt/format.h>

namespace tilepost {

std::optional<BenchTarget> find_bench_target(const Gpus& gpus, const char* verb,
                                             Diagnostics& diagnostics) {
  if (gpus.count == 0) {
    diagnostics.error(fmt::format("cannot {}: this machine has no GPU ({})", verb, gpus.reason));
    return std::nullopt;
  }
  BenchTarget target;
  target.sm = gpus.sm, target.gpus = gpus.count;
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  if (!tools) {
    diagnostics.error(fmt::format("cannot {}: there is no {}", verb, missing));
    return std::nullopt;
  }
  target.tools = *tools;
  target.cublas_lt = find_toolkit_library(*tools, "libcublasLt.so");
  if (!target.cublas_lt.empty()) return target;
  diagnostics.error(
      fmt::format("cannot {}: there is no libcublasLt.so beside the toolkit of '{}'; "
                  "install cuBLAS",
                  verb, tools->nvcc));
  return std::nullopt;
}

}  // namespace tilepost
