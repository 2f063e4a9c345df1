#include "generator/emit/plan_json.h"

#include <fmt/format.h>

#include "generator/plan/cost/predict.h"
#include "generator/plan/report/describe.h"
#include "generator/plan/report/memory.h"
#include "generator/plan/transports/transports.h"
#include "generator/spec/names.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/map/patterns.h"
#include "runtime/map/quantised.h"

namespace tilepost {
namespace {

using llvm::json::OStream;

// A tenth of a microsecond is more than the model can promise.
std::string tenths(double us) {
  return fmt::format("{:.1f}", us);
}

// An array on one line.
template <class Values>
void row(OStream& json, const Values& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "[" : ", ") + fmt::format("{}", value);
  json.rawValue(text.empty() ? "[]" : text + "]");
}

void write_problem(OStream& json, const Plan& plan) {
  json.attribute("pattern", name_of(plan.pattern));
  json.attribute("arch", name_of(plan.arch));
  json.attribute("ranks", plan.ranks);
  json.attribute("routing", name_of(plan.routing));
  json.attribute("any_m", plan.any_m != 0);
  json.attribute("m", rows_of_runs(plan));
  if (plan.takes_turns()) json.attribute("least_m", plan.least_m);
  if (row_of(plan).input_is_routed()) json.attribute("max_received", plan.map.m);
  json.attribute("n", plan.map.n);
  json.attribute("k", plan.k);
  json.attribute("input", name_of(plan.input));
  json.attribute("output", name_of(plan.output));
  json.attribute("operands", name_of(plan.operands));
  json.attribute("accumulate", name_of(plan.accumulate));
  if (plan.scales != TILEPOST_SCALES_NONE) {
    json.attribute("scales", name_of(plan.scales));
    json.attribute("scales_a", name_of(plan.scales_a));
  }
  if (plan.quantised) {
    json.attribute("out", name_of(type_of_out(plan)));
    json.attribute("scales_out", name_of(plan.scales_out));
  }
  json.attributeArray("epilogue", [&] {
    for (const Spelling& operation : spellings<tilepost_epilogue_op_t>())
      if ((plan.epilogue & operation.value) != 0) json.value(llvm::StringRef(operation.text));
  });
  if (row_of(plan).has_experts()) {
    json.attribute("experts", plan.experts);
    json.attribute("gate", name_of(plan.gate));
  }
  if (row_of(plan).has_tokens()) {
    json.attribute("top", plan.top);
    json.attribute("max_rows", plan.most_rows);
  }
  json.attribute("layout", name_of(plan.map.layout));
  json.attribute("division", name_of(plan.map.division));
  json.attribute("transport", name_of(plan.planned_transport));
  if (transport_of(plan.planned_transport).shares_memory())
    json.attribute("access", name_of(plan.access));
  if (row_of(plan).moves_input()) json.attribute("reads_own", plan.reads_own != 0);
  if (plan.access == TILEPOST_ACCESS_WRITE) {
    json.attribute("sum", name_of(plan.sum));
    json.attribute("pushes", plan.pushes != 0);
    json.attribute("task_parts", plan.task_parts);
    json.attribute("pace", plan.pace);
    json.attribute("fused", plan.fused != 0);
    json.attribute("whole_run", plan.whole_run != 0);
    json.attribute("row_gap", plan.row_gap);
  }
  if (plan.access == TILEPOST_ACCESS_TILES) {
    json.attribute("shots", name_of(plan.shots));
    json.attribute("pushes", plan.pushes != 0);
  }
  json.attribute("machine", plan.arch == Arch::host ? "" : plan.profile);
  if (plan.tuned.known())
    json.attributeObject("tuning", [&] {
      json.attribute("file", plan.tuned.file);
      json.attribute("machine", plan.tuned.machine);
      json.attributeBegin("us");
      json.rawValue(tenths(plan.tuned.us));
      json.attributeEnd();
    });
  json.attribute("wait", name_of(plan.wait));
  json.attribute("consumer", name_of(plan.consumer));
  if (plan.neighbours) json.attribute("neighbours", true);
}

// Writes columns, rows, swizzle and promotion of each tensor map.
void write_boxes(OStream& json, const tilepost_kernel_t& kernel) {
  json.attributeObject("boxes", [&] {
    for (const auto& [name, box] : {std::pair("a", kernel.box_a), std::pair("b", kernel.box_b),
                                    std::pair("c", kernel.box_c)}) {
      json.attributeBegin(name);
      row(json, std::vector<int>{box.columns, box.rows, box.swizzle, box.promote});
      json.attributeEnd();
    }
  });
}

void write_kernel(OStream& json, const Plan& plan) {
  const tilepost_kernel_t& kernel = plan.kernel;
  json.attributeBegin("kernel");
  json.objectBegin();
  json.attribute("name", kernel.name);
  json.attribute("file", plan.source.file);
  json.attributeBegin("tile");
  row(json, std::vector<int>{plan.map.tile_m, plan.map.tile_n, kernel.tile_k});
  json.attributeEnd();
  json.attribute("stages", plan.source.stages);
  json.attribute("cluster", plan.map.cluster);
  json.attribute("launch_cluster", kernel.cluster);
  json.attribute("split_k", plan.source.split_k);
  if (kernel.launch == TILEPOST_LAUNCH_TMA) write_boxes(json, kernel);
  json.attribute("threads", kernel.threads);
  if (kernel.block[0] > 0) {
    json.attributeBegin("block");
    row(json, std::vector<int>(std::begin(kernel.block), std::end(kernel.block)));
    json.attributeEnd();
  }
  if (kernel.tile_per_cta) json.attribute("tile_per_cta", true);
  json.attribute("ctas_per_sm", kernel.ctas_per_sm);
  json.attribute("shared_bytes", kernel.shared_bytes);
  if (kernel.helper_bytes > 0) json.attribute("helper_bytes", kernel.helper_bytes);
  json.attribute("signals_per_tile", plan.map.signals_per_tile);
  json.attributeObject("tunables", [&] {
    for (const auto& [name, value] : plan.source.tunables) json.attribute(name, value);
  });
  json.objectEnd();
  json.attributeEnd();
}

void write_budget(OStream& json, const Plan& plan) {
  json.attributeObject("budget", [&] {
    json.attribute("sms", plan.sms);
    json.attribute("gemm_ctas", plan.gemm_ctas);
    json.attribute("comm_ctas", plan.comm_ctas);
    json.attribute("comm_lanes", plan.comm_lanes);
    json.attribute("waves", plan.waves);
    if (const int launches = num_launches(plan); launches > 1) json.attribute("launches", launches);
  });
}

void write_groups(OStream& json, const Plan& plan) {
  const auto list = [&](const char* key, const auto& values) {
    json.attributeBegin(key);
    row(json, values);
    json.attributeEnd();
  };
  json.attribute("band", plan.map.band);
  if (plan.map.stagger > 0) json.attribute("stagger", plan.map.stagger);
  if (plan.map.turn > 0) json.attribute("turn", plan.map.turn);
  if (plan.map.turn > 0) json.attribute("lag", plan.map.lag);
  list("group_waves", plan.group_waves);
  list("cuts", plan.cuts());
  json.attributeArray("groups", [&] {
    for (const tilepost_group_t& group : plan.tile_map().groups)
      json.rawValue(
          fmt::format("{{ \"first_tile\": {}, \"num_tiles\": {}, \"target\": {}, "
                      "\"offset\": {}, \"count\": {} }}",
                      group.first_tile, group.num_tiles, group.target, group.offset, group.count));
  });
  json.attribute("send_elements", plan.tile_map().send_elements);
}

// Writes the memory that an operation takes on every rank, in bytes.
void write_memory(OStream& json, const Plan& plan) {
  if (!row_of(plan).communicates()) return;
  json.attributeObject("memory_bytes", [&] {
    for (const PlannedMemory& part : planned_memory(plan)) json.attribute(part.name, part.bytes);
  });
}

// Writes what rank 0 does for each group; nothing for routed rows, whose steps follow from the
// route.
void write_steps(OStream& json, const Plan& plan) {
  json.attributeArray("steps", [&] {
    for (size_t g = 0; g < plan.tile_map().groups.size(); ++g)
      json.array([&] {
        for (const Step& step : planned_steps(plan, g)) json.value(describe_step(plan, step));
      });
  });
}

// Writes the model by which a run with another m chooses its groups.
void write_model(OStream& json, const Plan& plan) {
  if (!rows_vary(plan) || plan.model.wave <= 0) return;  // nothing is timed, or nothing overlaps
  const tilepost_model_t& model = plan.model;
  json.attributeObject("model_us", [&] {
    const auto number = [&](const char* key, double value) {
      json.attributeBegin(key);
      json.rawValue(number_text(value));
      json.attributeEnd();
    };
    number("start", model.start);
    number("wave", model.wave);
    number("read_b", model.read_b);
    number("read_row", model.read_row);
    number("wait", model.wait);
    number("latency", model.latency);
    number("per_byte", model.per_byte);
    number("tail", model.tail);
    number("sequence_wave", model.sequence_wave);
    number("sequence_latency", model.sequence_latency);
    number("sequence_per_byte", model.sequence_per_byte);
    json.attribute("sequence_ctas", model.sequence_ctas);
    json.attribute("most_bytes", model.most_bytes);
    number("slack", model.slack);
    number("margin", model.margin);
  });
}

void write_prediction(OStream& json, const Prediction& prediction) {
  const auto list = [&](const char* key, const std::vector<double>& values) {
    std::vector<std::string> texts;
    for (const double value : values) texts.push_back(tenths(value));
    json.attributeBegin(key);
    row(json, texts);
    json.attributeEnd();
  };
  const auto number = [&](const char* key, double value) {
    json.attributeBegin(key);
    json.rawValue(tenths(value));
    json.attributeEnd();
  };
  json.attributeObject("prediction_us", [&] {
    number("gemm", prediction.gemm);
    number("total", prediction.total);
    number("sequence", prediction.sequence);
    if (prediction.without_neighbours > 0)
      number("without_neighbours", prediction.without_neighbours);
    list("group_ready", prediction.group_ready);
    list("collective_start", prediction.collective_start);
    list("collective_end", prediction.collective_end);
  });
}

// Writes the schedule as stretches of positions that go down one tile column. From `position` on,
// `count` tiles begin at (m, n), (m + tile_m, n), … They are stored from `row` on, or not at all
// where row is -1.
void write_tiles(OStream& json, const Plan& plan) {
  json.attributeBegin("tile_columns");
  json.rawValue("[\"position\", \"count\", \"m\", \"n\", \"row\", \"group\"]");
  json.attributeEnd();
  const std::vector<tilepost_tile_t>& tiles = plan.tile_map().tiles;
  const auto continues = [&](size_t t) {
    const tilepost_tile_t &tile = tiles[t], &last = tiles[t - 1];
    const int32_t next_row = last.row < 0 ? -1 : last.row + plan.map.tile_m;
    return tile.n == last.n && tile.m == last.m + plan.map.tile_m && tile.group == last.group &&
           tile.row == next_row;
  };
  json.attributeArray("tiles", [&] {
    for (size_t first = 0, end; first < tiles.size(); first = end) {
      for (end = first + 1; end < tiles.size() && continues(end);) ++end;
      const tilepost_tile_t& tile = tiles[first];
      json.rawValue(fmt::format("[{}, {}, {}, {}, {}, {}]", first, end - first, tile.m, tile.n,
                                tile.row, tile.group));
    }
  });
}

void write_plan(OStream& json, const Plan& plan, bool explained) {
  json.object([&] {
    if (explained) {
      json.attributeBegin("prediction");
      json.rawValue(prediction_to_json(plan));
      json.attributeEnd();
    }
    if (plan.half != Half::none) json.attribute("half", name_of(plan.half));
    write_problem(json, plan);
    write_kernel(json, plan);
    write_budget(json, plan);
    write_groups(json, plan);
    write_memory(json, plan);
    write_steps(json, plan);
    write_model(json, plan);
    json.attribute("map_hash", fmt::format("0x{:016x}", plan.map_hash));
    write_prediction(json, plan.prediction);
    json.attributeArray("reasons", [&] {
      for (const std::string& reason : plan.reasons) json.value(reason);
    });
    write_tiles(json, plan);
  });
}

}  // namespace

std::string plans_to_json(const std::vector<Plan>& plans) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OStream json(out, 2);
  json.object([&] {
    json.attribute("tilepost", 1);
    json.attribute("name", plans.empty() ? "" : plans.front().name);
    json.attributeArray("plans", [&] {
      for (const Plan& plan : plans) write_plan(json, plan, /*explained=*/false);
    });
  });
  out << "\n";
  return out.str();
}

std::string explained_to_json(const std::vector<Plan>& plans) {
  std::string text;
  llvm::raw_string_ostream out(text);
  OStream json(out, 2);
  json.array([&] {
    for (const Plan& plan : plans) write_plan(json, plan, /*explained=*/true);
  });
  return out.str();
}

std::string prediction_to_json(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  const bool timed = plan.arch != Arch::host;
  const std::string without =
      prediction.without_neighbours > 0
          ? fmt::format(", \"us_without_neighbours\": {}", tenths(prediction.without_neighbours))
          : "";
  return fmt::format("{{ \"us\": {}, \"sequence_us\": {}, \"overlaps\": {}{} }}",
                     timed ? tenths(prediction.total) : "null",
                     timed ? tenths(prediction.sequence) : "null",
                     transport_of(plan.planned_transport).row.overlaps, without);
}

}  // namespace tilepost
