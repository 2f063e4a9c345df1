#include "runtime/verify/world.h"

namespace tilepost::verify {

void check(tilepost_result_t result, const char* call) {
  if (result == TILEPOST_OK) return;
  throw TargetError(std::string(call) + ": " + tilepost_result_name(result) + ": " +
                    tilepost_last_error());
}

}  // namespace tilepost::verify
