// One run of any pattern on all ranks: random operands, a route where the plan takes one, the right
// output of every rank, and a comparison with the output of the run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/host/problem.h"

// How a route spreads rows over the ranks.
enum class Spread { random, all_to_one, some_empty };

// A vector whose data begins at a multiple of 16 bytes.
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
  // A run with m rows of all ranks together (all_gather_gemm), or of each rank. In routed plans for
  // any m a rank may have fewer rows, and routed rows of A are no more than ranks have room for.
  PatternRun(const Problem& problem, int64_t m, Spread spread, bool integers,
             std::mt19937_64& random);
  PatternRun(const PatternRun&) = delete;

  // Routes all ranks. Returns "" or the first error of a rank.
  std::string route(const Ops& ops);
  // Routes one rank, whose thread makes the call. Sets `wrong` to a fault of the arrivals, or to
  // "".
  tilepost_result_t route(tilepost_op_t op, int rank, std::string& wrong) const;
  std::string start(const Ops& ops);
  // From here on runs use the lent output, where there is one. Then only one run may be under way
  // at a time.
  void use_lent() { uses_lent_ = true; }
  // From here on operands that a rank neither reads nor writes are null.
  void use_nulls() { uses_nulls_ = true; }
  // A rank's own output, and the number of bytes of it that a run writes.
  uint16_t* out(int rank) { return ranks_[rank].out.data(); }
  int64_t out_bytes(int rank) const { return out_rows(rank) * problem_.n * 2; }
  // From here on runs use these outputs, one for each rank, which have enough room.
  void use_outs(std::vector<uint16_t*> outs) { outs_ = std::move(outs); }
  tilepost_result_t start(const Ops& ops, int rank) { return start(ops[rank], rank); }
  tilepost_result_t start(tilepost_op_t op, int rank);

  // After the run: returns "" or the first wrong element of the output, of kept sums or of gathered
  // rows, or memory beside them that was overwritten.
  std::string compare() const;
  std::string compare(int rank) const;

 private:
  struct Rank {
    int64_t rows = 0;                   // rows of its product
    std::vector<int32_t> destinations;  // where the rows that it sends go
    std::vector<int64_t> splits;
    Aligned a, b, out, weight, residual, gathered;
    bool gathers = false;             // whether it asks for `gathered`
    bool in_place = false;            // whether its own rows are in `gathered` already
    const uint16_t* found = nullptr;  // where the run has left its output
    reference::Matrix input;          // the rows of A that it multiplies
    reference::Matrix expected;       // [out rows][n]
    std::vector<int64_t> rows_from;   // how many rows are routed here from each rank
    reference::Matrix kept;           // residual_rms_norm: the expected sums

    // The number of rows that it brings, where rows are routed.
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
  // The place of element (row, col) in a rank's output after a run (docs/runtime.md).
  int64_t place_of(int rank, int64_t row, int64_t col) const;

  const Problem problem_;
  const int64_t m_;
  bool uses_lent_ = false, uses_nulls_ = false;
  std::vector<uint16_t*> outs_;  // indexed by rank; empty: each rank's own
  std::vector<Rank> ranks_;
};
