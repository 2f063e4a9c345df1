#include "generator/infer/walk/objects.h"

#include "clang/AST/RecordLayout.h"
#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

using clang::cast;
using clang::dyn_cast;

void Objects::initialise(Value target, Type type, const clang::Expr* init) {
  if (!budget_.step(init->getExprLoc())) return;
  const clang::Expr* plain = init->IgnoreParens();
  if (const auto* clean = dyn_cast<clang::ExprWithCleanups>(plain)) {
    return initialise(target, type, clean->getSubExpr());
  }
  if (const auto* made = dyn_cast<clang::MaterializeTemporaryExpr>(plain)) {
    return initialise(target, type, made->getSubExpr());
  }
  if (const auto* member = dyn_cast<clang::CXXDefaultInitExpr>(plain)) {
    return initialise(target, type, member->getExpr());
  }
  if (const auto* inherited = dyn_cast<clang::CXXInheritedCtorInitExpr>(plain))
    return construct_base(target, inherited);
  if (const auto* made = dyn_cast<clang::CXXConstructExpr>(plain)) {
    if (type->isRecordType()) return construct(target, made);
    // Constructs each element of an array, of any number of dimensions.
    const Type element = parsed_.ast.getBaseElementType(type);
    const int64_t size = std::max<int64_t>(types_.size_of(element), 1);
    destroy_later(element->getAsCXXRecordDecl(), init->getExprLoc());
    if (made->getConstructor()->isTrivial()) return;
    for (int64_t at = 0; at < types_.size_of(type); at += size) {
      if (!budget_.step(init->getExprLoc())) return;
      construct(storage_.moved(target, nodes_.constant(at)), made);
    }
    return;
  }
  if (const auto* list = dyn_cast<clang::InitListExpr>(plain)) {
    // `P q{p}` is a copy of p.
    if (list->isTransparent()) return initialise(target, type, list->getInit(0));
    if (const clang::ArrayType* array = parsed_.ast.getAsArrayType(type)) {
      const int64_t size = types_.size_of(array->getElementType());
      destroy_later(parsed_.ast.getBaseElementType(type)->getAsCXXRecordDecl(), init->getExprLoc());
      for (unsigned i = 0; i < list->getNumInits(); ++i) {
        initialise(storage_.moved(target, nodes_.constant(i * size)), array->getElementType(),
                   list->getInit(i));
      }
      return;
    }
    if (const clang::RecordDecl* record = type->getAsRecordDecl()) {
      destroy_later(dyn_cast<clang::CXXRecordDecl>(record), init->getExprLoc());
      unsigned next = 0;
      if (const auto* derived = dyn_cast<clang::CXXRecordDecl>(record)) {
        for (const auto& base : derived->bases()) {
          if (next >= list->getNumInits()) return;
          const auto offset = parsed_.ast.getASTRecordLayout(record).getBaseClassOffset(
              base.getType()->getAsCXXRecordDecl());
          initialise(storage_.moved(target, nodes_.constant(offset.getQuantity())), base.getType(),
                     list->getInit(next++));
        }
      }
      for (const clang::FieldDecl* field : record->fields()) {
        if (record->isUnion() && field != list->getInitializedFieldInUnion()) continue;
        if (next >= list->getNumInits()) return;
        if (field->isUnnamedBitField()) continue;
        const clang::Expr* value = list->getInit(next++);
        const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
        const Value place = storage_.moved(target, nodes_.constant(bits / 8));
        if (field->isBitField()) {
          walker_.eval(value);
        } else if (field->getType()->isReferenceType()) {
          const Type pointer = parsed_.ast.getPointerType(field->getType().getNonReferenceType());
          storage_.store(place, walker_.address(value), pointer, value->getExprLoc());
        } else {
          initialise(place, field->getType(), value);
        }
      }
      return;
    }
  }
  const Value value = walker_.eval(init);
  destroy_later(parsed_.ast.getBaseElementType(type)->getAsCXXRecordDecl(), init->getExprLoc());
  if (type->isRecordType()) {
    storage_.copy_record(target, value, types_.size_of(type), init->getExprLoc());
  } else if (!type->isArrayType()) {
    storage_.store(target, value, type, init->getExprLoc());
  }
}

void Objects::destroy_later(const clang::CXXRecordDecl* record, Where where) {
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor() || course_.stopped())
    return;
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  if (!destructor || (origins_.is_foreign(destructor) && !destructor->isImplicit())) return;
  for (const clang::CXXBaseSpecifier& base : record->bases())
    destroy_later(base.getType()->getAsCXXRecordDecl(), where);
  for (const clang::FieldDecl* field : record->fields())
    destroy_later(parsed_.ast.getBaseElementType(field->getType())->getAsCXXRecordDecl(), where);
  if (!destructor->isUserProvided()) return;
  const clang::FunctionDecl* definition = nullptr;
  const std::string name = "the destructor of '" + record->getNameAsString() + "'";
  if (!destructor->hasBody(definition) || definition->isDependentContext())
    return course_.complain(where, name + " is not in this file");
  if (frames_.size() >= kMaxCalls)
    return course_.complain(where, "too many calls are within each other here");
  frames_.enter(definition, destructor, pointer_to(memory_.add("what " + name + " ends")));
  const bool outer = storage_.set_in_destructor(true);
  walker_.exec(definition->getBody());
  storage_.set_in_destructor(outer);
  frames_.leave();
}

void Objects::construct(Value target, const clang::CXXConstructExpr* e) {
  const Where where = e->getExprLoc();
  const clang::CXXConstructorDecl* constructor = e->getConstructor();
  const clang::CXXRecordDecl* record = constructor->getParent();
  destroy_later(record, where);
  if (constructor->isTrivial() && constructor->isCopyOrMoveConstructor()) {
    storage_.copy_record(target, walker_.address(e->getArg(0)),
                         types_.size_of(parsed_.ast.getRecordType(record)), where);
    return;
  }
  if (constructor->isTrivial()) return;
  std::vector<Value> arguments;
  bool carries = false;
  for (unsigned i = 0; i < e->getNumArgs(); ++i) {
    const bool reference = i < constructor->getNumParams() &&
                           constructor->getParamDecl(i)->getType()->isReferenceType();
    arguments.push_back(reference ? walker_.address(e->getArg(i)) : walker_.eval(e->getArg(i)));
    carries |= storage_.carries_output(arguments.back(), e->getArg(i)->getType()) ||
               (reference && arguments.back().root == Root::output);
  }
  if (!course_.stopped()) run_constructor(target, constructor, arguments, carries, e);
}

// `using Base::Base;`: the base's constructor gets the arguments of the class's.
void Objects::construct_base(Value target, const clang::CXXInheritedCtorInitExpr* e) {
  std::vector<Value> arguments;
  bool carries = false;
  for (const clang::ParmVarDecl* parameter : frames_.current().function->parameters()) {
    const Type type = parameter->getType();
    const Value place = pointer_to(frames_.object_of(parameter));
    const Type pointer = parsed_.ast.getPointerType(type.getNonReferenceType());
    arguments.push_back(
        storage_.load(place, type->isReferenceType() ? pointer : type, e->getExprLoc()));
    carries |= storage_.carries_output(arguments.back(), type);
  }
  if (!course_.stopped()) run_constructor(target, e->getConstructor(), arguments, carries, e);
}

void Objects::run_constructor(Value target, const clang::CXXConstructorDecl* constructor,
                              const std::vector<Value>& arguments, bool carries,
                              const clang::Expr* e) {
  const Where where = e->getExprLoc();
  const clang::CXXRecordDecl* record = constructor->getParent();
  const std::string name = record->getNameAsString();
  const clang::FunctionDecl* definition = nullptr;
  const bool has_body = constructor->hasBody(definition) && !definition->isDependentContext();
  const bool foreign = origins_.is_foreign(constructor) && !constructor->isImplicit() &&
                       !origins_.acts_for_user(constructor);
  if (record->getNumVBases() > 0)
    return course_.complain(
        where, "'" + name + "' has a virtual base, and who makes that is not followed");
  if (name == "barrier" || name == "pipeline_shared_state") {
    log_.run_once(where, "a " + name + " is initialised here");
  }
  if (!has_body || (foreign && !carries && !constructor->isConstexpr())) {
    if (arguments_.refused_callback(where, constructor)) return;
    if (!foreign && !carries)
      course_.complain(where, "the constructor of '" + name + "' is not in this file");
    for (size_t i = 0; i < std::min<size_t>(arguments.size(), constructor->getNumParams()); ++i) {
      const Type declared = constructor->getParamDecl(i)->getType();
      arguments_.hand_over(name, arguments[i], declared.getNonReferenceType(), declared, where);
    }
    if (target.root == Root::object || target.root == Root::either)
      storage_.copy_record(target, {Root::unknown, 0, unknown(nodes_, name, where)},
                           types_.size_of(parsed_.ast.getRecordType(record)), where);
    return;
  }
  if (frames_.run(definition)) return course_.complain(where, "'" + name + "' constructs itself");
  if (frames_.size() >= kMaxCalls)
    return course_.complain(where, "too many calls are within each other here");
  frames_.enter(definition, e, target);
  frames_.current().site = where;
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), definition->getNumParams()); ++i) {
    arguments_.bind(definition->getParamDecl(i), arguments[i], where);
  }
  initialise_parts(target, cast<clang::CXXConstructorDecl>(definition), where);
  walker_.exec(definition->getBody());
  frames_.leave();
}

// Initialises bases and members as the entered constructor says.
void Objects::initialise_parts(Value target, const clang::CXXConstructorDecl* constructor,
                               Where where) {
  const clang::CXXRecordDecl* record = constructor->getParent();
  for (const clang::CXXCtorInitializer* part : constructor->inits()) {
    const clang::Expr* init = part->getInit();
    if (const clang::FieldDecl* field = part->getMember()) {
      const auto bits = static_cast<int64_t>(parsed_.ast.getFieldOffset(field));
      const Value place = storage_.moved(target, nodes_.constant(bits / 8));
      if (field->getType()->isReferenceType()) {
        storage_.store(place, walker_.address(init),
                       parsed_.ast.getPointerType(field->getType().getNonReferenceType()), where);
      } else {
        initialise(place, field->getType(), init);
      }
    } else if (part->isBaseInitializer() && !part->isBaseVirtual()) {
      const auto* base = part->getBaseClass()->getAsCXXRecordDecl();
      const auto offset = parsed_.ast.getASTRecordLayout(record).getBaseClassOffset(base);
      initialise(storage_.moved(target, nodes_.constant(offset.getQuantity())),
                 Type(part->getBaseClass(), 0), init);
    } else {
      initialise(target, parsed_.ast.getRecordType(record), init);
    }
  }
}

}  // namespace tilepost::inference
