// The harness's output: one JSON object on each line, for `tilepost bench` to read and for people
// to keep. The first member is always "record", the kind of the object. These are the kinds and
// their other members:
//
//   machine   the machine that is measured on; printed once
//   begin     program; printed when a program begins, and now and then as a sign of life
//   check     program, variant, against, elements, wrong; for variant overlap also out, the
//             kind of the output's memory: "own", the operation's (--lent-output), "registered"
//             (--registered), or "caller's"
//   reference program, mode, what cuBLASLt computes, of how many rows, which of its candidates was
//             the fastest, and the names of that candidate's kernels
//   sample    program, mode, round, us {variant: microseconds per launch}, mhz, watts; for an
//             operation on all ranks us is that of the slowest rank, and ours_of_rank
//             {rank: microseconds} has ours on each rank
//   note      program, text
//   failed    program, text: there is no measurement
//   end       program
#pragma once

#include <string>

namespace tilepost::bench {

class Record {
 public:
  explicit Record(const char* kind);
  // Prints the line.
  ~Record();
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  Record& set(const char* key, const std::string& value);
  Record& set(const char* key, const char* value) { return set(key, std::string(value)); }
  Record& set(const char* key, long long value);
  Record& set(const char* key, int value) { return set(key, static_cast<long long>(value)); }
  Record& set(const char* key, double value);
  Record& begin(const char* key);  // begins an object as the value, which lasts until end()
  Record& end();

 private:
  void add_key(const char* key);
  std::string text_;
};

// The text as a JSON string with its quotes.
std::string quoted(const std::string& text);

}  // namespace tilepost::bench
