// Which state of the sources the tool was built from.
#pragma once

namespace tilepost {

// A git revision, with "-dirty" after it if files had been changed; "" if unknown.
const char* tool_revision();

}  // namespace tilepost
