#include "generator/weave/unmarked/header_places.h"

#include "clang/AST/ExprCXX.h"
#include "generator/clang/tree/visitor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using llvm::StringRef;

bool is_place(StringRef name) {
  return name == "blockIdx" || name == "gridDim";
}

// Whether the declaration is CUDA's variable and not one of the user's with its name.
bool is_cuda(const clang::ValueDecl* decl) {
  const auto* variable = dyn_cast<clang::VarDecl>(decl);
  return variable && variable->hasExternalStorage() &&
         variable->getDeclContext()->getRedeclContext()->isTranslationUnit();
}

// Reads one function. Finds the functions that it reaches, and how it asks for its block's place.
class Reader final : public AstVisitor {
 public:
  llvm::SetVector<const clang::FunctionDecl*> reached;
  clang::SourceLocation variable;                 // blockIdx or gridDim
  clang::SourceLocation reg;                      // the register that holds the block's index
  const clang::DeclRefExpr* qualified = nullptr;  // one of these with '::' in front
  const clang::ValueDecl* own = nullptr;          // what the user has declared by such a name

  bool shouldVisitImplicitCode() const override { return true; }
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    const clang::ValueDecl* decl = name->getDecl();
    const StringRef called = decl->getIdentifier() ? decl->getName() : "";
    if (is_place(called) && is_cuda(decl)) {
      variable = name->getLocation();
      if (name->hasQualifier()) qualified = name;
    } else {
      note_own(decl);
    }
    if (called.starts_with("__nvvm_read_ptx_sreg_") && called.contains("ctaid"))
      reg = name->getLocation();
    reach(dyn_cast<clang::FunctionDecl>(decl));
    return true;
  }
  // The woven parameter would hide a member with such a name that is used without its object.
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    if (member->isImplicitAccess()) note_own(member->getMemberDecl());
    reach(dyn_cast<clang::FunctionDecl>(member->getMemberDecl()));
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) override {
    reach(made->getConstructor());
    destroy(made->getConstructor()->getParent());
    return true;
  }
  bool VisitValueDecl(clang::ValueDecl* made) override {
    note_own(made);
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* made) override {
    destroy(made->getType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl());
    return true;
  }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* assembly) override {
    const StringRef text = assembly->getAsmString()->getString();
    if (text.contains("%ctaid") || text.contains("%nctaid")) reg = assembly->getAsmLoc();
    return true;
  }
  // Reads parameters, a constructor's initialisers, the destructors of members, and the body.
  void read(const clang::FunctionDecl* function) {
    for (clang::ParmVarDecl* parameter : function->parameters()) {
      VisitValueDecl(parameter);
      VisitVarDecl(parameter);
    }
    if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(function))
      for (const clang::CXXCtorInitializer* part : constructor->inits())
        TraverseStmt(part->getInit());
    if (const auto* destructor = dyn_cast<clang::CXXDestructorDecl>(function))
      for (const clang::FieldDecl* field : destructor->getParent()->fields())
        destroy(field->getType()->getBaseElementTypeUnsafe()->getAsCXXRecordDecl());
    TraverseStmt(function->getBody());
  }

 private:
  void note_own(const clang::ValueDecl* decl) {
    if (!own && decl->getIdentifier() && is_place(decl->getName())) own = decl;
  }
  void reach(const clang::FunctionDecl* function) {
    const clang::FunctionDecl* definition = nullptr;
    if (function && function->isDefined(definition)) reached.insert(definition);
  }
  void destroy(const clang::CXXRecordDecl* record) {
    if (record && record->hasDefinition() && !record->isDependentContext())
      reach(record->getDestructor());
  }
};

// Whether the function is the toolkit's own behind blockIdx.x.
bool is_getter(const clang::FunctionDecl* function) {
  const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
  return method && method->getParent()->getName().starts_with("__cuda_builtin_");
}

bool refuse_register(const Parsed& parsed, const clang::FunctionDecl* kernel,
                     const clang::FunctionDecl* function, const Reader& reader) {
  const bool foreign = !parsed.in_main(function);
  if (reader.reg.isInvalid() && (!foreign || reader.variable.isInvalid())) return false;
  if (foreign)
    parsed.error(kernel->getLocation(),
                 "the kernel reaches '" + function->getQualifiedNameAsString() +
                     "' of a header, which reads blockIdx or gridDim: it would see the block that "
                     "runs, not the one whose tile is made; read them in the kernel's file");
  else
    parsed.error(reader.reg,
                 "the register of the block's index is read here, which is not the block that is "
                 "told to the kernel; read blockIdx or gridDim");
  return true;
}

using Readers = llvm::MapVector<const clang::FunctionDecl*, Reader>;

// The functions that get the block's place as parameters, because they or functions that they call
// ask for it.
llvm::SetVector<const clang::FunctionDecl*> told(const clang::FunctionDecl* kernel,
                                                 const Readers& readers) {
  llvm::SetVector<const clang::FunctionDecl*> all;
  all.insert(kernel);
  for (size_t before = 0; before != all.size();) {
    before = all.size();
    for (const auto& [function, reader] : readers)
      if (reader.variable.isValid() || llvm::any_of(reader.reached, [&](const auto* one) {
            return one != kernel && all.contains(one);
          }))
        all.insert(function);
  }
  return all;
}

}  // namespace

void check_header_places(const Parsed& parsed, const clang::FunctionDecl* kernel) {
  Readers readers;
  llvm::SetVector<const clang::FunctionDecl*> all;
  all.insert(kernel);
  for (size_t at = 0; at < all.size(); ++at) {
    const clang::FunctionDecl* function = all[at];
    if (is_getter(function)) continue;
    Reader& reader = readers[function];
    reader.read(function);
    if (refuse_register(parsed, kernel, function, reader)) return;
    all.insert(reader.reached.begin(), reader.reached.end());
  }
  for (const clang::FunctionDecl* function : told(kernel, readers)) {
    const auto [own, qualified] = std::pair(readers[function].own, readers[function].qualified);
    if (!own && !qualified) continue;
    if (!own)
      parsed.error(qualified->getBeginLoc(),
                   "'::" + qualified->getDecl()->getNameAsString() +
                       "' is the block that runs, not the one that is told to the kernel; leave "
                       "out the '::'");
    else
      parsed.error(own->getLocation(),
                   "'" + own->getNameAsString() +
                       "' is declared here, the name by which the woven kernel tells the block's "
                       "place; rename it");
    return;
  }
}

}  // namespace tilepost
