#include "generator/infer/interpreter.h"

#include "clang/AST/Attr.h"

namespace tilepost::inference {

Interpreter::Interpreter(const Parsed& parsed, const KernelFacts& facts, Unrolling& unrolling,
                         Terms* terms)
    : m_is_bounded_(terms != nullptr),
      state_(parsed, facts, unrolling, terms),
      storage_(state_),
      meetings_(state_, *this),
      arguments_(state_, storage_),
      objects_(state_, storage_, arguments_, *this),
      lambdas_(state_, objects_, *this),
      calls_(state_, storage_, arguments_, lambdas_, meetings_, *this),
      expressions_(state_, storage_, objects_, lambdas_, calls_, *this),
      statements_(state_, storage_, objects_, meetings_, *this) {}

// Gives the parameters their values. Returns the parameter that is the output, or null.
const clang::ParmVarDecl* Interpreter::bind_parameters(const clang::FunctionDecl* kernel) {
  const clang::ParmVarDecl* out = nullptr;
  for (const clang::ParmVarDecl* parameter : kernel->parameters()) {
    const Type type = parameter->getType();
    const std::string name = parameter->getNameAsString();
    const uint32_t object = state_.frames.object_of(parameter);
    state_.memory[object].facts = 0;
    Value value;
    if (name == state_.launch.out) {
      out = parameter;
      value.root = Root::output;
    } else if (type->isPointerType()) {
      value = {state_.launch.nulls.count(name) ? Root::null : Root::other, state_.memory.add(name),
               0};
      state_.memory[value.object].is_parameter = true;
    } else if (type->isIntegralOrEnumerationType() && state_.launch.numbers.count(name)) {
      value.node = state_.nodes.convert(state_.nodes.given(state_.launch.numbers.at(name), name),
                                        state_.types.int_type(type));
    } else if (type->isScalarType()) {
      value.node = state_.nodes.unknown({"the parameter '" + name + "'"}, name);
    } else {
      continue;  // nothing is known of the contents of a struct
    }
    state_.memory.write(object, 0, state_.types.size_of(type), value, type->isRealFloatingType());
  }
  return out;
}

bool Interpreter::run(const clang::FunctionDecl* kernel) {
  for (const auto* note : kernel->specific_attrs<clang::AnnotateAttr>()) {
    if (note->getAnnotation() == "cluster_dims") {
      state_.course.complain(
          kernel->getLocation(),
          "blocks of a cluster work together here, and each would be given a tile of its own",
          kernel->getLocation(), "use a kernel without clusters, or mark its tile loop");
      return true;
    }
    if (note->getAnnotation() == "block_size") {
      state_.course.complain(kernel->getLocation(),
                             "a kernel with __block_size__ cannot become a function",
                             kernel->getLocation(), "leave it out: threads and grid say it");
      return true;
    }
  }
  state_.frames.enter(kernel, kernel, {});
  const clang::ParmVarDecl* out = bind_parameters(kernel);
  if (!out || !out->getType()->isPointerType()) {
    state_.course.complain(kernel->getLocation(),
                           out ? "the output '" + state_.launch.out + "' is no pointer"
                               : "there is no parameter '" + state_.launch.out + "'");
    return true;
  }
  statements_.exec(kernel->getBody());
  if (state_.course.stopped()) return !state_.course.restarts();
  state_.nodes.decide_leaves(roots_of(effects()));
  if (const Where copies = state_.log.pending_copies(); copies.isValid()) {
    state_.log.run_once(copies, "copies that are not waited for before the kernel ends");
  }
  if (effects().stores.empty()) {
    const std::string at = m_is_bounded_ ? "at m=" + std::to_string(state_.launch.m) + " " : "";
    state_.course.complain(
        kernel->getLocation(), at + "nothing is stored through '" + state_.launch.out + "'",
        kernel->getLocation(), "out names the parameter that the kernel stores its result to");
  }
  return true;
}

}  // namespace tilepost::inference
