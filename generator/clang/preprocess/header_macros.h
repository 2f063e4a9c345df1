// Finds macros of a source that headers ask for. Generated code must define them in front of the
// headers again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "clang/Basic/IdentifierTable.h"
#include "generator/clang/reading.h"
#include "generator/clang/tokens.h"

namespace tilepost {

class HeaderMacros {
 public:
  // Called in the order of the source. `at` is the place of the # of an inclusion, or of the name
  // of a macro that is defined or undefined.
  void include(size_t at, std::string spelled) { events_.push_back({at, std::move(spelled), ""}); }
  void define(size_t at, const clang::IdentifierInfo* name) {
    events_.push_back({at, "", name->getName().str()});
  }
  void ask(const clang::IdentifierInfo* name) { asked_.insert(name->getName().str()); }

  // The lines of Parsed::first. Real headers may ask for more macros than their stand-ins do.
  // Headers of a library may need other headers in front of them.
  std::vector<std::string> lines(const Tokens& tokens, llvm::StringRef text,
                                 const Reading& reading) const;

 private:
  struct Event {
    size_t at;
    std::string included;  // the header; "" if the event is about a macro
    std::string macro;
  };

  std::vector<Event> events_;
  std::set<std::string> asked_;
};

}  // namespace tilepost
