// Records when each kernel of a process ran. It is a library that the driver loads into any CUDA
// program.
//
//   g++ -std=c++20 -O2 -fPIC -shared kernel_times.cpp -o kernel_times.so -I /usr/local/cuda/include
//       -L /usr/local/cuda/lib64 -lcupti -Wl,-rpath,'$ORIGIN:/usr/local/cuda/lib64'
//   CUDA_INJECTION64_PATH=$PWD/kernel_times.so TILEPOST_KERNEL_TIMES=kernels.txt PROGRAM …
//
// The times are those that the device notes (CUPTI's activity records), which needs no privileges.
// "%p" in the file's name becomes the process's number. The file has these lines:
//
//   kernel-times 1
//   n ID NAME                             a name as the linker knows it, before its first kernel
//   k DEVICE STREAM START END GRAPH ID    ns, on one clock for all devices; GRAPH 1: of a graph
//   end RECORDS ALIKE LOST                last, unless the process was killed
//
// Of a burst of one kernel only the first ones are written, and ALIKE counts the others. The file
// holds at most TILEPOST_KERNEL_TIMES_MOST kernels (default 200000). LOST counts the kernels behind
// these and those that CUPTI dropped.
#include <cupti.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int kMostAlike = 64;          // kernels of one name in a row on one device
constexpr uint32_t kFlushPeriod = 250;  // ms: a process that is killed loses at most this time

// The kernel that was recorded last on a device.
struct LastKernel {
  int name = -1;
  int alike = 0;
};

class KernelFile {
 public:
  KernelFile(const std::string& path, long most)
      : most_(most), file_(std::fopen(path.c_str(), "w")) {
    if (file_ != nullptr) std::fprintf(file_, "kernel-times 1\n");
  }

  bool is_open() const { return file_ != nullptr; }

  // Takes all records of a buffer. CUPTI's threads and the thread that ends the process call it.
  void take(uint8_t* buffer, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS)
      if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        add(*reinterpret_cast<const CUpti_ActivityKernel10*>(record));
    std::fflush(file_);
  }

  void lose(size_t count) {
    const std::lock_guard lock(mutex_);
    lost_ += static_cast<long>(count);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    std::fprintf(file_, "end %ld %ld %ld\n", records_, alike_, lost_);
    std::fclose(file_);
    file_ = nullptr;
  }

 private:
  int number_of(const char* name) {
    const auto [found, fresh] =
        names_.emplace(name != nullptr ? name : "?", static_cast<int>(names_.size()));
    if (fresh) std::fprintf(file_, "n %d %s\n", found->second, found->first.c_str());
    return found->second;
  }

  void add(const CUpti_ActivityKernel10& kernel) {
    const int name = number_of(kernel.name);
    LastKernel& last = last_[kernel.deviceId];
    last.alike = last.name == name ? last.alike + 1 : 1;
    last.name = name;
    if (last.alike > kMostAlike) {
      ++alike_;
    } else if (records_ >= most_) {
      ++lost_;
    } else {
      ++records_;
      std::fprintf(file_, "k %u %u %" PRIu64 " %" PRIu64 " %d %d\n", kernel.deviceId,
                   kernel.streamId, kernel.start, kernel.end, kernel.graphNodeId != 0 ? 1 : 0,
                   name);
    }
  }

  const long most_;
  std::mutex mutex_;
  std::FILE* file_;
  std::map<std::string, int> names_;
  std::map<uint32_t, LastKernel> last_;
  long records_ = 0, alike_ = 0, lost_ = 0;
};

KernelFile* kernels = nullptr;  // never destroyed, because CUPTI's threads may come late

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                          size_t valid_bytes) {
  kernels->take(buffer, valid_bytes);
  std::free(buffer);
  size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
    kernels->lose(dropped);
}

// Runs after main has returned, too. A process that calls _exit keeps only what was flushed before.
void finish() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  kernels->close();
}

bool succeeded(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return true;
  const char* text = "?";
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "kernel_times: %s: %s\n", call, text);
  return false;
}

std::string path_of(std::string path) {
  const size_t place = path.find("%p");
  return place == std::string::npos ? path : path.replace(place, 2, std::to_string(getpid()));
}

}  // namespace

// The driver calls this when it is initialised. Returns 1: loaded.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const path = std::getenv("TILEPOST_KERNEL_TIMES");
  if (path == nullptr || kernels != nullptr) return 1;
  const char* const most = std::getenv("TILEPOST_KERNEL_TIMES_MOST");
  kernels = new KernelFile(path_of(path), most != nullptr ? std::atol(most) : 200000);
  if (!kernels->is_open()) {
    std::fprintf(stderr, "kernel_times: cannot write '%s'\n", path);
    return 1;
  }
  if (succeeded(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "RegisterCallbacks") &&
      succeeded(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "Enable") &&
      succeeded(cuptiActivityFlushPeriod(kFlushPeriod), "FlushPeriod"))
    std::atexit(finish);
  return 1;
}
