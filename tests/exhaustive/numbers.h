// The numbers that ranks of a world compute.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace tilepost::test {

using Number = uint64_t;
constexpr Number kNever = 0xdeadbeefdeadbeef;  // memory that nothing was written to
constexpr Number kAnything = 0x0123456789abcdef;

// Element (m, n) of a rank's product or of its A. Sums over different ranks differ modulo 2^64,
// too.
inline Number number(int rank, int64_t m, int64_t n) {
  const Number weight = (Number{0x9e3779b97f4a7c15} * (rank + 1)) | 1;
  return (static_cast<Number>(m) * 1000003 + n + 1) * weight;
}

// The first fault that was found.
class Fault {
 public:
  template <class... Words>
  void say(const Words&... words) {
    if (!text_.empty()) return;
    std::ostringstream text;
    (text << ... << words);
    text_ = text.str();
  }
  const std::string& text() const { return text_; }
  bool none() const { return text_.empty(); }

 private:
  std::string text_;
};

}  // namespace tilepost::test
