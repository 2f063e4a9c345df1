// The arguments of kernels: tensor maps from the plan's boxes, shapes, the epilogue's operands.
// Also the pattern gemm, which has no communicator.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::pointer;
using sample::Program;
using sample::Setup;

namespace {

using Lines = std::vector<std::string>;

tilepost_run_operands_t operands() {
  tilepost_run_operands_t values{};
  values.struct_size = sizeof values;
  values.a = pointer(1);
  values.b = pointer(2);
  values.out = pointer(3);
  return values;
}

tilepost_run_operands_t all_operands() {
  tilepost_run_operands_t values = operands();
  values.scale_a = static_cast<const float*>(pointer(4));
  values.scale_b = static_cast<const float*>(pointer(5));
  values.bias = pointer(6);
  values.residual = pointer(7);
  return values;
}

tilepost_result_t run(const Setup& setup, const tilepost_run_operands_t& values) {
  return tilepost_op_run_with(setup.op, &values, fakes::user_stream("user"));
}

void use_gemm(Program& program, int epilogue = 0) {
  program.plan.pattern = TILEPOST_GEMM;
  program.plan.transport = TILEPOST_TRANSPORT_NONE;
  program.plan.comm_ctas = 0;
  program.plan.epilogue = epilogue;
  program.cuts = {4};
  program.finish();
}

// How many logged lines start with one of the words.
int count_calls(const std::vector<std::string>& words) {
  int count = 0;
  for (const std::string& line : world().log)
    for (const std::string& word : words) count += line.rfind(word, 0) == 0;
  return count;
}

}  // namespace

TEST_CASE_METHOD(OnFakes, "tensor maps have the plan's boxes, and the operands' sizes and types") {
  Program program;  // 512 x 256, k 256; boxes of A, B and C: 64 x 128, 64 x 64, 64 x 64
  const auto encoded = [&] {
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    world().maps.clear();
    REQUIRE(run(setup, operands()) == TILEPOST_OK);
    return world().maps;
  };
  const int bf16 = 9, u8 = 0;  // CU_TENSOR_MAP_DATA_TYPE_…
  const auto line = [](const std::string& sizes, int bytes, int type, int swizzle, int promote) {
    return sizes + " stride " + std::to_string(bytes) + " type " + std::to_string(type) +
           " swizzle " + std::to_string(swizzle) + " promote " + std::to_string(promote);
  };
  CHECK(encoded() == Lines{line("256x512 box 64x128", 512, bf16, 3, 0),
                           line("256x256 box 64x64", 512, bf16, 3, 0),
                           line("256x512 box 64x64", 512, bf16, 3, 0)});
  program.plan.k = 128;
  program.plan.operands = TILEPOST_NN;
  program.plan.kernel.box_b = {64, 32, 128, 256};
  program.plan.kernel.box_c.swizzle = 0;
  CHECK(encoded() == Lines{line("128x512 box 64x128", 256, bf16, 3, 0),
                           line("256x128 box 64x32", 512, bf16, 3, 3),
                           line("256x512 box 64x64", 512, bf16, 0, 0)});
  program.plan.operands = TILEPOST_TN;
  program.plan.input = TILEPOST_E4M3;
  program.plan.kernel.box_a = {128, 128, 128, 64};
  program.plan.kernel.box_b = {128, 64, 128, 128};
  CHECK(encoded() == Lines{line("128x512 box 128x128", 128, u8, 3, 1),
                           line("128x256 box 128x64", 128, u8, 3, 2),
                           line("256x512 box 64x64", 512, bf16, 0, 0)});
}

TEST_CASE_METHOD(Operation, "rows of B are k long, or n long where B is [k, n]") {
  program.plan.k = 128;
  program.plan.operands = GENERATE(TILEPOST_TN, TILEPOST_NN);
  create();
  REQUIRE(run_with(operands()) == TILEPOST_OK);
  CHECK(world().shape.lda == 128);
  CHECK(world().shape.ldb == (program.plan.operands == TILEPOST_NN ? 256 : 128));
  CHECK(world().shape.ldc == 256);
}

TEST_CASE_METHOD(
    Operation, "pattern gemm makes no communicator and runs the GEMM in the caller's stream only") {
  program.plan.ranks = GENERATE(1, 2, 64);  // the communicator may have any number of ranks
  use_gemm(program);
  world().reset_calls();
  create();
  CHECK(count_calls({"ncclCommSplit", "allreduce"}) == 0);
  world().reset_calls();
  REQUIRE(run_with(operands()) == TILEPOST_OK);
  CHECK(count_calls({"gemm user x8 clusters"}) == 1);
  CHECK(count_calls({"allreduce", "wait ", "cudaStreamWaitEvent"}) == 0);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  CHECK(std::string(tilepost_op_warnings(setup.op)).empty());
}

TEST_CASE_METHOD(Operation,
                 "a kernel that loops over no tiles has a CTA for each, whatever fits at once") {
  program.use_sm80();
  program.plan.kernel.tile_per_cta = 1;
  std::ranges::copy(std::array{32, 4, 3}, program.plan.kernel.block);
  program.plan.gemm_ctas = 2;
  program.finish();
  world().blocks_per_sm = 0;
  create();
  world().reset_calls();
  REQUIRE(run_with(operands()) == TILEPOST_OK);
  const size_t tiles = tilepost::build_tile_map(program.plan.map).tiles.size();
  REQUIRE(tiles > 2);
  CHECK(count_calls({"gemm user x" + std::to_string(tiles)}) == 1);
  CHECK(world().block == std::array{32u, 4u, 3u});
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
}

namespace {

// The arguments of the last call of a caller's launcher.
struct Launched {
  int times = 0;
  tilepost_launch_call_t call{};
  unsigned blocks = 0, threads = 0;
  cudaStream_t stream = nullptr;
  void* user = nullptr;
  cudaError_t result = cudaSuccess;
};
Launched launched;

int launch(const tilepost_launch_call_t* call, void* user) {
  ++launched.times;
  launched.call = *call;
  launched.blocks = call->config->gridDim.x;
  launched.threads = call->config->blockDim.x;
  launched.stream = call->config->stream;
  launched.user = user;
  return launched.result;
}

}  // namespace

TEST_CASE_METHOD(Operation, "a launcher of the caller's is told all that its kernel is to get") {
  use_gemm(program);
  program.plan.kernel.launch = TILEPOST_LAUNCH_CUSTOM;
  program.plan.kernel.launcher = &launch;
  launched = {};
  create();
  tilepost_run_operands_t values = operands();
  values.user = &values;
  REQUIRE(run_with(values) == TILEPOST_OK);
  CHECK(launched.times == 1);
  CHECK(launched.user == &values);
  CHECK(launched.call.struct_size == sizeof(tilepost_launch_call_t));
  CHECK(launched.call.function == program.plan.kernel.function);
  CHECK(launched.call.a == values.a);
  CHECK(launched.call.b == values.b);
  CHECK(launched.call.out == values.out);
  CHECK(launched.call.out_rows == program.plan.map.m);
  CHECK(launched.call.shape.n == program.plan.map.n);
  CHECK(launched.call.view.num_tiles > 0);
  CHECK(launched.blocks == static_cast<unsigned>(program.plan.gemm_ctas));
  CHECK(launched.threads == static_cast<unsigned>(program.plan.kernel.threads));
  CHECK(launched.stream == user);

  // A caller that was compiled when the operands had no `user` passes none.
  values.struct_size = offsetof(tilepost_run_operands_t, user);
  REQUIRE(run_with(values) == TILEPOST_OK);
  CHECK(launched.user == nullptr);

  launched.result = cudaErrorInvalidValue;
  CHECK(run_with(values) == TILEPOST_CUDA_ERROR);
  CHECK_THAT(tilepost_last_error(), Contains("the launcher of kernel '"));
}

TEST_CASE_METHOD(Operation, "pattern gemm puts slots in place where it is asked to") {
  use_gemm(program);
  program.use_tiles(TILEPOST_CONSUMER_UNPERMUTE);
  program.cuts = {8};
  program.finish();
  create();
  world().reset_calls();
  REQUIRE(run_with(operands()) == TILEPOST_OK);
  CHECK(count_calls({"unpermute user 0+8"}) == 1);
}

TEST_CASE_METHOD(OnFakes, "the kernel gets the operands its epilogue reads, and no others") {
  const struct {
    int epilogue;
    bool scale_a, scale_b, bias, residual;
  } cases[] = {
      {0, false, false, false, false},
      {TILEPOST_SCALE, true, true, false, false},
      {TILEPOST_SCALE_ROWS, true, false, false, false},
      {TILEPOST_SCALE_COLUMNS, false, true, false, false},
      {TILEPOST_BIAS | TILEPOST_GELU, false, false, true, false},
      {TILEPOST_SILU, false, false, false, false},
      {TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS | TILEPOST_BIAS | TILEPOST_RESIDUAL, true, true,
       true, true},
  };
  for (const auto& expected : cases) {
    CAPTURE(expected.epilogue);
    Program program;
    use_gemm(program, expected.epilogue);
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    const tilepost_run_operands_t all = all_operands();
    REQUIRE(run(setup, all) == TILEPOST_OK);
    const tilepost_epilogue_t got = world().epilogue;
    CHECK(got.scale_a == (expected.scale_a ? all.scale_a : nullptr));
    CHECK(got.scale_b == (expected.scale_b ? all.scale_b : nullptr));
    CHECK(got.bias == (expected.bias ? all.bias : nullptr));
    CHECK(got.residual == (expected.residual ? all.residual : nullptr));
  }
}

TEST_CASE_METHOD(OnFakes, "each missing operand is named, by both calls") {
  const struct {
    int epilogue;
    const char* name;
    void (*remove)(tilepost_run_operands_t&);
  } cases[] = {
      {TILEPOST_SCALE, "scale_a", [](tilepost_run_operands_t& o) { o.scale_a = nullptr; }},
      {TILEPOST_SCALE, "scale_b", [](tilepost_run_operands_t& o) { o.scale_b = nullptr; }},
      {TILEPOST_SCALE_ROWS, "scale_a", [](tilepost_run_operands_t& o) { o.scale_a = nullptr; }},
      {TILEPOST_SCALE_COLUMNS, "scale_b", [](tilepost_run_operands_t& o) { o.scale_b = nullptr; }},
      {TILEPOST_BIAS, "bias", [](tilepost_run_operands_t& o) { o.bias = nullptr; }},
      {TILEPOST_RESIDUAL, "residual", [](tilepost_run_operands_t& o) { o.residual = nullptr; }},
  };
  for (const auto& missing : cases) {
    CAPTURE(missing.name, missing.epilogue);
    Program program;
    use_gemm(program, missing.epilogue);
    Setup setup;
    REQUIRE(setup.create(program) == TILEPOST_OK);
    tilepost_run_operands_t values = all_operands();
    missing.remove(values);
    world().reset_calls();
    CHECK(run(setup, values) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(), Contains(std::string(missing.name) + " is null") &&
                                          Contains("tilepost_op_run_with"));
    CHECK(tilepost_op_run(setup.op, pointer(1), pointer(2), pointer(3),
                          fakes::user_stream("user")) == TILEPOST_INVALID_ARGUMENT);
    CHECK(count_calls({"gemm"}) == 0);
  }
}

TEST_CASE_METHOD(Operation, "operands must be aligned device memory of this device") {
  use_gemm(program, TILEPOST_SCALE_ROWS | TILEPOST_BIAS | TILEPOST_RESIDUAL);
  create();
  const auto moved = [](auto*& target, uintptr_t bytes) {
    using Pointer = std::remove_reference_t<decltype(target)>;
    target = reinterpret_cast<Pointer>(reinterpret_cast<uintptr_t>(target) + bytes);
  };
  tilepost_run_operands_t values = all_operands();
  moved(values.scale_a, 4);  // a multiple of 4 bytes is enough for a float
  CHECK(run_with(values) == TILEPOST_OK);
  moved(values.scale_a, 1);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("scale_a must be a multiple of 4 bytes"));
  values = all_operands();
  moved(values.bias, 8);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("bias must be a multiple of 16 bytes"));
  values = all_operands();
  moved(values.residual, 2);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("residual must be a multiple of 16 bytes"));
  values = all_operands();
  values.bias = pointer(90);
  world().host_pointers[values.bias] = -1;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("bias must be device memory"));
  // An address that was accepted as a scale is still checked as a bias.
  values = all_operands();
  moved(values.scale_a, 4);
  values.bias = values.scale_a;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Operation, "where ranks are summed the bias is rank 0's") {
  program.plan.epilogue = TILEPOST_SCALE | TILEPOST_BIAS;
  create();  // rank 1 of 2
  tilepost_run_operands_t values = all_operands();
  REQUIRE(run_with(values) == TILEPOST_OK);
  CHECK(world().epilogue.bias == nullptr);
  CHECK(world().epilogue.scale_a == values.scale_a);
  values.bias = nullptr;
  CHECK(run_with(values) == TILEPOST_OK);
}

TEST_CASE_METHOD(Operation, "a structure of another size is refused") {
  create();
  tilepost_run_operands_t values = operands();
  for (const size_t size : {size_t{96}, size_t{108}, size_t{116}, size_t{152}}) {
    values.struct_size = size;
    CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Contains("operands.struct_size is " + std::to_string(size) + ", expected 144"));
  }
  CHECK(tilepost_op_run_with(setup.op, nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("operands is null"));
}
