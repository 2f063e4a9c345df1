#include "tests/fuzz/target.h"

#include <algorithm>
#include <vector>

#include "generator/diagnostic_printer.h"
#include "generator/emit/plan_json.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/report/picture.h"
#include "generator/plan/report/trace.h"
#include "generator/spec/fields.h"
#include "generator/yaml/read_spec.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#ifdef TILEPOST_FUZZ_EMIT
#include "generator/emit/emit.h"
#endif

namespace tilepost::fuzz {
namespace {

constexpr std::string_view kModes[] = {"parse", "plan", "explain", "emit"};

void require(bool holds, const std::string& what) {
  if (!holds) throw Finding(what);
}

// Requires lines of UTF-8 without control characters. Bytes past ASCII are left to the tests of the
// JSON reader and of the printer.
void require_printable(const std::string& text, const char* what) {
  for (const char c : text)
    require((c >= ' ' && c != 0x7f) || c == '\n' || static_cast<unsigned char>(c) >= 0x80,
            std::string("a control character in ") + what);
}

void require_json(const std::string& text, const char* what) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value) return;
  throw Finding(std::string(what) + ": " + llvm::toString(value.takeError()));
}

// Requires a message for every refusal, and none for an accepted input.
void require_reasons(bool accepted, const Diagnostics& diagnostics, const char* stage) {
  require(accepted == diagnostics.ok(),
          std::string(stage) + (accepted ? " accepted an input in spite of an error"
                                         : " refused an input without an error"));
}

std::vector<std::string_view> split(std::string_view input) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = input.find('\0')) != input.npos; input.remove_prefix(end + 1))
    parts.push_back(input.substr(0, end));
  parts.push_back(input);
  return parts;
}

std::optional<Spec> read(std::string_view input, Diagnostics& diagnostics) {
  const std::vector<std::string_view> parts = split(input);
  std::vector<Override> overrides;
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    if (equals == parts[i].npos) continue;
    overrides.push_back(
        {std::string(parts[i].substr(0, equals)), std::string(parts[i].substr(equals + 1))});
  }
  return read_spec("spec.yaml", parts[0], overrides, diagnostics);
}

bool is_small(const Spec& spec) {
  const int64_t rows = spec.ranks.value * spec.gemm.m.value;
  return rows <= kMaxRows && spec.gemm.n.value <= kMaxElements / rows;
}

void explain(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    const std::string text = explain_plan(plan);
    require(!text.empty(), "explain says nothing");
    require_printable(text, "explain");
    const std::string picture = draw_picture({plan}), trace = trace_of(plan);
    require(picture.size() < 300000, "explain --svg draws too much");
    require_printable(picture, "explain --svg");
    if (!trace.empty()) require_json(trace, "explain --trace");
  }
  require_json(explained_to_json(plans), "explain --json");
  require_json(plans_to_json(plans), "plan.json");
}

void emit_all(const std::vector<Plan>& plans, Diagnostics& diagnostics) {
#ifdef TILEPOST_FUZZ_EMIT
  const std::vector<OutputFile> files = emit(plans, "spec.yaml", diagnostics);
  require_reasons(!files.empty(), diagnostics, "emit");
  for (const OutputFile& file : files) {
    require(!file.text.empty(), "emit made an empty file");
    require_printable(file.text, "a generated file");
  }
#else
  (void)plans, (void)diagnostics;
  throw Finding("this program is built without the weaver");
#endif
}

Outcome run(Mode mode, std::string_view input, Diagnostics& diagnostics) {
  const std::optional<Spec> spec = read(input, diagnostics);
  require_reasons(spec.has_value(), diagnostics, "the reader");
  if (!spec) return Outcome::refused;
  if (mode == Mode::parse) return Outcome::accepted;
  if (!is_small(*spec)) return Outcome::left_out;
  const std::vector<Plan> plans = make_plans(*spec, default_machine(), diagnostics);
  require_reasons(!plans.empty(), diagnostics, "the planner");
  if (plans.empty()) return Outcome::refused;
  if (mode == Mode::explain) explain(plans);
  if (mode == Mode::emit) emit_all(plans, diagnostics);
  return Outcome::accepted;
}

}  // namespace

std::optional<Mode> find_mode(std::string_view name) {
  const auto* found = std::find(std::begin(kModes), std::end(kModes), name);
  if (found == std::end(kModes)) return std::nullopt;
  return static_cast<Mode>(found - std::begin(kModes));
}

Outcome execute(Mode mode, std::string_view input) {
  std::string messages;
  Outcome outcome;
  {
    llvm::raw_string_ostream stream(messages);
    DiagnosticPrinter diagnostics(stream);
    outcome = run(mode, input, diagnostics);
  }
  require_printable(messages, "a message");
  return outcome;
}

std::string dictionary() {
  std::string text;
  const auto add = [&](std::string_view word) { text += "\"" + std::string(word) + "\"\n"; };
  for (const Field& field : fields()) {
    add(field.path);
    add(std::string(field.leaf()) + ": ");
    for (const Spelling& choice : field.choices) add(choice.text);
  }
  for (const char* word : {"{max: ", "}", "[", "]", ", ", ": ", "- ", "auto", "\\x00gemm."})
    add(word);
  return text;
}

}  // namespace tilepost::fuzz
