// `tilepost list`: lists what this version supports, from the tables that decide this.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "generator/cli/commands.h"
#include "generator/cli/list_variants.h"
#include "generator/diagnostics.h"
#include "generator/plan/arch.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/machine/text.h"
#include "generator/spec/names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

using llvm::json::Object;

// An item of a list: a line of text, and a JSON object for programs with the same content.
struct Item {
  std::string text;
  Object object;
};
using Items = std::vector<Item>;

Items list_patterns(const MachineProfile&) {
  constexpr const char* kLayerGives =
      "out = this rank's tokens: what the experts of each on all ranks made of it";
  size_t longest = 0;
  for (const Spelling& pattern : patterns_of_specs())
    longest = std::max(longest, pattern.text.size());
  Items items;
  for (const Spelling& pattern : patterns_of_specs()) {
    const bool layer = pattern.value == kLayerPattern.value;
    const char* gives =
        layer ? kLayerGives : row_of(static_cast<tilepost_pattern_t>(pattern.value)).gives;
    items.push_back({fmt::format("{:<{}}  {}", pattern.text, longest, gives),
                     Object{{"name", llvm::StringRef(pattern.text)}, {"gives", gives}}});
  }
  return items;
}

Items list_archs(const MachineProfile&) {
  Items items;
  for (const Arch arch : gpu_archs()) {
    const ArchInfo& info = arch_info(arch);
    items.push_back({fmt::format("{:<8}planned for {} SMs, {} bytes of shared memory per block",
                                 name_of(arch), info.default_sms, info.shared_per_block),
                     Object{{"name", name_of(arch)},
                            {"sms", info.default_sms},
                            {"shared_bytes_per_block", info.shared_per_block}}});
  }
  items.push_back(
      {"host    threads of one process; correctness, not speed",
       Object{{"name", "host"}, {"sms", nullptr}, {"shared_bytes_per_block", nullptr}}});
  return items;
}

Items list_machines(const MachineProfile&) {
  Items items;
  for (const KnownMachine& known : known_machines())
    items.push_back({fmt::format("{:<15}{}", known.key, known.profile.words()),
                     Object{{"name", std::string(known.key)},
                            {"machine", known.profile.name},
                            {"measured", known.profile.measured},
                            {"arch", name_of(known.profile.arch)}}});
  return items;
}

// The text of a machine's profile, to be edited and given to --machine.
Items list_machine(const MachineProfile& machine) {
  std::string text = write_machine(machine);
  text.pop_back();  // the line end of the last line
  return {{text, Object{{"name", machine.name}, {"text", text}}}};
}

// Adds for each 8-bit type, under the type's name, whether the kernel is for this type alone.
void mark_narrow(Object& kernel, tilepost_dtype_t element) {
  for (const DtypeRow& row : kDtypes)
    if (row.is_narrow()) kernel[fmt::format("{}_only", row.name)] = row.value == element;
}

// Adds one line for each configuration. Configurations whose lines are equal share one.
void add_configs(Items& items, const char* arch, const std::vector<KernelConfig>& configs,
                 tilepost_dtype_t element = {}) {
  const DtypeRow& type = row_of(element);
  for (const KernelConfig& config : configs) {
    const int depth = tile_k(config, element);
    Item item{
        fmt::format("{:<16}{:<12}tile {}x{}x{}, {} stages, {} threads, {} bytes",
                    config.family->name(),
                    type.is_narrow() ? fmt::format("{} {}", arch, type.name) : arch, config.tile_m,
                    config.tile_n, depth, config.stages, threads(config), shared_bytes(config)),
        Object{{"name", config.family->name()},
               {"arch", arch},
               {"tile", llvm::json::Array{config.tile_m, config.tile_n, depth}},
               {"stages", config.stages},
               {"threads", threads(config)},
               {"shared_bytes", shared_bytes(config)}}};
    mark_narrow(item.object, element);
    const auto same = [&](const Item& other) { return other.text == item.text; };
    if (llvm::none_of(items, same)) items.push_back(std::move(item));
  }
}

Items list_kernels(const MachineProfile& machine) {
  Items items;
  add_configs(items, "sm_90a", sm90_configs());
  for (const int64_t m : {16, 128, 256})
    add_configs(items, "sm_90a", small_configs(m, machine.gemm.in_flight_bytes));
  const auto is_ampere = [](Arch arch) { return families_of(arch).front() == &sm80_family(); };
  for (const Arch arch : gpu_archs())
    if (is_ampere(arch)) add_configs(items, name_of(arch), sm80_configs(arch));
  for (const Arch arch : gpu_archs())
    for (const DtypeRow& row : kDtypes)
      for (const tilepost_accumulate_t accumulate : {TILEPOST_FAST, TILEPOST_PRECISE})
        if (is_ampere(arch) && row.is_narrow())
          add_configs(items, name_of(arch), sm80_narrow_configs(arch, accumulate), row.value);
  Item host{"gemm_host       host        any tile", Object{{"name", "gemm_host"},
                                                           {"arch", "host"},
                                                           {"tile", nullptr},
                                                           {"stages", nullptr},
                                                           {"threads", 1},
                                                           {"shared_bytes", 0}}};
  mark_narrow(host.object, {});
  items.push_back(std::move(host));
  return items;
}

Items list_transports(const MachineProfile&) {
  Items items;
  const auto add = [&](const char* name, const char* how) {
    items.push_back({fmt::format("{:<16}{}", name, how), Object{{"name", name}, {"how", how}}});
  };
  for (const Spelling& spelling : spellings<tilepost_transport_t>())
    if (spelling.value != kAuto) {
      const auto& row = row_of(static_cast<tilepost_transport_t>(spelling.value));
      add(row.name, row.description);
    }
  add("auto", "whichever the planner predicts to be fastest");
  return items;
}

Items list_flags(const MachineProfile&) {
  Items items;
  for (const FlagInfo& flag : all_flags())
    items.push_back({fmt::format("{:<10}{:<22}{}", flag.verb, flag.flag, flag.help),
                     Object{{"command", flag.verb}, {"flag", flag.flag}, {"help", flag.help}}});
  return items;
}

// Lists every variant: its template, its architecture and its tunables.
Items list_all_variants(const MachineProfile& machine) {
  std::string text;
  llvm::raw_string_ostream out(text);
  list_variants(out, machine);
  Items items;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ');
    Object tunables;
    for (const llvm::StringRef word : llvm::drop_begin(words, 2))
      tunables[word.split('=').first.str()] = word.split('=').second.str();
    items.push_back({line.str(), Object{{"file", words[0].str()},
                                        {"arch", "sm_" + words[1].str()},
                                        {"tunables", std::move(tunables)}}});
  }
  return items;
}

struct Section {
  llvm::StringRef name;
  Items (*items)(const MachineProfile& machine);
};
// The sections that a list of everything leaves out. They are listed only by name.
constexpr llvm::StringLiteral kVariants = "variants", kMachine = "machine";
const Section kSections[] = {{"patterns", list_patterns},     {"archs", list_archs},
                             {"machines", list_machines},     {"kernels", list_kernels},
                             {"transports", list_transports}, {"flags", list_flags},
                             {kVariants, list_all_variants},  {kMachine, list_machine}};

llvm::json::Array objects_of(Items items) {
  llvm::json::Array objects;
  for (Item& item : items) objects.push_back(std::move(item.object));
  return objects;
}

}  // namespace

int list_command(const Options& options, Diagnostics& diagnostics, JsonDocument* document) {
  const std::string& what = options.list_what;
  std::vector<llvm::StringRef> names;
  for (const Section& section : kSections) names.push_back(section.name);
  if (!what.empty() && !llvm::is_contained(names, what)) {
    std::string meant = did_you_mean(what, names);
    if (meant.empty()) meant = "; the lists are " + llvm::join(names, ", ");
    diagnostics.error(fmt::format("nothing to list called '{}'{}", what, meant));
    return kExitUsage;
  }
  int exit_code = kExitOk;
  const std::shared_ptr<const Machine> machine = read_machine_of(options, diagnostics, exit_code);
  if (machine == nullptr) return exit_code;
  for (const Section& section : kSections) {
    const bool left_out = section.name == kVariants || section.name == kMachine;
    if (what.empty() ? left_out : what != section.name) continue;
    Items items = section.items(machine->profile);
    if (document != nullptr) {
      document->set(section.name.str(), objects_of(std::move(items)));
      continue;
    }
    if (what.empty()) llvm::outs() << "# " << section.name << "\n";
    for (const Item& item : items) llvm::outs() << item.text << "\n";
  }
  return kExitOk;
}

}  // namespace tilepost
