// A bundle's folder on disk: made whole or not at all, and renewed without touching what is not its
// own.
#pragma once

#include <string>
#include <vector>

#include "generator/emit/emit.h"

namespace tilepost {

// Puts the files of make_bundle into `dir`.
//
// A new folder is made beside its place and then renamed, so it is there whole or not at all. `dir`
// may also be empty, or a bundle already: then files that changed are replaced, files that the old
// list has and the new one does not are removed, and all others are left alone. Refused, with the
// reason: a folder with anything else in it, a file in the way that the old list does not have,
// links in place of folders, and a bundle that another process is writing. A renewal that is cut
// off is completed by the next.
bool write_bundle(const std::string& dir, const std::vector<OutputFile>& files,
                  Diagnostics& diagnostics);

}  // namespace tilepost
