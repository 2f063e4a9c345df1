#include "generator/plan/machine/estimates.h"

namespace tilepost {

MachineProfile machine_h200();

namespace {

// Of NCCL where it passes data through host memory, between two H100 without peer access
// (docs/internals/machine.md, GPUs that do not reach each other).
constexpr double kHostLatencyUs = 20;
constexpr double kMibBytes = 1 << 20;

void scale(std::vector<ProfilePoint>& points, double factor) {
  for (ProfilePoint& point : points) point.y *= factor;
}

// One budget of CTAs is as good as another from four on: the links decide. They are slower than
// what disturbs a GEMM, and than what a GEMM disturbs.
void pass_through_host(CollectiveProfile& collective, int most_ranks, double us_per_mib) {
  const double slope = us_per_mib * collective.sent * (most_ranks - 1) / most_ranks;
  collective.us_per_mib = {{1, 2.4 * slope}, {2, 1.2 * slope}, {4, slope}};
  collective.wire_us_per_mib = {{2, us_per_mib}};
  collective.latency_us = {
      {1, 0}, {2, kHostLatencyUs}, {4, 1.6 * kHostLatencyUs}, {8, 2.8 * kHostLatencyUs}};
  collective.beside_gemm = {{4, 1}};
}

}  // namespace

MachineProfile estimate_from_h200() {
  MachineProfile profile = machine_h200();
  profile.measured = false;
  return profile;
}

void scale_links(CollectiveProfile& collective, double factor) {
  scale(collective.us_per_mib, factor);
  scale(collective.wire_us_per_mib, factor);
}

void slow_links(MachineProfile& profile, double factor) {
  CollectivesProfile& all = profile.collectives;
  for (CollectiveProfiles* profiles : {&all.sequence, &all.groups, &all.symmetric})
    for (auto& [which, collective] : *profiles) scale_links(collective, factor);
  PeersProfile& peers = profile.peers;
  peers.link_bytes_per_us /= factor;
  for (std::vector<ProfilePoint>* points :
       {&peers.copies.us_per_mib, &peers.copies.rows_us_per_mib, &peers.stores.both_us_per_mib})
    scale(*points, factor);
  peers.stores.us_per_mib *= factor;
  for (ShotProfile* shot : {&peers.tiles.lines, &peers.tiles.one_shot, &peers.tiles.two_shots}) {
    shot->us_per_mib *= factor;
    shot->wave_us_per_mib *= factor;
  }
  peers.tiles.rows_us_per_mib *= factor;
  peers.tasks.rows_us_per_mib *= factor;
}

void without_peer_access(MachineProfile& profile, double nccl_us_per_mib, double copy_us_per_mib) {
  CollectivesProfile& all = profile.collectives;
  for (CollectiveProfiles* profiles : {&all.sequence, &all.groups, &all.symmetric})
    for (auto& [which, collective] : *profiles)
      pass_through_host(collective, all.most_ranks, nccl_us_per_mib);
  all.choices.insert(all.choices.begin(), {{4, 1}, {4, 2}, {2, 1}, {2, 2}, {8, 2}});
  all.least_lane_ctas = 2;
  all.lane_share = 1;
  all.lane_beside_gemm = {{2, 1}};
  profile.gemm.beside_collective = 1;
  // A group's launch takes little beside what it sends.
  profile.accuracy.slack.one_lane = profile.accuracy.slack.lanes;
  profile.peers.peer_access = false;
  profile.peers.link_bytes_per_us = kMibBytes / copy_us_per_mib;
  profile.peers.host_copies.available = true;
  profile.peers.host_copies.us_per_mib = {{2, copy_us_per_mib}, {4, 2 * copy_us_per_mib}};
  profile.peers.host_copies.chunk_us = 2 * copy_us_per_mib;
}

void set_chip(MachineProfile& profile, int sms, double memory_bytes_per_us, double max_ghz) {
  const double factor = memory_bytes_per_us / profile.chip.memory_bytes_per_us;
  profile.chip.sms = sms;
  profile.chip.clock_sms = sms - 4;
  profile.chip.max_ghz = max_ghz;
  profile.chip.memory_bytes_per_us = memory_bytes_per_us;
  profile.chip.copy_bytes_per_us *= factor;
  profile.peers.sums.memory_bytes_per_us *= factor;
}

void scale_ampere(MachineProfile& profile, double factor) {
  for (auto& [row, times] : profile.gemm.kernels)
    if (row.starts_with("gemm_sm80")) times.efficiency *= factor;
}

}  // namespace tilepost
