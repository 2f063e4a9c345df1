#include "generator/plan/arch.h"

#include <cstdlib>

namespace tilepost {
namespace {

constexpr ArchInfo kArchs[] = {
    {Arch::sm_80, 80, 108, 166912, 167936, 1024, 65536, 2048, 2048, 1.41},   // A100
    {Arch::sm_86, 86, 84, 101376, 102400, 1024, 65536, 1536, 1024, 1.70},    // A40, RTX A6000
    {Arch::sm_89, 89, 142, 101376, 102400, 1024, 65536, 1536, 1024, 2.20},   // L40S
    {Arch::sm_90a, 90, 132, 232448, 233472, 1024, 65536, 2048, 4096, 1.56},  // H100 SXM, H200
    {Arch::host, 0, 8, INT64_MAX, INT64_MAX, 0, 0, INT32_MAX, 0, 0},
};

}  // namespace

const ArchInfo& arch_info(Arch arch) {
  for (const ArchInfo& info : kArchs)
    if (info.arch == arch) return info;
  std::abort();
}

}  // namespace tilepost
