// Loads and stores of the kernel's threads, in variables and in all other memory.
#pragma once

#include <cstdint>
#include <string>

#include "generator/infer/source/names.h"
#include "generator/infer/state/output.h"
#include "generator/infer/state/state.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost::inference {

class Storage {
 public:
  explicit Storage(State& state)
      : parsed_(state.parsed),
        launch_(state.launch),
        nodes_(state.nodes),
        facts_(state.facts),
        memory_(state.memory),
        forks_(state.forks),
        types_(state.types),
        frames_(state.frames),
        course_(state.course),
        open_loops_(state.open_loops),
        output_(state) {}

  Output& output() { return output_; }

  Value load(Value from, Type type, Where where);
  void store(Value to, Value value, Type type, Where where);
  void store_variable(Value to, Value value, Type type, Where where);
  // Copies a struct.
  void copy_record(Value to, Value from, int64_t size, Where where);
  // Makes the contents of the memory that the pointer points into unknown, after a possible store.
  void forget(Value pointer);

  // The pointer `bytes` further on, or back with Op::subtract.
  Value moved(Value pointer, NodeId bytes, Op op = Op::add);
  // The value that is `a` if the condition holds and `b` otherwise.
  Value choose(NodeId condition, Value a, Value b, Where where);
  // `value`, which may have been stored in another type, when its bytes are read as `type`.
  Value read_as(Value value, Type type, Where where);

  // Refuses an access through a pointer that the launch sets to null, if threads may get here.
  bool follows_null(Value pointer, const char* what, Where where);
  // For comparisons: the number 0 if the launch sets this pointer to null, else the value itself.
  Value number_if_null(Value value);
  // Whether the value is a pointer into the output, or a struct with such a pointer in it.
  bool carries_output(Value value, Type type) const;
  // The name of the variable or the memory that the pointer points into.
  std::string name_of(Value pointer) const;

  // If `is` is true, notes that unknown values may hold the output's address.
  void note_number_of_output(bool is) { output_as_number_ |= is; }
  // Begins or ends the body of a destructor, in which nothing is known of the object. Returns
  // whether a destructor's body was being run before.
  bool set_in_destructor(bool in) { return std::exchange(in_destructor_, in); }

 private:
  int64_t place(Value pointer);
  void at_each(Value pointer, llvm::function_ref<void(Value)> use);
  Value load_either(Value from, Type type, Where where);
  Value merged_record(Value from, int64_t size, Where where);

  const Parsed& parsed_;
  const KernelFacts& launch_;
  Nodes& nodes_;
  Facts& facts_;
  Memory& memory_;
  Forks& forks_;
  const Types& types_;
  const Frames& frames_;
  Course& course_;
  OpenLoops& open_loops_;
  Output output_;
  bool output_as_number_ = false;  // whether unknown values may hold the output's address
  bool in_destructor_ = false;
};

}  // namespace tilepost::inference
