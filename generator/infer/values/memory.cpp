#include "generator/infer/values/memory.h"

namespace tilepost::inference {

std::optional<Value> Memory::read(uint32_t id, int64_t offset, int64_t size) const {
  const auto& cells = objects_[id].cells;
  const auto cell = cells.find(offset);
  if (cell == cells.end() || cell->second.size != size) return std::nullopt;
  return cell->second.value;
}

void Memory::write(uint32_t id, int64_t offset, int64_t size, Value value, bool real) {
  erase(id, offset, size);
  objects_[id].cells[offset] = {size, value, real};
  objects_[id].held_output |= value.root == Root::output;
}

void Memory::begin(uint32_t id, size_t facts) {
  Object& object = objects_[id];
  object.facts = facts;
  object.loop = nullptr;
  object.cells.clear();
  object.lost.clear();
}

// Drops cells that overlap with these bytes. All bytes of a cell that is only partly inside of them
// are lost.
void Memory::erase(uint32_t id, int64_t offset, int64_t size) {
  Object& object = objects_[id];
  for (auto cell = object.cells.begin(); cell != object.cells.end();) {
    const int64_t from = cell->first, to = from + cell->second.size;
    const bool apart = to <= offset || offset + size <= from;
    if (!apart && (from < offset || to > offset + size)) object.lost.emplace(from, to);
    cell = apart ? std::next(cell) : object.cells.erase(cell);
  }
}

void Memory::forget(uint32_t id, int64_t offset, int64_t size) {
  erase(id, offset, size);
  objects_[id].lost.emplace(offset, offset + size);
}

bool Memory::is_lost(uint32_t id, int64_t offset, int64_t size) const {
  return std::ranges::any_of(objects_[id].lost, [&](const auto& bytes) {
    return bytes.first < offset + size && offset < bytes.second;
  });
}

bool Memory::holds_astray(uint32_t id) const {
  return std::ranges::any_of(objects_[id].cells, [](const auto& cell) {
    const Root root = cell.second.value.root;
    return root == Root::other || is_uncertain(root);
  });
}

bool Memory::holds_output(uint32_t id, int64_t offset, int64_t size) const {
  for (const auto& [at, cell] : objects_[id].cells) {
    const bool apart = at + cell.size <= offset || offset + size <= at;
    if (!apart && cell.value.root == Root::output) return true;
  }
  return false;
}

}  // namespace tilepost::inference
