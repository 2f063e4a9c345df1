// The table and the profile's comments.
#include "generator/bench/revision.h"
#include "generator/diagnostic_printer.h"
#include "generator/profile/report.h"
#include "generator/yaml/read_machine.h"
#include "tests/catch.h"
#include "tests/profile/synthetic.h"

using namespace tilepost;

namespace {

bool has(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines)
    if (line.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("the profile is read back, with every field that was not measured marked") {
  Synthetic machine{default_machine(), 1};
  const Measurements measurements = machine.measure();
  FitReport report;
  const MachineProfile profile = fit_machine(default_machine(), measurements, report);
  const MachineNotes notes = profile_notes(profile, measurements, report, "h200", "abc");
  const std::string text = write_machine(profile, notes);
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  const std::optional<MachineProfile> again = read_machine_text("machine.yaml", text, diagnostics);
  INFO(log);
  REQUIRE(again.has_value());
  CHECK(write_machine(*again) == write_machine(profile));
  CHECK(text.find("revision abc") != std::string::npos);
  CHECK(text.find("step_us: 5  # us: a copy or a post between collectives on the stream; taken "
                  "from h200") != std::string::npos);
  for (const std::string& path : machine_paths(profile))
    CHECK(notes.of_field.count(path) == (report.is_measured(path) ? 0 : 1));
}

TEST_CASE("the table says what was fitted, what was not, and why") {
  Synthetic machine{default_machine()};
  machine.peer_access = false;
  Measurements measurements = machine.measure();
  measurements.failed["all_reduce in windows on 2 GPUs"] = "NCCL gives no symmetric windows here";
  FitReport report;
  const MachineProfile profile = fit_machine(default_machine(), measurements, report);
  const std::vector<std::string> lines = profile_table(profile, measurements, report, "h200");
  CHECK(has(lines, "machine: 2 x X900, no peer access (driver 1.2, CUDA 13.0, NCCL 2.28.3)"));
  CHECK(has(lines, "gemm_sm90 by its formula, "));
  CHECK(has(lines, "not there: peer access: from GPU 1 to 0, 0 to 1"));
  CHECK(has(lines,
            "not measured: all_reduce in windows on 2 GPUs: NCCL gives no symmetric windows here"));
  CHECK(has(lines, "taken from h200 (it is the model's, not the machine's): accuracy"));
  for (const std::string& line : lines) CHECK(line.size() <= 200);
}
