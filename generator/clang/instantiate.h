// Finds the function that a reading asks for, as the parse has instantiated it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/diagnostics.h"

namespace tilepost {

// A parameter of the instantiation. Types are spelled without typedefs and template parameters, so
// that code behind the user's declarations, in the same namespace, can use the types.
struct Parameter {
  std::string name;            // "argument2" if the parameter has no name
  std::string type;            // "const float *__restrict", without a const of the parameter itself
  std::string declared;        // the type with the name: "const float *__restrict a"
  bool grid_constant = false;  // whether the parameter is declared __grid_constant__
  const clang::ParmVarDecl* decl = nullptr;
};

struct Instance {
  // The function's definition. For a template this is the definition of the instantiation, which
  // an analysis walks.
  const clang::FunctionDecl* function = nullptr;
  // The function as the user wrote it. For a template this is the pattern. For a plain function it
  // is the same as `function`.
  const clang::FunctionDecl* written = nullptr;
  std::vector<Parameter> parameters;
};

// The function that `reading.asked` names, with the namespaces, template arguments and functions
// that the parse knows. Refuses a function that is not defined, that is no kernel in a CUDA source,
// or that has a parameter of a type without a name. Then it returns nothing.
std::optional<Instance> find_instance(const Parsed& parsed, const Reading& reading);

// Reads a kernel's file within the limits of limits.h, finds the function that `reading` asks for
// and hands both to `use`. Reports every refusal at its place. Returns whether neither this
// function nor `use` has refused anything. If the same source is read again in the same way, it is
// not parsed again. Not thread-safe.
bool read_function(const OneFile& source, const Reading& reading, Diagnostics& diagnostics,
                   llvm::function_ref<void(Parsed&, const Instance&)> use);

// The function that `reading.asked` names, even if find_instance() would refuse it; null if the
// parse found none.
const clang::FunctionDecl* function_asked_for(const Parsed& parsed);

// The variable behind the source that asks for the function; null if the parse found none with a
// value.
const clang::VarDecl* asking_variable(const Parsed& parsed);

// Whether `asked` can name a function: it has only identifiers, :: and template arguments. If not,
// reports an error. Must be called before parse(), which puts `asked` into the code as it is.
bool check_asked(llvm::StringRef asked, Report& report);

}  // namespace tilepost
