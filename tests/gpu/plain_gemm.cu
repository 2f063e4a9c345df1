// The CUDA templates un-woven: whether they are right on ragged shapes, and how fast they are
// beside cuBLAS.
//
// Build:
//   nvcc -O3 -std=c++20 -I include -I . -gencode $ARCH tests/gpu/plain_*.cu -o plain_gemm
//   -lcublas
// For all templates ARCH is arch=compute_90a,code=sm_90a (not -arch=sm_90a, which makes code for
// compute_90 too, which has no wgmma). For gemm_sm80 alone ARCH is for example
// arch=compute_89,code=sm_89, with -DTILEPOST_TEST_SM90=0, and below sm_89 also with
// -DTILEPOST_TEST_SM80_MORE=0.
//
// Run: ./plain_gemm [check|time|NAME]… Without "check" and "time" it does both. With names it takes
// only kernels whose name contains one of them. Every launch has a deadline. Exit code: 0 right, 1
// wrong, 77 no GPU of the kind it was built for.
#include <cublas_v2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/plain_kernels.h"
#include "tests/gpu/plain_reference.cuh"

using plain::Data, plain::Kernel, plain::Launch, plain::Operands, plain::Problem;
using tilepost::DType;

namespace {

constexpr int kDeadlineSeconds = 60;

#define CUBLAS(call) plain::check((call) == CUBLAS_STATUS_SUCCESS, #call, "cuBLAS")

// ---- Right?

struct Size {
  int m, n, k;
};
constexpr Size kSizes[] = {
    {1, 8, 8},          {7, 16, 8},         {16, 8, 16},       {63, 72, 64},
    {64, 64, 64},       {65, 120, 72},      {127, 128, 56},    {128, 256, 64},
    {129, 264, 128},    {130, 72, 8},       {255, 248, 120},   {256, 512, 192},
    {257, 520, 208},    {512, 768, 256},    {1000, 1000, 528}, {900, 2056, 4096},
    {2048, 2048, 1024}, {2176, 1032, 8208}, {4224, 4104, 528}, {2056, 4104, 1000},
    {1, 1, 1},          {3, 5, 7},          {65, 33, 17},      {127, 129, 65},
    {200, 300, 101},    {129, 130, 66},     {250, 252, 100},   {1023, 1025, 333},
    {8, 4096, 4096},    {33, 1000, 2048},
};

// Device memory that grows as needed and is never freed, because allocation takes longer than most
// checks.
void* scratch(int slot, size_t bytes) {
  static struct {
    void* p = nullptr;
    size_t bytes = 0;
  } slots[8];
  auto& s = slots[slot];
  if (bytes > s.bytes) {
    CUDA(cudaFree(s.p));
    CUDA(cudaMalloc(&s.p, bytes));
    s.bytes = bytes;
  }
  return s.p;
}

template <class T>
T* filled(int slot, size_t count, Data data) {
  static uint64_t seed = 1;
  T* p = static_cast<T*>(scratch(slot, count * sizeof(T)));
  plain::fill<<<256, 256>>>(p, count, seed++, data);
  return p;
}

// The largest error of a sum, relative to the sum of its products' magnitudes. fp32 rounds k times.
// For e4m3 the tensor cores of sm_89 and wgmma add 32 products at a time. They align them to the
// largest and drop all that lies 13 bits below it. In precise sums no more than 128 products are
// added so.
float slack_of(const Kernel& kernel, int k) {
  const float fp32 = static_cast<float>(k) * 0x1p-24f;
  if (kernel.element != DType::e4m3) return fp32;
  return fp32 + (kernel.precise ? 0x1p-9f : 0x1p-6f);
}

// Runs one kernel on one size. Returns how many elements are wrong and bytes around C were touched.
template <class In, class Out>
unsigned long long run_once(const Kernel& kernel, const Size& size, int ctas, bool integers,
                            bool padded, bool with_bias) {
  constexpr size_t kGuard = 1 << 16;
  const Data data = integers ? Data::integers : Data::random;
  const Data scales = integers ? Data::powers : Data::random;
  const int pad_a = padded ? 2 * kernel.load_vector : 0;
  const int pad_b = !padded ? 0 : kernel.nn ? 2 * kernel.load_vector_b : pad_a;
  const int pad_c = padded ? kernel.store_vector : 0;
  const tilepost_shape_t s{
      size.m,        size.n, size.k, size.k + pad_a, (kernel.nn ? size.n : size.k) + pad_b,
      size.n + pad_c};
  const size_t bytes_c = size_t(s.m) * s.ldc * sizeof(Out);
  Problem p{};
  p.a = filled<In>(0, size_t(s.m) * s.lda, data);
  p.b = filled<In>(1, size_t(kernel.nn ? s.k : s.n) * s.ldb, data);
  uint8_t* guarded = static_cast<uint8_t*>(scratch(2, bytes_c + 2 * kGuard));
  auto* wrong = static_cast<unsigned long long*>(scratch(3, sizeof(unsigned long long)));
  p.c = guarded + kGuard;
  p.shape = s;
  p.epilogue.scale_a = filled<float>(4, s.m, scales);
  p.epilogue.scale_b = filled<float>(5, s.n, scales);
  p.epilogue.bias = with_bias ? filled<Out>(6, s.n, data) : nullptr;
  p.epilogue.residual = filled<Out>(7, size_t(s.m) * s.n, data);
  p.ops = kernel.epilogue;
  p.nn = kernel.nn;
  p.exact = integers && (p.ops & (TILEPOST_GELU | TILEPOST_SILU)) == 0;
  p.slack = integers ? 0 : slack_of(kernel, s.k);
  p.rounding = kernel.output == DType::f16 ? 0x1p-11f : 0x1p-8f;
  CUDA(cudaMemset(wrong, 0, sizeof(*wrong)));
  CUDA(cudaMemset(guarded, 0xff, bytes_c + 2 * kGuard));  // NaN in both types
  alarm(kDeadlineSeconds);
  const Operands operands{const_cast<void*>(p.a), const_cast<void*>(p.b), const_cast<void*>(p.c)};
  Launch(kernel, s, operands, ctas, p.epilogue)(nullptr);
  CUDA(cudaDeviceSynchronize());
  const dim3 blocks((s.ldc + 31) / 32, std::min((s.m + 7) / 8, 65535));
  plain::compare<In, Out><<<blocks, dim3(32, 8)>>>(p, wrong);
  plain::count_touched<<<16, 256>>>(guarded, kGuard, wrong);
  plain::count_touched<<<16, 256>>>(guarded + kGuard + bytes_c, kGuard, wrong);
  unsigned long long result;
  CUDA(cudaMemcpy(&result, wrong, sizeof(result), cudaMemcpyDeviceToHost));
  alarm(0);
  return result;
}

using RunOnce = unsigned long long (*)(const Kernel&, const Size&, int, bool, bool, bool);

RunOnce run_of(const Kernel& kernel) {
  const bool f16 = kernel.output == DType::f16;
  switch (kernel.element) {
    case DType::bf16:
      return f16 ? run_once<__nv_bfloat16, __half> : run_once<__nv_bfloat16, __nv_bfloat16>;
    case DType::f16:
      return f16 ? run_once<__half, __half> : run_once<__half, __nv_bfloat16>;
    case DType::e4m3:
      return f16 ? run_once<__nv_fp8_e4m3, __half> : run_once<__nv_fp8_e4m3, __nv_bfloat16>;
  }
  return nullptr;
}

bool check_kernel(const Kernel& kernel, int sms) {
  int runs = 0, failures = 0;
  for (const Size& size : kSizes) {
    if (!kernel.serves(size.n, size.k)) continue;
    for (int ctas : {sms * kernel.ctas_per_sm, 6}) {
      const bool integers = runs % 3 != 2, padded = runs / 2 % 2, with_bias = runs % 5 != 4;
      const auto wrong = run_of(kernel)(kernel, size, ctas, integers, padded, with_bias);
      ++runs;
      if (!wrong) continue;
      ++failures;
      std::printf("  %s %dx%dx%d, %d CTAs, %s, %s, %s: %llu wrong\n", kernel.name, size.m, size.n,
                  size.k, ctas, integers ? "integers" : "random", padded ? "padded" : "dense",
                  with_bias ? "bias" : "no bias", wrong);
    }
  }
  const bool ok = failures == 0 && runs > 0;
  std::printf("%-4s %-40s %3d runs, %d wrong\n", ok ? "ok" : "FAIL", kernel.name, runs, failures);
  std::fflush(stdout);
  return ok;
}

// ---- How fast?

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

constexpr int kSets = 3;

// Three sets of operands are used in turn, so that L2 does not hold them. The bits of uniform e4m3
// numbers are as random as those of bf16.
struct Sets {
  Operands operands[kSets];
  tilepost_epilogue_t epilogue{};

  Sets(const tilepost_shape_t& s, DType element) {
    for (int i = 0; i < kSets; ++i) {
      Operands& o = operands[i];
      CUDA(cudaMalloc(&o.a, size_t(s.m) * s.k * 2));
      CUDA(cudaMalloc(&o.b, size_t(s.n) * s.k * 2));
      CUDA(cudaMalloc(&o.c, size_t(s.m) * s.n * 2));
      fill(o.a, size_t(s.m) * s.k, 2 * i, element);
      fill(o.b, size_t(s.n) * s.k, 2 * i + 1, element);
    }
    epilogue.scale_a = filled<float>(4, s.m, Data::random);
    epilogue.scale_b = filled<float>(5, s.n, Data::random);
    epilogue.bias = filled<__nv_bfloat16>(6, s.n, Data::random);
    epilogue.residual = filled<__nv_bfloat16>(7, size_t(s.m) * s.n, Data::random);
  }
  ~Sets() {
    for (const Operands& o : operands)
      for (void* p : {o.a, o.b, o.c}) CUDA(cudaFree(p));
  }
  Sets(const Sets&) = delete;

  static void fill(void* p, size_t count, uint64_t seed, DType element) {
    if (element == DType::e4m3)
      plain::fill<<<1024, 256>>>(static_cast<__nv_fp8_e4m3*>(p), count, seed, Data::random);
    else
      plain::fill<<<1024, 256>>>(static_cast<__nv_bfloat16*>(p), count, seed, Data::random);
  }
};

struct Variant {
  std::string name;
  std::function<void(int set)> run;
  std::vector<double> ms;
};

// Each round runs all variants in a new random order. Each variant runs in a burst of about 3 ms
// after 8 ms of idling, because work just before changes the chip's clock.
void run_rounds(std::vector<Variant>& variants, double flop) {
  constexpr int kRounds = 11;
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  const int repeats = std::max(3, std::min(1000, static_cast<int>(3.0 / (flop / 7e11))));
  std::mt19937 random(7);
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round <= kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      alarm(kDeadlineSeconds);
      CUDA(cudaDeviceSynchronize());
      usleep(8000);
      variants[i].run(0);
      CUDA(cudaEventRecord(begin));
      for (int r = 0; r < repeats; ++r) variants[i].run(r % kSets);
      CUDA(cudaEventRecord(end));
      CUDA(cudaEventSynchronize(end));
      float ms;
      CUDA(cudaEventElapsedTime(&ms, begin, end));
      if (round) variants[i].ms.push_back(ms / repeats);
    }
  }
  alarm(0);
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
}

// Times the kernels with these operands, and cuBLAS if they have 16 bits.
void time_size(const std::vector<Kernel>& kernels, const Size& size, DType element, bool nn,
               int sms) {
  const tilepost_shape_t s{size.m, size.n, size.k, size.k, nn ? size.n : size.k, size.n};
  std::vector<std::vector<Launch>> launches;
  launches.reserve(2 * kernels.size());
  const Sets sets(s, element);
  std::vector<Variant> variants;
  cublasHandle_t cublas;
  void* workspace;
  CUBLAS(cublasCreate(&cublas));
  CUDA(cudaMalloc(&workspace, 64 << 20));
  CUBLAS(cublasSetWorkspace(cublas, workspace, 64 << 20));
  if (element == DType::bf16) {
    const auto run = [&](int set) {
      const float one = 1, zero = 0;
      const Operands& o = sets.operands[set];
      CUBLAS(cublasGemmEx(cublas, nn ? CUBLAS_OP_N : CUBLAS_OP_T, CUBLAS_OP_N, s.n, s.m, s.k, &one,
                          o.b, CUDA_R_16BF, s.ldb, o.a, CUDA_R_16BF, s.lda, &zero, o.c, CUDA_R_16BF,
                          s.ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    variants.push_back({"cuBLAS", run, {}});
  }
  for (const Kernel& kernel : kernels) {
    if (!kernel.timed || kernel.element != element || kernel.nn != nn || !kernel.serves(s.n, s.k))
      continue;
    for (int ctas : {sms, sms / 8 * 8}) {
      launches.emplace_back();
      for (const Operands& o : sets.operands)
        launches.back().emplace_back(kernel, s, o, ctas * kernel.ctas_per_sm, sets.epilogue);
      auto* l = &launches.back();
      const std::string grid = std::to_string(l->front().grid);
      variants.push_back({std::string(kernel.name) + ", " + grid + " CTAs",
                          [l](int set) { (*l)[set](nullptr); },
                          {}});
      if (sms % 8 == 0 || l->front().grid < ctas * kernel.ctas_per_sm) break;
    }
  }
  if (launches.empty()) return;
  const double flop = 2.0 * s.m * s.n * s.k;
  run_rounds(variants, flop);
  const std::string first = variants[0].name == "cuBLAS" ? "cuBLAS/x" : "first/x";
  std::printf("%dx%dx%d %s %s\n  %-48s %9s %8s %8s\n", s.m, s.n, s.k,
              element == DType::e4m3 ? "e4m3" : "bf16", nn ? "nn" : "tn", "", "us", "TFLOP/s",
              first.c_str());
  for (const Variant& v : variants) {
    std::vector<double> ratios;
    for (size_t r = 0; r < v.ms.size(); ++r) ratios.push_back(variants[0].ms[r] / v.ms[r]);
    std::printf("  %-48s %9.1f %8.0f %8.3f\n", v.name.c_str(), median(v.ms) * 1e3,
                flop / median(v.ms) / 1e9, median(ratios));
  }
  std::fflush(stdout);
  CUDA(cudaFree(workspace));
  CUBLAS(cublasDestroy(cublas));
}

bool is_mode(const std::string& argument) {
  return argument == "check" || argument == "time";
}

std::vector<Kernel> chosen_kernels(const std::vector<std::string>& names) {
  std::vector<Kernel> kernels;
  const auto add = [&](const std::vector<Kernel>& more) {
    for (const Kernel& k : more)
      if (names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return std::strstr(k.name, name.c_str()) != nullptr;
          }))
        kernels.push_back(k);
  };
#if TILEPOST_TEST_SM90
  add(sm90_kernels());
  add(sm90_more_kernels());
  add(sm90_tiles_kernels());
#endif
  add(sm80_kernels());
#if TILEPOST_TEST_SM80_MORE
  add(sm80_more_kernels());
#endif
  return kernels;
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
      (TILEPOST_TEST_SM90 && device.major != 9)) {
    std::printf("skipped: no GPU, or not of the kind this was built for\n");
    return 77;
  }
  std::vector<std::string> modes, names;
  for (int i = 1; i < argc; ++i) (is_mode(argv[i]) ? modes : names).push_back(argv[i]);
  const auto wanted = [&](const char* mode) {
    return modes.empty() || std::find(modes.begin(), modes.end(), mode) != modes.end();
  };
  const std::vector<Kernel> kernels = chosen_kernels(names);
  plain::check(!kernels.empty(), "the names on the command line", "no kernel has one of them");
  const int sms = device.multiProcessorCount;
  std::printf("# %s, %d SMs\n", device.name, sms);
  bool ok = true;
  if (wanted("check"))
    for (const Kernel& kernel : kernels) ok &= check_kernel(kernel, sms);
  if (ok && wanted("time"))
    for (const Size& size : {Size{8192, 8192, 2048}, Size{8192, 8192, 8192}})
      for (const bool nn : {false, true})
        for (const DType element : {DType::bf16, DType::e4m3})
          time_size(kernels, size, element, nn, sms);
  return ok ? 0 : 1;
}
