// Measures what the harness's way to take times costs by itself, with kernels that do nothing in
// place of an operation. Prints the same records as `tilepost bench`'s harness
// (runtime/bench/record.h).
//
//   nvcc -O2 -std=c++20 -arch=sm_90 empty.cu -o empty && ./empty [ROUNDS]
//
// These are the programs. In `empty_none` the second event follows the first one. `empty_one` has a
// block of one thread. `empty_whole` has the grid, the shared memory and the arguments of a large
// GEMM. The modes "overlap" and "steady" are as in runtime/bench/ranks: L2 is flushed, and kernels
// are behind a gate.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECKED(call) checked((call), #call)

namespace {

constexpr size_t kFlushBytes = size_t{256} << 20;
constexpr int kWarmUps = 20, kSteadyRuns = 10;
constexpr int kThreads = 384, kSharedBytes = 230528;
constexpr long long kGateClocks = 10'000'000'000;

void checked(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "empty: %s: %s\n", call, cudaGetErrorString(error));
  std::exit(1);
}

// As large as the arguments of a GEMM: three tensor maps, shape, epilogue and view.
struct Arguments {
  char bytes[2048];
};

__global__ void gate_kernel(const volatile unsigned* word, unsigned wanted) {
  const long long begin = clock64();
  while (static_cast<int>(*word - wanted) < 0 && clock64() - begin < kGateClocks) __nanosleep(200);
}

}  // namespace

// outside.py finds an operation's kernel by its namespace.
namespace tilepost_gen_empty_one {
__global__ void empty_kernel() {}
}  // namespace tilepost_gen_empty_one
namespace tilepost_gen_empty_whole {
__global__ void __launch_bounds__(kThreads, 1) empty_kernel(const __grid_constant__ Arguments) {}
}  // namespace tilepost_gen_empty_whole

namespace {

// Loads a kernel's code. Behind a closed gate, loading might wait for the gate.
template <class Kernel>
void preload(Kernel* kernel) {
  cudaFuncAttributes attributes;
  CHECKED(cudaFuncGetAttributes(&attributes, kernel));
}

// Measures the time between two events on one device, with `runs` launches between them.
class Device {
 public:
  Device(int index, unsigned* gate) : index_(index), gate_(gate) {
    use();
    CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECKED(cudaEventCreate(&begin_));
    CHECKED(cudaEventCreate(&end_));
    CHECKED(cudaMalloc(&flush_, kFlushBytes));
    CHECKED(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, index));
    preload(gate_kernel);
    preload(tilepost_gen_empty_one::empty_kernel);
    CHECKED(cudaFuncSetAttribute(tilepost_gen_empty_whole::empty_kernel,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  }

  // Microseconds of one run. With one run, all work is enqueued before the gate opens. With several
  // runs, the first of them is.
  template <class Launch>
  double time(int runs, Launch launch) {
    use();
    CHECKED(cudaMemsetAsync(flush_, 0, kFlushBytes, stream_));
    CHECKED(cudaStreamSynchronize(stream_));
    gate_kernel<<<1, 1, 0, stream_>>>(gate_, ++gates_);
    CHECKED(cudaEventRecord(begin_, stream_));
    launch(*this);
    if (runs == 1) CHECKED(cudaEventRecord(end_, stream_));
    __atomic_store_n(gate_, gates_, __ATOMIC_RELEASE);
    for (int i = 1; i < runs; ++i) launch(*this);
    if (runs > 1) CHECKED(cudaEventRecord(end_, stream_));
    CHECKED(cudaEventSynchronize(end_));
    float milliseconds = 0;
    CHECKED(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1000.0 * milliseconds / runs;
  }

  void launch_one() { tilepost_gen_empty_one::empty_kernel<<<1, 1, 0, stream_>>>(); }
  void launch_whole() {
    tilepost_gen_empty_whole::empty_kernel<<<sms_, kThreads, kSharedBytes, stream_>>>({});
  }

 private:
  void use() const { CHECKED(cudaSetDevice(index_)); }

  const int index_;
  unsigned* const gate_;
  unsigned gates_ = 0;
  int sms_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  void* flush_ = nullptr;
};

void print_sample(const char* program, const char* mode, int round,
                  const std::vector<double>& times) {
  std::printf(
      "{\"record\": \"sample\", \"program\": \"%s\", \"mode\": \"%s\", \"round\": %d, "
      "\"us\": {\"ours\": %.6g}, \"ours_of_rank\": {",
      program, mode, round, *std::max_element(times.begin(), times.end()));
  for (size_t i = 0; i < times.size(); ++i)
    std::printf("%s\"%zu\": %.6g", i > 0 ? ", " : "", i, times[i]);
  std::printf("}}\n");
}

template <class Launch>
void measure(std::vector<Device>& devices, const char* program, int rounds, Launch launch) {
  for (const int runs : {1, kSteadyRuns})
    for (int round = -kWarmUps; round < rounds; ++round) {
      std::vector<double> times;
      for (Device& device : devices) times.push_back(device.time(runs, launch));
      CHECKED(cudaGetLastError());
      if (round >= 0) print_sample(program, runs == 1 ? "overlap" : "steady", round, times);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  int count = 0;
  CHECKED(cudaGetDeviceCount(&count));
  std::vector<Device> devices;
  for (int i = 0; i < std::min(count, 2); ++i) {
    unsigned* gate = nullptr;
    CHECKED(cudaHostAlloc(&gate, sizeof *gate, cudaHostAllocPortable));
    *gate = 0;
    devices.emplace_back(i, gate);
  }
  measure(devices, "empty_none", rounds, [](Device&) {});
  measure(devices, "empty_one", rounds, [](Device& device) { device.launch_one(); });
  measure(devices, "empty_whole", rounds, [](Device& device) { device.launch_whole(); });
}
