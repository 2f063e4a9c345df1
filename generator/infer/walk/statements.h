// Runs statements under the conditions that hold where they stand.
#pragma once

#include "clang/AST/StmtCXX.h"
#include "generator/infer/walk/assembly.h"
#include "generator/infer/walk/loops.h"
#include "generator/infer/walk/objects.h"
#include "generator/infer/walk/walker.h"

namespace tilepost::inference {

// Refuses a statement after which it is unknown where threads go on.
void refuse_statement(Course& course, const clang::Stmt* s);

class Statements {
 public:
  Statements(State& state, Storage& storage, Objects& objects, Meetings& meetings, Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        facts_(state.facts),
        types_(state.types),
        frames_(state.frames),
        course_(state.course),
        budget_(state.budget),
        storage_(storage),
        objects_(objects),
        walker_(walker),
        loops_(state, walker),
        assembly_(state, storage, meetings, walker) {}

  void exec(const clang::Stmt* s);

 private:
  void exec_compound(const clang::CompoundStmt* s);
  void exec_declaration(const clang::DeclStmt* s);
  void exec_if(const clang::IfStmt* s);
  void exec_return(const clang::ReturnStmt* s);
  void exec_switch(const clang::SwitchStmt* s);
  void exec_under(NodeId condition, const clang::Stmt* s);
  void declare(const clang::VarDecl* variable);

  const Parsed& parsed_;
  Nodes& nodes_;
  Facts& facts_;
  const Types& types_;
  Frames& frames_;
  Course& course_;
  Budget& budget_;
  Storage& storage_;
  Objects& objects_;
  Walker& walker_;
  Loops loops_;
  InlineAssembly assembly_;
};

}  // namespace tilepost::inference
