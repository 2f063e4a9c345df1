// How fast cuBLASLt is with kernels of Ampere's instructions, on a GPU for which it has newer ones.
//
//   nvcc -O3 -std=c++20 -I include -I . tests/gpu/ampere/cublas_ampere.cpp
//     runtime/bench/gemm/kernel_names.cpp -o cublas_ampere -lcublasLt
//   cublas_ampere MxNxK … > TIMES
//
// cuBLASLt cannot be told to use code for sm_80: it has such code as machine code only, which a GPU
// of another major version does not run. But it also has kernels of Ampere's design, whose names
// say so, compiled for newer GPUs. This program goes through all algorithms and configurations that
// cuBLASLt accepts for a product (B is [n, k], bf16), asks for the names of the kernels that they
// would launch, and times those that are of Ampere's. It does the same with the first eight
// algorithms that cuBLASLt itself proposes, whatever they are.
//
// TIMES begins with "# GPU, N SMs, cublasLt V". It has a line for each product: "m n k us kernel us
// kernel tried", first the fastest of all that cuBLASLt proposes, then the fastest of Ampere's (0
// and "-" if there is none), then how many of those were timed. Times are of a chip that rests
// between bursts, as in `tilepost bench --mode cool`: the median of bursts of 3 ms. Exit code: 0, 1
// for an error, 77 without a GPU.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/bench/gemm/kernel_names.h"

namespace {

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "FAIL: %s\n", what);
  std::exit(1);
}
#define CUDA(call) check((call) == cudaSuccess, #call)
#define CUBLAS(call) check((call) == CUBLAS_STATUS_SUCCESS, #call)

using Bits = uint16_t;  // of a bf16

constexpr size_t kWorkspace = 64 << 20;
constexpr int kDeadlineSeconds = 60;  // of a burst
constexpr int kSets = 3;              // of operands, used in turn
constexpr int kProposed = 8;          // as `tilepost bench` asks for
constexpr int kAsked = 400;           // of cuBLASLt's proposals, where Ampere's are looked for
constexpr size_t kFinalists = 8;      // timed with care
constexpr int kRounds = 9;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Candidate {
  cublasLtMatmulAlgo_t algorithm;
  std::string kernels;
  double us = 0;
};

bool is_of_ampere(const std::string& kernels) {
  for (const char* const part : {"sm80", "ampere", "cutlass_80"})
    if (kernels.find(part) != std::string::npos) return true;
  return false;
}

// C^T[n, m] = B A^T in the column-major view of cuBLASLt.
class Product {
 public:
  Product(int m, int n, int k) {
    CUBLAS(cublasLtCreate(&handle_));
    CUBLAS(cublasLtMatmulDescCreate(&multiply_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    CUBLAS(cublasLtMatmulDescSetAttribute(multiply_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                          sizeof transposed));
    CUBLAS(cublasLtMatrixLayoutCreate(&weights_, CUDA_R_16BF, k, n, k));
    CUBLAS(cublasLtMatrixLayoutCreate(&tokens_, CUDA_R_16BF, k, m, k));
    CUBLAS(cublasLtMatrixLayoutCreate(&out_, CUDA_R_16BF, n, m, n));
    for (int set = 0; set < kSets; ++set) {
      a_[set] = filled(int64_t{m} * k);
      b_[set] = filled(int64_t{n} * k);
      c_[set] = allocate(int64_t{m} * n * sizeof(Bits));
    }
    workspace_ = allocate(kWorkspace);
    CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&begin_));
    CUDA(cudaEventCreate(&end_));
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    for (int set = 0; set < kSets; ++set)
      for (void* memory : {a_[set], b_[set], c_[set]}) cudaFree(memory);
    cudaFree(workspace_);
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
    for (cublasLtMatrixLayout_t layout : {weights_, tokens_, out_})
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(multiply_);
    cublasLtDestroy(handle_);
  }

  // What cuBLASLt itself proposes, at most `asked`, the best by its own estimate first.
  std::vector<Candidate> proposed(int asked) const {
    cublasLtMatmulPreference_t preference = nullptr;
    CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
    CUBLAS(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
    std::vector<cublasLtMatmulHeuristicResult_t> results(asked);
    int found = 0;
    CUBLAS(cublasLtMatmulAlgoGetHeuristic(handle_, multiply_, weights_, tokens_, out_, out_,
                                          preference, asked, results.data(), &found));
    CUBLAS(cublasLtMatmulPreferenceDestroy(preference));
    std::vector<Candidate> candidates;
    for (int i = 0; i < found; ++i)
      if (results[i].state == CUBLAS_STATUS_SUCCESS) add(results[i].algo, candidates);
    return candidates;
  }

  // All configurations of all algorithms whose kernels are of Ampere's.
  std::vector<Candidate> of_ampere() const {
    std::vector<int> ids(512);
    int found = 0;
    CUBLAS(cublasLtMatmulAlgoGetIds(handle_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF,
                                    CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF,
                                    static_cast<int>(ids.size()), ids.data(), &found));
    std::vector<Candidate> candidates;
    for (int i = 0; i < found; ++i) {
      cublasLtMatmulAlgo_t algorithm;
      if (cublasLtMatmulAlgoInit(handle_, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                                 CUDA_R_16BF, CUDA_R_16BF, ids[i],
                                 &algorithm) == CUBLAS_STATUS_SUCCESS)
        configure(algorithm, candidates);
    }
    for (Candidate& candidate : proposed(kAsked)) candidates.push_back(std::move(candidate));
    std::erase_if(candidates, [](const Candidate& each) { return !is_of_ampere(each.kernels); });
    return candidates;
  }

  // Sets the times, and keeps the fastest few.
  void measure(std::vector<Candidate>& candidates) const {
    for (Candidate& candidate : candidates) candidate.us = burst(candidate, 2);
    std::ranges::sort(candidates, {}, &Candidate::us);
    if (candidates.size() > kFinalists) candidates.resize(kFinalists);
    std::vector<std::vector<double>> us(candidates.size());
    for (int round = 0; round < kRounds; ++round)
      for (size_t i = 0; i < candidates.size(); ++i) {
        constexpr double kBurstUs = 3000;
        usleep(8000);
        us[i].push_back(
            burst(candidates[i], std::max(3, static_cast<int>(kBurstUs / candidates[i].us))));
      }
    for (size_t i = 0; i < candidates.size(); ++i) candidates[i].us = median(us[i]);
    std::ranges::sort(candidates, {}, &Candidate::us);
  }

 private:
  static void* allocate(size_t bytes) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, bytes));
    return memory;
  }

  // Normal random numbers, as `tilepost bench` has, which repeat after some millions: what a chip
  // draws depends on its operands.
  static void* filled(int64_t count) {
    constexpr int64_t kBlock = 1 << 22;
    static const std::vector<Bits> block = [] {
      std::mt19937 random(1);
      std::normal_distribution<float> normal;
      std::vector<Bits> made(kBlock);
      for (Bits& bits : made) {
        const float value = normal(random);
        uint32_t word = 0;
        std::memcpy(&word, &value, sizeof word);
        bits = static_cast<Bits>(word >> 16);
      }
      return made;
    }();
    auto* const memory = static_cast<Bits*>(allocate(count * sizeof(Bits)));
    for (int64_t i = 0; i < count; i += kBlock)
      CUDA(cudaMemcpy(memory + i, block.data(), std::min(kBlock, count - i) * sizeof(Bits),
                      cudaMemcpyHostToDevice));
    return memory;
  }

  cublasStatus_t launch(const cublasLtMatmulAlgo_t& algorithm, int set) const {
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle_, multiply_, &one, b_[set], weights_, a_[set], tokens_, &zero,
                          c_[set], out_, c_[set], out_, &algorithm, workspace_, kWorkspace,
                          stream_);
  }

  void add(const cublasLtMatmulAlgo_t& algorithm, std::vector<Candidate>& candidates) const {
    candidates.push_back(
        {algorithm, tilepost::bench::kernel_names([&] { CUBLAS(launch(algorithm, 0)); }, stream_)});
  }

  // The values that an algorithm may have of a capability.
  static std::vector<uint32_t> values_of(const cublasLtMatmulAlgo_t& algorithm,
                                         cublasLtMatmulAlgoCapAttributes_t capability) {
    size_t bytes = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(&algorithm, capability, nullptr, 0, &bytes) !=
            CUBLAS_STATUS_SUCCESS ||
        bytes == 0)
      return {0};
    std::vector<uint32_t> values(bytes / sizeof(uint32_t));
    CUBLAS(cublasLtMatmulAlgoCapGetAttribute(&algorithm, capability, values.data(), bytes, &bytes));
    return values;
  }

  static bool set(cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
                  uint32_t value) {
    return cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
  }

  // Adds every tile with every number of stages, with K undivided or divided, that cuBLASLt
  // accepts.
  void configure(const cublasLtMatmulAlgo_t& base, std::vector<Candidate>& candidates) const {
    int divides = 0;
    size_t written = 0;
    cublasLtMatmulAlgoCapGetAttribute(&base, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, &divides,
                                      sizeof divides, &written);
    for (const uint32_t tile : values_of(base, CUBLASLT_ALGO_CAP_TILE_IDS))
      for (const uint32_t stages : values_of(base, CUBLASLT_ALGO_CAP_STAGES_IDS))
        for (const uint32_t parts : {1, 2, 4, 8}) {
          if (parts > 1 && divides == 0) break;
          cublasLtMatmulAlgo_t made = base;
          if (!set(made, CUBLASLT_ALGO_CONFIG_TILE_ID, tile) ||
              !set(made, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages) ||
              !set(made, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, parts) ||
              !set(made, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                   parts > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                             : CUBLASLT_REDUCTION_SCHEME_NONE))
            continue;
          cublasLtMatmulHeuristicResult_t result;
          if (cublasLtMatmulAlgoCheck(handle_, multiply_, weights_, tokens_, out_, out_, &made,
                                      &result) == CUBLAS_STATUS_SUCCESS &&
              result.workspaceSize <= kWorkspace)
            add(made, candidates);
        }
  }

  // Microseconds of a launch, of `launches` behind one that is not measured. Configurations that
  // fail are never the fastest.
  double burst(const Candidate& candidate, int launches) const {
    constexpr double kNever = 1e9;
    alarm(kDeadlineSeconds);
    if (launch(candidate.algorithm, 0) != CUBLAS_STATUS_SUCCESS) return kNever;
    CUDA(cudaEventRecord(begin_, stream_));
    for (int i = 0; i < launches; ++i)
      if (launch(candidate.algorithm, i % kSets) != CUBLAS_STATUS_SUCCESS) return kNever;
    CUDA(cudaEventRecord(end_, stream_));
    CUDA(cudaEventSynchronize(end_));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, begin_, end_));
    alarm(0);
    return ms * 1e3 / launches;
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t multiply_ = nullptr;
  cublasLtMatrixLayout_t weights_ = nullptr, tokens_ = nullptr, out_ = nullptr;
  void *a_[kSets], *b_[kSets], *c_[kSets];
  void* workspace_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// The first word of the kernels' names, of which the table has room for one.
std::string first_kernel(const Candidate& candidate) {
  const std::string name = candidate.kernels.substr(0, candidate.kernels.find(' '));
  return name.empty() ? "?" : name;
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return 77;
  cudaDeviceProp device;
  CUDA(cudaGetDeviceProperties(&device, 0));
  std::printf("# %s, %d SMs, cublasLt %zu\n", device.name, device.multiProcessorCount,
              cublasLtGetVersion());
  for (int i = 1; i < argc; ++i) {
    int m = 0, n = 0, k = 0;
    check(std::sscanf(argv[i], "%dx%dx%d", &m, &n, &k) == 3, "a product is MxNxK");
    const Product product(m, n, k);
    std::vector<Candidate> all = product.proposed(kProposed);
    product.measure(all);
    std::vector<Candidate> ampere = product.of_ampere();
    const size_t tried = ampere.size();
    product.measure(ampere);
    std::printf("%d %d %d %.2f %s", m, n, k, all.empty() ? 0 : all.front().us,
                all.empty() ? "-" : first_kernel(all.front()).c_str());
    std::printf(" %.2f %s %zu\n", ampere.empty() ? 0 : ampere.front().us,
                ampere.empty() ? "-" : first_kernel(ampere.front()).c_str(), tried);
    std::fflush(stdout);
  }
  return 0;
}
