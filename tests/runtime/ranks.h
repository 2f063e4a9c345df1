// Ranks as threads against the fakes, with data: each has a communicator and an operation of its
// own, kernels compute numbers that say whose they are, and what comes out is compared with what
// should. Everything is done at once by the thread that asks for it, so it is seen which rank waits
// for which and where bytes go; what runs beside what, the order of calls says (order.h).
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

// The calling thread's rank and run, whose they are, and its kernel that has not found all its
// input yet.
struct Self {
  Ranks* team = nullptr;
  int rank = 0;
  uint32_t run = 0;
  int64_t m = 0;  // of the run; 0: the plan's
  std::function<void()> resume;
  std::minstd_rand random;
};
Self& self();

// A way for ranks to touch each other's memory.
struct Way {
  tilepost_pattern_t pattern;
  tilepost_access_t access;
  bool tasks = false;  // for the kernel's helper warps
  tilepost_sum_t sum = TILEPOST_SUM_STAGED;
  bool neighbours = false;
  bool whole_run = false;  // the kernel begins and ends the run
  bool beside = false;     // a kernel that reads its own rows of A where they are does not wait for
                           // the run to begin
  bool is_fused = false;   // the kernel's epilogue does all that crosses ranks

  bool gathers() const { return tilepost::row_of(pattern).moves_input(); }
  bool pushes_rows() const { return gathers() && access == TILEPOST_ACCESS_WRITE; }
};
inline std::ostream& operator<<(std::ostream& out, const Way& way) {
  out << (way.access == TILEPOST_ACCESS_READ ? "copy_engine" : "peer") << ", pattern "
      << static_cast<int>(way.pattern);
  if (way.tasks) out << ", with tasks";
  if (way.sum == TILEPOST_SUM_ADDED) out << ", added";
  if (way.neighbours) out << ", beside neighbours";
  if (way.whole_run) out << ", whole runs";
  if (way.is_fused) out << ", fused";
  if (way.beside) out << ", begun beside";
  return out;
}

// Copy engines read what the others have.
constexpr Way copies(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ};
}
// Kernels store into the others' memory; kernels behind them add up, or nothing does.
constexpr Way stores(tilepost_pattern_t pattern, tilepost_sum_t sum = TILEPOST_SUM_STAGED) {
  return {pattern, TILEPOST_ACCESS_WRITE, false, sum};
}
// Kernels store into the others' memory and add up themselves, or copy what copy engines read.
constexpr Way tasks(tilepost_pattern_t pattern) {
  return {pattern,
          tilepost::row_of(pattern).moves_input() ? TILEPOST_ACCESS_READ : TILEPOST_ACCESS_WRITE,
          true};
}
// Kernels store into the others' memory and add up in the epilogue of their own tiles, or store
// finished tiles into the others' outputs.
constexpr Way fuses(tilepost_pattern_t pattern = TILEPOST_GEMM_REDUCE_SCATTER) {
  Way way{pattern, TILEPOST_ACCESS_WRITE};
  way.whole_run = way.is_fused = true;
  return way;
}
// Products as tasks do them, with no kernel before them or after.
constexpr Way whole(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_WRITE, true, TILEPOST_SUM_STAGED, false, true};
}
// Copy engines bring rows of A, and the run begins beside the kernel.
constexpr Way copies_beside(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ, false, TILEPOST_SUM_STAGED, false, false, true};
}
// Copy engines bring rows of A, and the kernel is launched for each group of them.
constexpr Way launches(tilepost_pattern_t pattern) {
  return {pattern, TILEPOST_ACCESS_READ, false, TILEPOST_SUM_STAGED, true};
}
// Rows of A that tasks push into the others' memory.
constexpr Way pushed_rows(tilepost_pattern_t pattern = TILEPOST_ALL_GATHER_GEMM) {
  return {pattern, TILEPOST_ACCESS_WRITE, true};
}

// Edits a program: tiles of 4 x 8, 24 columns, k 8, a few groups. `m`: of its runs.
void use(Program& program, const Way& way, int ranks, int64_t m,
         tilepost_routing_t routing = TILEPOST_ROUTING_EVEN);
// A helper warp whose chunks are of `units` of 16 bytes for each part.
int helper_bytes_of(int units, int parts = 1);
// One run of rank 1, the others doing as it does; the caller takes what is gathered.
order::Order order_of_run(const Program& program, bool captured);

// What `rank` computes for an element in a run: small integers, so that sums are exact.
inline float product(uint32_t run, int rank, int64_t row, int64_t column) {
  const uint64_t mixed = (run * 7919u + rank * 104729u + row * 1299709u + column) * 2654435761u;
  return static_cast<float>(mixed >> 16 & 31);
}

// Memory of the caller's that fakes::World knows as long as this lives.
class Registered {
 public:
  // Room for `more` elements is behind it in its allocation.
  Registered(int device, size_t elements, size_t more = 0);
  // Behind another one, in the same allocation.
  Registered(const Registered& before, size_t elements);
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered();

  // It begins somewhat behind its allocation.
  uint16_t* data() { return memory_->data() + first_; }
  int64_t bytes() const { return static_cast<int64_t>(elements_ * 2); }
  const void* allocation() const { return memory_->data(); }
  // As cudaFree does; and then another one takes its place, if asked.
  void free(bool replaced = false);

 private:
  std::shared_ptr<std::vector<uint16_t>> memory_;  // the allocation
  size_t first_, elements_;
};

struct Rank {
  sample::Setup setup;
  CUstream_st* user = nullptr;
  std::vector<uint16_t> a, out, gathered;
  uint16_t* lent = nullptr;   // tilepost_op_info_t::out, the out of every other run
  uint16_t* found = nullptr;  // the out of the last run
  // Buffers of this rank's, by registration: the outs of two runs of three, in turn.
  std::vector<std::unique_ptr<Registered>> registered;
  tilepost_result_t result = TILEPOST_OK;
  std::string text;
  int64_t wrong = 0;  // elements so far
  int64_t normalised = 0;
};

// All ranks of one program. Catch's macros are for the main thread only, so results are kept.
class Ranks {
 public:
  Ranks(Program& program, int count, double deadline_seconds = 5);
  // Operations on the communicators of `first`, which outlive them.
  Ranks(Program& program, Ranks& first);

  bool shares = false;  // tilepost_options_t::share_memory
  // The programs with the other plans of a program whose plans each serve a range of m. They are
  // for fewer and fewer rows.
  std::vector<const Program*> fewer;
  // on_start changes the operands of every run. on_found looks at what a consumer has made of
  // `sums`, and says how many elements are wrong.
  std::function<void(int rank, tilepost_run_operands_t&)> on_start;
  std::function<int64_t(int rank, const uint16_t* out, const std::vector<float>& sums)> on_found;

  // Runs body(rank, its state) on a thread per rank.
  void on_all(const std::function<void(int, Rank&)>& body);
  void create();
  void destroy();
  // Registers so many more buffers on every rank, in one allocation, for outputs of m rows; undoes
  // all.
  void register_output(int64_t m, size_t buffers = 1);
  void unregister_outputs();
  // Runs `times` on every rank, with m rows (0: the plan's), and checks every element. A rank may
  // be up to a run ahead of another. Every other run has the operation's memory for its output, if
  // there is such.
  void run(int times, int64_t m = 0);
  // As run(), once and captured: the fakes carry out what is captured, as a replay would.
  void run_captured(int64_t m = 0);
  // Seven runs, eager and captured ones.
  void run_mixed();
  // A run of every operation that is named, one behind the other, on the stream of each; what ranks
  // get out of a run they look at after a while. A rank may be ahead of another by runs.
  struct Turn {
    Ranks* team;
    bool captured = false;
    int64_t m = 0;
  };
  static void take_turns(const std::vector<Turn>& turns);
  // Does not look at what comes out.
  void run_unchecked(int times, int64_t m);
  // One run on all ranks but this one; waits for how it ends.
  void run_but(int absent);
  // A route that differs by rank, drawn from `seed`.
  void route(uint32_t seed);

  tilepost_result_t start(Rank& rank, int64_t m);
  bool all_ok() const;
  int64_t wrong() const;
  int64_t normalised() const;
  // Whether `rows` rows at `found` are what some rank has computed in the last run.
  bool is_product(const void* found, int64_t rows) const;
  std::string text() const;
  Rank& at(int rank) { return *ranks_[rank]; }
  int count() const { return static_cast<int>(ranks_.size()); }

 private:
  // Whose kernel a run of m rows is.
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
  // The rows of A that `rank` is to multiply.
  std::vector<float> gathered(int rank, int64_t m) const;
  // By element of out on `rank`: what it has to be. `m`: of the run.
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
  std::vector<std::vector<int32_t>> destinations_;  // by source and row
  uint32_t runs_ = 0;
  bool checks_ = true;
};

}  // namespace ranks
