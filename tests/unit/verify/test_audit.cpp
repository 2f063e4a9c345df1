// The audit passes a correct kernel. It finds each fault below and names the place.
#include <cmath>
#include <set>

#include "runtime/harness/opaque_bytes.h"
#include "runtime/map/tile_map.h"
#include "runtime/verify/audit/audit.h"
#include "runtime/verify/audit/schedule.h"
#include "tests/catch.h"
#include "tilepost/numeric.h"

using namespace tilepost::verify;

namespace {

// 29 x 50: four tile rows and four columns, ragged at both ends. Three groups of bands.
constexpr int kM = 29, kN = 50, kK = 11, kTileM = 8, kTileN = 16;

enum class Fault {
  none,
  element_missing,
  row_too_many,
  column_too_many,
  far_before,
  far_behind,
  adds,
  reads_element,
  no_signal,
  two_signals,
  wrong_group,
  padding_stores,
  ignores_place,
  other_value,
  changes_a,
  changes_data,
  forgets_after_first
};
Fault fault;

bool is(Fault one) {
  return fault == one;
}

uint16_t product(const uint16_t* a, const uint16_t* b, int row, int column) {
  float sum = 0;
  for (int i = 0; i < kK; ++i)
    sum += decode(a[row * kK + i], TILEPOST_BF16) * decode(b[column * kK + i], TILEPOST_BF16);
  return tilepost::from_float<tilepost::Bf16>(sum).bits;
}

int data_read = 0;  // bytes of user data that both kernels read

uint16_t salt(void* const* user) {
  uint16_t sum = 0;
  for (int i = 0; i < data_read; ++i) sum += static_cast<const unsigned char*>(user[0])[i];
  return sum;
}

void store_tile(const uint16_t* a, const uint16_t* b, uint16_t* c, const tilepost_tile_t& tile,
                int position, uint16_t salt) {
  const int rows = std::min(kTileM, kM - tile.m) + (is(Fault::row_too_many) && tile.m == 8);
  const int columns = std::min(kTileN, kN - tile.n) + (is(Fault::column_too_many) && tile.n == 16);
  const int first = is(Fault::ignores_place) ? tile.m : tile.row;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      uint16_t& to = c[(first + row) * kN + tile.n + column];
      if (is(Fault::element_missing) && tile.m + row == 17 && tile.n + column == 49) continue;
      if (is(Fault::forgets_after_first) && position > 0 && row == 3) continue;
      const uint16_t value = product(a, b, tile.m + row, tile.n + column) ^ salt ^
                             (is(Fault::other_value) && tile.m == 24 ? 1 : 0);
      if (is(Fault::adds))
        to = tilepost::from_float<tilepost::Bf16>(decode(value, TILEPOST_BF16) +
                                                  decode(to, TILEPOST_BF16))
                 .bits;
      else if (is(Fault::reads_element) && row == 1 && column == 2)
        to = to == 0 ? 0 : static_cast<uint16_t>(value ^ (to & 1));
      else
        to = value;
    }
}

void woven(const void* a, const void* b, void* c, tilepost_shape_t /*shape*/,
           tilepost_epilogue_t /*epilogue*/, int worker, int workers, tilepost_view_t view) {
  auto* out = static_cast<uint16_t*>(c);
  if (is(Fault::changes_a)) const_cast<uint16_t*>(static_cast<const uint16_t*>(a))[3] = 5;
  if (is(Fault::changes_data)) ++*static_cast<unsigned char*>(view.user[0]);
  for (int position = worker; position < view.num_tiles; position += workers) {
    tilepost_tile_t tile = view.tiles[position];
    if (tile.row >= 0 || is(Fault::padding_stores)) {
      tile.row = std::max(tile.row, 0);
      store_tile(static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), out, tile,
                 position, salt(view.user));
    }
    if (is(Fault::far_before) && tile.m == 8) out[-100] = 7;
    if (is(Fault::far_behind) && tile.m == 8) out[40 * kN] = 7;
    const int group = tile.group + (is(Fault::wrong_group) && tile.group == 1);
    uint32_t& counter = view.counters[ptrdiff_t{group} * TILEPOST_COUNTER_STRIDE];
    counter += is(Fault::no_signal) ? 0 : is(Fault::two_signals) ? 2 : 1;
  }
}

int plain_stored = kM;  // rows that the plain kernel stores
bool plain_repeats = true;

int plain(const void* a, const void* b, void* c, const tilepost_shape_t& /*shape*/,
          void* const* user, void* /*stream*/) {
  static uint16_t run = 0;
  for (int row = 0; row < plain_stored; ++row)
    for (int column = 0; column < kN; ++column)
      static_cast<uint16_t*>(c)[row * kN + column] =
          product(static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), row, column) ^
          salt(user) ^ (plain_repeats ? 0 : run & 1);
  ++run;
  return 0;
}

struct Plan {
  static constexpr int32_t kCuts[] = {1, 2, 4};
  tilepost::TileMap map;
  tilepost_plan_t plan{};

  Plan() {
    plan.ranks = 2;
    plan.k = kK;
    plan.map = {kM, kN, kTileM, kTileN, 1,     2, 1, TILEPOST_PANEL, TILEPOST_DIVISION_ROWS,
                1,  0,  0,      3,      kCuts, 0, 0};
    plan.gemm_ctas = 4;
    map = tilepost::build_tile_map(plan.map);
    plan.map_hash = tilepost::hash_tile_map(map);
    plan.transport = TILEPOST_TRANSPORT_HOST;
    plan.groups = map.groups.data();
    plan.kernel.name = "woven";
    plan.kernel.launch = TILEPOST_LAUNCH_HOST;
    plan.kernel.host_function = woven;
  }
};

const tilepost::harness::OpaqueData kData = {
    "user.salt", [](const tilepost_shape_t& shape) -> int64_t { return shape.k * 2; }};

std::vector<CheckResult> audit(Fault one) {
  fault = one;
  const Plan plan;
  const auto world = open_world(1);
  return audit_kernel({"lib::gemm", plain, {}, &kData, 1}, plan.plan, *world, 5, [](int) {});
}

void check_refused(Fault one, const std::string& text) {
  const std::vector<CheckResult> results = audit(one);
  REQUIRE_FALSE(results.empty());
  CHECK_FALSE(results.back().ok);
  CHECK_THAT(results.back().text, Catch::Contains(text));
}

}  // namespace

TEST_CASE("a kernel that does what it should passes the audit") {
  const std::vector<CheckResult> results = audit(Fault::none);
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok);
  CHECK(results[0].text ==
        "footprint: each of 16 positions alone stores its tile and nothing else");
  CHECK(results[1].ok);
  CHECK_THAT(
      results[1].text,
      Catch::Contains("bits: 1450 elements as lib::gemm gives them, by schedules: the plan's; "
                      "random, seed "));
}

TEST_CASE("what a tile lacks or has too much is found at its position and element") {
  check_refused(Fault::element_missing,
                "tile at (16, 48), which goes to row 16: the woven kernel does not store element "
                "(17, 49); 2 bytes are as they were");
  check_refused(Fault::row_too_many,
                "tile at (8, 48), which goes to row 8: the woven kernel stores elsewhere: 0x");
  check_refused(Fault::column_too_many,
                "at row 0, column 32 of where it stores; 16 bytes elsewhere");
  check_refused(Fault::far_before, "the woven kernel stores 200 bytes in front of the output");
  check_refused(Fault::far_behind, "bytes behind the output; 2 bytes elsewhere in all");
}

TEST_CASE("what depends on the output's old content is found") {
  check_refused(Fault::adds, "stores what depends on memory that it should not read");
  check_refused(Fault::reads_element, "element (1, 2) is 0x");
}

TEST_CASE("counters that rise otherwise are found") {
  check_refused(Fault::no_signal, "the counter of group 0 rises by 0, expected 1");
  check_refused(Fault::two_signals, "the counter of group 0 rises by 2, expected 1");
  check_refused(Fault::wrong_group, "the counter of group 1 rises by 0, expected 1");
}

TEST_CASE("what only other schedules show is found") {
  check_refused(Fault::ignores_place, "bits: by random, seed");
  check_refused(Fault::padding_stores, "bits: by random, seed");
  check_refused(Fault::forgets_after_first, "bits: by the plan's schedule element (3, 16) is 0x");
}

TEST_CASE("a value that is not the plain kernel's is found") {
  check_refused(Fault::other_value, "bits: by the plan's schedule element (24, 0) is 0x");
  check_refused(Fault::changes_a, "footprint: the kernel stores into A");
}

TEST_CASE("what a kernel reads beyond the bytes that are said, or changes, is found") {
  check_refused(Fault::changes_data, "footprint: the kernel stores into user.salt");
  data_read = 2 * kK;
  CHECK(audit(Fault::none).back().ok);
  data_read = 2 * kK + 1;
  check_refused(Fault::none,
                "bits: lib::gemm as it is, unwoven, reads outside of user.salt, which "
                "has " +
                    std::to_string(2 * kK) + " bytes as the spec says");
  data_read = 0;
}

TEST_CASE("random bytes are finite numbers whichever their type") {
  const std::vector<unsigned char> bytes = tilepost::harness::opaque_bytes(1 << 16, 7);
  std::set<unsigned char> even, odd;
  for (size_t i = 0; i < bytes.size(); ++i) (i % 2 == 0 ? even : odd).insert(bytes[i]);
  CHECK(even.size() == 128);
  CHECK(odd.size() == 16);
  for (const tilepost_dtype_t type : {TILEPOST_BF16, TILEPOST_F16, TILEPOST_F32})
    for (int64_t i = 0; i < (1 << 16) / tilepost::element_bytes(type); ++i) {
      const float value = std::fabs(decode(load_bits(bytes.data(), i, type), type));
      if (value < 0x1p-15f || value >= 2) FAIL(value);
    }
  CHECK(tilepost::harness::opaque_bytes(100, 7) ==
        std::vector<unsigned char>(bytes.begin(), bytes.begin() + 100));
  CHECK(tilepost::harness::opaque_bytes(100, 8) != tilepost::harness::opaque_bytes(100, 7));
}

TEST_CASE("a plain kernel that is no reference is no reference") {
  plain_stored = kM - 1;
  check_refused(Fault::none, "bits: lib::gemm as it is, unwoven, does not store element (28, 0)");
  plain_stored = kM + 1;
  check_refused(Fault::none, "bits: lib::gemm as it is, unwoven, stores elsewhere");
  plain_stored = kM;
  plain_repeats = false;
  check_refused(Fault::none, "or on chance: element (0, 0) is 0x");
  plain_repeats = true;
}

TEST_CASE("a kernel with marks may store the rest of a place that its tile does not fill") {
  Plan plan;
  const tilepost_tile_t ragged{24, 16, 40, 0};
  Schedule schedule;
  schedule.rows = 46;
  CHECK(spare_rows(plan.plan, ragged, schedule, kM) == 0);
  plan.plan.kernel.launch = TILEPOST_LAUNCH_CUSTOM;
  CHECK(spare_rows(plan.plan, ragged, schedule, kM) == 1);  // the rows up to the end of the output
  schedule.rows = 80;
  CHECK(spare_rows(plan.plan, ragged, schedule, kM) == 3);
  CHECK(spare_rows(plan.plan, {16, 16, 40, 0}, schedule, kM) == 0);
  Look look{};
  look.begin = 64;
  look.row_bytes = 100;
  look.element_bytes = 2;
  look.places[0] = {40, 5, 16, 16, 3};
  const auto stored = [&](int64_t row, int64_t column) {
    return judge_byte(look, look.begin + row * 100 + column * 2, {1, 1});
  };
  for (const int64_t column : {15, 16, 31, 32}) {
    const bool in_columns = column == 16 || column == 31;
    CHECK(stored(39, column) == kOutside);
    CHECK(stored(44, column) == (in_columns ? 0 : kOutside));
    CHECK(stored(45, column) == (in_columns ? 0 : kOutside));
    CHECK(stored(47, column) == (in_columns ? 0 : kOutside));
    CHECK(stored(48, column) == kOutside);
  }
}

TEST_CASE("a random schedule has every tile once, at a place of its own") {
  const Plan plan;
  const Schedule planned = planned_schedule(plan.plan, kM);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Schedule schedule = random_schedule(plan.plan, kM, planned, seed);
    std::vector<int> stored(static_cast<size_t>(schedule.rows) * kN);
    std::vector<uint32_t> signals(schedule.targets.size());
    size_t padding = 0;
    std::vector<std::pair<int, int>> tiles;
    for (const tilepost_tile_t& tile : schedule.tiles) {
      ++signals[static_cast<size_t>(tile.group)];
      padding += tile.row < 0;
      if (tile.row < 0) continue;
      tiles.emplace_back(tile.m, tile.n);
      const TileExtent extent = extent_of(plan.plan, tile, kM);
      for (int64_t row = 0; row < extent.rows; ++row)
        for (int64_t column = 0; column < extent.columns; ++column)
          ++stored[static_cast<size_t>((tile.row + row) * kN + tile.n + column)];
    }
    std::sort(tiles.begin(), tiles.end());
    CHECK(std::unique(tiles.begin(), tiles.end()) == tiles.end());
    CHECK(tiles.size() == 16);
    CHECK(padding > 0);
    CHECK(*std::max_element(stored.begin(), stored.end()) == 1);
    CHECK(std::count(stored.begin(), stored.end(), 1) == kM * kN);
    CHECK(signals == schedule.targets);
  }
}
