// A validator for the part of JSON Schema that spec_json_schema() uses. It is written from the
// standard (draft 2020-12) and not from the table of fields.
#pragma once

#include <string>

#include "llvm/Support/JSON.h"

namespace tilepost::test {

// Why `value` does not match `schema`, with the path, or "" if it matches. A keyword that the
// validator does not know counts as a mismatch.
std::string mismatch(const llvm::json::Value& value, const llvm::json::Object& schema);

}  // namespace tilepost::test
