// The consumers rms_norm and residual_rms_norm on a real GPU.
//
//   norm check     compares every layout with a plain reference in double, at hidden sizes that are
//                  hard for kernels
//   norm time      measures what reading tiles instead of rows costs: medians of interleaved rounds
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "runtime/cuda/consumers/norm.h"
#include "tests/gpu/gpu_ranks.h"

using namespace gpu_test;
using tilepost::cuda::launch_norm;
using tilepost::cuda::NormArguments;

namespace {

constexpr int kTileM = 128, kTileN = 256;
constexpr float kEpsilon = 1e-5f;

enum class Where { rows, slots, slabs };
constexpr const char* kNames[] = {"rows", "slots", "slabs"};

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

// A matrix of random numbers in one layout, and the places of its elements.
template <class T>
class Norm {
 public:
  Norm(int rows, int n, Where where, bool residual, uint32_t seed)
      : rows_(rows), n_(n), where_(where), residual_(residual) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const int columns = ceil_div(n, kTileN), tile_rows = ceil_div(rows, kTileM);
    slots_.resize(static_cast<size_t>(tile_rows) * columns);
    std::iota(slots_.begin(), slots_.end(), 0);
    std::shuffle(slots_.begin(), slots_.end(), random);
    for (int32_t& slot : slots_) slot *= kTileM;
    const size_t padded = static_cast<size_t>(tile_rows) * kTileM * columns * kTileN;
    x_.resize(padded, T(NAN));
    y_.resize(elements());
    weight_.resize(n);
    // Repeats a prime number of random numbers, because millions of new ones would take seconds.
    std::vector<T> numbers(10007);
    for (T& number : numbers) number = T(normal(random));
    size_t next = 0;
    const auto number = [&] { return numbers[next++ % numbers.size()]; };
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < n; ++column) x_[place(row, column)] = number();
    for (T& y : y_) y = number();
    for (T& w : weight_) w = number();
    arguments_.x = upload(x_);
    arguments_.residual = residual ? upload(y_) : nullptr;
    arguments_.weight = upload(weight_);
    arguments_.slot_rows = where == Where::slots ? upload(slots_) : nullptr;
    arguments_.height = where == Where::slabs ? rows : 0;
    arguments_.tile_m = kTileM;
    arguments_.tile_n = where == Where::rows ? n : kTileN;
    arguments_.rows = rows;
    arguments_.n = n;
    arguments_.out = device_.allocate(elements() * sizeof(T));
    arguments_.epsilon = kEpsilon;
  }

  void launch(int sms) {
    const auto type = sizeof(T) == 2 && std::is_same_v<T, __half> ? TILEPOST_F16 : TILEPOST_BF16;
    CUDA_OK(launch_norm(arguments_, type, sms, device_.stream()));
  }
  cudaStream_t stream() const { return device_.stream(); }

  // The largest error, in units of the last place of the output type.
  double worst_error() {
    std::vector<T> out(elements()), kept(elements());
    download(out, arguments_.out);
    if (residual_) download(kept, arguments_.residual);
    double worst = 0;
    for (int row = 0; row < rows_; ++row) {
      std::vector<double> y(n_);
      double squares = 0;
      for (int column = 0; column < n_; ++column) {
        const size_t at = static_cast<size_t>(row) * n_ + column;
        T sum = x_[place(row, column)];
        if (residual_) sum = T(float(sum) + float(y_[at]));
        if (residual_ && float(kept[at]) != float(sum)) return INFINITY;
        y[column] = float(sum);
        squares += y[column] * y[column];
      }
      const double scale = 1 / std::sqrt(squares / n_ + kEpsilon);
      for (int column = 0; column < n_; ++column) {
        const double want = y[column] * scale * float(weight_[column]);
        const double got = float(out[static_cast<size_t>(row) * n_ + column]);
        const int digits = std::is_same_v<T, __half> ? 11 : 8;
        const double unit =
            std::ldexp(1.0, std::ilogb(std::max(std::fabs(want), 1e-4)) - digits + 1);
        worst = std::max(worst, std::isfinite(got) ? std::fabs(got - want) / unit : INFINITY);
      }
    }
    return worst;
  }
  double bytes() const { return static_cast<double>(elements()) * sizeof(T) * (residual_ ? 4 : 2); }

 private:
  size_t elements() const { return static_cast<size_t>(rows_) * n_; }
  size_t place(int row, int column) const {
    const int columns = ceil_div(n_, kTileN);
    if (where_ == Where::rows) return static_cast<size_t>(row) * n_ + column;
    if (where_ == Where::slabs)
      return (static_cast<size_t>(column / kTileN) * rows_ + row) * kTileN + column % kTileN;
    const int first = slots_[row / kTileM * columns + column / kTileN];
    return static_cast<size_t>(first + row % kTileM) * kTileN + column % kTileN;
  }
  template <class V>
  V* upload(const std::vector<V>& values) {
    V* to = device_.allocate<V>(static_cast<int64_t>(values.size() * sizeof(V)));
    CUDA_OK(cudaMemcpy(to, values.data(), values.size() * sizeof(V), cudaMemcpyHostToDevice));
    return to;
  }
  void download(std::vector<T>& to, const void* from) {
    device_.synchronize();
    CUDA_OK(cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }

  const int rows_, n_;
  const Where where_;
  const bool residual_;
  Device device_;
  std::vector<T> x_, y_, weight_;
  std::vector<int32_t> slots_;
  NormArguments arguments_{};
};

template <class T>
void check_all(int sms) {
  for (const int n : {1, 7, 96, 1000, 1536, 2560, 3072, 4608, 5120, 8192, 20480})
    for (const Where where : {Where::rows, Where::slots, Where::slabs})
      for (const bool residual : {false, true}) {
        Norm<T> norm(n > 10000 ? 19 : 261, n, where, residual, n);
        norm.launch(sms);
        const double error = norm.worst_error();
        // Rounding adds half a unit. rsqrtf and the order of the sum add a little.
        EXPECT(error <= 0.52, "n " + std::to_string(n) + ", " + kNames[int(where)] + ": " +
                                  std::to_string(error) + " units");
      }
}

double microseconds(Norm<__nv_bfloat16>& norm, int sms, cudaEvent_t begin, cudaEvent_t end) {
  constexpr int kRepeats = 10;
  CUDA_OK(cudaEventRecord(begin, norm.stream()));
  for (int i = 0; i < kRepeats; ++i) norm.launch(sms);
  CUDA_OK(cudaEventRecord(end, norm.stream()));
  CUDA_OK(cudaEventSynchronize(end));
  float milliseconds = 0;
  CUDA_OK(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1000 / kRepeats;
}

void time_all(int sms) {
  constexpr int kRounds = 15;
  cudaEvent_t begin, end;
  CUDA_OK(cudaEventCreate(&begin));
  CUDA_OK(cudaEventCreate(&end));
  std::printf("%-18s %7s %7s | %9s %9s | %9s %7s | %9s %7s\n", "", "rows", "n", "rows us", "GB/s",
              "slots us", "ratio", "slabs us", "ratio");
  for (const bool residual : {false, true})
    for (const auto& [rows, n] :
         {std::pair{8192, 4096}, {8192, 5120}, {8192, 8192}, {16384, 8192}}) {
      Norm<__nv_bfloat16> norms[] = {{rows, n, Where::rows, residual, 1},
                                     {rows, n, Where::slots, residual, 1},
                                     {rows, n, Where::slabs, residual, 1}};
      std::vector<double> us[3];
      for (int round = -2; round < kRounds; ++round)
        for (int i = 0; i < 3; ++i) {
          const double time = microseconds(norms[i], sms, begin, end);
          if (round >= 0) us[i].push_back(time);
        }
      for (auto& times : us) std::sort(times.begin(), times.end());
      const double base = us[0][kRounds / 2];
      std::printf("%-18s %7d %7d | %9.1f %9.0f | %9.1f %7.3f | %9.1f %7.3f\n",
                  residual ? "residual_rms_norm" : "rms_norm", rows, n, base,
                  norms[0].bytes() / base * 1e-3, us[1][kRounds / 2], us[1][kRounds / 2] / base,
                  us[2][kRounds / 2], us[2][kRounds / 2] / base);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (num_gpus() == 0) {
    std::printf("SKIP: no GPU\n");
    return kSkipped;
  }
  int sms = 0;
  CUDA_OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  if (argc > 1 && std::strcmp(argv[1], "time") == 0) {
    time_all(sms);
    return 0;
  }
  check_all<__nv_bfloat16>(sms);
  check_all<__half>(sms);
  std::printf("PASS norm\n");
  return 0;
}
