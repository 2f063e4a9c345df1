// The manifest of a catalogue (generator/program/catalogue.h says what it is).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The file of each kernel, by the key of its variant.
using ManifestFiles = std::map<std::string, std::string>;

// The text of a manifest of this version.
std::string write_manifest(const ManifestFiles& files);

// The files of a manifest of this version; nothing if the text is none.
std::optional<ManifestFiles> read_manifest(llvm::StringRef text);

}  // namespace tilepost
