// The harness's output: one JSON object a line, for `tilepost bench` to read and for people to
// keep. The first member is always "record", its kind:
//
//   machine   what is measured on, once
//   begin     program; a new program, and now and then a sign of life
//   check     program, variant, against, elements, wrong; of variant overlap also out: "own", which
//             is the operation's memory (--lent-output), "registered" (--registered), or "caller's"
//   reference program, mode, what cuBLASLt computes, of how many rows, which of its candidates was
//             the fastest, and the kernels of that, by name
//   sample    program, mode, round, us {variant: microseconds per launch}, mhz, watts; of an
//             operation on all ranks also ours_of_rank {rank: microseconds of ours}, as us has the
//             slowest rank's
//   note      program, text
//   failed    program, text: no measurement
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
  Record& begin(const char* key);  // an object as value, until end()
  Record& end();

 private:
  void add_key(const char* key);
  std::string text_;
};

// A JSON string with its quotes.
std::string quoted(const std::string& text);

}  // namespace tilepost::bench
