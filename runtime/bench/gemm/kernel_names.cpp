#include "runtime/bench/gemm/kernel_names.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace tilepost::bench {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;

// Asks the driver for a kernel's name. The runtime's cudaGraphKernelNodeGetParams refuses kernels
// that were loaded through the driver, as a library's kernels are.
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

// The work that `launch` puts on the stream, as a graph. Null if it cannot be captured.
Graph captured(const std::function<void()>& launch, cudaStream_t stream) {
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return {};
  bool launched = true;
  try {
    launch();
  } catch (const std::exception&) {
    launched = false;
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  Graph owner(graph);
  return launched && ended == cudaSuccess ? std::move(owner) : Graph();
}

// The graph's nodes. So far they have come in the order in which they were captured, but the
// documentation of cudaGraphGetNodes promises no order.
std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  size_t count = 0;
  if (cudaGraphGetNodes(graph, nullptr, &count) != cudaSuccess) return {};
  std::vector<cudaGraphNode_t> nodes(count);
  if (cudaGraphGetNodes(graph, nodes.data(), &count) != cudaSuccess) return {};
  return nodes;
}

// The name of the node's kernel, or "" if the node is no kernel.
std::string name_of(const Driver& driver, cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  CUDA_KERNEL_NODE_PARAMS_v2 params{};
  const char* name = nullptr;
  if (cudaGraphNodeGetType(node, &type) != cudaSuccess || type != cudaGraphNodeTypeKernel ||
      driver.get_params(node, &params) != CUDA_SUCCESS)
    return "";
  const CUresult said = params.func != nullptr ? driver.function_name(&name, params.func)
                                               : driver.kernel_name(&name, params.kern);
  return said == CUDA_SUCCESS && name != nullptr ? name : "";
}

}  // namespace

std::string kernel_names(const std::function<void()>& launch, cudaStream_t stream) {
  const Driver driver;
  std::string names;
  if (const Graph graph = driver.is_complete() ? captured(launch, stream) : Graph())
    for (const cudaGraphNode_t node : nodes_of(graph.get()))
      if (const std::string name = name_of(driver, node); !name.empty())
        names += (names.empty() ? "" : " + ") + name;
  cudaGetLastError();  // Clears the error of a call that failed, so that the next call does not
                       // report it.
  return names;
}

}  // namespace tilepost::bench
