#include "runtime/verify/host/host_runner.h"

#include <cstring>

#include "runtime/verify/run/world.h"

namespace tilepost::verify {

void HostRunner::upload(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void HostRunner::fill(uint32_t* memory, int64_t words, int which) {
  for (int64_t i = 0; i < words; ++i) memory[i] = fill_word(i, which);
}

void HostRunner::run_woven(const Operands& operands, void* c, const tilepost_tile_t* tiles,
                           int32_t count, uint32_t* counters) {
  tilepost_view_t view{};
  view.tiles = tiles;
  view.num_tiles = count;
  view.counters = counters;
  view.user = operands.user;
  plan_.kernel.host_function(operands.a, operands.b, c, operands.shape, {}, 0, 1, view);
}

void HostRunner::run_plain(const Operands& operands, void* c) {
  if (plain_.launch(operands.a, operands.b, c, operands.shape, operands.user, nullptr) != 0)
    throw TargetError(std::string("launching ") + plain_.name + " failed");
}

void HostRunner::look(const Look& look, uint32_t* found) {
  for (int64_t i = 0; i < look.words; ++i) *found |= look_at_word(look, i);
  for (int64_t i = 0; i < look.num_counters; ++i) *found |= look_at_counter(look, i);
}

}  // namespace tilepost::verify
