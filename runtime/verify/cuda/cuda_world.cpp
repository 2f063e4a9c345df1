// The CUDA target. Rank r is GPU r, each rank has one thread, and all ranks have one NCCL
// communicator.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/op/select.h"
#include "runtime/verify/cuda/cuda_device.h"
#include "runtime/verify/cuda/cuda_runner.h"

namespace tilepost::verify {
namespace {

// The plan that the runtime chooses on GPUs of compute capability `sm`, or null.
const tilepost_plan_t* best_plan(const tilepost_program_t& program, int sm) {
  const tilepost_plan_t* best = nullptr;
  for (int i = 0; i < program.num_plans; ++i) {
    const tilepost_plan_t& plan = program.plans[i];
    if (cuda::serves(plan.kernel.arch, sm) &&
        (best == nullptr || plan.kernel.arch > best->kernel.arch))
      best = &plan;
  }
  return best;
}

// The compute capability of GPU 0, such as 90.
int compute_capability() {
  int major = 0, minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
             "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0),
             "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

// The number of GPUs that this process sees. If it is 0, `reason` is CUDA's reason.
int count_gpus(std::string& reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) return count;
  reason = std::string(" (") + cudaGetErrorString(error) + ")";
  return 0;
}

class CudaWorld final : public World {
 public:
  explicit CudaWorld(int ranks) : comms_(ranks, nullptr) {
    sm_ = compute_capability();
    for (int rank = 0; rank < ranks; ++rank) devices_.push_back(std::make_unique<CudaDevice>(rank));
    check(tilepost_get_unique_id(&id_), "tilepost_get_unique_id");
  }
  ~CudaWorld() override {
    for (size_t rank = 0; rank < comms_.size(); ++rank) {
      cudaSetDevice(static_cast<int>(rank));
      tilepost_comm_destroy(comms_[rank]);
    }
  }

  int ranks() const override { return static_cast<int>(devices_.size()); }
  RankDevice& device(int rank) override { return *devices_[rank]; }

  tilepost_comm_t comm(int rank) override {
    if (comms_[rank] == nullptr)
      check(tilepost_comm_init(&id_, rank, ranks(), &comms_[rank]), "tilepost_comm_init");
    return comms_[rank];
  }

  const tilepost_plan_t& plan_of(const tilepost_program_t& program) const override {
    const tilepost_plan_t* best = best_plan(program, sm_);
    if (best == nullptr)
      throw TargetError("no plan of the program serves GPU 0, which is sm_" + std::to_string(sm_));
    return *best;
  }

  std::unique_ptr<KernelRunner> runner(const tilepost_plan_t& plan,
                                       const harness::PlainLaunch& plain) override {
    return std::make_unique<CudaRunner>(plan, plain, device(0).stream());
  }

  double max_reference_products() const override { return 2e12; }
  double max_audit_products() const override { return 1e15; }
  double slow_products_per_second() const override { return 1e11; }

 private:
  std::vector<std::unique_ptr<CudaDevice>> devices_;
  std::vector<tilepost_comm_t> comms_;
  tilepost_unique_id_t id_{};
  int sm_ = 0;
};

}  // namespace

const char* target_name() {
  return "cuda";
}

int ranks_available(int ranks) {
  std::string reason;
  return std::max(1, std::min(ranks, count_gpus(reason)));
}

std::string obstacle(const tilepost_program_t& program, int ranks) {
  std::string reason;
  const int count = count_gpus(reason);
  if (count < ranks)
    return "not run: it takes " + std::to_string(ranks) + (ranks == 1 ? " GPU" : " GPUs") +
           ", this machine has " + std::to_string(count) + reason;
  if (const int sm = compute_capability(); best_plan(program, sm) == nullptr)
    return "not run: none of its plans serves GPU 0, which is sm_" + std::to_string(sm);
  return "";
}

std::unique_ptr<World> open_world(int ranks) {
  return std::make_unique<CudaWorld>(ranks);
}

}  // namespace tilepost::verify
