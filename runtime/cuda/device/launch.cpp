#include "runtime/cuda/device/launch.h"

#include <algorithm>
#include <string>

#include "runtime/map/run_path.h"

namespace tilepost::cuda {
namespace {

dim3 block_of(const tilepost_kernel_t& kernel) {
  if (kernel.block[0] == 0) return dim3(kernel.threads);
  return dim3(kernel.block[0], kernel.block[1], kernel.block[2]);
}

// A launch configuration and the attributes it points to.
struct Launch {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};

  // `alone`: whether nothing else of the run is beside the kernel or behind it.
  Launch(const tilepost_plan_t& plan, int32_t ctas, bool alone, cudaStream_t stream) {
    config.gridDim = dim3(ctas);
    config.blockDim = block_of(plan.kernel);
    config.dynamicSmemBytes = plan.kernel.shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    if (plan.kernel.cluster > 1) {
      cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {static_cast<unsigned>(plan.kernel.cluster), 1, 1};
    }
    // A kernel beside collectives must not start early, because its CTAs would take the SMs that
    // the collectives use.
    if (plan.kernel.early && alone) {
      cudaLaunchAttribute& early = attributes[config.numAttrs++];
      early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      early.val.programmaticStreamSerializationAllowed = 1;
    }
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
};

// The largest grid of any run of the plan.
int32_t most_ctas(const tilepost_plan_t& plan) {
  return rows_vary(plan) ? std::max(plan.gemm_ctas, plan.model.sequence_ctas) : plan.gemm_ctas;
}

tilepost_result_t count_resident(const tilepost_plan_t& plan, const DeviceInfo& device,
                                 int& resident) {
  const Launch launch(plan, most_ctas(plan), false, nullptr);
  if (plan.kernel.cluster > 1) {
    int clusters = 0;
    TILEPOST_CUDA(cudaOccupancyMaxActiveClusters(&clusters, plan.kernel.function, &launch.config));
    resident = clusters * plan.kernel.cluster;
  } else {
    int per_sm = 0;
    TILEPOST_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per_sm, plan.kernel.function, plan.kernel.threads, plan.kernel.shared_bytes));
    resident = per_sm * device.sms;
  }
  return TILEPOST_OK;
}

// Whether `ctas` CTAs of the plan's kernel can be resident, where `resident` can.
tilepost_result_t has_room(const tilepost_plan_t& plan, const DeviceInfo& device, int32_t ctas,
                           int resident, const char* beside) {
  if (ctas <= resident) return TILEPOST_OK;
  return fail(
      TILEPOST_UNSUPPORTED,
      "kernel '%s' is planned with %d CTAs at once, %s holds %d%s; generate it for this GPU",
      plan.kernel.name, ctas, device.name.c_str(), resident, beside);
}

tilepost_result_t call_launcher(const tilepost_plan_t& plan, const GemmArguments& arguments,
                                const cudaLaunchConfig_t& config) {
  const tilepost_launch_call_t call = {
      sizeof call, plan.kernel.function, &config,         arguments.a,        arguments.b,
      arguments.c, arguments.out_rows,   arguments.shape, arguments.epilogue, arguments.view};
  const auto error = static_cast<cudaError_t>(plan.kernel.launcher(&call, arguments.user));
  if (error == cudaSuccess) return TILEPOST_OK;
  const std::string what = std::string("the launcher of kernel '") + plan.kernel.name + "'";
  return fail_cuda({__FILE__, __LINE__, what.c_str()}, error);
}

}  // namespace

tilepost_result_t prepare_kernel(const tilepost_plan_t& plan, const DeviceInfo& device) {
  const tilepost_kernel_t& kernel = plan.kernel;
  cudaFuncAttributes attributes{};
  TILEPOST_CUDA(cudaFuncGetAttributes(&attributes, kernel.function));
  if (kernel.threads > attributes.maxThreadsPerBlock)
    return fail(TILEPOST_UNSUPPORTED, "kernel '%s' is planned with %d threads, it can have %d",
                kernel.name, kernel.threads, attributes.maxThreadsPerBlock);
  TILEPOST_CUDA(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     kernel.shared_bytes));
  if (kernel.tile_per_cta)
    return TILEPOST_OK;  // CTAs start as others end, so the grid need not be
                         // resident
  int resident = 0;
  TILEPOST_TRY(count_resident(plan, device, resident));
  TILEPOST_TRY(has_room(plan, device, most_ctas(plan), resident, ""));
  if (!paths_of(plan).any(&RunPath::waits_for_tasks)) return TILEPOST_OK;
  return has_room(plan, device, plan.gemm_ctas, resident - kept_out_by_waiter(kernel.cluster),
                  " beside a kernel that waits for all of them");
}

tilepost_result_t launch_gemm(const tilepost_plan_t& plan, const GemmArguments& arguments,
                              cudaStream_t stream) {
  const bool alone = !row_of(plan).communicates() || arguments.view.exchange.ranks != 0;
  const Launch launch(plan, arguments.ctas, alone, stream);
  if (plan.kernel.launch == TILEPOST_LAUNCH_CUSTOM)
    return call_launcher(plan, arguments, launch.config);
  GemmArguments values = arguments;
  if (plan.kernel.launch == TILEPOST_LAUNCH_TMA) {
    TensorMaps maps = *arguments.maps;
    void* list[] = {&maps.a, &maps.b, &maps.c, &values.shape, &values.epilogue, &values.view};
    TILEPOST_CUDA(cudaLaunchKernelExC(&launch.config, plan.kernel.function, list));
  } else {
    void* list[] = {&values.a, &values.b, &values.c, &values.shape, &values.epilogue, &values.view};
    TILEPOST_CUDA(cudaLaunchKernelExC(&launch.config, plan.kernel.function, list));
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
