// Child processes end when they should and report how.
#include "generator/harness/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "generator/diagnostic_printer.h"
#include "generator/harness/commands.h"
#include "generator/harness/output_reader.h"
#include "generator/harness/work_dir.h"
#include "tests/catch.h"

using namespace tilepost;

namespace {

using Clock = std::chrono::steady_clock;

struct Fixture {
  std::string errors;
  llvm::raw_string_ostream stream{errors};
  DiagnosticPrinter diagnostics{stream};
  WorkDir dir{"", diagnostics};
  Progress progress;

  Command shell(const std::string& script, double seconds = 20) const {
    return {{"sh", "-c", script}, dir.path("log"), seconds};
  }
  bool run(const std::vector<Command>& commands, int jobs = 2) {
    return run_commands(commands, jobs, "testing", progress, diagnostics);
  }
  HarnessResult harness(const std::string& script, std::string& lines, double idle = 20) {
    llvm::raw_string_ostream out(lines);
    return run_harness({"sh", "-c", script}, idle, out, progress);
  }
};

}  // namespace

TEST_CASE("commands run, and all of them") {
  Fixture fixture;
  std::vector<Command> commands;
  for (int i = 0; i < 7; ++i)
    commands.push_back({{"touch", fixture.dir.path("file" + std::to_string(i))},
                        fixture.dir.path("log" + std::to_string(i)),
                        20});
  CHECK(fixture.run(commands));
  for (int i = 0; i < 7; ++i)
    CHECK(access(fixture.dir.path("file" + std::to_string(i)).c_str(), F_OK) == 0);
}

TEST_CASE("a command that fails is reported with its status") {
  Fixture fixture;
  CHECK_FALSE(fixture.run({fixture.shell("exit 3")}));
  CHECK_THAT(fixture.errors, Catch::Contains("exit status 3"));
}

TEST_CASE("a command that cannot start is reported by name") {
  Fixture fixture;
  CHECK_FALSE(fixture.run({{{"/no/such/compiler"}, fixture.dir.path("log"), 20}}));
  CHECK_THAT(fixture.errors, Catch::Contains("'/no/such/compiler'"));
}

TEST_CASE("a command that hangs is ended at its deadline, with its children") {
  Fixture fixture;
  const auto start = Clock::now();
  const std::string pid_file = fixture.dir.path("pid");
  CHECK_FALSE(fixture.run({fixture.shell("sleep 100 & echo $! > " + pid_file + "; wait", 0.5)}));
  CHECK(Clock::now() - start < std::chrono::seconds(10));
  CHECK_THAT(fixture.errors, Catch::Contains("no end within"));
  std::ifstream file(pid_file);
  std::string pid;
  file >> pid;
  REQUIRE_FALSE(pid.empty());
  // The process is gone, or a zombie until its new parent looks. A busy machine may take a while.
  const auto is_dead = [&] {
    std::ifstream status("/proc/" + pid + "/stat");
    std::stringstream text;
    text << status.rdbuf();
    return text.str().empty() || text.str().find(") Z ") != std::string::npos;
  };
  const auto end = Clock::now() + std::chrono::seconds(5);
  while (!is_dead() && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(is_dead());
}

TEST_CASE("a harness's lines are counted and passed on") {
  Fixture fixture;
  std::string lines;
  const HarnessResult result = fixture.harness(
      "echo 'ok    a'; echo '# b: run 4'; printf 'FAIL  b  x'; echo; exit 1", lines);
  CHECK(result.ended);
  CHECK(result.passed == 1);
  CHECK(result.failed == 1);
  CHECK(result.lines.back() == "FAIL  b  x");
  CHECK(lines == "ok    a\nFAIL  b  x\n");
}

TEST_CASE("a harness that crashes has not ended by itself") {
  Fixture fixture;
  std::string lines;
  const HarnessResult result = fixture.harness("echo 'ok    a'; kill -SEGV $$", lines);
  CHECK_FALSE(result.ended);
  CHECK_THAT(result.end, Catch::Contains("signal 11"));
}

TEST_CASE("a silent harness is ended") {
  Fixture fixture;
  std::string lines;
  const auto start = Clock::now();
  const HarnessResult result = fixture.harness("sleep 100", lines, 0.5);
  CHECK_FALSE(result.ended);
  CHECK_THAT(result.end, Catch::Contains("no sign of life"));
  CHECK(Clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("lines are whole whatever the pieces") {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const auto take = [&](llvm::StringRef line) { lines.push_back(line.str()); };
  for (const char* piece : {"on", "e\ntw", "o\n\nthree", "\nrest"}) splitter.add(piece, take);
  CHECK(lines == std::vector<std::string>{"one", "two", "", "three"});
}

TEST_CASE("the build script quotes what needs it") {
  CHECK_THAT(shell_script({{{"c++", "-I/a b", "it's", "-O2"}, "log", 1}}, "/kept"),
             Catch::EndsWith("c++ '-I/a b' 'it'\\''s' -O2\n"));
}

TEST_CASE("the build script runs where it lies, and names no folder of its own") {
  CHECK_THAT(
      shell_script(
          {{{"/bin/c++", "-I/kept", "-I/kept/include", "/kept/a.cpp", "/kept2/b.cpp"}, "log", 1}},
          "/kept"),
      Catch::EndsWith("\ncd \"$(dirname \"$0\")\"\n/bin/c++ -I. -Iinclude a.cpp /kept2/b.cpp\n"));
}

TEST_CASE("a temporary folder goes, a kept one stays") {
  std::string path;
  {
    Fixture fixture;
    REQUIRE(fixture.dir.write("a/b/c", "text", fixture.diagnostics));
    path = fixture.dir.path();
    CHECK(access((path + "/a/b/c").c_str(), F_OK) == 0);
  }
  CHECK(access(path.c_str(), F_OK) != 0);
}
