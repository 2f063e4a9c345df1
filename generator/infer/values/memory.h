// The contents of the kernel's variables: numbers and pointers of one thread, as nodes.
//
// A variable is an *object* of bytes. A *cell* is a value at a known place in an object. A store at
// an unknown place makes the whole object unknown. The contents of shared memory, of the kernel's
// inputs and of all other memory are unknown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

// The memory that a pointer points into; a number points nowhere.
enum class Root : uint8_t {
  number,
  output,   // the kernel's output
  object,   // a variable of the thread
  shared,   // shared memory
  other,    // global memory that is not the output
  null,     // no memory, because the launch gives the parameter null
  either,   // one of two places, neither in the output: a condition says which
  unknown,  // any memory, perhaps the output
};

// Whether a pointer with this root may lead to several pieces of memory.
constexpr bool is_uncertain(Root root) {
  return root == Root::either || root == Root::unknown;
}

struct Value {
  Root root = Root::number;
  uint32_t object = 0;  // for Root::object, and for Root::either (the number of its fork)
  NodeId node = 0;      // the number, or the pointer's offset in bytes
  bool operator==(const Value&) const = default;
  bool same_root(const Value& other) const { return root == other.root && object == other.object; }
};

// The place where an object begins.
constexpr Value pointer_to(uint32_t object) {
  return {Root::object, object, 0};
}

struct Cell {
  int64_t size;
  Value value;
  bool real = false;  // whether the value is a floating-point number
};

// The cells of one object, by their offset.
struct Object {
  std::string name;            // of the variable, for messages
  size_t facts = 0;            // how many facts held when the object's life began
  const void* loop = nullptr;  // the loop that made cells unknown, or null
  bool held_output = false;    // whether a pointer into the output was ever stored here
  bool is_parameter = false;   // whether this is memory that a pointer parameter points to
  std::map<int64_t, Cell> cells;
  std::set<std::pair<int64_t, int64_t>> lost;  // [from, to) of bytes set to unknown values
};

class Memory {
 public:
  static constexpr int64_t kAll = INT64_MAX / 2;  // more bytes than an object has

  uint32_t add(std::string name) {
    objects_.push_back({std::move(name), 0, nullptr, false, false, {}, {}});
    return static_cast<uint32_t>(objects_.size() - 1);
  }
  Object& operator[](uint32_t id) { return objects_[id]; }
  const Object& operator[](uint32_t id) const { return objects_[id]; }

  // The value of exactly these bytes, if it is known.
  std::optional<Value> read(uint32_t id, int64_t offset, int64_t size) const;
  void write(uint32_t id, int64_t offset, int64_t size, Value value, bool real = false);
  // Whether the cell at `offset` holds a floating-point number.
  bool is_real(uint32_t id, int64_t offset) const { return objects_[id].cells.at(offset).real; }
  // Begins the object's life without cells. `facts`: how many facts hold.
  void begin(uint32_t id, size_t facts);
  // Sets these bytes to unknown values, and forgets cells that overlap with them.
  void forget(uint32_t id, int64_t offset, int64_t size);
  void forget(uint32_t id) { forget(id, 0, kAll); }
  // Whether any of these bytes was set to an unknown value. Otherwise each byte is known, or was
  // never set.
  bool is_lost(uint32_t id, int64_t offset, int64_t size) const;
  // Whether a cell that overlaps with these bytes points into the output.
  bool holds_output(uint32_t id, int64_t offset = 0, int64_t size = kAll) const;
  // Whether a cell points into global memory that is not the output, or into unknown memory.
  bool holds_astray(uint32_t id) const;

  size_t size() const { return objects_.size(); }
  // Restores the contents that objects had in `earlier`, an older copy of this memory. Objects that
  // were added since keep theirs.
  void restore(const Memory& earlier) {
    std::copy(earlier.objects_.begin(), earlier.objects_.end(), objects_.begin());
  }

 private:
  void erase(uint32_t id, int64_t offset, int64_t size);

  std::vector<Object> objects_;
};

}  // namespace tilepost::inference
