// Four H200 with NVLink. docs/internals/machine.md says how each number was measured.
#include "generator/plan/machine/profile.h"

namespace tilepost {
namespace {

// ---- Collectives: 8 to 128 MiB on four ranks with 4 to 24 CTAs; the wire with 24

CollectiveProfile all_reduce() {
  return {2,
          {{1, 64.8}, {2, 32.4}, {4, 16.2}, {8, 8.43}, {12, 6.2}, {16, 5.35}, {20, 5.15}, {24, 5}},
          {{1, 0}, {2, 17}, {4, 25}, {8, 42}},
          {{2, 3.54}, {4, 3.33}},
          {{8, 1.3}, {12, 1.1}, {16, 1.04}},
          0.8};
}

CollectiveProfile reduce_scatter() {
  return {
      1,
      {{1, 30.5}, {2, 15.3}, {4, 7.63}, {8, 4.11}, {12, 3.22}, {16, 2.96}, {20, 2.9}, {24, 2.71}},
      {{1, 0}, {2, 13}, {4, 19.5}, {8, 33}},
      {{2, 4.42}, {4, 3.61}},
      {{8, 1.4}, {12, 1.12}, {16, 1.08}, {24, 1.06}, {32, 1.05}},
      0.6};
}

CollectiveProfile all_gather() {
  return {
      1,
      {{1, 35.3}, {2, 17.6}, {4, 8.82}, {8, 4.65}, {12, 3.46}, {16, 2.89}, {20, 2.76}, {24, 2.65}},
      {{1, 0}, {2, 17}, {4, 26}, {8, 43}},
      {{2, 4.16}, {4, 3.53}},
      {{8, 1.4}, {16, 1.35}, {24, 1.2}},
      1};
}

// Grouped sends and receives, with or without those from a rank to itself.
CollectiveProfile all_to_all() {
  return {
      1,
      {{1, 48.8}, {2, 24.4}, {4, 12.2}, {8, 6.17}, {12, 3.32}, {16, 3.35}, {20, 2.98}, {24, 2.8}},
      {{1, 0}, {2, 14}, {4, 21}, {8, 35}},
      {{2, 3.78}, {4, 3.73}},
      {{8, 1.25}, {12, 1.28}, {16, 1.07}, {24, 1.09}, {32, 1.04}},
      0.7};
}

CollectiveProfile symmetric_all_reduce() {
  return {2,
          {{1, 38.2}, {2, 19.1}, {4, 9.54}, {8, 6.13}},
          {{1, 0}, {2, 17}, {4, 25}, {8, 42}},
          {{2, 4.5}, {4, 4.0}},
          {{8, 1.1}, {12, 1.05}},
          0.8};
}

CollectiveProfile symmetric_reduce_scatter() {
  return {1,
          {{1, 31.5}, {2, 15.8}, {4, 7.88}, {8, 4.18}, {12, 3.85}},
          {{1, 0}, {2, 13}, {4, 19.5}, {8, 33}},
          {{2, 6.2}, {4, 4.9}},
          {{8, 1.2}, {12, 1.1}},
          0.6};
}

CollectiveProfile symmetric_all_to_all() {
  return {1,
          {{1, 27.9}, {2, 14}, {4, 6.98}, {8, 3.36}, {12, 3.02}, {16, 2.95}, {24, 2.56}},
          {{1, 0}, {2, 14}, {4, 21}, {8, 35}},
          {{2, 3.4}, {4, 3.3}},
          {{8, 1.25}, {16, 1.07}},
          0.7};
}

// Chunks of A are sends and receives, beside a GEMM that reads what they write.
CollectiveProfile chunks(CollectiveProfile exchange) {
  exchange.beside_gemm = all_gather().beside_gemm;
  return exchange;
}

CollectivesProfile collectives() {
  CollectivesProfile p = {};
  p.sequence = {{Collective::all_reduce, all_reduce()},
                {Collective::reduce_scatter, reduce_scatter()},
                {Collective::all_to_all, all_to_all()},
                {Collective::all_gather, all_gather()}};
  p.groups = {{Collective::all_reduce, all_reduce()},
              {Collective::reduce_scatter, reduce_scatter()},
              {Collective::all_to_all, all_to_all()},
              {Collective::chunks, chunks(all_to_all())}};
  p.symmetric = {{Collective::all_reduce, symmetric_all_reduce()},
                 {Collective::reduce_scatter, symmetric_reduce_scatter()},
                 {Collective::all_to_all, symmetric_all_to_all()},
                 {Collective::chunks, chunks(symmetric_all_to_all())}};
  p.choices = {{8, 1},  {12, 1}, {16, 1}, {20, 1}, {24, 1}, {28, 2},
               {32, 2}, {24, 2}, {36, 2}, {40, 2}, {16, 2}};
  p.symmetric_choices = {{8, 1}, {7, 1}, {9, 1}, {12, 1}, {16, 1}, {16, 2}, {18, 2}};
  p.least_lane_ctas = 8;
  p.most_ranks = 4;
  p.lane_share = 0.6;
  p.lane_beside_gemm = {{8, 1.1}, {12, 1}};
  p.default_ctas = 24;
  p.wait_us = 7.5;
  p.stream_wait_us = 10;
  p.step_us = 5;  // not measured
  p.issue_us = 10;
  return p;
}

// ---- Ranks that touch each other's memory

CopyProfile copies() {
  return {{{2, 3.15}, {3, 5.8}}, 22,   1.06, 0.7, 2.3, {{2, 2.87}, {4, 3.05}},
          {{2, 0}, {4, 0.2}},    1.02, 3,    18};
}

// Measured on two H200 (PCIe 5, one NUMA node) on 29 November 2026: 38.8 GB/s out of each GPU with
// both directions full, and a GEMM beside them as fast as alone. The last two are of whole
// programs, and the latencies are estimates.
HostCopyProfile host_copies() {
  return {true, {{2, 27}}, 40, 45, 1, 1.16, 1.05};
}

TileProfile tiles() {
  TileProfile p = {};
  p.lines = {1.3, 1.9, 1.9};
  p.one_shot = {1.5, 1.5, 1.7};
  p.two_shots = {3.1, 2.5, 1.5};
  p.most_rows = 2048;
  p.usual_rows = 1024;
  p.tall = 1.25;
  p.rows_latency_us = 6;
  p.rows_us_per_mib = 4;
  p.weights_in_l2 = 40 << 20;
  p.most_gathered_rows = 1024;
  p.most_normalised_rows = 512;
  return p;
}

TaskProfile tasks() {
  constexpr int64_t kMib = int64_t{1} << 20;
  TaskProfile p = {};
  p.bytes_per_us = 8.3e5;
  p.latency_us = 4;
  p.sums_us = 4.5;
  p.rows_us = 20;
  p.beside_tasks = 1;
  p.few_stages = 1.02;
  p.swapped = 1.04;
  p.clusters_of_4 = 1.015;
  p.alone = 1.04;
  p.rows_us_per_mib = 3.6;
  p.pushed_us_per_mib = {{2, 0.4}, {4, 1.8}};
  p.most_bytes = 20 * kMib;
  p.most_bytes_of_sums = 36 * kMib;
  return p;
}

PeersProfile peers() {
  PeersProfile p = {};
  p.peer_access = true;
  p.sum_ctas = {3, 7, 11};  // with the waiter's, clusters of two get all other SMs
  p.lanes = {3, 2, 1};
  p.meet_us = 8;    // not measured
  p.inside_us = 1;  // not measured
  p.link_bytes_per_us = 3.67e5;
  p.copies = copies();
  p.host_copies = host_copies();
  p.stores = {3.06, {{32, 2.9}, {64, 3.2}}, 5, 1.06, 0.25};
  p.tiles = tiles();
  p.sums = {7e4, 3.5e6, 0.8};
  p.fused = {1.015, 4, 15, 2, 0.4, 1.04, 1.12};
  p.tasks = tasks();
  return p;
}

// ---- GEMM

// Those of gemm_sm80 with stages of 64 are of code for sm_80 compiled for H200, 29 November 2026,
// from products of whole waves. Its other times are guesses.
std::map<std::string, KernelTimes> kernels() {
  return {{"gemm_sm90/128x256/4", {0.995, 890, 1.587, true}},
          {"gemm_sm90/128x256/2", {0.995, 1090, 1.585, true}},
          {"gemm_sm90/256x128/2", {0.995, 850, 1.553, true}},
          {"gemm_sm90/128x192/3", {0.995, 810, 1.560, true}},
          {"gemm_sm90/128x128/2", {0.995, 600, 1.560, true}},
          {"gemm_sm90_small", {0.9, 0, 1.95, false, 1.5}},
          {"gemm_sm80/256x128x64", {0.85, 2000, 0, true}},
          {"gemm_sm80/256x128x32", {0.82, 2000, 0, true}},
          {"gemm_sm80/128x256x64", {0.86, 2000, 0, true}},
          {"gemm_sm80/128x128x64", {0.77, 2000, 0, true}},
          {"gemm_sm80/128x128x32/2 per SM", {0.80, 2000, 0, true}},
          {"gemm_sm80/64x128x64", {0.58, 2000, 0, true}},
          {"gemm_sm80/64x64x64", {0.40, 2000, 0, true}},
          {"gemm_sm80/16x32x64", {0.09, 2000, 0, true}},
          {"gemm_sm80/128x128x64/e4m3 precise", {0.70, 2000, 0, true}},
          {"gemm_sm80/128x128x32/e4m3 widened", {0.35, 2000, 0, true}}};
}

// tests/gpu/rows/rows.py fitted all but the limits, ghz, fill_beside and short_us, to H200 and
// H100.
Sm90Profile sm90() {
  Sm90Profile p = {};
  p.efficiency = 1.015;
  p.most_efficiency = 0.978;
  p.l2_bytes_per_clock = 94.5;
  p.off_lines = 1.86;
  p.off_sectors = 3.01;
  p.fill_cycles = {{1, 1.94}, {2, 2.30}, {4, 2.01}, {8, 1.95}};
  p.fill_beside = 1.95;
  p.sharpness = 7.9;
  p.epilogue_cycles = 56;
  p.turn_cycles = 6.2;
  p.ghz = 1.6;
  p.no_cluster = 0.993;
  p.start_us = 2.31;
  p.clusters_us = 1.34;
  p.short_us = 3;
  p.end_us = 0.074;
  p.reads = 1.4;
  p.writes = 2;
  p.memory_sharpness = 3.8;
  return p;
}

ChipProfile chip() {
  ChipProfile p = {};
  p.sms = 132;
  p.clock_sms = 128;
  p.clock_gain = 0.384;
  p.max_ghz = 1.95;
  p.l2_bytes_per_clock = 46;
  p.memory_bytes_per_us = 4.25e6;
  p.copy_bytes_per_us = 2.6e6;
  p.resident_sms = {{3, 117}, {4, 120}, {8, 120}};
  return p;
}

GemmProfile gemm() {
  GemmProfile p = {};
  p.kernels = kernels();
  p.sm90 = sm90();
  p.scaled = {.shared = 1.05, .shared_narrow = 1.12, .turns = 1.6, .small = 1.25};
  p.sustained = 0.95;
  p.mma_sync = 0.62;
  p.clusters_of_1 = 0.98;
  p.clusters_of_4 = 1.012;
  p.narrow = 0.954;
  p.precise = 1.12;
  p.unaligned = 1.36;
  p.few_stages = 1.02;
  p.small_off_lines = 1.3;
  p.small_off_sectors = 1.85;
  p.load_vector = {{1, 0.3}, {2, 0.55}, {4, 0.8}, {8, 1.0}};
  p.start_us = 3.9;
  p.split_us = 0.55;
  p.split_us_per_kib = 0.055;
  p.in_flight_bytes = 204800;
  p.band_rows = 2048;
  p.tall_small = 1.2;
  p.paced = 0.9;
  p.beside_collective = 1.09;
  p.relief = 0.2;
  return p;
}

}  // namespace

MachineProfile machine_h200() {
  MachineProfile p = {};
  p.name = "4 x H200, NVLink";
  p.gpu = "H200";
  p.arch = Arch::sm_90a;
  p.measured = true;
  p.chip = chip();
  p.gemm = gemm();
  p.collectives = collectives();
  p.peers = peers();
  p.accuracy.slack = {.one_lane = 0.03,
                      .lanes = 0.01,
                      .turns = 0.06,
                      .turns_hurried = 0.02,
                      .turns_pushed = 0.023,
                      .rows = 0.005};
  p.accuracy.noise = 0.005;
  p.accuracy.hidden = 0.05;
  p.accuracy.margin = 0.02;
  p.accuracy.doubt = 0.08;
  return p;
}

}  // namespace tilepost
