#include "generator/infer/state/state.h"

namespace tilepost::inference {
namespace {

std::array<int64_t, kSymbols> extents(const KernelFacts& facts) {
  return {facts.threads[0], facts.threads[1], facts.threads[2],
          facts.grid[0],    facts.grid[1],    facts.grid[2]};
}

}  // namespace

State::State(const Parsed& source, const KernelFacts& facts_of_launch, Unrolling& unrolling,
             Terms* terms)
    : parsed(source),
      launch(facts_of_launch),
      nodes(extents(facts_of_launch), terms),
      course(nodes, frames, unrolling) {
  memory.add("");  // object 0 is no variable
}

}  // namespace tilepost::inference
