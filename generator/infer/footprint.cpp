#include "generator/infer/footprint.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "generator/infer/state/unknowns.h"
#include "generator/infer/values/lanes.h"
#include "tilepost/dtype.h"

namespace tilepost::inference {
namespace {

// The most conditions that are the same in the whole launch but not known. All their combinations
// are tried.
constexpr size_t kMaxChoices = 4;
// The most stores, reads and meetings, each counted once for every thread of every block (work_of).
constexpr double kMaxWork = 4e10;
// The most tiles. The block of each one is kept.
constexpr int64_t kMaxTiles = int64_t{1} << 26;

std::string times(int64_t rows, int64_t columns) {
  return std::to_string(rows) + "x" + std::to_string(columns);
}

std::string at(const std::array<int64_t, 3>& index, bool three) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) +
         (three ? ", " + std::to_string(index[2]) : "") + ")";
}

class Enumeration {
 public:
  Enumeration(const Nodes& nodes, const Effects& effects, const KernelFacts& facts)
      : nodes_(nodes),
        effects_(effects),
        stores_(effects.stores),
        reads_(effects.reads),
        meetings_(effects.meetings),
        facts_(facts),
        lanes_(nodes, roots_of(effects), facts.threads),
        tiles_m_((facts.m + facts.tile[0] - 1) / facts.tile[0]),
        tiles_n_((facts.n + facts.tile[1] - 1) / facts.tile[1]),
        stamps_(facts.tile[0] * facts.tile[1], 0) {}

  Footprint run();

 private:
  // What the lanes of a warp do at a meeting.
  struct Warp {
    bool comes = false;             // some lanes come
    bool unseen = false;            // … and may wait for some of which it is not known
    std::optional<size_t> missing;  // … and wait for this thread, which does not
  };

  void run_blocks(std::vector<int64_t>& blocks);
  bool run_block();
  bool run_store(const Access& store);
  bool run_read(const Access& read);
  bool run_meeting(const Meeting& meeting);
  Warp look_at(const Meeting& meeting, size_t first, size_t end) const;
  bool fail_meeting(const Meeting& meeting, const Warp& warp);
  bool is_in_tile(int64_t bytes, int64_t width) const;
  bool mark(const Access& store, size_t thread, int64_t bytes, int64_t width);
  bool start_tile(const Access& store, size_t thread, int64_t element);
  bool fail(clang::SourceLocation where, const std::string& text, const std::string& note = "",
            clang::SourceLocation note_at = {});
  bool fail_store(const Access& store, const std::string& text, const std::string& note = "",
                  clang::SourceLocation note_at = {});
  bool fail_outside(const Access& store, size_t thread, int64_t element);
  bool too_much();
  std::string shape() const;
  std::string block_name() const;
  std::string thread_name(size_t thread) const;
  bool is_ragged() const {
    return facts_.m % facts_.tile[0] != 0 || facts_.n % facts_.tile[1] != 0;
  }
  bool has_spare_blocks() const;
  std::string launch_note() const;
  std::string requires_note() const {
    return "the kernel has no guard for tiles that are cut off: say requires: {m: " +
           std::to_string(facts_.tile[0]) + ", n: " + std::to_string(facts_.tile[1]) + "}";
  }

  const Nodes& nodes_;
  const Effects& effects_;
  const std::vector<Access>& stores_;
  const std::vector<Access>& reads_;
  const std::vector<Meeting>& meetings_;
  const KernelFacts& facts_;
  LaneEvaluator lanes_;
  int64_t tiles_m_, tiles_n_;
  std::vector<uint32_t> stamps_;  // per element of a tile: which block stored it last, from 1
  uint32_t stamp_ = 0;
  int shift_ = 0;  // an element has 2^shift bytes
  std::array<int64_t, 3> block_{};
  int64_t tile_ = -1, row_ = 0, column_ = 0, rows_ = 0, columns_ = 0;
  int64_t stored_ = 0, last_row_ = 0, last_column_ = 0;
  Footprint result_;
};

std::string Enumeration::shape() const {
  return "at m=" + std::to_string(facts_.m) + ", n=" + std::to_string(facts_.n) + " ";
}

std::string Enumeration::block_name() const {
  return "block " + at(block_, facts_.grid[2] > 1);
}

std::string Enumeration::thread_name(size_t thread) const {
  const auto x = static_cast<int64_t>(thread) % facts_.threads[0];
  const auto y = static_cast<int64_t>(thread) / facts_.threads[0] % facts_.threads[1];
  const auto z = static_cast<int64_t>(thread) / facts_.threads[0] / facts_.threads[1];
  return "thread " + at({x, y, z}, facts_.threads[2] > 1);
}

bool Enumeration::fail(clang::SourceLocation where, const std::string& text,
                       const std::string& note, clang::SourceLocation note_at) {
  result_.complaints.push_back({where, text, note_at.isValid() ? note_at : where, note});
  return false;
}

// Refuses what a store does. Where it stores a number that is no element of the output, rows and
// columns that are counted in such elements would mislead.
bool Enumeration::fail_store(const Access& store, const std::string& text, const std::string& note,
                             clang::SourceLocation note_at) {
  if (store.number.isNull() || store.width == facts_.out_bytes)
    return fail(store.where, text, note, note_at);
  const std::string type = store.number.getUnqualifiedType().getAsString();
  const auto is_stored = [&](const DtypeRow& row) {
    return row.may_be_output() && type == row.cuda_name;
  };
  const auto* row = std::ranges::find_if(kDtypes, is_stored);
  return fail(store.where,
              "'" + type + "' of " + std::to_string(store.width) +
                  " bytes is stored here, and the output's elements have " +
                  std::to_string(facts_.out_bytes) + " bytes",
              (row != std::end(kDtypes) ? "say gemm.out: " + std::string(row->name)
                                        : "no gemm.out has such elements: convert each before it "
                                          "is stored") +
                  "; if it stands for other elements, " + text);
}

bool Enumeration::has_spare_blocks() const {
  return facts_.grid[0] * facts_.grid[1] * facts_.grid[2] > tiles_m_ * tiles_n_;
}

std::string Enumeration::launch_note() const {
  std::string note = "grid, threads, tile and arguments must be those of the launch";
  if (has_spare_blocks())
    note += "; it has " + std::to_string(facts_.grid[0] * facts_.grid[1] * facts_.grid[2]) +
            " blocks for " + std::to_string(tiles_m_ * tiles_n_) +
            " tiles: a kernel for a batch is launched for one product at a time, and one that "
            "splits k with one part of it";
  return note;
}

bool Enumeration::fail_outside(const Access& store, size_t thread, int64_t element) {
  const bool before = element < 0;
  const int64_t row = before ? -1 : element / facts_.out_ld;
  const int64_t column = before ? 0 : element % facts_.out_ld;
  const int64_t tile_row = row / facts_.tile[0];
  const int64_t tile_column = column / facts_.tile[1];
  const std::string who = shape() + block_name();
  if (before || row >= facts_.m || column >= facts_.n) {
    const std::string what = before ? "before the output's first element"
                                    : "row " + std::to_string(row) + ", column " +
                                          std::to_string(column) + " of an output of " +
                                          times(facts_.m, facts_.n);
    return fail_store(store,
                      who + ", " + thread_name(thread) + " stores outside the output: " + what,
                      is_ragged() && !has_spare_blocks() ? requires_note() : launch_note());
  }
  const std::string text = who + " stores into tiles " +
                           at({row_ / facts_.tile[0], column_ / facts_.tile[1], 0}, false) +
                           " and " + at({tile_row, tile_column, 0}, false) + " of " +
                           times(facts_.tile[0], facts_.tile[1]);
  if (is_ragged()) return fail_store(store, text, requires_note());
  if (store.loop.isValid()) {
    return fail_store(
        store, text,
        "tile says the rows and the columns that one block stores; if one block computes several "
        "tiles in this loop, take each from tilepost::tile(grid, position) and call "
        "tilepost::tile_done behind its stores",
        store.loop);
  }
  return fail_store(store, text, "tile says the rows and the columns that one block stores");
}

bool Enumeration::start_tile(const Access& store, size_t thread, int64_t element) {
  const int64_t row = element / facts_.out_ld;
  const int64_t column = element % facts_.out_ld;
  if (element < 0 || row >= facts_.m || column >= facts_.n)
    return fail_outside(store, thread, element);
  row_ = row - row % facts_.tile[0];
  column_ = column - column % facts_.tile[1];
  rows_ = std::min(facts_.tile[0], facts_.m - row_);
  columns_ = std::min(facts_.tile[1], facts_.n - column_);
  tile_ = row_ / facts_.tile[0] * tiles_n_ + column_ / facts_.tile[1];
  return true;
}

// Notes that a thread stores these bytes. False after a complaint.
bool Enumeration::mark(const Access& store, size_t thread, int64_t bytes, int64_t width) {
  const int64_t element = bytes >> shift_;
  const int64_t count = width >> shift_;
  if ((bytes | width) & (facts_.out_bytes - 1) || count == 0) {
    return fail_store(store, shape() + block_name() + ", " + thread_name(thread) +
                                 " stores a part of an element: the output's elements have " +
                                 std::to_string(facts_.out_bytes) + " bytes");
  }
  if (tile_ < 0 && !start_tile(store, thread, element)) return false;
  const int64_t distance = element - (row_ * facts_.out_ld + column_);
  if (distance < 0 || distance >= rows_ * facts_.out_ld)
    return fail_outside(store, thread, element);
  const int64_t row = distance < UINT32_MAX && facts_.out_ld < UINT32_MAX
                          ? static_cast<uint32_t>(distance) / static_cast<uint32_t>(facts_.out_ld)
                          : distance / facts_.out_ld;
  const int64_t column = distance - row * facts_.out_ld;
  if (column + count > columns_)
    return fail_outside(store, thread, element + std::max<int64_t>(0, columns_ - column));
  uint32_t* stamps = stamps_.data() + row * facts_.tile[1] + column;
  for (int64_t i = 0; i < count; ++i) {
    stored_ += stamps[i] != stamp_;
    stamps[i] = stamp_;
  }
  last_row_ = std::max(last_row_, row + 1);
  last_column_ = std::max(last_column_, column + count);
  return true;
}

bool Enumeration::run_store(const Access& store) {
  const auto threads =
      static_cast<size_t>(facts_.threads[0] * facts_.threads[1] * facts_.threads[2]);
  const Lanes& guard = lanes_[store.guard];
  const Lanes& address = lanes_[store.address];
  const Lanes& pitch = lanes_[store.pitch];
  for (size_t thread = 0; thread < threads; ++thread) {
    if (guard.is_lost(thread)) {
      return fail(
          store.where, "whether this store is reached depends on " + explain(nodes_, store.guard),
          "conditions of stores must follow from numbers of the launch, the block's index and "
          "the thread's");
    }
    if (store.by_warp && thread % 32 != 0) {
      const size_t first = thread - thread % 32;
      const bool same = guard.value(thread) == guard.value(first) &&
                        (!guard.value(first) || (address.value(thread) == address.value(first) &&
                                                 pitch.value(thread) == pitch.value(first)));
      if (!same)
        return fail(store.where, "the threads of a warp do not agree where this matrix is stored");
      continue;
    }
    if (!guard.value(thread)) continue;
    if (address.is_lost(thread) || pitch.is_lost(thread)) {
      return fail(
          store.where,
          "where this store goes depends on " +
              explain(nodes_, address.is_lost(thread) ? store.address : store.pitch),
          "addresses must follow from numbers of the launch, the block's index and the thread's");
    }
    for (int64_t row = 0; row < store.rows; ++row) {
      if (!mark(store, thread, address.value(thread) + row * pitch.value(thread), store.width))
        return false;
    }
  }
  return true;
}

bool Enumeration::is_in_tile(int64_t bytes, int64_t width) const {
  const int64_t first = row_ * facts_.out_ld + column_;
  const int64_t element = bytes >> shift_, end = (bytes + width - 1) >> shift_;
  if (bytes < 0 || element < first) return false;
  const int64_t row = (element - first) / facts_.out_ld, column = (element - first) % facts_.out_ld;
  return row < rows_ && column + (end - element) < columns_;
}

// Checks that the block reads only its own tile. A thread of which it is not known whether it gets
// there is assumed to. Reads of blocks without a tile are not checked.
bool Enumeration::run_read(const Access& read) {
  const auto threads =
      static_cast<size_t>(facts_.threads[0] * facts_.threads[1] * facts_.threads[2]);
  const Lanes& guard = lanes_[read.guard];
  const Lanes& address = lanes_[read.address];
  const Lanes& pitch = lanes_[read.pitch];
  for (size_t thread = 0; thread < threads; ++thread) {
    if (!guard.is_lost(thread) && !guard.value(thread)) continue;
    if (address.is_lost(thread) || pitch.is_lost(thread))
      return fail(read.where,
                  "which element of the output is read here depends on " +
                      explain(nodes_, address.is_lost(thread) ? read.address : read.pitch),
                  "a block may read its own tile alone");
    for (int64_t row = 0; row < read.rows; ++row)
      if (!is_in_tile(address.value(thread) + row * pitch.value(thread), read.width))
        return fail(read.where,
                    shape() + block_name() + ", " + thread_name(thread) +
                        " reads the output outside of tile " +
                        at({row_ / facts_.tile[0], column_ / facts_.tile[1], 0}, false) +
                        ", which the block stores",
                    is_ragged() ? requires_note()
                                : "what other blocks make is not there yet, or lies elsewhere");
  }
  return true;
}

// A lane that has left the kernel's body has not left the woven kernel. It waits at the end of the
// body, where the compiler lets the warp come together again. So a lane that has left before others
// meet here, or may have, is missing. A lane that surely does not come is missing if it is waited
// for: at a block's barrier, or because a mask names it.
Enumeration::Warp Enumeration::look_at(const Meeting& meeting, size_t first, size_t end) const {
  const Lanes& guard = lanes_[meeting.guard];
  const Lanes& unsure = lanes_[meeting.unsure];
  const Lanes& gone = lanes_[meeting.gone];
  const Lanes& named = lanes_[meeting.lanes];
  Warp warp;
  uint32_t come = 0, unseen = 0, left = 0, awaited = 0;
  for (size_t thread = first; thread < end; ++thread) {
    const uint32_t bit = uint32_t{1} << (thread - first);
    if (gone.is_lost(thread) || gone.value(thread)) left |= bit;
    if (!guard.is_lost(thread) && !guard.value(thread)) continue;
    if (unsure.is_lost(thread)) unseen |= bit;
    if (!unsure.is_lost(thread) && !unsure.value(thread)) continue;
    come |= bit;
    awaited |= !meeting.of_warp        ? ~uint32_t{0}
               : named.is_lost(thread) ? 0
                                       : static_cast<uint32_t>(named.value(thread));
  }
  const size_t lanes = end - first;
  if (lanes < kWarp) awaited &= (uint32_t{1} << lanes) - 1;
  warp.comes = come != 0;
  warp.unseen = (unseen & awaited) != 0;
  if (const uint32_t missing = left | (awaited & ~come); warp.comes && missing != 0)
    warp.missing = first + static_cast<size_t>(std::countr_zero(missing));
  return warp;
}

bool Enumeration::fail_meeting(const Meeting& meeting, const Warp& warp) {
  const char* others = meeting.of_warp ? "lanes of a warp that are waited for here come"
                                       : "threads of a block come to this barrier";
  if (!warp.missing)
    return fail(
        meeting.where,
        std::string("whether all ") + others + " depends on " + explain(nodes_, meeting.unsure),
        "those that do not would wait at the end of their tile instead: let all threads "
        "come to every barrier");
  const Lanes& gone = lanes_[meeting.gone];
  const bool by_name = meeting.of_warp && !gone.value(*warp.missing);
  return fail(
      meeting.where,
      shape() + block_name() + ", " + thread_name(*warp.missing) +
          (gone.is_lost(*warp.missing)
               ? " may have left the kernel before others wait for it here: that depends on " +
                     explain(nodes_, meeting.gone)
               : std::string(" does not come here, where others wait for ") +
                     (by_name ? "it by its name" : "all that are left")),
      "it would wait at the end of its tile instead: let all threads come to every barrier, and "
      "put what some of them leave out into an if");
}

bool Enumeration::run_meeting(const Meeting& meeting) {
  const auto threads =
      static_cast<size_t>(facts_.threads[0] * facts_.threads[1] * facts_.threads[2]);
  bool some = false, all = true;
  for (size_t first = 0; first < threads; first += kWarp) {
    const Warp warp = look_at(meeting, first, std::min<size_t>(threads, first + kWarp));
    if (warp.missing || warp.unseen) return fail_meeting(meeting, warp);
    some |= warp.comes;
    all &= warp.comes;
  }
  if (!meeting.of_warp && some && !all && !result_.meeting.isValid())
    result_.meeting = meeting.where;
  return true;
}

bool Enumeration::run_block() {
  ++stamp_;
  tile_ = -1;
  stored_ = last_row_ = last_column_ = 0;
  lanes_.move_to(block_);
  for (const Access& store : stores_) {
    if (!run_store(store)) return false;
  }
  if (tile_ < 0) return true;
  for (const Access& read : reads_)
    if (!run_read(read)) return false;
  for (const Meeting& meeting : meetings_)
    if (!run_meeting(meeting)) return false;
  if (stored_ == rows_ * columns_) return true;
  const std::string tile = at({row_ / facts_.tile[0], column_ / facts_.tile[1], 0}, false);
  return fail(stores_.back().where,
              shape() + block_name() + " stores " + std::to_string(stored_) + " of the " +
                  std::to_string(rows_ * columns_) + " elements of tile " + tile,
              "what it stores lies in the tile's first " + std::to_string(last_row_) +
                  " rows and " + std::to_string(last_column_) +
                  " columns; tile and threads must be those of the kernel");
}

void Enumeration::run_blocks(std::vector<int64_t>& blocks) {
  blocks.assign(tiles_m_ * tiles_n_, -1);
  int64_t linear = 0;
  for (block_[2] = 0; block_[2] < facts_.grid[2]; ++block_[2]) {
    for (block_[1] = 0; block_[1] < facts_.grid[1]; ++block_[1]) {
      for (block_[0] = 0; block_[0] < facts_.grid[0]; ++block_[0], ++linear) {
        if (!run_block()) return;
        if (tile_ < 0) continue;
        int64_t& owner = blocks[tile_];
        if (owner >= 0) {
          const std::array<int64_t, 3> other{owner % facts_.grid[0],
                                             owner / facts_.grid[0] % facts_.grid[1],
                                             owner / facts_.grid[0] / facts_.grid[1]};
          fail(stores_.back().where,
               shape() + "blocks " + at(other, facts_.grid[2] > 1) + " and " +
                   at(block_, facts_.grid[2] > 1) + " both store tile " +
                   at({row_ / facts_.tile[0], column_ / facts_.tile[1], 0}, false),
               "each tile must be made by one block alone: no split-K; " + launch_note());
          return;
        }
        owner = linear;
      }
    }
  }
  const auto missing = std::ranges::find(blocks, -1);
  if (missing == blocks.end()) return;
  const int64_t tile = missing - blocks.begin();
  fail(stores_.back().where,
       shape() + "no block stores tile " + at({tile / tiles_n_, tile % tiles_n_, 0}, false) +
           " of the " + times(tiles_m_, tiles_n_) + " tiles",
       "grid must be that of the launch, and a multiple of the tile's sides of the shape");
}

// Refuses an enumeration that would take longer than a user waits.
bool Enumeration::too_much() {
  if (tiles_m_ > kMaxTiles / tiles_n_) {
    fail(stores_.back().where,
         shape() + "the output has " + times(tiles_m_, tiles_n_) + " tiles of " +
             times(facts_.tile[0], facts_.tile[1]) + ", and at most " + std::to_string(kMaxTiles) +
             " are looked at",
         "a kernel for such an output has larger tiles");
    return true;
  }
  if (work_of(effects_, facts_) <= kMaxWork) return false;
  fail(stores_.back().where,
       shape() + "more than 4e10 stores and reads of threads would have to be looked at",
       "mark the kernel instead: tilepost::tile, out_base and tile_done");
  return true;
}

Footprint Enumeration::run() {
  while ((1 << shift_) < facts_.out_bytes) ++shift_;
  const size_t choices = nodes_.choices().size();
  if (choices > kMaxChoices) {
    fail({}, "stores depend on more than " + std::to_string(kMaxChoices) +
                 " conditions that are not known, '" + nodes_.choices().front() + "' among them");
    return result_;
  }
  if (too_much()) return result_;
  for (unsigned taken = 0; taken < 1u << choices; ++taken) {
    std::vector<bool> values(choices);
    for (size_t i = 0; i < choices; ++i) values[i] = (taken >> i & 1) != 0;
    lanes_.choose(values);
    std::vector<int64_t> blocks;
    run_blocks(blocks);
    if (!result_.complaints.empty()) return result_;
    if (taken > 0 && blocks != result_.blocks) {
      fail(stores_.back().where,
           "which block makes a tile depends on '" + nodes_.choices().front() + "'");
      return result_;
    }
    result_.blocks = std::move(blocks);
  }
  return result_;
}

}  // namespace

Footprint find_footprint(const Nodes& nodes, const Effects& effects, const KernelFacts& facts) {
  return Enumeration(nodes, effects, facts).run();
}

}  // namespace tilepost::inference
