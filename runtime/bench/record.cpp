#include "runtime/bench/record.h"

#include <cstdio>

#include "runtime/harness/text.h"

namespace tilepost::bench {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
      result += harness::format("\\u%04x", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result + "\"";
}

Record::Record(const char* kind) : text_("{") {
  set("record", kind);
}

Record::~Record() {
  std::printf("%s}\n", text_.c_str());
  std::fflush(stdout);
}

void Record::add_key(const char* key) {
  if (text_.back() != '{') text_ += ", ";
  text_ += quoted(key) + ": ";
}

Record& Record::set(const char* key, const std::string& value) {
  add_key(key);
  text_ += quoted(value);
  return *this;
}

Record& Record::set(const char* key, long long value) {
  add_key(key);
  text_ += std::to_string(value);
  return *this;
}

Record& Record::set(const char* key, double value) {
  add_key(key);
  text_ += harness::format("%.6g", value);
  return *this;
}

Record& Record::begin(const char* key) {
  add_key(key);
  text_ += "{";
  return *this;
}

Record& Record::end() {
  text_ += "}";
  return *this;
}

}  // namespace tilepost::bench
