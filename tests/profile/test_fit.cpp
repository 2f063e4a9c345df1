// Profiles that are made of measurements of known constants.
#include <algorithm>

#include "generator/profile/fit/fit.h"
#include "tests/catch.h"
#include "tests/profile/synthetic.h"

using namespace tilepost;

namespace {

// A chip and links unlike those that the fit begins with.
MachineProfile other_machine() {
  MachineProfile p = default_machine();
  p.chip.clock_gain = 0.3;
  p.chip.max_ghz = 2.1;
  p.chip.memory_bytes_per_us = 3.0e6;
  p.chip.resident_sms = {{4, 112}, {8, 104}};
  p.gemm.sustained = 0.9;
  Sm90Profile& sm90 = p.gemm.sm90;
  sm90.efficiency = 0.9;
  sm90.most_efficiency = 0.95;
  sm90.l2_bytes_per_clock = 80;
  sm90.off_lines = 2.2;
  sm90.off_sectors = 3.8;
  sm90.epilogue_cycles = 80;
  sm90.start_us = 4;
  p.gemm.mma_sync = 0.5;
  p.gemm.narrow = 0.9;
  p.gemm.precise = 1.3;
  for (auto& [which, collective] : p.collectives.groups) {
    for (ProfilePoint& point : collective.us_per_mib) point.y *= 3;
    for (ProfilePoint& point : collective.wire_us_per_mib) point.y *= 3;
    for (ProfilePoint& point : collective.latency_us) point.y *= 1.5;
  }
  p.peers.copies.us_per_mib = {{2, 9.0}};
  p.peers.copies.rows_us_per_mib = {{2, 8.0}};
  p.peers.copies.push_us = 5;
  p.peers.host_copies.us_per_mib = {{2, 40}};
  return p;
}

// The mean error of what two profiles predict of products that were not measured.
double disagreement(const MachineProfile& one, const MachineProfile& other) {
  const GemmCases cases = cases_for(one.arch, 132, default_machine());
  double sum = 0;
  int count = 0;
  for (const GemmVariant& variant : cases.variants)
    for (const int64_t k : {1536, 3072, 6144})
      for (const int64_t m : {1000, 5000, 9000}) {
        if (variant.name.starts_with("gemm_sm90_small")) continue;
        const int ctas = ctas_alone(one, variant, m, 6144, 132);
        const GemmPrediction predict(variant, m, 6144, k, ctas, false);
        sum += std::abs(predict(one) / predict(other) - 1);
        ++count;
      }
  return sum / count;
}

double part_of(const FitReport& report, const std::string& what) {
  for (const FitPart& part : report.parts)
    if (part.what.find(what) != std::string::npos) return part.error.mean;
  FAIL("no part " << what);
  return 1;
}

}  // namespace

TEST_CASE("constants of GEMMs are found again in measurements with noise") {
  Synthetic machine{other_machine()};
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  CHECK(found.name == "2 x X900, peer access");
  CHECK(found.gpu == "X900");
  CHECK(found.chip.max_ghz == 2.1);
  CHECK(found.chip.resident_sms.size() == 2);
  CHECK(found.gemm.sustained == Approx(0.9).epsilon(0.02));
  CHECK(found.chip.clock_gain == Approx(0.3).margin(0.05));
  // What L2 delivers and by how much less off sectors are found less well than their ratio.
  CHECK(found.gemm.sm90.off_sectors / found.gemm.sm90.l2_bytes_per_clock ==
        Approx(3.8 / 80).epsilon(0.05));
  CHECK(found.gemm.sm90.start_us == Approx(4).epsilon(0.2));
  CHECK(found.gemm.narrow == Approx(0.9).epsilon(0.05));
  CHECK(found.gemm.precise == Approx(1.3).epsilon(0.08));
  CHECK(found.gemm.mma_sync == Approx(0.5).epsilon(0.05));
  CHECK(part_of(report, "gemm_sm90 by its formula") < 0.02);
  MachineProfile cool = found, truth = machine.profile;
  cool.gemm.sustained = truth.gemm.sustained = 1;
  CHECK(disagreement(truth, cool) < 0.02);
  CHECK(disagreement(truth, default_machine()) > 0.05);  // else nothing had to be found
}

TEST_CASE("constants of collectives and copies are found again") {
  Synthetic machine{other_machine()};
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  const CollectiveProfile& truth =
      machine.profile.collectives.groups.at(Collective::reduce_scatter);
  const CollectiveProfile& lines = found.collectives.groups.at(Collective::reduce_scatter);
  CHECK(found.collectives.most_ranks == 2);
  CHECK(interpolate(lines.latency_us, 2) == Approx(interpolate(truth.latency_us, 2)).epsilon(0.1));
  CHECK(interpolate(lines.us_per_mib, 4) == Approx(interpolate(truth.us_per_mib, 4)).epsilon(0.03));
  CHECK(found.peers.copies.us_per_mib.front().y == Approx(9).epsilon(0.03));
  CHECK(found.peers.copies.rows_us_per_mib.front().y == Approx(8).epsilon(0.03));
  CHECK(found.peers.copies.push_us == Approx(5).epsilon(0.1));
  CHECK(found.peers.host_copies.us_per_mib.front().y == Approx(40).epsilon(0.03));
  CHECK(found.peers.host_copies.chunk_us == Approx(80).epsilon(0.03));  // of 2 MiB
  CHECK_FALSE(report.is_measured("peers.host_copies.beside_gemm"));
  CHECK(found.peers.peer_access);
  CHECK(report.is_measured("peers.copies.push_us"));
  CHECK_FALSE(report.is_measured("peers.tiles.tall"));
  CHECK_FALSE(report.why_taken("peers.tiles.tall").empty());
}

TEST_CASE("a fit to measurements of the profile that it begins with changes little") {
  Synthetic machine{default_machine()};
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  MachineProfile cool = found, truth = machine.profile;
  cool.gemm.sustained = truth.gemm.sustained = 1;
  CHECK(disagreement(truth, cool) < 0.01);
}

TEST_CASE("GPUs that do not reach each other are in the profile as such") {
  Synthetic machine{other_machine()};
  machine.peer_access = false;
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  CHECK_FALSE(found.peers.peer_access);
  CHECK(found.name == "2 x X900, no peer access");
  CHECK(std::ranges::any_of(report.absent, [](const std::string& absent) {
    return absent == "peer access: from GPU 1 to 0, 0 to 1";
  }));
  // Symmetric windows are not there either, so their times are those of ordinary buffers.
  CHECK(found.collectives.symmetric.at(Collective::all_to_all).us_per_mib.front().y ==
        found.collectives.groups.at(Collective::all_to_all).us_per_mib.front().y);
  CHECK(found.peers.host_copies.available);
}

TEST_CASE("what caches of the host speed up does not count") {
  Synthetic machine{other_machine()};
  machine.profile.peers.host_copies.us_per_mib = {{2, 20}};  // from GPU to GPU; 24 out and in
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  CHECK(found.peers.host_copies.us_per_mib.front().y == Approx(24).epsilon(0.03));
}

TEST_CASE("few CTAs are tried where they are not much slower than many") {
  const auto offers = [](double slower) {
    Synthetic machine{other_machine()};
    for (auto& [which, collective] : machine.profile.collectives.groups) {
      collective.us_per_mib = {{2, 40 * slower}, {4, 40}};
      collective.wire_us_per_mib = {{2, 1}};
    }
    FitReport report;
    const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
    return std::ranges::any_of(found.collectives.choices, [](const CommChoice& choice) {
      return choice.ctas == 2 && choice.lanes == 1;
    });
  };
  CHECK(offers(1.2));
  CHECK_FALSE(offers(2));
}

TEST_CASE("one GPU measures its part, and the rest is the base's") {
  Synthetic machine{other_machine()};
  machine.gpus = 1;
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  CHECK(found.name == "1 x X900");
  CHECK(found.gemm.mma_sync == Approx(0.5).epsilon(0.05));
  CHECK(found.collectives.most_ranks == default_machine().collectives.most_ranks);
  CHECK(report.why_taken("collectives.most_ranks") == "there is one GPU only");
  CHECK(report.why_taken("peers.copies.push_us") == "there is one GPU only");
}

TEST_CASE("a machine of mma.sync alone gets the constants of its kernels") {
  MachineProfile p = other_machine();
  p.arch = Arch::sm_80;
  for (auto& [row, times] : p.gemm.kernels)
    if (row.starts_with("gemm_sm80")) times.efficiency *= 0.8;
  Synthetic machine{p, 1, 108};
  FitReport report;
  const MachineProfile found = fit_machine(default_machine(), machine.measure(), report);
  CHECK(found.arch == Arch::sm_80);
  CHECK(part_of(report, "gemm_sm80") < 0.02);
  CHECK(found.gemm.times_of("gemm_sm80/128x128x64").efficiency ==
        Approx(p.gemm.times_of("gemm_sm80/128x128x64").efficiency).epsilon(0.05));
}
