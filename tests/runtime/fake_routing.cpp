// Stand-ins for the kernels that make a routing's tables. With one rank it is the twin on the host.
// With several it makes no tables. The other ranks come, unless collectives hang.
#include <string>

#include "runtime/cuda/routing/exchange.h"
#include "tests/runtime/fakes.h"
#include "tilepost/host/routing.h"

namespace tilepost::cuda {
namespace {

cudaError_t launched(const std::string& line) {
  return fakes::call(line) ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace

cudaError_t preload_route(RouteTypes) {
  return launched("preload_route");
}

cudaError_t launch_route(const RouteArguments& arguments, RouteTypes types, int blocks,
                         cudaStream_t stream) {
  const std::lock_guard lock(fakes::world().mutex);
  const fakes::Stream& on = fakes::stream_of(stream);
  const cudaError_t error = launched("route " + on.name + " " + std::to_string(arguments.m) +
                                     " tokens " + std::to_string(blocks) + " blocks");
  if (error != cudaSuccess || on.hang.holds()) return error;
  route_tokens(
      arguments.shape,
      {{arguments.ids, arguments.weights, types.wide_ids, types.half_weights, arguments.m}},
      arguments.tables, *arguments.fault);
  return cudaSuccess;
}

cudaError_t preload_exchange(RouteTypes) {
  return launched("preload_exchange");
}

cudaError_t launch_exchange(const ExchangeArguments& arguments, RouteTypes, cudaStream_t stream) {
  const std::lock_guard lock(fakes::world().mutex);
  const cudaError_t error =
      launched("exchange " + fakes::stream_of(stream).name + " " + std::to_string(arguments.m) +
               " tokens " + std::to_string(arguments.blocks) + " blocks");
  if (error == cudaSuccess && fakes::world().collectives_hang)
    *arguments.fault = {kLateRankFound, 1 - arguments.shape.rank, 0,
                        static_cast<int64_t>(++arguments.numbers->sets)};
  return error;
}

}  // namespace tilepost::cuda
