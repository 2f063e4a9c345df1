// Finds constants of the planner's model with which it predicts what was measured.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilepost {

// A constant: where it lies in the value that is fitted, and within which bounds.
template <class Value>
struct FitParameter {
  std::string path;  // of the field in a machine profile
  std::function<double&(Value&)> at;
  double least, most;
};

// What was measured, and how a value predicts it.
template <class Value>
struct Observation {
  double us = 0;
  std::function<double(const Value&)> predict;
  uint64_t group = 0;  // measurements of one problem: all are fitted, or all held out
  double weight = 1;
};

// How far predictions are off, as parts of what was measured.
struct FitError {
  double mean = 0, worst = 0;
  int count = 0;
};

// The search that fit() does, on parameters as a vector: changes one parameter after the other by a
// step in either direction, keeps what lowers the error, and halves the step where neither does.
// Then it goes as far again in the direction in which all of them have moved.
// Starts with steps of `first_step` times each parameter. Returns the least error that it found.
double descend(std::vector<double>& parameters, const std::vector<double>& least,
               const std::vector<double>& most, double first_step,
               const std::function<double(const std::vector<double>&)>& error);

// What an observation counts in the error: between its absolute and its squared error, so that a
// measurement that something disturbed counts little.
double cost_of(double predicted, double measured);

// A fifth of all groups is held out: nothing is fitted to them.
bool is_held_out(uint64_t group);

template <class Value>
FitError error_of(const Value& value, const std::vector<Observation<Value>>& observations,
                  bool held_out) {
  FitError error;
  for (const Observation<Value>& seen : observations) {
    if (is_held_out(seen.group) != held_out) continue;
    const double off = std::abs(seen.predict(value) / seen.us - 1);
    error.mean += off;
    error.worst = off > error.worst ? off : error.worst;
    ++error.count;
  }
  if (error.count > 0) error.mean /= error.count;
  return error;
}

// Changes `value` in the parameters so that it predicts the observations best, but for those held
// out. Returns the error of those held out; of all if there are none.
template <class Value>
FitError fit(Value& value, const std::vector<FitParameter<Value>>& parameters,
             const std::vector<Observation<Value>>& observations) {
  constexpr double kFirstStep = 0.08;
  std::vector<double> at, least, most;
  for (const FitParameter<Value>& parameter : parameters) {
    at.push_back(parameter.at(value));
    least.push_back(parameter.least);
    most.push_back(parameter.most);
  }
  const auto put = [&](const std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) parameters[i].at(value) = values[i];
  };
  descend(at, least, most, kFirstStep, [&](const std::vector<double>& values) {
    put(values);
    double sum = 0;
    for (const Observation<Value>& seen : observations)
      if (!is_held_out(seen.group)) sum += seen.weight * cost_of(seen.predict(value), seen.us);
    return sum;
  });
  put(at);
  const FitError error = error_of(value, observations, true);
  return error.count > 0 ? error : error_of(value, observations, false);
}

}  // namespace tilepost
