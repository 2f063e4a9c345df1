#include "runtime/verify/audit/describe.h"

#include <algorithm>
#include <cstring>

#include "runtime/harness/text.h"

namespace tilepost::verify {
namespace {

using harness::format;
using Bytes = std::vector<unsigned char>;

// An element's bits, the highest byte first, such as "0x3f80".
std::string bits_at(const Bytes& memory, int64_t at, int bytes) {
  std::string text = "0x";
  for (int i = bytes; i-- > 0;) text += format("%02x", memory[static_cast<size_t>(at + i)]);
  return text;
}

// The element of the output that contains byte `at` of the memory.
struct Element {
  int64_t row, column, at;  // `at` is the element's first byte
};

Element element_at(const Workbench& bench, int64_t at) {
  const int64_t in_output = at - bench.begin(), bytes = bench.element_bytes();
  return {in_output / bench.row_bytes(), in_output % bench.row_bytes() / bytes,
          bench.begin() + in_output / bytes * bytes};
}

// The index of the place that contains a byte, or -1.
int place_of(const Look& look, int64_t at) {
  for (int i = 0; i < kMostPlaces; ++i) {
    Look one = look;
    std::ranges::fill(one.places, TilePlace{});
    one.places[i] = look.places[i];
    if (is_placed(one, at)) return i;
  }
  return -1;
}

// A label such as "element (130, 70)". It counts rows of the output, or with a tile, of the
// product.
std::string label_of(const Element& element, const tilepost_tile_t* tile) {
  const int64_t row = tile == nullptr ? element.row : element.row - tile->row + tile->m;
  return format("element (%lld, %lld)", static_cast<long long>(row),
                static_cast<long long>(element.column));
}

// The findings in both memories, by kind.
struct Seen {
  int64_t first[3] = {-1, -1, -1}, count[3] = {0, 0, 0};  // kMissing, kOutside, kUnequal
};

Seen see(const Look& look, const Bytes (&memory)[2]) {
  Seen seen;
  for (int64_t at = 0; at < look.words * 4; ++at) {
    const auto i = static_cast<size_t>(at);
    const uint32_t found = judge_byte(look, at, {memory[0][i], memory[1][i]});
    for (int kind = 0; kind < 3; ++kind) {
      if ((found >> kind & 1) == 0) continue;
      if (seen.count[kind]++ == 0) seen.first[kind] = at;
    }
  }
  return seen;
}

std::string describe_outside(const Workbench& bench, const Look& look, const Bytes (&memory)[2],
                             const Seen& seen) {
  const int64_t at = seen.first[1];
  const std::string bytes =
      format("; %lld bytes elsewhere in all", static_cast<long long>(seen.count[1]));
  if (at < bench.begin())
    return format("stores %lld bytes in front of the output",
                  static_cast<long long>(bench.begin() - at)) +
           bytes;
  const int64_t behind = at - (look.words * 4 - bench.begin());
  if (behind >= 0)
    return format("stores %lld bytes behind the output", static_cast<long long>(behind)) + bytes;
  const Element element = element_at(bench, at);
  const int size = bench.element_bytes();
  const auto word = static_cast<uint8_t>(fill_word(at / 4, 0) >> at % 4 * 8);
  const Bytes& changed = memory[memory[0][static_cast<size_t>(at)] != word ? 0 : 1];
  return format("stores elsewhere: %s at row %lld, column %lld of where it stores",
                bits_at(changed, element.at, size).c_str(), static_cast<long long>(element.row),
                static_cast<long long>(element.column)) +
         bytes;
}

std::string describe_counters(const Look& look, const std::vector<uint32_t>& counters) {
  Look host = look;
  std::vector<uint32_t> copy = counters;
  host.counters = copy.data();
  for (int64_t i = 0; i < look.num_counters; ++i) {
    if (judge_counter(host, i) == 0) continue;
    uint32_t expected = 0;
    for (const int64_t raised : look.raised)
      if (raised == i) expected += look.signals;
    const std::string rises =
        format(" rises by %g, expected %g", counters[static_cast<size_t>(i)] / 2.0, expected / 2.0);
    if (i % TILEPOST_COUNTER_STRIDE == 0)
      return format("the counter of group %lld",
                    static_cast<long long>(i / TILEPOST_COUNTER_STRIDE)) +
             rises;
    return "memory between counters" + rises;
  }
  return "";
}

// Describes what `kernel` did wrong to memories and counters. If `tiles` is not null, elements are
// those of a position's tile. The text is "" if nothing is wrong.
std::string describe_with(Workbench& bench, const Look& look, const tilepost_tile_t* tiles,
                          const std::string& kernel) {
  const Bytes memory[2] = {bench.memory(0), bench.memory(1)};
  const Seen seen = see(look, memory);
  const auto tile_at = [&](int64_t at) {
    const int place = place_of(look, at);
    return tiles == nullptr || place < 0 ? nullptr : tiles + place;
  };
  const int size = bench.element_bytes();
  if (seen.count[0] > 0)
    return kernel + " does not store " +
           label_of(element_at(bench, seen.first[0]), tile_at(seen.first[0])) +
           format("; %lld bytes are as they were", static_cast<long long>(seen.count[0]));
  if (seen.count[1] > 0) return kernel + " " + describe_outside(bench, look, memory, seen);
  if (const std::string changed = bench.changed_operand(); !changed.empty())
    return kernel + " stores into " + changed;
  if (seen.count[2] > 0) {
    const Element element = element_at(bench, seen.first[2]);
    return kernel + " stores what depends on memory that it should not read, or on chance: " +
           label_of(element, tile_at(seen.first[2])) + " is " +
           bits_at(memory[0], element.at, size) + " and then " +
           bits_at(memory[1], element.at, size);
  }
  return describe_counters(look, bench.counters());
}

// A text such as "position 17, tile at (128, 64), which goes to row 32".
std::string label_of(int64_t position, const tilepost_tile_t& tile) {
  const std::string name =
      format("position %lld, tile at (%d, %d)", static_cast<long long>(position), tile.m, tile.n);
  return name + (tile.row < 0 ? std::string(", padding, which goes nowhere")
                              : format(", which goes to row %d", tile.row));
}

// The memory as it should be, by the schedule and the plain kernel's memory. Rows that the kernel
// may store to, but need not, are taken from `got`.
Bytes expected_memory(const Workbench& bench, const tilepost_plan_t& plan, const Schedule& schedule,
                      const Bytes& plain, const Bytes& got) {
  Bytes expected(plain.size());
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = static_cast<uint8_t>(fill_word(static_cast<int64_t>(i) / 4, 0) >> i % 4 * 8);
  for (const tilepost_tile_t& tile : schedule.tiles) {
    if (tile.row < 0) continue;
    const TileExtent extent = extent_of(plan, tile, bench.m());
    const auto bytes = static_cast<size_t>(extent.columns * bench.element_bytes());
    const auto at = [&](int64_t row) {
      return static_cast<size_t>(bench.begin() + row * bench.row_bytes() +
                                 int64_t{tile.n} * bench.element_bytes());
    };
    for (int64_t row = 0; row < extent.rows; ++row)
      std::memcpy(&expected[at(tile.row + row)], &plain[at(tile.m + row)], bytes);
    const int64_t end = extent.rows + spare_rows(plan, tile, schedule, bench.m());
    for (int64_t row = extent.rows; row < end; ++row)
      std::memcpy(&expected[at(tile.row + row)], &got[at(tile.row + row)], bytes);
  }
  return expected;
}

// The position whose tile is stored where the element lies, or -1.
int64_t position_of(const Workbench& bench, const tilepost_plan_t& plan, const Schedule& schedule,
                    const Element& element) {
  for (size_t i = 0; i < schedule.tiles.size(); ++i) {
    const tilepost_tile_t& tile = schedule.tiles[i];
    const TileExtent extent = extent_of(plan, tile, bench.m());
    if (tile.row >= 0 && element.row >= tile.row && element.row < tile.row + extent.rows &&
        element.column >= tile.n && element.column < tile.n + extent.columns)
      return static_cast<int64_t>(i);
  }
  return -1;
}

std::string describe_targets(const std::vector<uint32_t>& counters, const Schedule& schedule) {
  for (size_t i = 0; i < counters.size(); ++i) {
    const size_t group = i / TILEPOST_COUNTER_STRIDE;
    const bool counts = i % TILEPOST_COUNTER_STRIDE == 0 && group < schedule.targets.size();
    const uint32_t target = counts ? schedule.targets[group] : 0;
    if (counters[i] != target)
      return format("the counter of group %zu rises by %u, expected %u", group, counters[i],
                    target);
  }
  return "";
}

}  // namespace

std::string describe_memory(Workbench& bench, const Look& look, const std::string& kernel) {
  return describe_with(bench, look, nullptr, kernel);
}

std::string describe_position(Workbench& bench, const tilepost_plan_t& plan,
                              const Schedule& schedule, int64_t first) {
  const int64_t count = plan.map.cluster;
  bench.renew();
  for (int which = 0; which < 2; ++which) bench.run_woven(which, first, count);
  const tilepost_tile_t* tiles = &schedule.tiles[static_cast<size_t>(first)];
  const std::string wrong =
      describe_with(bench, bench.look_for(schedule, first, count), tiles, "the woven kernel");
  return label_of(first, *tiles) + ": " +
         (wrong.empty() ? "the woven kernel went wrong and, run again, does not" : wrong);
}

std::string describe_difference(Workbench& bench, const tilepost_plan_t& plan,
                                const Schedule& schedule, const std::vector<unsigned char>& plain) {
  const Bytes got = bench.memory(0);
  const Bytes expected = expected_memory(bench, plan, schedule, plain, got);
  const int bytes = bench.element_bytes();
  int64_t first = -1, different = 0;
  for (size_t at = 0; at < got.size(); at += static_cast<size_t>(bytes)) {
    if (std::memcmp(&got[at], &expected[at], static_cast<size_t>(bytes)) == 0) continue;
    if (different++ == 0) first = static_cast<int64_t>(at);
  }
  if (different == 0) return describe_targets(bench.counters(), schedule);
  const Element element = element_at(bench, first);
  const int64_t position = position_of(bench, plan, schedule, element);
  if (position < 0)
    return format("row %lld, column %lld of where it stores is %s, and no tile goes there",
                  static_cast<long long>(element.row), static_cast<long long>(element.column),
                  bits_at(got, first, bytes).c_str());
  const tilepost_tile_t& tile = schedule.tiles[static_cast<size_t>(position)];
  return label_of(element, &tile) + " is " + bits_at(got, first, bytes) + ", unwoven " +
         bits_at(expected, first, bytes) + "; " + label_of(position, tile) +
         format("; %lld elements differ", static_cast<long long>(different));
}

}  // namespace tilepost::verify
