#include "generator/cli/list_variants.h"

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/spec/names.h"

namespace tilepost {
namespace {

// Where the lines go, and the machine that they are for.
struct List {
  llvm::raw_ostream& out;
  const MachineProfile& machine;
};

llvm::StringRef digits(Arch arch) {
  return llvm::StringRef(name_of(arch)).drop_front(sizeof("sm_") - 1);
}

bool takes_epilogue(const KernelConfig& config, Plan plan, int cluster) {
  plan.epilogue = TILEPOST_BIAS;
  return cluster < 4 && can_sum(config, plan);
}

void print(const List& list, const KernelConfig& config, const Plan& plan, int cluster,
           bool scales_arrive = false) {
  KernelRequest request = request_for(plan);
  request.scales_arrive = scales_arrive;
  request.cluster = cluster;
  request.tasks = is_for_tasks(config);
  request.band = band_of(config, cluster, plan.map.m, list.machine.gemm.band_rows);
  KernelPlan kernel = make_kernel(config, request);
  if (takes_epilogue(config, plan, cluster)) kernel.source.tunables["EPILOGUE"] = "*";
  if (!stores_to_peers(config)) kernel.source.tunables.erase("ADD");  // only stores to peers add
  llvm::raw_ostream& out = list.out;
  out << kernel.source.file << " " << digits(plan.arch);
  for (const auto& [name, value] : kernel.source.tunables) out << " " << name << "=" << value;
  out << "\n";
}

// A large problem whose sizes are multiples of every vector width.
Plan problem(Arch arch, tilepost_dtype_t input) {
  Plan plan;
  plan.arch = arch;
  plan.map.m = plan.map.n = plan.k = 8192;
  plan.input = input;
  plan.output = row_of(input).sums_to;
  return plan;
}

void list_sm90(const List& list, const Plan& plan, bool first_only) {
  const bool scaled = plan.scales != TILEPOST_SCALES_NONE;
  for (const KernelConfig& config : scaled ? sm90_block_configs() : sm90_configs()) {
    if (!can_sum(config, plan) || !can_load(config, plan)) continue;
    for (const int cluster : {1, 2, 4})
      if (fits_cluster(config, cluster) && (cluster < 4 || !is_for_tasks(config)))
        print(list, config, plan, cluster);
    if (first_only) return;
  }
}

// Lists variants in which the scales of A's blocks arrive with its rows.
void list_arriving_scales(const List& list, const Plan& plan) {
  for (const KernelConfig& config : sm90_block_configs())
    if (can_sum(config, plan) && can_load(config, plan)) print(list, config, plan, 2, true);
}

void list_sm80(const List& list, const std::vector<KernelConfig>& configs, const Plan& plan,
               bool first_only) {
  for (const KernelConfig& config : configs) {
    print(list, config, plan, 1);
    if (first_only) return;
  }
}

// Lists variants that store rows one by one. Waiting for the input makes no variants, because only
// the view asks for it, and the listed kernels are un-woven and have no view.
void list_routed(const List& list, Plan plan, bool first_only) {
  plan.routing = TILEPOST_ROUTING_ROWS;
  for (const KernelConfig& config : sm90_configs()) {
    if (!can_sum(config, plan) || !can_load(config, plan) || !can_route(config, plan)) continue;
    print(list, config, plan, 2);
    if (first_only) return;
  }
}

// Lists kernels for few rows: all configurations for each m. With `first_only` it lists fewer m,
// and one configuration for each height of tiles.
void list_small(const List& list, Plan plan, bool first_only) {
  for (const int64_t m :
       {8, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256}) {
    if (first_only && m != 16 && m != 128 && m != 256) continue;
    plan.map.m = m;
    int last = 0;
    for (const KernelConfig& config :
         small_configs(m, list.machine.gemm.in_flight_bytes, plan.scales != TILEPOST_SCALES_NONE)) {
      if (!can_sum(config, plan) || (first_only && config.tile_m == last)) continue;
      print(list, config, plan, 1);
      last = config.tile_m;
    }
  }
}

// All types of 16 bits give the same code except for a conversion. So all configurations are listed
// for the first type, and only the first ones for each other type.
void list_16_bit(const List& list, Arch arch) {
  bool first_only = false;
  for (const DtypeRow& row : kDtypes) {
    if (!row.is_bundled() || !row.is_half()) continue;
    for (const tilepost_operands_t operands : {TILEPOST_TN, TILEPOST_NN}) {
      Plan plan = problem(arch, row.value);
      plan.operands = operands;
      if (arch == Arch::sm_90a) {
        list_sm90(list, plan, first_only);
        list_routed(list, plan, first_only || operands == TILEPOST_NN);
        list_small(list, plan, first_only || operands == TILEPOST_NN);
      }
      list_sm80(list, sm80_configs(arch), plan, first_only);
    }
    first_only = true;
  }
}

void list_narrow(const List& list, Arch arch, tilepost_dtype_t input) {
  for (const tilepost_accumulate_t accumulate : {TILEPOST_PRECISE, TILEPOST_FAST}) {
    Plan plan = problem(arch, input);
    plan.accumulate = accumulate;
    if (arch == Arch::sm_90a) {
      list_sm90(list, plan, false);
      list_routed(list, plan, true);
      list_small(list, plan, true);
    }
    list_sm80(list, sm80_narrow_configs(arch, accumulate), plan, false);
    if (arch != Arch::sm_90a || accumulate != TILEPOST_PRECISE) continue;
    plan.scales = TILEPOST_SCALES_BLOCKS;
    list_sm90(list, plan, false);
    list_arriving_scales(list, plan);
    list_small(list, plan, true);
  }
}

}  // namespace

void list_variants(llvm::raw_ostream& out, const MachineProfile& machine) {
  const List list = {out, machine};
  for (const Arch arch : gpu_archs()) {
    list_16_bit(list, arch);
    for (const DtypeRow& row : kDtypes)
      if (row.is_bundled() && row.is_narrow()) list_narrow(list, arch, row.value);
  }
}

}  // namespace tilepost
