#include "generator/own/launch_limits.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "clang/AST/Attr.h"
#include "clang/AST/Expr.h"
#include "generator/own/shared_memory.h"
#include "generator/plan/arch.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

class LaunchLimits {
 public:
  LaunchLimits(const Parsed& parsed, const Instance& instance, const OwnKernel& own,
               Diagnostics& diagnostics)
      : parsed_(parsed),
        instance_(instance),
        own_(own),
        diagnostics_(diagnostics),
        name_(quote(own.spec.function.value)),
        bounds_(instance.function->getAttr<clang::CUDALaunchBoundsAttr>()) {}

  bool check() {
    const int errors = diagnostics_.errors();
    check_threads();
    check_bounds();
    check_cluster();
    check_shared_memory();
    return diagnostics_.errors() == errors && parsed_.report.ok();
  }

 private:
  std::optional<int64_t> number(const clang::Expr* given) const {
    clang::Expr::EvalResult value;
    if (!given || given->isValueDependent() || !given->EvaluateAsInt(value, parsed_.ast))
      return std::nullopt;
    return value.Val.getInt().getExtValue();
  }

  const clang::AnnotateAttr* noted(llvm::StringRef what) const {
    for (const auto* note : instance_.function->specific_attrs<clang::AnnotateAttr>())
      if (note->getAnnotation() == what) return note;
    return nullptr;
  }

  // CUDA C++ Programming Guide, "Launch Bounds": a launch of more threads fails.
  void check_threads() {
    const std::optional<int64_t> most = bounds_ ? number(bounds_->getMaxThreads()) : std::nullopt;
    const int64_t threads = int64_t{own_.threads[0]} * own_.threads[1] * own_.threads[2];
    if (!most || *most <= 0 || threads <= *most) return;
    diagnostics_.error(
        own_.spec.threads.where,
        fmt::format("kernel.threads says {} threads in a block, and {} is compiled for {} at most, "
                    "by its __launch_bounds__: the launch would fail; say the threads that you "
                    "launch it with, or name an instantiation for as many",
                    threads, name_, *most));
    note_kernel();
  }

  void check_bounds() {
    if (!bounds_ || !noted("maxnreg")) return;
    parsed_.error(instance_.function->getLocation(),
                  name_ +
                      " has both __launch_bounds__ and __maxnreg__, of which nvcc takes one; "
                      "remove one of them");
  }

  // A kernel without marks has no cluster: the proof refuses one.
  void check_cluster() {
    if (!own_.marked) return;
    const int64_t cluster = own_.spec.cluster.value;
    const auto refuse = [&](const std::string& compiled, const char* by) {
      diagnostics_.error(
          own_.spec.cluster.where.known() ? own_.spec.cluster.where : own_.spec.function.where,
          fmt::format("kernel.cluster is {}, and {} is compiled for clusters of {} "
                      "blocks, by its {}: the launch would fail; say the same "
                      "number in both",
                      cluster, name_, compiled, by));
      note_kernel();
    };
    if (const clang::AnnotateAttr* dims = noted("cluster_dims")) {
      std::array<int64_t, 3> size = {1, 1, 1};
      size_t i = 0;
      for (const clang::Expr* each : dims->args())
        if (i < size.size()) size[i++] = number(each).value_or(cluster);
      if (size != std::array<int64_t, 3>{cluster, 1, 1})
        refuse(fmt::format("{} x {} x {}", size[0], size[1], size[2]), "__cluster_dims__");
    }
    const std::optional<int64_t> most = bounds_ ? number(bounds_->getMaxBlocks()) : std::nullopt;
    if (most && *most > 0 && cluster > *most)
      refuse(fmt::format("at most {}", *most), "__launch_bounds__");
    if (noted("block_size"))
      parsed_.error(instance_.function->getLocation(),
                    name_ +
                        " has __block_size__, by which a launch counts clusters and not blocks; "
                        "leave it out: kernel.threads and kernel.cluster say it");
  }

  // Variables of a known size may have 48 KiB (CUDA C++ Programming Guide, "Technical
  // Specifications per Compute Capability"). They share the block's memory with what is dynamic.
  void check_shared_memory() {
    constexpr int64_t kMostStatic = 49152;
    const int64_t fixed = static_shared_bytes(parsed_, instance_);
    const int64_t most = arch_info(own_.arch).shared_per_block;
    if (fixed > kMostStatic) {
      parsed_.error(instance_.function->getLocation(),
                    fmt::format("the __shared__ variables of {} have {} bytes, and a block has at "
                                "most {} for variables of a known size; use extern __shared__ "
                                "memory, and say kernel.shared_bytes",
                                name_, fixed, kMostStatic));
    } else if (fixed > 0 && fixed + own_.shared_bytes > most) {
      diagnostics_.error(own_.spec.shared_bytes.where,
                         fmt::format("kernel.shared_bytes is {}, and the __shared__ variables of "
                                     "{} have {} bytes more: a block of {} has {} in all; use less",
                                     own_.shared_bytes, name_, fixed, name_of(own_.arch), most));
      note_kernel();
    }
  }

  void note_kernel() const {
    parsed_.note(instance_.function->getLocation(), "the kernel is declared here");
  }

  const Parsed& parsed_;
  const Instance& instance_;
  const OwnKernel& own_;
  Diagnostics& diagnostics_;
  const std::string name_;
  const clang::CUDALaunchBoundsAttr* bounds_;
};

}  // namespace

bool check_launch_limits(const Parsed& parsed, const Instance& instance, const OwnKernel& own,
                         Diagnostics& diagnostics) {
  return LaunchLimits(parsed, instance, own, diagnostics).check();
}

}  // namespace tilepost
