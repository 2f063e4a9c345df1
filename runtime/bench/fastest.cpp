#include "runtime/bench/fastest.h"

#include <algorithm>

namespace tilepost::bench {
namespace {

constexpr int kRounds = 7;  // of which the first does not count

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int fastest_candidate(CublasLt& cublas, const Operands& operands, const Mode& mode, Timer& timer,
                      cudaStream_t stream) {
  std::vector<Variant> variants;
  for (int i = 0; i < cublas.candidates(); ++i)
    variants.push_back({"cublaslt", [&cublas, &operands, i, stream](int set) {
                          cublas.launch(operands.set(set), i, stream);
                        }});
  const int burst = std::max(1, timer.warm_up(mode, variants) / (mode.rest_ms > 0 ? 1 : 2));
  std::vector<std::vector<double>> times(variants.size());
  for (int round = 0; round < kRounds; ++round) {
    const Round measured = timer.round(mode, burst, variants);
    for (size_t i = 0; round > 0 && i < times.size(); ++i) times[i].push_back(measured.us[i]);
  }
  int best = 0;
  double least = median(times[0]);
  for (int i = 1; i < cublas.candidates(); ++i)
    if (const double time = median(times[i]); time < least) best = i, least = time;
  return best;
}

}  // namespace tilepost::bench
