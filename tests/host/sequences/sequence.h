// A random sequence of calls of the C interface on the host target, chosen by a seed. Ranks are
// threads. Each makes calls of its own between the calls that all ranks make.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/host/variants.h"

// What may go wrong with one rank, from some step on.
enum class Mishap {
  none,         // every call must succeed
  late,         // the rank comes later than the others' deadline
  leaves,       // it makes no further call
  lets_go,      // it destroys an operation that the others go on to use
  swaps,        // it makes two calls in the other order
  other_rows,   // it runs with another number of rows
  lost_signal,  // its kernel leaves a tile unannounced
  hurry,        // nothing goes wrong, but deadlines are short
};
constexpr int kMishaps = 8;

class Sequence {
 public:
  explicit Sequence(uint64_t seed);
  ~Sequence();
  Sequence(const Sequence&) = delete;

  // Plays the sequence once. Returns "", or what a call wrongly returned or left. Outputs of runs
  // that have succeeded are compared with the reference's.
  std::string play();
  std::string describe() const;
  // How many outputs were compared, over all ranks.
  int compared() const { return compared_; }

 private:
  enum class Kind { create, route, registers, run, unregisters, destroy, sleep };
  struct Step {
    Kind kind;
    size_t op;
    PatternRun* data = nullptr;
    int64_t rows = 0;  // of the run
  };
  struct Operation {
    Problem problem;
    std::unique_ptr<Program> program, faulty;  // `faulty`: for the rank with a mishap
  };
  struct Rank {
    tilepost_comm_t comm = nullptr;
    std::vector<Step> script;
    std::vector<tilepost_op_t> ops;                 // null: the operation does not exist now
    std::vector<std::vector<PatternRun*>> running;  // for each operation the runs not yet compared
    std::vector<bool> routed;                       // for each operation whether it has a route
    double deadline = 60;
    std::mt19937_64 random;
    std::string wrong;  // the first fault
  };

  uint64_t draw(uint64_t below) { return random_() % below; }
  void add_operation();
  void write_script();
  void add_run(size_t op);
  PatternRun* make_data(size_t op, int64_t m);
  void befall();
  bool suits(const Step& step) const;

  void play_rank(int rank);
  void take_step(int rank, const Step& step);
  void create(int rank, size_t op);
  void destroy(int rank, size_t op);
  void synchronize(int rank, size_t op);
  void look_around(int rank);
  void call_wrongly(int rank);
  void call_wrongly(int rank, size_t op);
  void create_wrongly(int rank);
  void destroy_all(int rank);
  bool may_fail() const { return mishap_ != Mishap::none; }
  // Notes the result of `call`, unless it is OK or a failure that the mishap explains.
  bool check(int rank, const char* call, tilepost_result_t result);
  void check_refused(int rank, const char* call, tilepost_result_t result);
  void note(int rank, const std::string& wrong);

  std::mt19937_64 random_;
  const int world_;
  const Mishap mishap_;
  int victim_ = 0;
  // Every rank destroys its own operations; otherwise one thread destroys all.
  bool destroys_at_home_ = true;
  std::deque<Operation> operations_;
  std::deque<PatternRun> data_;
  std::vector<Step> script_;
  std::vector<Rank> ranks_;
  std::atomic<int> compared_{0};
};
