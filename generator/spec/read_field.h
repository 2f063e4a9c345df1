// One value of the tree becomes one field of the Spec, checked against its row of the table.
#pragma once

#include "generator/spec/fields.h"
#include "generator/spec/value.h"

namespace tilepost {

// Checks `value` against `field` and stores it; reports what is wrong. Not for sections.
void read_field(const Field& field, const Value& value, Spec& spec, Diagnostics& diagnostics);

// Stores the default of a field that was not given, unless it has none or the planner chooses it.
void store_default(const Field& field, Spec& spec);

}  // namespace tilepost
