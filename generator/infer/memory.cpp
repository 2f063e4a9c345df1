#include "generator/infer/memory.h"

namespace tilepost::inference {

std::optional<Value> Memory::read(uint32_t id, int64_t offset, int64_t size) const {
  const auto& cells = objects_[id].cells;
  const auto cell = cells.find(offset);
  if (cell == cells.end() || cell->second.size != size) return std::nullopt;
  return cell->second.value;
}

void Memory::write(uint32_t id, int64_t offset, int64_t size, Value value) {
  forget(id, offset, size);
  objects_[id].cells[offset] = {size, value};
  objects_[id].held_output |= value.root == Root::output;
}

void Memory::forget(uint32_t id, int64_t offset, int64_t size) {
  auto& cells = objects_[id].cells;
  for (auto cell = cells.begin(); cell != cells.end();) {
    const bool apart = cell->first + cell->second.size <= offset || offset + size <= cell->first;
    cell = apart ? std::next(cell) : cells.erase(cell);
  }
}

bool Memory::holds_output(uint32_t id, int64_t offset, int64_t size) const {
  for (const auto& [at, cell] : objects_[id].cells) {
    const bool apart = at + cell.size <= offset || offset + size <= at;
    if (!apart && cell.value.root == Root::output) return true;
  }
  return false;
}

}  // namespace tilepost::inference
