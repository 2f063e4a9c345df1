#include "generator/infer/state/builtins.h"

namespace tilepost::inference {

Value Builtins::find(const clang::ValueDecl* variable, bool& found) {
  const std::string name = variable->getNameAsString();
  found = !variable->getDeclContext()->isFunctionOrMethod() && !parsed_.in_main(variable) &&
          (name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim" ||
           name == "warpSize");
  if (!found) return {};
  const auto [at, is_new] = places_.try_emplace(name);
  if (!is_new) return at->second;
  const uint32_t object = memory_.add(name);
  at->second = pointer_to(object);
  if (name == "warpSize") {
    memory_.write(object, 0, 4, {Root::number, 0, nodes_.constant(32)});
    return at->second;
  }
  for (int axis = 0; axis < 3; ++axis) {
    const NodeId node =
        name == "threadIdx"  ? nodes_.symbol(static_cast<Symbol>(thread_x + axis))
        : name == "blockIdx" ? nodes_.symbol(static_cast<Symbol>(block_x + axis))
        : name == "blockDim"
            ? nodes_.constant(launch_.threads[axis])
            : nodes_.given(launch_.grid[axis], "gridDim." + std::string(1, "xyz"[axis]));
    memory_.write(object, 4 * axis, 4, {Root::number, 0, node});
  }
  return at->second;
}

}  // namespace tilepost::inference
