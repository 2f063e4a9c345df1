// The entry points of the driver that the CUDA target looks up.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tests/runtime/fakes.h"

namespace fakes {
namespace {

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t, void* base,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                      CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill) {
  const auto by = [](auto x, auto y) { return std::to_string(x) + "x" + std::to_string(y); };
  const std::lock_guard lock(world().mutex);
  world().maps.push_back(by(sizes[0], sizes[1]) + " box " + by(box[0], box[1]) + " stride " +
                         std::to_string(strides[0]) + " type " + std::to_string(type) +
                         " swizzle " + std::to_string(swizzle) + " promote " +
                         std::to_string(promotion));
  const MapOf kept{base, sizes[0], sizes[1], strides[0]};
  std::memcpy(map, &kept, sizeof kept);
  const bool bad = world().tensor_maps_fail || box[0] > 256 || box[1] > 256;
  return call("encode") || bad ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The condition of a wait (CUDA driver API, CUstreamWaitValue_flags).
bool is_reached(const uint32_t* word, uint32_t value, unsigned how) {
  const uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  switch (how) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return seen == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (seen & value) != 0;
    default:
      return static_cast<int32_t>(seen - value) >= 0;
  }
}

// Where ranks are threads, a wait for another rank makes the thread wait. After a while the stream
// hangs in its place, so that the run is issued and can be watched.
CUresult wait_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned how) {
  constexpr std::chrono::microseconds kPoll{20};
  if (call("cuStreamWaitValue32 " + stream_of(stream).name)) return CUDA_ERROR_UNKNOWN;
  {
    const std::lock_guard lock(world().mutex);
    world().waits.push_back(reinterpret_cast<const void*>(address));
  }
  const auto* word = reinterpret_cast<const uint32_t*>(address);
  const auto reached = [=] { return is_reached(word, value, how); };
  if (stream_of(stream).hang.holds()) return CUDA_SUCCESS;
  const auto end = std::chrono::steady_clock::now() + world().patience;
  while (world().threads && !reached() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kPoll);
  const std::lock_guard lock(world().mutex);
  if (!reached()) stream_of(stream).hang = {true, reached};
  return CUDA_SUCCESS;
}

CUresult green_context(CUstream, CUgreenCtx* context) {
  *context = world().stream_sms > 0 ? reinterpret_cast<CUgreenCtx>(&world()) : nullptr;
  return CUDA_SUCCESS;
}
CUresult green_resource(CUgreenCtx, CUdevResource* resource, CUdevResourceType) {
  resource->sm.smCount = world().stream_sms;
  return CUDA_SUCCESS;
}

CUresult write_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  if (call("cuStreamWriteValue32 " + stream_of(stream).name)) return CUDA_ERROR_UNKNOWN;
  if (!stream_of(stream).hang.holds())
    __atomic_store_n(reinterpret_cast<uint32_t*>(address), value, __ATOMIC_RELEASE);
  return CUDA_SUCCESS;
}

// Answers for memory of the caller's (CallerMemory). The pointer may lie anywhere in it.
CUresult pointer_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::lock_guard lock(world().mutex);
  for (const auto& [base, memory] : world().caller_memory) {
    const auto begin = reinterpret_cast<CUdeviceptr>(base);
    if (address < begin || address >= begin + memory.bytes) continue;
    const auto put = [&](auto what) { std::memcpy(value, &what, sizeof what); };
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put(memory.kind == "host" ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
        break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        put(memory.kind == "managed" ? 1u : 0u);
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put(memory.device);
        break;
      case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        put(memory.kind == "pool" ? begin : CUdeviceptr{0});
        break;
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        put(memory.kind == "cudaMalloc" && world().memory_handles ? 1u : 0u);
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        put(begin);
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        put(memory.bytes);
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        put(memory.id);
        break;
      default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    // The runtime also asks for the pool where there may be none, so this call does not count as
    // one that can fail.
    if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) return CUDA_SUCCESS;
    return call("cuPointerGetAttribute") ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  const bool own = world().allocated.contains(reinterpret_cast<const void*>(address));
  if (!own || attribute != CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(value) = world().memory_handles ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult retain_handle(CUmemGenericAllocationHandle* handle, void* pointer) {
  const std::lock_guard lock(world().mutex);
  for (const auto& [base, memory] : world().caller_memory) {
    const auto* begin = static_cast<const char*>(base);
    if (memory.kind != "virtual" || pointer < begin || pointer >= begin + memory.bytes) continue;
    *handle = reinterpret_cast<CUmemGenericAllocationHandle>(base);
    ++world().live_handles;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult release_handle(CUmemGenericAllocationHandle) {
  --world().live_handles;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fakes

using namespace fakes;

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                        unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  const bool fails = call(name);
  if (world().unloaded) return cudaErrorCudartUnloading;
  if (fails) return cudaErrorUnknown;
  if (!world().has_driver) return cudaErrorInsufficientDriver;  // the outputs stay as they were
  *result = cudaDriverEntryPointSuccess;
  const std::string wanted = name;
  if (wanted == "cuTensorMapEncodeTiled") *function = reinterpret_cast<void*>(encode_tiled);
  if (wanted == "cuStreamWaitValue32") *function = reinterpret_cast<void*>(wait_value);
  if (wanted == "cuStreamWriteValue32") *function = reinterpret_cast<void*>(write_value);
  if (wanted == "cuStreamGetGreenCtx") *function = reinterpret_cast<void*>(green_context);
  if (wanted == "cuGreenCtxGetDevResource") *function = reinterpret_cast<void*>(green_resource);
  if (wanted == "cuPointerGetAttribute") *function = reinterpret_cast<void*>(pointer_attribute);
  if (wanted == "cuMemRetainAllocationHandle") *function = reinterpret_cast<void*>(retain_handle);
  if (wanted == "cuMemRelease") *function = reinterpret_cast<void*>(release_handle);
  return cudaSuccess;
}
