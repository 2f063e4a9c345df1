#include "generator/plan/cost/profile.h"

#include <cstddef>

namespace tilepost {

namespace {

// Tables of times over CTAs: collectives of 8, 16, 32 and 128 MiB of bf16 on four ranks with 4, 8,
// 12, 16, 20 and 24 CTAs, nothing beside them, lie on one latency and these slopes to 5% or so (8
// MiB of AllReduce with few CTAs take 10% more); 32 CTAs are as fast as 24; fewer than 4 in
// proportion. The wire: 24 CTAs, 128 MiB, over two ranks and over four. Latencies of other numbers
// of ranks in AllReduce's proportions.
//
// Beside a GEMM: what gives the measured ends of schedules in one lane, 8192 x 8192 x 2048 with 16
// to 40 CTAs, x 7168 with 8 to 24, 8192 x 4096 x 3584 with 12. A GEMM at full speed keeps L2 busy:
// few CTAs wait for it longer, many for the links as they would alone. Of lane_latency: those in
// two lanes, see lane_share.

// 128 MiB: 2050, 1078, 801, 718, 715 and 685 us. Two ranks take 470 us and send 128 MiB each, four
// send 192. Beside a GEMM measured with 16 only; fewer are a guess between the other patterns.
CollectiveProfile all_reduce() {
  return {2,
          {{1, 64.8}, {2, 32.4}, {4, 16.2}, {8, 8.43}, {12, 6.2}, {16, 5.35}, {20, 5.15}, {24, 5}},
          {{1, 0}, {2, 17}, {4, 25}, {8, 42}},
          {{2, 3.54}, {4, 3.33}},
          {{8, 1.3}, {12, 1.1}, {16, 1.04}},
          0.8};
}

// 128 MiB: 1005, 548, 435, 410, 386 and 369 us. Two ranks take 296.
CollectiveProfile reduce_scatter() {
  return {
      1,
      {{1, 30.5}, {2, 15.3}, {4, 7.63}, {8, 4.11}, {12, 3.22}, {16, 2.96}, {20, 2.9}, {24, 2.71}},
      {{1, 0}, {2, 13}, {4, 19.5}, {8, 33}},
      {{2, 4.42}, {4, 3.61}},
      {{8, 1.4}, {12, 1.12}, {16, 1.08}, {24, 1.06}, {32, 1.05}},
      0.6};
}

// 128 MiB: 1162, 602, 458, 398, 394 and 374 us. Two ranks take 283. Beside a GEMM: of the sends and
// receives that bring chunks of 6 to 42 MiB with 8, 12, 16 and 24 CTAs: the first as fast as alone,
// later ones up to 1.8 times as long; on average.
CollectiveProfile all_gather() {
  return {
      1,
      {{1, 35.3}, {2, 17.6}, {4, 8.82}, {8, 4.65}, {12, 3.46}, {16, 2.89}, {20, 2.76}, {24, 2.65}},
      {{1, 0}, {2, 17}, {4, 26}, {8, 43}},
      {{2, 4.16}, {4, 3.53}},
      {{8, 1.4}, {16, 1.35}, {24, 1.2}},
      1};
}

// Grouped sends and receives, with or without those to itself. 128 MiB: 1531, 827, 447, 442, 378
// and 377 us: 16 CTAs are no faster than 12. Two ranks take 256.
CollectiveProfile all_to_all() {
  return {
      1,
      {{1, 48.8}, {2, 24.4}, {4, 12.2}, {8, 6.17}, {12, 3.32}, {16, 3.35}, {20, 2.98}, {24, 2.8}},
      {{1, 0}, {2, 14}, {4, 21}, {8, 35}},
      {{2, 3.78}, {4, 3.73}},
      {{8, 1.25}, {12, 1.28}, {16, 1.07}, {24, 1.09}, {32, 1.04}},
      0.7};
}

// Symmetric windows, 128 MiB on four ranks with 4, 8, 12 and 16 CTAs: 1221, 785, 787 and 783 us;
// latencies are the ring's. On two ranks 600 us with 8 CTAs.
CollectiveProfile symmetric_all_reduce() {
  return {2,
          {{1, 38.2}, {2, 19.1}, {4, 9.54}, {8, 6.13}},
          {{1, 0}, {2, 17}, {4, 25}, {8, 42}},
          {{2, 4.5}, {4, 4.0}},
          {{8, 1.1}, {12, 1.05}},
          0.8};
}

// 1009, 535, 493 and 492 us; on two ranks 417.
CollectiveProfile symmetric_reduce_scatter() {
  return {1,
          {{1, 31.5}, {2, 15.8}, {4, 7.88}, {8, 4.18}, {12, 3.85}},
          {{1, 0}, {2, 13}, {4, 19.5}, {8, 33}},
          {{2, 6.2}, {4, 4.9}},
          {{8, 1.2}, {12, 1.1}},
          0.6};
}

// 893, 430, 387, 378 and, with 24, 328 us; on two ranks 229.
CollectiveProfile symmetric_all_to_all() {
  return {1,
          {{1, 27.9}, {2, 14}, {4, 6.98}, {8, 3.36}, {12, 3.02}, {16, 2.95}, {24, 2.56}},
          {{1, 0}, {2, 14}, {4, 21}, {8, 35}},
          {{2, 3.4}, {4, 3.3}},
          {{8, 1.25}, {16, 1.07}},
          0.7};
}

// 128 MiB, every rank from every other: 183 us on two ranks; 8 and 32 MiB lie on the same slope and
// 12 us. The rest of the latency is the wait and the announcement. Next to them and to sums a wave
// of 128 x 256 takes 1.06 of its time alone, next to an AllGather's, of which there are fewer,
// nothing more.
//
// Three streams that pull at once, on four ranks, bring 222 GB/s of 8 MiB each and 265 of 32, but
// in chunks of 4 MiB 168 to 180 and of 1 MiB 100. 8192 x 8192 x 2048: All-to-All 606 us,
// ReduceScatter 640. Three ranks and eight are taken to be as four.
//
// One stream that pushes to three ranks in turn: 8 MiB each in 81 us, 32 in 275, in chunks of 4 MiB
// 110, in chunks of 1 MiB 646; to one rank 367 GB/s. Beside a GEMM a little less: six shapes of
// AllGather on four ranks, one share after the other, to 6% beside a GEMM by the formula
// (Sm90Profile), which takes it to be longer than its row's times do. Traced on four
// H100, chunks of 3 to 8 MiB follow each other by 2 to 3 us and 3.05 us a MiB; the first is there
// 19 us and its own time after the run's beginning. `landed_us` also holds what stands between one
// run's GEMM and the next's. AllGathers of 44 shapes on four H100 end 6.6 % later than this says,
// as their GEMMs alone do there. Of 11 pairs of tiles it chooses 0.99 of the better one; with 8 or
// 12 us for a chunk 0.94 and 0.93.
// Of 33 shapes on two H100 with two to five tiles each it chooses 0.986 of the best if tiles that
// share nothing count 2 % more, 0.984 if they do not, and 0.980 with 5 %.
CopyProfile copies() {
  return {{{2, 3.15}, {3, 5.8}}, 22,   1.06, 0.7, 2.3, {{2, 2.87}, {4, 3.05}},
          {{2, 0}, {4, 0.2}},    1.02, 3,    18};
}

// Bulk stores, nothing beside them: 64 MiB to another rank in 193 us, 96 MiB to three in 290; tiles
// and sums together 343 GB/s. A kernel that computes 350 us stored 96 MiB in 371, 22 of which came
// after the last products where those were not its own rows. AllReduce of 8192 x 8192 on four
// ranks, which has tiles wait for sums and sums for tiles: 308 GB/s of both, 730 us. On
// two ranks 16384 x 8192 x 2048 took 948 us with tiles of 128 x 256, and 872 with 128 x 128.
StoreProfile stores() {
  return {3.06, {{32, 2.9}, {64, 3.2}}, 5, 1.06, 0.25};
}

// `tilepost bench` of AllReduce on two ranks, 8192 columns, K = 2048, in graphs of 20, less the
// GEMM. 1, 16 rows in lines: 1.4, 1.9 us. In one shot 64, 128, 256, 512, 1024, 2048 rows: 3.7, 7.3,
// 15, 22, 32 and 53; K = 7168 2, -, 14, 20 and 36. In two shots from 128 rows on: 11, 20, 31, 49
// and 91. In lines more rows: an older kernel, 64 and 128 rows 6.3 and 11.6.
//
// AllGather on two H100, the same way: 1, 16, 64 rows took 6 us more than their GEMM, 512 and 1024
// rows 3 to 4; 256 rows with K = 7168 took 33, 115 MB of weights being read twice, 32 MB were not.
// With residual_rms_norm up to 512 rows were faster than in sequence, 1024 were not.
//
// More than 1024 rows of AllReduce were timed on two H100 alone, where the products of 8 shapes
// with 1051 to 2003 rows took 1.4 to 1.8 times what the model says, and those of fewer rows 1
// to 1.3.
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

// Four SMs beside a GEMM added 48 MiB in 200 us; memory gives 4.25e6 to a kernel that only reads.
// ReduceScatter on two ranks, 8192 x 8192 x 2048, with 3 and 7 SMs: 422 and 428 us.
SumProfile sums() {
  return {7e4, 3.5e6, 0.8};
}

// `tests/gpu/tasks time`: sums of 64 MiB of two parts take 162 us, of four 164, moving 64 MiB takes
// 73, and a GEMM of 342 us takes 357 to 359 beside them. ReduceScatter and All-to-All on two ranks,
// 8192 x 8192 x 2048, in groups of two waves: 409 and 412 us. 8 MiB of rows to each of three ranks
// beside a GEMM: 85 us. What pushes cost the GEMM: six shapes of AllGather and of AllReduce on four
// ranks, to 5%; on two 8192 x 8192 x 2048 took 389 us. 1 to 256 rows of AllGather on four ranks
// took 40 to 50 us, 16 to 25 more than their GEMM and one chunk.
//
// Tiles of ReduceScatter on two ranks, by the formula (Sm90Profile): 8 random shapes of up to
// 16384 rows by 7 tiles each, all that the planner had for six listed shapes and 20 random ones,
// without bias and with an error of 4 %. The formula is of GEMMs that run hot; beside stores the
// tensor cores wait, and the clock is higher. Tiles in clusters of one, against the same in
// clusters of two, on two H100: 8 AllReduces took 5.5 % longer, 13 % in a row, 11 ReduceScatters as
// long, but 7 % longer in a row.
//
// Of groups that are not large most is still in L2 when it is added up, and the GEMM keeps the
// memory's bandwidth. On two ranks, ReduceScatter of 8192 x 8192 x 2048, groups of two waves (16
// MiB) took 409 us, ones of up to four 417, of up to eight 429. Not where the links are busier than
// memory: AllReduce on four ranks took 716 us in 8 groups of one to four waves, 743 in 10 of one or
// two.
TaskProfile tasks() {
  constexpr int64_t kMib = int64_t{1} << 20;
  TaskProfile p = {};
  p.bytes_per_us = 8.3e5;
  p.latency_us = 4;
  p.sums_us = 4.5;
  p.rows_us = 20;
  p.beside_tasks = 1;
  p.short_of_stages = 1.02;
  p.swapped = 1.04;
  p.clusters_of_4 = 1.015;
  p.alone = 1.04;
  p.rows_us_per_mib = 3.6;
  p.pushed_us_per_mib = {{2, 0.4}, {4, 1.8}};
  p.most_bytes = 20 * kMib;
  p.most_bytes_of_sums = 36 * kMib;
  return p;
}

// Chunks of A are sends and receives, beside a GEMM that reads what they write.
CollectiveProfile chunks(CollectiveProfile exchange) {
  exchange.beside_gemm = all_gather().beside_gemm;
  return exchange;
}

// Tensor-bound kernels run at the power limit, so each has a clock of its own: the less it moves
// into shared memory per flop, the higher. Those of gemm_sm90 were timed beside collectives.
// gemm_sm90_small is far from the power limit, which only tiles of more than 128 rows come to: it
// leaves them what it leaves gemm_sm90, 812 TFLOP/s (sm90()). gemm_sm80 was not measured: guesses.
std::map<std::string, KernelTimes> kernels() {
  return {{"gemm_sm90/128x256/4", {0.995, 890, 1.587, true}},
          {"gemm_sm90/128x256/2", {0.995, 1090, 1.585, true}},
          {"gemm_sm90/256x128/2", {0.995, 850, 1.553, true}},
          {"gemm_sm90/128x192/3", {0.995, 810, 1.560, true}},
          {"gemm_sm90/128x128/2", {0.995, 600, 1.560, true}},
          {"gemm_sm90_small", {0.9, 0, 1.95, false, 1.5}},
          {"gemm_sm80/256x128x64", {0.85, 2000, 0, true}},
          {"gemm_sm80/256x128x32", {0.82, 2000, 0, true}},
          {"gemm_sm80/128x256x32", {0.82, 2000, 0, true}},
          {"gemm_sm80/128x128x32", {0.70, 2000, 0, true}},
          {"gemm_sm80/128x128x32/2 per SM", {0.80, 2000, 0, true}},
          {"gemm_sm80/64x128x64", {0.60, 2000, 0, true}},
          {"gemm_sm80/128x128x64/e4m3 precise", {0.70, 2000, 0, true}},
          {"gemm_sm80/128x128x32/e4m3 widened", {0.35, 2000, 0, true}}};
}

// rows.py, all but the limits, ghz, `fill_beside` and `short_us`: 80 random shapes of 129 to 16384
// rows on one H200 (seeds 2611 and 2612), the same and 147 others on H100 (2710 to 2713), 723
// variants, 2026-11-26. Fitted to H200 alone, L2 would deliver a tenth more and memory a twentieth.
Sm90Profile sm90() {
  Sm90Profile p = {};
  p.efficiency = 1.015;
  // 812 TFLOP/s in the waves of 8192 x 8192 x 7168 and 8192, and 8 more.
  p.most_efficiency = 0.978;
  p.l2_bytes_per_clock = 94.5;
  p.off_lines = 1.86;
  p.off_sectors = 3.01;
  p.fill_cycles = {{1, 1.94}, {2, 2.30}, {4, 2.01}, {8, 1.95}};
  // Pairs fill in 2.1 on H200, in 2.5 on H100. With 1.95 tiles beside tasks take what they were
  // measured to take (TaskProfile).
  p.fill_beside = 1.95;
  p.sharpness = 7.9;
  p.epilogue_cycles = 56;
  p.turn_cycles = 6.2;
  p.ghz = 1.6;
  p.cluster_1 = 0.993;
  p.start_us = 2.31;
  p.clusters_us = 1.34;
  // 18 products of 1 to 128 rows took 2 to 4 us more on an H100, and 1.2 to 2 times what
  // gemm_sm90_small takes.
  p.short_us = 3;
  p.end_us = 0.074;
  p.reads = 1.4;
  p.writes = 2;
  p.memory_sharpness = 3.8;
  return p;
}

// One lane next to a GEMM that is the bottleneck may be more idle than the model's error, and the
// GEMM the faster for it, which the model does not see. Nor does it see that groups in which shares
// take turns have thin bands, whose operands are read more often: 16 of one wave cost the GEMM 4 %,
// 8 of two 2 %; nor that their waits and sums share the few free SMs: 11 groups took 460 us where 8
// and 4 took 420. An AllReduce gains more by the sums that travel early, but less than the model
// says: 8192 x 8192 x 2048 on four ranks took 716 us in 8 groups of one to four waves, 729 in 4 of
// four and 765 in 16 of one. Chunks of A cost next to nothing where ranks push them.
constexpr SlackProfile kSlack = {.one_lane = 0.03,
                                 .lanes = 0.01,
                                 .turns = 0.06,
                                 .turns_hurried = 0.02,
                                 .turns_pushed = 0.023,
                                 .rows = 0.005};

MachineProfile measured() {
  MachineProfile p = {};
  p.name = "4 x H200, NVLink";
  p.arch = Arch::sm_90a;

  // Fitted, with the rows' clocks and epilogues, to 11 shapes on 104 to 132 SMs, to 1% where waves
  // are full.
  p.kernels = kernels();
  p.sm90 = sm90();
  p.clock_sms = 128;
  p.clock_gain = 0.384;
  p.max_ghz = 1.95;
  p.l2_bytes_per_clock = 46;
  p.memory_bytes_per_us = 4.25e6;
  p.sustained = 0.95;
  p.mma_sync = 0.62;
  p.cluster_1 = 0.98;
  p.cluster_4 = 1.012;
  p.e4m3 = 0.954;
  p.precise = 1.12;
  p.unaligned = 1.36;
  p.short_of_stages = 1.02;
  p.load_vector = {{1, 0.3}, {2, 0.55}, {4, 0.8}, {8, 1.0}};
  p.start_us = 3.9;
  // Between two and three CTAs of gemm_sm90_small.
  p.split_us = 0.55;
  p.split_us_per_kib = 0.055;
  p.in_flight_bytes = 204800;
  // 11 random products of 134 to 247 rows on an H100: 0.95 to 1.5 times what the model says, 1.25
  // in the mean. With 1.15 to 1.3 what is chosen, or gemm_sm90, takes 2.6 % more than the better
  // one.
  p.tall_small = 1.2;
  // Bands of 16 tile rows of 128 were the best of 4, 8, 16 and 32.
  p.band_rows = 2048;
  p.paced = 0.9;
  // A cluster fits only where a processing cluster of SMs has as many left: of 132 SMs, 39 clusters
  // of 3, 30 of 4 and 15 of 8 are resident at once, and more would run as a second round.
  p.resident_sms = {{3, 117}, {4, 120}, {8, 120}};
  // A wave of 128 x 256 beside collectives: 23.8, 22.5 to 23.2, 22.4 and 22.0 us on 118, 106, 98
  // and 90 SMs with K = 2048, about 81 on 114 SMs with K = 7168: fewer SMs clock higher as they do
  // alone, less what the collectives take of power and of L2.
  p.beside_collective = 1.09;
  // cuBLASLt's GEMM and NCCL's collective in turns, six shapes in four patterns, to 5%: while a
  // collective runs the chip cools, and the GEMM clocks higher after it. Of the time of both
  // together less the collective's: 0.75 to 1 of the GEMM's in a row.
  p.relief = 0.2;

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
  // Where the model sees no difference, two lanes of 14 or 16 were measured best. A single ring is
  // not faster with more than 24 CTAs. Symmetric windows: 7 to 9 CTAs move what a ring needs twice
  // as many for.
  p.choices = {{8, 1},  {12, 1}, {16, 1}, {20, 1}, {24, 1}, {28, 2},
               {32, 2}, {24, 2}, {36, 2}, {40, 2}, {16, 2}};
  p.symmetric_choices = {{8, 1}, {7, 1}, {9, 1}, {12, 1}, {16, 1}, {16, 2}, {18, 2}};
  p.least_lane_ctas = 8;
  p.collective_ranks = 4;
  // Schedules in two lanes of 12 to 44 CTAs, 8192 x 8192 x 2048 in three patterns and five more
  // shapes, to 2% on average.
  p.lane_share = 0.6;
  // 8192 x 8192 x 7168 and 8192 x 4096 x 3584 with two lanes of 8 CTAs; from 12 on nothing.
  p.lane_beside_gemm = {{8, 1.1}, {12, 1}};
  p.default_ctas = 24;
  // From the end of one collective to the start of the next 7.5, of which the poll takes 3.6; with
  // cuStreamWaitValue32 in its place 10.
  p.wait_us = 7.5;
  p.stream_wait_us = 10;
  // Not measured: about what one small kernel behind another takes.
  p.step_us = 5;
  // AllGather on two H100, 20 random shapes: by copies the 12 that take less than 200 us took 15 to
  // 56 us more than their GEMM, where all else of the model explains 0 to 30. On four H200 six
  // larger ones took no more than that explains.
  p.issue_us = 10;
  // The own rows of AllGather: 8 MiB in 7 us, 28 MiB in 20.
  p.copy_bytes_per_us = 2.6e6;

  // With the waiter's, so many leave clusters of 2 all the others.
  p.sum_ctas = {3, 7, 11};
  p.lanes = {3, 2, 1};
  // Not measured: two small kernels.
  p.meet_us = 8;
  p.inside_us = 1;
  p.fused = {1.015, 4, 15, 2, 0.4, 1.04, 1.12};
  // Copy engines, one copy after the other; stores reach 330.
  p.link_bytes_per_us = 3.67e5;
  p.copies = copies();
  p.stores = stores();
  p.tiles = tiles();
  p.sums = sums();
  p.tasks = tasks();

  p.slack = kSlack;
  p.noise = 0.005;
  // AllReduce of 3224 x 4016 x 1448 on four H100, by the model 174 to 176 us with five tiles: 183
  // and 188 where the GEMM takes 90 to 95, 209 where it takes 115 to 123.
  p.hidden = 0.05;
  p.margin = 0.02;
  // Runs of random shapes that overlap by NCCL on four H100, which were predicted: 4 to 14 % later,
  // 12 of them; an AllReduce by copy engines, 30 %; by helper warps 2 % on average. In sequence on
  // two ranks: 6 to 9 %.
  p.doubt = 0.08;
  return p;
}

}  // namespace

const MachineProfile& h200_nvlink_profile() {
  static const MachineProfile profile = measured();
  return profile;
}

Collective whole_collective(const PatternRow& row) {
  if (row.routes()) return Collective::all_to_all;
  if (!row.sums) return Collective::all_gather;
  return row.rows_end == RowsEnd::share ? Collective::reduce_scatter : Collective::all_reduce;
}

Collective group_collective(const PatternRow& row) {
  return row.moves_input() ? Collective::chunks : whole_collective(row);
}

const KernelTimes& MachineProfile::times_of(const std::string& row) const {
  static const KernelTimes guess;
  const auto found = kernels.find(row);
  return found == kernels.end() ? guess : found->second;
}

double interpolate(const std::vector<ProfilePoint>& points, double x) {
  if (x <= points.front().x) return points.front().y;
  for (size_t i = 1; i < points.size(); ++i) {
    if (x > points[i].x) continue;
    const double part = (x - points[i - 1].x) / (points[i].x - points[i - 1].x);
    return points[i - 1].y + part * (points[i].y - points[i - 1].y);
  }
  return points.back().y;
}

}  // namespace tilepost
