#include "generator/profile/fit/measurement.h"

namespace tilepost {

const std::string& Measurement::text(const std::string& name) const {
  static const std::string none;
  const auto found = texts.find(name);
  return found == texts.end() ? none : found->second;
}

double Measurement::operator[](const std::string& name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second;
}

}  // namespace tilepost
