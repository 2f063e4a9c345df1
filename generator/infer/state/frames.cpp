#include "generator/infer/state/frames.h"

#include <algorithm>

namespace tilepost::inference {

uint32_t Frames::object_of(const clang::ValueDecl* variable) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const auto at = objects_.find({frame->id, variable});
    if (at != objects_.end()) return at->second;
  }
  const uint32_t object = memory_.add(variable->getNameAsString());
  memory_.begin(object, facts_.size());
  objects_[{frames_.back().id, variable}] = object;
  return object;
}

uint32_t Frames::begin(const void* maker, const std::string& name) {
  const auto [at, is_new] = objects_.try_emplace({frames_.back().id, maker}, 0);
  if (is_new) at->second = memory_.add(name);
  memory_.begin(at->second, facts_.size());
  return at->second;
}

void Frames::enter(const clang::FunctionDecl* function, const void* site, Value self) {
  const uint32_t parent = frames_.empty() ? 0 : frames_.back().id;
  const auto id = static_cast<uint32_t>(ids_.size() + 1);
  Frame frame;
  frame.id = ids_.try_emplace({parent, site}, id).first->second;
  frame.function = function;
  frame.facts = facts_.size();
  frame.self = self;
  frame.returned = frame.broken = frame.continued = nodes_.constant(0);
  frames_.push_back(frame);
  if (!function->getReturnType()->isRecordType()) return;
  frames_.back().result_object = begin(function, "");
}

void Frames::leave() {
  facts_.pop(frames_.back().facts);
  frames_.pop_back();
}

Where Frames::in_source(Where where) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && !parsed_.expanded(where); ++frame)
    where = frame->site;
  return where;
}

NodeId Frames::gone() const {
  const Frame& frame = frames_.back();
  return nodes_.either(frame.returned, nodes_.either(frame.broken, frame.continued));
}

bool Frames::run(const clang::FunctionDecl* function) const {
  return std::ranges::any_of(frames_,
                             [&](const Frame& frame) { return frame.function == function; });
}

}  // namespace tilepost::inference
