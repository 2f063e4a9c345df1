// Ranks as threads on the fakes, with data. Each rank has a communicator and an operation of its
// own. Kernels compute numbers that depend on the rank, and the results are compared with a
// reference. Every call is executed at once by the thread that makes it. So tests see which rank
// waits for which, and where bytes go. The order of calls (order.h) shows what may run
// concurrently.
#pragma once

#include <barrier>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/map/patterns.h"
#include "tests/runtime/bf16.h"
#include "tests/runtime/order.h"
#include "tests/runtime/sample.h"

namespace ranks {

using sample::Program;

class Ranks;

// State of the calling thread: its team, rank and run, and what continues its kernel when more
// input has come.
struct Self {
  Ranks* team = nullptr;
  int rank = 0;
  uint32_t run = 0;
  int64_t m = 0;  // rows of the run; 0: the plan's
  std::function<void()> resume;
  std::minstd_rand random;
};
Self& self();

// A way in which ranks access each other's memory.
struct Way {
  tilepost_pattern_t pattern;
  tilepost_access_t access;
  bool tasks = false;  // whether the kernel's helper warps have tasks
  tilepost_sum_t sum = TILEPOST_SUM_STAGED;
  bool neighbours = false;
  bool whole_run = false;  // whether the kernel begins and ends the run
  // A kernel that reads its own rows of A where the caller has them does not wait for the run to
  // begin.
  bool beside = false;
  bool is_fused = false;  // whether the kernel's epilogue does everything that crosses ranks

  bool gathers() const { return tilepost::row_of(pattern).moves_input(); }
  bool pushes_rows() const { return gathers() && access == TILEPOST_ACCESS_WRITE; }
};
inline std::ostream& operator<<(std::ostream& out, const Way& way) {
  out << (way.access == TILEPOST_ACCESS_READ       ? "copy_engine"
          : way.access == TILEPOST_ACCESS_MESSAGES ? "host_copies"
                                                   : "peer")
      << ", pattern " << static_cast<int>(way.pattern);
  if (way.tasks) out << ", with tasks";
  if (way.sum == TILEPOST_SUM_ADDED) out << ", added";
  if (way.neighbours) out << ", beside neighbours";
  if (way.whole_run) out << ", whole runs";
  if (way.is_fused) out << ", fused";
  if (way.beside) out << ", begun beside";
  return out;
}

// Copy engines read memory of the other ranks.
constexpr Way copies(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ};
}
// Copy engines carry messages through host memory.
constexpr Way through_host(tilepost_pattern_t pattern, bool neighbours = false) {
  return {pattern, TILEPOST_ACCESS_MESSAGES, false, TILEPOST_SUM_STAGED, neighbours};
}
// Kernels store into the others' memory. Where sums are staged, further kernels add up.
constexpr Way stores(tilepost_pattern_t pattern, tilepost_sum_t sum = TILEPOST_SUM_STAGED) {
  return {pattern, TILEPOST_ACCESS_WRITE, false, sum};
}
// The GEMM's own helper warps work: they add up what kernels have stored into the others' memory,
// or copy rows that copy engines read.
constexpr Way tasks(tilepost_pattern_t pattern) {
  return {pattern,
          tilepost::row_of(pattern).moves_input() ? TILEPOST_ACCESS_READ : TILEPOST_ACCESS_WRITE,
          true};
}
// Kernels store into the others' memory. They add up in the epilogue of their own tiles, or store
// finished tiles into the others' outputs.
constexpr Way fuses(tilepost_pattern_t pattern = TILEPOST_GEMM_REDUCE_SCATTER) {
  Way way{pattern, TILEPOST_ACCESS_WRITE};
  way.whole_run = way.is_fused = true;
  return way;
}
// Helper warps exchange products as with tasks(), but the run is the GEMM kernel alone.
constexpr Way whole(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_WRITE, true, TILEPOST_SUM_STAGED, false, true};
}
// Copy engines bring rows of A. The kernel reads its own rows where the caller has them, so it does
// not wait for the run to begin (RunPath::begins_on_comm_stream).
constexpr Way copies_beside(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ, false, TILEPOST_SUM_STAGED, false, false, true};
}
// Copy engines bring rows of A, and the kernel is launched once for each group.
constexpr Way launches(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ, false, TILEPOST_SUM_STAGED, true};
}
// Tasks push rows of A into the others' memory.
constexpr Way pushed_rows(tilepost_pattern_t pattern = TILEPOST_ALL_GATHER_GEMM) {
  return {pattern, TILEPOST_ACCESS_WRITE, true};
}

// Edits a program: tiles of 4 x 8, 24 columns, k 8, a few groups. `m`: the rows of its runs.
void use(Program& program, const Way& way, int ranks, int64_t m,
         tilepost_routing_t routing = TILEPOST_ROUTING_EVEN);
// The bytes of a helper warp whose chunks have `units` units of 16 bytes for each part.
int helper_bytes_of(int units, int parts = 1);
// The order of calls in one run of rank 1, while the other ranks do the same. The caller passes
// memory for what is gathered.
order::Order order_of_run(const Program& program, bool captured);

// What `rank` computes for an element in a run: small integers, so that sums are exact.
inline float product(uint32_t run, int rank, int64_t row, int64_t column) {
  const uint64_t mixed = (run * 7919u + rank * 104729u + row * 1299709u + column) * 2654435761u;
  return static_cast<float>(mixed >> 16 & 31);
}

// Memory of the caller's, which fakes::World knows as long as this object lives.
class Registered {
 public:
  // Its allocation has room for `more` elements behind it.
  Registered(int device, size_t elements, size_t more = 0);
  // Memory behind `before`, in the same allocation.
  Registered(const Registered& before, size_t elements);
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered();

  // The first byte, which is somewhat behind the beginning of the allocation.
  uint16_t* data() { return memory_->data() + first_; }
  int64_t bytes() const { return static_cast<int64_t>(elements_ * 2); }
  const void* allocation() const { return memory_->data(); }
  // Frees the allocation as cudaFree does. With `replaced` another allocation then takes its place.
  void free(bool replaced = false);

 private:
  std::shared_ptr<std::vector<uint16_t>> memory_;  // the allocation
  size_t first_, elements_;
};

struct Rank {
  sample::Setup setup;
  CUstream_st* user = nullptr;
  std::vector<uint16_t> a, out, gathered;
  uint16_t* lent = nullptr;   // tilepost_op_info_t::out, the output of every other run
  uint16_t* found = nullptr;  // the output of the last run
  // Registered buffers of this rank, in the order of registration. Two runs of three use them in
  // turn.
  std::vector<std::unique_ptr<Registered>> registered;
  tilepost_result_t result = TILEPOST_OK;
  std::string text;
  int64_t wrong = 0;  // wrong elements so far
  int64_t normalised = 0;
};

// All ranks of one program. Catch's macros work on the main thread only, so results are kept here.
class Ranks {
 public:
  Ranks(Program& program, int count, double deadline_seconds = 5);
  // Makes operations on the communicators of `first`, which must be destroyed after these.
  Ranks(Program& program, Ranks& first);

  bool shares = false;  // tilepost_options_t::share_memory
  // Whether ranks find each other by a function of theirs (tilepost_comm_init_with).
  bool gathers = false;
  // Where a program has several plans, each for a range of m: the programs with the other plans, in
  // descending order of m.
  std::vector<const Program*> fewer;
  // on_start changes the operands of every run. on_found checks the output of a consumer, given the
  // right `sums`, and returns how many elements are wrong.
  std::function<void(int rank, tilepost_run_operands_t&)> on_start;
  std::function<int64_t(int rank, const uint16_t* out, const std::vector<float>& sums)> on_found;

  // Gathers the bytes of all ranks (tilepost_all_gather_t). `user` is the Ranks.
  static int gather(const void* own, void* all, size_t bytes, void* user);

  // Calls body(rank, its state) on one thread per rank.
  void on_all(const std::function<void(int, Rank&)>& body);
  void create();
  void destroy();
  // register_output registers `buffers` more buffers on every rank, in one allocation, for outputs
  // of m rows. unregister_outputs undoes all registrations.
  void register_output(int64_t m, size_t buffers = 1);
  void unregister_outputs();
  // Makes `times` runs on every rank, with m rows (0: the plan's), and checks every element. A rank
  // may be up to a run ahead of another. Every other run uses the lent output, if there is one.
  void run(int times, int64_t m = 0);
  // Makes one captured run, checked as in run(). The fakes execute captured work at once.
  void run_captured(int64_t m = 0);
  // Makes seven runs, some eager and some captured.
  void run_mixed();
  // Makes a run of each operation in `turns`, one after the other, each on its own stream. A rank
  // looks at the output of a run after a while. A rank may be several runs ahead of another.
  struct Turn {
    Ranks* team;
    bool captured = false;
    int64_t m = 0;
  };
  static void take_turns(const std::vector<Turn>& turns);
  // Makes runs without checking the output.
  void run_unchecked(int times, int64_t m);
  // Makes one run on all ranks except `absent`, and waits until it ends.
  void run_but(int absent);
  // Sets a route drawn from `seed`, which differs between ranks.
  void route(uint32_t seed);

  tilepost_result_t start(Rank& rank, int64_t m);
  bool all_ok() const;
  int64_t wrong() const;
  int64_t normalised() const;
  // Whether `rows` rows at `found` are the product of some rank in the last run.
  bool is_product(const void* found, int64_t rows) const;
  std::string text() const;
  Rank& at(int rank) { return *ranks_[rank]; }
  int count() const { return static_cast<int>(ranks_.size()); }

 private:
  // The program whose kernel serves a run of m rows.
  const Program& program_of(int64_t m) const {
    const Program* found = &program_;
    for (const Program* program : fewer)
      if (m > 0 && m <= tilepost::rows_of_runs(program->plan)) found = program;
    return *found;
  }
  void make_ranks();
  void run_turn(int rank, const Turn& turn);
  void run_once(int rank, Rank& mine, int64_t m);
  void fill_a(int rank, Rank& mine, int64_t m) const;
  uint16_t* choose_out(Rank& mine) const;
  // The rows of A that `rank` multiplies.
  std::vector<float> gathered(int rank, int64_t m) const;
  // The right value of every element of the output on `rank`. `m`: the rows of the run.
  std::vector<float> expected(int rank, int64_t m) const;
  std::vector<float> routed(int rank, int64_t m, int64_t columns) const;
  float sum(int64_t row, int64_t column) const;
  void see_norm(const void* x, int rows, int n);
  void exchange(const int64_t* from, int64_t* to, size_t count);
  void compare(Rank& mine, const uint16_t* found, const std::vector<float>& wanted) const;

  Program& program_;
  const double deadline_seconds_;
  Ranks* const first_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::barrier<> meet_;
  std::vector<std::vector<int64_t>> numbers_;
  std::vector<std::vector<char>> bytes_;            // what ranks gather, by rank
  std::vector<std::vector<int32_t>> destinations_;  // indexed by source and row
  uint32_t runs_ = 0;
  bool checks_ = true;
};

}  // namespace ranks
