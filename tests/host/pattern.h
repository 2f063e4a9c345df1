// One run of any pattern on all ranks: random operands, a route where the plan takes one, the
// expected output of every rank, and what is wrong with the one there is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/host/problem.h"

// How rows are spread over the ranks, where a route says it.
enum class Spread { random, all_to_one, some_empty };

// The next multiple of 16 bytes in a vector that is long enough.
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(const reference::Matrix& values);
  uint16_t* data() { return memory_.data() + skip_; }
  const uint16_t* data() const { return memory_.data() + skip_; }
  size_t size() const { return size_; }

 private:
  reference::Matrix memory_;
  size_t skip_ = 0, size_ = 0;
};

class PatternRun {
 public:
  // m rows of all ranks (all_gather_gemm) or of each; of routed plans for any m at most as many,
  // and of rows of A no more than their ranks have room for.
  PatternRun(const Problem& problem, int64_t m, Spread spread, bool integers,
             std::mt19937_64& random);
  PatternRun(const PatternRun&) = delete;

  // "" or the first error of a rank.
  std::string route(const Ops& ops);
  // Routes one rank, whose thread calls it. Gives `wrong` what is wrong with the arrivals, or "".
  tilepost_result_t route(tilepost_op_t op, int rank, std::string& wrong) const;
  std::string start(const Ops& ops);
  // From here on the output is made in the operation's own memory, where it lends some; only one
  // run at a time then.
  void use_lent() { uses_lent_ = true; }
  // From here on an operand of which a rank reads and writes no row is null.
  void use_nulls() { uses_nulls_ = true; }
  // A rank's own output, and the bytes of it that a run writes.
  uint16_t* out(int rank) { return ranks_[rank].out.data(); }
  int64_t out_bytes(int rank) const { return out_rows(rank) * problem_.n * 2; }
  // From here on the output is made in these, a rank's each, which have room for it.
  void use_outs(std::vector<uint16_t*> outs) { outs_ = std::move(outs); }
  tilepost_result_t start(const Ops& ops, int rank) { return start(ops[rank], rank); }
  tilepost_result_t start(tilepost_op_t op, int rank);

  // After the run: "" or the first wrong element of out, of what was kept or gathered, or what was
  // overwritten beside them.
  std::string compare() const;
  std::string compare(int rank) const;

 private:
  struct Rank {
    int64_t rows = 0;                   // of its product
    std::vector<int32_t> destinations;  // of the rows that are routed
    std::vector<int64_t> splits;
    Aligned a, b, out, weight, residual, gathered;
    bool gathers = false;             // asks for `gathered`
    bool in_place = false;            // and has its own rows there already
    const uint16_t* found = nullptr;  // where the run has left its output
    reference::Matrix input;          // the rows of A that it multiplies
    reference::Matrix expected;       // [out rows][n]
    std::vector<int64_t> rows_from;   // of the rows that are routed here
    reference::Matrix kept;           // residual_rms_norm: the expected sums

    // Rows that it brings, where rows are routed.
    int64_t brought() const { return static_cast<int64_t>(destinations.size()); }
  };

  void make_operands(bool integers, std::mt19937_64& random);
  void make_destinations(Spread spread, std::mt19937_64& random);
  void land_rows();
  void expect_products(bool integers);
  reference::Matrix rows_for(int rank, const std::vector<reference::Matrix>& sources,
                             int64_t width) const;
  void keep_residual();
  std::string compare_arrivals(int rank, const tilepost_arrivals_t& arrivals) const;
  std::string compare_rank(int rank) const;
  std::string compare_norm(int rank) const;
  std::string compare_beside(int rank) const;

  int64_t share() const { return (m_ + problem_.ranks - 1) / problem_.ranks; }
  int64_t own_begin(int rank) const { return std::min(share() * rank, m_); }
  int64_t own_rows(int rank) const { return std::min(share() * (rank + 1), m_) - own_begin(rank); }
  int64_t out_rows(int rank) const {
    return static_cast<int64_t>(ranks_[rank].expected.size()) / problem_.n;
  }
  int64_t a_rows(int rank) const;
  void drop_unused(int rank, tilepost_run_operands_t& operands) const;
  bool routed() const { return problem_.routed(); }
  bool normalises() const;
  // Where a run leaves element (row, col) of a rank's output (docs/runtime.md).
  int64_t place_of(int rank, int64_t row, int64_t col) const;

  const Problem problem_;
  const int64_t m_;
  bool uses_lent_ = false, uses_nulls_ = false;
  std::vector<uint16_t*> outs_;  // by rank; empty: their own
  std::vector<Rank> ranks_;
};
