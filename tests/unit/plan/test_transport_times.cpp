// What transports that read or write other ranks' memory are predicted to take, and what they took.
#include <cmath>

#include "generator/plan/predict.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

TEST_CASE("predictions grow with rows, and with products where those are what takes long") {
  for (const Transport transport : kSharing)
    for (const Pattern pattern : kPatterns) {
      INFO(name_of(transport) << " " << name_of(pattern));
      double last = 0;
      for (const int64_t m : {1024, 2048, 4096, 8192, 16384}) {
        const Prediction now = only(spec_of(pattern, transport, m)).prediction;
        CHECK(now.total > last);
        CHECK(now.total >= now.gemm);
        last = now.total;
      }
      last = 0;
      for (const int64_t k : {512, 2048, 4096, 8192}) {
        const double total = only(spec_of(pattern, transport, 8192, k)).prediction.total;
        CHECK(total > 0.98 * last);  // slack_of: fewer groups may end so much later
        last = total;
      }
      CHECK(last > 1400);  // 8192 products of each element at the peak
    }
}

SharedProblem problem(double wave, int ctas, int lanes) {
  SharedProblem shared{};
  shared.comm = {ctas, lanes};
  shared.wave = wave;
  shared.computed = 16 * wave;
  shared.wave_bytes = 8 << 20;
  shared.bytes = 128 << 20;
  return shared;
}

TEST_CASE("the model of groups answers to its budget") {
  Plan p;
  p.ranks = 4;
  p.m = p.n = 8192;
  p.k = 2048;
  for (const Transport transport : kSharing)
    for (const Pattern pattern : {Pattern::gemm_all_reduce, Pattern::gemm_reduce_scatter}) {
      p.pattern = pattern;
      const auto per_byte = [&](int ctas, int lanes) {
        return model_shared(p, transport, problem(22, ctas, lanes)).group.per_byte;
      };
      CHECK(per_byte(3, 1) >= per_byte(7, 1));  // sums on more SMs take less
      CHECK(per_byte(3, 2) <= per_byte(3, 1));  // lanes hide the shorter of the two
      const auto latency = [&](int lanes) {
        return model_shared(p, transport, problem(22, 3, lanes)).group.latency;
      };
      CHECK(latency(3) < latency(2));
      CHECK(latency(2) < latency(1));
    }
  // Stores bound the waves of a GEMM with few products.
  p.pattern = Pattern::gemm_reduce_scatter;
  const double fast = model_shared(p, Transport::peer, problem(5, 7, 2)).wave;
  CHECK(fast > 15);
  CHECK(model_shared(p, Transport::peer, problem(80, 7, 2)).wave < 85);
}

// bf16, 8192 x 8192 x 2048. `sms`: 0 for as many as the planner leaves free.
struct Measured {
  int64_t ranks;
  Pattern pattern;
  Transport transport;
  int64_t sms;
  double us;
};

TEST_CASE("predictions are near what was measured") {
  using enum Pattern;
  using enum Transport;
  const Measured measured[] = {
      {2, gemm_reduce_scatter, peer, 0, 405},    {2, gemm_reduce_scatter, copy_engine, 0, 453},
      {2, gemm_all_reduce, peer, 7, 571},        {2, gemm_all_reduce, copy_engine, 0, 614},
      {2, gemm_all_to_all, peer, 0, 404},        {2, gemm_all_to_all, copy_engine, 0, 448},
      {2, all_gather_gemm, copy_engine, 0, 369}, {2, all_gather_gemm, peer, 0, 389},
      {4, gemm_reduce_scatter, peer, 0, 415},    {4, gemm_reduce_scatter, copy_engine, 0, 640},
      {4, gemm_all_to_all, peer, 0, 416},        {4, gemm_all_to_all, copy_engine, 0, 606}};
  for (const Measured& run : measured) {
    Spec spec = spec_of(run.pattern, run.transport);
    spec.ranks.value = run.ranks;
    if (run.sms > 0) spec.schedule.comm_sms = wish(run.sms);
    const double predicted = only(spec).prediction.total;
    INFO(run.ranks << " ranks, " << name_of(run.pattern) << " " << name_of(run.transport)
                   << ": predicted " << predicted << ", measured " << run.us);
    CHECK(std::abs(predicted / run.us - 1) < 0.1);
  }
}

constexpr int64_t kShapes[][3] = {{4096, 8192, 2048}, {8192, 8192, 2048}, {16384, 8192, 2048},
                                  {8192, 8192, 7168}, {8192, 4096, 3584}, {4096, 12288, 3072}};

Plan shaped(Pattern pattern, Transport transport, const int64_t (&shape)[3]) {
  Spec spec = make_spec(shape[0], shape[1], shape[2]);
  spec.pattern.value = pattern;
  spec.transport.value = transport;
  return only(spec);
}

// Four H200.
TEST_CASE("what spare warps move bounds the shapes that were measured") {
  const std::pair<Pattern, std::vector<double>> measured[] = {
      {Pattern::gemm_reduce_scatter, {238.5, 415, 787, 1313, 348, 461}},
      {Pattern::gemm_all_to_all, {230, 416, 795, 1326, 352, 465}},
      {Pattern::gemm_all_reduce, {403, 730, 1385, 1477, 487, 616}},
      {Pattern::all_gather_gemm, {218, 418, 841, 1492, 413, 457}}};
  for (const auto& [pattern, times] : measured)
    for (size_t i = 0; i < times.size(); ++i) {
      const Plan p = shaped(pattern, Transport::peer, kShapes[i]);
      INFO(name_of(pattern) << " " << p.m << "x" << p.n << "x" << p.k << ": predicted "
                            << p.prediction.total << ", measured " << times[i]);
      CHECK(p.gemm_ctas == 132);
      CHECK(std::abs(p.prediction.total / times[i] - 1) < 0.06);
    }
}

TEST_CASE("tiles and sums go by spare warps, rows of A by copy engines") {
  for (const auto& shape : kShapes) {
    INFO(shape[0] << "x" << shape[1] << "x" << shape[2]);
    for (const Pattern pattern :
         {Pattern::gemm_all_reduce, Pattern::gemm_reduce_scatter, Pattern::gemm_all_to_all})
      CHECK(shaped(pattern, Transport::automatic, shape).transport == Transport::peer);
    const Plan gathered = shaped(Pattern::all_gather_gemm, Transport::automatic, shape);
    CHECK(gathered.transport == Transport::copy_engine);
    CHECK(gathered.cuts.size() == 4);  // a share each
  }
}

// Four H200.
TEST_CASE("copy engines that push rows of A take what was measured") {
  const double measured[] = {201, 371, 757, 1291, 327, 415};
  for (size_t i = 0; i < std::size(measured); ++i) {
    const Plan p = shaped(Pattern::all_gather_gemm, Transport::copy_engine, kShapes[i]);
    INFO(p.m << "x" << p.n << "x" << p.k << ": predicted " << p.prediction.total << ", measured "
             << measured[i]);
    CHECK(p.gemm_ctas == 130);
    CHECK(std::abs(p.prediction.total / measured[i] - 1) < 0.06);
  }
}

}  // namespace
}  // namespace tilepost::test
