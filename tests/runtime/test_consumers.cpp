// What follows the collectives: which consumer runs when, over what.
#include "tests/catch.h"
#include "tests/runtime/fixture.h"

using Catch::Contains;
using fakes::world;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;
using sample::Setup;

TEST_CASE_METHOD(Operation, "a norm follows the last collective, wherever the rows lie") {
  program.plan.consumer = GENERATE(TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM);
  const bool residual = program.plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  std::string expected;
  SECTION("AllReduce, panel") {
    program.finish();
    expected = "norm own0 512x256 tile_n 256 slots no";
  }
  SECTION("AllReduce, slots") {
    program.use_tiles(program.plan.consumer);
    expected = "norm own0 512x256 tile_n 128 slots yes";
  }
  SECTION("ReduceScatter, panel") {
    program.plan.map.m = 301;
    program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_SHARES, {2});
    expected = "norm own0 150x256 tile_n 256 slots no";
  }
  SECTION("ReduceScatter, slabs") {
    program.plan.map.m = 301;
    program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_COLUMNS, {2}, TILEPOST_TILE);
    expected = "norm own0 150x256 tile_n 128 slots no";
  }
  create();
  run_logged();
  const Lines lines = enqueued();
  CHECK(lines[lines.size() - 3] == expected + " residual " + (residual ? "yes" : "no"));
  CHECK(sample::count_calls("norm ") == 1);
  tilepost_run_operands_t values = operands();
  values.norm_weight = nullptr;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Operation, "slabs are as high as a full share, also where rows are fewer") {
  program.plan.map.m = 301;
  program.plan.consumer = TILEPOST_CONSUMER_UNPERMUTE;
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_COLUMNS, {2}, TILEPOST_TILE);
  create();
  run_logged();
  CHECK(sample::count_calls("unpermute_slabs own0 columns 0..2 height 151 rows 0 150") == 1);
}

TEST_CASE_METHOD(Operation, "with two lanes a norm waits for both") {
  program.plan.comm_lanes = 2;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  program.finish();
  create();
  run_logged();
  const Lines lines = enqueued();
  REQUIRE(lines.size() > 5);
  const Lines tail(lines.end() - 5, lines.end());
  CHECK(tail == Lines{"cudaEventRecord own1", "cudaStreamWaitEvent own0",
                      "norm own0 512x256 tile_n 256 slots no residual no", "cudaEventRecord own0",
                      "cudaStreamWaitEvent user"});
}

TEST_CASE_METHOD(Operation, "a rank without rows has nothing to normalise") {
  program.plan.map.m = 1;
  program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_SHARES, {1});
  create(0, 1);
  run_logged();
  CHECK(sample::count_calls("reducescatter") == 1);
  CHECK(sample::count_calls("norm ") == 0);
  CHECK(world().copies.empty());
}

TEST_CASE_METHOD(Operation, "consumers where there is nothing to consume are refused") {
  SECTION("row-major rows are in place") {
    program.plan.consumer = TILEPOST_CONSUMER_UNPERMUTE;
  }
  SECTION("routed rows are not normalised") {
    program.plan.consumer = TILEPOST_CONSUMER_RMS_NORM;
    program.use(TILEPOST_GEMM_ALL_TO_ALL, 2, TILEPOST_DIVISION_SHARES, {1, 2});
  }
  CHECK(setup.create(program) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("incomplete; regenerate it"));
}
