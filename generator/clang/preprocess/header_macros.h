// Macros of a source that headers ask for, which have to be defined in front of them again.
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
  // In the order of the source; `at`: of the # of an inclusion, of the name of a macro that is
  // defined or taken back.
  void include(size_t at, std::string spelled) { events_.push_back({at, std::move(spelled), ""}); }
  void define(size_t at, const clang::IdentifierInfo* name) {
    events_.push_back({at, "", name->getName().str()});
  }
  void ask(const clang::IdentifierInfo* name) { asked_.insert(name->getName().str()); }

  // Lines for in front of all else: see Parsed::first. Headers may ask for more than stand-ins for
  // them do, and a library's may need others in front of them.
  std::vector<std::string> lines(const Tokens& tokens, llvm::StringRef text,
                                 const Reading& reading) const;

 private:
  struct Event {
    size_t at;
    std::string included;  // else
    std::string macro;
  };

  std::vector<Event> events_;
  std::set<std::string> asked_;
};

}  // namespace tilepost
