#include "generator/plan/machine/profile.h"

#include <algorithm>

namespace tilepost {

#define TILEPOST_MACHINE(name) MachineProfile machine_##name();
#include "known_machines.inc"
#undef TILEPOST_MACHINE

const std::vector<KnownMachine>& known_machines() {
#define TILEPOST_MACHINE(name) {#name, machine_##name()},
  static const std::vector<KnownMachine> machines = {
#include "known_machines.inc"
  };
#undef TILEPOST_MACHINE
  return machines;
}

const MachineProfile& default_machine() {
  const auto is_default = [](const KnownMachine& known) { return known.key == kDefaultMachine; };
  return std::ranges::find_if(known_machines(), is_default)->profile;
}

std::string MachineProfile::words() const {
  return measured ? name : name + " (an estimate, not measured)";
}

Collective whole_collective(const PatternRow& row) {
  if (row.routes()) return Collective::all_to_all;
  if (!row.sums) return Collective::all_gather;
  return row.rows_end == RowsEnd::share ? Collective::reduce_scatter : Collective::all_reduce;
}

Collective group_collective(const PatternRow& row) {
  return row.moves_input() ? Collective::chunks : whole_collective(row);
}

const KernelTimes& GemmProfile::times_of(const std::string& row) const {
  static const KernelTimes guess;
  const auto found = kernels.find(row);
  return found == kernels.end() ? guess : found->second;
}

double interpolate(const std::vector<ProfilePoint>& points, double x) {
  if (x <= points.front().x) return points.front().y;
  for (size_t i = 1; i < points.size(); ++i) {
    if (x > points[i].x) continue;
    const double part = (x - points[i - 1].x) / (points[i].x - points[i - 1].x);
    return points[i - 1].y + part * (points[i].y - points[i - 1].y);
  }
  return points.back().y;
}

}  // namespace tilepost
