// Programs on the host target made by hand, their operations, and a GEMM + AllReduce from the plan
// to the comparison, for the tests of this folder. pattern.h has the data of the other patterns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"
#include "tests/host/hand_woven.h"
#include "tests/host/reference.h"
#include "tilepost/tilepost.h"

// The problem to run. Tiles are kTileM x kTileN.
struct Problem {
  static constexpr int kTileM = 16, kTileN = 8;

  int64_t m = 64, n = 64, k = 32;
  int ranks = 2;
  tilepost_pattern_t pattern = TILEPOST_GEMM_ALL_REDUCE;
  tilepost_routing_t routing = TILEPOST_ROUTING_EVEN;
  bool any_m = false;
  tilepost_dtype_t type = TILEPOST_BF16;
  tilepost_layout_t layout = TILEPOST_PANEL;
  tilepost_consumer_t consumer = TILEPOST_CONSUMER_NONE;
  tilepost_transport_t transport = TILEPOST_TRANSPORT_HOST;
  tilepost_access_t access = TILEPOST_ACCESS_MESSAGES;
  tilepost_sum_t sum = TILEPOST_SUM_STAGED;
  tilepost_shots_t shots = TILEPOST_SHOTS_NONE;  // for TILEPOST_ACCESS_TILES
  bool pushes = false;
  bool neighbours = false;
  int stagger = 0;
  int cluster = 1;
  int band = 2;
  int64_t most_received = 0;  // the most routed rows of A that a rank may get; 0: all ranks' rows
  // At most; there are fewer where there is less to divide, and one without overlap.
  int groups = 3;
  hand_woven::Fault fault = hand_woven::Fault::none;

  const tilepost::PatternRow& row() const { return tilepost::row_of(pattern); }
  // The most rows that a rank multiplies.
  int64_t most_rows() const {
    if (!row().input_is_routed()) return m;
    if (!routed()) return (m + ranks - 1) / ranks * ranks;
    return most_received > 0 ? most_received : m * ranks;
  }
  // Whether runs wait for a route.
  bool routed() const { return row().routes() && routing != TILEPOST_ROUTING_EVEN; }
};

// A program with one host plan, and everything that it points to.
class Program {
 public:
  explicit Program(const Problem& problem);
  Program(const Program&) = delete;

  const tilepost_program_t& get() const { return program_; }
  tilepost_program_t& edit() { return program_; }
  tilepost_plan_t& plan() { return plan_; }
  std::vector<tilepost_group_t>& groups() { return map_.groups; }
  std::vector<int32_t>& cuts() { return cuts_; }
  const tilepost::TileMap& map() const { return map_; }

 private:
  std::vector<int32_t> cuts_;
  tilepost::TileMap map_;
  tilepost_plan_t plan_{};
  tilepost_program_t program_{};
};

// The communicators of all ranks. The destructor destroys those that are left.
class Comms {
 public:
  explicit Comms(int world);
  ~Comms();
  Comms(const Comms&) = delete;
  tilepost_comm_t operator[](int rank) const { return comms_[rank]; }

 private:
  std::vector<tilepost_comm_t> comms_;
};

// One operation for each rank. Creating them must succeed.
class Ops {
 public:
  Ops(const Comms& comms, const tilepost_program_t& program, int ranks, double deadline = 60,
      int workers = 2, bool share = false);
  ~Ops();
  Ops(const Ops&) = delete;
  tilepost_op_t operator[](int rank) const { return ops_[rank]; }

 private:
  std::vector<tilepost_op_t> ops_;
};

// The data of one run on all ranks, and the right output.
struct Data {
  Data(const Problem& problem, bool integers, std::mt19937_64& random);

  // Posts the run on all ranks, or on one.
  void run(const Ops& ops);
  tilepost_result_t run(const Ops& ops, int rank);
  // Describes what is wrong with the outputs, or returns "". `program` gives the place of every
  // element.
  std::string compare(const Program& program) const;

  Problem problem;
  std::vector<reference::Matrix> a, b, out;
  reference::Matrix expected;
};

// Creates an operation, makes one run on every rank, synchronises and compares. Returns "" if all
// is well, or else the error of the call that failed or the first wrong element.
std::string run_and_compare(const Problem& problem, bool integers, uint64_t seed,
                            double deadline = 60);
