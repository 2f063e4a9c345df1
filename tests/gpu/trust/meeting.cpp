#include "tests/gpu/trust/meeting.h"

#include <atomic>
#include <condition_variable>
#include <sstream>
#include <thread>

namespace gpu_test {

struct ThreadMeeting::Watch {
  std::atomic<int64_t> meetings{0};
  std::mutex mutex;
  std::condition_variable over;
  bool ended = false;
  std::thread thread;

  void run(double patience) {
    int64_t seen = -1;
    auto since = Clock::now();
    std::unique_lock lock(mutex);
    while (!over.wait_for(lock, std::chrono::milliseconds(200), [this] { return ended; })) {
      if (meetings != seen) since = Clock::now();
      seen = meetings;
      if (seconds_since(since) > patience)
        die(__FILE__, __LINE__, "ranks have not met for " + in_text(patience) + " s: a hang");
    }
  }
};

ThreadMeeting::ThreadMeeting(Ranks& ranks, Report& report, double patience)
    : ranks_(ranks), report_(report), watch_(std::make_unique<Watch>()) {
  watch_->thread = std::thread([this, patience] { watch_->run(patience); });
}

ThreadMeeting::~ThreadMeeting() {
  {
    const std::lock_guard lock(watch_->mutex);
    watch_->ended = true;
  }
  watch_->over.notify_all();
  watch_->thread.join();
}

std::string ThreadMeeting::meet(int rank, const std::string& brought) {
  if (rank == 0) word_ = brought;
  ranks_.barrier();
  std::string word = word_;
  ranks_.barrier();  // no rank brings another word before all have read this one
  ++watch_->meetings;
  return word;
}

void ThreadMeeting::row(const std::string& name, const std::string& verdict,
                        const std::vector<std::string>& fields) {
  report_.row(name, verdict, fields);
}

std::string ProcessMeeting::meet(int, const std::string& brought) {
  orders_.answer("meet " + brought);
  return orders_.next().at(0);
}

void ProcessMeeting::row(const std::string& name, const std::string& verdict,
                         const std::vector<std::string>& fields) {
  std::string line = "row\t" + name + "\t" + verdict;
  for (const std::string& field : fields) line += "\t" + field;
  orders_.answer(line);
}

namespace {

void take_row(const std::string& line, Report& report) {
  std::istringstream stream(line);
  std::vector<std::string> fields;
  for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
  report.row(fields.at(1), fields.at(2), {fields.begin() + 3, fields.end()});
}

// The next word of `rank`. Lines for the table that come before it are taken.
std::string next_word(const Children& ranks, int rank, Report& report, double patience) {
  for (;;) {
    const std::string line = expect_answer(ranks, rank, in_seconds(patience), "go on");
    if (line.rfind("row\t", 0) != 0) return line;
    take_row(line, report);
  }
}

}  // namespace

std::string host_meeting(Children& ranks, Report& report, double patience) {
  try {
    for (;;) {
      std::string word;
      size_t done = 0;
      for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
        const std::string said = next_word(ranks, rank, report, patience);
        if (said == "done") ++done;
        if (rank == 0) word = said;
      }
      if (done == ranks.size()) break;
      if (done != 0) return "some ranks are done, and others wait for them";
      for (auto& rank : ranks) rank->order(word.substr(std::string("meet ").size()));
    }
    for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
      if (const std::string end = ranks[rank]->wait_for_end(30); !end.empty())
        return name_of(rank) + " ended by " + end;
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace gpu_test
