// Generated programs, with the kernel that the weaver makes of templates/gemm_host.cpp, against the
// reference bit by bit: both layouts, both types, 2 to 8 ranks, ragged shapes.
#include "tests/catch.h"
#include "tests/host/problem.h"
#include "woven_programs.h"  // written by CMakeLists.txt: kWovenPrograms

namespace {

// The place of element (row, col) in the result of a run.
int64_t place_of(const tilepost_op_info_t& info, int64_t row, int64_t col) {
  const tilepost_map_t& map = info.plan->map;
  if (info.rows == nullptr) return row * map.n + col;
  const int64_t tile = row / map.tile_m * tilepost::tiles_n(map) + col / map.tile_n;
  return (info.rows[tile] + row % map.tile_m) * map.tile_n + col % map.tile_n;
}

int count_wrong(const Ops& ops, const Data& data) {
  int wrong = 0;
  for (int rank = 0; rank < data.problem.ranks; ++rank) {
    tilepost_op_info_t info{};
    REQUIRE(tilepost_op_get_info(ops[rank], &info) == TILEPOST_OK);
    REQUIRE(info.out_elements <= static_cast<int64_t>(data.out[rank].size()));
    for (int64_t row = 0; row < data.problem.m; ++row)
      for (int64_t col = 0; col < data.problem.n; ++col)
        wrong +=
            data.out[rank][place_of(info, row, col)] != data.expected[row * data.problem.n + col];
  }
  return wrong;
}

// What every rank's output is after a run with random data, with a residual that lies apart or in
// the output's place.
std::vector<reference::Matrix> outputs(const tilepost_program_t& program, bool in_place) {
  const tilepost_plan_t& plan = program.plans[0];
  const Comms comms(plan.ranks);
  const Ops ops(comms, program, plan.ranks);
  std::mt19937_64 random(29);
  const int64_t rows = plan.map.m * plan.ranks;  // of each operand at most
  const auto matrix = [&](int64_t columns) {
    return reference::random_matrix(plan.input, rows, columns, false, random);
  };
  std::vector<reference::Matrix> a, b, out, residual;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    a.push_back(matrix(plan.k)), b.push_back(matrix(plan.k));
    residual.push_back(matrix(plan.map.n)), out.push_back(residual.back());
  }
  for (int rank = 0; rank < plan.ranks; ++rank) {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = a[rank].data();
    operands.b = b[rank].data();
    operands.out = out[rank].data();
    operands.residual = in_place ? out[rank].data() : residual[rank].data();
    operands.m = TILEPOST_PLANNED_M;
    REQUIRE(tilepost_op_run_with(ops[rank], &operands, nullptr) == TILEPOST_OK);
  }
  for (int rank = 0; rank < plan.ranks; ++rank)
    REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
  return out;
}

}  // namespace

TEST_CASE("an output in the residual's place is as one that lies apart") {
  for (const auto make_program : kInPlacePrograms) {
    const tilepost_program_t& program = *make_program();
    INFO(program.name);
    CHECK(outputs(program, true) == outputs(program, false));
  }
}

TEST_CASE("generated programs agree with the reference bit by bit") {
  std::mt19937_64 random(13);
  for (const auto make_program : kWovenPrograms) {
    const tilepost_program_t& program = *make_program();
    const tilepost_plan_t& plan = program.plans[0];
    INFO(program.name << ": m " << plan.map.m << " n " << plan.map.n << " k " << plan.k);
    Problem problem;
    problem.m = plan.map.m;
    problem.n = plan.map.n;
    problem.k = plan.k;
    problem.ranks = plan.ranks;
    problem.type = plan.input;
    const Comms comms(plan.ranks);
    const Ops ops(comms, program, plan.ranks);
    for (int run = 0; run < 3; ++run) {
      Data data(problem, run == 0, random);
      const int64_t tiles = int64_t{tilepost::tiles_m(plan.map)} * tilepost::tiles_n(plan.map);
      for (auto& out : data.out) out.resize(tiles * plan.map.tile_m * plan.map.tile_n, 0x4321);
      data.run(ops);
      for (int rank = 0; rank < plan.ranks; ++rank)
        REQUIRE(tilepost_op_synchronize(ops[rank]) == TILEPOST_OK);
      REQUIRE(count_wrong(ops, data) == 0);
    }
  }
}
