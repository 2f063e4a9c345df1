// Notes accesses to the kernel's output. The proof needs the address and the guard of each access.
#pragma once

#include <cstdint>

#include "generator/infer/source/names.h"
#include "generator/infer/state/state.h"

namespace tilepost::inference {

class Output {
 public:
  explicit Output(State& state)
      : parsed_(state.parsed),
        nodes_(state.nodes),
        facts_(state.facts),
        frames_(state.frames),
        course_(state.course),
        log_(state.log),
        open_loops_(state.open_loops) {}

  // Notes an access of `width` bytes. Asks for another run if the address is unknown because loops
  // were passed over.
  // `number`: the type of the number that is stored, if it is one.
  void store(Value to, int64_t width, Where where, bool by_warp = false, Type number = {});
  void read(Value from, int64_t width, Where where, bool by_warp = false);

  // Refuses a read that may be of the output, at an unknown place.
  void read_somewhere(Where where);
  // Refuses a read of the output as memory that the kernel does not change.
  void refuse_stale(Where where);

 private:
  const Parsed& parsed_;
  const Nodes& nodes_;
  Facts& facts_;
  const Frames& frames_;
  Course& course_;
  AccessLog& log_;
  const OpenLoops& open_loops_;
};

}  // namespace tilepost::inference
