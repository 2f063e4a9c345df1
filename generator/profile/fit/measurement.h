// What the measuring program has measured (runtime/profile/measure.cpp), as numbers with names.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tilepost {

// One record "time": its texts and its numbers, by the names that the record gives them.
struct Measurement {
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;

  // The text or number of this name; "" or 0 if there is none.
  const std::string& text(const std::string& name) const;
  double operator[](const std::string& name) const;
  bool is(const std::string& kind) const { return text("kind") == kind; }
};

// All of them, and why there are none of a step: its name and what went wrong.
struct Measurements {
  std::vector<Measurement> times;
  std::map<std::string, std::string> failed;
  // What the program says of the machine: "gpu", "gpus", "sms", "sm", "driver", …
  Measurement machine;

  int gpus() const { return static_cast<int>(machine["gpus"]); }
  // Those of a kind that satisfy a condition.
  template <class Condition>
  std::vector<const Measurement*> select(const std::string& kind, Condition condition) const {
    std::vector<const Measurement*> selected;
    for (const Measurement& time : times)
      if (time.is(kind) && condition(time)) selected.push_back(&time);
    return selected;
  }
  std::vector<const Measurement*> select(const std::string& kind) const {
    return select(kind, [](const Measurement&) { return true; });
  }
};

}  // namespace tilepost
