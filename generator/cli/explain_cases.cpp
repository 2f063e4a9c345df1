// `tilepost explain` of several shapes: a line for each in place of a whole plan.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "generator/cli/commands.h"
#include "generator/harness/progress.h"
#include "generator/plan/cost/limit.h"
#include "generator/plan/report/lines.h"
#include "generator/printable.h"
#include "generator/spec/names.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

// Hands everything on, and keeps the first error.
class FirstError : public Diagnostics {
 public:
  FirstError(Diagnostics& all, bool werror) : all_(all) {
    if (werror) refuse_warnings();
  }
  std::string_view add_source(std::string_view name, std::string_view text) override {
    return all_.add_source(name, text);
  }
  const std::string& text() const { return text_; }

 private:
  void show(Severity severity, Place where, std::string_view message) override {
    if (severity == Severity::note) return all_.note(where, message);
    if (severity == Severity::warning) return all_.warning(where, message);
    if (text_.empty()) text_ = message;
    all_.error(where, message);
  }

  Diagnostics& all_;
  std::string text_;
};

// What a line says: of a plan, or why there is none.
struct Row {
  const Case& of;
  std::optional<Plan> plan;
  std::string why_not;
  std::optional<Plan> second;  // the second half of a layer, whose first half is `plan`

  bool timed() const { return plan && !plan->prediction.group_ready.empty(); }
  bool in_sequence() const { return timed() && row_of(*plan).communicates(); }
};

std::optional<double> us_of(const Row& row) {
  if (!row.timed()) return std::nullopt;
  return row.plan->prediction.total + (row.second ? row.second->prediction.total : 0);
}

std::optional<double> sequence_of(const Row& row) {
  if (!row.in_sequence()) return std::nullopt;
  return row.plan->prediction.sequence + (row.second ? row.second->prediction.sequence : 0);
}

std::optional<double> ratio_of(const Row& row) {
  if (!row.in_sequence()) return std::nullopt;
  return *sequence_of(row) / *us_of(row);
}

std::optional<double> limit_of(const Row& row) {
  if (!row.plan) return std::nullopt;
  const std::optional<double> first = limit_us(*row.plan);
  if (!row.second) return first;
  const std::optional<double> second = limit_us(*row.second);
  return first && second ? std::optional(*first + *second) : std::nullopt;
}

std::optional<Shape> shape_of(const Row& row) {
  if (!row.plan) return row.of.shape;
  return Shape{rows_of_runs(*row.plan), row.plan->map.n, row.plan->k};
}

// One row for each architecture of each case. An operation for any m has a kernel for each of
// several ranges of m; its row is of the kernel for the most rows. The halves of a layer have one
// row.
std::vector<Row> rows_of(const std::vector<Case>& cases, bool werror, Diagnostics& diagnostics) {
  std::vector<Row> rows;
  Progress progress;
  for (size_t i = 0; i < cases.size(); ++i) {
    progress.update("planning", i, cases.size());
    FirstError first(diagnostics, werror);
    const std::vector<Plan> plans = plan_input(cases[i].input, first);
    if (plans.empty()) {
      if (diagnostics.errors() <= Diagnostics::kMaxErrors)  // else the error was not shown either
        diagnostics.note({}, "with " + cases[i].varied);
      rows.push_back({cases[i], std::nullopt, first.text(), std::nullopt});
    }
    for (const Plan& plan : plans) {
      if (plan.range != 0 || plan.half == Half::second) continue;
      rows.push_back({cases[i], plan, "", std::nullopt});
      if (plan.half == Half::first) rows.back().second = second_half_of(plans, plan);
    }
  }
  return rows;
}

std::string kernel_of(const Plan& plan) {
  std::string text = fmt::format("{} {}x{}", plan.kernel.name, plan.map.tile_m, plan.map.tile_n);
  if (plan.arch != Arch::host && !plan.source.own)
    text += fmt::format("x{}/{}", plan.kernel.tile_k, plan.source.stages);
  return text;
}

std::string schedule_of(const Plan& plan) {
  const size_t groups = plan.cuts().size();
  return fmt::format("{}, {} group{}, {}", kernel_of(plan), groups, groups == 1 ? "" : "s",
                     name_of(plan.planned_transport));
}

std::string schedule_of(const Row& row) {
  if (!row.plan) return "not planned: " + printable(row.why_not);
  const std::string text = schedule_of(*row.plan);
  return row.second ? text + "; then " + schedule_of(*row.second) : text;
}

std::string cell(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

// The columns in front of the schedule.
std::vector<std::string> cells_of(const Row& row, bool with_arch) {
  std::vector<std::string> cells;
  for (const std::string& value : row.of.swept) cells.push_back(printable(value));
  const std::optional<Shape> shape = shape_of(row);
  cells.push_back(shape ? shape_text(*shape) : "-");
  if (with_arch) cells.emplace_back(row.plan ? name_of(row.plan->arch) : "-");
  cells.push_back(cell(us_of(row), 1));
  cells.push_back(cell(sequence_of(row), 1));
  cells.push_back(cell(ratio_of(row), 2));
  cells.push_back(cell(limit_of(row), 1));
  return cells;
}

std::string table_of(const std::vector<Row>& rows, const std::vector<Sweep>& sweeps) {
  bool with_arch = false;
  const Row* planned = nullptr;
  for (const Row& row : rows) {
    if (!row.plan) continue;
    with_arch = with_arch || (planned != nullptr && planned->plan->arch != row.plan->arch);
    planned = &row;
  }
  std::vector<std::string> header;
  for (const Sweep& sweep : sweeps) header.push_back(sweep.path);
  header.emplace_back("shape");
  if (with_arch) header.emplace_back("arch");
  header.insert(header.end(), {"us", "sequence us", "ratio", "limit us"});
  Table table(header);
  for (const Row& row : rows) table.add(cells_of(row, with_arch));
  std::string numbers, text;
  table.print(numbers);
  std::istringstream lines(numbers);
  std::string line;
  std::getline(lines, line);
  text = line + "  schedule\n";
  for (const Row& row : rows) {
    std::getline(lines, line);
    text += line + "  " + schedule_of(row) + "\n";
  }
  if (planned != nullptr && planned->timed())
    text += "all times are predictions; machine profile: " + planned->plan->profile + "\n";
  return text;
}

llvm::json::Value number(const std::optional<double>& value, double steps) {
  if (!value) return nullptr;
  return std::round(*value * steps) / steps;
}

llvm::json::Value json_of(const Row& row, const std::vector<Sweep>& sweeps) {
  using llvm::json::Array;
  using llvm::json::Object;
  using llvm::json::Value;
  Object swept;
  for (size_t i = 0; i < sweeps.size(); ++i) swept[sweeps[i].path] = json_text(row.of.swept[i]);
  const std::optional<Shape> shape = shape_of(row);
  const Plan* const plan = row.plan ? &*row.plan : nullptr;
  Value tile = nullptr;
  if (plan != nullptr)
    tile = Array{plan->map.tile_m, plan->map.tile_n,
                 plan->kernel.tile_k > 0 ? Value(plan->kernel.tile_k) : Value(nullptr)};
  return Object{
      {"shape", shape ? Value(Array{shape->m, shape->n, shape->k}) : Value(nullptr)},
      {"swept", std::move(swept)},
      {"arch", plan != nullptr ? Value(name_of(plan->arch)) : Value(nullptr)},
      {"us", number(us_of(row), 10)},
      {"sequence_us", number(sequence_of(row), 10)},
      {"ratio", number(ratio_of(row), 1000)},
      {"limit_us", number(limit_of(row), 10)},
      {"kernel", plan != nullptr ? json_text(plan->kernel.name) : Value(nullptr)},
      {"tile", std::move(tile)},
      {"groups",
       plan != nullptr ? Value(static_cast<int64_t>(plan->cuts().size())) : Value(nullptr)},
      {"transport", plan != nullptr ? Value(name_of(plan->planned_transport)) : Value(nullptr)},
      {"error", plan != nullptr ? Value(nullptr) : json_text(row.why_not)}};
}

}  // namespace

int explain_cases(const Options& options, const std::vector<Case>& cases, Diagnostics& diagnostics,
                  JsonDocument* document) {
  const std::vector<Row> rows = rows_of(cases, options.werror, diagnostics);
  if (document != nullptr) {
    llvm::json::Array array;
    for (const Row& row : rows) array.push_back(json_of(row, options.sweeps));
    document->set("shapes", std::move(array));
  } else {
    llvm::outs() << table_of(rows, options.sweeps);
  }
  return diagnostics.ok() ? kExitOk : kExitRejected;
}

}  // namespace tilepost
