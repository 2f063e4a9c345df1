// Calls. A function of the user's is run in place. A call that could store unseen is refused.
#include "generator/infer/interpreter.h"
#include "llvm/ADT/STLExtras.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecordLayout.h"

namespace tilepost::inference {

using clang::cast;
using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// Whether the function is CUDA's, the standard library's or Clang's own.
bool Interpreter::is_foreign(const clang::FunctionDecl* function) const {
  return function->getBuiltinID() != 0 || function->isImplicit() ||
         is_foreign(function->getLocation());
}

bool Interpreter::is_foreign(Where declared) const {
  const Where where = parsed_.sm.getExpansionLoc(declared);
  if (parsed_.sm.isInMainFile(where)) return false;
  const StringRef file = parsed_.sm.getFilename(where);
  for (const std::string& library : launch_.libraries)
    if (file.starts_with(library)) return false;
  if (parsed_.sm.isInSystemHeader(where)) return true;
  return file.starts_with("/prelude/") || file.starts_with(kStubFolder) ||
         file.starts_with(kAddedFolder);
}

// Whether a class or an enumeration of the user's is in the type.
bool Interpreter::has_user_type(Type type, int depth) const {
  while (type->isPointerType() || type->isReferenceType()) type = type->getPointeeType();
  const clang::TagDecl* tag = parsed_.ast.getBaseElementType(type)->getAsTagDecl();
  if (!tag) return false;
  if (!is_foreign(tag->getLocation())) return true;
  const auto* made = dyn_cast<clang::ClassTemplateSpecializationDecl>(tag);
  constexpr int kMaxDepth = 8;
  return made && (depth > kMaxDepth || has_user_type(made->getTemplateArgs().asArray(), depth + 1));
}

bool Interpreter::has_user_type(llvm::ArrayRef<clang::TemplateArgument> arguments,
                                int depth) const {
  return llvm::any_of(arguments, [&](const clang::TemplateArgument& argument) {
    if (argument.getKind() == clang::TemplateArgument::Pack)
      return has_user_type(argument.pack_elements(), depth);
    return argument.getKind() == clang::TemplateArgument::Type &&
           has_user_type(argument.getAsType(), depth);
  });
}

// Whether a function that is not the user's may call the user's code: a function that the compiler
// makes for a class, or a template that was given a type of the user's.
bool Interpreter::acts_for_user(const clang::FunctionDecl* function) const {
  if (function->isImplicit()) return true;
  if (function->getBuiltinID() != 0) return false;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  const clang::TemplateArgumentList* given = function->getTemplateSpecializationArgs();
  return (given && has_user_type(given->asArray())) ||
         (method && has_user_type(parsed_.ast.getRecordType(method->getParent()))) ||
         llvm::any_of(function->parameters(), [&](const clang::ParmVarDecl* parameter) {
           return has_user_type(parameter->getType());
         });
}

// Enters a call. The same call site in the same frame gets the same frame number, so that its
// variables are the same objects each time.
void Interpreter::enter(const clang::FunctionDecl* function, const void* site, Value self) {
  const uint32_t parent = frames_.empty() ? 0 : frames_.back().id;
  const auto id = static_cast<uint32_t>(frame_ids_.size() + 1);
  Frame frame;
  frame.id = frame_ids_.try_emplace({parent, site}, id).first->second;
  frame.function = function;
  frame.facts = facts_.size();
  frame.self = self;
  frame.returned = frame.broken = frame.continued = nodes.constant(0);
  frames_.push_back(frame);
  if (!function->getReturnType()->isRecordType()) return;
  const auto [at, is_new] = variables_.try_emplace({frame.id, function}, 0);
  if (is_new) at->second = memory_.add("");
  memory_.begin(at->second, facts_.size());
  frames_.back().result_object = at->second;
}

void Interpreter::leave() {
  pop_facts(frames_.back().facts);
  frames_.pop_back();
}

// Gives a parameter of the entered call its value. For a reference this is the place.
void Interpreter::bind(const clang::ParmVarDecl* parameter, Value value, Where where) {
  const auto [at, is_new] = variables_.try_emplace({frames_.back().id, parameter}, 0);
  if (is_new) at->second = memory_.add(parameter->getNameAsString());
  memory_.begin(at->second, facts_.size());
  const Value target = pointer_to(at->second);
  const Type type = parameter->getType();
  if (type->isReferenceType()) {
    store_variable(target, value, parsed_.ast.getPointerType(type.getNonReferenceType()), where);
  } else if (type->isRecordType()) {
    copy_record(target, value, size_of(type), where);
  } else {
    store_variable(target, value, type, where);
  }
}

// The function that is called. For a virtual one it is null, after a refusal, if the class of the
// object cannot be seen.
const clang::FunctionDecl* Interpreter::called_by(const clang::CallExpr* e,
                                                  const clang::FunctionDecl* function) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (!method || !method->isVirtual()) return function;
  const auto* member = dyn_cast<clang::MemberExpr>(e->getCallee()->IgnoreParens());
  if (member && !member->performsVirtualDispatch(parsed_.ast.getLangOpts())) return function;
  const clang::Expr* object = member ? member->getBase() : e->getArg(0);
  if (const clang::CXXMethodDecl* only = method->getDevirtualizedMethod(object, false)) return only;
  complain(e->getExprLoc(),
           "'" + method->getNameAsString() +
               "' is virtual, and which of its kind is called here cannot be seen",
           e->getExprLoc(), "call it by its class, or make it final");
  return nullptr;
}

// Refuses operands with side effects of builtin functions that need not evaluate their operands.
bool Interpreter::drops_effects(const clang::CallExpr* e, const clang::FunctionDecl* function) {
  const unsigned builtin = function->getBuiltinID();
  const bool asks = builtin != 0 && (parsed_.ast.BuiltinInfo.isUnevaluated(builtin) ||
                                     function->getName() == "__builtin_assume" ||
                                     function->getName() == "__assume");
  if (!asks) return false;
  for (const clang::Expr* operand : e->arguments()) {
    if (!operand->HasSideEffects(parsed_.ast)) continue;
    complain(operand->getExprLoc(),
             "'" + function->getNameAsString() + "' need not do what stands in its brackets",
             operand->getExprLoc(), "do it in front of the call");
    return true;
  }
  return false;
}

Value Interpreter::call(const clang::CallExpr* e) {
  const Where where = e->getExprLoc();
  const clang::FunctionDecl* function = e->getDirectCallee();
  if (isa<clang::CUDAKernelCallExpr>(e)) {
    complain(where, "a kernel is launched here, and its stores cannot be seen");
    return {};
  }
  if (!function) {
    complain(where, "a function is called through a pointer here, and its stores cannot be seen",
             where,
             "call it by its name, give it as a template argument, or mark the kernel: "
             "tilepost::tile, out_base and tile_done");
    return unknown_value(e->getType(), "a call through a pointer", where);
  }
  if (refused_call(e, function)) return unknown_value(e->getType(), "a call", where);
  function = called_by(e, function);
  if (!function || drops_effects(e, function)) return unknown_value(e->getType(), "a call", where);
  Value known;
  if (known_call(e, function, known)) return known;

  Value self;
  unsigned first = 0;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(e)) {
    const clang::Expr* object = member->getImplicitObjectArgument();
    self = object->getType()->isPointerType() ? eval(object) : address(object);
  } else if (isa<clang::CXXOperatorCallExpr>(e) && method && !method->isStatic()) {
    self = address(e->getArg(0));
    first = 1;
  }
  std::vector<Value> arguments;
  for (unsigned i = first; i < e->getNumArgs(); ++i) {
    const unsigned parameter = i - first;
    const bool reference = parameter < function->getNumParams() &&
                           function->getParamDecl(parameter)->getType()->isReferenceType();
    arguments.push_back(reference ? address(e->getArg(i)) : eval(e->getArg(i)));
  }
  if (stopped()) return {};
  // A trivial assignment, made by the compiler, copies the struct.
  if (method && method->isDefaulted() && method->isTrivial() &&
      (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator())) {
    copy_record(self, arguments[0], size_of(parsed_.ast.getRecordType(method->getParent())), where);
    return self;
  }
  const clang::FunctionDecl* definition = nullptr;
  const bool has_body = function->hasBody(definition) && !definition->isDependentContext();
  bool carries = self.root == Root::output;  // as when half2's operator= is called on an element
  for (size_t i = 0; i < arguments.size(); ++i) {
    carries |= carries_output(arguments[i], e->getArg(static_cast<unsigned>(i) + first)->getType());
  }
  const bool foreign = is_foreign(function);
  // make_uint2 and the like make CUDA's vectors of indices.
  const bool makes = function->getIdentifier() && function->getName().starts_with("make_");
  const bool worth = makes || function->isConstexpr() || carries || function->isInStdNamespace() ||
                     function->isImplicit() || (acts_for_user(function) && called_back(function)) ||
                     (method && self.root == Root::object && function->isInlined() &&
                      e->getType()->isIntegralOrEnumerationType());
  if (has_body && (!foreign || worth)) return inline_call(e, definition, self, arguments);
  return opaque_call(e, function, self, arguments);
}

Value Interpreter::inline_call(const clang::CallExpr* e, const clang::FunctionDecl* function,
                               Value self, const std::vector<Value>& arguments) {
  const Where where = e->getExprLoc();
  const std::string name = function->getNameAsString();
  for (const Frame& frame : frames_) {
    if (frame.function != function) continue;
    complain(where, "'" + name + "' calls itself, and how often cannot be seen", where,
             "write it with a loop");
    return unknown_value(e->getType(), "a recursive call", where);
  }
  if (frames_.size() >= kMaxCalls) {
    complain(where, "more than " + std::to_string(kMaxCalls) + " calls are within each other here");
    return unknown_value(e->getType(), "a call", where);
  }
  enter(function, e, self);
  frames_.back().site = where;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  if (method && method->getParent()->isLambda()) open_lambda(self, where);
  const size_t named = std::min<size_t>(arguments.size(), function->getNumParams());
  for (size_t i = 0; i < named; ++i) bind(function->getParamDecl(i), arguments[i], where);
  if (function->isVariadic()) {
    for (size_t i = named; i < arguments.size(); ++i) {
      if (arguments[i].root == Root::output)
        complain(where, "the output pointer goes into '" + name + "'");
    }
  }
  exec(function->getBody());
  const Frame frame = frames_.back();
  leave();
  if (frame.has_result) return frame.result;
  if (e->getType()->isVoidType()) return {};
  if (e->getType()->isRecordType()) return pointer_to(frame.result_object);
  return unknown_value(e->getType(), "the result of '" + name + "'", where);
}

// The user's function that a header's function calls, if it does more than compute; else null.
const clang::FunctionDecl* Interpreter::called_back(const clang::FunctionDecl* function) {
  return hidden_stores_.called_back_by(
      function, [&](const clang::FunctionDecl* one) { return is_foreign(one); });
}

// Refuses a header's function that is not run if it calls the user's code, which would not be run
// either.
bool Interpreter::refused_callback(Where where, const clang::FunctionDecl* function) {
  const clang::FunctionDecl* user = called_back(function);
  if (!user) return false;
  complain(where,
           "'" + function->getNameAsString() +
               "' calls code of this file back, and what that does besides computing is not "
               "followed",
           user->getLocation(), "call this in the kernel, with a loop or an if around it");
  return true;
}

// A function whose body is not seen may read and store where an argument points, and where pointers
// in an object that it is given point.
void Interpreter::hand_over(const std::string& name, Value value, Type type, Type declared,
                            Where where) {
  const bool indirect = declared->isPointerType() || declared->isReferenceType();
  const bool constant = indirect && declared->getPointeeType().isConstQualified();
  const bool numbers = name == "printf" || name == "vprintf";
  if (numbers || (indirect && follows_null(value, "may read or store through", where))) return;
  const bool object = value.root == Root::object && (indirect || type->isRecordType());
  const bool astray = value.root == Root::other || value.root == Root::unknown;
  if (carries_output(value, type) || (object && memory_.holds_output(value.object))) {
    complain(where, "the output pointer goes into '" + name + "', whose stores are not visible",
             where, "store with an assignment here, or mark the kernel");
  } else if (value.root == Root::output && !constant) {
    complain(where, "the output goes into '" + name + "', whose stores are not visible", where,
             "store with an assignment here, or mark the kernel");
  } else if (value.root == Root::output) {
    read_somewhere(where);
  } else if ((indirect && !constant && astray) || (object && memory_.holds_astray(value.object))) {
    complain(where, "'" + name +
                        "' may store through a pointer that is not the output, or that "
                        "may point anywhere");
  } else if (indirect && !constant) {
    forget(value);
  }
}

// A call of a function whose body is not seen. CUDA's own functions store only where their
// arguments point.
Value Interpreter::opaque_call(const clang::CallExpr* e, const clang::FunctionDecl* function,
                               Value self, const std::vector<Value>& arguments) {
  const Where where = e->getExprLoc();
  const std::string name = function->getNameAsString();
  if (!is_foreign(function)) {
    complain(where, "the body of '" + name + "' is not in this file, and its stores cannot be seen",
             where, "include its definition");
    return unknown_value(e->getType(), "the result of '" + name + "'", where);
  }
  if (hidden_stores_.are_in(function)) {
    complain(where,
             "'" + name +
                 "' stores in bulk: where that goes is in a tensor map or in memory, and "
                 "cannot be seen",
             where, "mark the kernel instead: tilepost::tile, out_coord and tile_done");
    return {};
  }
  if (refused_callback(e->getExprLoc(), function)) return {};
  for (size_t i = 0; i < arguments.size(); ++i) {
    const unsigned shift = e->getNumArgs() - static_cast<unsigned>(arguments.size());
    const Type type = e->getArg(static_cast<unsigned>(i) + shift)->getType();
    hand_over(name, arguments[i], type,
              i < function->getNumParams() ? function->getParamDecl(i)->getType() : type, where);
  }
  if (const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
      method && !method->isStatic()) {
    const Type record = parsed_.ast.getRecordType(method->getParent());
    if (self.root == Root::output && method->isConst())
      read_output(self, size_of(record), where);
    else
      hand_over(name, self, parsed_.ast.VoidPtrTy,
                parsed_.ast.getPointerType(method->isConst() ? record.withConst() : record), where);
  }
  if (e->getType()->isRecordType()) return pointer_to(temporary(e, ""));
  const Type result = function->getReturnType();
  return unknown_value(result, "the result of '" + name + "'", where);
}

// Runs the destructor of a class, at the place where an object is made. When the object really ends
// and what it then holds is not followed. So the destructor may store only into shared memory and
// into the object.
void Interpreter::destroy_later(const clang::CXXRecordDecl* record, Where where) {
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor() || stopped()) return;
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  if (!destructor || (is_foreign(destructor) && !destructor->isImplicit())) return;
  for (const clang::CXXBaseSpecifier& base : record->bases())
    destroy_later(base.getType()->getAsCXXRecordDecl(), where);
  for (const clang::FieldDecl* field : record->fields())
    destroy_later(parsed_.ast.getBaseElementType(field->getType())->getAsCXXRecordDecl(), where);
  if (!destructor->isUserProvided()) return;
  const clang::FunctionDecl* definition = nullptr;
  const std::string name = "the destructor of '" + record->getNameAsString() + "'";
  if (!destructor->hasBody(definition) || definition->isDependentContext())
    return complain(where, name + " is not in this file");
  if (frames_.size() >= kMaxCalls)
    return complain(where, "too many calls are within each other here");
  enter(definition, destructor, pointer_to(memory_.add("what " + name + " ends")));
  const bool outer = std::exchange(in_destructor_, true);
  exec(definition->getBody());
  in_destructor_ = outer;
  leave();
}

void Interpreter::construct(Value target, const clang::CXXConstructExpr* e) {
  const Where where = e->getExprLoc();
  const clang::CXXConstructorDecl* constructor = e->getConstructor();
  const clang::CXXRecordDecl* record = constructor->getParent();
  destroy_later(record, where);
  if (constructor->isTrivial() && constructor->isCopyOrMoveConstructor()) {
    copy_record(target, address(e->getArg(0)), size_of(parsed_.ast.getRecordType(record)), where);
    return;
  }
  if (constructor->isTrivial()) return;
  std::vector<Value> arguments;
  bool carries = false;
  for (unsigned i = 0; i < e->getNumArgs(); ++i) {
    const bool reference = i < constructor->getNumParams() &&
                           constructor->getParamDecl(i)->getType()->isReferenceType();
    arguments.push_back(reference ? address(e->getArg(i)) : eval(e->getArg(i)));
    carries |= carries_output(arguments.back(), e->getArg(i)->getType());
  }
  if (!stopped()) run_constructor(target, constructor, arguments, carries, e);
}

// `using Base::Base;`: the base's constructor gets the arguments of the class's.
void Interpreter::construct_base(Value target, const clang::CXXInheritedCtorInitExpr* e) {
  std::vector<Value> arguments;
  bool carries = false;
  for (const clang::ParmVarDecl* parameter : frames_.back().function->parameters()) {
    const Type type = parameter->getType();
    const Value place = pointer_to(object_of(parameter));
    const Type pointer = parsed_.ast.getPointerType(type.getNonReferenceType());
    arguments.push_back(load(place, type->isReferenceType() ? pointer : type, e->getExprLoc()));
    carries |= carries_output(arguments.back(), type);
  }
  if (!stopped()) run_constructor(target, e->getConstructor(), arguments, carries, e);
}

void Interpreter::run_constructor(Value target, const clang::CXXConstructorDecl* constructor,
                                  const std::vector<Value>& arguments, bool carries,
                                  const clang::Expr* e) {
  const Where where = e->getExprLoc();
  const clang::CXXRecordDecl* record = constructor->getParent();
  const std::string name = record->getNameAsString();
  const clang::FunctionDecl* definition = nullptr;
  const bool has_body = constructor->hasBody(definition) && !definition->isDependentContext();
  const bool foreign =
      is_foreign(constructor) && !constructor->isImplicit() && !acts_for_user(constructor);
  if (record->getNumVBases() > 0)
    return complain(where, "'" + name + "' has a virtual base, and who makes that is not followed");
  if (name == "barrier" || name == "pipeline_shared_state") {
    run_once(where, "a " + name + " is initialised here");
  }
  if (!has_body || (foreign && !carries && !constructor->isConstexpr())) {
    if (refused_callback(where, constructor)) return;
    if (!foreign && !carries)
      complain(where, "the constructor of '" + name + "' is not in this file");
    for (size_t i = 0; i < std::min<size_t>(arguments.size(), constructor->getNumParams()); ++i) {
      const Type declared = constructor->getParamDecl(i)->getType();
      hand_over(name, arguments[i], declared.getNonReferenceType(), declared, where);
    }
    if (target.root == Root::object)
      copy_record(target, {Root::unknown, 0, unknown(name, where)},
                  size_of(parsed_.ast.getRecordType(record)), where);
    return;
  }
  for (const Frame& frame : frames_) {
    if (frame.function == definition) return complain(where, "'" + name + "' constructs itself");
  }
  if (frames_.size() >= kMaxCalls)
    return complain(where, "too many calls are within each other here");
  enter(definition, e, target);
  frames_.back().site = where;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), definition->getNumParams()); ++i) {
    bind(definition->getParamDecl(i), arguments[i], where);
  }
  initialise_parts(target, cast<clang::CXXConstructorDecl>(definition), where);
  exec(definition->getBody());
  leave();
}

// Initialises bases and members as the entered constructor says.
void Interpreter::initialise_parts(Value target, const clang::CXXConstructorDecl* constructor,
                                   Where where) {
  const clang::CXXRecordDecl* record = constructor->getParent();
  for (const clang::CXXCtorInitializer* part : constructor->inits()) {
    const clang::Expr* init = part->getInit();
    if (const clang::FieldDecl* field = part->getMember()) {
      const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
      const Value place = moved(target, nodes.constant(bits / 8));
      if (field->getType()->isReferenceType()) {
        store(place, address(init),
              parsed_.ast.getPointerType(field->getType().getNonReferenceType()), where);
      } else {
        initialise(place, field->getType(), init);
      }
    } else if (part->isBaseInitializer() && !part->isBaseVirtual()) {
      const auto* base = part->getBaseClass()->getAsCXXRecordDecl();
      const auto offset = parsed_.ast.getASTRecordLayout(record).getBaseClassOffset(base);
      initialise(moved(target, nodes.constant(offset.getQuantity())), Type(part->getBaseClass(), 0),
                 init);
    } else {
      initialise(target, parsed_.ast.getRecordType(record), init);
    }
  }
}

}  // namespace tilepost::inference
