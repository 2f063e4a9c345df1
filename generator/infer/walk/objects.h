// Begins objects: gives them their first values and runs constructors. Destructors are run at that
// point too.
#pragma once

#include <vector>

#include "clang/AST/ExprCXX.h"
#include "generator/infer/walk/arguments.h"
#include "generator/infer/walk/walker.h"

namespace tilepost::inference {

class Objects {
 public:
  Objects(State& state, Storage& storage, Arguments& arguments, Walker& walker)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        memory_(state.memory),
        types_(state.types),
        origins_(state.origins),
        frames_(state.frames),
        course_(state.course),
        log_(state.log),
        budget_(state.budget),
        storage_(storage),
        arguments_(arguments),
        walker_(walker) {}

  // Gives the object at `target` its first value.
  void initialise(Value target, Type type, const clang::Expr* init);
  void construct(Value target, const clang::CXXConstructExpr* e);
  // Runs the destructor of a class, at the place where an object is made. The proof does not follow
  // when the object's life ends, and what the object holds then. So the destructor may store only
  // into shared memory and into the object.
  void destroy_later(const clang::CXXRecordDecl* record, Where where);

 private:
  void construct_base(Value target, const clang::CXXInheritedCtorInitExpr* e);
  void run_constructor(Value target, const clang::CXXConstructorDecl* constructor,
                       const std::vector<Value>& arguments, bool carries, const clang::Expr* e);
  void initialise_parts(Value target, const clang::CXXConstructorDecl* constructor, Where where);

  const Parsed& parsed_;
  Nodes& nodes_;
  Memory& memory_;
  const Types& types_;
  const Origins& origins_;
  Frames& frames_;
  Course& course_;
  AccessLog& log_;
  Budget& budget_;
  Storage& storage_;
  Arguments& arguments_;
  Walker& walker_;
};

}  // namespace tilepost::inference
