#include "generator/own/instructions.h"

#include <algorithm>
#include <string>

#include "generator/clang/tree/reached.h"
#include "generator/clang/tree/visitor.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// PTX ISA, "Target ISA Notes" of each instruction.
struct Family {
  StringRef name;   // the instruction's first words
  StringRef archs;  // the architectures that have it, for a message
  bool in_sm_90a;
};
constexpr Family kFamilies[] = {
    {"tcgen05.", "sm_100a and newer ones", false},
    {"wgmma.", "sm_90a alone", true},
    {"setmaxnreg.", "sm_90a and newer ones", true},
};

// Whether the text has an instruction that begins so. A letter or a dot in front of it would make
// it a part of another name.
bool has_instruction(StringRef text, StringRef name) {
  for (size_t at = 0; (at = text.find(name, at)) != StringRef::npos; ++at)
    if (at == 0 || !(llvm::isAlnum(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '_'))
      return true;
  return false;
}

class Reader final : public AstVisitor {
 public:
  Reader(const Parsed& parsed, const std::vector<Arch>& archs) : parsed_(parsed), archs_(archs) {}

  bool VisitGCCAsmStmt(clang::GCCAsmStmt* assembly) override {
    const StringRef text = assembly->getAsmString()->getString();
    for (const Family& family : kFamilies) {
      const auto without = std::ranges::find_if(archs_, [&](Arch arch) {
        return arch != Arch::host && !(family.in_sm_90a && arch == Arch::sm_90a);
      });
      if (without == archs_.end() || !has_instruction(text, family.name)) continue;
      const StringRef from = text.substr(text.find(family.name));
      const StringRef name = from.take_while(
          [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_' || c == ':'; });
      parsed_.error(assembly->getAsmLoc(), "the instruction '" + name.str() + "' is of " +
                                               family.archs.str() +
                                               ", and the spec says arch: " + name_of(*without) +
                                               "; name a kernel that is for this architecture");
      break;
    }
    return true;
  }

 private:
  const Parsed& parsed_;
  const std::vector<Arch>& archs_;
};

}  // namespace

bool check_instructions(const Parsed& parsed, const Instance& instance,
                        const std::vector<Arch>& archs) {
  Reader reader(parsed, archs);
  const Reached reached(instance.function, parsed.sm);
  for (const clang::Decl* decl : reached.declarations())
    if (const auto* function = clang::dyn_cast<clang::FunctionDecl>(decl);
        function && function->hasBody())
      reader.TraverseStmt(function->getBody());
  return parsed.report.ok();
}

}  // namespace tilepost
