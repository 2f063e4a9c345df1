#include "generator/infer/walk/arguments.h"

namespace tilepost::inference {

void Arguments::bind(const clang::ParmVarDecl* parameter, Value value, Where where) {
  const Value target = pointer_to(frames_.begin(parameter, parameter->getNameAsString()));
  const Type type = parameter->getType();
  if (type->isReferenceType()) {
    storage_.store_variable(target, value, parsed_.ast.getPointerType(type.getNonReferenceType()),
                            where);
  } else if (type->isRecordType()) {
    storage_.copy_record(target, value, types_.size_of(type), where);
  } else {
    storage_.store_variable(target, value, type, where);
  }
}

bool Arguments::refused_callback(Where where, const clang::FunctionDecl* function) {
  const clang::FunctionDecl* user = origins_.called_back(function);
  if (!user) return false;
  course_.complain(
      where,
      "'" + function->getNameAsString() +
          "' calls code of this file back, and what that does besides computing is not "
          "followed",
      user->getLocation(), "call this in the kernel, with a loop or an if around it");
  return true;
}

void Arguments::hand_over(const std::string& name, Value value, Type type, Type declared,
                          Where where) {
  if (value.root == Root::either)
    return forks_.for_each_place(value,
                                 [&](Value one) { hand_over(name, one, type, declared, where); });
  const bool indirect = declared->isPointerType() || declared->isReferenceType();
  const bool constant = indirect && declared->getPointeeType().isConstQualified();
  const bool numbers = name == "printf" || name == "vprintf";
  if (numbers || (indirect && storage_.follows_null(value, "may read or store through", where)))
    return;
  const bool object = value.root == Root::object && (indirect || type->isRecordType());
  const bool astray = value.root == Root::other || value.root == Root::unknown;
  if (storage_.carries_output(value, type) || (object && memory_.holds_output(value.object))) {
    course_.complain(where,
                     "the output pointer goes into '" + name + "', whose stores are not visible",
                     where, "store with an assignment here, or mark the kernel");
  } else if (value.root == Root::output && !constant) {
    course_.complain(where, "the output goes into '" + name + "', whose stores are not visible",
                     where, "store with an assignment here, or mark the kernel");
  } else if (value.root == Root::output) {
    output_.read_somewhere(where);
  } else if ((indirect && !constant && astray) || (object && memory_.holds_astray(value.object))) {
    course_.complain(where, "'" + name +
                                "' may store through a pointer that is not the output, or that "
                                "may point anywhere");
  } else if (indirect && !constant) {
    storage_.forget(value);
  }
}

}  // namespace tilepost::inference
