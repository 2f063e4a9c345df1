#include "runtime/bench/gemm/kernel_names.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <memory>
#include <vector>

#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;

// The runtime's cudaGraphKernelNodeGetParams refuses kernels that were loaded through the driver,
// as a library's are, so the driver is asked.
struct Driver {
  PFN_cuGraphKernelNodeGetParams_v12000 get_params = nullptr;
  PFN_cuFuncGetName_v12030 function_name = nullptr;
  PFN_cuKernelGetName_v12030 kernel_name = nullptr;

  Driver() {
    constexpr unsigned kParams = 12000, kNames = 12030;
    look_up("cuGraphKernelNodeGetParams", kParams, get_params);
    look_up("cuFuncGetName", kNames, function_name);
    look_up("cuKernelGetName", kNames, kernel_name);
  }
  bool is_complete() const {
    return get_params != nullptr && function_name != nullptr && kernel_name != nullptr;
  }

 private:
  template <class Function>
  static void look_up(const char* name, unsigned version, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &query);
    if (error == cudaSuccess && query == cudaDriverEntryPointSuccess)
      function = reinterpret_cast<Function>(found);
  }
};

// The nodes of a graph that one stream was captured into stand in the stream's order.
std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  size_t count = 0;
  TILEPOST_BENCH_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  TILEPOST_BENCH_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

std::string name_of(const Driver& driver, cudaGraphNode_t node) {
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  const char* name = nullptr;
  if (driver.get_params(node, &params) != CUDA_SUCCESS) return "";
  const CUresult said = params.func != nullptr ? driver.function_name(&name, params.func)
                                               : driver.kernel_name(&name, params.kern);
  return said == CUDA_SUCCESS && name != nullptr ? name : "";
}

}  // namespace

std::string kernel_names(const std::function<void()>& launch, cudaStream_t stream) {
  const Driver driver;
  if (!driver.is_complete()) return "";
  TILEPOST_BENCH_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool launched = true;
  try {
    launch();
  } catch (const BenchError&) {
    launched = false;
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  const Graph graph(captured);
  if (!launched || ended != cudaSuccess) {
    cudaGetLastError();  // not the next call's
    return "";
  }
  std::string names;
  for (const cudaGraphNode_t node : nodes_of(graph.get())) {
    cudaGraphNodeType type{};
    TILEPOST_BENCH_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    const std::string name = name_of(driver, node);
    if (!name.empty()) names += (names.empty() ? "" : " + ") + name;
  }
  return names;
}

}  // namespace tilepost::bench
