#include "generator/catalogue/usual_specs.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilepost {
namespace {

// The sizes of a transformer's layers, elements.
struct Model {
  int64_t hidden;
  int64_t heads;  // columns of q, k and v together
  int64_t inner;  // of the MLP
};
// Llama 3 8B, Qwen 2.5 32B, Llama 3 70B and 405B: one for each size of the hidden state.
constexpr Model kModels[] = {
    {4096, 6144, 14336}, {5120, 7168, 27648}, {8192, 10240, 28672}, {16384, 18432, 53248}};

// A GEMM of a layer on each rank.
struct Sizes {
  int64_t n, k;
  bool operator==(const Sizes&) const = default;
};

// Products whose rows leave, or are summed, have the columns of the hidden state. Products of rows
// that arrive have columns of this rank's heads or of its part of the MLP, gate and up together.
std::vector<Sizes> sizes_of(std::string_view pattern, int ranks) {
  const bool arrives = pattern == "all_gather_gemm" || pattern == "all_to_all_gemm";
  std::vector<Sizes> sizes;
  for (const Model& model : kModels) {
    const std::vector<Sizes> both =
        arrives ? std::vector<Sizes>{{model.heads / ranks, model.hidden},
                                     {2 * model.inner / ranks, model.hidden}}
                : std::vector<Sizes>{{model.hidden, model.hidden / ranks},
                                     {model.hidden, model.inner / ranks}};
    for (const Sizes& each : both)
      if (std::ranges::find(sizes, each) == sizes.end()) sizes.push_back(each);
  }
  return sizes;
}

// `words`, or the usual ones if there are none.
std::vector<std::string> or_usual(const std::vector<std::string>& words,
                                  std::vector<std::string> usual) {
  return words.empty() ? std::move(usual) : words;
}

// The operands of a layer, and how much its runs of few and of many rows count.
struct Operands {
  const char *type, *layout, *epilogue;
  double few_rows, many_rows;
};
// Models have weights as tn, most without a bias. The transposes are for gradients, of many rows.
constexpr Operands kOperands[] = {
    {"bf16", "tn", "[]", 8, 8},          {"bf16", "tn", "[bias]", 1, 2},
    {"bf16", "nn", "[]", 0.1, 3},        {"bf16", "nn", "[bias]", 0.05, 0.05},
    {"f16", "tn", "[]", 0.5, 1},         {"f16", "tn", "[bias]", 0.1, 0.2},
    {"f16", "nn", "[]", 0.05, 0.1},      {"f16", "nn", "[bias]", 0.05, 0.05},
    {"e4m3", "tn", "[scale]", 0.4, 0.6}, {"e4m3", "tn", "[scale_rows, scale_columns]", 0.4, 0.6}};

// A layer without its sizes.
struct Kind {
  std::string arch, pattern;
  int ranks;
  Operands operands;
};

std::vector<FieldText> spec_of(const Kind& kind, const Sizes& sizes) {
  std::vector<FieldText> fields = {{"tilepost", "1"},
                                   {"name", "kernel"},
                                   {"arch", kind.arch},
                                   {"pattern", kind.pattern},
                                   {"ranks", std::to_string(kind.ranks)},
                                   {"gemm.m", "{max: 16384}"},
                                   {"gemm.n", std::to_string(sizes.n)},
                                   {"gemm.k", std::to_string(sizes.k)},
                                   {"gemm.a", kind.operands.type},
                                   {"gemm.layout", kind.operands.layout},
                                   {"gemm.epilogue", kind.operands.epilogue}};
  // On the host target the tile otherwise follows from the sizes, and each tile is another kernel.
  if (kind.arch == "host") fields.push_back({"schedule.tile", "[64, 64]"});
  return fields;
}

bool is_routed(const std::string& pattern) {
  return pattern == "gemm_all_to_all" || pattern == "all_to_all_gemm";
}

// Adds specs of all sizes of a kind.
void add_sizes(const Kind& kind, const FieldText* more, std::vector<UsualSpec>& specs) {
  for (const Sizes& sizes : sizes_of(kind.pattern, kind.ranks)) {
    specs.push_back({spec_of(kind, sizes), kind.operands.few_rows, kind.operands.many_rows});
    if (more != nullptr) specs.back().fields.push_back(*more);
  }
}

// What a pattern needs besides its usual plans: where every run says where rows go, where ranks do
// not reach each other's memory, and where sums are added to a residual and normalised. Few rows
// are normalised by the kernel itself, which is another one for each n.
void add_others(const std::string& arch, const std::string& pattern, int ranks,
                std::vector<UsualSpec>& specs) {
  constexpr Operands kRouted[] = {{"bf16", "tn", "[]", 1, 1}, {"bf16", "nn", "[]", 0.1, 0.5}};
  constexpr Operands kMessages = {"bf16", "tn", "[]", 0.2, 0.5};
  constexpr Operands kNormalised = {"bf16", "tn", "[]", 4, 1};
  const FieldText routing = {"routing", "rows"}, transport = {"transport", "nccl"};
  const FieldText norm = {"consumer", "residual_rms_norm"};
  if (is_routed(pattern)) {
    for (const Operands& operands : kRouted)
      add_sizes({arch, pattern, ranks, operands}, &routing, specs);
  } else if (arch != "host") {
    add_sizes({arch, pattern, ranks, kMessages}, &transport, specs);
    if (pattern == "gemm_all_reduce" || pattern == "gemm_reduce_scatter")
      add_sizes({arch, pattern, ranks, kNormalised}, &norm, specs);
  }
}

}  // namespace

std::vector<UsualSpec> usual_specs(const std::vector<std::string>& archs,
                                   const std::vector<std::string>& patterns) {
  std::vector<UsualSpec> specs;
  for (const std::string& arch : or_usual(archs, {"sm_80", "sm_90a"}))
    for (const std::string& pattern :
         or_usual(patterns, {"gemm_all_reduce", "gemm_reduce_scatter", "all_gather_gemm",
                             "gemm_all_to_all", "all_to_all_gemm"}))
      for (const int ranks : {2, 4, 8}) {
        if (!is_routed(pattern))
          for (const Operands& operands : kOperands)
            add_sizes({arch, pattern, ranks, operands}, nullptr, specs);
        add_others(arch, pattern, ranks, specs);
      }
  return specs;
}

}  // namespace tilepost
