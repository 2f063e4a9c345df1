// How Clang is invoked for a source, and the files that Clang finds.
#pragma once

#include <memory>
#include <string>

#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "generator/clang/reading.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace tilepost {

using Files = llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>;

// `source` under the name that Clang is given, and all files that it may include.
Files make_files(llvm::StringRef source, const Reading& reading);

// The invocation for a reading. Null if Clang does not accept the options. Clang has then reported
// why.
std::shared_ptr<clang::CompilerInvocation> make_invocation(
    const Reading& reading, const Files& files,
    const llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine>& diagnostics);

// A file's name as the user knows it: without a folder that exists only while the source is read.
llvm::StringRef known_name(llvm::StringRef path);

}  // namespace tilepost
