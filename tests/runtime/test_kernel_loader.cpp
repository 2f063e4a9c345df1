// Kernels that were compiled apart from the program: loaded and unloaded, and run by an operation.
#include "tests/runtime/fake_libraries.h"
#include "tests/runtime/fixture.h"
#include "tilepost/program.h"

using Catch::Contains;

namespace {

const tilepost_kernel_loader_t& loader() {
  return *tilepost_cuda_kernel_loader();
}

// Loads an image. Nothing stays loaded after a failure.
struct Load {
  explicit Load(const fakes::Image& image)
      : result(loader().load(&image, sizeof image, "a.cubin", &function, &module)) {
    if (result != TILEPOST_OK) CHECK(fakes::live_libraries() == 0);
  }

  const void* function = nullptr;
  void* module = nullptr;
  tilepost_result_t result;
};

}  // namespace

TEST_CASE_METHOD(Operation, "loader: an operation runs a loaded kernel") {
  CHECK(loader().struct_size == sizeof(tilepost_kernel_loader_t));
  const Load load(fakes::Image{});
  REQUIRE(load.result == TILEPOST_OK);
  CHECK(fakes::live_libraries() == 1);
  REQUIRE(load.function != nullptr);
  program.plan.kernel.function = load.function;
  create();
  CHECK(run() == TILEPOST_OK);
  CHECK(tilepost_op_synchronize(setup.op) == TILEPOST_OK);
  release();
  loader().unload(load.module);
  CHECK(fakes::live_libraries() == 0);
}

TEST_CASE_METHOD(OnFakes, "loader: a kernel comes and goes while streams are captured") {
  const int before = fakes::unsafe_calls();
  const Load load(fakes::Image{});
  REQUIRE(load.result == TILEPOST_OK);
  loader().unload(load.module);
  CHECK(fakes::unsafe_calls() == before);
  CHECK(fakes::capture_mode() == cudaStreamCaptureModeGlobal);
}

TEST_CASE_METHOD(OnFakes, "loader: an image has one kernel") {
  for (const unsigned kernels : {0u, 2u}) {
    fakes::Image image;
    image.kernels = kernels;
    CHECK(Load(image).result == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Contains("'a.cubin' has " + std::to_string(kernels) + " kernels, expected one"));
  }
}

TEST_CASE_METHOD(OnFakes, "loader: what is no image is CUDA's error") {
  fakes::Image image;
  image.magic = 1;
  CHECK(Load(image).result == TILEPOST_CUDA_ERROR);
  CHECK_THAT(tilepost_last_error(), Contains("cudaLibraryLoadData"));
}

TEST_CASE_METHOD(OnFakes, "loader: every call may fail") {
  constexpr int kCalls = 3;
  for (int call = 1; call <= kCalls; ++call) {
    fakes::world().reset_calls();
    fakes::world().fail_at = call;
    CHECK(Load(fakes::Image{}).result == TILEPOST_CUDA_ERROR);
  }
  fakes::world().reset_calls();
  fakes::world().fail_at = kCalls + 1;
  const Load load(fakes::Image{});
  REQUIRE(load.result == TILEPOST_OK);
  loader().unload(load.module);
}
