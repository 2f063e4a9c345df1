#include "generator/plan/machine/fields.h"

namespace tilepost {
namespace {

constexpr double kMostRatio = 1000;  // of what is compared
constexpr double kMostUs = 1e6;      // a second
constexpr double kMostRate = 1e9;    // bytes in a microsecond: a petabyte a second
constexpr double kMostCycles = 1e9;
constexpr double kMostGhz = 100;
constexpr double kMostCtas = 4096;
constexpr double kMostRanks = 1024;
constexpr double kMostRows = 1 << 24;
constexpr double kMostBytes = 1e15;
constexpr double kLeast = 1e-9;  // above 0

class Fields {
 public:
  explicit Fields(MachineVisitor& visitor) : v_(visitor) {}

  // Hands the value to the visitor as a 64-bit number.
  void whole(const MachineField& field, int& value) {
    int64_t wide = value;
    v_.whole(field, wide);
    value = static_cast<int>(wide);
  }
  void whole(const MachineField& field, int64_t& value) { v_.whole(field, value); }
  void flag(const char* name, bool& value, const char* meaning) {
    int64_t wide = value ? 1 : 0;
    v_.whole({name, "", 0, 1, meaning}, wide);
    value = wide != 0;
  }
  // A part or a multiple of something, which is not 0.
  void ratio(const char* name, double& value, const char* meaning) {
    v_.number({name, "", kLeast, kMostRatio, meaning}, value);
  }
  void us(const char* name, double& value, const char* meaning) {
    v_.number({name, "us", 0, kMostUs, meaning}, value);
  }
  void rate(const char* name, double& value, const char* meaning) {
    v_.number({name, "bytes/us", kLeast, kMostRate, meaning}, value);
  }
  void cycles(const char* name, double& value, const char* meaning) {
    v_.number({name, "cycles", 0, kMostCycles, meaning}, value);
  }
  void ghz(const char* name, double& value, double least, const char* meaning) {
    v_.number({name, "GHz", least, kMostGhz, meaning}, value);
  }
  void per_mib(const char* name, double& value, const char* meaning) {
    v_.number({name, "us/MiB", 0, kMostUs, meaning}, value);
  }
  void points(const char* name, std::vector<ProfilePoint>& value, const char* unit, double least,
              double most, const char* meaning) {
    v_.points({name, unit, least, most, meaning}, value);
  }

  void chip(ChipProfile& p);
  void sm90(Sm90Profile& p);
  void scaled(ScaledProfile& p);
  void gemm(GemmProfile& p);
  void collective(const char* name, CollectiveProfile& p);
  void collectives(CollectivesProfile& p);
  void copies(CopyProfile& p);
  void host_copies(HostCopyProfile& p);
  void stores(StoreProfile& p);
  void shot(const char* name, ShotProfile& p);
  void tiles(TileProfile& p);
  void sums(SumProfile& p);
  void fused(FusedProfile& p);
  void tasks(TaskProfile& p);
  void peers(PeersProfile& p);
  void accuracy(AccuracyProfile& p);

 private:
  MachineVisitor& v_;
};

void Fields::chip(ChipProfile& p) {
  v_.begin("chip", "the GPU as all kernels find it");
  whole({"sms", "SMs", 1, kMostCtas, "of a GPU"}, p.sms);
  v_.number({"clock_sms", "SMs", 1, kMostCtas, "SMs on which kernels' clocks were measured"},
            p.clock_sms);
  v_.number({"clock_gain", "", 0, 1, "on x times clock_sms SMs the clock is x^-clock_gain as high"},
            p.clock_gain);
  ghz("max_ghz", p.max_ghz, kLeast, "no clock is higher");
  v_.number({"l2_bytes_per_clock", "bytes/cycle", kLeast, kMostRate,
             "that L2 delivers to an SM when all ask"},
            p.l2_bytes_per_clock);
  rate("memory_bytes_per_us", p.memory_bytes_per_us, "that memory delivers");
  rate("copy_bytes_per_us", p.copy_bytes_per_us, "that a copy kernel on all SMs reads and writes");
  points("resident_sms", p.resident_sms, "CTAs of a cluster, SMs", 1, kMostCtas,
         "SMs that have a CTA of clusters of more than two at once");
  v_.end();
}

void Fields::sm90(Sm90Profile& p) {
  v_.begin("sm90", "the formula of gemm_sm90, for rows without times of their own");
  ratio("efficiency", p.efficiency, "of the tensor peak, of products alone");
  ratio("most_efficiency", p.most_efficiency, "of the tensor peak, of a whole tile");
  v_.number({"l2_bytes_per_clock", "bytes/cycle", kLeast, kMostRate, "that L2 delivers to an SM"},
            p.l2_bytes_per_clock);
  ratio("off_lines", p.off_lines, "cycles of L2 where rows start on sectors but not on lines");
  ratio("off_sectors", p.off_sectors, "cycles of L2 where rows do not start on sectors");
  points("fill_cycles", p.fill_cycles, "CTAs of a cluster, cycles", 0, kMostCycles,
         "in which 128 bytes come into shared memory");
  cycles("fill_beside", p.fill_beside, "the same of all clusters where products move");
  ratio("sharpness", p.sharpness, "exponent of the norm of products, L2 and filling");
  cycles("epilogue_cycles", p.epilogue_cycles, "for 1000 elements of a tile that consumers share");
  cycles("turn_cycles", p.turn_cycles, "the same where consumers take turns");
  ghz("ghz", p.ghz, kLeast, "clock on clock_sms SMs");
  ratio("no_cluster", p.no_cluster, "clock without a cluster, against any");
  us("start_us", p.start_us, "launch, pipeline fill and drain");
  us("clusters_us", p.clusters_us, "more with clusters");
  us("short_us", p.short_us, "more with few rows");
  us("end_us", p.end_us, "for 1000 elements that a consumer stores behind its last products");
  v_.number({"reads", "", 0, kMostRatio, "of memory's time for operands"}, p.reads);
  v_.number({"writes", "", 0, kMostRatio, "of memory's time for the output"}, p.writes);
  ratio("memory_sharpness", p.memory_sharpness, "exponent of the norm of memory and waves");
  v_.end();
}

void Fields::scaled(ScaledProfile& p) {
  v_.begin("scaled", "time with scales of blocks, against precise sums without them");
  ratio("shared", p.shared, "of gemm_sm90 where consumers share a tile");
  ratio("shared_narrow", p.shared_narrow, "the same where a CTA has fewer than 128 columns");
  ratio("turns", p.turns, "where consumers take turns");
  cycles("small", p.small,
         "of gemm_sm90_small for a row of A, 64 columns and 128 of K, in addition");
  v_.end();
}

void Fields::gemm(GemmProfile& p) {
  v_.begin("gemm", "GEMMs by all families of kernels");
  v_.kernels({"kernels", "", 0, 0, "times of single rows of the catalogue"}, p.kernels);
  sm90(p.sm90);
  scaled(p.scaled);
  ratio("sustained", p.sustained, "clock of GEMMs between collectives, against cool bursts");
  ratio("mma_sync", p.mma_sync, "rate of mma.sync against wgmma");
  ratio("clusters_of_1", p.clusters_of_1, "clock against clusters of two");
  ratio("clusters_of_4", p.clusters_of_4, "clock against clusters of two");
  ratio("e4m3", p.narrow, "clock with 8-bit inputs, against 16-bit inputs");
  ratio("precise", p.precise, "cycles of precise e4m3, against sums in the tensor cores");
  ratio("unaligned", p.unaligned, "cycles of L2 where rows do not start on sectors");
  ratio("few_stages", p.few_stages, "cycles with three stages where rows are unaligned");
  ratio("small_off_lines", p.small_off_lines, "gemm_sm90_small: where rows do not start on lines");
  ratio("small_off_sectors", p.small_off_sectors, "gemm_sm90_small: not on sectors");
  points("load_vector", p.load_vector, "elements of a copy, rate", kLeast, kMostRatio,
         "rate of gemm_sm80 against elements per asynchronous copy");
  us("start_us", p.start_us, "launch, pipeline fill and drain");
  us("split_us", p.split_us, "CTAs that share products of a tile meet and add up");
  v_.number({"split_us_per_kib", "us/KiB", 0, kMostUs, "the same, for what a CTA sends"},
            p.split_us_per_kib);
  whole({"in_flight_bytes", "bytes", 1024, kMostBytes, "of operands on their way to an SM"},
        p.in_flight_bytes);
  whole({"band_rows", "rows", 1, kMostRows, "of the output that are swept together"}, p.band_rows);
  ratio("tall_small", p.tall_small, "time of gemm_sm90_small above 128 rows, against its model");
  ratio("paced", p.paced, "part of a main loop over which stores to peers are spread");
  ratio("beside_collective", p.beside_collective, "GEMM time next to a collective");
  v_.number({"relief", "", 0, 1, "part of the GEMM time that a collective in sequence spares"},
            p.relief);
  v_.end();
}

void Fields::collective(const char* name, CollectiveProfile& p) {
  v_.begin(name, "");
  ratio("sent", p.sent, "of the bytes, times (ranks - 1) / ranks: what every rank sends");
  points("us_per_mib", p.us_per_mib, "CTAs, us/MiB", 0, kMostUs, "over most_ranks ranks");
  points("latency_us", p.latency_us, "ranks, us", 0, kMostUs, "of one more collective");
  points("wire_us_per_mib", p.wire_us_per_mib, "ranks, us/MiB", 0, kMostUs,
         "at least, for what a rank sends");
  points("beside_gemm", p.beside_gemm, "CTAs, ratio", kLeast, kMostRatio,
         "time next to a GEMM, against alone");
  ratio("lane_latency", p.lane_latency, "of the latency that lanes do not hide, times lanes");
  v_.end();
}

void Fields::collectives(CollectivesProfile& p) {
  v_.begin("collectives", "NCCL's");
  v_.begin("sequence", "the one collective of a run without overlap");
  collective("all_reduce", p.sequence[Collective::all_reduce]);
  collective("reduce_scatter", p.sequence[Collective::reduce_scatter]);
  collective("all_gather", p.sequence[Collective::all_gather]);
  collective("all_to_all", p.sequence[Collective::all_to_all]);
  v_.end();
  const auto beside = [&](const char* name, const char* meaning, CollectiveProfiles& profiles) {
    v_.begin(name, meaning);
    collective("all_reduce", profiles[Collective::all_reduce]);
    collective("reduce_scatter", profiles[Collective::reduce_scatter]);
    collective("all_to_all", profiles[Collective::all_to_all]);
    collective("chunks", profiles[Collective::chunks]);
    v_.end();
  };
  beside("groups", "one for each group, or chunk of A, beside the GEMM", p.groups);
  beside("symmetric", "the same out of symmetric windows", p.symmetric);
  v_.choices({"choices", "CTAs, lanes", 1, kMostCtas, "to try, in order of preference"}, p.choices);
  v_.choices({"symmetric_choices", "CTAs, lanes", 1, kMostCtas, "the same of symmetric windows"},
             p.symmetric_choices);
  whole({"least_lane_ctas", "CTAs", 1, kMostCtas, "of a lane that a second one is worth"},
        p.least_lane_ctas);
  whole({"most_ranks", "ranks", 2, kMostRanks, "on which the tables were measured"}, p.most_ranks);
  ratio("lane_share", p.lane_share, "of their CTAs on which several lanes are as fast as one");
  points("lane_beside_gemm", p.lane_beside_gemm, "CTAs of a lane, ratio", kLeast, kMostRatio,
         "time of several lanes next to a GEMM");
  whole({"default_ctas", "CTAs", 1, kMostCtas, "what NCCL takes when it may choose"},
        p.default_ctas);
  us("wait_us", p.wait_us, "from a counter's last raise, or the collective before, to the next");
  us("stream_wait_us", p.stream_wait_us, "the same where the stream waits");
  us("step_us", p.step_us, "a copy or a post between collectives on the stream");
  us("issue_us", p.issue_us, "until the host has issued what brings the first rows of A");
  v_.end();
}

void Fields::copies(CopyProfile& p) {
  v_.begin("copies", "copy engines read other ranks' memory; of rows of A they write there");
  points("us_per_mib", p.us_per_mib, "ranks, us/MiB", 0, kMostUs, "that a rank sends");
  us("latency_us", p.latency_us, "of a group");
  ratio("beside_copies", p.beside_copies, "GEMM time next to copies");
  ratio("lane_latency", p.lane_latency, "of the latency that lanes do not hide, times lanes");
  ratio("both_ways", p.both_ways, "AllReduce: time of parts and sums, against either");
  points("rows_us_per_mib", p.rows_us_per_mib, "ranks, us/MiB", 0, kMostUs,
         "rows of A that a rank sends");
  points("slow_us_per_mib", p.slow_us_per_mib, "ranks, us/MiB", 0, kMostUs,
         "that the GEMM takes longer for them");
  ratio("alone", p.alone, "rows of A: GEMM time of tiles whose CTAs share nothing");
  us("push_us", p.push_us, "of a chunk of A");
  us("landed_us", p.landed_us, "until ranks know that it is there");
  v_.end();
}

void Fields::host_copies(HostCopyProfile& p) {
  v_.begin("host_copies", "copy engines carry chunks through pinned host memory");
  flag("available", p.available, "1: they were found to work");
  points("us_per_mib", p.us_per_mib, "ranks, us/MiB", 0, kMostUs,
         "that a rank sends, while all ranks send and receive");
  us("latency_us", p.latency_us, "of a group");
  us("chunk_us", p.chunk_us, "by which the last chunk arrives later than it was sent");
  ratio("beside_copies", p.beside_copies, "GEMM time next to them");
  ratio("beside_gemm", p.beside_gemm, "their time next to the GEMM whose product they carry");
  ratio("both_ways", p.both_ways, "AllReduce: parts and sums");
  v_.end();
}

void Fields::stores(StoreProfile& p) {
  v_.begin("stores", "the kernel stores into other ranks' memory");
  per_mib("us_per_mib", p.us_per_mib, "that a rank stores elsewhere");
  points("both_us_per_mib", p.both_us_per_mib, "KiB of a CTA's tile, us/MiB", 0, kMostUs,
         "where sums share the links with tiles");
  us("latency_us", p.latency_us, "until the owner sees what was stored last");
  ratio("beside_stores", p.beside_stores, "GEMM time with stores it does not wait for");
  v_.number({"drain", "", 0, kMostRatio, "part of a wave's stores that comes behind the last wave"},
            p.drain);
  v_.end();
}

void Fields::shot(const char* name, ShotProfile& p) {
  v_.begin(name, "");
  us("latency_us", p.latency_us, "until all ranks have seen what was stored last");
  per_mib("us_per_mib", p.us_per_mib, "that a rank sends");
  per_mib("wave_us_per_mib", p.wave_us_per_mib, "that it sends of the last wave");
  v_.end();
}

void Fields::tiles(TileProfile& p) {
  v_.begin("tiles", "kernels of few rows exchange tiles");
  shot("lines", p.lines);
  shot("one_shot", p.one_shot);
  shot("two_shots", p.two_shots);
  whole({"most_rows", "rows", 1, kMostRows, "that are exchanged unasked"}, p.most_rows);
  whole({"usual_rows", "rows", 1, kMostRows, "above which products take `tall` times as long"},
        p.usual_rows);
  ratio("tall", p.tall, "time of products of more rows");
  us("rows_latency_us", p.rows_latency_us, "rows of A: until all ranks have seen the last ones");
  per_mib("rows_us_per_mib", p.rows_us_per_mib, "rows of A that a rank stores elsewhere");
  v_.number({"weights_in_l2", "bytes", 0, kMostBytes, "of B that stay in L2"}, p.weights_in_l2);
  whole({"most_gathered_rows", "rows", 1, kMostRows, "of A that are exchanged unasked"},
        p.most_gathered_rows);
  whole({"most_normalised_rows", "rows", 1, kMostRows, "that the kernel normalises unasked"},
        p.most_normalised_rows);
  v_.end();
}

void Fields::sums(SumProfile& p) {
  v_.begin("sums", "parts are added up, or copied, by kernels of their own");
  rate("sm_bytes_per_us", p.sm_bytes_per_us, "read and written on one SM");
  rate("memory_bytes_per_us", p.memory_bytes_per_us, "read and written on all SMs");
  ratio("unawaited", p.unawaited, "of the time of sums for which no rank waits");
  v_.end();
}

void Fields::fused(FusedProfile& p) {
  v_.begin("fused", "sums in the epilogue of the owner's tiles");
  ratio("beside_sums", p.beside_sums, "GEMM time with sums in its epilogue");
  ratio("sharpness", p.sharpness, "exponent of the norm of products and stores");
  us("latency_us", p.latency_us, "of the last tiles");
  whole({"most_ranks", "ranks", 0, kMostRanks, "on which they were measured"}, p.most_ranks);
  ratio("paced", p.paced, "part of the time until a consumer's next tile that stores take");
  ratio("few_stages", p.few_stages, "GEMM time with fewer than four stages");
  ratio("few_stages_beside_pushes", p.few_stages_beside_pushes,
        "the same where all ranks get all sums");
  v_.end();
}

void Fields::tasks(TaskProfile& p) {
  v_.begin("tasks", "helper warps of the GEMM add up, or move rows");
  rate("bytes_per_us", p.bytes_per_us, "read by all of them");
  us("latency_us", p.latency_us, "of a group");
  us("sums_us", p.sums_us, "AllReduce: of a group, in which links have no sums to carry");
  us("rows_us", p.rows_us, "rows of A: of a chunk, more than that");
  ratio("beside_tasks", p.beside_tasks, "GEMM time with tasks and stores");
  ratio("few_stages", p.few_stages, "GEMM time with fewer than four stages");
  ratio("swapped", p.swapped, "GEMM time of tiles that arise transposed");
  ratio("clusters_of_4", p.clusters_of_4, "GEMM time of clusters of four");
  ratio("alone", p.alone, "GEMM time of tiles whose CTAs share nothing");
  per_mib("rows_us_per_mib", p.rows_us_per_mib, "rows of A that a rank stores elsewhere");
  points("pushed_us_per_mib", p.pushed_us_per_mib, "ranks, us/MiB", 0, kMostUs,
         "that the GEMM takes longer for what a rank pushes");
  whole({"most_bytes", "bytes", 1, kMostBytes, "of a group whose parts are added up"},
        p.most_bytes);
  whole({"most_bytes_of_sums", "bytes", 1, kMostBytes, "of a group whose sums are pushed on"},
        p.most_bytes_of_sums);
  v_.end();
}

void Fields::peers(PeersProfile& p) {
  v_.begin("peers", "ranks touch each other's memory, or pass data through the host's");
  flag("peer_access", p.peer_access, "1: all GPUs reach each other's memory");
  v_.list({"sum_ctas", "CTAs", 1, kMostCtas, "to try for sums, besides 1"}, p.sum_ctas);
  v_.list({"lanes", "lanes", 1, 64, "to try"}, p.lanes);
  us("meet_us", p.meet_us, "all ranks say that they have ended a run and begun the next");
  us("inside_us", p.inside_us, "the same inside the GEMM");
  rate("link_bytes_per_us", p.link_bytes_per_us, "to other ranks at most");
  copies(p.copies);
  host_copies(p.host_copies);
  stores(p.stores);
  tiles(p.tiles);
  sums(p.sums);
  fused(p.fused);
  tasks(p.tasks);
  v_.end();
}

void Fields::accuracy(AccuracyProfile& p) {
  const auto part = [&](const char* name, double& value, const char* meaning) {
    v_.number({name, "", 0, 1, meaning}, value);
  };
  v_.begin("accuracy", "what the model is known to get wrong");
  v_.begin("slack", "part by which fewer groups may end later than the best");
  part("one_lane", p.slack.one_lane, "collectives in one lane");
  part("lanes", p.slack.lanes, "collectives in several lanes");
  part("turns", p.slack.turns, "shares take turns");
  part("turns_hurried", p.slack.turns_hurried, "the same, where helper warps have tasks");
  part("turns_pushed", p.slack.turns_pushed, "the same, where helper warps push sums");
  part("rows", p.slack.rows, "chunks of A that helper warps serve");
  v_.end();
  part("noise", p.noise, "differences below this part are none");
  part("hidden", p.hidden, "part by which a GEMM that links hide has to be shorter");
  part("margin", p.margin, "part by which overlap has to win");
  part("doubt", p.doubt, "part by which collectives and copies end later than predicted");
  v_.end();
}

}  // namespace

void visit_machine(MachineVisitor& visitor, MachineProfile& profile) {
  visitor.text({"name", "", 1, 200, "what messages and plans call it"}, profile.name);
  visitor.text({"gpu", "", 1, 100, "part of what CUDA calls its GPUs"}, profile.gpu);
  visitor.arch({"arch", "", 0, 0, "of its GPUs"}, profile.arch);
  Fields fields(visitor);
  fields.flag("measured", profile.measured, "1: by times of such a machine; 0: an estimate");
  fields.chip(profile.chip);
  fields.gemm(profile.gemm);
  fields.collectives(profile.collectives);
  fields.peers(profile.peers);
  fields.accuracy(profile.accuracy);
}

void visit_kernel(MachineVisitor& visitor, KernelTimes& times) {
  Fields fields(visitor);
  fields.ratio("efficiency", times.efficiency, "of the tensor peak inside the main loop");
  fields.cycles("epilogue_cycles", times.epilogue_cycles, "of a tile, not hidden");
  fields.ghz("ghz", times.ghz, 0, "clock on clock_sms SMs; 0: the architecture's");
  fields.flag("beside", times.beside, "1: timed beside collectives, so it may overlap unasked");
  fields.ghz("most_ghz", times.most_ghz, 0, "clock at the power limit; 0: ghz is that already");
}

}  // namespace tilepost
