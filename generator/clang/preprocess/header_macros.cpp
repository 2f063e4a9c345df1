#include "generator/clang/preprocess/header_macros.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// The line of the directive in which a macro's name is at the offset `name`.
StringRef directive_at(const Tokens& tokens, StringRef text, size_t name) {
  const Token* hash = tokens.at(name);
  while (hash && hash->kind != clang::tok::hash) hash = tokens.previous(hash);
  return hash ? text.slice(hash->begin, tokens.end_of_directive(hash->begin)) : "";
}

// Whether headers of CUDA or of the standard library may ask for a macro of this name. They do not
// ask for names in a user's style or for header guards.
bool may_be_asked(StringRef name, StringRef line) {
  const StringRef end = name.rtrim('_');
  const bool guards = line.ends_with(name) &&
                      llvm::any_of(llvm::ArrayRef<StringRef>{"_H", "_HPP", "_HH", "_CUH"},
                                   [&](StringRef last) { return end.ends_with_insensitive(last); });
  return !guards &&
         (name == "NDEBUG" || name.starts_with("_") ||
          llvm::any_of(llvm::ArrayRef<StringRef>{"CUDA", "CCCL", "CUB_", "THRUST_", "NV_"},
                       [&](StringRef first) { return name.starts_with(first); }));
}

}  // namespace

std::vector<std::string> HeaderMacros::lines(const Tokens& tokens, StringRef text,
                                             const Reading& reading) const {
  const auto last = std::ranges::find_if(
      events_.rbegin(), events_.rend(), [](const Event& event) { return !event.included.empty(); });
  std::vector<std::string> found;
  std::set<std::string> since;  // headers since the last macro; a repeated one adds nothing
  bool defines = false, matters = reading.full && !reading.full->include_dirs.empty();
  for (auto event = events_.begin(); event != last.base(); ++event) {
    if (!event->included.empty()) {
      matters |= defines;
      if (event->included != "<tilepost/mark.cuh>" && since.insert(event->included).second)
        found.push_back("#include " + event->included);
      continue;
    }
    const StringRef line = directive_at(tokens, text, event->at);
    const bool asked = asked_.contains(event->macro);
    if (!asked && (reading.full || !may_be_asked(event->macro, line))) continue;
    defines = true;
    since.clear();
    found.push_back(line.str());
  }
  if (!matters) found.clear();
  return found;
}

}  // namespace tilepost
