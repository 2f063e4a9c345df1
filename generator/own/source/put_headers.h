// Puts the headers of a source's author in place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/one_file.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The header to put in place of an inclusion of `name`, in quotes or in brackets; nothing to leave
// it as it is. One header has one name.
using FindHeader = llvm::function_ref<std::optional<OneFile::File>(
    const OneFile::File& includer, llvm::StringRef name, bool quoted)>;

// Why the headers could not be put in place, and where.
struct OneFileError {
  size_t file = 0, offset = 0;
  std::string what;
};

// Puts the headers that `find` knows into `one`, whose first file is the source, in front of which
// `defines` are defined: "NAME" is 1, "NAME=value" is the value. A header is read wherever it is
// included, as by a preprocessor, and guards itself: by `#pragma once`, or by a macro. False
// after an error, with the files read so far in `one`.
bool put_headers_in_place(OneFile& one, const std::vector<std::string>& defines, FindHeader find,
                          OneFileError& error);

}  // namespace tilepost
