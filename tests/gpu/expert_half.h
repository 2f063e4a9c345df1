// One rank's half of a mixture-of-experts layer (dispatch_grouped_gemm) for GPU tests: an operation
// with its routing and operands, and what its rows must be.
#ifndef TILEPOST_TESTS_GPU_EXPERT_HALF_H
#define TILEPOST_TESTS_GPU_EXPERT_HALF_H

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/forked_ranks.h"
#include "tilepost/numeric.h"

namespace gpu_experts {

using namespace gpu_routing;
using routing::drawn;
using tilepost::Bf16;

constexpr int kSets = 3;  // of tokens, so that rows of the run before are not this run's
constexpr Types kTypes{true, false};
constexpr uint16_t kUntouched = 0x7f7f;  // no result has these bits: bf16 of 3.4e38

inline int64_t share_of(const tilepost_plan_t& plan, int64_t m) {
  return (m + plan.ranks - 1) / plan.ranks;
}

// How many tokens ranks have in a run of m rows. Some have none.
inline std::vector<int> random_counts(const tilepost_plan_t& plan, int64_t m, Random& random) {
  std::vector<int> counts;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const int64_t share = share_of(plan, m), left = std::max<int64_t>(m - rank * share, 0);
    const int most = static_cast<int>(std::min(share, left)), kind = below(random, 6);
    counts.push_back(kind == 0 ? 0 : kind == 1 ? most : below(random, most + 1));
  }
  return counts;
}

inline std::vector<Bf16> to_bf16(const std::vector<int>& values) {
  std::vector<Bf16> made;
  for (const int value : values)
    made.push_back(tilepost::from_float<Bf16>(static_cast<float>(value)));
  return made;
}

// The whole numbers of an operand, [rows, k].
inline std::vector<int> drawn_rows(uint64_t stream, int64_t rows, int64_t k) {
  std::vector<int> values(static_cast<size_t>(rows * k));
  for (size_t i = 0; i < values.size(); ++i) values[i] = drawn(stream, static_cast<int64_t>(i));
  return values;
}

inline int64_t count_written(const std::vector<Bf16>& out) {
  return std::count_if(out.begin(), out.end(),
                       [](const Bf16& value) { return value.bits != kUntouched; });
}

// Tokens of all ranks for which rank 0 has `rows` rows.
inline std::vector<Tokens> tokens_to_first(const tilepost_plan_t& plan, int rows, Types types) {
  std::vector<Tokens> all(plan.ranks);
  for (Tokens& tokens : all) {
    tokens.tokens = static_cast<int>(share_of(plan, plan.map.m));
    for (int route = 0; route < tokens.tokens * plan.top; ++route)
      tokens.ids.push_back(rows-- > 0 ? route % plan.experts : -1);
    tokens.weights.assign(tokens.ids.size(), 1.0f);
    tokens.encode(types);
  }
  return all;
}

// Ends the test unless a run with `rows` rows of rank 0 was too much, and wrote nothing. `half` is
// a half of a layer.
template <class AnyHalf>
void check_error(const AnyHalf& half, int rows) {
  const tilepost_result_t result = half.synchronize();
  const std::string text = tilepost_last_error();
  const std::string expected = "'" + half.name() + "': the routing gives rank 0 " +
                               std::to_string(rows) + " rows, and max_rows of the plan is " +
                               std::to_string(half.plan().most_rows);
  if (result != TILEPOST_INVALID_ARGUMENT || text.find(expected) == std::string::npos)
    end("rank " + std::to_string(half.rank()) + ", " + half.name() +
        ": too many rows are reported as: " + text);
  if (count_written(half.read_out()) != 0)
    end(half.name() + ": a run with too many rows has written");
}

// A run, or a replay, with as many rows as the plan is for, and one with one row more. `put(all)`
// puts the tokens of all ranks where runs read them. `check(all)` ends the test unless a run's
// result is right.
template <class AnyHalf, class Put, class Check>
void check_bound(const AnyHalf& half, Rank& me, bool replays, Types types, const Put& put,
                 const Check& check) {
  const tilepost_plan_t& plan = half.plan();
  const auto most = static_cast<int>(plan.most_rows);
  const int tokens = static_cast<int>(share_of(plan, plan.map.m));
  const auto few = tokens_to_first(plan, most, types),
             many = tokens_to_first(plan, most + 1, types);
  const auto body = [&] { half.run(tokens, plan.map.m); };
  std::optional<Graph> graph;
  if (replays) graph.emplace(half.stream(), body);
  const auto run = [&](const std::vector<Tokens>& all) {
    put(all);
    if (replays)
      graph->replay(half.stream());
    else
      body();
  };
  run(few);
  OK(half.synchronize());
  check(few);
  run(many);
  // A replay that is on the stream already writes nothing either.
  if (replays && plan.access != TILEPOST_ACCESS_MESSAGES) run(few);
  check_error(half, most + 1);
  me.meet_all();
}

class Half {
 public:
  Half(const tilepost_program_t& program, Rank& me)
      : plan_(program.plans[0]),
        name_(program.name),
        rank_(me.rank),
        shape_{plan_.ranks, plan_.experts * plan_.ranks, plan_.top,
               static_cast<int>(share_of(plan_, plan_.map.m))},
        comm_(me.make_comm()) {
    CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    routing_.emplace(comm_, rank_, shape_, kTypes, stream_);
    tilepost_options_t options = tilepost_default_options();
    options.routing = routing_->get();
    OK(tilepost_op_create(comm_, &program, &options, &op_));
    make_operands();
    if (plan_.epilogue == TILEPOST_BILINEAR) make_expected();
  }
  Half(const Half&) = delete;
  ~Half() {
    tilepost_op_destroy(op_);
    routing_.reset();
    tilepost_comm_destroy(comm_);
    cudaStreamDestroy(stream_);
    for (void* const memory : memory_) cudaFree(memory);
  }

  const tilepost_plan_t& plan() const { return plan_; }
  const std::string& name() const { return name_; }
  int rank() const { return rank_; }
  cudaStream_t stream() const { return stream_; }
  tilepost_op_t op() const { return op_; }

  // Tokens of all ranks, `counts` of each, encoded.
  std::vector<Tokens> random_all(const std::vector<int>& counts, Load load, Random& random) const {
    std::vector<Tokens> all;
    for (const int count : counts) {
      all.push_back(random_tokens(shape_, count, load, random));
      all.back().encode(kTypes);
    }
    return all;
  }

  // Puts ids, weights and the tokens of a set where runs read them, and poison into the output.
  void put(Tokens tokens, int set) const {
    routing_->put(tokens);
    CUDA(cudaMemcpyAsync(a_, tokens_[set].data(), tokens_[set].size() * sizeof(Bf16),
                         cudaMemcpyHostToDevice, stream_));
    CUDA(cudaMemsetAsync(out_, kUntouched & 0xff, out_elements() * sizeof(Bf16), stream_));
    // The copies read memory of the caller's.
    CUDA(cudaStreamSynchronize(stream_));
  }
  // Routes `tokens` tokens of this rank, and starts a run of m rows.
  void run(int tokens, int64_t m) const {
    routing_->set(tokens);
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = a_;
    operands.b = b_;
    operands.out = out_;
    operands.m = m;
    OK(tilepost_op_run_with(op_, &operands, stream_));
  }
  // Waits for runs and replays.
  tilepost_result_t synchronize() const {
    CUDA(cudaStreamSynchronize(stream_));
    return tilepost_op_synchronize(op_);
  }

  std::vector<Bf16> read_out() const {
    std::vector<Bf16> found(out_elements());
    CUDA(cudaMemcpy(found.data(), out_, found.size() * sizeof(Bf16), cudaMemcpyDeviceToHost));
    return found;
  }
  // Returns what is wrong with the tables, or "".
  std::string wrong_tables(const std::vector<Tokens>& all) const {
    const std::vector<Types> types(all.size(), kTypes);
    std::string wrong = routing_->difference(all, types);
    if (!wrong.empty()) return wrong + " differ from the twin's";
    return routing::wrong_tables(shape_, rank_, all, routing_->read());
  }
  // Returns what is wrong with the rows after a run with the tokens of a set, or "".
  std::string wrong_rows(const std::vector<Tokens>& all, int set) const {
    const auto n = static_cast<size_t>(plan_.map.n);
    const std::vector<Bf16> out = read_out();
    size_t row = 0;
    for (int local = 0; local < plan_.experts; ++local)
      for (int distance = 0; distance < plan_.ranks; ++distance) {
        const int source = (rank_ + distance) % plan_.ranks;
        const int expert = rank_ * plan_.experts + local;
        for (size_t route = 0; route < all[source].ids.size(); ++route) {
          if (all[source].ids[route] != expert) continue;
          const int token = static_cast<int>(route) / plan_.top;
          if (std::memcmp(&out[row * n], expected(set, source, token, local), n * sizeof(Bf16)) !=
              0)
            return "row " + std::to_string(row) + ", token " + std::to_string(token) + " of rank " +
                   std::to_string(source);
          ++row;
        }
      }
    for (size_t i = row * n; i < out.size(); ++i)
      if (out[i].bits != kUntouched)
        return "row " + std::to_string(i / n) + " behind the last one, " + std::to_string(row) +
               ", was written";
    return "";
  }

 private:
  size_t out_elements() const { return static_cast<size_t>(plan_.most_rows * plan_.map.n); }
  static uint64_t stream_of_tokens(int set, int rank) {
    return static_cast<uint64_t>(1000 + set * kMostRanks + rank);
  }

  void make_operands() {
    const int64_t k = plan_.k, rows_b = plan_.experts * 2 * plan_.map.n;
    for (int set = 0; set < kSets; ++set)
      tokens_.push_back(to_bf16(drawn_rows(stream_of_tokens(set, rank_), shape_.most_tokens, k)));
    const std::vector<Bf16> b = to_bf16(drawn_rows(static_cast<uint64_t>(rank_), rows_b, k));
    a_ = allocate(tokens_[0].size());
    b_ = allocate(b.size());
    out_ = allocate(out_elements());
    CUDA(cudaMemcpy(b_, b.data(), b.size() * sizeof(Bf16), cudaMemcpyHostToDevice));
  }
  void* allocate(size_t elements) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, elements * sizeof(Bf16)));
    memory_.push_back(memory);
    return memory;
  }

  // What every token gives with every expert of this rank: gate * up, rounded once.
  void make_expected() {
    const auto n = static_cast<size_t>(plan_.map.n), k = static_cast<size_t>(plan_.k);
    const std::vector<int> b =
        drawn_rows(static_cast<uint64_t>(rank_), plan_.experts * 2 * plan_.map.n, plan_.k);
    const auto dot = [k](const int* one, const int* other) {
      int sum = 0;
      for (size_t i = 0; i < k; ++i) sum += one[i] * other[i];
      return sum;
    };
    for (int set = 0; set < kSets; ++set)
      for (int source = 0; source < plan_.ranks; ++source) {
        const auto a = drawn_rows(stream_of_tokens(set, source), shape_.most_tokens, plan_.k);
        for (size_t token = 0; token < static_cast<size_t>(shape_.most_tokens); ++token)
          for (size_t local = 0; local < static_cast<size_t>(plan_.experts); ++local)
            for (size_t column = 0; column < n; ++column) {
              const int* const row = &a[token * k];
              const int* const gate = &b[(local * 2 * n + column) * k];
              // In fp32, where 0 times a negative number is -0.
              const auto left = static_cast<float>(dot(row, gate));
              const auto right = static_cast<float>(dot(row, gate + n * k));
              expected_.push_back(tilepost::from_float<Bf16>(left * right));
            }
      }
  }
  const Bf16* expected(int set, int source, int token, int local) const {
    const int64_t at =
        ((int64_t{set} * plan_.ranks + source) * shape_.most_tokens + token) * plan_.experts +
        local;
    return &expected_[static_cast<size_t>(at * plan_.map.n)];
  }

  const tilepost_plan_t& plan_;
  const std::string name_;
  const int rank_;
  const Shape shape_;
  tilepost_comm_t const comm_;
  cudaStream_t stream_ = nullptr;
  std::optional<Routing> routing_;
  tilepost_op_t op_ = nullptr;
  std::vector<std::vector<Bf16>> tokens_;  // [kSets] of this rank
  std::vector<void*> memory_;
  void *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;
  std::vector<Bf16> expected_;  // [kSets, ranks, tokens, local experts, n]
};

}  // namespace gpu_experts

#endif  // TILEPOST_TESTS_GPU_EXPERT_HALF_H
