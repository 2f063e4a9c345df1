#include "generator/plan/tuning/fields.h"

#include <limits>

#include "runtime/map/enumerators.h"

namespace tilepost {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

// The spellings of transports and shots in a spec have 'auto' where an entry has 'none'.
template <class Row, size_t kRows>
std::vector<Spelling> all_of(const Row (&table)[kRows]) {
  std::vector<Spelling> all;
  for (const Row& row : table) all.push_back({row.name, static_cast<int>(row.value)});
  return all;
}

template <class Enum>
void visit_word(TuningVisitor& visitor, const char* name, Enum& value,
                std::span<const Spelling> words = spellings<Enum>()) {
  int number = static_cast<int>(value);
  visitor.word(name, number, words);
  value = static_cast<Enum>(number);
}

void visit_int(TuningVisitor& visitor, const char* name, int& value, int64_t least, int64_t most) {
  int64_t number = value;
  visitor.number(name, number, least, most);
  value = static_cast<int>(number);
}

void visit_key(TuningVisitor& visitor, TuningKey& key) {
  static const std::vector<Spelling> layouts = all_of(enumerators::kLayouts),
                                     sums = all_of(enumerators::kSums);
  visit_word(visitor, "pattern", key.pattern);
  visitor.number("ranks", key.ranks, 1, kMost);
  visit_word(visitor, "arch", key.arch);
  visitor.number("m", key.m, 1, kMost);
  visitor.truth("any_m", key.any_m);
  visitor.number("n", key.n, 1, kMost);
  visitor.number("k", key.k, 1, kMost);
  visit_word(visitor, "a", key.a);
  visit_word(visitor, "out", key.out);
  visit_word(visitor, "layout", key.layout);
  visit_word(visitor, "accumulate", key.accumulate);
  visit_word(visitor, "scales", key.scales);
  visit_word(visitor, "scales_a", key.scales_a);
  visitor.number("experts", key.experts, 0, kMost);
  visitor.number("top", key.top, 0, kMost);
  visitor.number("max_rows", key.max_rows, 0, kMost);
  visit_word(visitor, "gate", key.gate);
  visitor.words("epilogue", key.epilogue, spellings<tilepost_epilogue_op_t>());
  visit_word(visitor, "consumer", key.consumer);
  visit_word(visitor, "routing", key.routing);
  visitor.number("max_received", key.max_received, 0, kMost);
  visitor.truth("neighbours", key.neighbours);
  visitor.truth("registered", key.registered);
  visitor.text("kernel", key.kernel);
  visit_word(visitor, "tiles", key.tiles, layouts);
  visit_word(visitor, "sum", key.sum, sums);
  visitor.number("sms", key.sms, 1, kMost);
}

void visit_machine(TuningVisitor& visitor, TunedMachine& machine) {
  visitor.text("profile", machine.profile);
  visitor.text("gpu", machine.gpu);
  visitor.number("gpus", machine.gpus, 1, kMost);
  visitor.text("driver", machine.driver);
  visitor.text("cuda", machine.cuda);
  visitor.text("nccl", machine.nccl);
}

void visit_pick(TuningVisitor& visitor, Pick& pick) {
  static const std::vector<Spelling> transports = all_of(enumerators::kTransports),
                                     shots = all_of(enumerators::kShots);
  constexpr int64_t kMostExtent = 1 << 16, kMostCtas = 1 << 16;
  visit_word(visitor, "transport", pick.transport, transports);
  visitor.text("kernel", pick.kernel);
  visitor.text("variant", pick.variant);
  visit_int(visitor, "tile_m", pick.tile_m, 1, kMostExtent);
  visit_int(visitor, "tile_n", pick.tile_n, 1, kMostExtent);
  visit_int(visitor, "stages", pick.stages, 1, kMostExtent);
  visit_int(visitor, "cluster", pick.cluster, 1, kMostCtas);
  visit_int(visitor, "split_k", pick.split_k, 1, kMostCtas);
  visit_int(visitor, "across", pick.across, 1, kMostCtas);
  visit_int(visitor, "ctas_per_sm", pick.ctas_per_sm, 1, kMostCtas);
  visit_int(visitor, "comm_ctas", pick.comm_ctas, 0, kMostCtas);
  visit_int(visitor, "comm_lanes", pick.comm_lanes, 1, kMostCtas);
  visit_int(visitor, "task_parts", pick.task_parts, 0, kMostCtas);
  visitor.truth("reads_own", pick.reads_own);
  visitor.truth("fused", pick.fused);
  visit_word(visitor, "shots", pick.shots, shots);
  int64_t pace = pick.pace.value_or(0);
  visitor.number("pace", pace, 0, kMost);
  pick.pace = static_cast<int>(pace);
  visitor.list("cuts", pick.cuts);
}

}  // namespace

void visit_measured(TuningVisitor& visitor, MeasuredChoice& choice) {
  visitor.text("what", choice.what);
  visitor.time("us", choice.us);
  visitor.time("low", choice.low);
  visitor.time("high", choice.high);
  visitor.time("predicted", choice.predicted);
  visitor.number("samples", choice.samples, 1, kMost);
}

void visit_entry(TuningVisitor& visitor, TuningEntry& entry) {
  visitor.begin("spec");
  visit_key(visitor, entry.key);
  visitor.end();
  visitor.begin("machine");
  visit_machine(visitor, entry.machine);
  visitor.end();
  visitor.text("version", entry.version);
  visitor.number("abi", entry.abi, 0, kMost);
  visitor.text("revision", entry.revision);
  visitor.truth("graphs", entry.graphs);
  visitor.begin("choice");
  visit_pick(visitor, entry.choice);
  visitor.end();
  visitor.measured("measured", entry.measured);
}

}  // namespace tilepost
