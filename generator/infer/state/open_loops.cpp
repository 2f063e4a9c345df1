#include "generator/infer/state/open_loops.h"

#include <algorithm>

namespace tilepost::inference {

Passed OpenLoops::end_pass() {
  Passed ended = std::move(passed_.back());
  passed_.pop_back();
  return ended;
}

void OpenLoops::note_store(uint32_t object, std::optional<int64_t> offset, int64_t size) {
  for (Passed& passed : passed_) {
    if (offset) {
      int64_t& known = passed.cells[{object, *offset}].size;
      known = std::max(known, size);
    } else {
      passed.objects.insert(object);
    }
  }
}

}  // namespace tilepost::inference
