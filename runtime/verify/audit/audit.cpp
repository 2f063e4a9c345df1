#include "runtime/verify/audit/audit.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/harness/text.h"
#include "runtime/map/patterns.h"
#include "runtime/verify/audit/describe.h"
#include "runtime/verify/audit/workbench.h"

namespace tilepost::verify {
namespace {

using harness::format;

constexpr int64_t kMostPositions = 16384;  // how many positions are checked one by one
constexpr int64_t kAtOnce = 256;           // how many positions are launched before their findings
                                           // are fetched
constexpr int kRandomSchedules = 3;

class Audit {
 public:
  Audit(const harness::PlainLaunch& plain, const tilepost_plan_t& plan, World& world, uint64_t seed,
        const std::function<void(int)>& alive)
      : plain_(plain),
        plan_(plan),
        world_(world),
        seed_(seed),
        alive_(alive),
        runner_(world.runner(plan, plain)) {}

  std::string footprint() {
    int64_t looked = 0, all = 0;
    for (const int64_t m : shapes()) audit_positions(m, looked, all);
    if (looked == all)
      return format("each of %lld positions alone stores its tile and nothing else",
                    static_cast<long long>(all));
    return format(
        "%lld of %lld positions, a sample by seed %llu, alone store their tile and "
        "nothing else",
        static_cast<long long>(looked), static_cast<long long>(all),
        static_cast<unsigned long long>(seed_));
  }

  std::string bits() {
    int64_t elements = 0;
    std::string names;
    for (const int64_t m : shapes()) elements += compare_bits(m, names);
    return format("%lld elements as %s gives them, by schedules: ",
                  static_cast<long long>(elements), plain_.name) +
           names;
  }

 private:
  std::vector<int64_t> shapes() const {
    const int64_t m = rows_of_runs(plan_);
    if (plan_.any_m == 0 || m == 1) return {m};
    return {m, 1};
  }

  // The first position of each set of CTAs that run together. It is all sets, or a sample with the
  // first, the last and random ones in between.
  std::vector<int64_t> positions_to_look_at(const Schedule& schedule) const {
    const int64_t cluster = plan_.map.cluster;
    const auto count = static_cast<int64_t>(schedule.tiles.size()) / cluster;
    const double products =
        2.0 * plan_.map.tile_m * plan_.map.tile_n * static_cast<double>(plan_.k);
    const auto affordable =
        static_cast<int64_t>(std::min(world_.max_audit_products() / products, 1e9));
    const int64_t most = std::clamp<int64_t>(affordable, 16, kMostPositions) / cluster;
    std::vector<int64_t> list(static_cast<size_t>(count));
    std::iota(list.begin(), list.end(), 0);
    if (count > most) {
      std::mt19937_64 random(seed_);
      for (size_t i = 1; i + 1 < list.size(); ++i)
        std::swap(list[i], list[i + random() % (list.size() - 1 - i)]);
      std::swap(list[1], list.back());
      list.resize(static_cast<size_t>(most));
      std::ranges::sort(list);
    }
    for (int64_t& first : list) first *= cluster;
    return list;
  }

  void audit_positions(int64_t m, int64_t& looked, int64_t& all) {
    const int64_t cluster = plan_.map.cluster;
    const Schedule schedule = planned_schedule(plan_, m);
    Workbench bench(world_.device(0), *runner_, plain_, plan_, m, seed_, schedule);
    bench.upload(schedule);
    const std::vector<int64_t> list = positions_to_look_at(schedule);
    for (size_t done = 0; done < list.size(); done += kAtOnce) {
      const size_t end = std::min(list.size(), done + kAtOnce);
      std::vector<uint32_t> found;
      try {
        for (size_t i = done; i < end; ++i) {
          for (int which = 0; which < 2; ++which) bench.run_woven(which, list[i], cluster);
          bench.look(bench.look_for(schedule, list[i], cluster), static_cast<int64_t>(i - done));
        }
        found = bench.found(static_cast<int64_t>(end - done));
      } catch (const TargetError& error) {
        throw TargetError(
            format("at positions %lld to %lld of %s schedule: ", static_cast<long long>(list[done]),
                   static_cast<long long>(list[end - 1] + cluster - 1), schedule.name.c_str()) +
            error.what());
      }
      for (size_t i = done; i < end; ++i)
        if (found[i - done] != 0)
          throw TargetError(describe_position(bench, plan_, schedule, list[i]));
      alive_(static_cast<int>(end));
    }
    expect_operands(bench);
    looked += static_cast<int64_t>(list.size()) * cluster;
    all += static_cast<int64_t>(schedule.tiles.size());
  }

  static void expect_operands(const Workbench& bench) {
    if (const std::string changed = bench.changed_operand(); !changed.empty())
      throw TargetError("the kernel stores into " + changed);
  }

  // Checks that the plain kernel reads no more bytes of its opaque data than the spec says there
  // are. If it reads more, its result depends on the bytes around that data.
  void check_bytes(Workbench& bench) const {
    OpaqueMemory& opaque = bench.opaque();
    for (int i = 0; i < opaque.count(); ++i) {
      std::vector<unsigned char> seen[2];
      for (uint64_t which = 0; which < 2; ++which) {
        opaque.fill_around(i, mix(seed_ + which));
        bench.renew();
        bench.run_plain(0);
        seen[which] = bench.memory(0);
      }
      if (seen[0] != seen[1])
        throw TargetError(
            format("%s as it is, unwoven, reads outside of %s, which has %lld bytes "
                   "as the spec says",
                   plain_.name, opaque.name(i), static_cast<long long>(opaque.bytes(i))));
    }
    bench.renew();
  }

  // Checks that the plain kernel itself stores all of its output, equal whatever was there before,
  // and nothing beside it.
  void check_plain(Workbench& bench) const {
    Schedule one;
    one.tiles = {{0, 0, 0, 0}};
    Look look = bench.look_for(one, 0, 1);
    look.places[0] = {0, bench.m(), 0, plan_.map.n, 0};
    look.signals = 0;
    for (int which = 0; which < 2; ++which) bench.run_plain(which);
    const std::string kernel = std::string(plain_.name) + " as it is, unwoven,";
    if (const std::string wrong = describe_memory(bench, look, kernel); !wrong.empty())
      throw TargetError(wrong);
  }

  int64_t compare_bits(int64_t m, std::string& names) {
    const Schedule planned = planned_schedule(plan_, m);
    std::vector<Schedule> schedules = {planned};
    Schedule largest = planned;
    for (int i = 0; i < kRandomSchedules; ++i) {
      schedules.push_back(
          random_schedule(plan_, m, planned, mix(seed_ + static_cast<uint64_t>(i)) >> 44));
      const Schedule& next = schedules.back();
      largest.rows = std::max(largest.rows, next.rows);
      if (next.tiles.size() > largest.tiles.size()) largest.tiles = next.tiles;
      if (next.targets.size() > largest.targets.size()) largest.targets = next.targets;
    }
    Workbench bench(world_.device(0), *runner_, plain_, plan_, m, mix(seed_), largest);
    check_plain(bench);
    check_bytes(bench);
    bench.run_plain(0);
    const std::vector<unsigned char> plain = bench.memory(0);
    names.clear();
    for (const Schedule& schedule : schedules) {
      bench.renew();
      bench.upload(schedule);
      bench.run_woven(0, 0, static_cast<int64_t>(schedule.tiles.size()));
      const std::string wrong = describe_difference(bench, plan_, schedule, plain);
      if (!wrong.empty()) throw TargetError("by " + schedule.name + " schedule " + wrong);
      names += (names.empty() ? "" : "; ") + schedule.name;
      alive_(static_cast<int>(&schedule - schedules.data()) + 1);
    }
    expect_operands(bench);
    return m * plan_.map.n;
  }

  const harness::PlainLaunch& plain_;
  const tilepost_plan_t& plan_;
  World& world_;
  const uint64_t seed_;
  const std::function<void(int)>& alive_;
  const std::unique_ptr<KernelRunner> runner_;
};

}  // namespace

std::vector<CheckResult> audit_kernel(const harness::PlainLaunch& plain,
                                      const tilepost_plan_t& plan, World& world, uint64_t seed,
                                      const std::function<void(int)>& alive) {
  world.device(0).enter();
  std::vector<CheckResult> results;
  const char* name = "footprint: ";
  try {
    Audit audit(plain, plan, world, seed, alive);
    results.push_back({true, name + audit.footprint()});
    name = "bits: ";
    results.push_back({true, name + audit.bits()});
  } catch (const std::exception& error) {  // the CPU shim has no exceptions of its own
    results.push_back({false, std::string(name) + error.what()});
  }
  return results;
}

}  // namespace tilepost::verify
