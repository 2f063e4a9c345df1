// What follows the collectives: which consumer runs when and on which rows; and that consumers look
// for rows (tilepost/device/rows.cuh) where tiles are stored and steps move them.
#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tilepost/device/rows.cuh"

using namespace tilepost;
using Catch::Contains;
using fakes::world;
using sample::enqueued;
using sample::Lines;
using sample::operands;
using sample::Program;

TEST_CASE_METHOD(Operation, "what a consumer reads and writes lies apart from the output") {
  program.plan.consumer = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  create();
  tilepost_run_operands_t values = operands();
  values.norm_residual = values.out;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("out at 0x") && Contains("overlaps norm_residual at"));
  values = operands();
  values.norm_weight = static_cast<char*>(values.norm_residual) + 512;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(),
             Contains("norm_residual at 0x") && Contains("overlaps norm_weight at"));
  values = operands();
  values.out = const_cast<void*>(values.a);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("out at 0x") && Contains("overlaps a at"));
  CHECK(run_with(operands()) == TILEPOST_OK);
}

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

TEST_CASE_METHOD(Operation, "a sum is quantised group by group, behind the group's collective") {
  program.plan.consumer = TILEPOST_CONSUMER_QUANTISE;
  program.plan.quantised = 1;
  Lines expected;
  SECTION("AllReduce, panel") {
    program.finish();
    expected = {"quantise own0 rows 0+256 tile_n 256 steps 2, 1",
                "quantise own0 rows 256+256 tile_n 256 steps 2, 1"};
  }
  SECTION("AllReduce, slots") {
    program.use_tiles(program.plan.consumer);
    expected = {"quantise own0 rows 0+512 tile_n 128 steps 2, 1"};
  }
  SECTION("ReduceScatter, panel, scales with m contiguous") {
    program.plan.map.m = 301;
    program.plan.scales_out = TILEPOST_SCALES_COLUMNS;
    program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_SHARES, {1, 2});
    expected = {"quantise own0 rows 0+128 tile_n 256 steps 1, 152",
                "quantise own0 rows 128+22 tile_n 256 steps 1, 152"};
  }
  SECTION("ReduceScatter, slabs") {
    program.plan.map.m = 301;
    program.use(TILEPOST_GEMM_REDUCE_SCATTER, 2, TILEPOST_DIVISION_COLUMNS, {2}, TILEPOST_TILE);
    expected = {"quantise own0 rows 0+150 tile_n 128 steps 2, 1"};
  }
  create();
  tilepost_run_operands_t values = operands();
  values.out_scales = nullptr;
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("out_scales is null, but the plan's output type"));
  values.out_scales = reinterpret_cast<float*>(static_cast<char*>(sample::pointer(8)) + 2);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("out_scales must be a multiple of 4 bytes"));
  values.out_scales = static_cast<float*>(values.out);
  CHECK(run_with(values) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("overlaps out_scales at"));
  run_logged();
  Lines passes;
  for (const std::string& line : enqueued())
    if (line.starts_with("quantise ")) passes.push_back(line);
  CHECK(passes == expected);
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
  CHECK_THAT(tilepost_last_error(),
             Contains("the plan's consumer is ") && Contains("; regenerate it"));
}

// Each element has a name of its own from the send buffer to the place where it is read.
namespace {

constexpr int kTile = 128;

int64_t name_of(int64_t row, int64_t column) {
  return row << 32 | column;
}

// The send buffer after the kernel has filled it tile by tile.
std::vector<int64_t> filled(const RunMap& run) {
  std::vector<int64_t> send(run.sizes.send, -1);
  for (const tilepost_tile_t& tile : run.tiles.tiles) {
    if (tile.row < 0) continue;
    for (int64_t r = 0; r < kTile && tile.m + r < run.rows; ++r)
      for (int64_t c = 0; c < kTile && tile.n + c < run.map().n; ++c)
        send[(tile.row + r) * run.shape.ldc + c] = name_of(tile.m + r, tile.n + c);
  }
  return send;
}

// Checks that `layout` finds each of `rows` rows of the product, from row `first` on.
template <class Layout>
void check_rows(const std::vector<int64_t>& product, int64_t base, const Layout& layout,
                int64_t rows, int64_t first, int64_t n) {
  for (int64_t row = 0; row < rows; ++row)
    for (int c = 0; c < n; ++c) {
      const int64_t place = base + layout.place(row, layout.column(c));
      if (place < 0 || place >= static_cast<int64_t>(product.size()) ||
          product[place] != name_of(first + row, c))
        FAIL("row " << row << " column " << c << " of " << rows << "x" << n);
    }
}

}  // namespace

TEST_CASE_METHOD(OnFakes, "slots are read where tiles are put") {
  const int64_t m = GENERATE(1, 128, 300, 513), n = GENERATE(8, 256, 300);
  Program program;
  program.plan.map.m = m;
  program.plan.map.n = n;
  program.plan.map.layout = TILEPOST_TILE;
  const int columns = static_cast<int>(n + 127) / 128;
  const int rows = static_cast<int>(m + 255) / 256 * 2;
  program.cuts = {2, rows * columns};
  if (rows * columns == 2) program.cuts = {2};
  program.finish();
  const auto run = make_run_map(program.plan, 0, m);
  const std::vector<int32_t> table = destination_rows(run->tiles);
  const std::vector<int64_t> send = filled(*run);
  check_rows(send, 0, rows::Slots<kTile, kTile>{table.data(), columns}, m, 0, n);
  check_rows(send, 0, rows::Any{table.data(), 0, kTile, kTile, columns}, m, 0, n);
}

TEST_CASE_METHOD(OnFakes, "slabs are read where a ReduceScatter puts them") {
  const int ranks = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(1, 7, 128, 300, 513), n = GENERATE(8, 256, 300);
  Program program;
  program.plan.map.m = m;
  program.plan.map.n = n;
  const int columns = static_cast<int>(n + 127) / 128;
  program.use(TILEPOST_GEMM_REDUCE_SCATTER, ranks, TILEPOST_DIVISION_COLUMNS, {columns},
              TILEPOST_TILE);
  const int64_t share = (m + ranks - 1) / ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto run = make_run_map(program.plan, rank, m);
    const std::vector<int64_t> send = filled(*run);
    std::vector<int64_t> out(columns * share * kTile, -1);
    for (const Step& step : run->steps[0])
      for (int64_t i = 0; i < step.keep; ++i)
        out[step.to + i] = send[step.from + rank * step.count + i];
    const int64_t first = std::min(rank * share, m), own = std::min(share, m - first);
    check_rows(out, 0, rows::Slabs<kTile>{share}, own, first, n);
    check_rows(out, 0, rows::Any{nullptr, share, kTile, kTile, columns}, own, first, n);
  }
}

TEST_CASE_METHOD(OnFakes, "blocks of slabs are read where an All-to-All puts them") {
  const int ranks = GENERATE(2, 3, 4);
  const int64_t m = GENERATE(2, 7, 128, 300, 513), n = GENERATE(8, 256, 300);
  Program program;
  program.plan.map.m = m;
  program.plan.map.n = n;
  const int columns = static_cast<int>(n + 127) / 128;
  program.use(TILEPOST_GEMM_ALL_TO_ALL, ranks, TILEPOST_DIVISION_COLUMNS, {columns}, TILEPOST_TILE);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto run = make_run_map(program.plan, rank, m);
    const std::vector<int64_t> send = filled(*run);  // the buffers of all ranks look alike
    std::vector<int64_t> out(run->counts.arriving(rank) * columns * kTile, -1);
    for (int source = 0; source < ranks; ++source) {
      // A source's sends to this rank come in the order of this rank's receives from it.
      const auto of_source = make_run_map(program.plan, source, m);
      std::vector<Step> sends, receives;
      for (const Step& step : of_source->steps[0])
        if (step.kind == StepKind::send && step.peer == rank) sends.push_back(step);
      for (const Step& step : run->steps[0])
        if (step.kind == StepKind::receive && step.peer == source) receives.push_back(step);
      REQUIRE(sends.size() == receives.size());
      for (size_t s = 0; s < sends.size(); ++s)
        std::copy_n(send.begin() + sends[s].from, sends[s].count, out.begin() + receives[s].to);
      const int64_t share = (m + ranks - 1) / ranks, first = std::min(rank * share, m);
      const int64_t rows = run->counts.sum(source, rank);
      CHECK(rows == std::min(share, m - first));
      check_rows(out, run->counts.before(source, rank) * columns * kTile, rows::Slabs<kTile>{rows},
                 rows, first, n);
    }
  }
}

TEST_CASE("a row-major product is one slab") {
  std::vector<int64_t> product;
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t c = 0; c < 24; ++c) product.push_back(name_of(row, c));
  check_rows(product, 0, rows::RowMajor{24}, 5, 0, 24);
  check_rows(product, 0, rows::Any{nullptr, 77, kTile, 24, 1}, 5, 0, 24);
}

TEST_CASE("vectors are loaded as they lie") {
  alignas(16) uint16_t row[16];
  for (uint16_t i = 0; i < 16; ++i) row[i] = i;
  const auto check = [&](const auto& vector, int first) {
    int at = first;
    for (const uint16_t value : vector.values) CHECK(value == at++);
  };
  const rows::RowMajor layout{16};
  check(rows::load_vector<8>(row, layout, 0, 8), 8);
  check(rows::load_vector<4>(row, layout, 0, 4), 4);
  check(rows::load_vector<2>(row, layout, 0, 14), 14);
  check(rows::load_vector<1>(row, layout, 0, 3), 3);
  rows::store(row, rows::load_vector<8>(row, layout, 0, 8));
  CHECK(row[0] == 8);
  CHECK(row[7] == 15);
}
