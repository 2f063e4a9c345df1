// One rank's operands, output and reference for a program: fill, run, check.
#pragma once

#include "tests/gpu/gpu_ranks.h"

namespace gpu_test {

class Checker {
 public:
  // `sets` of operands, so that several runs can be put on the stream back to back.
  Checker(const tilepost_program_t& program, tilepost::Op& op, int rank, int sets)
      : plan_(plan_of(program)), shape_(shape_of(program)), rank_(rank) {
    tilepost_op_info_t info{};
    TILEPOST_OK_(op.get_info(info));
    place_ = {info.rows, info.plan->map.tile_m, info.plan->map.tile_n};
    out_bytes_ = info.out_elements * kElementBytes;
    for (int i = 0; i < sets; ++i)
      sets_.push_back({device_.allocate(a_count() * kElementBytes),
                       device_.allocate(b_count() * kElementBytes), device_.allocate(out_bytes_)});
    a_ = device_.allocate(a_count() * kElementBytes);
    b_ = device_.allocate(b_count() * kElementBytes);
    sum_ = device_.allocate<float>(sum_bytes());
    mismatches_ = device_.allocate<unsigned long long>(sizeof *mismatches_);
    CUDA_OK(cudaMemsetAsync(mismatches_, 0, sizeof *mismatches_, stream()));
  }

  // New operands for a set, and an output full of NaN.
  void fill_set(int set, uint32_t seed) {
    const Set& s = sets_[set];
    fill(s.a, a_count(), plan_.input, shape_, seed, rank_, 0, stream());
    fill(s.b, b_count(), plan_.input, shape_, seed, rank_, 1, stream());
    CUDA_OK(cudaMemsetAsync(s.out, 0xff, out_bytes_, stream()));
  }

  // Operands to time on.
  void fill_set_normal(int set, uint32_t seed) {
    const Set& s = sets_[set];
    fill_normal(s.a, a_count(), plan_.input, seed, rank_, 0, stream());
    fill_normal(s.b, b_count(), plan_.input, seed, rank_, 1, stream());
  }

  tilepost::Status run_set(tilepost::Op& op, int set) {
    return op.run(sets_[set].a, sets_[set].b, sets_[set].out, stream());
  }

  // Compares the set's output with the sum of all ranks' products, made from the same seed.
  void check_set(int set, uint32_t seed) {
    CUDA_OK(cudaMemsetAsync(sum_, 0, sum_bytes(), stream()));
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      fill(a_, a_count(), plan_.input, shape_, seed, rank, 0, stream());
      fill(b_, b_count(), plan_.input, shape_, seed, rank, 1, stream());
      add_product(a_, b_, sum_, plan_.input, shape_, stream());
    }
    compare(sets_[set].out, place_, static_cast<const float*>(sum_), plan_.output, shape_,
            mismatches_, stream());
  }

  // Elements that were wrong so far. Waits for the stream.
  unsigned long long mismatches() {
    unsigned long long count = 0;
    CUDA_OK(cudaMemcpyAsync(&count, mismatches_, sizeof count, cudaMemcpyDeviceToHost, stream()));
    device_.synchronize();
    return count;
  }

  // One run from end to end.
  void run_and_check(tilepost::Op& op, uint32_t seed) {
    fill_set(0, seed);
    TILEPOST_OK_(run_set(op, 0));
    check_set(0, seed);
    TILEPOST_OK_(op.synchronize());
    EXPECT(mismatches() == 0, std::to_string(mismatches()) + " wrong elements, seed " +
                                  std::to_string(seed) + ", rank " + std::to_string(rank_));
  }

  struct Set {
    void* a;
    void* b;
    void* out;
  };
  const Set& set(int i) const { return sets_[i]; }
  const Place& place() const { return place_; }
  cudaStream_t stream() const { return device_.stream(); }

 private:
  static constexpr int64_t kElementBytes = 2;
  int64_t a_count() const { return int64_t{shape_.m} * shape_.k; }
  int64_t b_count() const { return int64_t{shape_.n} * shape_.k; }
  int64_t sum_bytes() const { return int64_t{shape_.m} * shape_.n * sizeof(float); }

  const tilepost_plan_t& plan_;
  const Shape shape_;
  const int rank_;
  Device device_;
  Place place_;
  int64_t out_bytes_ = 0;
  std::vector<Set> sets_;
  void* a_;
  void* b_;
  float* sum_;
  unsigned long long* mismatches_;
};

}  // namespace gpu_test
