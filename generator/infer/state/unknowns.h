// Values that are not known, and the reasons.
#pragma once

#include <algorithm>
#include <string>

#include "generator/infer/source/names.h"
#include "generator/infer/values/memory.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

NodeId unknown(Nodes& nodes, const std::string& text, Where where, Alike alike = Alike::none);
// An unknown value of the type: a pointer that may point anywhere, or a number.
Value unknown_value(Nodes& nodes, Type type, const std::string& text, Where where,
                    Alike alike = Alike::none);

// Which threads surely agree on both values.
inline Alike alike(const Nodes& nodes, Value a, Value b) {
  return std::min(nodes.alike(a.node), nodes.alike(b.node));
}

// Why the node is lost.
std::string explain(const Nodes& nodes, NodeId lost);
// A loop that was passed over and makes the node's value unknown, or null.
const void* loop_of(const Nodes& nodes, NodeId node);

}  // namespace tilepost::inference
