#include "generator/infer/state/unknowns.h"

#include <vector>

namespace tilepost::inference {

NodeId unknown(Nodes& nodes, const std::string& text, Where where, Alike alike) {
  return nodes.unknown({text, where.getRawEncoding(), nullptr, alike});
}

Value unknown_value(Nodes& nodes, Type type, const std::string& text, Where where, Alike alike) {
  const bool pointer = type->isPointerType() || type->isReferenceType();
  return {pointer ? Root::unknown : Root::number, 0, unknown(nodes, text, where, alike)};
}

std::string explain(const Nodes& nodes, NodeId lost) {
  const std::vector<NodeId> unknowns = nodes.unknowns(lost);
  return unknowns.empty() ? "arithmetic that overflows" : nodes.reason(unknowns.front()).text;
}

const void* loop_of(const Nodes& nodes, NodeId node) {
  for (const NodeId lost : nodes.unknowns(node)) {
    if (const void* loop = nodes.reason(lost).loop) return loop;
  }
  return nullptr;
}

}  // namespace tilepost::inference
