// The rows of gemm_sm90: some that were timed beside collectives, tiles that fill waves, and tiles
// that leave room for a helper warp.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "generator/plan/kernels/sm90/sm90.h"

namespace tilepost {
namespace {

constexpr int kTileK = 64;
constexpr int kBlock = 64;            // rows of a matrix instruction
constexpr char kRow[] = "gemm_sm90";  // of rows without times of their own (Sm90Profile)

// Columns of a panel: the most within the 128 bytes of the swizzle that divide a tile's columns in
// chunks of 16 bytes. Panels divide a tile because no box may reach into the next tile.
int panel_columns(int tile_n) {
  constexpr int kMost = 64, kChunk = 8;
  int columns = kMost;
  while (tile_n % columns != 0) columns -= kChunk;
  return columns;
}

// A configuration while it is put together.
struct Tile {
  KernelConfig config{};
  Sm90Shape shape;

  KernelConfig finished() const { return with_shape(config, shape); }
};

Tile sm90(const char* row, int tile_m, int tile_n, int stages, int panels) {
  Tile tile;
  tile.config.family = &sm90_family();
  tile.config.row = row;
  tile.config.tile_m = tile_m;
  tile.config.tile_n = tile_n;
  tile.config.tile_k = kTileK;
  tile.config.stages = stages;
  tile.config.ctas_per_sm = 1;
  tile.shape.panels = panels;
  tile.shape.panel_m = kBlock;
  tile.shape.panel_n = panel_columns(tile_n);
  return tile;
}

KernelConfig with_epilogue(Tile tile) {
  tile.config.epilogue = true;
  return tile.finished();
}

KernelConfig pingpong(int tile_m, int tile_n, int stages, int panels) {
  Tile tile = sm90(kRow, tile_m, tile_n, stages, panels);
  tile.shape.pingpong = true;
  return tile.finished();
}

// ---- Tiles that fill waves; their stages and panels are computed

// How consumers share: each multiplies a half or a third of a tile, or they take turns at whole
// ones. Swapped: the matrix instruction's rows are columns of B.
enum class Sharing { halves, halves_swapped, thirds, thirds_swapped, turns, turns_swapped };

bool is_swapped(Sharing sharing) {
  return sharing == Sharing::halves_swapped || sharing == Sharing::thirds_swapped ||
         sharing == Sharing::turns_swapped;
}

struct WaveTile {
  Sharing sharing;
  int tile_m, columns;  // of a CTA
  int across;           // CTAs side by side
};

constexpr int64_t kBarriers = 1024, kShared = 232448 - kBarriers;  // bytes of a CTA
constexpr int kMostStages = 12;
constexpr int kMostExtent = 104;  // rows of a panel, if swapped

// A tile without stages and panels.
Tile shared_out(const WaveTile& wave) {
  Tile tile = sm90(kRow, wave.tile_m, wave.columns * wave.across, 0, 0);
  const auto is = [&](Sharing one, Sharing other) {
    return wave.sharing == one || wave.sharing == other;
  };
  tile.shape.consumers = is(Sharing::thirds, Sharing::thirds_swapped) ? 3 : 2;
  tile.shape.pingpong = is(Sharing::turns, Sharing::turns_swapped);
  tile.shape.swapped = is_swapped(wave.sharing);
  tile.config.across = wave.across;
  // More sums than these leave no registers for what an epilogue reads.
  constexpr int kMostSums = 80;
  tile.config.epilogue = tile.shape.consumers == 2 && !tile.shape.pingpong &&
                         sums_of_thread(tile.config, tile.shape) <= kMostSums;
  return tile;
}

int64_t stage_bytes(const WaveTile& tile) {
  return int64_t{128} * (tile.tile_m + tile.columns);
}

// Sets the rows (swapped) or columns of a panel: the most, up to `most`, that divide the tile's.
void set_panel_extent(Tile& tile, int most) {
  constexpr int kChunk = 8;
  Sm90Shape& shape = tile.shape;
  const int along = shape.swapped ? tile.config.tile_m : columns_of_cta(tile.config);
  int extent = std::min(most, shape.swapped ? kMostExtent : kBlock) / kChunk * kChunk;
  while (extent > 0 && along % extent != 0) extent -= kChunk;
  shape.panel_m = shape.swapped ? extent : kBlock;
  shape.panel_n = shape.swapped ? kBlock : extent;
}

// Chooses the largest panel of which each consumer gets one within `room` bytes, then as many of
// them as fit, at most kMostPanels. Chooses none if panels would have fewer than `least` rows or
// columns, since such panels are stored slowly.
void set_panels(Tile& tile, int least, int64_t room) {
  constexpr int kRowBytes = 128, kMostPanels = 2;
  Sm90Shape& shape = tile.shape;
  const int64_t rows = room / kRowBytes / shape.consumers;  // of one consumer's panels
  const int most = shape.swapped ? static_cast<int>(rows) : rows < kBlock ? 0 : kBlock;
  set_panel_extent(tile, most);
  const int extent = shape.swapped ? shape.panel_m : shape.panel_n;
  shape.panels =
      extent < least ? 0 : static_cast<int>(std::min<int64_t>(kMostPanels, rows / shape.panel_m));
}

// A tile with as many stages as leave room for panels that are not too small to be stored fast.
KernelConfig wave_tile(const WaveTile& wave) {
  constexpr int kLeastRows = 40, kLeastColumns = 24;
  Tile tile = shared_out(wave);
  const bool swapped = tile.shape.swapped;
  const int least =
      std::min(swapped ? wave.tile_m : wave.columns, swapped ? kLeastRows : kLeastColumns);
  int& stages = tile.config.stages;
  for (stages = kMostStages; stages > 1; --stages) {
    set_panels(tile, least, kShared - stages * stage_bytes(wave));
    if (tile.shape.panels > 0) break;
  }
  return tile.finished();
}

// A tile that leaves room for the helper warp's memory and for a whole tile in panels. Stages get
// the rest.
KernelConfig tile_for_tasks(const WaveTile& wave) {
  Tile tile = shared_out(wave);
  tile.shape.for_tasks = true;
  set_panel_extent(tile, kMostExtent);
  tile.shape.panels = panels_of_tile(tile.config, tile.shape);
  const int64_t room =
      kShared + kBarriers - kHelperBytes - sm90_family().shared_bytes(tile.finished());
  tile.config.stages = static_cast<int>(std::min<int64_t>(kMostStages, room / stage_bytes(wave)));
  return tile.finished();
}

using enum Sharing;

// Tiles that differ in one extent: rows where they are swapped, columns of a CTA where they are
// not.
struct WaveTiles {
  Sharing sharing;
  int other;   // the other extent: what consumers divide, or all of one that takes turns
  int across;  // WaveTile
  std::vector<int> extents;

  WaveTile tile(int extent) const {
    const bool swapped = is_swapped(sharing);
    return {sharing, swapped ? extent : other, swapped ? other : extent, across};
  }
};

// Chosen from 423 tiles by the model of Sm90Profile, so that 1400 random GEMMs, half of them with
// fewer than 2000 rows, lose least: 0.3 % of what all 423 tiles would give. The first 64 of these
// tiles lose 0.9 %, 160 would lose 0.1 %.
const std::vector<WaveTiles>& wave_tiles() {
  static const std::vector<WaveTiles> tiles = {
      {halves, 256, 1, {168, 160}},
      {halves, 256, 2, {192, 168, 160, 144}},
      {halves, 128, 1, {224, 216}},
      {halves, 128, 2, {240, 224, 200, 128, 112}},
      {halves, 128, 4, {200, 144, 128, 120, 112, 96, 80, 72}},
      {halves_swapped, 256, 1, {192, 176, 168, 160, 144, 120}},
      {halves_swapped, 256, 2, {176, 160}},
      {halves_swapped, 128, 1, {208, 200, 160, 120, 112, 104, 96, 88, 80, 72}},
      {halves_swapped, 128, 2, {224, 208, 144, 112, 96, 80}},
      {halves_swapped, 128, 4, {224, 160, 96, 64}},
      {thirds, 192, 1, {200, 192, 160, 144}},
      {thirds, 192, 2, {192, 168, 160, 120}},
      {thirds, 192, 4, {160, 144, 128, 112, 96, 80}},
      {thirds_swapped, 192, 1, {200, 176, 168, 160, 144, 128, 120, 112, 104, 88}},
      {thirds_swapped, 192, 2, {176, 160, 144, 112, 80}},
      {thirds_swapped, 192, 4, {160, 128, 96}},
      {turns, 128, 1, {168, 160, 144}},
      {turns, 128, 2, {192, 168, 160, 144}},
      {turns, 128, 4, {192, 168}},
      {turns, 64, 1, {112, 96, 64, 48}},
      {turns, 64, 2, {112, 96, 80, 64}},
      {turns, 64, 4, {96, 80, 64, 56}},
      {turns_swapped, 128, 1, {176, 168}},
      {turns_swapped, 128, 2, {176, 160, 144}},
      {turns_swapped, 128, 4, {192, 160}},
      {turns_swapped, 64, 1, {104, 80, 72, 56, 48, 40, 32}},
      {turns_swapped, 64, 2, {112, 80, 48}},
      {turns_swapped, 64, 4, {96}},
  };
  return tiles;
}

// More tiles for scales of blocks, which exclude swapped tiles and those whose columns lie in three
// blocks of B. Products have registers for 64 rows at a time, so that higher tiles fit than with
// other precise sums.
const std::vector<WaveTiles>& tiles_for_blocks() {
  static const std::vector<WaveTiles> tiles = {
      {halves, 256, 1, {112, 96, 64}},
      {halves, 256, 2, {128, 112}},
      {halves, 128, 1, {192, 160, 144, 112, 96, 80, 64}},
      {halves, 128, 2, {192, 160, 144, 96, 80, 64}},
      {thirds, 192, 1, {96, 80, 64}},
      {thirds, 192, 2, {96, 80}},
      {turns, 128, 1, {64}},
      {turns, 128, 2, {128}},
      {turns, 64, 1, {192, 160, 144, 128, 80}},
      {turns, 64, 2, {192, 160, 144, 128, 96}},
  };
  return tiles;
}

// Chosen from 59 such tiles in the same way, with what TaskProfile says of them: they lose 0.8 % of
// what all of them would give. Panels have 64 columns: boxes of fewer columns reach other ranks
// slowly. Tiles whose consumers take turns are missing, because they have too few stages. The first
// three tiles are also in the list of tiles that were timed beside collectives.
constexpr WaveTile kTilesForTasks[] = {
    {halves, 128, 256, 1},         {halves, 128, 192, 1},         {halves, 128, 128, 1},
    {halves, 256, 128, 1},         {halves, 128, 192, 2},         {halves_swapped, 168, 128, 1},
    {halves_swapped, 144, 128, 1}, {halves_swapped, 192, 128, 2}, {halves_swapped, 176, 128, 2},
    {halves_swapped, 160, 128, 2}, {halves_swapped, 144, 128, 2},
};

// Tiles for sums in the epilogue. Sources come into panels, so there are more panels and fewer
// stages.
std::vector<KernelConfig> fused_tiles() {
  return {pingpong(128, 192, 4, 4), pingpong(128, 128, 5, 4)};
}

// The same tile with room for the scales of blocks, and with two panels for each of two consumers
// that share it. Stages make that room: with one panel such tiles take 1 to 5 % longer.
KernelConfig with_scales(KernelConfig config) {
  constexpr int kPanels = 2;
  Sm90Shape shape = sm90_shape(config);
  shape.scales = true;
  if (!shape.pingpong && shape.consumers == 2)
    shape.panels = std::max(shape.panels, std::min(kPanels, panels_of_tile(config, shape)));
  config = with_shape(config, shape);
  const int64_t most = kShared + kBarriers - (shape.for_tasks ? kHelperBytes : 0);
  while (sm90_family().shared_bytes(config) > most) --config.stages;
  return config;
}

void add_tiles(const std::vector<WaveTiles>& all, std::vector<KernelConfig>& list) {
  for (const WaveTiles& tiles : all)
    for (const int extent : tiles.extents) list.push_back(wave_tile(tiles.tile(extent)));
}

}  // namespace

const std::vector<KernelConfig>& sm90_configs() {
  static const std::vector<KernelConfig> configs = [] {
    std::vector<KernelConfig> list = {
        with_epilogue(sm90("gemm_sm90/128x256/4", 128, 256, 3, 4)),
        pingpong(128, 192, 5, 1),
        sm90(kRow, 256, 192, 3, 3).finished(),
        pingpong(128, 128, 6, 2),
        sm90("gemm_sm90/128x256/2", 128, 256, 4, 2).finished(),
        sm90("gemm_sm90/256x128/2", 256, 128, 4, 2).finished(),
        with_epilogue(sm90("gemm_sm90/128x192/3", 128, 192, 4, 3)),
        with_epilogue(sm90("gemm_sm90/128x128/2", 128, 128, 5, 2)),
    };
    add_tiles(wave_tiles(), list);
    for (const WaveTile& tile : kTilesForTasks) list.push_back(tile_for_tasks(tile));
    for (const KernelConfig& config : fused_tiles()) list.push_back(config);
    return list;
  }();
  return configs;
}

const std::vector<KernelConfig>& sm90_block_configs() {
  static const std::vector<KernelConfig> configs = [] {
    std::vector<KernelConfig> list = sm90_configs();
    add_tiles(tiles_for_blocks(), list);
    for (KernelConfig& config : list) config = with_scales(config);
    return list;
  }();
  return configs;
}

}  // namespace tilepost
