// What is known at the statement that is being run. A member may use members that are declared
// before it.
#pragma once

#include "generator/infer/source/origins.h"
#include "generator/infer/source/types.h"
#include "generator/infer/state/access_log.h"
#include "generator/infer/state/budget.h"
#include "generator/infer/state/course.h"
#include "generator/infer/state/frames.h"
#include "generator/infer/state/open_loops.h"
#include "generator/infer/values/facts.h"
#include "generator/infer/values/forks.h"
#include "generator/infer/values/memory.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

struct State {
  // `terms` collects the kernel's decisions that depend on m. It is null unless m is bounded.
  State(const Parsed& source, const KernelFacts& facts_of_launch, Unrolling& unrolling,
        Terms* terms);

  const Parsed& parsed;
  const KernelFacts& launch;
  Nodes nodes;
  Facts facts{nodes};
  Memory memory;
  Forks forks;
  Types types{parsed.ast};
  Origins origins{parsed, launch.libraries};
  Frames frames{parsed, nodes, facts, memory};
  Course course;
  AccessLog log;
  OpenLoops open_loops;
  Budget budget{nodes, log, course};
};

}  // namespace tilepost::inference
