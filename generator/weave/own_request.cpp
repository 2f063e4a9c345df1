#include "generator/weave/own_request.h"

namespace tilepost {
namespace {

constexpr char kUserType[] = "TilepostUser";

// `from` as a pointer of the parameter's type, without __restrict, which is only the callee's
// promise.
std::string pointer(const Parameter& parameter, const std::string& from) {
  std::string type = parameter.type;
  for (size_t at; (at = type.find("__restrict")) != std::string::npos;) type.erase(at, 10);
  return "static_cast<" + llvm::StringRef(type).rtrim().str() + ">(" + from + ")";
}

}  // namespace

std::string user_type(const OwnRequest& request) {
  if (request.num_user == 0) return "";
  return std::string("// The addresses that tilepost_run_operands_t::user points to.\nstruct ") +
         kUserType + " {\n  void* at[" + std::to_string(request.num_user) + "];\n};\n\n";
}

std::string user_of(int32_t count, const std::string& from) {
  std::string list;
  for (int32_t i = 0; i < count; ++i)
    list += (i > 0 ? ", " : "") + from + "[" + std::to_string(i) + "]";
  return std::string(kUserType) + "{{" + list + "}}";
}

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
