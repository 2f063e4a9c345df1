#include "generator/infer/state/storage.h"

#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

// The constant offset in a variable that a pointer leads to. At another m it may be another one, so
// it is a decision.
int64_t Storage::place(Value pointer) {
  nodes_.decide(pointer.node);
  return nodes_[pointer.node].value;
}

std::string Storage::name_of(Value pointer) const {
  if (pointer.root == Root::output) return launch_.out;
  return pointer.object ? memory_[pointer.object].name : "";
}

Value Storage::moved(Value pointer, NodeId bytes, Op op) {
  if (pointer.root == Root::either) {
    const Fork fork = forks_.of(pointer);
    return choose(fork.condition, moved(fork.first, bytes, op), moved(fork.second, bytes, op),
                  Where::getFromRawEncoding(fork.where));
  }
  pointer.node = nodes_.binary(op, pointer.node, bytes, kInt64);
  return pointer;
}

// Calls `use` with each of the two places of a pointer with Root::either, for the threads in which
// the pointer leads there.
void Storage::at_each(Value pointer, llvm::function_ref<void(Value)> use) {
  const Fork fork = forks_.of(pointer);
  const NodeId which = facts_.assume(fork.condition);
  if (nodes_.is_constant(which)) return use(nodes_[which].value ? fork.first : fork.second);
  const size_t facts = facts_.size();
  facts_.push(which);
  use(fork.first);
  facts_.pop(facts);
  facts_.push(nodes_.negation(which));
  use(fork.second);
  facts_.pop(facts);
}

// The value at one of two places is the choice between the values at both.
Value Storage::load_either(Value from, Type type, Where where) {
  std::vector<Value> values;
  at_each(from, [&](Value one) { values.push_back(load(one, type, where)); });
  if (values.size() == 1) return values.front();
  return choose(forks_.of(from).condition, values[0], values[1], where);
}

bool Storage::follows_null(Value pointer, const char* what, Where where) {
  if (pointer.root != Root::null) return false;
  course_.complain(
      where,
      "this " + std::string(what) + " '" + name_of(pointer) +
          "', which kernel.arguments gives null",
      where,
      "give it memory, or test it with an if that is decided by the launch alone; what the "
      "kernel only reads may be user.NAME");
  return true;
}

Value Storage::number_if_null(Value value) {
  const bool null = value.root == Root::null && nodes_.is(value.node, 0);
  return null ? Value{Root::number, 0, nodes_.constant(0)} : value;
}

Value Storage::load(Value from, Type type, Where where) {
  if (type->isRecordType() || type->isArrayType()) return from;
  if (from.root == Root::either) return load_either(from, type, where);
  if (follows_null(from, "reads through", where))
    return unknown_value(nodes_, type, "nothing", where);
  if (from.root == Root::output) output_.read(from, types_.size_of(type), where);
  if (from.root == Root::unknown && (output_as_number_ || in_destructor_))
    output_.read_somewhere(where);
  if (from.root != Root::object) {
    const std::string name = from.root == Root::shared ? "" : name_of(from);
    return unknown_value(nodes_, type,
                         name.empty() ? std::string("a value read from memory")
                                      : "a value read from '" + std::string(name) + "'",
                         where, nodes_.alike(from.node));
  }
  const Object& object = memory_[from.object];
  const std::string what = object.name.empty() ? std::string("a temporary object")
                                               : "the value of '" + std::string(object.name) + "'";
  if (type.isVolatileQualified()) {
    output_as_number_ |= object.held_output;
    return unknown_value(nodes_, type, what + ", which is volatile", where);
  }
  Value lost = unknown_value(nodes_, type, what, where);
  const auto perhaps_output = [&] {
    output_as_number_ |= object.held_output;
    return lost;
  };
  if (!nodes_.is_constant(from.node)) {
    lost.node = nodes_.unknown({what + " at an index that is not constant", where.getRawEncoding(),
                                loop_of(nodes_, from.node)});
    return perhaps_output();
  }
  const int64_t offset = place(from);
  const std::optional<Value> value = memory_.read(from.object, offset, types_.size_of(type));
  if (!value && !type->isPointerType() &&
      memory_.holds_output(from.object, offset, types_.size_of(type)))
    course_.complain(where, "the output pointer is in what is made another type here");
  if (!value) {
    lost.node = nodes_.unknown({what, where.getRawEncoding(), object.loop});
    return perhaps_output();
  }
  if (value->root == Root::number && type->isScalarType() &&
      memory_.is_real(from.object, offset) != type->isRealFloatingType())
    return lost;
  Value known = *value;
  known.node = facts_.assume(known.node);
  return read_as(known, type, where);
}

bool Storage::carries_output(Value value, Type type) const {
  if (value.root == Root::either) {
    bool carries = false;
    forks_.for_each_place(value, [&](Value one) { carries |= carries_output(one, type); });
    return carries;
  }
  if (value.root == Root::output) return !type->isRecordType();
  const bool passed_whole = type->isRecordType() && value.root == Root::object;
  if (!passed_whole) return false;
  if (!nodes_.is_constant(value.node)) return memory_.holds_output(value.object);
  return memory_.holds_output(value.object, nodes_[value.node].value, types_.size_of(type));
}

void Storage::store(Value to, Value value, Type type, Where where) {
  if (to.root == Root::either)
    return at_each(to, [&](Value one) { store(one, value, type, where); });
  if (follows_null(to, "stores through", where)) return;
  if (to.root != Root::object && carries_output(value, type)) {
    course_.complain(where,
                     "the output pointer '" + std::string(launch_.out) +
                         "' is stored to memory, and stores through that copy cannot be seen",
                     where, "store through '" + std::string(launch_.out) + "' itself");
    return;
  }
  switch (to.root) {
    case Root::output:
      return output_.store(to, types_.size_of(type), where, false,
                           type->isArithmeticType() ? type : Type());
    case Root::object:
      return store_variable(to, value, type, where);
    case Root::shared:
      return;
    case Root::other:
      return course_.complain(where,
                              "this stores into '" + std::string(name_of(to)) +
                                  "', which is not the output '" + launch_.out + "'",
                              where, "a kernel without marks stores its output and nothing else");
    default:
      course_.need_loops_of(to.node);
      return course_.complain(
          where,
          "this stores through a pointer that may point anywhere: it depends on " +
              explain(nodes_, to.node),
          where,
          "store through '" + std::string(launch_.out) +
              "' or pointers computed from it, or mark the kernel: tilepost::tile, out_base and "
              "tile_done");
  }
}

Value Storage::choose(NodeId condition, Value a, Value b, Where where) {
  if (nodes_.is_constant(condition)) return nodes_[condition].value ? a : b;
  if (a == b) return a;
  if (a.same_root(b) && a.root != Root::either) {
    a.node = nodes_.select(condition, a.node, b.node);
    return a;
  }
  // One of the pointers is into the output. The result is too, with an unknown place where the
  // other one is chosen.
  if (a.root == Root::output || b.root == Root::output) {
    const NodeId nowhere = unknown(nodes_, "which of two pointers is taken", where);
    const bool first = a.root == Root::output;
    return {Root::output, 0,
            nodes_.select(condition, first ? a.node : nowhere, first ? nowhere : b.node)};
  }
  const Alike same = std::min(alike(nodes_, a, b), nodes_.alike(condition));
  const NodeId taken = unknown(nodes_, "which of two pointers is taken", where, same);
  // Null has no place. Other memory is not tracked, so that a fork of two such places tells
  // nothing.
  const auto is_place = [](Value value) {
    return value.root != Root::number && value.root != Root::null;
  };
  const auto is_tracked = [](Value value) {
    return value.root == Root::object || value.root == Root::either;
  };
  if (!is_place(a) || !is_place(b) || (!is_tracked(a) && !is_tracked(b)) ||
      forks_.places(a) + forks_.places(b) > Forks::kMostPlaces)
    return {Root::unknown, 0, taken};
  return {Root::either, forks_.add(condition, a, b, where.getRawEncoding()), taken};
}

void Storage::store_variable(Value to, Value value, Type type, Where where) {
  Object& object = memory_[to.object];
  const int64_t size = types_.size_of(type);
  if (!nodes_.is_constant(to.node)) {
    if (value.root == Root::output) {
      course_.complain(where, "the output pointer is stored in '" + std::string(object.name) +
                                  "' at an index that is not constant");
    }
    open_loops_.note_store(to.object, std::nullopt, 0);
    memory_.forget(to.object);
    object.loop = loop_of(nodes_, to.node);
    return;
  }
  const int64_t offset = place(to);
  open_loops_.note_store(to.object, offset, size);
  // Numbers of the product fill large arrays, and neither addresses nor barriers depend on them. So
  // they are not tracked.
  const bool is_whole =
      type->isIntegralOrEnumerationType() || type->isPointerType() || type->isReferenceType();
  const bool data =
      !is_whole && (value.root != Root::number || nodes_.alike(value.node) != Alike::block);
  output_as_number_ |= data && value.root == Root::output;
  if (data) return memory_.forget(to.object, offset, size);
  const NodeId condition = facts_.since(object.facts);
  if (!nodes_.is(condition, 1)) {
    const std::optional<Value> old = memory_.read(to.object, offset, size);
    Value other =
        old ? *old
            : unknown_value(nodes_, type,
                            "'" + std::string(object.name) + "', which is not always set", where);
    if (!old && value.root != Root::output && !memory_.is_lost(to.object, offset, size)) {
      other.root = value.root;
      other.object = value.object;
    }
    value = choose(condition, value, other, where);
  }
  memory_.write(to.object, offset, size, value, type->isRealFloatingType());
}

// A struct with the contents that the struct at one of two places has.
Value Storage::merged_record(Value from, int64_t size, Where where) {
  std::vector<uint32_t> copies;
  at_each(from, [&](Value one) {
    copies.push_back(memory_.add(""));
    memory_.begin(copies.back(), facts_.size());
    copy_record(pointer_to(copies.back()), one, size, where);
  });
  if (copies.size() == 1) return pointer_to(copies.front());
  const uint32_t merged = memory_.add("");
  memory_.begin(merged, facts_.size());
  bool lost = false;
  for (const uint32_t copy : copies) {
    lost |= memory_.is_lost(copy, 0, size);
    memory_[merged].held_output |= memory_[copy].held_output;
  }
  if (lost) memory_.forget(merged, 0, size);
  const NodeId condition = forks_.of(from).condition;
  const std::map<int64_t, Cell> first = memory_[copies[0]].cells;
  for (const auto& [at, cell] : first) {
    const std::optional<Value> other = memory_.read(copies[1], at, cell.size);
    if (other && memory_.is_real(copies[1], at) == cell.real)
      memory_.write(merged, at, cell.size, choose(condition, cell.value, *other, where), cell.real);
  }
  return pointer_to(merged);
}

void Storage::copy_record(Value to, Value from, int64_t size, Where where) {
  if (from.root == Root::either) from = merged_record(from, size, where);
  if (to.root == Root::either)
    return at_each(to, [&](Value one) { copy_record(one, from, size, where); });
  if (follows_null(from, "reads through", where)) return;
  if (from.root == Root::output) output_.read(from, size, where);
  if (from.root == Root::unknown && output_as_number_) output_.read_somewhere(where);
  const bool known = from.root == Root::object && nodes_.is_constant(from.node);
  const int64_t source = known ? place(from) : 0;
  const bool carries = from.root == Root::object &&
                       memory_.holds_output(from.object, source, known ? size : INT64_MAX / 2);
  if (to.root != Root::object) {
    if (carries) {
      course_.complain(where,
                       "the output pointer '" + std::string(launch_.out) +
                           "' is stored to memory in a struct, and stores through that copy cannot "
                           "be seen");
    } else if (to.root == Root::output) {
      output_.store(to, size, where);
    } else if (to.root != Root::shared) {
      store(to, {}, parsed_.ast.CharTy, where);
    }
    return;
  }
  if (!nodes_.is_constant(to.node)) {
    if (carries)
      course_.complain(where, "the output pointer is stored at an index that is not constant");
    open_loops_.note_store(to.object, std::nullopt, 0);
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
  open_loops_.note_store(to.object, target, size);
  const NodeId condition = facts_.since(memory_[to.object].facts);
  const bool lost = !known || memory_.is_lost(from.object, source, size);
  const bool was_lost = memory_.is_lost(to.object, target, size);
  for (auto& [at, cell] : cells) {
    if (nodes_.is(condition, 1)) break;
    const std::optional<Value> old = memory_.read(to.object, target + at, cell.size);
    Value other = cell.value;
    if (other.root != Root::number && (lost || was_lost)) other = {Root::unknown, 0, 0};
    other.node = unknown(nodes_, "a struct that is not always set", where);
    cell.value = choose(condition, cell.value, old.value_or(other), where);
  }
  memory_.forget(to.object, target, size);
  if (!lost && !was_lost) memory_[to.object].lost.erase({target, target + size});
  for (const auto& [at, cell] : cells)
    memory_.write(to.object, target + at, cell.size, cell.value, cell.real);
}

void Storage::forget(Value pointer) {
  if (pointer.root == Root::either)
    return forks_.for_each_place(pointer, [&](Value one) { forget(one); });
  if (pointer.root != Root::object) return;
  open_loops_.note_store(pointer.object, std::nullopt, 0);
  memory_.forget(pointer.object);
}

// All values with one key are the same number. So a number that may have been rounded, truncated or
// read from other bytes has no key.
Value Storage::read_as(Value value, Type type, Where where) {
  if (value.root != Root::number || !type->isArithmeticType()) return value;
  const bool real = type->isRealFloatingType();
  const bool has_key = nodes_[value.node].op == Op::unknown && !nodes_.key(value.node).empty();
  if (has_key) {
    bool keeps = real;  // as a literal does
    for (const clang::ParmVarDecl* parameter : frames_.outermost().function->parameters()) {
      if (parameter->getName() == nodes_.key(value.node))
        keeps = types_.holds_all(type, parameter->getType());
    }
    if (!keeps) value.node = nodes_.without_key(value.node);
  } else if (!real) {
    value.node = nodes_.convert(value.node, types_.int_type(type));
  } else if (nodes_.is_constant(value.node) && !nodes_.is(value.node, 0)) {
    value.node = unknown(nodes_, "a whole number's bytes", where, Alike::block);
  }
  return value;
}

}  // namespace tilepost::inference
