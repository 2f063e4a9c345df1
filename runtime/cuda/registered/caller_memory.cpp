#include "runtime/cuda/registered/caller_memory.h"

#include <cinttypes>

#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {
namespace {

// Reads an attribute of a pointer. Returns false if CUDA does not know the pointer, or does not
// know this attribute of it.
template <class T>
bool ask(const Driver& driver, CUpointer_attribute attribute, const void* pointer, T& value) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  return driver.pointer_attribute(&value, attribute, address) == CUDA_SUCCESS;
}

// Whether memory belongs to a memory pool. CUDA does not document the attribute for other memory.
bool is_of_pool(const Driver& driver, const void* pointer) {
  uintptr_t pool = 0;  // a handle
  return ask(driver, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer, pool) && pool != 0;
}

// Whether memory was mapped with cuMemMap. Such memory has an allocation of cuMemCreate, which can
// be retained (CUDA Driver API, cuMemRetainAllocationHandle).
bool is_mapped(const Driver& driver, const void* pointer) {
  CUmemGenericAllocationHandle handle = 0;
  if (driver.retain_handle(&handle, const_cast<void*>(pointer)) != CUDA_SUCCESS) return false;
  driver.release_handle(handle);
  return true;
}

tilepost_result_t check_kind(const Driver& driver, int device, const void* known,
                             const void* buffer) {
  constexpr const char* kWayOut =
      "allocate it with cudaMalloc, or pass it as out without registering it";
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  if (!ask(driver, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer, type) || type != CU_MEMORYTYPE_DEVICE)
    return fail(TILEPOST_INVALID_ARGUMENT, "buffer must be device memory, got host memory at %p",
                buffer);
  const auto address = reinterpret_cast<CUdeviceptr>(buffer);
  TILEPOST_DRIVER(driver.pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
  if (managed != 0)
    return fail(TILEPOST_UNSUPPORTED,
                "the buffer at %p is managed memory, which other ranks cannot be given; %s", buffer,
                kWayOut);
  TILEPOST_DRIVER(driver.pointer_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
  if (ordinal != device)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "buffer must be memory of the communicator's device %d, got memory of device %d",
                device, ordinal);
  if (is_of_pool(driver, buffer))
    return fail(TILEPOST_UNSUPPORTED,
                "the buffer at %p is of a memory pool (cudaMallocAsync), which other ranks cannot "
                "be given; %s",
                buffer, kWayOut);
  constexpr auto kHasHandles = CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
  unsigned handles = 0, known_handles = 0;
  TILEPOST_DRIVER(driver.pointer_attribute(&handles, kHasHandles, address));
  if (handles != 0) return TILEPOST_OK;
  if (is_mapped(driver, buffer))
    return fail(TILEPOST_UNSUPPORTED,
                "the buffer at %p is memory of cuMemCreate (as in PyTorch's expandable segments), "
                "which other ranks cannot be given; %s",
                buffer, kWayOut);
  // If not even `known` has a handle, this system has no handles at all. Ranks that are threads
  // need none.
  if (ask(driver, kHasHandles, known, known_handles) && known_handles != 0)
    return fail(TILEPOST_UNSUPPORTED,
                "the buffer at %p is not memory that cudaMalloc made in this process (but a "
                "graph's or another process's, say), and other ranks cannot be given it; %s",
                buffer, kWayOut);
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t find_caller_memory(const Driver& driver, int device, const void* known,
                                     const void* buffer, int64_t bytes, CallerMemory& memory) {
  TILEPOST_TRY(check_kind(driver, device, known, buffer));
  const auto address = reinterpret_cast<CUdeviceptr>(buffer);
  size_t size = 0;
  TILEPOST_DRIVER(driver.pointer_attribute(static_cast<void*>(&memory.base),
                                           CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address));
  TILEPOST_DRIVER(driver.pointer_attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address));
  TILEPOST_DRIVER(driver.pointer_attribute(&memory.id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
  memory.bytes = static_cast<int64_t>(size);
  const int64_t left = memory.bytes - (static_cast<const char*>(buffer) - memory.base);
  if (bytes <= left) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "bytes is %" PRId64 ", and from %p on the allocation has %" PRId64, bytes, buffer,
              left);
}

bool is_still_there(const Driver& driver, const void* pointer, unsigned long long id) {
  unsigned long long found = 0;
  return ask(driver, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer, found) && found == id;
}

}  // namespace tilepost::cuda
