// Machine profiles as text. A written profile is read back, and errors name the line.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/diagnostic_printer.h"
#include "generator/plan/machine/fields.h"
#include "generator/plan/machine/text.h"
#include "generator/yaml/read_machine.h"
#include "tests/catch.h"

namespace {

using namespace tilepost;

struct Outcome {
  std::optional<MachineProfile> profile;
  std::string log;
  int errors = 0;
};

Outcome read(const std::string& text) {
  Outcome outcome;
  llvm::raw_string_ostream stream(outcome.log);
  DiagnosticPrinter diagnostics(stream);
  outcome.profile = read_machine_text("machine.yaml", text, diagnostics);
  outcome.errors = diagnostics.errors();
  return outcome;
}

std::string written() {
  return write_machine(default_machine());
}

// The text with the first `from`, which must be there, replaced by `to`.
std::string with(const std::string& from, const std::string& to) {
  std::string text = written();
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The value of a line "  key: value  # comment".
std::string value_of(const std::string& line) {
  const size_t begin = line.find(": ") + 2;
  return line.substr(begin, line.find("  #", begin) - begin);
}

}  // namespace

TEST_CASE("every known machine is read back as it was written, bit for bit") {
  for (const KnownMachine& known : known_machines()) {
    INFO(known.key);
    const std::string text = write_machine(known.profile);
    const Outcome outcome = read(text);
    INFO(outcome.log);
    REQUIRE(outcome.profile.has_value());
    CHECK(write_machine(*outcome.profile) == text);
  }
}

TEST_CASE("a machine's name is read back whatever it has: quotes, backslashes, ends of lines") {
  for (const std::string name :
       {"8x \"fast\" H200", "C:\\machines\\h200", "a # that begins no comment", "'single'",
        "two\nlines", "a tab\tand a bell\a", "ends with \\", "äöü: µs"}) {
    INFO(name);
    MachineProfile profile = default_machine();
    profile.name = name;
    const std::string text = write_machine(profile);
    const Outcome outcome = read(text);
    INFO(outcome.log);
    REQUIRE(outcome.profile.has_value());
    CHECK(outcome.profile->name == name);
    CHECK(write_machine(*outcome.profile) == text);
  }
}

TEST_CASE("every number of a machine's text is read: another one is written back") {
  const std::vector<std::string> lines = lines_of(written());
  int numbers = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string value = value_of(lines[i]);
    if (value.find_first_not_of("0123456789.e+") != std::string::npos || value.empty()) continue;
    std::vector<std::string> changed = lines;
    const double number = std::stod(value);
    const bool flag = std::ranges::any_of(
        std::array{" beside: ", " available: ", " peer_access: ", " measured: "},
        [&](const char* name) { return (" " + lines[i]).find(name) != std::string::npos; });
    const std::string other = number > 1             ? fmt::format("{}", number - 1)
                              : number == 1 && !flag ? "0.5"
                              : number == 1          ? "0"
                                                     : "1";
    changed[i].replace(changed[i].find(": ") + 2, value.size(), other);
    INFO(changed[i]);
    const Outcome outcome = read(joined(changed));
    INFO(outcome.log);
    REQUIRE(outcome.profile.has_value());
    CHECK(write_machine(*outcome.profile) == joined(changed));
    ++numbers;
  }
  CHECK(numbers > 150);
}

TEST_CASE("a machine that lacks a line is refused at the section that lacks it") {
  const std::vector<std::string> lines = lines_of(written());
  for (size_t i = 0; i < lines.size(); ++i) {
    // Skips lines of sections, which have other lines below, and lines that begin a row.
    const bool section = value_of(lines[i]).empty() ||
                         lines[i].find("- row") != std::string::npos || lines[i].ends_with(":") ||
                         lines[i].find(":  #") != std::string::npos;
    if (section) continue;
    std::vector<std::string> changed = lines;
    changed.erase(changed.begin() + static_cast<ptrdiff_t>(i));
    INFO(lines[i]);
    const Outcome outcome = read(joined(changed));
    INFO(outcome.log);
    CHECK_FALSE(outcome.profile.has_value());
    CHECK(outcome.errors == 1);
    CHECK(outcome.log.find(i == 0 ? "tilepost_machine" : "missing '") != std::string::npos);
  }
}

TEST_CASE("numbers of a machine that cannot be are refused with their bounds") {
  const std::vector<std::string> lines = lines_of(written());
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string value = value_of(lines[i]);
    if (value.find_first_not_of("0123456789.e+") != std::string::npos || value.empty()) continue;
    for (const char* wrong : {"-1", "1e300", ".nan", ".inf", "many", "'1'", "[1]", "null"}) {
      std::vector<std::string> changed = lines;
      changed[i].replace(changed[i].find(": ") + 2, value.size(), wrong);
      INFO(changed[i]);
      const Outcome outcome = read(joined(changed));
      INFO(outcome.log);
      REQUIRE_FALSE(outcome.profile.has_value());
      CHECK(outcome.errors == 1);
      CHECK(outcome.log.find(fmt::format("machine.yaml:{}:", i + 1)) != std::string::npos);
      CHECK(outcome.log.find("must be a") != std::string::npos);
    }
  }
}

TEST_CASE("what is no machine of this version says so") {
  const auto says = [](const std::string& text, const std::string& part) {
    const Outcome outcome = read(text);
    INFO(outcome.log);
    CHECK_FALSE(outcome.profile.has_value());
    CHECK(outcome.errors == 1);
    CHECK(outcome.log.find(part) != std::string::npos);
  };
  says("", "the machine profile is empty; it starts with 'tilepost_machine: 1'");
  says("[1, 2]", "a machine profile is a mapping");
  says("name: x\n", "begins with 'tilepost_machine: 1'; got no such key");
  says(with("tilepost_machine: 1", "tilepost_machine: 2"), "got '2'");
}

TEST_CASE("unknown keys, rows and points of a machine are named") {
  const auto says = [](const std::string& text, const std::string& part) {
    const Outcome outcome = read(text);
    INFO(outcome.log);
    CHECK_FALSE(outcome.profile.has_value());
    CHECK(outcome.log.find(part) != std::string::npos);
  };
  says(with("  max_ghz", "  speed: 3\n  max_ghz"), "unknown key 'chip.speed'");
  says(with("max_ghz", "max_gzh"), "unknown key 'chip.max_gzh', did you mean 'max_ghz'?");
  says(with("name: ", "nmae: 1\nname: "), "unknown key 'nmae', did you mean 'name'?");
  says(with("gemm_sm90/128x256/4", "gemm_sm90/128x256/5"), "no kernel is called");
  says(with("gemm_sm90/128x256/4", "gemm_sm90/128x256/2"), "is there twice");
  says(with("[3, 117], [4, 120]", "[4, 117], [3, 120]"), "with x above the one before");
  says(with("arch: sm_90a", "arch: sm_90"),
       "arch must be sm_80, sm_86, sm_89 or sm_90a; got 'sm_90'");
  says(with("choices: [[8, 1]", "choices: [[8, 0]"), "each of collectives.choices must be a pair");
  says(with("lanes: [3, 2, 1]", "lanes: []"), "peers.lanes must be a list that is not empty");
}

TEST_CASE("estimates say that they are none of a machine that was measured") {
  for (const KnownMachine& known : known_machines()) {
    INFO(known.key);
    CHECK(known.profile.measured == known.key.starts_with(kDefaultMachine));
    CHECK((known.profile.words() == known.profile.name) == known.profile.measured);
  }
  CHECK(known_machines().size() >= 5);
}

TEST_CASE("notes stand in comments, at their fields and behind the first line") {
  const MachineNotes notes = {
      {"who measured it", "", "when"},
      {{"chip.max_ghz", "a guess"}, {"gemm.kernels.gemm_sm90_small.ghz", "another"}}};
  const std::string text = write_machine(default_machine(), notes);
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() > 4);
  CHECK(lines[1] == "# who measured it");
  CHECK(lines[2] == "#");
  CHECK(lines[3] == "# when");
  CHECK(text.find("no clock is higher; a guess\n") != std::string::npos);
  CHECK(text.find("0: the architecture's; another\n") != std::string::npos);
  const Outcome outcome = read(text);
  INFO(outcome.log);
  REQUIRE(outcome.profile.has_value());
  CHECK(write_machine(*outcome.profile) == written());
}
