// Variables and memory: what is read, and what is stored where.
#include "generator/infer/interpreter.h"

#include "clang/AST/Attr.h"
#include "clang/Lex/Lexer.h"

namespace tilepost::inference {

using clang::dyn_cast;

int64_t Interpreter::size_of(Type type) const {
  type = type.getNonReferenceType();
  if (type->isVoidType() || type->isFunctionType()) return 1;
  if (type->isDependentType() || type->isIncompleteType()) return 0;
  return parsed_.ast.getTypeSizeInChars(type).getQuantity();
}

IntType Interpreter::int_type(Type type) const {
  if (type->isPointerType() || !type->isIntegralOrEnumerationType()) return kInt64;
  if (type->isBooleanType()) return {8, false};
  const uint64_t bits = parsed_.ast.getTypeSize(type);
  if (bits > 64) return kInt64;  // a number that does not fit is lost
  return {static_cast<uint8_t>(bits), type->isSignedIntegerOrEnumerationType()};
}

std::string Interpreter::name_of(Value pointer) const {
  if (pointer.root == Root::output) return launch_.out;
  return pointer.object ? memory_[pointer.object].name : "";
}

// The object of a variable in the nearest call that has it. If no call has it, a new object in the
// current call.
uint32_t Interpreter::object_of(const clang::ValueDecl* variable) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    const auto at = variables_.find({frame->id, variable});
    if (at != variables_.end()) return at->second;
  }
  const uint32_t object = memory_.add(variable->getNameAsString());
  memory_.begin(object, facts_.size());
  variables_[{frames_.back().id, variable}] = object;
  return object;
}

// The object of the temporary that an expression makes.
uint32_t Interpreter::temporary(const clang::Expr* maker, const std::string& name) {
  const auto [at, is_new] = variables_.try_emplace({frames_.back().id, maker}, 0);
  if (is_new) at->second = memory_.add(name);
  memory_.begin(at->second, facts_.size());
  return at->second;
}

Value Interpreter::moved(Value pointer, NodeId bytes) {
  pointer.node = nodes.binary(Op::add, pointer.node, bytes, kInt64);
  return pointer;
}

// If it is not known whether a thread gets here, it is assumed to.
void Interpreter::read_output(Value from, int64_t width, Where where, bool by_warp) {
  need_loops_of(from.node);
  if (restart_) return;
  note_access(false, {from.node, facts_since(0), width, 1, 0, by_warp, in_source(where), {}});
}

// Notes an access, but only once if the turns of a loop repeat it at the same place. Accesses by a
// warp are always noted, because the caller adds more about the matrix.
void Interpreter::note_access(bool stores, Access access) {
  const bool known = !access.by_warp &&
                     !accesses_.emplace(stores, access.address, access.guard, access.width).second;
  if (!known) (stores ? findings.stores : findings.reads).push_back(access);
}

void Interpreter::read_somewhere(Where where) {
  complain(where, "the output may be read here, and which of its elements cannot be seen", where,
           "a kernel may read what its block stores: with an assignment, or WMMA's "
           "load_matrix_sync");
}

// Refuses an access through a pointer that is given null, if threads may get here.
bool Interpreter::follows_null(Value pointer, const char* what, Where where) {
  if (pointer.root != Root::null) return false;
  complain(where,
           "this " + std::string(what) + " '" + name_of(pointer) +
               "', which kernel.arguments gives null",
           where, "give it memory, or test it with an if that is decided by the launch alone");
  return true;
}

// In comparisons a pointer that is given null is the number 0.
Value Interpreter::number_if_null(Value value) {
  const bool null = value.root == Root::null && nodes.is(value.node, 0);
  return null ? Value{Root::number, 0, nodes.constant(0)} : value;
}

Value Interpreter::load(Value from, Type type, Where where) {
  if (type->isRecordType() || type->isArrayType()) return from;
  if (follows_null(from, "reads through", where)) return unknown_value(type, "nothing", where);
  if (from.root == Root::output) read_output(from, size_of(type), where);
  if (from.root == Root::unknown && (output_as_number_ || in_destructor_)) read_somewhere(where);
  if (from.root != Root::object) {
    const std::string name = from.root == Root::shared ? "" : name_of(from);
    return unknown_value(type,
                         name.empty() ? std::string("a value read from memory")
                                      : "a value read from '" + std::string(name) + "'",
                         where, nodes.alike(from.node));
  }
  const Object& object = memory_[from.object];
  const std::string what = object.name.empty() ? std::string("a temporary object")
                                               : "the value of '" + std::string(object.name) + "'";
  if (type.isVolatileQualified()) {
    output_as_number_ |= object.held_output;
    return unknown_value(type, what + ", which is volatile", where);
  }
  Value lost = unknown_value(type, what, where);
  const auto perhaps_output = [&] {
    output_as_number_ |= object.held_output;
    return lost;
  };
  if (!nodes.is_constant(from.node)) {
    lost.node = nodes.unknown(
        {what + " at an index that is not constant", where.getRawEncoding(), loop_of(from.node)});
    return perhaps_output();
  }
  const int64_t offset = place(from);
  const std::optional<Value> value = memory_.read(from.object, offset, size_of(type));
  if (!value && !type->isPointerType() && memory_.holds_output(from.object, offset, size_of(type)))
    complain(where, "the output pointer is in what is made another type here");
  if (!value) {
    lost.node = nodes.unknown({what, where.getRawEncoding(), object.loop});
    return perhaps_output();
  }
  if (value->root == Root::number && type->isScalarType() &&
      memory_.is_real(from.object, offset) != type->isRealFloatingType())
    return lost;
  Value known = *value;
  known.node = assume(known.node);
  return read_as(known, type, where);
}

// Whether the value is a pointer into the output, or a struct with such a pointer in it.
bool Interpreter::carries_output(Value value, Type type) const {
  if (value.root == Root::output) return !type->isRecordType();
  const bool passed_whole = type->isRecordType() && value.root == Root::object;
  if (!passed_whole) return false;
  if (!nodes.is_constant(value.node)) return memory_.holds_output(value.object);
  return memory_.holds_output(value.object, nodes[value.node].value, size_of(type));
}

void Interpreter::store(Value to, Value value, Type type, Where where) {
  if (follows_null(to, "stores through", where)) return;
  if (to.root != Root::object && carries_output(value, type)) {
    complain(where,
             "the output pointer '" + std::string(launch_.out) +
                 "' is stored to memory, and stores through that copy cannot be seen",
             where, "store through '" + std::string(launch_.out) + "' itself");
    return;
  }
  switch (to.root) {
    case Root::output:
      return store_output(to, size_of(type), where);
    case Root::object:
      return store_variable(to, value, type, where);
    case Root::shared:
      return;
    case Root::other:
      return complain(where,
                      "this stores into '" + std::string(name_of(to)) +
                          "', which is not the output '" + launch_.out + "'",
                      where, "a kernel without marks stores its output and nothing else");
    default:
      need_loops_of(to.node);
      return complain(
          where,
          "this stores through a pointer that may point anywhere: it depends on " +
              explain(to.node),
          where,
          "store through '" + std::string(launch_.out) +
              "' or pointers computed from it, or mark the kernel: tilepost::tile, out_base and "
              "tile_done");
  }
}

void Interpreter::store_output(Value to, int64_t width, Where where, bool by_warp) {
  if (where.isMacroID() &&
      clang::Lexer::getImmediateMacroName(where, parsed_.sm, parsed_.ast.getLangOpts()) == "assert")
    return complain(where, "this store is in an assert, which -DNDEBUG leaves out", where,
                    "store in front of the assert");
  for (const Passed& passed : passed_) {
    if (unrolling_.tried.count(passed.loop)) {
      return complain(where, "this store is in a loop whose turns cannot be counted", where,
                      "its bounds must follow from numbers of the launch, the block's index and "
                      "the thread's; or mark the kernel: tilepost::tile, out_base and tile_done");
    }
    unrolling_.loops.insert(passed.loop);
    restart_ = true;
  }
  const NodeId guard = facts_since(0);
  need_loops_of(to.node);
  need_loops_of(guard);
  if (restart_) return;
  if (nodes[to.node].lost) {
    return complain(where, "where this store goes depends on " + std::string(explain(to.node)),
                    where,
                    "addresses must follow from numbers of the launch, the block's index and the "
                    "thread's");
  }
  Access store{to.node, guard, width, 1, 0, by_warp, in_source(where), {}};
  if (!unrolled_.empty()) store.loop = unrolled_.front()->getBeginLoc();
  note_access(true, store);
}

// The value that is `a` if the condition holds and `b` otherwise.
Value Interpreter::choose(NodeId condition, Value a, Value b, Where where) {
  if (nodes.is_constant(condition)) return nodes[condition].value ? a : b;
  if (a.same_root(b)) {
    a.node = nodes.select(condition, a.node, b.node);
    return a;
  }
  // One of the pointers is into the output. The result is too, with an unknown place where the
  // other one is chosen.
  if (a.root == Root::output || b.root == Root::output) {
    const NodeId nowhere = unknown("which of two pointers is taken", where);
    const bool first = a.root == Root::output;
    return {Root::output, 0,
            nodes.select(condition, first ? a.node : nowhere, first ? nowhere : b.node)};
  }
  const Alike same = std::min(alike(a, b), nodes.alike(condition));
  return {Root::unknown, 0, unknown("which of two pointers is taken", where, same)};
}

void Interpreter::store_variable(Value to, Value value, Type type, Where where) {
  Object& object = memory_[to.object];
  const int64_t size = size_of(type);
  if (!nodes.is_constant(to.node)) {
    if (value.root == Root::output) {
      complain(where, "the output pointer is stored in '" + std::string(object.name) +
                          "' at an index that is not constant");
    }
    note_store(to.object, std::nullopt, 0);
    memory_.forget(to.object);
    object.loop = loop_of(to.node);
    return;
  }
  const int64_t offset = place(to);
  note_store(to.object, offset, size);
  // Numbers of the product fill large arrays, and neither addresses nor barriers depend on them. So
  // they are not tracked.
  const bool is_whole =
      type->isIntegralOrEnumerationType() || type->isPointerType() || type->isReferenceType();
  const bool data =
      !is_whole && (value.root != Root::number || nodes.alike(value.node) != Alike::block);
  output_as_number_ |= data && value.root == Root::output;
  if (data) return memory_.forget(to.object, offset, size);
  const NodeId condition = facts_since(object.facts);
  if (!nodes.is(condition, 1)) {
    const std::optional<Value> old = memory_.read(to.object, offset, size);
    Value other =
        old ? *old
            : unknown_value(type, "'" + std::string(object.name) + "', which is not always set",
                            where);
    if (!old && value.root != Root::output && !memory_.is_lost(to.object, offset, size)) {
      other.root = value.root;
      other.object = value.object;
    }
    value = choose(condition, value, other, where);
  }
  memory_.write(to.object, offset, size, value, type->isRealFloatingType());
}

// Copies a struct.
void Interpreter::copy_record(Value to, Value from, int64_t size, Where where) {
  if (follows_null(from, "reads through", where)) return;
  if (from.root == Root::output) read_output(from, size, where);
  if (from.root == Root::unknown && output_as_number_) read_somewhere(where);
  const bool known = from.root == Root::object && nodes.is_constant(from.node);
  const int64_t source = known ? place(from) : 0;
  const bool carries = from.root == Root::object &&
                       memory_.holds_output(from.object, source, known ? size : INT64_MAX / 2);
  if (to.root != Root::object) {
    if (carries) {
      complain(where, "the output pointer '" + std::string(launch_.out) +
                          "' is stored to memory in a struct, and stores through that copy cannot "
                          "be seen");
    } else if (to.root == Root::output) {
      store_output(to, size, where);
    } else if (to.root != Root::shared) {
      store(to, {}, parsed_.ast.CharTy, where);
    }
    return;
  }
  if (!nodes.is_constant(to.node)) {
    if (carries) complain(where, "the output pointer is stored at an index that is not constant");
    note_store(to.object, std::nullopt, 0);
    memory_.forget(to.object);
    return;
  }
  const int64_t target = place(to);
  std::vector<std::pair<int64_t, Cell>> cells;
  if (known) {
    for (const auto& [at, cell] : memory_[from.object].cells) {
      if (at >= source && at + cell.size <= source + size) cells.emplace_back(at - source, cell);
    }
  }
  note_store(to.object, target, size);
  const NodeId condition = facts_since(memory_[to.object].facts);
  const bool lost = !known || memory_.is_lost(from.object, source, size);
  const bool was_lost = memory_.is_lost(to.object, target, size);
  for (auto& [at, cell] : cells) {
    if (nodes.is(condition, 1)) break;
    const std::optional<Value> old = memory_.read(to.object, target + at, cell.size);
    Value other = cell.value;
    if (other.root != Root::number && (lost || was_lost)) other = {Root::unknown, 0, 0};
    other.node = unknown("a struct that is not always set", where);
    cell.value = choose(condition, cell.value, old.value_or(other), where);
  }
  memory_.forget(to.object, target, size);
  if (!lost && !was_lost) memory_[to.object].lost.erase({target, target + size});
  for (const auto& [at, cell] : cells)
    memory_.write(to.object, target + at, cell.size, cell.value, cell.real);
}

// Forgets what the pointer leads to, after something that may store through it.
void Interpreter::forget(Value pointer) {
  if (pointer.root != Root::object) return;
  note_store(pointer.object, std::nullopt, 0);
  memory_.forget(pointer.object);
}

}  // namespace tilepost::inference
