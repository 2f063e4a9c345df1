// Replaces the inclusions of an author's own headers in a source by the text of the headers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/one_file.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Finds the header to put in place of an inclusion of `name`, in quotes or in brackets. If it finds
// nothing, the inclusion stays as it is. A header must have the same name every time.
using FindHeader = llvm::function_ref<std::optional<OneFile::File>(
    const OneFile::File& includer, llvm::StringRef name, bool quoted)>;

// Why the headers could not be put in place, and where.
struct OneFileError {
  size_t file = 0, offset = 0;
  std::string what;
};

// Puts the headers that `find` finds into `one`, whose first file is the source. `defines` are
// defined in front of the source: "NAME" as 1, "NAME=value" as the value. As in a preprocessor, a
// header is read wherever it is included, and guards itself by `#pragma once` or by a macro.
// Returns false after an error. Then `one` has the files that were read so far.
bool put_headers_in_place(OneFile& one, const std::vector<std::string>& defines, FindHeader find,
                          OneFileError& error);

}  // namespace tilepost
