// Weaving must not change a result. On one rank the operation is the woven GEMM alone, and its
// output must have the same bits as the output of the un-woven template. All configurations of a
// family add the products of an element in the same order, so the template runs in a configuration
// of its own.
//
//   same_bits [program …]
//
// Only programs for one rank are checked. Exit code: 0 the same bits, 1 other bits, 77 nothing to
// run here.
#include <unistd.h>

#include "tests/gpu/checker.h"
#include "tests/gpu/deadline.h"
#include "tests/gpu/plain_launch.cuh"

#define tunable(name, fallback) configured(CONFIG, name, fallback)
#if TILEPOST_TEST_SM90
#define CONFIG ""
namespace sm90_bf16 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=1 OUTPUT=1"
namespace sm90_f16 {
#include "templates/gemm_sm90.cu"
}
#undef CONFIG
#endif
#define CONFIG ""
namespace sm80_bf16 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "LOAD_VECTOR=2 STORE_VECTOR=2"
namespace sm80_bf16_vector2 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "LOAD_VECTOR=1 STORE_VECTOR=1"
namespace sm80_bf16_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "ELEMENT=1 OUTPUT=1"
namespace sm80_f16 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "LOAD_VECTOR=2 STORE_VECTOR=2 ELEMENT=1 OUTPUT=1"
namespace sm80_f16_vector2 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#define CONFIG "LOAD_VECTOR=1 STORE_VECTOR=1 ELEMENT=1 OUTPUT=1"
namespace sm80_f16_vector1 {
#include "templates/gemm_sm80.cu"
}
#undef CONFIG
#undef tunable

using namespace gpu_test;

namespace {

constexpr unsigned kDeadlineSeconds = 120;  // for one program
constexpr uint32_t kSeed = 20;

// Templates with wider vectors come first.
const plain::Kernel kTemplates[] = {
#if TILEPOST_TEST_SM90
    TILEPOST_SM90(sm90_bf16, false),         TILEPOST_SM90(sm90_f16, false),
#endif
    TILEPOST_SM80(sm80_bf16, false),         TILEPOST_SM80(sm80_f16, false),
    TILEPOST_SM80(sm80_bf16_vector2, false), TILEPOST_SM80(sm80_f16_vector2, false),
    TILEPOST_SM80(sm80_bf16_vector1, false), TILEPOST_SM80(sm80_f16_vector1, false),
};

// The template of the plan's family that can read and write the plan's operands, or null.
const plain::Kernel* find_template(const tilepost_plan_t& plan) {
  const std::string family = plan.kernel.name;
  for (const plain::Kernel& kernel : kTemplates)
    if (family == (kernel.tma ? "gemm_sm90" : "gemm_sm80") &&
        static_cast<int>(kernel.element) == static_cast<int>(plan.input) &&
        static_cast<int>(kernel.output) == static_cast<int>(plan.output) &&
        plan.operands == TILEPOST_TN && plan.epilogue == 0 && plan.k % kernel.load_vector == 0 &&
        plan.map.n % kernel.store_vector == 0)
      return &kernel;
  return nullptr;
}

// Two outputs of one shape on the device, of which `expected` is row-major, and the result.
struct Comparison {
  const void* out;
  Place place;
  uint16_t* expected;
  Shape shape;
  Difference* difference;
  cudaStream_t stream;

  Difference run() const {
    Difference found;
    CUDA_OK(cudaMemcpyAsync(difference, &found, sizeof found, cudaMemcpyHostToDevice, stream));
    compare_bits(out, place, expected, shape, difference, stream);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpyAsync(&found, difference, sizeof found, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    return found;
  }

  // Checks the comparison with equal outputs: changes one bit of one element, which must then be
  // found, and no other.
  void try_one_bit() const {
    const unsigned long long place_of_bit = 7919ull * shape.k % (1ull * shape.m * shape.n);
    uint16_t element = 0;
    uint16_t* const changed = expected + place_of_bit;
    CUDA_OK(cudaMemcpy(&element, changed, sizeof element, cudaMemcpyDeviceToHost));
    element ^= 1;
    CUDA_OK(cudaMemcpy(changed, &element, sizeof element, cudaMemcpyHostToDevice));
    const Difference found = run();
    EXPECT(found.count == 1 && found.first == place_of_bit, "a changed bit was not found");
  }
};

enum class Outcome { same, different, skipped };

Outcome report(const tilepost_program_t& program, const tilepost_plan_t& plan,
               const Comparison& comparison) {
  const Difference found = comparison.run();
  const Shape& shape = comparison.shape;
  const long long elements = 1ll * shape.m * shape.n;
  std::printf("%s %s %s %dx%dx%d: ", found.count == 0 ? "ok" : "FAIL", program.name,
              plan.kernel.name, shape.m, shape.n, shape.k);
  if (found.count == 0) {
    std::printf("%lld elements, same bits\n", elements);
    comparison.try_one_bit();
    return Outcome::same;
  }
  std::printf("%llu of %lld elements differ, the first in row %llu, column %llu\n", found.count,
              elements, found.first / shape.n, found.first % shape.n);
  return Outcome::different;
}

Outcome test_program(const tilepost_program_t& program, int sms) {
  tilepost_unique_id_t id{};
  TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
  tilepost::Comm comm;
  tilepost::Op op;
  TILEPOST_OK_(tilepost::Comm::init(id, 0, 1, comm));
  const tilepost::Status created = tilepost::Op::create(comm, &program, op);
  if (created.result() == TILEPOST_UNSUPPORTED) {
    std::printf("SKIP %s: %s\n", program.name, created.text().c_str());
    return Outcome::skipped;
  }
  TILEPOST_OK_(created);
  tilepost_op_info_t info{};
  TILEPOST_OK_(op.get_info(info));
  const plain::Kernel* kernel = find_template(*info.plan);
  if (kernel == nullptr) {
    std::printf("SKIP %s: no un-woven kernel of the family '%s' for it\n", program.name,
                info.plan->kernel.name);
    return Outcome::skipped;
  }

  Checker checker(program, op, 0, 1);
  const auto& set = checker.set(0);
  const Shape shape = shape_of(program);
  const int64_t bytes = int64_t{shape.m} * shape.n * 2;
  Device memory;
  auto* expected = memory.allocate<uint16_t>(bytes);
  auto* difference = memory.allocate<Difference>(sizeof(Difference));
  checker.fill_set_normal(0, kSeed);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaMemsetAsync(set.out, 0xff, info.out_elements * 2, checker.stream()));
  CUDA_OK(cudaMemsetAsync(expected, 0xff, bytes, checker.stream()));
  TILEPOST_OK_(checker.run_set(op, 0));
  TILEPOST_OK_(op.synchronize());
  const tilepost_shape_t s{shape.m, shape.n, shape.k, shape.k, shape.k, shape.n};
  plain::Launch launch(*kernel, s, {set.a, set.b, expected}, sms * kernel->ctas_per_sm);
  launch(checker.stream());
  const Outcome outcome =
      report(program, *info.plan,
             {set.out, checker.place(), expected, shape, difference, checker.stream()});
  TILEPOST_OK_(op.synchronize());
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
      (TILEPOST_TEST_SM90 && device.major != 9)) {
    std::printf("SKIP: no GPU, or not of the kind this was built for\n");
    return kSkipped;
  }
  end_at_alarm();
  CUDA_OK(cudaSetDevice(0));
  preload();
  int same = 0, different = 0;
  for (const tilepost_program_t* program : Arguments(argc, argv).programs()) {
    if (plan_of(*program).ranks != 1) continue;
    alarm(kDeadlineSeconds);
    const Outcome outcome = test_program(*program, device.multiProcessorCount);
    alarm(0);
    same += outcome == Outcome::same;
    different += outcome == Outcome::different;
    std::fflush(stdout);
  }
  if (same + different == 0) {
    std::printf("SKIP: no program to run\n");
    return kSkipped;
  }
  std::printf("%s: %d programs have the same bits, %d have not\n", different ? "FAIL" : "PASS",
              same, different);
  return different ? 1 : 0;
}
