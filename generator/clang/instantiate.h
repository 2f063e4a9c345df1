// The function asked for, as the parse has instantiated it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/diagnostics.h"

namespace tilepost {

// A parameter of the instantiation. Types are spelled without typedefs and template parameters, so
// that they can be written behind the user's declarations, in the namespace that these are in.
struct Parameter {
  std::string name;            // "argument2" if it has none
  std::string type;            // "const float *__restrict", no const of the parameter's own
  std::string declared;        // the same with the name: "const float *__restrict a"
  bool grid_constant = false;  // written __grid_constant__
  const clang::ParmVarDecl* decl = nullptr;
};

struct Instance {
  // Its definition; of a template the instantiation's, which is what an analysis walks.
  const clang::FunctionDecl* function = nullptr;
  // As the user wrote it: of a template the pattern. The same as `function` for a plain function.
  const clang::FunctionDecl* written = nullptr;
  std::vector<Parameter> parameters;
};

// The function that `reading.asked` of the parse names: namespaces, template arguments and
// functions that the parse knows. Refuses one that is not defined, is no kernel in a CUDA source,
// or that takes what has no name to write; then it is nothing.
std::optional<Instance> find_instance(const Parsed& parsed, const Reading& reading);

// Reads a kernel's file within the limits of limits.h, finds the function that `reading` asks for
// and hands both to `use`. Reports every refusal at its place; whether there was none, of `use`
// either. What is read again is not parsed again. Not thread-safe.
bool read_function(const OneFile& source, const Reading& reading, Diagnostics& diagnostics,
                   llvm::function_ref<void(Parsed&, const Instance&)> use);

// The declaration that it names, whatever it is; null if the parse found none.
const clang::FunctionDecl* function_asked_for(const Parsed& parsed);

// The variable that asks for it; null if the parse found none with a value.
const clang::VarDecl* asking_variable(const Parsed& parsed);

// Whether `asked` can name a function: identifiers, ::, template arguments. Reports it if not.
// Before parse(): it goes into the code as it is.
bool check_asked(llvm::StringRef asked, Report& report);

}  // namespace tilepost
