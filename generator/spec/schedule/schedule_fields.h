// The rows of the table of fields that describe the schedule.
#pragma once

#include "generator/spec/fields.h"

namespace tilepost {

// The choice that a field of one word has made.
template <class E>
E choice_of(const FieldValue& reading) {
  return static_cast<E>(reading.choices.front());
}

// choice_of() for a field that takes `auto`. Returns nothing for `auto`: then the planner chooses.
template <class E>
std::optional<E> choice_or_auto(const FieldValue& reading) {
  if (reading.choices.front() == kAuto) return std::nullopt;
  return choice_of<E>(reading);
}

// The section `schedule` and the fields in it.
std::span<const Field> schedule_fields();

}  // namespace tilepost
