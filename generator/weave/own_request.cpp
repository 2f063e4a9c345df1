#include "generator/weave/own_request.h"

namespace tilepost {
namespace {

// The pointer that the parameter takes; what it promises of other pointers is the callee's.
std::string pointer(const Parameter& parameter, const std::string& from) {
  std::string type = parameter.type;
  for (size_t at; (at = type.find("__restrict")) != std::string::npos;) type.erase(at, 10);
  return "static_cast<" + llvm::StringRef(type).rtrim().str() + ">(" + from + ")";
}

}  // namespace

std::string argument_of(const Parsed& parsed, const OwnRequest& request,
                        const Parameter& parameter) {
  const auto memory = request.memory.find(parameter.name);
  if (memory != request.memory.end()) return pointer(parameter, memory->second);
  const auto found = request.arguments.find(parameter.name);
  if (found != request.arguments.end())
    return "static_cast<" + parameter.type + ">(" + found->second + ")";
  parsed.error(parameter.decl->getLocation(),
               "nothing is given to parameter '" + parameter.name + "'");
  return "";
}

}  // namespace tilepost
