// How long rows of the kernel catalogue take on shapes, beside the best of eight cublasLt
// algorithms. The planner's model is fitted to these times and judged by them (rows.py).
//
//   tilepost list variants | rows.py units FOLDER 48; … | rows.py shapes 301 40 257 16384 > SHAPES
//   nvcc -O3 -std=c++20 -I include -I . -I FOLDER -gencode arch=compute_90a,code=sm_90a FOLDER/*.cu
//     tests/gpu/rows/time_rows.cu -o time_rows -lcublasLt
//   time_rows SHAPES > TIMES
//
// SHAPES has lines "m n k VARIANT…". With `limit=SECONDS` no line is begun later. The bits of every
// variant's result are compared with those of the first variant. TIMES has lines "shape m n k", "lt
// TILE CLUSTER SPLIT cool hot" and "ours VARIANT CTAs cool hot". Times are in microseconds. hot is
// 0 except for the first two variants and the fastest one. Exit code: 0, or 1 if bits differ.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "rows.h"
#include "tests/gpu/cublas_lt.cuh"

using plain::allocate, plain::CublasLt, plain::Kernel, plain::Launch, plain::median,
    plain::Operands;

namespace {

constexpr int kSets = 3;
constexpr int kDeadlineSeconds = 60;

__global__ void count_different(const uint16_t* a, const uint16_t* b, size_t count,
                                unsigned long long* different) {
  for (size_t i = blockIdx.x * size_t{256} + threadIdx.x; i < count; i += gridDim.x * size_t{256})
    if (a[i] != b[i]) atomicAdd(different, 1ull);
}

struct Variant {
  std::string name;
  std::function<void(int set)> run;
  std::vector<double> cool, hot;
};

struct Events {
  cudaEvent_t begin, end;
  Events() {
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
  }
};

// Microseconds of one run, measured over `repeats` runs.
double burst(const Variant& variant, int repeats) {
  static const Events events;
  CUDA(cudaEventRecord(events.begin));
  for (int r = 0; r < repeats; ++r) variant.run(r % kSets);
  CUDA(cudaEventRecord(events.end));
  CUDA(cudaEventSynchronize(events.end));
  float ms;
  CUDA(cudaEventElapsedTime(&ms, events.begin, events.end));
  return ms * 1e3 / repeats;
}

// Runs rounds of all variants, each round in a new random order. cool: a burst of 2 ms after 5 ms
// of idling. hot: bursts of 10 ms in a row after 60 ms of the same work.
void run_cool(std::vector<Variant>& variants, double us, int rounds, std::mt19937& random) {
  const int repeats = std::max(3, static_cast<int>(2000 / us));
  std::vector<size_t> order(variants.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      alarm(kDeadlineSeconds);
      CUDA(cudaDeviceSynchronize());
      usleep(5000);
      variants[i].run(0);
      variants[i].cool.push_back(burst(variants[i], repeats));
    }
  }
}
void run_hot(std::vector<Variant*>& variants, double us, int rounds, std::mt19937& random) {
  const int repeats = std::max(3, static_cast<int>(10000 / us));
  alarm(kDeadlineSeconds);
  burst(*variants[0], 6 * repeats);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(variants.begin(), variants.end(), random);
    for (Variant* variant : variants) variant->hot.push_back(burst(*variant, repeats));
  }
}

struct Shape {
  int m, n, k;
  std::vector<std::string> names;
};

std::vector<Shape> read_shapes(const char* path) {
  std::vector<Shape> shapes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Shape shape;
    if (!(words >> shape.m >> shape.n >> shape.k)) continue;
    for (std::string name; words >> name;) shape.names.push_back(name);
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) return 77;
  plain::check(argc >= 2, "usage", "time_rows SHAPES [limit=SECONDS]");
  double limit = 1e9;
  if (argc > 2 && !std::strncmp(argv[2], "limit=", 6)) limit = std::atof(argv[2] + 6);
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Shape> shapes = read_shapes(argv[1]);
  size_t a = 0, b = 0, c = 0;
  for (const Shape& s : shapes) {
    a = std::max(a, size_t(s.m) * s.k * 2);
    b = std::max(b, size_t(s.n) * s.k * 2);
    c = std::max(c, size_t(s.m) * s.n * 2);
  }
  Operands operands[kSets];
  for (int i = 0; i < kSets; ++i) {
    operands[i] = {allocate<uint8_t>(a), allocate<uint8_t>(b), allocate<uint8_t>(c)};
    plain::fill<<<1024, 256>>>(static_cast<__nv_bfloat16*>(operands[i].a), a / 2, 2 * i + 1,
                               plain::Data::random);
    plain::fill<<<1024, 256>>>(static_cast<__nv_bfloat16*>(operands[i].b), b / 2, 2 * i + 2,
                               plain::Data::random);
  }
  auto* reference = allocate<uint16_t>(c / 2);
  auto* different = allocate<unsigned long long>(1);
  const std::vector<Kernel> kernels = all_rows();
  std::mt19937 random(7);
  const int sms = device.multiProcessorCount;
  bool same = true;
  std::printf("# %s, %d SMs, cublasLt %zu\n", device.name, sms, cublasLtGetVersion());
  for (const Shape& shape : shapes) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (spent.count() > limit) break;
    const tilepost_shape_t s{shape.m, shape.n, shape.k, shape.k, shape.k, shape.n};
    std::vector<std::vector<Launch>> launches;
    launches.reserve(shape.names.size());
    std::vector<Variant> variants;
    const CublasLt lt(s.m, s.n, s.k);
    for (int i = 0; i < lt.candidates(); ++i) {
      const std::string name = "lt " + std::to_string(lt.config(i, CUBLASLT_ALGO_CONFIG_TILE_ID)) +
                               " " +
                               std::to_string(lt.config(i, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) +
                               " " + std::to_string(lt.config(i, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
      variants.push_back({name, [&, i](int set) { lt.run(i, operands[set], nullptr); }, {}, {}});
    }
    for (const std::string& name : shape.names) {
      const auto found = std::find_if(kernels.begin(), kernels.end(),
                                      [&](const Kernel& kernel) { return name == kernel.name; });
      plain::check(found != kernels.end(), name.c_str(), "no such variant");
      launches.emplace_back();
      // The fewest clusters that take the same number of waves.
      const int rows = (s.m + found->tile_m - 1) / found->tile_m;
      const int high = (rows + found->rows_in_cluster - 1) / found->rows_in_cluster;
      const int clusters = high * found->rows_in_cluster / found->positions *
                           ((s.n + found->tile_n - 1) / found->tile_n);
      int fit = sms / found->cluster;
      if (found->cluster >= 4) fit = std::min(fit, 120 / found->cluster);
      const int waves = (clusters + fit - 1) / fit;
      const int ctas = (clusters + waves - 1) / waves * found->cluster;
      for (const Operands& o : operands) launches.back().emplace_back(*found, s, o, ctas);
      auto* l = &launches.back();
      variants.push_back({"ours " + name + " " + std::to_string(l->front().grid),
                          [l](int set) { (*l)[set](nullptr); },
                          {},
                          {}});
    }
    const size_t count = size_t(s.m) * s.n;
    for (size_t i = lt.candidates(); i < variants.size(); ++i) {
      alarm(kDeadlineSeconds);
      CUDA(cudaMemset(operands[0].c, 0xff, count * 2));
      CUDA(cudaMemset(different, 0, 8));
      variants[i].run(0);
      if (i == size_t(lt.candidates()))
        CUDA(cudaMemcpy(reference, operands[0].c, count * 2, cudaMemcpyDeviceToDevice));
      count_different<<<512, 256>>>(static_cast<uint16_t*>(operands[0].c), reference, count,
                                    different);
      unsigned long long wrong;
      CUDA(cudaMemcpy(&wrong, different, 8, cudaMemcpyDeviceToHost));
      if (wrong == 0) continue;
      same = false;
      std::printf("DIFFERENT %s on %dx%dx%d: %llu\n", variants[i].name.c_str(), s.m, s.n, s.k,
                  wrong);
    }
    const double us = std::max(5.0, 2.0 * s.m * s.n * s.k / 6e8);
    run_cool(variants, us, 6, random);
    std::vector<Variant*> fastest;
    for (size_t i = lt.candidates(); i < std::min(variants.size(), size_t(lt.candidates()) + 2);
         ++i)
      fastest.push_back(&variants[i]);
    const auto add_fastest = [&](size_t first, size_t last, size_t most) {
      std::vector<Variant*> some;
      for (size_t i = first; i < last; ++i) some.push_back(&variants[i]);
      std::sort(some.begin(), some.end(),
                [](Variant* x, Variant* y) { return median(x->cool) < median(y->cool); });
      some.resize(std::min(some.size(), most));
      fastest.insert(fastest.end(), some.begin(), some.end());
    };
    add_fastest(0, lt.candidates(), 2);
    add_fastest(std::min(variants.size(), size_t(lt.candidates()) + 2), variants.size(), 3);
    run_hot(fastest, us, 5, random);
    std::printf("shape %d %d %d\n", s.m, s.n, s.k);
    for (const Variant& v : variants)
      std::printf("%s %.2f %.2f\n", v.name.c_str(), median(v.cool), median(v.hot));
    std::fflush(stdout);
    alarm(0);
  }
  std::printf("# %s\n", same ? "the same bits everywhere" : "BITS DIFFER");
  return same ? 0 : 1;
}
