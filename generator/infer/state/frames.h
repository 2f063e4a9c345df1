// The stack of calls that are being run, and the objects of their variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "generator/clang/parser.h"
#include "generator/infer/source/names.h"
#include "generator/infer/values/facts.h"
#include "generator/infer/values/memory.h"

namespace tilepost::inference {

// The places of a lambda's captures; `this` is under null.
using Captures = std::map<const clang::ValueDecl*, Value>;

// A call that is being run.
struct Frame {
  const clang::FunctionDecl* function = nullptr;
  uint32_t id = 0;   // the same for all calls from one site in one frame
  size_t facts = 0;  // how many facts held when the call began
  Value self;        // `this`
  Where site;        // the place of the call
  uint32_t result_object = 0;
  Value result;
  bool has_result = false;
  NodeId returned = 0;                 // the condition under which a thread has returned
  NodeId broken = 0;                   // … has left the innermost loop or switch
  NodeId continued = 0;                // … has left the loop's turn
  const Captures* captures = nullptr;  // those of the called lambda, or null
};

class Frames {
 public:
  Frames(const Parsed& parsed, Nodes& nodes, Facts& facts, Memory& memory)
      : parsed_(parsed), nodes_(nodes), facts_(facts), memory_(memory) {}

  // Enters a call. The same call site in the same frame gets the same frame number, so that its
  // variables are the same objects each time.
  void enter(const clang::FunctionDecl* function, const void* site, Value self);
  // Leaves the call, and removes the facts that were added in it.
  void leave();

  size_t size() const { return frames_.size(); }
  Frame& operator[](size_t index) { return frames_[index]; }
  Frame& current() { return frames_.back(); }
  const Frame& outermost() const { return frames_.front(); }
  // Whether a call of the function is being run.
  bool run(const clang::FunctionDecl* function) const;

  // The object of a variable in the nearest call that has it. If no call has it, a new object in
  // the current call.
  uint32_t object_of(const clang::ValueDecl* variable);
  // Begins the life of the object that a declaration or an expression makes in the current call.
  uint32_t begin(const void* maker, const std::string& name);
  // The object of the temporary that an expression makes.
  uint32_t temporary(const clang::Expr* maker, const std::string& name) {
    return begin(maker, name);
  }

  // The condition under which a thread has left: by a return, or by a break or continue of the
  // innermost loop or switch.
  NodeId gone() const;
  // For a place in a header, the place of the call in the user's source that leads there.
  Where in_source(Where where) const;

 private:
  const Parsed& parsed_;
  Nodes& nodes_;
  Facts& facts_;
  Memory& memory_;
  std::vector<Frame> frames_;
  std::map<std::pair<uint32_t, const void*>, uint32_t> ids_;
  std::map<std::pair<uint32_t, const void*>, uint32_t> objects_;  // by frame and maker
};

}  // namespace tilepost::inference
