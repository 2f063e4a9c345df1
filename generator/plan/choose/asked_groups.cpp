// Groups that a user asks for.

#include <algorithm>
#include <numeric>

#include "generator/plan/choose/candidates.h"
#include "runtime/map/cut_points.h"

namespace tilepost {

int64_t total_waves(const std::vector<int>& groups) {
  return std::accumulate(groups.begin(), groups.end(), int64_t{0});
}

int64_t max_groups(const tilepost_map_t& map, int at_once) {
  const bool slots = map.division == TILEPOST_DIVISION_ROWS && map.layout == TILEPOST_TILE;
  return slots ? schedule_waves(map, at_once) : cut_units(map);
}

std::vector<int32_t> cuts_of_waves(const tilepost_map_t& map, int at_once,
                                   const std::vector<int>& waves) {
  std::vector<int32_t> cuts;
  const int64_t groups = static_cast<int64_t>(waves.size()), units = cut_units(map);
  int64_t wave = 0, unit = 0;
  for (int64_t g = 0; g < groups; ++g) {
    wave += waves[g];
    const int64_t most = units - (groups - 1 - g);  // one unit for each later group
    unit =
        g + 1 == groups ? units : std::clamp(complete_units(map, wave * at_once), unit + 1, most);
    cuts.push_back(cut_after(map, unit).cut);
  }
  return cuts;
}

std::vector<int32_t> cuts_of_chunks(const tilepost_map_t& map, const std::vector<int>& sizes) {
  std::vector<int32_t> cuts = {0};
  const int64_t chunks = static_cast<int64_t>(sizes.size()), units = cut_units(map);
  const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  int64_t before = 0, unit = 0;
  for (int64_t c = 0; c < chunks; ++c) {
    before += sizes[c];
    unit = std::clamp(units * before / all, unit + 1, units - (chunks - 1 - c));
    cuts.push_back(cut_after(map, unit).cut);
  }
  return cuts;
}

}  // namespace tilepost
