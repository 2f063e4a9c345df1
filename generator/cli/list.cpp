// `tilepost list`: what this version supports, from the tables that decide it.
#include <fmt/format.h>

#include "generator/cli/commands.h"
#include "generator/cli/list_variants.h"
#include "generator/diagnostics.h"
#include "generator/plan/arch.h"
#include "generator/plan/cost/profile.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/small_kernel.h"
#include "generator/printable.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

void list_patterns(llvm::raw_ostream& out) {
  for (const PatternRow& row : kPatterns) out << fmt::format("{:<21}{}\n", row.name, row.gives);
}

void list_archs(llvm::raw_ostream& out) {
  for (const Arch arch : {Arch::sm_80, Arch::sm_86, Arch::sm_89, Arch::sm_90a, Arch::host}) {
    const ArchInfo& info = arch_info(arch);
    out << fmt::format("{:<8}", name_of(arch));
    if (arch == Arch::host)
      out << "threads of one process; correctness, not speed\n";
    else
      out << fmt::format("planned for {} SMs, {} bytes of shared memory per block\n",
                         info.default_sms, info.shared_per_block);
  }
}

void list_configs(llvm::raw_ostream& out, const char* archs,
                  const std::vector<KernelConfig>& configs,
                  tilepost_dtype_t element = TILEPOST_BF16) {
  for (const KernelConfig& config : configs)
    out << fmt::format("{:<16}{:<12}tile {}x{}x{}, {} stages, {} threads, {} bytes\n",
                       config.kernel, archs, config.tile_m, config.tile_n, tile_k(config, element),
                       config.stages, threads(config), shared_bytes(config));
}

void list_kernels(llvm::raw_ostream& out) {
  list_configs(out, "sm_90a", sm90_configs());
  for (const int64_t m : {16, 128, 256})
    list_configs(out, "sm_90a", small_configs(m, h200_nvlink_profile().in_flight_bytes));
  list_configs(out, "sm_80", sm80_configs(Arch::sm_80));
  list_configs(out, "sm_86", sm80_configs(Arch::sm_86));
  list_configs(out, "sm_89", sm80_configs(Arch::sm_89));
  for (const tilepost_accumulate_t accumulate : {TILEPOST_FAST, TILEPOST_PRECISE})
    list_configs(out, "sm_89 e4m3", sm80_e4m3_configs(Arch::sm_89, accumulate), TILEPOST_E4M3);
  out << "gemm_host       host        any tile\n";
}

void list_transports(llvm::raw_ostream& out) {
  out << "nccl            a stock NCCL collective per group; in process on the host target\n"
         "nccl_symmetric  the same out of symmetric windows, with fewer SMs\n"
         "copy_engine     copy engines read the other ranks' memory, with hardly any SM\n"
         "peer            the kernel stores into the memory of the rank that owns the rows\n"
         "none            the whole GEMM, then one collective\n"
         "auto            whichever the planner predicts to be fastest\n";
}

void list_flags(llvm::raw_ostream& out) {
  for (const FlagInfo& flag : all_flags())
    out << fmt::format("{:<10}{:<14}{}\n", flag.verb, flag.flag, flag.help);
}

struct Section {
  llvm::StringRef name;
  void (*print)(llvm::raw_ostream& out);
};
// What a list of everything leaves out: it is for programs.
constexpr llvm::StringLiteral kVariants = "variants";

const Section kSections[] = {{"patterns", list_patterns}, {"archs", list_archs},
                             {"kernels", list_kernels},   {"transports", list_transports},
                             {"flags", list_flags},       {kVariants, list_variants}};

}  // namespace

int run_list(const std::string& what) {
  std::vector<llvm::StringRef> names;
  for (const Section& section : kSections) names.push_back(section.name);
  if (!what.empty() && !llvm::is_contained(names, what)) {
    llvm::errs() << fmt::format("tilepost: error: nothing to list called '{}'{}\n", printable(what),
                                did_you_mean(what, names));
    return kExitUsage;
  }
  for (const Section& section : kSections) {
    if (what.empty() ? section.name == kVariants : what != section.name) continue;
    if (what.empty()) llvm::outs() << "# " << section.name << "\n";
    section.print(llvm::outs());
  }
  return kExitOk;
}

}  // namespace tilepost
