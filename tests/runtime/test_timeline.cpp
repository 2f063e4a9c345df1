// Timelines of runs (tilepost/timeline.h): what stamps where, and the file that is written.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/core/error.h"
#include "tests/catch.h"
#include "tests/runtime/team.h"
#include "tilepost/timeline.h"

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using fakes::world;
using sample::count_calls;
using sample::Lines;

namespace {

// A place for a file, which goes when this does.
class File {
 public:
  ~File() { std::remove(path()); }
  const char* path() const { return path_.c_str(); }
  // What is in it; "" if it is not there.
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path_).rdbuf();
    return all.str();
  }

 private:
  const std::string path_ = "timeline_" + std::to_string(getpid()) + ".json";
};

// A kernel that notes times, and an operation that records.
class Recorded : public Operation {
 public:
  void create_recorded() {
    world().gemm_stamps = true;
    create();
    REQUIRE(tilepost_op_record_timeline(setup.op) == TILEPOST_OK);
    world().reset_calls();
  }
  std::string written() const {
    const File file;
    const tilepost_result_t result = tilepost_op_write_timeline(setup.op, file.path());
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
    return file.text();
  }
  // The call fails, says why, and leaves no file.
  void check_refused(const std::string& why) const {
    const File file;
    CHECK(tilepost_op_write_timeline(setup.op, file.path()) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(why));
    CHECK(file.text().empty());
  }
};

std::string group(int tiles_end, int steps_begin, int steps_end) {
  return "{\"tiles_end_ns\": " + std::to_string(tiles_end) +
         ", \"steps_begin_ns\": " + std::to_string(steps_begin) +
         ", \"steps_end_ns\": " + std::to_string(steps_end) + "}";
}

// The lines of the log that put stamps and what they stand beside on streams.
Lines stamped() {
  Lines lines;
  for (const std::string& line : world().log)
    for (const char* kind : {"stamp", "gemm", "wait ", "allreduce"})
      if (line.rfind(kind, 0) == 0) lines.push_back(line.substr(0, line.find(" x8")));
  return lines;
}

}  // namespace

TEST_CASE_METHOD(Recorded,
                 "timeline: stamps stand at both ends of a run and of each group's steps") {
  create_recorded();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(stamped() == Lines{"stamp user", "gemm user", "wait own0 8", "stamp own0",
                           "allreduce own0 65536", "stamp own0", "wait own0 8", "stamp own0",
                           "allreduce own0 65536", "stamp own0", "stamp own0"});
}

// Time is a us a stamp: the run begins at the first, its eight tiles end at the next ones, four in
// each group, and the stamps on the communication stream follow.
TEST_CASE_METHOD(Recorded, "timeline: the file has the times of the last run, from its beginning") {
  create_recorded();
  for (int i = 0; i < 3; ++i) REQUIRE(run() == TILEPOST_OK);
  const std::string text = written();
  CHECK_THAT(text, Contains("\"tilepost_timeline\": 1, \"name\": \"sample\", \"pattern\": "
                            "\"gemm_all_reduce\", \"rank\": 1, \"ranks\": 2"));
  CHECK_THAT(text, Contains("\"m\": 512") && Contains("\"replayed\": false, \"total_ns\": 13000"));
  CHECK_THAT(text, Contains(group(4000, 9000, 10000) + ",\n  " + group(8000, 11000, 12000)));
}

TEST_CASE_METHOD(Recorded, "timeline: a captured run is stamped, and written as a replay") {
  create_recorded();
  REQUIRE(run() == TILEPOST_OK);
  REQUIRE(run_captured() == TILEPOST_OK);  // the fakes carry it out
  CHECK_THAT(written(), Contains("\"replayed\": true") && Contains(group(4000, 9000, 10000)));
  REQUIRE(run() == TILEPOST_OK);
  CHECK_THAT(written(), Contains("\"replayed\": false"));
}

TEST_CASE_METHOD(Recorded, "timeline: a run of fewer rows has its own groups") {
  program.plan.any_m = 1;
  create_recorded();
  REQUIRE(run(200) == TILEPOST_OK);
  CHECK_THAT(written(), Contains("\"m\": 200"));
}

TEST_CASE_METHOD(Recorded, "timeline: runs that are not recorded are not stamped") {
  world().gemm_stamps = true;
  create();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(count_calls("stamp") == 0);
  check_refused("call tilepost_op_record_timeline before");
  REQUIRE(tilepost_op_record_timeline(setup.op) == TILEPOST_OK);
  check_refused("no run of 'sample' with rows has been recorded");
}

TEST_CASE_METHOD(Recorded, "timeline: a program without --timestamps is told so") {
  create();
  REQUIRE(tilepost_op_record_timeline(setup.op) == TILEPOST_OK);
  REQUIRE(run() == TILEPOST_OK);
  check_refused("generate it with --timestamps");
}

TEST_CASE_METHOD(Recorded, "timeline: a place that cannot be written is named") {
  create_recorded();
  REQUIRE(run() == TILEPOST_OK);
  CHECK(tilepost_op_write_timeline(setup.op, "no_such_folder/x.json") == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("cannot write 'no_such_folder/x.json': No such file"));
  CHECK(tilepost_op_write_timeline(setup.op, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_op_record_timeline(nullptr) == TILEPOST_INVALID_ARGUMENT);
}

// The limit of a file's size stands for a disk that is full.
TEST_CASE_METHOD(Recorded, "timeline: a file that was there stays until the new one is complete") {
  create_recorded();
  REQUIRE(run() == TILEPOST_OK);
  const File file;
  std::ofstream(file.path()) << "an older one";
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {64, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const tilepost_result_t result = tilepost_op_write_timeline(setup.op, file.path());
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(result == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Contains(std::string("cannot write '") + file.path()) && Contains("File too large"));
  CHECK(file.text() == "an older one");
  for (const auto& entry : std::filesystem::directory_iterator("."))
    CHECK_THAT(entry.path().filename().string(),
               !StartsWith(std::string(file.path()) + ".") || !EndsWith(".tmp"));
  REQUIRE(tilepost_op_write_timeline(setup.op, file.path()) == TILEPOST_OK);
  CHECK_THAT(file.text(), Contains("tilepost_timeline"));
}

TEST_CASE("timeline: every failing call leaves an operation that says why") {
  FailingCalls failing;
  failing.in_turn([&](Operation& operation) {
    world().gemm_stamps = true;
    operation.create();
    const File file;
    const tilepost_result_t result = failing.attempt([&] {
      TILEPOST_TRY(tilepost_op_record_timeline(operation.setup.op));
      TILEPOST_TRY(operation.run());
      return tilepost_op_write_timeline(operation.setup.op, file.path());
    });
    CHECK((result == TILEPOST_OK) == !file.text().empty());
  });
}

// Ranks as threads: results stay right, and every group's arrival or sum has its time.
TEST_CASE_METHOD(Team, "timeline: transports whose ranks share memory stamp on their own streams") {
  const ranks::Way way =
      GENERATE(ranks::copies(kAllReduce), ranks::stores(kReduceScatter), ranks::copies(kAllGather),
               ranks::copies_beside(kAllGather), ranks::launches(kAllGather),
               ranks::tasks(kAllReduce), ranks::whole(kAllToAll), ranks::tasks(kAllGather));
  CAPTURE(way);
  ranks::use(program, way, 3, 61);
  ranks::Ranks& all = create(3);
  world().gemm_stamps = true;
  all.on_all(
      [](int, ranks::Rank& mine) { mine.result = tilepost_op_record_timeline(mine.setup.op); });
  check();
  world().reset_calls();
  all.run_mixed();
  check();
  CHECK(count_calls("stamp user") > 0);
  const bool beside = !way.tasks && !way.whole_run && !way.gathers();
  CHECK((count_calls("stamp own") > 7 * 3) == beside);
}
