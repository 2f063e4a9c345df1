#include "runtime/bench/experts/sums_reference.h"

#include "runtime/bench/experts/expert_operands.h"
#include "runtime/bench/experts/kernels.h"
#include "runtime/bench/experts/sampled_rows.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"

namespace tilepost::bench {

SampledCheck check_sums(const tilepost_plan_t& plan, const std::vector<TokenIds>& all, int rank,
                        uint64_t seed, const void* out, cudaStream_t stream) {
  const std::vector<int32_t> tokens = sample_tokens(all[rank].tokens);
  if (tokens.empty()) return {};
  const auto n = static_cast<int>(plan.map.n);
  const int64_t elements = static_cast<int64_t>(tokens.size()) * n;
  const cuda::DeviceMemory sums = allocate(elements * static_cast<int64_t>(sizeof(float)));
  TILEPOST_BENCH_CUDA(
      cudaMemsetAsync(sums.get(), 0, static_cast<size_t>(elements) * sizeof(float), stream));
  const cuda::DeviceMemory b = allocate(elements_of_b(plan) * element_bytes(plan.input));
  for (int source = 0; source < plan.ranks; ++source) {
    const RankRows rows = sort_rows(plan, all, source);
    const std::vector<SampledRow> sampled = rows_of_sample(plan, rows, rank, tokens);
    if (sampled.empty()) continue;
    const int64_t a_count = rows.count() * plan.k;
    const cuda::DeviceMemory a = allocate(a_count * element_bytes(plan.input));
    const cuda::DeviceMemory device_rows = upload(sampled);
    fill_exact_operands(plan, a.get(), a_count, b.get(), seed, source, stream);
    add_sampled(
        {a.get(), b.get(), plan.input, n, static_cast<int>(plan.k), plan.operands == TILEPOST_NN},
        static_cast<const SampledRow*>(device_rows.get()), static_cast<int>(sampled.size()),
        static_cast<float*>(sums.get()), stream);
    TILEPOST_BENCH_CUDA(cudaStreamSynchronize(stream));  // what it reads is freed now
  }
  const cuda::DeviceMemory device_tokens = upload(tokens);
  const cuda::DeviceMemory wrong = allocate(sizeof(unsigned long long));
  TILEPOST_BENCH_CUDA(cudaMemsetAsync(wrong.get(), 0, sizeof(unsigned long long), stream));
  count_unlike(out, static_cast<const float*>(sums.get()),
               static_cast<const int32_t*>(device_tokens.get()), static_cast<int>(tokens.size()), n,
               plan.output, static_cast<unsigned long long*>(wrong.get()), stream);
  return {elements, read_number(wrong.get(), stream)};
}

}  // namespace tilepost::bench
