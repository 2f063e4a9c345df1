#include "generator/plan/tuning/entry.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/arch.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

std::string kernel_of(const Spec& spec) {
  if (!spec.kernel) return "";
  const KernelSpec& kernel = *spec.kernel;
  return kernel.file.value + ": " +
         (kernel.function.value.empty() ? kernel.launcher.value : kernel.function.value);
}

}  // namespace

TuningKey key_of(const Spec& spec, Arch arch) {
  TuningKey key;
  key.pattern = spec.pattern.value;
  key.ranks = spec.ranks.value;
  key.arch = arch;
  key.m = spec.gemm.m.value;
  key.any_m = spec.gemm.any_m;
  key.n = spec.gemm.n.value;
  key.k = spec.gemm.k.value;
  key.a = spec.gemm.a.value;
  key.out = spec.gemm.out.value;
  key.layout = spec.gemm.layout.value;
  key.accumulate = spec.gemm.accumulate.value;
  key.scales = spec.gemm.scales.value;
  key.scales_a = spec.gemm.scales_a.value;
  key.experts = spec.gemm.experts.value;
  key.top = spec.gemm.top.value;
  if (spec.max_rows) key.max_rows = spec.max_rows->value;
  key.gate = spec.gemm.gate.value;
  for (const Located<tilepost_epilogue_op_t>& operation : spec.gemm.epilogue)
    key.epilogue |= static_cast<int>(operation.value);
  key.consumer = spec.consumer.value;
  key.routing = spec.routing.value;
  if (spec.max_received) key.max_received = spec.max_received->value;
  key.neighbours = spec.neighbours.value;
  key.registered = spec.registered.value;
  key.kernel = kernel_of(spec);
  key.tiles = spec.schedule.layout.value.value_or(TILEPOST_PANEL);
  key.sum = spec.schedule.sum.value.value_or(TILEPOST_SUM_STAGED);
  key.sms = spec.schedule.sms ? spec.schedule.sms->value : arch_info(arch).default_sms;
  return key;
}

std::string shape_text(const TuningKey& key) {
  return key.any_m ? fmt::format("any m up to {}, n {}, k {}", key.m, key.n, key.k)
                   : fmt::format("{}x{}x{}", key.m, key.n, key.k);
}

std::string TuningEntry::measured_on() const {
  return fmt::format("{} x {}", key.ranks, machine.gpu);
}

bool TuningEntry::is_of_this_version() const {
  return version == TILEPOST_VERSION_STRING && abi == TILEPOST_ABI_VERSION;
}

void stamp(TuningEntry& entry) {
  entry.version = TILEPOST_VERSION_STRING;
  entry.abi = TILEPOST_ABI_VERSION;
}

void put_entry(TuningEntry entry, TuningFile& file) {
  const auto same = [&](const TuningEntry& other) {
    return other.key == entry.key && other.machine.profile == entry.machine.profile &&
           other.machine.gpu == entry.machine.gpu;
  };
  const auto found = std::ranges::find_if(file.entries, same);
  if (found != file.entries.end())
    *found = std::move(entry);
  else
    file.entries.push_back(std::move(entry));
}

const TuningEntry* find_entry(const TuningFile& file, const TuningKey& key,
                              const std::string& profile) {
  const auto is_it = [&](const TuningEntry& entry) {
    return entry.key == key && entry.machine.profile == profile && entry.is_of_this_version();
  };
  const auto found = std::ranges::find_if(file.entries, is_it);
  return found != file.entries.end() ? &*found : nullptr;
}

}  // namespace tilepost
