// Tuning files as text: what is written is read back, errors name the line, and entries are found.
#include <fmt/format.h>

#include <random>
#include <set>

#include "generator/diagnostic_printer.h"
#include "generator/plan/tuning/match.h"
#include "generator/plan/tuning/text.h"
#include "generator/spec/fields.h"
#include "generator/yaml/read_spec.h"
#include "generator/yaml/read_tuning.h"
#include "tests/catch.h"
#include "tilepost/version.h"

namespace {

using namespace tilepost;

struct Outcome {
  std::optional<std::vector<TuningEntry>> entries;
  std::string log;
  int errors = 0;
};

Outcome read(const std::string& text) {
  Outcome outcome;
  llvm::raw_string_ostream stream(outcome.log);
  DiagnosticPrinter diagnostics(stream);
  outcome.entries = read_tuning_text("layers.tuning.yaml", text, diagnostics);
  outcome.errors = diagnostics.errors();
  if (outcome.entries)
    for (TuningEntry& entry : *outcome.entries) entry.where = {};
  return outcome;
}

constexpr const char* kSpec =
    "tilepost: 1\nname: attn_out\npattern: gemm_all_reduce\nranks: 4\narch: sm_90a\n"
    "gemm: {m: 8192, n: 4096, k: 2048, a: bf16}\n";

Spec spec_of(const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  std::optional<Spec> spec = read_spec("attn_out.yaml", kSpec, overrides, diagnostics);
  REQUIRE(spec.has_value());
  return *spec;
}

TuningEntry entry_for(const std::vector<Override>& overrides = {}) {
  DiagnosticPrinter diagnostics(llvm::errs());
  TuningEntry entry;
  entry.key = key_of(spec_of(overrides, diagnostics), Arch::sm_90a);
  entry.machine = {default_machine().name, "NVIDIA H200", 4, "570.1", "13.0", "2.28.3"};
  stamp(entry);
  entry.choice.kernel = "gemm_sm90";
  entry.choice.variant = "halves/2";
  entry.choice.tile_m = entry.choice.tile_n = 128;
  entry.choice.stages = 4;
  entry.choice.transport = TILEPOST_TRANSPORT_NCCL;
  entry.choice.cuts = {16, 32};
  entry.choice.pace = 0;
  entry.measured = {{"nccl, gemm_sm90 128x128", 812.4, 811, 815.5, 800, 100}};
  return entry;
}

// An entry with random numbers, words and texts.
TuningEntry random_entry(std::mt19937& random) {
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  TuningEntry entry = entry_for();
  entry.key.m = 1 + below(1 << 20);
  entry.key.any_m = below(2) != 0;
  entry.key.epilogue = below(2) != 0 ? TILEPOST_BIAS | TILEPOST_GELU : 0;
  entry.key.routing = static_cast<tilepost_routing_t>(below(3));
  entry.key.neighbours = below(2) != 0;
  entry.key.kernel = below(2) != 0 ? "my \"own\"\\kernel.cu: f<1, 2>\t#" : "";
  entry.machine.driver = below(2) != 0 ? "" : "'5: 7'";
  entry.graphs = below(2) != 0;
  Pick& pick = entry.choice;
  pick.transport = below(2) != 0 ? TILEPOST_TRANSPORT_NONE : TILEPOST_TRANSPORT_PEER;
  pick.shots = static_cast<tilepost_shots_t>(below(3));
  pick.fused = below(2) != 0;
  pick.pace = below(10000);
  pick.cuts.clear();
  for (int i = 1 + below(1000); i > 0; --i) pick.cuts.push_back(below(1 << 30));
  entry.measured.clear();
  for (int i = 1 + below(12); i > 0; --i)
    entry.measured.push_back({fmt::format("plan {}", i), below(100000) / 10.0, 1, 2.5, 0.1, i});
  return entry;
}

void check_same(const TuningEntry& one, const TuningEntry& other) {
  CHECK(one.key == other.key);
  CHECK(one.machine == other.machine);
  CHECK(one.choice == other.choice);
  CHECK(one.measured == other.measured);
  CHECK(one.version == other.version);
  CHECK(one.abi == other.abi);
  CHECK(one.revision == other.revision);
  CHECK(one.graphs == other.graphs);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("what is written is read back, and written again the same") {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    std::vector<TuningEntry> entries;
    for (int count = i % 4; count > 0; --count) {
      entries.push_back(random_entry(random));
      entries.back().key.n = count;  // one entry for a spec
    }
    const std::string text = write_tuning(entries);
    const Outcome outcome = read(text);
    INFO(outcome.log << text);
    REQUIRE(outcome.entries.has_value());
    REQUIRE(outcome.entries->size() == entries.size());
    for (size_t e = 0; e < entries.size(); ++e) check_same((*outcome.entries)[e], entries[e]);
    CHECK(write_tuning(*outcome.entries) == text);
  }
}

TEST_CASE("every fault of a tuning file is reported at its line, all at once") {
  std::string text = write_tuning({entry_for()});
  text = replaced(text, "pattern: gemm_all_reduce", "pattern: gemm_all_reduces");
  text = replaced(text, "      ranks: 4\n", "");
  text = replaced(text, "stages: 4", "stages: -4");
  text = replaced(text, "fused: false", "fuse: false");
  text = replaced(text, "cuts: [16, 32]", "cuts: [16, x]");
  text = replaced(text, "us: 812.4", "us: .nan");
  const Outcome outcome = read(text);
  CHECK_FALSE(outcome.entries.has_value());
  CHECK(outcome.errors == 7);
  for (const char* message :
       {"layers.tuning.yaml:5:16: error: entries[0].spec.pattern must be gemm_all_reduce,",
        "missing 'entries[0].spec.ranks'; it must be a whole number from 1",
        "entries[0].choice.stages must be a whole number from 1 to 65536; got '-4'",
        "unknown key 'entries[0].choice.fuse', did you mean 'fused'?",
        "missing 'entries[0].choice.fused'; it must be true or false",
        "entries[0].choice.cuts must have whole numbers from 0",
        "entries[0].measured.us must be a number from 0"})
    CHECK_THAT(outcome.log, Catch::Contains(message));
}

TEST_CASE("what is no tuning file is refused") {
  CHECK_THAT(read("tilepost: 1\n").log,
             Catch::Contains("a tuning file begins with 'tilepost_tuning: 1'; got no such key"));
  CHECK_THAT(read("tilepost_tuning: 2\nentries: []\n").log, Catch::Contains("got '2'"));
  CHECK_THAT(read("- 1\n").log, Catch::Contains("a tuning file begins with"));
  CHECK_THAT(read("").log, Catch::Contains("tuning file"));
  CHECK_THAT(read("tilepost_tuning: 1\n").log, Catch::Contains("missing 'entries'"));
  CHECK_THAT(
      read("tilepost_tuning: 1\nentries: 5\nx: 1\n").log,
      Catch::Contains("entries must be a list; got '5'") && Catch::Contains("unknown key 'x'"));
  CHECK_THAT(read("tilepost_tuning: 1\nentries: [5]\n").log,
             Catch::Contains("entries must be mappings; got '5'"));
  CHECK_THAT(read(write_tuning({entry_for(), entry_for()})).log,
             Catch::Contains("is there already"));
}

// ---- Which entry a spec gets

struct Match {
  std::vector<TunedPick> picks;
  std::string log;
};

Match match(const TuningFile& file, const std::vector<Override>& overrides = {},
            const MachineProfile& profile = default_machine()) {
  Match result;
  llvm::raw_string_ostream stream(result.log);
  DiagnosticPrinter diagnostics(stream);
  result.picks = picks_for(file, spec_of(overrides, diagnostics), profile, diagnostics);
  return result;
}

TEST_CASE("a spec gets the entry with its key, and nothing is said") {
  const TuningFile file{"tuned/layers.tuning.yaml", {entry_for({{"gemm.m", "64"}}), entry_for()}};
  const Match found = match(file);
  CHECK(found.log.empty());
  REQUIRE(found.picks.size() == 1);
  CHECK(found.picks[0].pick == entry_for().choice);
  CHECK(found.picks[0].by.file == "layers.tuning.yaml");
  CHECK(found.picks[0].by.us == 812.4);
  CHECK(found.picks[0].by.machine == "4 x NVIDIA H200");
  // Names and what is tuned are no part of the key.
  CHECK(match(file, {{"name", "other"}, {"transport", "nccl"}, {"schedule.tile", "[128, 128]"}})
            .picks.size() == 1);
}

TEST_CASE("every field of the key counts") {
  const TuningFile file{"layers.tuning.yaml", {entry_for()}};
  const std::vector<std::vector<Override>> others = {
      {{"gemm.m", "4096"}},      {{"gemm.m", "{max: 8192}"}},  {{"gemm.n", "8192"}},
      {{"gemm.k", "1024"}},      {{"gemm.a", "f16"}},          {{"gemm.layout", "nn"}},
      {{"ranks", "2"}},          {{"arch", "sm_80"}},          {{"pattern", "gemm_reduce_scatter"}},
      {{"neighbours", "true"}},  {{"registered", "true"}},     {{"consumer", "rms_norm"}},
      {{"schedule.sms", "100"}}, {{"schedule.layout", "tile"}}};
  for (const std::vector<Override>& other : others) {
    const Match found = match(file, other);
    INFO(other.front().path << " " << other.front().value << ": " << found.log);
    CHECK(found.picks.empty());
    CHECK_THAT(found.log,
               Catch::Contains("warning: tuning file 'layers.tuning.yaml' has no entry"));
  }
  CHECK_THAT(match(file, {{"gemm.m", "4096"}}).log,
             Catch::Contains("m is '8192' there, and '4096' here; run 'tilepost tune'"));
  CHECK_THAT(match({"empty.yaml", {}}).log, Catch::Contains("it is empty"));
  CHECK(match(file, {{"arch", "host"}}).log.empty());
}

TEST_CASE(
    "every field of a spec is in the key, chosen by the planner, or known to change nothing") {
  const std::set<std::string_view> in_key = {
      "pattern",       "ranks",         "arch",         "gemm.m",       "gemm.n",
      "gemm.k",        "gemm.a",        "gemm.out",     "gemm.layout",  "gemm.accumulate",
      "gemm.scales",   "gemm.scales_a", "gemm.experts", "gemm.top",     "gemm.gate",
      "gemm.epilogue", "max_rows",      "consumer",     "routing",      "max_received",
      "neighbours",    "registered",    "schedule.sms", "schedule.sum", "schedule.layout"};
  // gemm.b is that of gemm.a. With gemm.scales_out nothing is tuned. The kernel of the user's own
  // is in the key by file and function.
  const std::set<std::string_view> others = {"tilepost",
                                             "name",
                                             "gemm",
                                             "schedule",
                                             "gemm.b",
                                             "gemm.scales_out",
                                             "schedule.tile",
                                             "schedule.stages",
                                             "schedule.cluster",
                                             "schedule.groups",
                                             "schedule.comm_sms",
                                             "schedule.lanes",
                                             "schedule.kernels",
                                             "schedule.wait",
                                             "schedule.shots",
                                             "transport"};
  for (const Field& field : fields()) {
    if (field.path == "kernel" || field.section() == "kernel") continue;
    INFO(field.path);
    CHECK(in_key.count(field.path) + others.count(field.path) == 1);
  }
}

TEST_CASE("an entry of another machine or version is not used, and a warning names both") {
  TuningEntry entry = entry_for();
  MachineProfile other = default_machine();
  other.name = "8 x H100, NVLink";
  other.gpu = "H100";
  const Match machine = match({"t.yaml", {entry}}, {}, other);
  CHECK(machine.picks.empty());
  CHECK_THAT(machine.log, Catch::Contains("'" + default_machine().name + "'") &&
                              Catch::Contains("'8 x H100, NVLink'") && Catch::Contains("warning"));
  entry.machine.gpu = "NVIDIA H100 80GB HBM3";
  const Match chip = match({"t.yaml", {entry}});
  CHECK(chip.picks.empty());
  CHECK_THAT(chip.log, Catch::Contains("measured on 'NVIDIA H100 80GB HBM3'"));
  entry = entry_for();
  entry.version = "0.0.9";
  const Match version = match({"t.yaml", {entry}});
  CHECK(version.picks.empty());
  CHECK_THAT(version.log, Catch::Contains("tilepost 0.0.9") &&
                              Catch::Contains("this is " TILEPOST_VERSION_STRING));
  // One that fits wins over those that do not.
  CHECK(match({"t.yaml", {entry_for(), entry}}).picks.size() == 1);
  CHECK(match({"t.yaml", {entry, entry_for()}}).log.empty());
}

TEST_CASE("an entry replaces the one of its spec and machine, in its place") {
  TuningFile file{"t.yaml",
                  {entry_for({{"ranks", "2"}}), entry_for(), entry_for({{"ranks", "8"}})}};
  TuningEntry renewed = entry_for();
  renewed.version = "0.0.9";
  renewed.choice.stages = 5;
  put_entry(renewed, file);
  REQUIRE(file.entries.size() == 3);
  CHECK(file.entries[1].choice.stages == 5);
  CHECK(find_entry(file, renewed.key, default_machine().name) == nullptr);  // of another version
  renewed.machine.profile = "another";
  put_entry(renewed, file);
  REQUIRE(file.entries.size() == 4);
  CHECK(file.entries[3].machine.profile == "another");
}

}  // namespace
