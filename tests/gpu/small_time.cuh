// The speed of gemm_sm90_small, compared with cublasLt and with only reading the weights.
#ifndef TILEPOST_TESTS_GPU_SMALL_TIME_CUH
#define TILEPOST_TESTS_GPU_SMALL_TIME_CUH

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/cublas_lt.cuh"
#include "tests/gpu/small_kernels.cuh"
#include "tests/gpu/small_reference.cuh"

namespace small {

using plain::allocate;
using plain::CublasLt;
using plain::median;

constexpr int kDeadlineSeconds = 120;  // for one launch

struct Size {
  int m, n, k;
};

// A graph of launches in a row, which use the sets of operands in turn.
class Burst {
 public:
  using Run = std::function<void(cudaStream_t, int)>;

  Burst(int launches, int sets, const Run& run) : launches_(launches) {
    cudaStream_t stream;
    cudaGraph_t graph;
    CUDA(cudaStreamCreate(&stream));
    run(stream, 0);  // loads the kernel
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < launches; ++i) run(stream, i % sets);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable_, graph, 0));
    CUDA(cudaGraphUpload(executable_, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaEventCreate(&begin_));
    CUDA(cudaEventCreate(&end_));
  }
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;
  ~Burst() {
    cudaGraphExecDestroy(executable_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Microseconds per launch.
  double time() {
    alarm(kDeadlineSeconds);
    float ms;
    CUDA(cudaEventRecord(begin_));
    CUDA(cudaGraphLaunch(executable_, nullptr));
    CUDA(cudaEventRecord(end_));
    CUDA(cudaEventSynchronize(end_));
    CUDA(cudaEventElapsedTime(&ms, begin_, end_));
    alarm(0);
    return ms * 1e3 / launches_;
  }

 private:
  int launches_;
  cudaGraphExec_t executable_;
  cudaEvent_t begin_, end_;
};

// Reads `count` times sixteen bytes and does almost nothing else: the speed of the memory.
static __global__ void __launch_bounds__(512) read_all(const int4* p, size_t count, int* out) {
  int x = 0;
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  for (; i + 7 * stride < count; i += 8 * stride) {
    int4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __ldcs(p + i + j * stride);
#pragma unroll
    for (int j = 0; j < 8; ++j) x ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
  }
  for (; i < count; i += stride) x ^= p[i].x;
  if (x == 0x12345678) *out = x;
}

struct Variant {
  std::string name;
  std::unique_ptr<Burst> burst;
  std::vector<double> us;
};

// Each round runs every variant once, in a new random order.
inline void time_rounds(std::vector<Variant>& variants, int rounds) {
  std::mt19937 random(7);
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds + 2; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      const double us = variants[i].burst->time();
      if (round >= 2) variants[i].us.push_back(us);
    }
  }
}

inline void time_size(const Size& size, const std::function<bool(const Kernel&)>& wanted) {
  constexpr int kRounds = 31;
  const tilepost_shape_t s{size.m, size.n, size.k, size.k, size.k, size.n};
  const size_t weights_bytes = size_t(s.n) * s.k * 2;
  // At least 250 MB of weights are used in turn, because L2 has 60 MB.
  const int sets = static_cast<int>(std::max<size_t>(3, (250u << 20) / weights_bytes + 1));
  const int launches = (23 / sets + 1) * sets;
  std::vector<plain::Operands> operands(sets);
  for (int i = 0; i < sets; ++i) {
    plain::Operands& o = operands[i];
    o = {allocate<uint16_t>(size_t(s.m) * s.k), allocate<uint16_t>(size_t(s.n) * s.k),
         allocate<uint16_t>(size_t(s.m) * s.n)};
    fill(DType::bf16, o.a, size_t(s.m) * s.k, 2 * i + 1, Data::normal);
    fill(DType::bf16, o.b, size_t(s.n) * s.k, 2 * i + 2, Data::normal);
  }
  CUDA(cudaDeviceSynchronize());

  CublasLt lt(size.m, size.n, size.k);
  std::vector<Variant> candidates;
  for (int i = 0; i < lt.candidates(); ++i)
    candidates.push_back({std::to_string(i),
                          std::make_unique<Burst>(launches, sets,
                                                  [&](cudaStream_t stream, int set) {
                                                    lt.run(i, operands[set], stream);
                                                  }),
                          {}});
  time_rounds(candidates, 9);
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Variant& x, const Variant& y) { return median(x.us) < median(y.us); });

  std::vector<Variant> variants;
  variants.push_back(
      {"cublasLt, candidate " + best->name + " of " + std::to_string(candidates.size()),
       std::move(best->burst),
       {}});
  int* sink = allocate<int>(1);
  variants.push_back({"reading the weights",
                      std::make_unique<Burst>(launches, sets,
                                              [&](cudaStream_t stream, int set) {
                                                read_all<<<528, 512, 0, stream>>>(
                                                    static_cast<const int4*>(operands[set].b),
                                                    weights_bytes / 16, sink);
                                              }),
                      {}});
  // Takes kernels that hold the tokens in at most two tile rows without much padding.
  for (const Kernel& kernel : kKernels) {
    const int rows = (s.m + kernel.tile_m - 1) / kernel.tile_m;
    const bool fits = rows <= 2 && rows * kernel.tile_m < s.m + std::max(16, s.m / 2);
    if (!kernel.timed || !wanted(kernel) || !fits) continue;
    std::vector<Launch> on;
    for (const plain::Operands& o : operands)
      on.emplace_back(kernel, s, o, tilepost_epilogue_t{}, 0);
    for (const bool overlap : {false, true})
      variants.push_back(
          {std::string(kernel.name) + (overlap ? "_pdl, " : ", ") +
               std::to_string(on[0].config.gridDim.x) + " CTAs",
           std::make_unique<Burst>(launches, sets,
                                   [&](cudaStream_t stream, int set) { on[set](stream, overlap); }),
           {}});
  }
  time_rounds(variants, kRounds);
  const double bytes = static_cast<double>(weights_bytes) + 2.0 * s.m * s.k + 2.0 * s.m * s.n;
  std::printf("%dx%dx%d\n  %-38s %9s %8s %10s\n", s.m, s.n, s.k, "bf16", "us", "GB/s",
              "cublasLt/x");
  for (const Variant& v : variants) {
    std::vector<double> ratios;
    for (size_t r = 0; r < v.us.size(); ++r) ratios.push_back(variants[0].us[r] / v.us[r]);
    std::printf("  %-38s %9.2f %8.0f %10.3f\n", v.name.c_str(), median(v.us),
                bytes / median(v.us) / 1e3, median(ratios));
  }
  std::fflush(stdout);
  CUDA(cudaFree(sink));
  for (const plain::Operands& o : operands)
    for (void* p : {o.a, o.b, o.c}) CUDA(cudaFree(p));
}

}  // namespace small

#endif  // TILEPOST_TESTS_GPU_SMALL_TIME_CUH
