// A rank's routes where the caller has them.
#pragma once

#include <cuda_bf16.h>

#include "runtime/cuda/routing/blocks.cuh"

namespace tilepost::cuda::routing {

__device__ __forceinline__ float to_fp32(float weight) {
  return weight;
}
__device__ __forceinline__ float to_fp32(__nv_bfloat16 weight) {
  return __bfloat162float(weight);
}

template <class Id, class Weight>
struct CallersRoutes {
  const RouteArguments& args;

  __device__ __forceinline__ Share share() const {
    return share_of(args.m, args.each, static_cast<int>(blockIdx.x));
  }
  __device__ __forceinline__ Id id(int64_t route) const {
    return static_cast<const Id*>(args.ids)[route];
  }
  __device__ __forceinline__ float weight(int64_t route) const {
    return to_fp32(static_cast<const Weight*>(args.weights)[route]);
  }
  __device__ __forceinline__ Read read(int token, int position) const {
    const int64_t route = static_cast<int64_t>(token) * args.shape.top + position;
    return {token, expert_of_id(id(route), args.shape.experts), weight(route)};
  }
  __device__ __forceinline__ int64_t wrong_id(int token, int position) const {
    return id(static_cast<int64_t>(token) * args.shape.top + position);
  }
};

// Returns the kernel of these types. `Kernels` has it as Kernels::kernel<Id, Weight>().
template <class Kernels>
auto kernel_for(RouteTypes types) {
  if (types.wide_ids)
    return types.half_weights ? Kernels::template kernel<int64_t, __nv_bfloat16>()
                              : Kernels::template kernel<int64_t, float>();
  return types.half_weights ? Kernels::template kernel<int32_t, __nv_bfloat16>()
                            : Kernels::template kernel<int32_t, float>();
}

}  // namespace tilepost::cuda::routing
