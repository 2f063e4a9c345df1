// The properties of patterns, and where the data of each kind of run goes.
#include "runtime/map/run_path.h"

#include "runtime/map/slots.h"
#include "runtime/map/tile_map.h"
#include "tests/catch.h"

namespace tilepost::test {
namespace {

// A plan for four ranks.
tilepost_plan_t plan_with(tilepost_pattern_t pattern, tilepost_transport_t transport,
                          tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE) {
  tilepost_plan_t plan{};
  plan.pattern = pattern;
  plan.ranks = 4;
  plan.transport = transport;
  plan.access = access_of(transport);
  plan.consumer = consumer;
  plan.pushes = pattern == TILEPOST_ALL_GATHER_GEMM && plan.access != TILEPOST_ACCESS_MESSAGES;
  return plan;
}

TEST_CASE(
    "an output stays in tiles without a consumer, and in slots where its rows are not divided") {
  const auto plan_of = [](tilepost_layout_t layout, tilepost_division_t division,
                          tilepost_consumer_t consumer) {
    tilepost_plan_t plan{};
    plan.map.layout = layout;
    plan.map.division = division;
    plan.consumer = consumer;
    return plan;
  };
  const tilepost_plan_t slots =
      plan_of(TILEPOST_TILE, TILEPOST_DIVISION_ROWS, TILEPOST_CONSUMER_NONE);
  CHECK((keeps_tiles(slots) && has_slots(slots) && keeps_slots(slots)));
  const tilepost_plan_t slabs =
      plan_of(TILEPOST_TILE, TILEPOST_DIVISION_COLUMNS, TILEPOST_CONSUMER_NONE);
  CHECK((keeps_tiles(slabs) && !has_slots(slabs) && !keeps_slots(slabs)));
  const tilepost_plan_t rows =
      plan_of(TILEPOST_TILE, TILEPOST_DIVISION_ROWS, TILEPOST_CONSUMER_UNPERMUTE);
  CHECK((!keeps_tiles(rows) && has_slots(rows) && !keeps_slots(rows)));
  const tilepost_plan_t panel =
      plan_of(TILEPOST_PANEL, TILEPOST_DIVISION_ROWS, TILEPOST_CONSUMER_NONE);
  CHECK((!keeps_tiles(panel) && !has_slots(panel) && !keeps_slots(panel)));
}

TEST_CASE(
    "a pattern is told from all others by what moves, whether it is summed, where it ends and "
    "experts") {
  for (const PatternRow& row : kPatterns)
    for (const PatternRow& other : kPatterns)
      if (&row != &other)
        CHECK((row.moves != other.moves || row.sums != other.sums ||
               row.rows_end != other.rows_end || row.has_experts() != other.has_experts()));
}

TEST_CASE("what follows from a pattern") {
  const struct {
    tilepost_pattern_t pattern;
    bool communicates, routes, leaves, spreads, normalises, tiles, keeps_slots, shares;
  } cases[] = {
      {TILEPOST_GEMM, false, false, false, false, true, true, true, false},
      {TILEPOST_GEMM_ALL_REDUCE, true, false, false, true, true, true, true, false},
      {TILEPOST_GEMM_REDUCE_SCATTER, true, false, true, false, true, true, false, true},
      {TILEPOST_GEMM_ALL_TO_ALL, true, true, true, false, false, true, false, true},
      {TILEPOST_ALL_GATHER_GEMM, true, false, false, false, false, false, false, true},
  };
  for (const auto& it : cases) {
    const PatternRow& row = row_of(it.pattern);
    INFO(row.name);
    CHECK(row.communicates() == it.communicates);
    CHECK(row.routes() == it.routes);
    CHECK(row.product_leaves() == it.leaves);
    CHECK(row.product_spreads() == it.spreads);
    CHECK(row.may_normalise() == it.normalises);
    CHECK(row.may_tile() == it.tiles);
    CHECK(row.may_keep_slots() == it.keeps_slots);
    CHECK(row.has_shares(TILEPOST_ACCESS_MESSAGES) == it.shares);
    CHECK(row.has_shares(TILEPOST_ACCESS_READ) == it.communicates);
    CHECK((row.collective[0] != '\0') == it.communicates);
  }
}

TEST_CASE("where the product goes") {
  constexpr tilepost_consumer_t kNone = TILEPOST_CONSUMER_NONE, kNorm = TILEPOST_CONSUMER_RMS_NORM;
  const struct {
    tilepost_pattern_t pattern;
    tilepost_transport_t transport;
    tilepost_consumer_t consumer;
    bool overlaps;
    Buffer stores, results;
    bool copies_out;
  } cases[] = {
      {TILEPOST_GEMM, TILEPOST_TRANSPORT_NONE, kNone, false, Buffer::out, Buffer::out, false},
      {TILEPOST_GEMM, TILEPOST_TRANSPORT_NONE, kNorm, false, Buffer::send, Buffer::send, false},
      // The sum is made in place: in `out`, or in memory that NCCL has registered.
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, kNone, true, Buffer::out, Buffer::out,
       false},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, kNorm, true, Buffer::send, Buffer::send,
       false},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL_SYMMETRIC, kNone, true, Buffer::send,
       Buffer::send, true},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL_SYMMETRIC, kNone, false, Buffer::out,
       Buffer::out, false},
      // Each rank sums its share.
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_COPY_ENGINE, kNone, true, Buffer::send,
       Buffer::out, false},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, kNone, true, Buffer::owners, Buffer::out,
       false},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, kNorm, true, Buffer::owners,
       Buffer::received, false},
      {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, kNorm, false, Buffer::send, Buffer::send,
       false},
      // NCCL receives elsewhere than where the kernel has stored.
      {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL, kNone, true, Buffer::send,
       Buffer::out, false},
      {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL, kNorm, true, Buffer::send,
       Buffer::received, false},
      {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL_SYMMETRIC, kNone, true, Buffer::send,
       Buffer::received, true},
      {TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_PEER, kNone, true, Buffer::owners, Buffer::out,
       false},
      {TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER, kNone, true, Buffer::out, Buffer::out,
       false},
  };
  for (const auto& it : cases) {
    INFO(row_of(it.pattern).name << " transport " << it.transport << " consumer " << it.consumer);
    const RunPath path = path_of(plan_with(it.pattern, it.transport, it.consumer), it.overlaps);
    CHECK(path.stores == it.stores);
    CHECK(path.results == it.results);
    CHECK(path.copies_out() == it.copies_out);
  }
}

TEST_CASE(
    "rows of A are waited for by tiles, by launches beside neighbours, or by the whole GEMM") {
  for (const auto pattern : {TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM})
    for (const auto transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE}) {
      tilepost_plan_t plan = plan_with(pattern, transport);
      CHECK(path_of(plan, true).waits == Waits::tiles);
      CHECK(path_of(plan, true).waits_on_sms());
      plan.neighbours = 1;
      CHECK(path_of(plan, true).waits == Waits::launches);
      CHECK(path_of(plan, true).input_arrives());
      CHECK_FALSE(path_of(plan, true).waits_on_sms());
      CHECK(path_of(plan, false).waits == Waits::kernel);
      CHECK_FALSE(path_of(plan, false).input_arrives());
    }
  const RunPath few =
      path_of(plan_with(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER_TILES), true);
  CHECK(few.waits == Waits::tiles);
  CHECK((few.whole_run && few.kernel_does_all && few.waits_on_sms() && !few.gathers_for_caller));
  CHECK(few.reads == InputFrom::split);
  tilepost_plan_t sums = plan_with(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL);
  sums.neighbours = 1;
  CHECK(path_of(sums, true).waits == Waits::steps);
}

TEST_CASE("even shares are received in windows where runs overlap") {
  const tilepost_plan_t plan =
      plan_with(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_NCCL_SYMMETRIC);
  CHECK(path_of(plan, true).receives_in == Memory::window);
  CHECK(path_of(plan, false).receives_in == Memory::own);
  CHECK(path_of(plan, true).results == Buffer::received);
}

TEST_CASE("sums that helper warps push land where a consumer reads them, or in a lent output") {
  tilepost_plan_t plan = plan_with(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER);
  CHECK_FALSE(path_of(plan, true).lends_out);
  plan.pushes = 1;
  plan.task_parts = plan.ranks;
  RunPath path = path_of(plan, true);
  CHECK(path.lends_out);
  CHECK(path.kernel_does_all);
  CHECK(path.warps_push());
  CHECK(path.results == Buffer::out);
  CHECK(path_of(plan, false).pushes == Pushes::nothing);
  plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  path = path_of(plan, true);
  CHECK_FALSE(path.lends_out);
  CHECK(path.results == Buffer::landed);
}

TEST_CASE("tokens that are pushed leave nothing to streams, and own ones stay where they are") {
  tilepost_plan_t plan = plan_with(TILEPOST_DISPATCH_GROUPED_GEMM, TILEPOST_TRANSPORT_PEER);
  plan.reads_own = plan.pushes = 1;
  const RunPath path = path_of(plan, true);
  CHECK((path.lists_tiles && path.pushes_tokens && path.kernel_does_all));
  CHECK(path.waits == Waits::tiles);
  CHECK(path.reads == InputFrom::split);
  CHECK((path.warps_push() && path.waits_on_sms() && path.leaves_own_rows()));
  CHECK_FALSE((path.begins_on_comm_stream() || path.whole_run || path.has_tasks));
  CHECK(path.exchanged == Memory::shared);
  CHECK(path.places_of_rows() == 1);
  CHECK_FALSE(path_of(plan, false).pushes_tokens);
  plan = plan_with(TILEPOST_DISPATCH_GROUPED_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE);
  plan.reads_own = plan.pushes = 1;
  CHECK_FALSE(path_of(plan, true).pushes_tokens);
  CHECK(path_of(plan, true).leaves_own_rows());
}

TEST_CASE("who waits for rows of A, and where they are read") {
  tilepost_plan_t plan = plan_with(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE);
  RunPath path = path_of(plan, true);
  CHECK(path.waits == Waits::tiles);
  CHECK(path.reads == InputFrom::gathered);
  CHECK(path.pushes == Pushes::rows);
  CHECK(path.exchanged == Memory::shared);
  CHECK_FALSE(path.gathers_for_caller);
  CHECK_FALSE(path.begins_on_comm_stream());
  plan.reads_own = 1;
  path = path_of(plan, true);
  CHECK(path.reads == InputFrom::split);
  CHECK(path.begins_on_comm_stream());
  CHECK_FALSE(path_of(plan, false).begins_on_comm_stream());
  plan.task_parts = 1;
  path = path_of(plan, true);
  CHECK(path.reads == InputFrom::split);
  CHECK_FALSE(path.begins_on_comm_stream());
  CHECK_FALSE(path.kernel_does_all);  // other ranks' rows are copied
  path = path_of(plan, false);
  CHECK(path.waits == Waits::kernel);
  CHECK(path.reads == InputFrom::gathered);
  CHECK(path.gathers_for_caller);
  plan = plan_with(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_NCCL);
  CHECK(path_of(plan, true).waits == Waits::steps);
  CHECK(path_of(plan, true).reads == InputFrom::a);
}

TEST_CASE("plans have runs of one kind, or of both where fewer rows may not pay") {
  tilepost_plan_t plan = plan_with(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  CHECK(paths_of(plan).has(true));
  CHECK_FALSE(paths_of(plan).has(false));
  plan.any_m = 1;
  plan.model.sequence_ctas = 132;
  CHECK(paths_of(plan).has(true));
  CHECK(paths_of(plan).has(false));
  CHECK(paths_of(plan).sequence->stores_by_owner);
  plan.transport = TILEPOST_TRANSPORT_NONE;
  plan.access = TILEPOST_ACCESS_MESSAGES;
  CHECK_FALSE(paths_of(plan).has(true));
  CHECK(paths_of(plan).has(false));
}

TEST_CASE("slots: a block for each rank, or one for all, at the owner's") {
  tilepost_plan_t plan = plan_with(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER);
  const int32_t cuts[] = {2};
  plan.map = {14, 6, 2, 3, 1,    1, 1, TILEPOST_PANEL, TILEPOST_DIVISION_SHARES,
              4,  0, 0, 1, cuts, 0, 0};
  // Shares have 4, 4, 4 and 2 rows, and blocks have room for 4.
  Slots slots = slots_of(plan, plan.map);
  CHECK(slots.block == 4 * 6);
  CHECK(slots.elements() == 4 * 4 * 6);
  CHECK(slots.at(3, 5) == 3 * 24 + 5);
  OwnerPlace place = place_at_owner(plan, slots, plan.map, 2, 3);
  CHECK(place.in_slots);
  CHECK(place.first == 2 * 24);
  plan.sum = TILEPOST_SUM_ADDED;
  slots = slots_of(plan, plan.map);
  CHECK(slots.elements() == 24);
  CHECK(slots.at(3, 5) == 5);
  plan.pattern = TILEPOST_GEMM_ALL_TO_ALL;
  place = place_at_owner(plan, slots, plan.map, 2, 3);
  CHECK_FALSE(place.in_slots);
  CHECK(place.first == 2 * 2 * 6);  // rank 3 gets two rows from each rank
}

}  // namespace
}  // namespace tilepost::test
