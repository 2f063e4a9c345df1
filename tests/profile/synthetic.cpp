#include "tests/profile/synthetic.h"

#include <algorithm>
#include <random>

#include "runtime/map/host_rings.h"

namespace tilepost {
namespace {

constexpr double kMib = 1 << 20;

// Draws times and keeps them.
class Recorder {
 public:
  Recorder(const Synthetic& machine, Measurements& measurements)
      : noise_(machine.noise), random_(machine.seed), measurements_(measurements) {}

  double noisy(double value) {
    std::uniform_real_distribution<double> off(-noise_, noise_);
    return value * (1 + off(random_));
  }
  Measurement& add(const char* kind) {
    Measurement& time = measurements_.times.emplace_back();
    time.texts["kind"] = kind;
    return time;
  }

 private:
  const double noise_;
  std::mt19937_64 random_;
  Measurements& measurements_;
};

void add_gemms(const Synthetic& machine, Recorder& recorder) {
  MachineProfile cool = machine.profile;
  cool.gemm.sustained = 1;
  // The list of products follows from the usual profile, as it does for a machine nobody knows.
  const GemmCases cases = cases_for(cool.arch, machine.sms, default_machine());
  const auto add = [&](const GemmCase& gemm, const char* mode, double slower) {
    const GemmVariant& variant = cases.variants[gemm.variant];
    const GemmPrediction predict(variant, gemm.m, gemm.n, gemm.k, gemm.ctas, false);
    Measurement& time = recorder.add("gemm");
    time.texts["mode"] = mode;
    time.texts["kernel"] = variant.name;
    time.numbers = {{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"ctas", gemm.ctas}};
    time.numbers["us"] = recorder.noisy(predict(cool) * slower);
  };
  for (const GemmCase& gemm : cases.cool) add(gemm, "cool", 1);
  for (const GemmCase& gemm : cases.sustained)
    add(gemm, "sustained", 1 / machine.profile.gemm.sustained);
}

double slope_of(const CollectiveProfile& collective, double ctas, int ranks) {
  return std::max(
      interpolate(collective.us_per_mib, ctas),
      interpolate(collective.wire_us_per_mib, ranks) * collective.sent * (ranks - 1) / ranks);
}

void add_collectives(const Synthetic& machine, Recorder& recorder) {
  const CollectivesProfile& all = machine.profile.collectives;
  const std::pair<const char*, Collective> kNamed[] = {
      {"all_reduce", Collective::all_reduce},
      {"reduce_scatter", Collective::reduce_scatter},
      {"all_to_all", Collective::all_to_all}};
  for (const auto& [name, which] : kNamed)
    for (const int ctas : {2, 4, 8, 16, 24})
      for (const double mib : {1, 4, 8, 16, 32, 64, 128}) {
        const CollectiveProfile& collective = all.groups.at(which);
        Measurement& time = recorder.add("collective");
        time.texts["how"] = "ring";
        time.texts["name"] = name;
        time.numbers = {{"ranks", machine.gpus}, {"ctas", ctas}, {"bytes", mib * kMib}};
        time.numbers["us"] = recorder.noisy(interpolate(collective.latency_us, machine.gpus) +
                                            slope_of(collective, ctas, machine.gpus) * mib);
      }
}

void add_links(const Synthetic& machine, Recorder& recorder) {
  for (int from = 0; from < machine.gpus; ++from)
    for (int to = 0; to < machine.gpus; ++to)
      if (from != to)
        recorder.add("pair").numbers = {
            {"from", from}, {"to", to}, {"reaches", machine.peer_access ? 1 : 0}};
  const PeersProfile& peers = machine.profile.peers;
  for (const double mib : {4, 8, 16, 32, 64})
    recorder.add("host_path").numbers = {
        {"chunk", static_cast<double>(kHostChunkBytes)},
        {"bytes", mib * kMib},
        {"us", recorder.noisy(90 + mib * interpolate(peers.host_copies.us_per_mib, 2))}};
  Measurement& both = recorder.add("host");
  both.texts["how"] = "both";
  both.numbers = {{"ranks", machine.gpus},
                  {"chunk", static_cast<double>(kHostChunkBytes)},
                  {"us_per_mib", recorder.noisy(24)}};
  if (!machine.peer_access) return;
  for (const char* how : {"pull", "push"})
    for (const double mib : {1, 2, 4, 8, 16, 32, 64}) {
      const CopyProfile& copies = peers.copies;
      const double slope =
          interpolate(how[2] == 'l' ? copies.us_per_mib : copies.rows_us_per_mib, machine.gpus);
      for (const double chunk : {mib, 1.0}) {
        Measurement& time = recorder.add("copy");
        time.texts["how"] = how;
        time.numbers = {{"ranks", machine.gpus}, {"bytes", mib * kMib}, {"chunk", chunk * kMib}};
        time.numbers["us"] = recorder.noisy(12 + copies.push_us * (mib / chunk - 1) + slope * mib);
      }
    }
}

}  // namespace

Measurements Synthetic::measure() const {
  Measurements measurements;
  measurements.machine.texts = {
      {"gpu", "NVIDIA X900"}, {"driver", "1.2"}, {"cuda", "13.0"}, {"nccl", "2.28.3"}};
  measurements.machine.numbers = {{"gpus", gpus}, {"sms", sms}, {"sm", compute_number()}};
  Recorder recorder(*this, measurements);
  const auto chip = [&](const char* name, double value) {
    Measurement& time = recorder.add("chip");
    time.texts["name"] = name;
    time.numbers["value"] = value;
  };
  chip("max_ghz", profile.chip.max_ghz);
  chip("memory_bytes_per_us", profile.chip.memory_bytes_per_us);
  for (const ProfilePoint& point : profile.chip.resident_sms)
    recorder.add("clusters").numbers = {{"ctas", point.x}, {"sms", point.y}};
  add_gemms(*this, recorder);
  if (gpus < 2) return measurements;
  add_collectives(*this, recorder);
  add_links(*this, recorder);
  return measurements;
}

int Synthetic::compute_number() const {
  return arch_info(profile.arch).number;
}

}  // namespace tilepost
