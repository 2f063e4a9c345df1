// What a driver prints: a line for each case as it ends, and a table at the end. The same lines go
// into a file, separated by tabs.
//
//   --tsv FILE      appends the lines to FILE
//   --resume FILE   leaves out cases that have passed by FILE, which an earlier call has written
//   --seconds N     begins no case later than N seconds after the start
#pragma once

#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/gpu/gpu_ranks.h"
#include "tests/gpu/trust/child.h"

namespace gpu_test {

class Report {
  static constexpr size_t kWidest = 120;  // columns of the table; lines of the file are never cut

 public:
  // `columns`: those behind driver, case and verdict.
  Report(const Arguments& arguments, std::string driver, std::vector<std::string> columns)
      : driver_(std::move(driver)),
        columns_(std::move(columns)),
        tsv_(arguments.text("tsv", "")),
        seconds_(arguments.number("seconds", 1e9)) {
    std::ifstream earlier(arguments.text("resume", ""));
    for (std::string line; std::getline(earlier, line);)
      if (const size_t end = line.find("\tPASS\t"); end != std::string::npos)
        passed_.insert(line.substr(0, end));
  }

  double seconds_left() const { return seconds_ - seconds_since(begin_); }

  // Whether the case has to be run now.
  bool is_due(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (passed_.count(driver_ + "\t" + name) != 0) return ++resumed_, false;
    if (seconds_left() < 0) return ++left_, false;
    return true;
  }

  // Adds a line. `fields` must be as many as the columns.
  void row(const std::string& name, const std::string& verdict, std::vector<std::string> fields) {
    const std::lock_guard lock(mutex_);
    fields.insert(fields.begin(), {name, verdict});
    std::string line = driver_;
    for (std::string& field : fields) {
      for (char& byte : field)
        if (byte == '\t' || byte == '\n') byte = ' ';
      line += "\t" + field;
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    if (!tsv_.empty()) std::ofstream(tsv_, std::ios::app) << line << "\n";
    rows_.push_back(std::move(fields));
  }

  // Prints the table. Returns the exit code of the driver.
  int finish() const {
    std::vector<std::vector<std::string>> table = rows_;
    for (auto& row : table)
      for (std::string& field : row)
        if (field.size() > kWidest) field = field.substr(0, kWidest) + "...";
    std::vector<std::string> head = {"case", "verdict"};
    head.insert(head.end(), columns_.begin(), columns_.end());
    table.insert(table.begin(), head);
    std::vector<size_t> widths(head.size(), 0);
    for (const auto& row : table)
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::printf("\n");
    int passed = 0, failed = 0;
    for (const auto& row : table) {
      for (size_t i = 0; i < row.size(); ++i)
        std::printf("%-*s%s", i + 1 < row.size() ? static_cast<int>(widths[i]) : 0, row[i].c_str(),
                    i + 1 < row.size() ? "  " : "\n");
      passed += row[1] == "PASS";
      failed += row[1] == "FAIL";
    }
    std::printf("# %s: %d passed, %d failed, %d passed earlier, %d left for want of time; %.0f s\n",
                driver_.c_str(), passed, failed, resumed_, left_, seconds_since(begin_));
    std::fflush(stdout);
    if (failed != 0) return 1;
    return passed + resumed_ == 0 ? kSkipped : 0;
  }

 private:
  std::string driver_;
  std::vector<std::string> columns_;
  std::string tsv_;
  double seconds_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::set<std::string> passed_;
  int resumed_ = 0, left_ = 0;
  std::vector<std::vector<std::string>> rows_;
};

inline std::string in_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

inline std::string described(const tilepost::Status& status) {
  return std::string(status.name()) + ": " + status.text();
}

}  // namespace gpu_test
