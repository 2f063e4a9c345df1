// The cache of compiled objects. An object is found only if everything that it was made of is the
// same.
#include "generator/harness/cache/cache.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "generator/diagnostic_printer.h"
#include "generator/harness/cache/depfile.h"
#include "generator/harness/process.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

using namespace tilepost;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A folder with a compiler, a header and the cache. The compiler is a script around c++ that counts
// its calls.
struct Setting {
  Setting() {
    char path[] = "/tmp/tilepost_cache_XXXXXX";
    root = mkdtemp(path);
    fs::create_directories(root / "system");
    write_compiler("");
    write(root / "system/number.h", "#define NUMBER 1\n");
  }
  ~Setting() { fs::remove_all(root); }

  void write_compiler(const std::string& comment) const {
    write(root / "cc", "#!/bin/sh\n# " + comment + "\nexec c++ \"$@\"\n");
    fs::permissions(root / "cc", fs::perms::owner_all);
  }
  std::string cache() const { return (root / "cache").string(); }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    if (fs::exists(cache()))
      for (const auto& each : fs::directory_iterator(cache())) found.push_back(each.path());
    return found;
  }

  fs::path root;
  std::string said;  // the warnings
};

// Compiles one source in a new working folder. Returns whether the object came from the cache.
bool run(Setting& setting, const std::string& source = "#include <number.h>\nint n = NUMBER;\n",
         const std::string& flag = "-O1") {
  llvm::raw_string_ostream stream(setting.said);
  DiagnosticPrinter diagnostics(stream);
  WorkDir dir("", diagnostics);
  REQUIRE(dir.write("a.cpp", source, diagnostics));
  const std::string object = dir.path("a.o");
  const std::vector<Command> commands = {
      {{(setting.root / "cc").string(), flag, "-isystem", (setting.root / "system").string(), "-MD",
        "-MF", object + ".d", "-c", dir.path("a.cpp"), "-o", object},
       dir.path("log"),
       60,
       dir.path("a.cpp"),
       object}};
  const CachedObjects kept(setting.cache(), commands, dir);
  const bool found = kept.restore(diagnostics);
  if (!found) {
    Progress progress;
    REQUIRE(run_commands(commands, 1, "compiling", progress, diagnostics));
    kept.store(diagnostics);
  }
  const std::string bytes = read(object);
  CHECK(bytes.substr(0, 4) ==
        "\x7f"
        "ELF");
  return found;
}

}  // namespace

TEST_CASE("objects are found again, in another folder") {
  Setting setting;
  CHECK_FALSE(run(setting));
  CHECK(run(setting));
  CHECK(setting.entries().size() == 1);
  CHECK(setting.said.empty());
}

TEST_CASE("whatever goes into an object misses when it changes") {
  Setting setting;
  CHECK_FALSE(run(setting));
  CHECK_FALSE(run(setting, "#include <number.h>\nint m = NUMBER;\n"));
  CHECK_FALSE(run(setting, "#include <number.h>\nint n = NUMBER;\n", "-O2"));
  CHECK(run(setting));

  SECTION("a header that the compiler found by itself") {
    write(setting.root / "system/number.h", "#define NUMBER 2\n");
    CHECK_FALSE(run(setting));
    CHECK(run(setting));
  }
  SECTION("a header that is gone") {
    write(setting.root / "system/other.h", "#define NUMBER 3\n");
    CHECK_FALSE(run(setting, "#include <other.h>\n"));
    fs::remove(setting.root / "system/other.h");
    write(setting.root / "system/other.h", "");
    CHECK_FALSE(run(setting, "#include <other.h>\n"));
  }
  SECTION("the compiler") {
    setting.write_compiler("another");
    CHECK_FALSE(run(setting));
  }
  SECTION("a variable that compilers read") {
    setenv("CPATH", setting.root.c_str(), 1);
    CHECK_FALSE(run(setting));
    unsetenv("CPATH");
    CHECK(run(setting));
  }
}

TEST_CASE("a damaged entry is said, compiled again and replaced") {
  Setting setting;
  CHECK_FALSE(run(setting));
  const fs::path entry = setting.entries().at(0);
  const std::string good = read(entry);
  const auto damage =
      GENERATE(as<std::string>{}, "first", "middle", "last", "short", "long", "empty");
  INFO(damage);
  std::string bad = good;
  if (damage == "first") bad[0] ^= 1;
  if (damage == "middle") bad[bad.size() / 2] ^= 1;
  if (damage == "last") bad.back() ^= 1;
  if (damage == "short") bad.pop_back();
  if (damage == "long") bad += "x";
  if (damage == "empty") bad.clear();
  write(entry, bad);
  CHECK_FALSE(run(setting));
  CHECK_THAT(setting.said, Catch::Contains("are damaged: they are compiled again"));
  CHECK(run(setting));
}

TEST_CASE("the cache keeps the newest entries, and no file of a killed process") {
  Setting setting;
  for (size_t i = 0; i < kCacheEntries + 3; ++i) {
    CHECK_FALSE(run(setting, "int n = " + std::to_string(i) + ";\n"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(run(setting, "int n = 0;\n"));  // it is used each time, so it stays
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(setting.entries().size() == kCacheEntries);
  CHECK_FALSE(run(setting, "int n = 1;\n"));
  const fs::path old = fs::path(setting.cache()) / "abc.tmp",
                 young = fs::path(setting.cache()) / "def.tmp";
  write(old, "half");
  write(young, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK_FALSE(run(setting, "int n = 99;\n"));
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
}

TEST_CASE("a folder that cannot be written is said, and fails nothing") {
  Setting setting;
  write(setting.root / "cache", "a file");
  CHECK_FALSE(run(setting));
  CHECK_FALSE(run(setting));
  CHECK_THAT(setting.said, Catch::Contains("warning: the compiled runtime cannot be kept in"));
}

TEST_CASE("processes at the same time keep and find whole entries") {
  Setting setting;
  constexpr size_t kBytes = 1 << 20;
  const auto child = [&](char mine) {
    DiagnosticPrinter diagnostics(llvm::errs());
    WorkDir dir("", diagnostics);
    const std::string object = dir.path("a.o");
    const std::vector<Command> commands = {
        {{(setting.root / "cc").string(), "-c"}, dir.path("log"), 60, dir.path("a.cpp"), object}};
    write(dir.path("a.cpp"), "");
    write(object + ".d", "a.o: " + (setting.root / "system/number.h").string() + "\n");
    const CachedObjects kept(setting.cache(), commands, dir);
    for (int i = 0; i < 20; ++i) {
      write(object, std::string(kBytes, mine));
      kept.store(diagnostics);
      if (!kept.restore(diagnostics)) return 1;
      const std::string found = read(object);  // any child's object, but a whole one
      if (found.size() != kBytes || found.find_first_not_of(found[0]) != std::string::npos)
        return 2;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i)
    if (children.push_back(fork()); children.back() == 0) _exit(child(static_cast<char>('a' + i)));
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  CHECK(setting.entries().size() == 1);
}

TEST_CASE("where the cache is") {
  const char* home = getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  setenv("HOME", "/home/me", 1);
  CHECK(default_cache_folder() == "/x/cache/tilepost");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(default_cache_folder() == "/home/me/.cache/tilepost");
  unsetenv("XDG_CACHE_HOME");
  CHECK(default_cache_folder() == "/home/me/.cache/tilepost");
  unsetenv("HOME");
  CHECK(default_cache_folder().empty());
  if (home != nullptr) setenv("HOME", old_home.c_str(), 1);
}

TEST_CASE("a compiler's rule") {
  using Files = std::vector<std::string>;
  CHECK(read_depfile("a.o: a.cpp /usr/include/x.h \\\n  /usr/include/y.h\n") ==
        Files{"a.cpp", "/usr/include/x.h", "/usr/include/y.h"});
  CHECK(read_depfile("build/a.cu.o : a.cu \\\n    b.h\n\nb.h:\n") == Files{"a.cu", "b.h"});
  CHECK(read_depfile("a.o: a\\ b.h c\\#d.h e$$f.h g:h.h") ==
        Files{"a b.h", "c#d.h", "e$f.h", "g:h.h"});
  CHECK(read_depfile("").empty());
  CHECK(read_depfile("no rule").empty());
}
