// The CUDA runtime's entry points that the CUDA target uses, and the driver's it looks up.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "tests/runtime/fake_gemm.h"
#include "tests/runtime/fakes.h"

namespace fakes {
namespace {

std::vector<std::unique_ptr<Stream>> user_streams;
Stream legacy{"legacy"};

cudaError_t checked(const std::string& line, cudaError_t error = cudaErrorUnknown) {
  const bool fails = call(line);
  if (world().unloaded) return cudaErrorCudartUnloading;
  return fails ? error : cudaSuccess;
}

std::string name_of(cudaStream_t stream) {
  return stream_of(stream).name;
}

Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

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
  const MapOf kept{base, sizes[0], sizes[1]};
  std::memcpy(map, &kept, sizeof kept);
  const bool bad = world().tensor_maps_fail || box[0] > 256 || box[1] > 256;
  return call("encode") || bad ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult wait_value(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  if (call("cuStreamWaitValue32 " + name_of(stream))) return CUDA_ERROR_UNKNOWN;
  const std::lock_guard lock(world().mutex);
  const auto* counter = reinterpret_cast<const uint32_t*>(address);
  const auto reached = [=] { return static_cast<int32_t>(*counter - value) >= 0; };
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
  if (call("cuStreamWriteValue32 " + name_of(stream))) return CUDA_ERROR_UNKNOWN;
  if (!stream_of(stream).hang.holds()) *reinterpret_cast<uint32_t*>(address) = value;
  return CUDA_SUCCESS;
}

// Addresses that tests make up are small numbers; nothing lies there.
// Of the caller's memory (CallerMemory), in which a pointer may lie anywhere.
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
        put(memory.kind == "cudaMalloc" ? 1u : 0u);
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
    // Pools are asked for where it is not known that there is one.
    if (attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) return CUDA_SUCCESS;
    return call("cuPointerGetAttribute") ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool is_real(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) >= uintptr_t{1} << 32;
}

// Tests make up other ranks' memory a few bytes behind their own, so the two can overlap.
void copy(void* to, const void* from, size_t bytes) {
  if (is_real(to) && is_real(from)) std::memmove(to, from, bytes);
}

}  // namespace

World& world() {
  static std::unique_ptr<World> instance = std::make_unique<World>();
  return *instance;
}

int& current_device() {
  static thread_local int device = 0;
  return device;
}

void reset() {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  static_cast<Machine&>(w) = {};
  static_cast<Behaviour&>(w) = {};
  static_cast<Calls&>(w) = {};
  static_cast<Seen&>(w) = {};
  w.forget();
  current_device() = 0;
  user_streams.clear();
  legacy = {"legacy"};
}

bool call(const std::string& line) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.log.push_back(line);
  const bool counts = w.fails_on == std::thread::id() || w.fails_on == std::this_thread::get_id();
  if (!counts) return false;
  if (++w.calls != w.fail_at) return false;
  w.failed_call = line;
  return true;
}

CUstream_st* user_stream(const std::string& name, int device) {
  user_streams.push_back(std::make_unique<Stream>(Stream{name, device}));
  return reinterpret_cast<CUstream_st*>(user_streams.back().get());
}

Stream& stream_of(CUstream_st* handle) {
  return handle == nullptr ? legacy : *reinterpret_cast<Stream*>(handle);
}

Capture::Capture(CUstream_st* stream, bool captured) : stream_(stream_of(stream)) {
  const std::lock_guard lock(world().mutex);
  stream_.capturing = captured;
}

Capture::~Capture() {
  const std::lock_guard lock(world().mutex);
  stream_.capturing = false;
  for (Stream* own : world().streams)
    if (own->device == stream_.device) own->capturing = false;
}

void release_all() {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  const auto release = [](Hang& hang) {
    if (!hang.over) hang.stuck = false;
  };
  for (Event* event : w.events) release(event->hang);
  for (Stream* stream : w.streams) release(stream->hang);
  for (const auto& stream : user_streams) release(stream->hang);
  release(legacy.hang);
}

}  // namespace fakes

using namespace fakes;

extern "C" {

const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorFake";
}
const char* cudaGetErrorString(cudaError_t) {
  return "injected";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return checked("cudaGetDevice");
}
cudaError_t cudaSetDevice(int device) {
  const cudaError_t error = checked("cudaSetDevice");
  if (error == cudaSuccess) current_device() = device;
  return error;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", device + 1);
  return checked("cudaDeviceGetPCIBusId");
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (checked("cudaDeviceGetByPCIBusId") || !world().others_visible) return cudaErrorInvalidDevice;
  *device = std::stoi(std::string(text).substr(5, 2), nullptr, 16) - 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = world().peer_access;
  return checked("cudaDeviceCanAccessPeer");
}
cudaError_t cudaDeviceEnablePeerAccess(int device, unsigned) {
  if (checked("cudaDeviceEnablePeerAccess")) return cudaErrorUnknown;
  const std::lock_guard lock(world().mutex);
  const bool is_new = world().accessible.insert(device).second;
  return is_new ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  if (checked("cudaMemPoolCreate")) return cudaErrorMemoryAllocation;
  ++world().live_pools;
  *pool = reinterpret_cast<cudaMemPool_t>(&world());
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
  --world().live_pools;
  return checked("cudaMemPoolDestroy");
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc* access, size_t) {
  if (checked("cudaMemPoolSetAccess")) return cudaErrorUnknown;
  const std::lock_guard lock(world().mutex);
  world().accessible.insert(access->location.id);
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
// A handle is the address: other processes' memory is this one's.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  *handle = {};
  std::memcpy(handle, &pointer, sizeof pointer);
  return checked("cudaIpcGetMemHandle") || !world().memory_handles ? cudaErrorNotSupported
                                                                   : cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  if (checked("cudaIpcOpenMemHandle")) return cudaErrorUnknown;
  if (world().cannot_open.contains(current_device())) return cudaErrorMapBufferObjectFailed;
  std::memcpy(pointer, &handle, sizeof *pointer);
  ++world().live_mappings;
  const std::lock_guard lock(world().mutex);
  ++world().mappings[*pointer];
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  --world().live_mappings;
  const std::lock_guard lock(world().mutex);
  --world().mappings[pointer];
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const World& w = world();
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = w.compute_major;
  if (attribute == cudaDevAttrComputeCapabilityMinor) *value = w.compute_minor;
  if (attribute == cudaDevAttrMultiProcessorCount) *value = w.sms;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) *value = w.max_shared_bytes;
  return checked("cudaDeviceGetAttribute");
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0, *highest = -5;
  return checked("cudaDeviceGetStreamPriorityRange");
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (checked("cudaMalloc")) return cudaErrorMemoryAllocation;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++world().live_allocations;
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  {
    const std::lock_guard lock(world().mutex);
    world().freed_while_mapped += world().mappings[pointer] > 0;
  }
  std::free(pointer);
  --world().live_allocations;
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  if (checked("cudaHostAlloc")) return cudaErrorMemoryAllocation;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++world().live_pinned;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  --world().live_pinned;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  copy(to, from, bytes);
  return checked("cudaMemcpy");
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  if (!stream_of(stream).hang.holds()) copy(to, from, bytes);
  if (kind == cudaMemcpyDeviceToDevice) world().copies.push_back({from, to, bytes});
  return checked("cudaMemcpyAsync " + name_of(stream) +
                 (kind == cudaMemcpyDeviceToDevice ? " " + std::to_string(bytes) : ""));
}
cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (is_real(pointer)) std::memset(pointer, value, bytes);
  return checked("cudaMemsetAsync " + name_of(stream));
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const World& w = world();
  const auto host = w.host_pointers.find(pointer);
  attributes->type = cudaMemoryTypeDevice;
  attributes->device = current_device();
  if (host != w.host_pointers.end()) {
    attributes->type = host->second < 0 ? cudaMemoryTypeUnregistered : cudaMemoryTypeDevice;
    attributes->device = host->second;
  }
  return checked("cudaPointerGetAttributes");
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  World& w = world();
  if (checked(std::string("cudaStreamCreate") + (flags == cudaStreamNonBlocking ? "" : " BLOCKS") +
              (priority == -5 ? " high" : " low")))
    return cudaErrorUnknown;
  const std::lock_guard lock(w.mutex);
  auto* made = new Stream{"own" + std::to_string(w.live_streams.load()), current_device()};
  w.streams.insert(made);
  ++w.live_streams;
  *stream = reinterpret_cast<cudaStream_t>(made);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.streams.erase(&stream_of(stream));
  delete &stream_of(stream);
  --w.live_streams;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t error = checked("cudaStreamQuery " + name_of(stream));
  if (error != cudaSuccess) return error;
  return stream_of(stream).hang.holds() ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return checked("cudaStreamSynchronize " + name_of(stream));
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  *device = stream_of(stream).device;
  const cudaError_t error = checked("cudaStreamGetDevice");
  return error == cudaSuccess && stream_of(stream).capturing ? cudaErrorStreamCaptureUnsupported
                                                             : error;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<uintptr_t>(&stream_of(stream));
  return checked("cudaStreamGetId");
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status =
      stream_of(stream).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return checked("cudaStreamIsCapturing");
}
// A stream that waits for a captured event joins the capture; a capture cannot wait for work
// outside of it.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Stream& s = stream_of(stream);
  if (s.capturing && !event_of(event).captured) return cudaErrorStreamCaptureIsolation;
  if (event_of(event).hang.holds()) s.hang = event_of(event).hang;
  s.capturing |= event_of(event).captured;
  const std::lock_guard lock(world().mutex);
  world().links.push_back({world().log.size(), event});
  return checked("cudaStreamWaitEvent " + s.name);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (checked("cudaEventCreate")) return cudaErrorUnknown;
  auto* made = new Event;
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.events.insert(made);
  ++w.live_events;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.events.erase(&event_of(event));
  delete &event_of(event);
  --w.live_events;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  event_of(event) = {stream_of(stream).hang, stream_of(stream).capturing};
  world().links.push_back({world().log.size(), event});
  return checked("cudaEventRecord " + name_of(stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(world().mutex);
  if (world().no_memory) throw std::bad_alloc();
  if (event_of(event).captured) return cudaErrorCapturedEvent;
  const cudaError_t error = checked("cudaEventQuery");
  if (error != cudaSuccess) return error;
  return event_of(event).hang.holds() ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->maxThreadsPerBlock = world().max_threads;
  return checked("cudaFuncGetAttributes");
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return checked("cudaFuncSetAttribute");
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = world().blocks_per_sm;
  return checked("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*,
                                           const cudaLaunchConfig_t* config) {
  const int size = static_cast<int>(config->attrs[0].val.clusterDim.x);
  *clusters = world().blocks_per_sm * world().sms / size;
  return checked("cudaOccupancyMaxActiveClusters");
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void*, void** arguments) {
  World& w = world();
  if (w.on_gemm) w.on_gemm();
  if (w.kernel) {
    if (const Hang hang = w.kernel(arguments); hang.stuck) stream_of(config->stream).hang = hang;
    return checked("gemm " + name_of(config->stream));
  }
  const std::lock_guard lock(w.mutex);
  const cudaError_t error =
      checked("gemm " + name_of(config->stream) + " x" + std::to_string(config->gridDim.x) +
              (config->numAttrs ? " clusters" : ""));
  if (error == cudaSuccess) post_tiles(arguments, stream_of(config->stream));
  return error;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  if (checked(name)) return cudaErrorUnknown;
  if (!world().has_driver) return cudaErrorInsufficientDriver;  // outputs stay as they were
  *result = cudaDriverEntryPointSuccess;
  const std::string wanted = name;
  if (wanted == "cuTensorMapEncodeTiled") *function = reinterpret_cast<void*>(encode_tiled);
  if (wanted == "cuStreamWaitValue32") *function = reinterpret_cast<void*>(wait_value);
  if (wanted == "cuStreamWriteValue32") *function = reinterpret_cast<void*>(write_value);
  if (wanted == "cuStreamGetGreenCtx") *function = reinterpret_cast<void*>(green_context);
  if (wanted == "cuGreenCtxGetDevResource") *function = reinterpret_cast<void*>(green_resource);
  if (wanted == "cuPointerGetAttribute") *function = reinterpret_cast<void*>(pointer_attribute);
  return cudaSuccess;
}

}  // extern "C"
