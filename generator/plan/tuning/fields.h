// Every field of an entry of a tuning file: its name and bounds, once. Code that reads or writes an
// entry visits the fields in this order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generator/plan/tuning/entry.h"
#include "generator/spec/names.h"

namespace tilepost {

// Visits each field. A visitor may change the values.
class TuningVisitor {
 public:
  virtual ~TuningVisitor() = default;

  // The fields up to the matching end() are of a section of this name.
  virtual void begin(const char* name) = 0;
  virtual void end() = 0;

  virtual void text(const char* name, std::string& value) = 0;
  virtual void truth(const char* name, bool& value) = 0;
  virtual void number(const char* name, int64_t& value, int64_t least, int64_t most) = 0;
  // A time, us.
  virtual void time(const char* name, double& value) = 0;
  // One of the spellings.
  virtual void word(const char* name, int& value, std::span<const Spelling> spellings) = 0;
  // A set of the spellings, whose values are bits.
  virtual void words(const char* name, int& value, std::span<const Spelling> spellings) = 0;
  // Numbers from 0, at least one.
  virtual void list(const char* name, std::vector<int32_t>& value) = 0;
  // Choices, each with the fields of visit_measured; at least one.
  virtual void measured(const char* name, std::vector<MeasuredChoice>& value) = 0;
};

void visit_entry(TuningVisitor& visitor, TuningEntry& entry);
void visit_measured(TuningVisitor& visitor, MeasuredChoice& choice);

}  // namespace tilepost
