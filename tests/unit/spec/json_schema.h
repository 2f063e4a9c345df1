// A validator for the part of JSON Schema that spec_json_schema() uses, written from the standard
// (draft 2020-12) and not from the table of fields.
#pragma once

#include <string>

#include "llvm/Support/JSON.h"

namespace tilepost::test {

// Why `value` does not match `schema`, with the path; "" if it does. A keyword the validator does
// not know is a mismatch too.
std::string mismatch(const llvm::json::Value& value, const llvm::json::Object& schema);

}  // namespace tilepost::test
