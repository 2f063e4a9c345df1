#include "generator/cli/read_measured.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/printable.h"
#include "generator/spec/names.h"
#include "llvm/Support/JSON.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

constexpr int64_t kFormat = 1;
constexpr double kClockStepUs = 1;  // by which times of two SMs may differ
constexpr int64_t kMostNanoseconds = int64_t{1} << 53;

using llvm::json::Object;

// A time of a group; -1 stands for none.
bool read_time(const Object& group, llvm::StringRef key, double total_us,
               std::optional<double>& time) {
  const std::optional<int64_t> ns = group.getInteger(key);
  if (!ns || *ns < -1) return false;
  const double us = static_cast<double>(*ns) * 1e-3;
  if (us > total_us + kClockStepUs) return false;
  if (*ns >= 0) time = std::min(us, total_us);
  return true;
}

bool read_groups(const Object& file, Measured& measured) {
  const llvm::json::Array* groups = file.getArray("groups");
  if (groups == nullptr) return false;
  for (const llvm::json::Value& value : *groups) {
    const Object* group = value.getAsObject();
    Measured::Group& read = measured.groups.emplace_back();
    if (group == nullptr || !read_time(*group, "tiles_end_ns", measured.total, read.tiles_end) ||
        !read_time(*group, "steps_begin_ns", measured.total, read.steps_begin) ||
        !read_time(*group, "steps_end_ns", measured.total, read.steps_end))
      return false;
  }
  return true;
}

bool read_run(const Object& file, Measured& measured) {
  const std::optional<int64_t> total = file.getInteger("total_ns"), rank = file.getInteger("rank");
  const std::optional<bool> replayed = file.getBoolean("replayed");
  if (file.getInteger("tilepost_timeline") != kFormat || !total || !rank || !replayed) return false;
  if (*total <= 0 || *total > kMostNanoseconds || *rank < 0) return false;
  measured.total = static_cast<double>(*total) * 1e-3;
  measured.rank = static_cast<int>(*rank);
  measured.replayed = *replayed;
  return read_groups(file, measured);
}

// How the run differs from the plan's; "" if it does not.
std::string difference(const Object& file, const Measured& measured, const Plan& plan) {
  const auto text = [&](const char* key) { return file.getString(key).value_or("").str(); };
  if (text("name") != plan.name)
    return fmt::format("it is of '{}', and the plan of '{}'", printable(text("name")), plan.name);
  if (file.getInteger("m") != plan.map.m)
    return fmt::format("its run had m = {}, and the plan has m = {}",
                       file.getInteger("m").value_or(0), plan.map.m);
  if (text("pattern") != row_of(plan).name || file.getInteger("ranks") != plan.ranks ||
      measured.groups.size() != plan.tile_map().groups.size() ||
      text("map_hash") != fmt::format("0x{:016x}", static_cast<uint64_t>(plan.map_hash)))
    return "its program was generated for another plan: other fields, another machine or another "
           "version";
  return "";
}

}  // namespace

std::optional<Measured> read_measured(const std::string& path, const std::string& text,
                                      const Plan& plan, Diagnostics& diagnostics) {
  if (plan.prediction.total <= 0) {
    diagnostics.error(fmt::format(
        "--measured: a plan for '{}' predicts no times to show a run beside; set --arch to a GPU's",
        name_of(plan.arch)));
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  const Object* file = value ? value->getAsObject() : nullptr;
  if (!value) llvm::consumeError(value.takeError());
  Measured measured;
  if (file == nullptr || !read_run(*file, measured)) {
    diagnostics.error(
        fmt::format("--measured: '{}' is not a timeline that tilepost_op_write_timeline of this "
                    "version has written",
                    printable(path)));
    return std::nullopt;
  }
  const std::string other = difference(*file, measured, plan);
  if (other.empty()) return measured;
  diagnostics.error(fmt::format(
      "--measured: '{}' is not a run of this plan: {}; explain what the run was generated from",
      printable(path), other));
  return std::nullopt;
}

}  // namespace tilepost
