#include "runtime/host/arena.h"

#include "runtime/map/moved_scales.h"
#include "runtime/map/patterns.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

constexpr int64_t kLineBytes = int64_t{TILEPOST_COUNTER_STRIDE} * sizeof(uint32_t);

constexpr int64_t lines_of(int64_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes;
}

}  // namespace

ArenaNeed arena_need(const tilepost_plan_t& plan) {
  const int64_t bytes = row_of(plan).moves_input()
                            ? 2 * place_of_rows(plan, plan.map.m).bytes
                            : slots_of(plan, plan.map).elements() * element_bytes(plan.output);
  return {exchanged_parts(plan), bytes};
}

HostArena::HostArena(int ranks, const ArenaNeed& room)
    : ranks_(ranks),
      room_(room),
      memory_(static_cast<size_t>(bytes_of(ranks, room) / kLineBytes)) {}

int64_t HostArena::bytes_of(int ranks, const ArenaNeed& room) {
  return (2 * ranks + lines_of(exchange_flags_bytes(room.parts)) + lines_of(room.bytes)) *
         kLineBytes;
}

void HostArena::place(tilepost_exchange_t& exchange) {
  exchange.begun = 0;
  exchange.ended = ranks_ * kLineBytes;
  exchange.arrived = 2 * ranks_ * kLineBytes;
  exchange.slots = exchange.arrived + lines_of(exchange_flags_bytes(room_.parts)) * kLineBytes;
  exchange.most_parts = room_.parts;
  exchange.run = run;
}

}  // namespace tilepost
