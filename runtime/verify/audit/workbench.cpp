#include "runtime/verify/audit/workbench.h"

#include <algorithm>

#include "runtime/map/patterns.h"
#include "tilepost/dtype.h"

namespace tilepost::verify {
namespace {

constexpr int64_t kLeastMargin = 1 << 16, kOutputAlignment = 256;

int64_t aligned_bytes(int64_t bytes) {
  return (bytes + kOutputAlignment - 1) / kOutputAlignment * kOutputAlignment;
}

}  // namespace

Workbench::Workbench(RankDevice& device, KernelRunner& runner, const harness::PlainLaunch& plain,
                     const tilepost_plan_t& plan, int64_t m, uint64_t seed, const Schedule& largest)
    : device_(device), runner_(runner), plan_(plan), opaque_(device, plain) {
  const int64_t n = plan.map.n, k = plan.k;
  const int64_t input = tilepost::element_bytes(plan.input);
  element_bytes_ = static_cast<int>(tilepost::element_bytes(plan.output));
  row_bytes_ = n * element_bytes_;
  // There is room before and behind the output, in which a stray store is found and does no harm.
  begin_ = aligned_bytes(std::max(kLeastMargin, 2 * plan.map.tile_m * row_bytes_));
  words_ = (2 * begin_ + aligned_bytes(std::max(largest.rows, m) * row_bytes_)) / 4;
  num_counters_ = static_cast<int64_t>(largest.targets.size()) * TILEPOST_COUNTER_STRIDE;
  const Distribution distribution =
      make_distribution(DataKind::random, k, 1, plan.output, plan.input);
  const auto fill = [&](int64_t count, Matrix matrix, std::vector<unsigned char>& kept) {
    void* memory = take(count * input);
    device_.fill_operand(memory, count, distribution, stream_of(seed, 0, 0, matrix), plan.input);
    kept = bytes_at(memory, count * input);
    return memory;
  };
  operands_.a = fill(m * k, Matrix::a, a_);
  if (plain.b.bytes == nullptr) operands_.b = fill(n * k, Matrix::b, b_);
  const auto size = [](int64_t x) { return static_cast<int32_t>(x); };
  operands_.shape = {size(m), size(n), size(k), size(k), size(plan.operands == TILEPOST_NN ? n : k),
                     size(n)};
  opaque_.fill(operands_.shape, seed, 0, 0);
  if (plain.b.bytes != nullptr) operands_.b = opaque_.b();
  operands_.user = opaque_.user();
  for (uint32_t*& memory : memory_) memory = static_cast<uint32_t*>(take(words_ * 4));
  counters_ = static_cast<uint32_t*>(take(num_counters_ * 4));
  found_ = static_cast<uint32_t*>(take(kMostSlots * 4));
  tiles_ = static_cast<tilepost_tile_t*>(
      take(static_cast<int64_t>(largest.tiles.size() * sizeof(tilepost_tile_t))));
  device_.fill_bytes(found_, 0, kMostSlots * 4);
  renew();
}

Workbench::~Workbench() {
  for (void* memory : taken_) device_.release(memory);
}

void* Workbench::take(int64_t bytes) {
  taken_.push_back(device_.allocate(static_cast<size_t>(std::max<int64_t>(bytes, 1))));
  return taken_.back();
}

std::vector<unsigned char> Workbench::bytes_at(const void* memory, int64_t bytes) const {
  std::vector<unsigned char> copy(static_cast<size_t>(bytes));
  device_.copy_to_host(copy.data(), memory, copy.size());
  return copy;
}

void Workbench::renew() {
  for (int which = 0; which < 2; ++which) runner_.fill(memory_[which], words_, which);
  device_.fill_bytes(counters_, 0, static_cast<size_t>(num_counters_) * 4);
}

void Workbench::upload(const Schedule& schedule) {
  operands_.out_rows = schedule.rows;
  runner_.upload(tiles_, schedule.tiles.data(),
                 static_cast<int64_t>(schedule.tiles.size() * sizeof(tilepost_tile_t)));
}

void Workbench::run_plain(int which) {
  runner_.run_plain(operands_, output(which));
}

void Workbench::run_woven(int which, int64_t first, int64_t count) {
  runner_.run_woven(operands_, output(which), tiles_ + first, static_cast<int32_t>(count),
                    counters_);
}

Look Workbench::look_for(const Schedule& schedule, int64_t first, int64_t count) const {
  Look look{};
  look.memory[0] = memory_[0];
  look.memory[1] = memory_[1];
  look.words = words_;
  look.begin = begin_;
  look.row_bytes = row_bytes_;
  look.element_bytes = element_bytes_;
  look.counters = counters_;
  look.num_counters = num_counters_;
  look.signals = 2 * signals_of(plan_);  // the runs on both memories raise the same counters
  std::ranges::fill(look.raised, -1);
  for (int64_t i = 0; i < count; ++i) {
    const tilepost_tile_t& tile = schedule.tiles[static_cast<size_t>(first + i)];
    const TileExtent extent = extent_of(plan_, tile, m());
    look.raised[i] = int64_t{tile.group} * TILEPOST_COUNTER_STRIDE;
    if (tile.row >= 0)
      look.places[i] = {tile.row, extent.rows, tile.n, extent.columns,
                        spare_rows(plan_, tile, schedule, m())};
  }
  return look;
}

void Workbench::look(const Look& look, int64_t slot) {
  runner_.look(look, found_ + slot);
}

std::vector<uint32_t> Workbench::found(int64_t slots) {
  runner_.finish();
  std::vector<uint32_t> list(static_cast<size_t>(slots));
  device_.copy_to_host(list.data(), found_, list.size() * 4);
  device_.fill_bytes(found_, 0, list.size() * 4);
  return list;
}

std::vector<unsigned char> Workbench::memory(int which) const {
  runner_.finish();
  return bytes_at(memory_[which], words_ * 4);
}

std::vector<uint32_t> Workbench::counters() const {
  std::vector<uint32_t> list(static_cast<size_t>(num_counters_));
  device_.copy_to_host(list.data(), counters_, list.size() * 4);
  return list;
}

std::string Workbench::changed_operand() const {
  const auto bytes = [](const std::vector<unsigned char>& list) {
    return static_cast<int64_t>(list.size());
  };
  if (bytes_at(operands_.a, bytes(a_)) != a_) return "A";
  if (bytes_at(operands_.b, bytes(b_)) != b_) return "B";
  return opaque_.changed();
}

}  // namespace tilepost::verify
