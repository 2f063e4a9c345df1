#include "generator/infer/state/arithmetic.h"

#include "generator/infer/state/unknowns.h"

namespace tilepost::inference {

namespace {

std::optional<Op> op_of(clang::BinaryOperatorKind kind) {
  switch (kind) {
    case clang::BO_Add:
      return Op::add;
    case clang::BO_Sub:
      return Op::subtract;
    case clang::BO_Mul:
      return Op::multiply;
    case clang::BO_Div:
      return Op::divide;
    case clang::BO_Rem:
      return Op::remainder;
    case clang::BO_And:
      return Op::bit_and;
    case clang::BO_Or:
      return Op::bit_or;
    case clang::BO_Xor:
      return Op::bit_xor;
    case clang::BO_Shl:
      return Op::shift_left;
    case clang::BO_Shr:
      return Op::shift_right;
    default:
      return std::nullopt;
  }
}

}  // namespace

Value Arithmetic::pointer_arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type left,
                                     Type right, Where where) {
  const bool left_is_pointer = left->isPointerType();
  if (left_is_pointer && right->isPointerType()) {
    if (!a.same_root(b) || is_uncertain(a.root)) {
      const auto is_input = [](Value value) { return value.root == Root::other; };
      const bool strangers =
          !is_uncertain(a.root) && !is_uncertain(b.root) && !(is_input(a) && is_input(b));
      if (strangers || a.root == Root::output || b.root == Root::output) refuse_number(where);
      return {Root::number, 0, unknown(nodes_, "the distance of two pointers", where)};
    }
    const NodeId bytes = nodes_.binary(Op::subtract, a.node, b.node, kInt64);
    const NodeId size =
        nodes_.constant(std::max<int64_t>(types_.size_of(left->getPointeeType()), 1));
    return {Root::number, 0, nodes_.binary(Op::divide, bytes, size, kInt64)};
  }
  const Value pointer = left_is_pointer ? a : b;
  const Value index = left_is_pointer ? b : a;
  const Type type = left_is_pointer ? left : right;
  if (index.root != Root::number)
    return {Root::unknown, 0, unknown(nodes_, "an address as an index", where)};
  if (pointer.root == Root::number)
    return {Root::unknown, 0, unknown(nodes_, "a number that is made a pointer", where)};
  const NodeId size = nodes_.constant(types_.size_of(type->getPointeeType()));
  // In memory that is not tracked a lost offset does no harm.
  const NodeId bytes = nodes_.binary(Op::multiply, index.node, size, kInt64);
  return storage_.moved(pointer, bytes, kind == clang::BO_Sub ? Op::subtract : Op::add);
}

void Arithmetic::refuse_number(Where where) {
  course_.complain(where, "an address is a number here, and what is reached by that cannot be seen",
                   where,
                   "index each pointer from its own start, and choose between pointers with ?: or "
                   "if; whether one is aligned may be asked with % and &");
}

Value Arithmetic::arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type type, Type left,
                             Type right, Where where) {
  if (left->isPointerType() || right->isPointerType()) {
    return pointer_arithmetic(kind, a, b, left, right, where);
  }
  const std::optional<Op> op = op_of(kind);
  if (a.root != Root::number || b.root != Root::number) {
    // An address as a number still points into the same memory only if it is moved by bytes, …
    const bool moves =
        types_.int_type(type).bits == 64 && (kind == clang::BO_Add || kind == clang::BO_Sub);
    const NodeId by = a.root == Root::number ? a.node : b.node;
    if (moves && nodes_[by].lost && (a.root == Root::output || b.root == Root::output)) {
      refuse_number(where);
    } else if (moves && a.root != Root::number && b.root == Root::number) {
      return storage_.moved(a, b.node, *op);
    }
    if (kind == clang::BO_Add && moves && a.root == Root::number) return storage_.moved(b, a.node);
    // … or, in shared memory, if it is rounded down.
    const bool rounds = kind == clang::BO_And && types_.int_type(type).bits == 64 &&
                        a.root == Root::shared && nodes_.is_constant(b.node) &&
                        nodes_[b.node].value < 0;
    if (rounds)
      return {Root::shared, 0, unknown(nodes_, "an address", where, nodes_.alike(a.node))};
    constexpr int64_t kPage = 4096;
    const bool aligned = (kind == clang::BO_And || kind == clang::BO_Rem) &&
                         b.root == Root::number && nodes_.is_constant(b.node) &&
                         nodes_[b.node].value >= 0 && nodes_[b.node].value <= kPage;
    const auto is_followed = [](Value value) {
      return value.root == Root::output || value.root == Root::object;
    };
    if (!aligned && (is_followed(a) || is_followed(b))) refuse_number(where);
    storage_.note_number_of_output(a.root == Root::output || b.root == Root::output);
    return unknown_value(nodes_, type, "an address", where, alike(nodes_, a, b));
  }
  if (!op || !type->isIntegralOrEnumerationType()) {
    return unknown_value(nodes_, type, "a floating-point number", where, alike(nodes_, a, b));
  }
  return {Root::number, 0, nodes_.binary(*op, a.node, b.node, types_.int_type(type))};
}

Value Arithmetic::compare(clang::BinaryOperatorKind kind, Value a, Value b, Type operands,
                          Where where) {
  a = storage_.number_if_null(a);
  b = storage_.number_if_null(b);
  const bool numbers = a.root == Root::number && b.root == Root::number;
  const bool integers = numbers && !operands->isRealFloatingType();
  const bool pointers = !numbers && a.same_root(b) && !is_uncertain(a.root);
  const bool keyed = !key_of(a).empty() && !key_of(b).empty() &&
                     !(nodes_.is_constant(a.node) && nodes_.is_constant(b.node) && numbers);
  const bool equality = kind == clang::BO_EQ || kind == clang::BO_NE;
  if (keyed && !pointers) {
    // The comparison has the same result in the whole launch, so it becomes a choice. a > b is the
    // choice b < a. a <= b is a choice of its own: for NaN it is not the opposite of b < a.
    const bool swapped = kind == clang::BO_GT || kind == clang::BO_GE;
    const std::string first = key_of(swapped ? b : a);
    const std::string second = key_of(swapped ? a : b);
    const bool or_equal = kind == clang::BO_LE || kind == clang::BO_GE;
    const NodeId choice = nodes_.choice(first +
                                        (equality   ? " == "
                                         : or_equal ? " <= "
                                                    : " < ") +
                                        second);
    return {Root::number, 0, kind == clang::BO_NE ? nodes_.negation(choice) : choice};
  }
  // Neither the output nor shared memory nor a thread's own variables have a null address.
  const auto is_null = [&](Value value) {
    return value.root == Root::number && nodes_.is(value.node, 0);
  };
  const auto is_some = [](Value value) {
    return value.root == Root::output || value.root == Root::object || value.root == Root::shared;
  };
  if (equality && ((is_null(a) && is_some(b)) || (is_null(b) && is_some(a)))) {
    return {Root::number, 0, nodes_.constant(kind == clang::BO_NE)};
  }
  // Shared memory, and memory that other pointers lead to, may be several places.
  const bool one_place = a.root == Root::output || a.object != 0;
  if (!integers && !(pointers && one_place)) {
    return {Root::number, 0,
            unknown(nodes_, "a comparison of numbers that are not whole, or of pointers", where,
                    alike(nodes_, a, b))};
  }
  const IntType type = integers ? types_.int_type(operands) : kInt64;
  switch (kind) {
    case clang::BO_LT:
      return {Root::number, 0, nodes_.binary(Op::less, a.node, b.node, type)};
    case clang::BO_GT:
      return {Root::number, 0, nodes_.binary(Op::less, b.node, a.node, type)};
    case clang::BO_LE:
      return {Root::number, 0, nodes_.negation(nodes_.binary(Op::less, b.node, a.node, type))};
    case clang::BO_GE:
      return {Root::number, 0, nodes_.negation(nodes_.binary(Op::less, a.node, b.node, type))};
    case clang::BO_EQ:
      return {Root::number, 0, nodes_.binary(Op::equal, a.node, b.node, type)};
    case clang::BO_NE:
      return {Root::number, 0, nodes_.negation(nodes_.binary(Op::equal, a.node, b.node, type))};
    default:
      return {Root::number, 0, unknown(nodes_, "a comparison", where)};
  }
}

std::string Arithmetic::key_of(Value value) const {
  if (value.root == Root::other && nodes_.is(value.node, 0) && memory_[value.object].is_parameter)
    return storage_.name_of(value);
  if (value.root != Root::number) return "";
  if (nodes_.is_constant(value.node)) return std::to_string(nodes_[value.node].value);
  return nodes_[value.node].op == Op::unknown ? nodes_.key(value.node) : "";
}

}  // namespace tilepost::inference
