// gemm_sm90_small un-woven: whether it is right on ragged shapes, whether it gives the same bits
// every time, and how fast it is beside cublasLt.
//
// Build:
//   nvcc -O3 -std=c++20 -I include -I . -gencode arch=compute_90a,code=sm_90a
//   tests/gpu/small_gemm.cu -o small_gemm -lcublasLt
// Run: ./small_gemm [check|time|MxNxK|only=PART|promote=BYTES]…
//
// Without "check" and "time" it does both. MxNxK: times this size instead of the usual ones.
// only=PART: takes only kernels whose name contains PART. promote=BYTES: how much L2 fetches around
// a miss of A or B, which is 0, 64, 128 or 256 bytes. Every launch has a deadline. Exit code: 0
// right, 1 wrong, 77 no GPU of compute capability 9.0.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/small_kernels.cuh"
#include "tests/gpu/small_reference.cuh"
#include "tests/gpu/small_time.cuh"

using small::Kernel, small::Launch, small::Size, small::Data, small::Bound, small::allocate;
using tilepost::DType;

namespace {

std::string only;

constexpr size_t kGuard = 1 << 16;

// The operands of one problem, its reference, and room for results. It has room for the largest
// problem.
struct Problem {
  static constexpr size_t kMaxM = 520, kMaxN = 8192 + 64, kMaxK = 3584 + 64;

  void* a = allocate<uint16_t>(kMaxM * kMaxK);
  void* b = allocate<uint16_t>(kMaxN * kMaxK);
  uint8_t* guarded = allocate<uint8_t>(kMaxM * kMaxN * 2 + 2 * kGuard);
  double* sums = allocate<double>(kMaxM * kMaxN);
  float* magnitudes = allocate<float>(kMaxM * kMaxN);
  float* scale_a = allocate<float>(kMaxM);
  float* scale_b = allocate<float>(kMaxN);
  void* bias = allocate<uint16_t>(kMaxN);
  void* residual = allocate<uint16_t>(kMaxM * kMaxN);
  unsigned long long* wrong = allocate<unsigned long long>(1);
  // For each kind, the result of the first kernel; others must have the same bits.
  std::map<int, uint16_t*> first;
  std::vector<uint16_t*> spare;

  tilepost_shape_t shape{};
  Data data{};

  void prepare(DType type, bool nn, const Size& size, bool padded, Data what) {
    static uint64_t seed = 1;
    const int pad = padded ? 32 : 0;
    data = what;
    shape = {size.m,
             size.n,
             size.k,
             size.k + pad,
             (nn ? size.n : size.k) + pad,
             size.n + (padded ? 8 : 0)};
    small::fill(type, a, size_t(shape.m) * shape.lda, seed++, data);
    small::fill(type, b, size_t(nn ? shape.k : shape.n) * shape.ldb, seed++, data);
    small::fill_as<<<64, 256>>>(scale_a, shape.m, seed++, Data::normal);
    small::fill_as<<<64, 256>>>(scale_b, shape.n, seed++, Data::normal);
    small::reference(type, a, b, shape, nn, sums, magnitudes);
    for (const auto& [key, copy] : first) spare.push_back(copy);
    first.clear();
  }

  unsigned long long run(const Kernel& kernel, int clusters) {
    const size_t bytes = size_t(shape.m) * shape.ldc * 2;
    uint16_t* c = reinterpret_cast<uint16_t*>(guarded + kGuard);
    const tilepost_epilogue_t epilogue{scale_a, scale_b, bias, residual};
    small::fill(kernel.output, bias, shape.n, 11, Data::normal);
    small::fill(kernel.output, residual, size_t(shape.m) * shape.n, 12, Data::normal);
    CUDA(cudaMemset(wrong, 0, sizeof(*wrong)));
    CUDA(cudaMemset(guarded, 0xff, bytes + 2 * kGuard));  // NaN in both types
    alarm(small::kDeadlineSeconds);
    Launch(kernel, shape, {a, b, c}, epilogue, clusters)(nullptr);
    CUDA(cudaDeviceSynchronize());
    check_values(kernel, c, epilogue);
    plain::count_touched<<<16, 256>>>(guarded, kGuard, wrong);
    plain::count_touched<<<16, 256>>>(guarded + kGuard + bytes, kGuard, wrong);
    check_bits(kernel, c, bytes);
    unsigned long long result;
    CUDA(cudaMemcpy(&result, wrong, sizeof(result), cudaMemcpyDeviceToHost));
    alarm(0);
    return result;
  }

  void check_values(const Kernel& kernel, const void* c, const tilepost_epilogue_t& epilogue) {
    const bool e4m3 = kernel.element == DType::e4m3;
    const Bound bound{
        data == Data::integers && kernel.epilogue == 0 && (!e4m3 || kernel.precise),
        kernel.output == DType::f16 ? 0x1p-11f : 0x1p-8f,
        e4m3 ? (kernel.precise ? 0x1p-11f : 0x1p-10f) : static_cast<float>(shape.k) * 0x1p-24f};
    const dim3 blocks((shape.ldc + 31) / 32, (shape.m + 7) / 8), threads(32, 8);
    if (kernel.output == DType::bf16)
      small::compare_as<<<blocks, threads>>>(static_cast<const __nv_bfloat16*>(c), sums, magnitudes,
                                             shape, epilogue, kernel.epilogue, bound, wrong);
    else
      small::compare_as<<<blocks, threads>>>(static_cast<const __half*>(c), sums, magnitudes, shape,
                                             epilogue, kernel.epilogue, bound, wrong);
  }

  // Kernels with the same tile and the same division of K must give the same bits, for any number
  // of stages and any grid.
  void check_bits(const Kernel& kernel, const uint16_t* c, size_t bytes) {
    const int kind = kernel.epilogue * 8 + kernel.precise * 4 + static_cast<int>(kernel.output);
    const int key =
        (kind * 16 + kernel.split_k) * 1024 + kernel.tile_m / 8 * 4 + kernel.tile_n / 64;
    if (const auto found = first.find(key); found != first.end()) {
      small::count_different<<<64, 256>>>(c, found->second, bytes / 2, wrong);
      return;
    }
    if (spare.empty()) spare.push_back(allocate<uint16_t>(kMaxM * kMaxN));
    first[key] = spare.back();
    spare.pop_back();
    CUDA(cudaMemcpy(first[key], c, bytes, cudaMemcpyDeviceToDevice));
  }
};

bool wanted(const Kernel& kernel) {
  return std::string(kernel.name).find(only) != std::string::npos;
}

struct Tally {
  int runs = 0, failures = 0;
};

void check_problem(Problem& problem, DType type, bool nn, std::map<std::string, Tally>& tallies) {
  for (const Kernel& kernel : small::kKernels) {
    if (kernel.element != type || kernel.nn != nn || !wanted(kernel)) continue;
    const tilepost_shape_t& s = problem.shape;
    // Runs with as many clusters as fit, twice, and with few clusters, which then have several
    // tiles each.
    for (int clusters : {0, 3, 0}) {
      const auto wrong = problem.run(kernel, clusters);
      Tally& tally = tallies[kernel.name];
      ++tally.runs;
      if (!wrong) continue;
      if (++tally.failures <= 4)
        std::printf("  %s %dx%dx%d, %s, %s, %s: %llu wrong\n", kernel.name, s.m, s.n, s.k,
                    clusters ? "3 clusters" : "all clusters",
                    problem.data == Data::integers ? "integers" : "normal",
                    s.ldc > s.n ? "padded" : "dense", wrong);
      std::fflush(stdout);
    }
  }
}

bool check() {
  Problem problem;
  std::map<std::string, Tally> tallies;
  const std::pair<DType, bool> kinds[] = {{DType::bf16, false},
                                          {DType::bf16, true},
                                          {DType::f16, false},
                                          {DType::f16, true},
                                          {DType::e4m3, false}};
  for (const auto& [type, nn] : kinds) {
    int count = 0;
    // The length of a row of e4m3 must be a multiple of 16 elements.
    const bool e4m3 = type == DType::e4m3;
    for (int m : {1, 7, 16, 33, 64, 100, 128, 200, 256, 520})
      for (int n : {64, 200, 1000, 8192})
        for (int k : {64, e4m3 ? 144 : 72, e4m3 ? 1008 : 1000, 3584})
          for (Data data : {Data::integers, Data::normal}) {
            problem.prepare(type, nn, {m, n, k}, ++count / 2 % 2, data);
            check_problem(problem, type, nn, tallies);
          }
  }
  bool ok = true;
  for (const Kernel& kernel : small::kKernels) {
    if (!wanted(kernel)) continue;
    const Tally& tally = tallies[kernel.name];
    std::printf("%-4s %-28s %4d runs, %d wrong\n", tally.failures || !tally.runs ? "FAIL" : "ok",
                kernel.name, tally.runs, tally.failures);
    ok &= !tally.failures && tally.runs;
  }
  std::fflush(stdout);
  return ok;
}

void print_clusters() {
  std::printf("# clusters that fit:");
  int last = 0;
  for (int size = 1; size <= 8; ++size)
    for (const Kernel& kernel : small::kKernels) {
      if (kernel.split_k != size || size == last) continue;
      last = size;
      void* p = allocate<uint8_t>(1 << 20);
      Launch launch(kernel, {8, 64, 64, 64, 64, 64}, {p, p, p}, {}, 1);
      std::printf(" %d of %d,", launch.max_clusters(), size);
      CUDA(cudaFree(p));
    }
  std::printf("\n");
}

CUtensorMapL2promotion promotion_of(int bytes) {
  return bytes == 256   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
         : bytes == 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
         : bytes == 64  ? CU_TENSOR_MAP_L2_PROMOTION_L2_64B
                        : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) {
    std::printf("skipped: no GPU of compute capability 9.0\n");
    return 77;
  }
  bool checks = false, times = false;
  std::vector<Size> sizes;
  for (int i = 1; i < argc; ++i) {
    Size size;
    if (!std::strcmp(argv[i], "check"))
      checks = true;
    else if (!std::strcmp(argv[i], "time"))
      times = true;
    else if (!std::strncmp(argv[i], "only=", 5))
      only = argv[i] + 5;
    else if (!std::strncmp(argv[i], "promote=", 8))
      small::promotion = promotion_of(std::atoi(argv[i] + 8));
    else if (std::sscanf(argv[i], "%dx%dx%d", &size.m, &size.n, &size.k) == 3)
      sizes.push_back(size);
    else
      plain::check(false, argv[i], "not check, time, only=PART, promote=BYTES or MxNxK");
  }
  if (!checks && !times) checks = times = true;
  std::printf("# %s, %d SMs\n", device.name, device.multiProcessorCount);
  print_clusters();
  std::fflush(stdout);
  if (checks && !check()) return 1;
  if (times) {
    if (sizes.empty())
      for (int k : {8192, 3584})
        for (int m : {1, 16, 64, 128, 256}) sizes.push_back({m, 8192, k});
    for (const Size& size : sizes) small::time_size(size, wanted);
  }
  return 0;
}
