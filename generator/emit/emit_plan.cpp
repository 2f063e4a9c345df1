#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/emit/parts.h"
#include "generator/plan/cost/predict.h"
#include "generator/plan/stated_plan.h"
#include "generator/printable.h"
#include "generator/weave/marked/weave_marked.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

namespace {

// "TILEPOST_SCALE | TILEPOST_BIAS", "0" for the empty set.
std::string epilogue_name(int epilogue) {
  std::string text;
  for (const auto& operation : enumerators::kEpilogueOps)
    if ((epilogue & operation.value) != 0)
      text += (text.empty() ? "" : " | ") + std::string(operation.c_name);
  return text.empty() ? "0" : text;
}

// `  plan.<field> = <value>;  // <meaning>`, the comments in one column where they fit.
class Fields {
 public:
  explicit Fields(llvm::raw_ostream& out) : out_(out) {}
  template <typename Value>
  void set(const char* field, const Value& value, std::string_view meaning = "") {
    std::string line = fmt::format("  plan.{} = {};", field, value);
    if (!meaning.empty())
      line = fmt::format("{:<{}}// {}", line, line.size() < kComment ? kComment : line.size() + 2,
                         meaning);
    out_ << line << "\n";
  }

 private:
  static constexpr size_t kComment = 48;
  llvm::raw_ostream& out_;
};

const char* unit_of_cuts(const Plan& plan) {
  switch (plan.map.division) {
    case TILEPOST_DIVISION_ROWS:
      return plan.map.layout == TILEPOST_PANEL ? "tile rows" : "schedule positions";
    case TILEPOST_DIVISION_SHARES:
      return "tile rows of every rank's share";
    case TILEPOST_DIVISION_COLUMNS:
      return "tile columns";
    case TILEPOST_DIVISION_ARRIVALS:
      return "tile rows of the other ranks' shares; the first group is the own share";
  }
  llvm_unreachable("division");
}

void emit_groups(llvm::raw_ostream& out, const Plan& plan) {
  out << fmt::format(
      "// Where each group ends, in {}.\n"
      "const int32_t kCuts[] = {{{}}};\n\n"
      "// first tile, tiles, counter target of one run, first element, elements\n"
      "const tilepost_group_t kGroups[] = {{\n",
      unit_of_cuts(plan), fmt::join(plan.cuts(), ", "));
  for (const tilepost_group_t& group : plan.tile_map().groups)
    out << fmt::format("    {{{}, {}, {}, {}, {}}},  // {:.1f} KiB\n", group.first_tile,
                       group.num_tiles, group.target, group.offset, group.count,
                       static_cast<double>(group.count) * 2 / 1024);
  out << "};\n\n";
}

void set_map(Fields& fields, const Plan& plan) {
  const tilepost_map_t& map = plan.map;
  fields.set("map.m", map.m);
  fields.set("map.n", map.n);
  fields.set("map.tile_m", map.tile_m);
  fields.set("map.tile_n", map.tile_n);
  fields.set("map.cluster", map.cluster, "CTAs that share a tile column");
  fields.set("map.band", map.band, "tile rows swept together");
  fields.set("map.signals_per_tile", map.signals_per_tile);
  fields.set("map.layout", c_name(map.layout));
  fields.set("map.division", c_name(map.division));
  fields.set("map.ranks", map.ranks, "shares of the rows");
  if (map.stagger > 0) fields.set("map.stagger", map.stagger, "every rank has an order of its own");
  if (map.turn > 0) fields.set("map.turn", map.turn, "tiles of a share before the next one's");
  if (map.lag > 0) fields.set("map.lag", map.lag, "turns by which own tiles come later");
  if (map.round_robin != 0) fields.set("map.round_robin", "1", "shares arrive one after the other");
  fields.set("map.num_groups", map.num_groups);
  fields.set("map.cuts", "kCuts");
  fields.set("map_hash", fmt::format("0x{:x}u", plan.map_hash),
             map.stagger > 0 ? "of rank 0's schedule" : "of the schedule that was verified");
}

void set_model(Fields& fields, const tilepost_model_t& model) {
  fields.set("model.start", number_text(model.start), "us, as all of these");
  fields.set("model.wave", number_text(model.wave));
  fields.set("model.read_b", number_text(model.read_b));
  fields.set("model.read_row", number_text(model.read_row));
  fields.set("model.wait", number_text(model.wait));
  fields.set("model.latency", number_text(model.latency));
  fields.set("model.per_byte", number_text(model.per_byte));
  fields.set("model.tail", number_text(model.tail));
  fields.set("model.sequence_wave", number_text(model.sequence_wave));
  fields.set("model.sequence_latency", number_text(model.sequence_latency));
  fields.set("model.sequence_per_byte", number_text(model.sequence_per_byte));
  fields.set("model.sequence_ctas", model.sequence_ctas, "grid without overlap");
  if (model.most_bytes > 0)
    fields.set("model.most_bytes", model.most_bytes, "of a group, unless it is one cut");
  fields.set("model.slack", number_text(model.slack), "fewer groups may end so much later");
  fields.set("model.margin", number_text(model.margin), "by which overlap has to win");
}

void set_box(Fields& fields, const char* field, const tilepost_box_t& box, const char* meaning) {
  fields.set(field,
             fmt::format("{{{}, {}, {}, {}}}", box.columns, box.rows, box.swizzle, box.promote),
             meaning);
}

void set_boxes(Fields& fields, const tilepost_kernel_t& kernel) {
  set_box(fields, "kernel.box_a", kernel.box_a, "columns, rows, swizzle, L2 promotion");
  set_box(fields, "kernel.box_b", kernel.box_b, "");
  set_box(fields, "kernel.box_c", kernel.box_c, "");
}

void set_kernel(Fields& fields, const Plan& plan) {
  const tilepost_kernel_t& kernel = plan.kernel;
  fields.set("kernel.name", fmt::format("\"{}\"", kernel.name));
  fields.set("kernel.launch", c_name(kernel.launch));
  if (kernel.launch == TILEPOST_LAUNCH_HOST) {
    fields.set("kernel.host_function", "&call_kernel");
  } else if (kernel.launch == TILEPOST_LAUNCH_CUSTOM) {
    fields.set("kernel.function", fmt::format("user::{}()", kWovenFunction));
    fields.set("kernel.launcher", fmt::format("&user::{}", kWovenLauncher));
  } else {
    fields.set("kernel.function", fmt::format("reinterpret_cast<const void*>(&{})", kernel.name));
  }
  fields.set("kernel.arch", kernel.arch);
  fields.set("kernel.tile_k", kernel.tile_k, "elements of K per stage");
  fields.set("kernel.cluster", kernel.cluster, "CTAs of a launched cluster");
  fields.set("kernel.early", kernel.early ? "1" : "0",
             "may start before the last kernel has ended");
  if (kernel.launch == TILEPOST_LAUNCH_TMA)
    set_boxes(fields, kernel);
  else if (kernel.launch == TILEPOST_LAUNCH_CUSTOM && plan.access == TILEPOST_ACCESS_WRITE)
    set_box(fields, "kernel.box_c", kernel.box_c,
            "of stores: columns, rows, swizzle, L2 promotion");
  else if (plan.access == TILEPOST_ACCESS_TILES)
    fields.set("kernel.box_c.rows", kernel.box_c.rows, "of a box that goes to other ranks");
  fields.set("kernel.threads", kernel.threads, "per CTA");
  for (int i = 0; i < 3 && kernel.block[0] > 0; ++i)
    fields.set(fmt::format("kernel.block[{}]", i).c_str(), kernel.block[i],
               i == 0 ? "x, y and z of the CTA" : "");
  if (kernel.tile_per_cta)
    fields.set("kernel.tile_per_cta", "1", "the grid has a CTA for every tile");
  if (plan.source.own && plan.source.own->spec.cutlass.value)
    fields.set("kernel.shared_bytes", "user::Kernel::kSharedBytes", "per CTA");
  else
    fields.set("kernel.shared_bytes", kernel.shared_bytes, "per CTA");
  if (kernel.helper_bytes > 0)
    fields.set("kernel.helper_bytes", kernel.helper_bytes, "of them a helper warp's");
  fields.set("kernel.ctas_per_sm", kernel.ctas_per_sm);
  if (kernel.num_user > 0) {
    fields.set("kernel.user", "kUserNames");
    fields.set("kernel.num_user", kernel.num_user);
  }
}

// The call that a thread of a block makes on the CPU shim.
std::string thread_on_cpu(const Plan& plan) {
  const std::string operands = "(const_cast<void*>(a), const_cast<void*>(b), c, shape, ";
  const int32_t num_user = plan.kernel.num_user;
  const std::string user = num_user > 0 ? user_of(num_user, "view.user") + ", " : "";
  return plan.source.own->marked
             ? std::string("user::") + kWovenThread + operands + "View{view});"
             : plan.kernel.name + operands + "epilogue, " + user + "View{view});";
}

// On the CPU shim a worker runs the blocks of its positions one after the other. If the kernel is
// persistent, the worker runs one block, which takes positions in turn.
void emit_blocks(llvm::raw_ostream& out, const Plan& plan) {
  const auto& block = plan.kernel.block;
  const bool persistent = plan.source.own->persistent;
  out << "  const dim3 grid(static_cast<unsigned>(" << (persistent ? "workers" : "view.num_tiles")
      << ")), threads(" << block[0] << ", " << block[1] << ", " << block[2] << ");\n  "
      << (persistent
              ? "const int position = worker;\n  "
              : "for (int position = worker; position < view.num_tiles; position += workers)\n    ")
      << "tilepost::cpu::run_block(grid, threads, {static_cast<unsigned>(position), 0, 0}, 0, "
         "[&] {\n      "
      << thread_on_cpu(plan) << "\n    });\n}\n\n";
}

// The runtime's function type knows no layout, so its view is a plain tilepost_view_t.
void emit_host_entry(llvm::raw_ostream& out, const Plan& plan) {
  out << "// The kernel as the runtime calls it.\n"
         "void call_kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,\n"
         "                 tilepost_epilogue_t epilogue, int worker, int workers,\n"
         "                 tilepost_view_t view) {\n";
  if (plan.source.own) {
    emit_blocks(out, plan);
    return;
  }
  out << "  " << plan.kernel.name
      << "(a, b, c, shape, epilogue, worker, workers, View{view});\n}\n\n";
}

void emit_user_names(llvm::raw_ostream& out, const Plan& plan) {
  if (plan.kernel.num_user == 0) return;
  out << "constexpr const char* kUserNames[] = {";
  for (const UserData& data : plan.source.own->spec.user.value)
    out << (&data == plan.source.own->spec.user.value.data() ? "" : ", ") << "\"user." << data.name
        << "\"";
  out << "};\n\n";
}

}  // namespace

std::string emit_plan(const Plan& plan) {
  std::string text;
  llvm::raw_string_ostream out(text);
  emit_groups(out, plan);
  emit_user_names(out, plan);
  if (plan.kernel.launch == TILEPOST_LAUNCH_HOST) emit_host_entry(out, plan);
  out << "tilepost_plan_t make_plan() {\n  tilepost_plan_t plan = {};\n";
  Fields fields(out);
  fields.set("pattern", row_of(plan).c_name);
  fields.set("ranks", plan.ranks);
  fields.set("k", plan.k);
  fields.set("input", c_name(plan.input));
  fields.set("output", c_name(plan.output));
  fields.set("operands", c_name(plan.operands));
  fields.set("accumulate", c_name(plan.accumulate));
  if (plan.scales != TILEPOST_SCALES_NONE) {
    fields.set("scales", c_name(plan.scales));
    fields.set("scales_a", c_name(plan.scales_a));
  }
  if (plan.quantised) {
    fields.set("quantised", "1", "out is e4m3, with scales of blocks");
    fields.set("scales_out", c_name(plan.scales_out));
  }
  fields.set("epilogue", epilogue_name(plan.epilogue));
  if (row_of(plan).has_experts()) {
    fields.set("experts", plan.experts, "each with a B of its own");
    fields.set("gate", c_name(plan.gate), "read with operations that combine gate and up");
  }
  if (row_of(plan).has_tokens()) {
    fields.set("top", plan.top, "experts of a token");
    fields.set("most_rows", plan.most_rows, row_of(plan).dispatches() ? "of the output" : "of A");
  }
  fields.set("routing", c_name(plan.routing));
  fields.set("any_m", plan.any_m ? "1" : "0", plan.any_m ? "every run says its m" : "");
  if (row_of(plan).input_is_routed())
    fields.set("rows_sent", plan.rows_sent, "rows of A on each rank, at most");
  const tilepost_plan_t stated = stated_plan(plan);
  if (stated.model.wave > 0) set_model(fields, stated.model);
  set_map(fields, plan);
  fields.set("sms", plan.sms, "of the device planned for");
  fields.set("gemm_ctas", plan.gemm_ctas, "grid of the GEMM");
  const bool messages = plan.access == TILEPOST_ACCESS_MESSAGES;
  fields.set("comm_ctas", plan.comm_ctas,
             messages ? "at most, for the collectives" : "SMs left for sums and announcements");
  fields.set("comm_lanes", plan.comm_lanes,
             messages ? "collectives that may overlap" : "groups whose transfers may overlap");
  if (stated.machine != nullptr) {
    fields.set("machine", c_literal(stated.machine), "the machine planned for");
    fields.set("gpu", c_literal(stated.gpu));
  }
  fields.set("transport", c_name(plan.transport));
  fields.set("access", c_name(plan.access));
  if (path_of(plan, true).stores_by_owner) {  // rows of A are neither summed nor paced
    fields.set("sum", c_name(plan.sum));
    fields.set("pace", plan.pace, "cycles from one store of a tile to the next");
  }
  if (plan.fused) fields.set("fused", "1", "the epilogue does all that crosses ranks");
  if (plan.whole_run) fields.set("whole_run", "1", "no kernel runs before it or behind it");
  if (plan.shots != TILEPOST_SHOTS_NONE) fields.set("shots", c_name(plan.shots));
  if (plan.pushes)
    fields.set("pushes", "1",
               row_of(plan).moves_input() ? "rows of A go where they are needed"
                                          : "sums go where they are needed");
  if (plan.task_parts > 0)
    fields.set("task_parts", plan.task_parts,
               plan.task_parts > 1 ? "added up by helper warps" : "rows are moved by helper warps");
  if (plan.reads_own) fields.set("reads_own", "1", "its own rows of A where the caller has them");
  if (plan.row_gap > 0)
    fields.set("row_gap", plan.row_gap, "elements behind each row that other ranks store here");
  fields.set("wait", c_name(plan.wait));
  fields.set("consumer", c_name(plan.consumer));
  if (plan.neighbours) fields.set("neighbours", "1", "no GEMM waits for other ranks");
  fields.set("groups", "kGroups");
  set_kernel(fields, plan);
  out << "  return plan;\n}\n";
  return text;
}

}  // namespace tilepost
