#include "generator/bench/revision.h"

namespace tilepost {

const char* tool_revision() {
  return TILEPOST_REVISION;
}

}  // namespace tilepost
