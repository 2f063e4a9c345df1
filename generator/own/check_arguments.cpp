#include "generator/own/check_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "clang/AST/DeclCXX.h"
#include "generator/infer/infer.h"
#include "generator/spec/text.h"
#include "generator/weave/marked/find_marks.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

using llvm::StringRef;

class ArgumentCheck {
 public:
  ArgumentCheck(const Parsed& parsed, const Instance& instance, const Spec& spec,
                const OwnKernel& own, Diagnostics& diagnostics)
      : parsed_(parsed), instance_(instance), spec_(spec), own_(own), diagnostics_(diagnostics) {}

  bool check() {
    const bool launched = own_.spec.launcher.given();
    if (launched && (own_.marked || !find_launcher(parsed_, own_.spec.launcher.value)))
      return own_.marked;
    const int errors = diagnostics_.errors();
    std::vector<std::string_view> names;
    names.reserve(instance_.parameters.size());
    for (const Parameter& parameter : instance_.parameters) names.push_back(parameter.name);
    const std::vector<KernelArgument>& given = own_.spec.arguments.value;
    for (const KernelArgument& argument : given) {
      const auto at = std::ranges::find(names, std::string_view(argument.parameter));
      if (at == names.end())
        diagnostics_.error(
            argument.where,
            fmt::format("{} has no parameter {}{}", quote(own_.spec.function.value),
                        quote(argument.parameter), did_you_mean(argument.parameter, names)));
      else
        check_type(instance_.parameters[static_cast<size_t>(at - names.begin())], argument);
    }
    for (const Parameter& parameter : instance_.parameters)
      if (!launched &&
          std::ranges::find(given, parameter.name, &KernelArgument::parameter) == given.end())
        parsed_.error(parameter.decl->getLocation(),
                      "kernel.arguments gives nothing to parameter '" + parameter.name + "'");
    return diagnostics_.errors() == errors && parsed_.report.ok();
  }

 private:
  // CUDA's 16-bit floating-point types are classes.
  static bool is_short_float(clang::QualType type) {
    const auto* record = type.getCanonicalType()->getAsCXXRecordDecl();
    return record && (record->getName() == "__half" || record->getName() == "__nv_bfloat16");
  }

  void check_type(const Parameter& parameter, const KernelArgument& argument) {
    using Kind = KernelArgument::Kind;
    const clang::QualType type = parameter.decl->getType();
    const bool number = argument.kind == Kind::whole || argument.kind == Kind::real;
    const bool fits =
        number ? type->isArithmeticType() || is_short_float(type) : type->isPointerType();
    const auto* record = type->getAsCXXRecordDecl();
    if (!fits && record && record->getName() == "CUtensorMap_st") {
      parsed_.error(
          parameter.decl->getLocation(),
          "parameter '" + parameter.name +
              "' is a tensor map, by which the kernel stores with TMA; where its tiles go "
              "is said by marks: tilepost::tile, out_coord and tile_done");
      return;
    }
    if (!fits && type->isRecordType() && argument.kind == Kind::out) {
      refuse_structure(parsed_, instance_.function, parameter.decl);
      return;
    }
    if (!fits) {
      parsed_.error(parameter.decl->getLocation(), "parameter '" + parameter.name +
                                                       "' is of type '" + parameter.type +
                                                       "', and kernel.arguments gives it " +
                                                       (number                        ? "a number"
                                                        : argument.kind == Kind::null ? "null"
                                                                                      : "memory"));
      if (is_short_float(type))
        parsed_.note(parameter.decl->getLocation(), "it is a number: give one, such as 1.0");
      else if (type->isRecordType())
        parsed_.note(parameter.decl->getLocation(),
                     "a structure is given by kernel.launcher: leave it out of kernel.arguments");
      return;
    }
    if (number) {
      check_number(parameter, argument);
      return;
    }
    const bool opaque = argument.kind == Kind::b && spec_.gemm.b_is_user;
    if (argument.kind == Kind::null || argument.kind == Kind::user || opaque) return;
    if (type->getPointeeType()->isPointerType()) {
      parsed_.error(parameter.decl->getLocation(),
                    "parameter '" + parameter.name +
                        "' points to pointers, as of a batch, and kernel.arguments gives it the "
                        "matrix itself");
      parsed_.note(
          parameter.decl->getLocation(),
          "an operation is one product: name a kernel that takes its pointers, such as one "
          "that calls the body of this one");
      return;
    }
    const tilepost_dtype_t wanted = argument.kind == Kind::a   ? spec_.gemm.a.value
                                    : argument.kind == Kind::b ? spec_.gemm.b.value
                                                               : spec_.gemm.out.value;
    const clang::QualType pointed = type->getPointeeType();
    const std::string element = pointed.getCanonicalType().getUnqualifiedType().getAsString();
    const auto refuse = [&](const std::string& name) {
      parsed_.error(parameter.decl->getLocation(), "parameter '" + parameter.name + "' points to " +
                                                       name + ", and the spec says " +
                                                       name_of(wanted));
    };
    if (pointed->isSpecificBuiltinType(clang::BuiltinType::SChar)) {
      refuse("whole numbers of 8 bits (" + element + ")");
      note_bytes(parameter, argument);
      return;
    }
    for (const DtypeRow& row : kDtypes)
      if (StringRef(element).ends_with(row.cuda_name) && row.value != wanted) refuse(row.cuda_name);
    // A 32-bit integer type cannot hold a number of 32 bits. Shorter integer types may stand for
    // the bytes of any type.
    if (row_of(wanted).is_wide() && pointed->isIntegerType() &&
        parsed_.ast.getTypeSize(pointed) == 32)
      refuse(element);
  }

  // What a kernel for int8 says instead of a matrix that has another type.
  void note_bytes(const Parameter& parameter, const KernelArgument& argument) {
    using Kind = KernelArgument::Kind;
    const std::string own = argument.kind == Kind::a   ? "kernel.user: {NAME: m * k}"
                            : argument.kind == Kind::b ? "kernel.user: {NAME: n * k}"
                                                       : "";
    parsed_.note(parameter.decl->getLocation(),
                 own.empty() ? "an output of 8 bits is not one of gemm.out's types"
                             : "int8 is no type of gemm's: hand such numbers over as user data, " +
                                   own + " and arguments: {" + parameter.name +
                                   ": user.NAME, …}; bytes of another type are declared as "
                                   "unsigned char or void");
  }

  // Refuses a number that the parameter's integer type cannot hold.
  void check_number(const Parameter& parameter, const KernelArgument& argument) {
    const clang::QualType type = parameter.decl->getType();
    if (!type->isIntegerType()) return;
    const GemmSpec& gemm = spec_.gemm;
    std::string why, given;
    if (argument.kind == KernelArgument::Kind::whole) {
      const int64_t value =
          argument.whole.at({gemm.m.value, gemm.n.value, gemm.k.value}, why).value_or(0);
      const unsigned bits = parsed_.ast.getIntWidth(type);
      const bool fits = type->isSignedIntegerType() ? llvm::isIntN(bits, value)
                                                    : value >= 0 && llvm::isUIntN(bits, value);
      if (!fits) given = fmt::format("{}", value);
    } else {
      given = fmt::format("{}", argument.real);
    }
    if (given.empty()) return;
    diagnostics_.error(
        argument.where,
        fmt::format("kernel.arguments gives {} to parameter {} of type {}, which does not hold it; "
                    "give a whole number that it holds, or change the parameter's type",
                    given, quote(argument.parameter), quote(parameter.type)));
  }

  const Parsed& parsed_;
  const Instance& instance_;
  const Spec& spec_;
  const OwnKernel& own_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool check_arguments(const Parsed& parsed, const Instance& instance, const Spec& spec,
                     const OwnKernel& own, Diagnostics& diagnostics) {
  return ArgumentCheck(parsed, instance, spec, own, diagnostics).check();
}

}  // namespace tilepost
