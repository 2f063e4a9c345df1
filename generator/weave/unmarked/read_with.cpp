#include "generator/weave/unmarked/read_with.h"

#include "generator/clang/toolkit.h"
#include "generator/one_file.h"
#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

using llvm::StringRef;
using From = ForeignMacro::From;
using Use = ForeignMacro::Use;

// Whether lines that depend on this macro depend on the architecture. The macros of <nv/target>
// choose lines by architecture too.
bool is_arch(StringRef name) {
  return name.starts_with("__CUDA_ARCH") || name.starts_with("NV_");
}

// Whether the macro is a version of the toolkit. Generated code may be compiled with another
// toolkit.
bool is_version(StringRef name) {
  return name.starts_with("__CUDACC_VER") || name == "CUDART_VERSION" || name == "CUDA_VERSION" ||
         name == "__CUDA_API_VERSION";
}

// Whether full mode defines this macro of the version. It does not define the build number, because
// the toolkit's headers do not have it.
bool is_known_version(StringRef name) {
  return name == "__CUDACC_VER_MAJOR__" || name == "__CUDACC_VER_MINOR__";
}

// Whether the macro is the same wherever generated code is compiled as when the kernel was read.
bool is_same_everywhere(const ForeignMacro& macro) {
  if (macro.use == Use::expansion)
    return macro.name == "_Pragma" || !macro.written ||
           (macro.from == From::header && !is_version(macro.name));
  const bool compiles_cuda = macro.name == "__CUDACC__" || macro.name == "__NVCC__" ||
                             (macro.name == "__cplusplus" && macro.use == Use::definition);
  return compiles_cuda && macro.from != From::nobody;
}

}  // namespace

ReadWith check_foreign_macros(const Parsed& parsed, const Pieces& pieces, bool one_arch) {
  ReadWith read_with;
  for (const ForeignMacro& macro : parsed.foreign_macros) {
    if (!pieces.kept(macro.at) || macro.name.starts_with(kHeaderGuard)) continue;
    const Token* const token = parsed.tokens.at(macro.at);
    const Range where = {macro.at, token ? token->end : macro.at};
    const std::string name = "'" + macro.name.str() + "'";
    if (is_arch(macro.name)) {
      read_with.arch = true;
      if (!one_arch)
        parsed.error_at(where, "the kernel depends on the architecture here, by " + name +
                                   ", and the spec has several; write a spec for each arch");
    } else if (is_same_everywhere(macro)) {
      continue;
    } else if (is_known_version(macro.name) && macro.from == From::compiler &&
               macro.use != Use::expansion) {
      read_with.version = true;
    } else if (macro.use == Use::expansion) {
      parsed.error_at(where, "the kernel has the value of " + name +
                                 " in it, which may be another when generated code is compiled; "
                                 "write the value out");
    } else if (macro.from == From::nobody && macro.name != "__CUDACC__" &&
               macro.name != "__NVCC__" && !is_version(macro.name)) {
      read_with.undefined.insert(macro.name.str());
    } else {
      parsed.error_at(where, "lines of the kernel depend on " + name +
                                 ", which this file does not define and which may be another when "
                                 "generated code is compiled; keep the lines of one case, or let "
                                 "them depend on a macro that this file defines");
    }
  }
  return read_with;
}

bool asks_for_version(const Parsed& parsed, const Pieces& pieces) {
  return llvm::any_of(parsed.foreign_macros, [&](const ForeignMacro& macro) {
    return macro.use != Use::expansion && is_known_version(macro.name) && pieces.kept(macro.at);
  });
}

std::string guards(const ReadWith& read_with, const Reading& reading, const std::string& kernel) {
  std::string text;
  if (read_with.version && reading.full) {
    const ToolkitVersion version = version_of_toolkit(reading.full->toolkit);
    const std::string major = std::to_string(version.major), minor = std::to_string(version.minor);
    text += "#if __CUDACC_VER_MAJOR__ != " + major + " || __CUDACC_VER_MINOR__ != " + minor +
            "\n#error \"" + kernel + " was generated from lines that are for CUDA " + major + "." +
            minor + ": compile with that, or generate it again with another CUDACXX\"\n#endif\n";
  }
  for (const std::string& name : read_with.undefined)
    text += "#ifdef " + name + "\n#error \"" + kernel + " was generated from lines that are for " +
            name +
            " undefined: compile without it, or define it in the kernel's file and generate "
            "again\"\n#endif\n";
  return text.empty() ? text : text + "\n";
}

}  // namespace tilepost
