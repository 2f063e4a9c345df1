// The entry points of the CUDA runtime that the CUDA target uses. fake_driver.cpp has the driver's.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "tests/runtime/fake_gemm.h"
#include "tests/runtime/fakes.h"

namespace fakes {

cudaStreamCaptureMode& capture_mode() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}
namespace {

std::vector<std::unique_ptr<Stream>> user_streams;
Stream legacy{"legacy"};

void count_memory_call() {
  const std::lock_guard lock(world().mutex);
  ++world().memory_calls;
}

cudaError_t checked(const std::string& line, cudaError_t error = cudaErrorUnknown) {
  const bool fails = call(line);
  if (world().unloaded) return cudaErrorCudartUnloading;
  return fails ? error : cudaSuccess;
}

std::string name_of(cudaStream_t stream) {
  return stream_of(stream).name;
}

// Logs a call that puts nothing on the stream. The log line has no space, so that tests that look
// for calls on a stream, by the word behind the space, do not find it.
cudaError_t asked(const std::string& call, cudaStream_t stream) {
  return checked(call + ":" + name_of(stream));
}

Event& event_of(cudaEvent_t event) {
  return *reinterpret_cast<Event*>(event);
}

void begin_write() {
  std::unique_lock lock(world().mutex);
  const std::function<void()> body = world().on_write;
  lock.unlock();
  if (body) body();
}

void begin_mapping() {
  if (world().on_mapping) world().on_mapping();
}

// Whether memory lies at `pointer`. Tests make up addresses that are small numbers.
bool is_real(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) >= uintptr_t{1} << 32;
}

void count_early(const cudaLaunchConfig_t& config) {
  const std::lock_guard lock(world().mutex);
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == cudaLaunchAttributeProgrammaticStreamSerialization)
      ++world().early_launches;
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

void settle(Stream& stream) {
  if (const auto late = std::exchange(stream.late, nullptr)) late();
}

// The addresses may overlap, because tests place other ranks' memory a few bytes behind their own.
void move_bytes(void* to, const void* from, size_t bytes) {
  if (is_real(to) && is_real(from)) std::memmove(to, from, bytes);
}

void capture(Stream& stream, bool on) {
  static unsigned long long captures = 0;
  const std::lock_guard lock(world().mutex);
  if (!on)
    for (Stream* own : world().streams)
      if (own->device == stream.device && own->capture == stream.capture) own->capturing = false;
  stream.capturing = on;
  if (on) stream.capture = ++captures;
}

Capture::Capture(CUstream_st* stream, bool captured) : stream_(stream_of(stream)) {
  capture(stream_, captured);
}

Capture::~Capture() {
  capture(stream_, false);
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
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, fakes::capture_mode());
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = world().num_devices;
  return checked("cudaGetDeviceCount");
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
  begin_mapping();
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
// The handle is the address itself, because the memory of other processes is this process's.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  *handle = {};
  std::memcpy(handle, &pointer, sizeof pointer);
  return checked("cudaIpcGetMemHandle") || !world().memory_handles ? cudaErrorNotSupported
                                                                   : cudaSuccess;
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  if (checked("cudaIpcOpenMemHandle")) return cudaErrorUnknown;
  begin_mapping();
  if (world().cannot_open.contains(current_device())) return cudaErrorMapBufferObjectFailed;
  std::memcpy(pointer, &handle, sizeof *pointer);
  ++world().live_mappings;
  const std::lock_guard lock(world().mutex);
  ++world().mappings[*pointer];
  return cudaSuccess;
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  begin_mapping();
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
  count_memory_call();
  if (checked("cudaMalloc")) return cudaErrorMemoryAllocation;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++world().live_allocations;
  const std::lock_guard lock(world().mutex);
  world().allocated.insert(*pointer);
  world().device_sizes[*pointer] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
  count_memory_call();
  {
    const std::lock_guard lock(world().mutex);
    world().allocated.erase(pointer);
    world().device_sizes.erase(pointer);
    world().freed_while_mapped += world().mappings[pointer] > 0;
  }
  std::free(pointer);
  --world().live_allocations;
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  count_memory_call();
  if (checked("cudaHostAlloc")) return cudaErrorMemoryAllocation;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++world().live_pinned;
  const std::lock_guard lock(world().mutex);
  world().pinned_sizes[*pointer] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  count_memory_call();
  {
    const std::lock_guard lock(world().mutex);
    world().pinned_sizes.erase(pointer);
  }
  std::free(pointer);
  --world().live_pinned;
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) {
  if (checked("cudaHostRegister")) return cudaErrorMemoryAllocation;
  if (world().cannot_pin.contains(current_device())) return cudaErrorMemoryAllocation;
  ++world().live_pins;
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void*) {
  --world().live_pins;
  return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return checked("cudaHostGetDevicePointer");
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  move_bytes(to, from, bytes);
  return checked("cudaMemcpy");
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind == cudaMemcpyHostToDevice) begin_write();
  settle(stream_of(stream));
  const std::lock_guard lock(world().mutex);
  if (!stream_of(stream).hang.holds()) move_bytes(to, from, bytes);
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
  return asked("cudaStreamIsCapturing", stream);
}
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                     const cudaGraphEdgeData**, size_t*) {
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t*, const cudaGraphNode_t**,
                                     size_t*) {
#endif
  *id = stream_of(stream).capture;
  *status =
      stream_of(stream).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return asked("cudaStreamGetCaptureInfo", stream);
}
// A stream that waits for a captured event joins the capture. A captured stream cannot wait for
// work outside of the capture.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  Stream& s = stream_of(stream);
  settle(s);
  const Event& e = event_of(event);
  if (s.capturing && !e.captured) return cudaErrorStreamCaptureIsolation;
  if (s.capturing && e.capture != s.capture) return cudaErrorStreamCaptureMerge;
  if (e.hang.holds()) s.hang = e.hang;
  if (e.captured) s.capture = e.capture;
  s.capturing |= e.captured;
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
  settle(stream_of(stream));
  const std::lock_guard lock(world().mutex);
  Stream& s = stream_of(stream);
  // What has ended is not looked at again, because what it has waited for may have been freed.
  if (!s.hang.holds()) s.hang = {};
  event_of(event) = {s.hang, s.capturing, s.capture};
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
  count_early(*config);
  if (w.on_gemm) w.on_gemm();
  if (w.kernel) {
    if (const Hang hang = w.kernel(arguments); hang.stuck) stream_of(config->stream).hang = hang;
    return checked("gemm " + name_of(config->stream));
  }
  const std::lock_guard lock(w.mutex);
  w.block = {config->blockDim.x, config->blockDim.y, config->blockDim.z};
  const cudaError_t error =
      checked("gemm " + name_of(config->stream) + " x" + std::to_string(config->gridDim.x) +
              (config->numAttrs ? " clusters" : ""));
  if (error == cudaSuccess) post_tiles(arguments, stream_of(config->stream));
  return error;
}

}  // extern "C"
