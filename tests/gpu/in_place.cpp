// `residual` may be `out` itself (docs/runtime.md). For every program whose epilogue adds a
// residual, on one rank: a run in place must give the same bits as a run whose residual lies apart.
//
//   in_place [program …]
//
// Exit code: 0 the same bits, 1 other bits, 77 nothing to run here.
#include <unistd.h>

#include <cstdio>

#include "tests/gpu/checker.h"
#include "tests/gpu/deadline.h"

using namespace gpu_test;

namespace {

constexpr unsigned kDeadlineSeconds = 60;  // for one program
constexpr uint32_t kSeed = 31;
constexpr int kRuns = 20;  // a read behind the store of the same element need not show in every run

// A run's operands on the device, of 16-bit elements.
struct Operands {
  uint16_t *a, *b, *residual, *apart, *in_place;
};

unsigned long long differing(const Operands& operands, const Shape& shape, Difference* difference,
                             cudaStream_t stream) {
  Difference found;
  CUDA_OK(cudaMemcpyAsync(difference, &found, sizeof found, cudaMemcpyHostToDevice, stream));
  compare_bits(operands.in_place, Place{}, operands.apart, shape, difference, stream);
  CUDA_OK(cudaMemcpyAsync(&found, difference, sizeof found, cudaMemcpyDeviceToHost, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  return found.count;
}

tilepost::Status run(tilepost::Op& op, const Operands& operands, const uint16_t* residual,
                     uint16_t* out, cudaStream_t stream) {
  tilepost_run_operands_t given{};
  given.struct_size = sizeof given;
  given.a = operands.a;
  given.b = operands.b;
  given.residual = residual;
  given.out = out;
  return op.run(given, stream);
}

// Returns how many elements differ in all runs.
unsigned long long test_program(const tilepost_program_t& program) {
  tilepost_unique_id_t id{};
  TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id)));
  tilepost::Comm comm;
  tilepost::Op op;
  TILEPOST_OK_(tilepost::Comm::init(id, 0, 1, comm));
  TILEPOST_OK_(tilepost::Op::create(comm, &program, op));
  const tilepost_plan_t& plan = plan_of(program);
  const Shape shape = shape_of(program);
  const int64_t elements = int64_t{shape.m} * shape.n;
  Device memory;
  Operands operands{memory.allocate<uint16_t>(int64_t{shape.m} * shape.k * 2),
                    memory.allocate<uint16_t>(int64_t{shape.n} * shape.k * 2),
                    memory.allocate<uint16_t>(elements * 2),
                    memory.allocate<uint16_t>(elements * 2),
                    memory.allocate<uint16_t>(elements * 2)};
  auto* difference = memory.allocate<Difference>(sizeof(Difference));
  cudaStream_t stream = nullptr;
  CUDA_OK(cudaStreamCreate(&stream));
  fill_normal(operands.a, int64_t{shape.m} * shape.k, plan.input, kSeed, 0, 0, stream);
  fill_normal(operands.b, int64_t{shape.n} * shape.k, plan.input, kSeed, 0, 1, stream);
  fill_normal(operands.residual, elements, plan.output, kSeed, 0, 2, stream);
  CUDA_OK(cudaMemsetAsync(operands.apart, 0xff, elements * 2, stream));
  TILEPOST_OK_(run(op, operands, operands.residual, operands.apart, stream));
  unsigned long long wrong = 0;
  for (int i = 0; i < kRuns; ++i) {
    CUDA_OK(cudaMemcpyAsync(operands.in_place, operands.residual, elements * 2,
                            cudaMemcpyDeviceToDevice, stream));
    TILEPOST_OK_(run(op, operands, operands.in_place, operands.in_place, stream));
    wrong += differing(operands, shape, difference, stream);
  }
  TILEPOST_OK_(op.synchronize());
  CUDA_OK(cudaStreamDestroy(stream));
  std::printf("%s %s %s %dx%dx%d: %llu elements differ in %d runs\n", wrong == 0 ? "ok" : "FAIL",
              program.name, plan.kernel.name, shape.m, shape.n, shape.k, wrong, kRuns);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("SKIP: no GPU\n");
    return kSkipped;
  }
  end_at_alarm();
  CUDA_OK(cudaSetDevice(0));
  preload();
  int tried = 0;
  unsigned long long wrong = 0;
  for (const tilepost_program_t* program : Arguments(argc, argv).programs()) {
    const tilepost_plan_t& plan = plan_of(*program);
    if (plan.ranks != 1 || (plan.epilogue & TILEPOST_RESIDUAL) == 0) continue;
    alarm(kDeadlineSeconds);
    wrong += test_program(*program);
    alarm(0);
    ++tried;
    std::fflush(stdout);
  }
  if (tried == 0) {
    std::printf("SKIP: no program to run\n");
    return kSkipped;
  }
  std::printf("%s: %d programs in place\n", wrong != 0 ? "FAIL" : "PASS", tried);
  return wrong != 0 ? 1 : 0;
}
