// The kernel of one rank that has all tokens.
#include "runtime/cuda/routing/route.h"

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/routing/callers_routes.cuh"

namespace tilepost::cuda {
namespace {

template <class Id, class Weight>
__global__ void __launch_bounds__(kRouteThreads)
    route_kernel(const __grid_constant__ RouteArguments args) {
  __shared__ __align__(16) routing::Memory memory;
  if (blockIdx.x == 0 && threadIdx.x == 0) args.tables.tokens[args.shape.rank] = args.m;
  routing::route_tokens(args, memory, routing::CallersRoutes<Id, Weight>{args},
                        static_cast<int>(gridDim.x), [] { return false; });
}

struct Kernels {
  template <class Id, class Weight>
  static auto kernel() {
    return route_kernel<Id, Weight>;
  }
};

}  // namespace

cudaError_t preload_route(RouteTypes types) {
  return preload_kernel(reinterpret_cast<const void*>(routing::kernel_for<Kernels>(types)));
}

cudaError_t launch_route(const RouteArguments& given, RouteTypes types, int blocks,
                         cudaStream_t stream) {
  RouteArguments arguments = given;
  arguments.each = tokens_of_block(given.m, blocks);
  return launch_together(routing::kernel_for<Kernels>(types), dim3(static_cast<unsigned>(blocks)),
                         dim3(kRouteThreads), stream, arguments);
}

}  // namespace tilepost::cuda
