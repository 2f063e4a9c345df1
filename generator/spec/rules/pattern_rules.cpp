#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/fields.h"
#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

void note_pattern(const Spec& spec, Diagnostics& diagnostics) {
  diagnostics.note(spec.pattern.where, "pattern is given here");
}

// The patterns for which `holds` is true, as messages name them, and the ending of the verb that
// follows.
struct PatternList {
  std::string text;      // "pattern 'x'", or "patterns x, y and z"
  const char* singular;  // "s" after one pattern, "" after several
};

template <class Holds>
PatternList patterns_where(Holds holds) {
  std::vector<std::string_view> names;
  for (const PatternRow& row : kPatterns)
    if (holds(row)) names.push_back(row.name);
  if (names.empty()) return {"no pattern", "s"};
  std::ranges::sort(names);
  if (names.size() == 1) return {fmt::format("pattern {}", quote(names.front())), "s"};
  const std::string_view last = names.back();
  names.pop_back();
  return {fmt::format("patterns {} and {}", join(names), last), ""};
}

void check_routing(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (!spec.routing.given() || row.routes()) return;
  const PatternList routed = patterns_where([](const PatternRow& other) { return other.routes(); });
  diagnostics.error(spec.routing.where,
                    fmt::format("routing {} is for {}, which send{} rows to chosen ranks; got "
                                "pattern {}; remove routing",
                                quote(name_of(spec.routing.value)), routed.text, routed.singular,
                                quote(row.name)));
  note_pattern(spec, diagnostics);
}

// Whether the spec may bound how many rows a rank receives. Reports why not.
bool may_bound_received(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  const Place where = spec.max_received->where;
  if (!row.input_is_routed()) {
    const PatternList routed =
        patterns_where([](const PatternRow& other) { return other.input_is_routed(); });
    diagnostics.error(where, fmt::format("max_received is for {}, whose ranks multiply the rows "
                                         "that are sent to them; got pattern {}; remove "
                                         "max_received",
                                         routed.text, quote(row.name)));
    note_pattern(spec, diagnostics);
    return false;
  }
  if (spec.routing.value != TILEPOST_ROUTING_EVEN) return true;
  diagnostics.error(where,
                    "max_received is for routing 'splits' and 'rows'; with 'even' every rank "
                    "receives an equal part of each rank's rows; remove max_received or set "
                    "routing");
  if (spec.routing.given()) diagnostics.note(spec.routing.where, "routing is given here");
  return false;
}

// The least bound is the number of rows that one rank has: all rows go somewhere, so some rank
// receives at least as many. If runs have any m the least bound is 1, because a run may have fewer
// rows.
void check_bounds(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  const int64_t least = gemm.any_m ? 1 : gemm.m.value;
  const int64_t most = spec.ranks.value * gemm.m.value;
  const Located<int64_t>& received = *spec.max_received;
  if (most <= 0 || (received.value >= least && received.value <= most)) return;
  diagnostics.error(
      received.where,
      fmt::format("max_received must be from {} to ranks * gemm.m, {}, which is all that ranks "
                  "send; got '{}'",
                  gemm.any_m ? "1" : fmt::format("gemm.m, {},", least), most, received.value));
  diagnostics.note(gemm.m.where, "gemm.m is given here");
}

// The rows that a rank receives have the same bounds as gemm.m.
void check_received(const Spec& spec, Diagnostics& diagnostics) {
  const GemmSpec& gemm = spec.gemm;
  if (spec.max_received) {
    if (!may_bound_received(spec, diagnostics)) return;
    check_bounds(spec, diagnostics);
  }
  if (!row_of(spec.pattern.value).input_is_routed()) return;
  const Located<int64_t> received = {most_multiplied(spec),
                                     spec.max_received ? spec.max_received->where : gemm.m.where};
  const int64_t most = find_field("max_received")->max;
  if (received.value > most && spec.routing.value != TILEPOST_ROUTING_EVEN) {
    diagnostics.error(received.where,
                      fmt::format("a rank may receive {} rows, as many as all {} ranks have, and a "
                                  "GEMM has at most {}; set max_received",
                                  received.value, spec.ranks.value, most));
    return;
  }
  if (received.value <= gemm.m.value) return;  // no more rows than A has, which are checked already
  check_product(received, gemm.n, "the output, rows received * gemm.n,", diagnostics);
  check_product(received, gemm.k, "the rows received, times gemm.k,", diagnostics);
}

void check_layout(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (row.may_tile() || spec.schedule.layout.value != TILEPOST_TILE) return;
  diagnostics.error(
      spec.schedule.layout.where,
      fmt::format("schedule.layout 'tile' is not possible with pattern {}: nothing is "
                  "sent after its GEMM, so its output is row-major already; use "
                  "'panel' or 'auto'",
                  quote(row.name)));
}

// Whether the output is left in tiles. An output of 8 bits is made row-major.
bool stays_in_tiles(const Spec& spec) {
  return spec.schedule.layout.value == TILEPOST_TILE &&
         spec.consumer.value == TILEPOST_CONSUMER_NONE && !row_of(spec.gemm.out.value).is_narrow();
}

// A run with another m has a table of slots of its own, and tilepost_op_info_t has only the table
// of the planned m.
void check_slots(const Spec& spec, Diagnostics& diagnostics) {
  if (!row_of(spec.pattern.value).may_keep_slots() || !spec.gemm.any_m || !stays_in_tiles(spec))
    return;
  diagnostics.error(
      spec.schedule.layout.where,
      fmt::format("schedule.layout 'tile' with '{{max: {0}}}' needs a consumer: the "
                  "output of pattern {1} would stay in slots, and callers can look up "
                  "those of {0} rows only; use consumer 'unpermute' or "
                  "schedule.layout 'panel'",
                  spec.gemm.m.value, quote(pattern_name(spec))));
  diagnostics.note(spec.gemm.m.where, "gemm.m is given here");
}

void check_lanes(const Spec& spec, Diagnostics& diagnostics) {
  const auto& lanes = spec.schedule.lanes;
  const PatternRow& row = row_of(spec.pattern.value);
  if (!row.moves_input() || !lanes || lanes->value == 1) return;
  diagnostics.error(lanes->where,
                    fmt::format("schedule.lanes must be 1 with pattern {}; got '{}', but its tiles "
                                "count on the chunks arriving one after the other",
                                quote(row.name), lanes->value));
}

void check_unpermute(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (!row.may_tile()) {
    diagnostics.error(
        spec.consumer.where,
        fmt::format("consumer 'unpermute' makes tiles row-major; the output of pattern "
                    "{} is row-major already, so consumer must be 'none'",
                    quote(row.name)));
    return note_pattern(spec, diagnostics);
  }
  if (spec.schedule.layout.value != TILEPOST_PANEL) return;
  diagnostics.error(spec.consumer.where,
                    "consumer 'unpermute' needs schedule.layout 'tile'; the output of layout "
                    "'panel' is row-major already, so consumer must be 'none'");
  diagnostics.note(spec.schedule.layout.where, "schedule.layout is given here");
}

void check_norm(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (row.may_normalise()) return;
  const PatternList normal =
      patterns_where([](const PatternRow& other) { return other.may_normalise(); });
  diagnostics.error(spec.consumer.where,
                    fmt::format("consumer {} is for {}; got {}, whose output another operation has "
                                "to normalise",
                                quote(name_of(spec.consumer.value)), normal.text, quote(row.name)));
  note_pattern(spec, diagnostics);
}

void check_consumer(const Spec& spec, Diagnostics& diagnostics) {
  switch (spec.consumer.value) {
    case TILEPOST_CONSUMER_NONE:
    case TILEPOST_CONSUMER_QUANTISE:
      return;
    case TILEPOST_CONSUMER_UNPERMUTE:
      return check_unpermute(spec, diagnostics);
    case TILEPOST_CONSUMER_RMS_NORM:
    case TILEPOST_CONSUMER_RESIDUAL_RMS_NORM:
      return check_norm(spec, diagnostics);
  }
}

// The spec counts groups in waves, and each m has another number of waves.
void check_groups(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.gemm.any_m || !spec.schedule.groups) return;
  diagnostics.error(
      spec.schedule.groups->where,
      fmt::format("schedule.groups is for one m; with '{{max: {}}}' every run chooses "
                  "the groups for its own m; remove schedule.groups",
                  spec.gemm.m.value));
  diagnostics.note(spec.gemm.m.where, "gemm.m is given here");
}

// A pattern without communication cannot send in groups. A budget of SMs for communication is
// allowed and stays unused.
void check_nothing_sent(const Spec& spec, Diagnostics& diagnostics) {
  if (row_of(spec.pattern.value).communicates()) return;
  const auto& groups = spec.schedule.groups;
  if (groups && groups->value.size() > 1)
    diagnostics.error(groups->where,
                      fmt::format("{} groups, but pattern {} sends nothing; remove schedule.groups",
                                  groups->value.size(), quote(pattern_name(spec))));
}

}  // namespace

std::string why_one_kernel(const Spec& spec) {
  if (!spec.gemm.any_m) return "all runs have the same m";
  if (row_of(spec.pattern.value).routes() && spec.routing.value != TILEPOST_ROUTING_EVEN)
    return fmt::format("with routing {} every rank has an m of its own",
                       quote(name_of(spec.routing.value)));
  if (spec.kernel) return "the kernel is your own";
  const PatternRow& row = row_of(spec.pattern.value);
  if (row.has_experts() && !row.dispatches())
    return "its tiles are as high as the experts' rows need";
  if (stays_in_tiles(spec)) return "the output stays in the tiles of one kernel";
  return "";
}

int64_t most_multiplied(const Spec& spec) {
  const int64_t m = spec.gemm.m.value, ranks = spec.ranks.value;
  if (!row_of(spec.pattern.value).input_is_routed() || ranks <= 0) return m;
  if (spec.routing.value == TILEPOST_ROUTING_EVEN) return (m + ranks - 1) / ranks * ranks;
  return spec.max_received ? spec.max_received->value : ranks * m;
}

void check_pattern(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.pattern.given()) {
    check_routing(spec, diagnostics);
    check_received(spec, diagnostics);
    check_layout(spec, diagnostics);
    check_slots(spec, diagnostics);
    check_lanes(spec, diagnostics);
  }
  check_consumer(spec, diagnostics);
  check_groups(spec, diagnostics);
  check_nothing_sent(spec, diagnostics);
}

}  // namespace tilepost
