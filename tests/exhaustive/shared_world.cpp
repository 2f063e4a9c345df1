#include "tests/exhaustive/shared_world.h"

#include <algorithm>

namespace tilepost::test {

bool Memory::write(int64_t at, Number value, int group) {
  if (at < 0 || at >= size() || elements_[at].group >= 0) return false;
  elements_[at] = {value, group};
  return true;
}

Number Memory::read(int64_t at, int group) const {
  return at < 0 || at >= size() || elements_[at].group != group ? kNever : elements_[at].value;
}

SharedWorld::SharedWorld(const World& world, const World::Input& input, Fault& fault)
    : world_(world), input_(input), fault_(fault), memory_(world.ranks) {
  for (int rank = 0; rank < world.ranks; ++rank) {
    Own& own = memory_[rank];
    own.posted.assign(world.cuts.size(), 0);
    if (gathers()) own.landed.assign(static_cast<int64_t>(input.gathered[rank].size()));
    if (routes()) own.landed.assign(world.ranks * own_rows(rank) * world.n);
    if (!adds()) continue;
    if (world.pushes) own.landed.assign(world.m * world.n);
    own.slots.assign(world.ranks * block());
    own.sums.assign(block());
  }
}

int64_t SharedWorld::block() const {
  return (world_.share() + world_.tile_m - 1) / world_.tile_m * world_.tile_m * world_.n;
}

// Stores an element. In another rank's memory a tile is cut off where the owner's rows end.
void SharedWorld::store(int rank, const tilepost_tile_t& tile, int64_t at, int64_t m, int64_t n,
                        Number value) {
  if (reads()) {
    if (!memory_[rank].send.write(at, value, tile.group))
      fault_.say("rank ", rank, " stores at ", at, " of its send buffer, twice or outside");
    return;
  }
  const int owner = static_cast<int>(tile.m / world_.share());
  const int64_t row = m - owner * world_.share();
  if (row >= own_rows(owner)) return;
  Own& own = memory_[owner];
  const bool stored =
      adds() ? own.slots.write(rank * block() + row * world_.n + n, value, tile.group)
             : own.landed.write((rank * own_rows(owner) + row) * world_.n + n, value, tile.group);
  if (!stored) fault_.say("rank ", rank, " stores (", m, ", ", n, ") twice or outside");
}

void SharedWorld::post(int rank, const tilepost_tile_t& tile) {
  const auto owner = static_cast<int>(tile.m / world_.share());
  if (reads())
    ++memory_[rank].posted[tile.group];
  else if (tile.row >= 0)
    ++memory_[owner].posted[tile.group];
}

bool SharedWorld::has(int g, int rank, StepKind kind) const {
  return std::ranges::count((*ranks_[rank].steps)[g], kind, &Step::kind) == 1;
}

bool SharedWorld::may_pull(int g, int rank, const Step& step) const {
  if (step.peer < 0 || step.peer >= world_.ranks || step.peer == rank) return false;
  return follows(step) ? may_follow(g, step) : has(g, step.peer, StepKind::announce);
}

bool SharedWorld::pushes(const Step& step) {
  return step.kind == StepKind::push_sums || step.kind == StepKind::push_rows;
}

// Whether the step needs what other ranks do for the group.
bool SharedWorld::follows(const Step& step) {
  return step.kind == StepKind::pull_sums || step.kind == StepKind::landed_sums ||
         step.kind == StepKind::landed_rows;
}

// Whether the rank that the step needs announces its data. Sums, and rows that are pushed, are
// announced by the rank that stores them.
bool SharedWorld::may_follow(int g, const Step& step) const {
  if (step.peer < 0 || step.peer >= world_.ranks) return false;
  return has(g, step.peer, gathers() ? StepKind::announce : StepKind::announce_sums);
}

// Checks the order of a rank's steps. A rank that waited for others before it announced would wait
// for ever. No rank may announce data before it is there.
void SharedWorld::check_order(int g, int rank) {
  bool announced = false, sums = false;
  for (const Step& step : (*ranks_[rank].steps)[g]) {
    const bool pulls = is(StepKind::pull_part, step) || is(StepKind::pull, step);
    const bool said = gathers() ? announced : sums;
    if ((pulls && !announced) || (follows(step) && !said) || (pushes(step) && said) ||
        (is(StepKind::sum, step) && sums) || (is(StepKind::own_rows, step) && announced))
      fault_.say("rank ", rank, " does a step of group ", g, " in the wrong order");
    announced |= is(StepKind::announce, step);
    sums |= is(StepKind::announce_sums, step);
  }
  const bool announces = gathers() ? g > 0 : reads();
  if (announced != announces || sums != world_.row().product_spreads())
    fault_.say("rank ", rank, " announces group ", g, " wrongly");
}

void SharedWorld::group(int g) {
  for (int rank = 0; rank < world_.ranks; ++rank) check_order(g, rank);
  for (const bool later : {false, true})
    for (int rank = 0; rank < world_.ranks && fault_.none(); ++rank)
      for (const Step& step : (*ranks_[rank].steps)[g])
        if (follows(step) == later) carry_out(g, rank, step);
}

void SharedWorld::carry_out(int g, int rank, const Step& step) {
  switch (step.kind) {
    case StepKind::announce:
    case StepKind::announce_sums:
      return;
    case StepKind::sum:
      return sum(g, rank, step);
    case StepKind::pull_part:
    case StepKind::pull:
    case StepKind::pull_sums:
    case StepKind::landed_sums:
    case StepKind::landed_rows:
      if (!may_pull(g, rank, step))
        return fault_.say("rank ", rank, " pulls what ", step.peer, " does not announce");
      break;
    case StepKind::push_sums:
    case StepKind::push_rows:
      if (!world_.pushes || step.peer == rank)
        return fault_.say("rank ", rank, " pushes to ", step.peer);
      break;
    case StepKind::own_rows:
    case StepKind::own_part:
    case StepKind::landed_part:
      break;
    default:
      return fault_.say("rank ", rank, " sends messages");
  }
  for (int64_t i = 0; i < step.count && fault_.none(); ++i) {
    const Number value = source_of(g, rank, step, i);
    if (value == kNever)
      fault_.say("rank ", rank, ", group ", g, ": element ", step.from + i, " is not there");
    else if (pushes(step))
      push(g, rank, step, i, value);
    else if (step.kind != StepKind::pull_part)
      write_out(rank, step.to + i, value);
    else if (step.to + i >= block() ||
             !memory_[rank].slots.write(step.peer * block() + step.to + i, value, g))
      fault_.say("rank ", rank, " pulls into ", step.to + i, " of a slot, twice or outside");
  }
}

void SharedWorld::push(int g, int rank, const Step& step, int64_t i, Number value) {
  if (!memory_[step.peer].landed.write(step.to + i, value, g))
    fault_.say("rank ", rank, " pushes to ", step.to + i, " of ", step.peer, ", twice or outside");
}

Number SharedWorld::source_of(int g, int rank, const Step& step, int64_t i) const {
  const int64_t at = step.from + i;
  const int64_t own = own_rows(rank);
  switch (step.kind) {
    case StepKind::pull_part:
    case StepKind::pull:
      return memory_[step.peer].send.read(at, g);
    case StepKind::pull_sums:
      return memory_[step.peer].sums.read(at, g);
    case StepKind::push_sums:  // the output holds the sums of all ranks
      return memory_[rank].sums.read(at - rank * world_.share() * world_.n, g);
    case StepKind::landed_sums: {
      const int64_t row = at / world_.n - step.peer * world_.share();
      return row >= 0 && row < own_rows(step.peer) ? memory_[rank].landed.read(at, g) : kNever;
    }
    case StepKind::landed_rows:
      return input_.pieces[rank][step.peer].has(at / world_.k) ? memory_[rank].landed.read(at, g)
                                                               : kNever;
    case StepKind::own_part:
      return reads() ? memory_[rank].send.read(at, g) : memory_[rank].landed.read(at, g);
    case StepKind::landed_part:
      return own > 0 && at / world_.n / own == step.peer ? memory_[rank].landed.read(at, g)
                                                         : kNever;
    case StepKind::own_rows:
    case StepKind::push_rows:
      return at < static_cast<int64_t>(input_.brought[rank].size()) ? input_.brought[rank][at]
                                                                    : kNever;
    default:
      return kNever;
  }
}

void SharedWorld::sum(int g, int rank, const Step& step) {
  Own& own = memory_[rank];
  for (int64_t i = 0; i < step.count; ++i) {
    Number all = 0;
    for (int source = 0; source < world_.ranks; ++source) {
      const bool in_send = reads() && source == rank;
      const int64_t slot = step.from_slot + i;
      const Number part = in_send          ? own.send.read(step.from + i, g)
                          : slot < block() ? own.slots.read(source * block() + slot, g)
                                           : kNever;
      if (part == kNever)
        return fault_.say("rank ", rank, ", group ", g, ": rank ", source, "'s part of element ",
                          slot, " is not there");
      all += part;
    }
    write_out(rank, step.to + i, all);
    if (world_.row().product_spreads() && !own.sums.write(step.from_slot + i, all, g))
      fault_.say("rank ", rank, " sums twice");
  }
}

void SharedWorld::write_out(int rank, int64_t at, Number value) {
  std::vector<Number>& out = *ranks_[rank].out;
  if (at < 0 || at >= static_cast<int64_t>(out.size()))
    return fault_.say("rank ", rank, " receives at ", at, " of ", out.size());
  if (out[at] != kNever) return fault_.say("rank ", rank, " receives twice at ", at);
  out[at] = value;
}

}  // namespace tilepost::test
