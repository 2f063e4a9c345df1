#include <algorithm>
#include <functional>
#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/clang/instantiate.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/StringMap.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// Finds every declaration that a declaration needs to compile.
class Dependencies : public clang::RecursiveASTVisitor<Dependencies> {
 public:
  using Base = clang::RecursiveASTVisitor<Dependencies>;
  explicit Dependencies(std::function<void(const clang::Decl*)> note) : note_(std::move(note)) {}

  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) {
    note(name->getDecl());
    note_found(name->getFoundDecl());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) {
    note(member->getMemberDecl());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* name) {
    for (const clang::NamedDecl* decl : name->decls()) note_found(decl);
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construct) {
    note(construct->getConstructor());
    return true;
  }
  // The tree walk does not visit the attributes of statements, such as #pragma unroll kDepth.
  bool VisitAttributedStmt(clang::AttributedStmt* statement) {
    for (const clang::Attr* attribute : statement->getAttrs()) {
      TraverseAttr(const_cast<clang::Attr*>(attribute));
    }
    return true;
  }
  bool VisitConceptReference(clang::ConceptReference* reference) {
    note_found(reference->getFoundDecl());
    note(reference->getNamedConcept());
    return true;
  }
  bool VisitTagTypeLoc(clang::TagTypeLoc type) {
    note(type.getDecl());
    return true;
  }
  bool VisitTypedefTypeLoc(clang::TypedefTypeLoc type) {
    note(type.getTypedefNameDecl());
    return true;
  }
  bool VisitUsingTypeLoc(clang::UsingTypeLoc type) {
    note_found(type.getFoundDecl());
    return true;
  }
  bool VisitUnresolvedUsingTypeLoc(clang::UnresolvedUsingTypeLoc type) {
    note(type.getDecl());
    return true;
  }
  bool TraverseTemplateName(clang::TemplateName name) {
    note(name.getAsTemplateDecl());
    if (const clang::UsingShadowDecl* shadow = name.getAsUsingShadowDecl()) note_found(shadow);
    return Base::TraverseTemplateName(name);
  }
  bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type) {
    return TraverseTemplateName(type.getTypePtr()->getTemplateName());
  }
  bool VisitDeducedTemplateSpecializationTypeLoc(clang::DeducedTemplateSpecializationTypeLoc type) {
    return TraverseTemplateName(type.getTypePtr()->getTemplateName());
  }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc name) {
    if (name) note(name.getNestedNameSpecifier()->getAsNamespaceAlias());
    return Base::TraverseNestedNameSpecifierLoc(name);
  }

 private:
  void note(const clang::Decl* decl) {
    if (decl) note_(decl);
  }
  void note_found(const clang::NamedDecl* decl) {
    if (const auto* shadow = dyn_cast<clang::UsingShadowDecl>(decl)) {
      note(shadow->getIntroducer());
    }
    note(decl->getUnderlyingDecl());
  }

  std::function<void(const clang::Decl*)> note_;
};

class Reach {
 public:
  Reach(const Parsed& parsed, Pieces& pieces)
      : parsed_(parsed), pieces_(pieces), needs_(pieces.all.size()) {
    for (size_t i = 0; i < pieces_.all.size(); ++i) {
      for (const clang::Decl* decl : pieces_.all[i].declarations) {
        if (pieces_.all[i].kind == Piece::Kind::declaration) add_edges(static_cast<int>(i), decl);
      }
    }
  }

  // Keeps all declarations of that name. Returns false if there is none. `host`: whether to keep
  // host functions too.
  bool keep_named(StringRef name, bool host = true) {
    const auto found = declared_.find(name);
    if (found == declared_.end()) return false;
    for (const int piece : found->second)
      if (host || !is_of_host(pieces_.all[static_cast<size_t>(piece)])) keep(piece);
    return true;
  }

  // Keeps what the expression `e` names. The expression itself is in none of the pieces.
  void keep_named_in(const clang::Expr* e) {
    Dependencies visitor([&](const clang::Decl* needed) {
      if (const int at = piece_of(needed); at >= 0) keep(at);
    });
    visitor.TraverseStmt(const_cast<clang::Expr*>(e));
  }

  void keep(int at) {
    Piece& piece = pieces_.all[static_cast<size_t>(at)];
    if (piece.keep) return;
    piece.keep = true;
    changed_ = true;
    for (const int parent : piece.parents) keep(parent);
    if (piece.kind == Piece::Kind::open) keep(piece.partner);
    for (const int needed : needs_[static_cast<size_t>(at)]) keep(needed);
    for (const StringRef name : identifiers(parsed_, piece.code)) used_.insert(name.str());
    // The parse did not see skipped code. So every declaration whose name is a word in this code is
    // kept.
    for (const Range skipped : parsed_.skipped) {
      if (skipped.end <= piece.code.begin || skipped.begin >= piece.code.end) continue;
      // Skipped code beside the kept functions is often host code that names kernels. So no host
      // function is kept for it.
      const bool beside = piece.kind == Piece::Kind::skipped;
      for (const StringRef name : identifiers(parsed_, skipped)) keep_named(name, !beside);
    }
  }

  // Keeps macros, #if groups and assertions that the kept pieces need, until there are no more.
  void settle() {
    do {
      changed_ = false;
      for (size_t i = 0; i < pieces_.all.size(); ++i) {
        if (!pieces_.all[i].keep && wanted(pieces_.all[i], i)) keep(static_cast<int>(i));
      }
    } while (changed_);
    for (size_t i = 0; i < pieces_.all.size(); ++i) {
      Piece& piece = pieces_.all[i];
      if (piece.kind == Piece::Kind::pragma) piece.keep = parents_kept(piece);
    }
  }

  std::vector<StringRef> names() const {
    std::vector<StringRef> all;
    for (const auto& entry : declared_) all.push_back(entry.first());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  bool wanted(const Piece& piece, size_t at) const {
    switch (piece.kind) {
      case Piece::Kind::comment:
        return true;
      case Piece::Kind::define:
        return used_.count(piece.name) > 0;
      case Piece::Kind::condition:  // the #else and #endif of a kept #if
        return piece.name != "if" && piece.partner >= 0 &&
               pieces_.all[static_cast<size_t>(piece.partner)].keep;
      case Piece::Kind::skipped:
        return !piece.parents.empty() && parents_kept(piece);
      case Piece::Kind::declaration:
        return !piece.declarations.empty() && follows(piece, at);
      default:
        return false;
    }
  }

  // Whether to keep a declaration without a name. A using-directive is kept if its namespace is. An
  // assertion is kept if all declarations that it needs are.
  bool follows(const Piece& piece, size_t at) const {
    for (const clang::Decl* decl : piece.declarations) {
      if (const auto* directive = dyn_cast<clang::UsingDirectiveDecl>(decl)) {
        return names_kept(directive->getNominatedNamespace());
      }
      if (!isa<clang::StaticAssertDecl>(decl)) return false;
    }
    const std::set<int>& needs = needs_[at];
    return !needs.empty() && std::all_of(needs.begin(), needs.end(), [&](int needed) {
      return pieces_.all[static_cast<size_t>(needed)].keep;
    });
  }

  bool names_kept(const clang::NamespaceDecl* space) const {
    if (!parsed_.in_main(space)) return true;
    for (const Piece& piece : pieces_.all) {
      if (piece.kind != Piece::Kind::open || !piece.keep) continue;
      for (const auto* reopened : space->redecls()) {
        if (parsed_.expanded(reopened->getBeginLoc()) == piece.code.begin) return true;
      }
    }
    return false;
  }

  bool parents_kept(const Piece& piece) const {
    return std::all_of(piece.parents.begin(), piece.parents.end(),
                       [&](int parent) { return pieces_.all[static_cast<size_t>(parent)].keep; });
  }

  int piece_of(const clang::Decl* decl) const {
    const auto offset = parsed_.expanded(decl->getLocation());
    return offset ? pieces_.at(*offset) : -1;
  }

  void needs(int from, int to) {
    if (from >= 0 && to >= 0 && from != to) needs_[static_cast<size_t>(from)].insert(to);
  }

  void add_edges(int at, const clang::Decl* decl) {
    if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(decl)) {
      for (const clang::Decl* inner : linkage->decls()) add_edges(at, inner);
      return;
    }
    Dependencies visitor([&](const clang::Decl* needed) { needs(at, piece_of(needed)); });
    visitor.TraverseDecl(const_cast<clang::Decl*>(decl));
    if (const auto* named = dyn_cast<clang::NamedDecl>(decl)) declare(at, named);
    if (const auto* list = dyn_cast<clang::EnumDecl>(decl)) {
      for (const auto* enumerator : list->enumerators()) declare(at, enumerator);
    }
    // Each declaration of a function, class or variable needs its other declarations.
    for (const clang::Decl* other : decl->redecls()) {
      needs(at, piece_of(other));
      needs(piece_of(other), at);
    }
    if (const auto* record = dyn_cast<clang::CXXRecordDecl>(decl->getDeclContext())) {
      needs(piece_of(record), at);  // `decl` is a member that is defined outside of its class
      needs(at, piece_of(record));
    }
    if (const clang::Decl* primary = primary_of(decl)) needs(piece_of(primary), at);
  }

  // The template that a specialisation or a deduction guide belongs to, or null.
  static const clang::Decl* primary_of(const clang::Decl* decl) {
    if (const auto* pattern = dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      decl = pattern->getTemplatedDecl();
    }
    if (const auto* guide = dyn_cast<clang::CXXDeductionGuideDecl>(decl)) {
      return guide->getDeducedTemplate();
    }
    if (const auto* function = dyn_cast<clang::FunctionDecl>(decl)) {
      return function->getPrimaryTemplate();
    }
    if (const auto* record = dyn_cast<clang::ClassTemplateSpecializationDecl>(decl)) {
      return record->getSpecializedTemplate();
    }
    if (const auto* variable = dyn_cast<clang::VarTemplateSpecializationDecl>(decl)) {
      return variable->getSpecializedTemplate();
    }
    return nullptr;
  }

  // Whether the piece declares only functions that no kernel can call.
  bool is_of_host(const Piece& piece) const {
    return parsed_.ast.getLangOpts().CUDA &&
           std::all_of(piece.declarations.begin(), piece.declarations.end(),
                       [](const clang::Decl* decl) {
                         const clang::FunctionDecl* function = decl->getAsFunction();
                         return function && !function->isConstexpr() &&
                                !function->hasAttr<clang::CUDADeviceAttr>() &&
                                !function->hasAttr<clang::CUDAGlobalAttr>();
                       });
  }

  void declare(int at, const clang::NamedDecl* decl) {
    if (decl->getIdentifier()) declared_[decl->getName()].push_back(at);
  }

  const Parsed& parsed_;
  Pieces& pieces_;
  std::vector<std::set<int>> needs_;
  llvm::StringMap<std::vector<int>> declared_;
  std::set<std::string, std::less<>> used_;  // words in kept pieces
  bool changed_ = false;
};

}  // namespace

namespace {

void keep_functions(const Parsed& parsed, const std::vector<const clang::FunctionDecl*>& functions,
                    const Pieces& pieces, Reach& reach) {
  for (const clang::FunctionDecl* function : functions) {
    if (const auto offset = parsed.expanded(function->getLocation())) {
      if (const int at = pieces.at(*offset); at >= 0) reach.keep(at);
    }
  }
}

}  // namespace

void mark_reachable(const Parsed& parsed, const std::vector<const clang::FunctionDecl*>& functions,
                    Pieces& pieces) {
  Reach reach(parsed, pieces);
  keep_functions(parsed, functions, pieces, reach);
  // Generated code names the kernel with the template arguments that the spec gives.
  if (const clang::VarDecl* asking = asking_variable(parsed))
    reach.keep_named_in(asking->getInit());
  reach.settle();
}

void mark_reachable(const Parsed& parsed, const WeaveRequest& request, Pieces& pieces) {
  Reach reach(parsed, pieces);
  keep_functions(parsed, find_kernels(parsed, request.function), pieces, reach);
  for (const std::string& name : request.keep) {
    if (!reach.keep_named(name)) {
      parsed.report.error("'" + name +
                          "' is not declared at namespace scope, but the generated "
                          "code needs it" +
                          did_you_mean(name, reach.names()));
    }
  }
  reach.settle();
}

}  // namespace tilepost
