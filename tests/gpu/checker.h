// The operands, output and reference of one rank for a program. Tests choose a case, fill, run,
// check.
#pragma once

#include <optional>

#include "tests/gpu/cases.h"
#include "tests/gpu/gpu_ranks.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/block_scales.h"

namespace gpu_test {

class Checker {
 public:
  // `sets`: how many sets of operands there are, so that several runs can be on the stream at once.
  // The last set uses the lent output, where there is one. Then no other run may come between its
  // run and its check. Chooses the case of seed 0, which is collective where the plan is routed.
  Checker(const tilepost_program_t& program, tilepost::Op& op, int rank, int sets)
      : rank_(rank), sets_(sets) {
    tilepost_op_info_t info{};
    TILEPOST_OK_(op.get_info(info));
    plan_ = info.plan;
    name_ = program.name;
    slots_ = info.rows;
    columns_ = (plan_->map.n + plan_->map.tile_n - 1) / plan_->map.tile_n;
    stream_ = device_.stream();
    most_ = most_rows(*plan_);
    for (Set& set : sets_) {
      set.a = device_.allocate(most_ * plan_->k * input_bytes());
      set.b = device_.allocate(b_count() * input_bytes());
      set.out_bytes = out_bytes(info);
      set.out = device_.allocate(set.out_bytes);
      if (keeps()) set.kept = device_.allocate(most_ * plan_->map.n * output_bytes());
      if (scaled()) {
        set.scale_a = device_.allocate<float>(most_ * tilepost::scale_blocks(plan_->k) * kFloat);
        set.scale_b = device_.allocate<float>(scales_of_b() * kFloat);
      }
      if (quantised())
        set.out_scales = device_.allocate<float>(plan_->ranks * most_ *
                                                 tilepost::scale_blocks(plan_->map.n) * kFloat);
    }
    if (scaled()) {
      scale_a_ = device_.allocate<float>(most_ * tilepost::scale_blocks(plan_->k) * kFloat);
      scale_b_ = device_.allocate<float>(scales_of_b() * kFloat);
    }
    if (normalises()) {
      weight_ = device_.allocate(plan_->map.n * output_bytes());
      residual_ = device_.allocate(most_ * plan_->map.n * output_bytes());
      fill_normal(weight_, plan_->map.n, plan_->output, 0, 0, 0, stream());
    }
    lends_ = info.out != nullptr;
    if (lends_) {
      sets_.back().out = info.out;
      sets_.back().out_bytes = plan_->map.m * plan_->map.n * output_bytes();
    }
    a_ = device_.allocate(most_ * plan_->k * input_bytes());
    b_ = device_.allocate(b_count() * input_bytes());
    sum_ = device_.allocate<float>(most_ * plan_->map.n * int64_t{sizeof(float)});
    rows_ = device_.allocate<int32_t>(int64_t{plan_->ranks} * most_ * int64_t{sizeof(int32_t)});
    mismatches_ = device_.allocate<unsigned long long>(sizeof *mismatches_);
    CUDA_OK(cudaMemsetAsync(mismatches_, 0, sizeof *mismatches_, stream()));
    choose(op, 0);
  }

  // Chooses rows and route of the runs from here on: choose() draws them from the seed, and
  // choose_rows() gives `m` rows to a plan for any m without a route. Waits for the stream.
  // Collective where the plan is routed.
  void choose(tilepost::Op& op, uint32_t seed) { choose(op, make_case(*plan_, seed)); }
  void choose_rows(tilepost::Op& op, int64_t m) {
    Case made(plan_->ranks);
    for (RankCase& rank : made) rank.m = m;
    choose(op, std::move(made));
  }
  void choose(tilepost::Op& op, Case chosen) {
    case_ = std::move(chosen);
    summed_.reset();
    CUDA_OK(cudaStreamSynchronize(stream_));
    rows_first_.assign(1, 0);
    std::vector<int32_t> rows;
    for (int source = 0; source < plan_->ranks; ++source) {
      const std::vector<int32_t> from = rows_between(*plan_, case_, source, rank_);
      rows.insert(rows.end(), from.begin(), from.end());
      rows_first_.push_back(static_cast<int64_t>(rows.size()));
    }
    CUDA_OK(cudaMemcpy(rows_, rows.data(), rows.size() * sizeof rows[0], cudaMemcpyHostToDevice));
    if (!is_routed(*plan_)) return;
    const RankCase& mine = case_[rank_];
    tilepost_arrivals_t arrivals{};
    arrivals.struct_size = sizeof arrivals;
    const tilepost_route_t route{sizeof route, plan_->any_m ? mine.m : -1, mine.splits.data(),
                                 mine.destinations.data()};
    TILEPOST_OK_(tilepost::Status(tilepost_op_route(op.get(), &route, &arrivals)));
    EXPECT(arrivals.rows == rows_first_.back(), std::to_string(arrivals.rows) + " rows announced");
    check_landed(arrivals);
  }

  // From here on the other ranks store straight into the set's output, where the operation lends
  // memory and so has a use for that. Collective, like unregister_out(), which must come before the
  // checker's end.
  void register_out(tilepost::Op& op, int set) {
    const tilepost::Status status = op.register_output(sets_[set].out, sets_[set].out_bytes);
    EXPECT(lends_ ? status.ok() : status.result() == TILEPOST_UNSUPPORTED, status.text());
  }
  bool lends() const { return lends_; }
  void unregister_out(tilepost::Op& op, int set) {
    if (lends_) TILEPOST_OK_(op.unregister_output(sets_[set].out));
  }

  // From here on the outputs of all sets, except the lent output, lie in one allocation. Call it
  // before outputs are registered and while nothing runs.
  void join_outs() {
    constexpr int64_t kAlignment = 256;
    const size_t sets = sets_.size() - (lends_ ? 1 : 0);
    const int64_t each = (sets_[0].out_bytes + kAlignment - 1) / kAlignment * kAlignment;
    char* out = device_.allocate<char>(static_cast<int64_t>(sets) * each);
    for (size_t set = 0; set < sets; ++set, out += each) sets_[set].out = out;
  }

  // Gives a set new operands, and an output full of NaN.
  void fill_set(int set, uint32_t seed) {
    const Set& s = sets_[set];
    fill(s.a, a_rows(rank_) * plan_->k, plan_->input, shape(), seed, rank_, 0, stream());
    fill(s.b, b_count(), plan_->input, shape(), seed, rank_, 1, stream());
    if (keeps()) fill_residual(s.kept, seed);
    if (scaled()) {
      fill_scales(s.scale_a, a_rows(rank_) * tilepost::scale_blocks(plan_->k), seed, rank_, 0,
                  stream());
      fill_scales(s.scale_b, scales_of_b(), seed, rank_, 1, stream());
    }
    CUDA_OK(cudaMemsetAsync(s.out, 0xff, static_cast<size_t>(s.out_bytes), stream()));
  }

  // Gives a set operands for measuring times.
  void fill_set_normal(int set, uint32_t seed) {
    const Set& s = sets_[set];
    fill_normal(s.a, a_rows(rank_) * plan_->k, plan_->input, seed, rank_, 0, stream());
    fill_normal(s.b, b_count(), plan_->input, seed, rank_, 1, stream());
  }

  // Starts a run of a set. `m`: a number of rows other than the case's; 0: the case's.
  tilepost::Status run_set(tilepost::Op& op, int set, int64_t m = 0) {
    tilepost_run_operands_t operands{};
    operands.a = sets_[set].a;
    operands.b = sets_[set].b;
    operands.out = sets_[set].out;
    operands.norm_weight = weight_;
    operands.norm_residual = sets_[set].kept;
    operands.norm_epsilon = kEpsilon;
    operands.scale_a = sets_[set].scale_a;
    operands.scale_b = sets_[set].scale_b;
    operands.out_scales = sets_[set].out_scales;
    if (plan_->any_m && !is_routed(*plan_)) operands.m = m > 0 ? m : case_[rank_].m;
    return op.run(operands, stream());
  }

  // Compares the set's output with a product of the same seed, which is computed without tilepost's
  // code.
  void check_set(int set, uint32_t seed) {
    const Set& s = sets_[set];
    if (exchanges_rows(*plan_)) {
      for (int source = 0; source < plan_->ranks; ++source) {
        clear_sum(case_[source].m);
        add_product_of(source, seed);
        compare_rows(s, source);
      }
      return;
    }
    // For the same operands as before, the reference is still there.
    if (summed_ != seed) {
      const bool sums = plan_->pattern == TILEPOST_GEMM_ALL_REDUCE ||
                        plan_->pattern == TILEPOST_GEMM_REDUCE_SCATTER;
      clear_sum(case_[rank_].m);
      for (int rank = 0; rank < plan_->ranks; ++rank)
        if (sums || rank == rank_) add_product_of(rank, seed);
      summed_ = seed;
    }
    if (normalises())
      compare_normed_rows(s, seed);
    else
      compare_rows(s, rank_);
  }

  // How many elements have been wrong so far. Waits for the stream.
  unsigned long long mismatches() {
    unsigned long long count = 0;
    CUDA_OK(cudaMemcpyAsync(&count, mismatches_, sizeof count, cudaMemcpyDeviceToHost, stream()));
    CUDA_OK(cudaStreamSynchronize(stream_));
    return count;
  }

  // Makes one run, checks it, and waits for both.
  void run_and_check(tilepost::Op& op, uint32_t seed) {
    fill_set(0, seed);
    TILEPOST_OK_(run_set(op, 0));
    check_set(0, seed);
    TILEPOST_OK_(op.synchronize());
    EXPECT(mismatches() == 0, std::to_string(mismatches()) + " wrong elements in '" + name_ +
                                  "', seed " + std::to_string(seed) + ", m " +
                                  std::to_string(case_[rank_].m) + ", rank " +
                                  std::to_string(rank_));
  }

  struct Set {
    void* a;
    void* b;
    void* out;
    int64_t out_bytes;
    void* kept = nullptr;  // rows of the residual, which become their sums with the product's rows
    float* scale_a = nullptr;     // of blocks of A
    float* scale_b = nullptr;     // and of B
    float* out_scales = nullptr;  // of blocks of a quantised output
  };
  const Set& set(int i) const { return sets_[i]; }
  Place place() const { return {slots_, plan_->map.tile_m, plan_->map.tile_n, 0}; }
  int64_t rows() const { return case_[rank_].m; }
  cudaStream_t stream() const { return stream_; }

  // Puts fills, runs and checks from here on on `stream`, or on the checker's own stream if it is
  // null. The caller orders them behind earlier ones.
  void use(cudaStream_t stream) { stream_ = stream == nullptr ? device_.stream() : stream; }

  const tilepost_plan_t& plan() const { return *plan_; }

 private:
  int64_t input_bytes() const { return tilepost::element_bytes(plan_->input); }
  int64_t output_bytes() const { return tilepost::element_bytes(plan_->output); }
  // Large enough to count beside squares of whole numbers.
  static constexpr float kEpsilon = 0.125f;

  int64_t b_count() const { return plan_->map.n * plan_->k; }
  // Two scales of up to 2 make the variance of a sum up to 16 times as large. So fewer elements are
  // not zero, as if there were more ranks.
  Shape shape(int64_t m = 1) const {
    return {static_cast<int>(m), static_cast<int>(plan_->map.n), static_cast<int>(plan_->k),
            plan_->ranks * (scaled() ? 16 : 1)};
  }
  static constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  bool scaled() const { return plan_->scales != TILEPOST_SCALES_NONE; }
  bool quantised() const { return plan_->quantised != 0; }
  int64_t scales_of_b() const {
    return tilepost::scale_blocks(plan_->map.n) * tilepost::scale_blocks(plan_->k);
  }
  bool gathers() const { return plan_->pattern == TILEPOST_ALL_GATHER_GEMM; }
  bool has_slabs() const {
    return plan_->map.division == TILEPOST_DIVISION_COLUMNS &&
           plan_->consumer == TILEPOST_CONSUMER_NONE;
  }
  bool keeps() const { return plan_->consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM; }
  bool normalises() const { return keeps() || plan_->consumer == TILEPOST_CONSUMER_RMS_NORM; }
  int64_t share() const { return (case_[rank_].m + plan_->ranks - 1) / plan_->ranks; }

  // How many rows of A `rank` has.
  int64_t a_rows(int rank) const {
    const int64_t m = case_[rank].m;
    return gathers() ? std::clamp<int64_t>(m - rank * share(), 0, share()) : m;
  }

  // Room for all rows that any case may send here.
  int64_t out_bytes(const tilepost_op_info_t& info) const {
    const int64_t rows = exchanges_rows(*plan_) ? plan_->ranks * most_ : plan_->map.m;
    const int64_t all = (rows + plan_->ranks) * columns_ * plan_->map.tile_n;
    return std::max(info.out_elements, all) * output_bytes();
  }

  void clear_sum(int64_t m) {
    const size_t bytes = static_cast<size_t>(m * plan_->map.n) * sizeof(float);
    CUDA_OK(cudaMemsetAsync(sum_, 0, bytes, stream()));
  }

  // Adds the product of `rank`'s A. B is also `rank`'s or, where rows of A move, this rank's.
  void add_product_of(int rank, uint32_t seed) {
    if (case_[rank].m == 0) return;
    auto* a = static_cast<char*>(a_);
    float* scale_a = scale_a_;
    for (int source = 0; source < plan_->ranks; ++source) {
      if (!gathers() && source != rank) continue;
      fill(a, a_rows(source) * plan_->k, plan_->input, shape(), seed, source, 0, stream());
      a += a_rows(source) * plan_->k * input_bytes();
      if (!scaled()) continue;
      fill_scales(scale_a, a_rows(source) * tilepost::scale_blocks(plan_->k), seed, source, 0,
                  stream());
      scale_a += a_rows(source) * tilepost::scale_blocks(plan_->k);
    }
    const int multiplier = plan_->pattern == TILEPOST_ALL_TO_ALL_GEMM ? rank_ : rank;
    fill(b_, b_count(), plan_->input, shape(), seed, multiplier, 1, stream());
    if (scaled()) fill_scales(scale_b_, scales_of_b(), seed, multiplier, 1, stream());
    add_product(a_, b_, {scale_a_, scale_b_}, sum_, plan_->input, shape(case_[rank].m), stream());
  }

  // Compares the rows of the output that come from `source`. Where ranks are summed, any source
  // will do.
  void compare_rows(const Set& set, int source) {
    const int64_t count = rows_first_[source + 1] - rows_first_[source];
    if (count == 0) return;
    const int64_t first = exchanges_rows(*plan_) ? rows_first_[source] : 0;
    if (quantised()) {
      const QuantisedRows rows{static_cast<const char*>(set.out) + first * plan_->map.n,
                               set.out_scales + first * tilepost::scale_blocks(plan_->map.n)};
      compare_quantised(rows, sum_, rows_ + rows_first_[source], shape(count), mismatches_,
                        stream());
      return;
    }
    Place where = place();
    const int64_t width = has_slabs() ? columns_ * plan_->map.tile_n : plan_->map.n;
    if (has_slabs())
      where.slab_rows = plan_->pattern == TILEPOST_GEMM_REDUCE_SCATTER ? share() : count;
    const auto* from = static_cast<const char*>(set.out) + first * width * output_bytes();
    compare_listed(from, where, static_cast<const float*>(sum_), rows_ + rows_first_[source],
                   plan_->output, shape(count), mismatches_, stream());
  }

  // In an AllReduce all ranks have the same residual. Otherwise each rank has a residual of its
  // own.
  void fill_residual(void* rows, uint32_t seed) {
    constexpr int kMatrix = 3;  // comes after A's and B's: key_of has two for each rank
    const int of = plan_->pattern == TILEPOST_GEMM_ALL_REDUCE ? 0 : rank_;
    fill(rows, most_ * plan_->map.n, plan_->output, shape(), seed, plan_->ranks + of, kMatrix,
         stream());
  }

  void compare_normed_rows(const Set& s, uint32_t seed) {
    const int64_t count = rows_first_[rank_ + 1] - rows_first_[rank_];
    if (count == 0) return;
    if (keeps()) fill_residual(residual_, seed);
    const NormedRows rows{s.out, s.kept, keeps() ? residual_ : nullptr, weight_, kEpsilon};
    compare_normed(rows, sum_, rows_ + rows_first_[rank_], plan_->output, shape(count), mismatches_,
                   stream());
  }

  // Checks `landed`: for each row of this rank, which row of its destination's output it is.
  void check_landed(const tilepost_arrivals_t& arrivals) const {
    for (int rank = 0; rank < plan_->ranks; ++rank) {
      int64_t before = 0;
      for (int source = 0; source < rank_; ++source)
        before += static_cast<int64_t>(rows_between(*plan_, case_, source, rank).size());
      for (const int32_t row : rows_between(*plan_, case_, rank_, rank))
        EXPECT(arrivals.landed[row] == before++, "row " + std::to_string(row));
      const auto from = static_cast<int64_t>(rows_between(*plan_, case_, rank, rank_).size());
      EXPECT(arrivals.rows_from[rank] == from, "from rank " + std::to_string(rank));
    }
  }

  const tilepost_plan_t* plan_ = nullptr;
  const char* name_ = "";
  const int rank_;
  bool lends_ = false;  // whether the operation lends memory for an output
  const int32_t* slots_ = nullptr;
  int64_t columns_ = 1;
  int64_t most_ = 0;  // the most rows of a rank's A or product
  Device device_;
  cudaStream_t stream_ = nullptr;
  Case case_;
  std::vector<int64_t> rows_first_;  // [ranks + 1] of rows_, by source
  std::vector<Set> sets_;
  void* a_;
  void* b_;
  float* sum_;
  float* scale_a_ = nullptr;  // of blocks of a_ and b_, if they have scales
  float* scale_b_ = nullptr;
  void* weight_ = nullptr;    // the weight of the norm
  void* residual_ = nullptr;  // the residual before a run
  int32_t* rows_;             // rows of the product, in their order in the output
  unsigned long long* mismatches_;
  std::optional<uint32_t> summed_;  // the seed whose reference is in sum_
};

// A graph of one run of a set.
class CapturedRun {
 public:
  CapturedRun(Checker& checker, tilepost::Op& op, int set = 0) : stream_(checker.stream()) {
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    TILEPOST_OK_(checker.run_set(op, set));
    CUDA_OK(cudaStreamEndCapture(stream_, &graph_));
    CUDA_OK(cudaGraphInstantiate(&executable_, graph_, 0));
  }
  CapturedRun(const CapturedRun&) = delete;
  CapturedRun& operator=(const CapturedRun&) = delete;
  ~CapturedRun() {
    CUDA_OK(cudaGraphExecDestroy(executable_));
    CUDA_OK(cudaGraphDestroy(graph_));
  }

  void replay() { replay(stream_); }
  void replay(cudaStream_t stream) { CUDA_OK(launch(stream)); }
  cudaError_t launch(cudaStream_t stream) { return cudaGraphLaunch(executable_, stream); }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gpu_test
