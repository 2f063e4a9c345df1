// `tilepost explain`: the plan as text or JSON, and beside it as a picture and a trace.
#include <fmt/format.h>

#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/cli/read_measured.h"
#include "generator/emit/plan_json.h"
#include "generator/plan/report/explain.h"
#include "generator/plan/report/picture.h"
#include "generator/plan/report/trace.h"
#include "generator/printable.h"
#include "generator/spec/names.h"
#include "generator/whole_files.h"

namespace tilepost {
namespace {

constexpr const char* kStandardOutput = "-";

// A file beside the text, or what takes the text's place on standard output.
struct Drawing {
  const char* flag;
  const std::string& path;
  std::string text;
};

// The run of --measured; nothing if there is none, or after an error was reported.
std::optional<Measured> measured_of(const Options& options, const Plan& plan, int& exit_code,
                                    Diagnostics& diagnostics) {
  if (options.measured.empty()) return std::nullopt;
  const std::optional<std::string> text = text_of_file(options.measured);
  if (text) return read_measured(options.measured, *text, plan, diagnostics);
  exit_code = kExitIo;
  diagnostics.error(fmt::format("--measured: cannot read '{}'", printable(options.measured)));
  return std::nullopt;
}

// What is asked for; nothing after an error was reported.
std::vector<Drawing> drawings_of(const Options& options, const std::vector<Plan>& plans,
                                 const Measured* measured, Diagnostics& diagnostics) {
  std::vector<Drawing> drawings;
  if (!options.svg.empty())
    drawings.push_back({"--svg", options.svg, draw_picture(plans, measured)});
  if (options.trace.empty()) return drawings;
  drawings.push_back({"--trace", options.trace, trace_of(plans.front(), measured)});
  if (!drawings.back().text.empty()) return drawings;
  diagnostics.error(fmt::format(
      "--trace has no times to write: none are predicted for '{}'; set --arch to a GPU's",
      name_of(plans.front().arch)));
  return {};
}

// Whether what shows one operation is asked of a layer's two. Reports that.
bool asks_too_much(const Options& options, const std::vector<Plan>& plans,
                   Diagnostics& diagnostics) {
  const char* flag = !options.trace.empty()      ? "--trace"
                     : !options.measured.empty() ? "--measured"
                                                 : nullptr;
  if (plans.front().half == Half::none || flag == nullptr) return false;
  diagnostics.error(
      fmt::format("{} shows one operation, and '{}' has two halves; choose the first with -D "
                  "pattern=dispatch_grouped_gemm",
                  flag, plans.front().name));
  return true;
}

// The first plan, with the predicted times of both halves if it is a layer's.
Plan with_all_times(const std::vector<Plan>& plans) {
  Plan plan = plans.front();
  if (plan.half == Half::none) return plan;
  const Prediction& second = second_half_of(plans, plans.front()).prediction;
  plan.prediction.total += second.total;
  plan.prediction.sequence += second.sequence;
  return plan;
}

// Writes them all, or none if it can be told before that one cannot be written.
bool write_drawings(const std::vector<Drawing>& drawings, const std::vector<std::string>& sources,
                    Diagnostics& diagnostics) {
  for (const Drawing& drawing : drawings)
    if (drawing.path != kStandardOutput &&
        (!check_apart(drawing.flag, drawing.path, sources, diagnostics) ||
         !can_write_file(drawing.path, diagnostics)))
      return false;
  for (const Drawing& drawing : drawings)
    if (drawing.path == kStandardOutput)
      llvm::outs() << drawing.text;
    else if (!write_file(drawing.path, drawing.text, diagnostics))
      return false;
  return true;
}

}  // namespace

int explain_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document) {
  int exit_code = kExitOk;
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  const std::vector<Case> cases = expand(inputs, options.sweeps, options.shapes);
  if (cases.size() > 1) return explain_cases(options, cases, diagnostics, document);
  std::vector<Plan> plans;
  if (!inputs.empty()) plans = plan_input(cases.front().input, diagnostics);
  if (document != nullptr) {
    document->set("name", plans.empty() ? nullptr : llvm::json::Value(plans.front().name));
    document->set_text("prediction",
                       plans.empty() ? "null" : prediction_to_json(with_all_times(plans)));
    document->set_text("plans", explained_to_json(plans));
  }
  if (inputs.empty()) return exit_code;
  if (plans.empty()) return kExitRejected;
  exit_code = kExitRejected;
  if (asks_too_much(options, plans, diagnostics)) return exit_code;
  const std::optional<Measured> run = measured_of(options, plans.front(), exit_code, diagnostics);
  if (!diagnostics.ok()) return exit_code;
  const Measured* const measured = run ? &*run : nullptr;
  const std::vector<Drawing> drawings = drawings_of(options, plans, measured, diagnostics);
  if (!diagnostics.ok()) return kExitRejected;
  if (!write_drawings(drawings, files_read(inputs.front(), plans), diagnostics)) return kExitIo;
  const bool takes_place = options.svg == kStandardOutput || options.trace == kStandardOutput;
  if (document == nullptr && !takes_place) llvm::outs() << explain_plans(plans, measured);
  return kExitOk;
}

}  // namespace tilepost
