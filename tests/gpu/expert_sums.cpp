// Sums of tokens (grouped_gemm_combine) on several ranks, each a process: results of random
// routings, eagerly and in replays whose ids change, compared with sums of sampled tokens bit by
// bit; runs with more rows than the plan is for, which end on all ranks and write nothing; and runs
// to which a rank does not come.
//
//   expert_sums ranks [routings] [replays]   of each program 200 and 500, unless told otherwise
//
// It runs the generated programs of this pattern and so many ranks, which `programs.sh … sums`
// makes. Elements are small whole numbers, so that products are exact.
//
// Exit code: 0 all is right, 1 not, 77 nothing to run here.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/expert_half.h"
#include "tests/gpu/registry.h"

namespace {

using namespace gpu_experts;

constexpr unsigned kDeadlineSeconds = 300;  // for the whole program
constexpr int kSampled = 8;                 // tokens that a run is judged by
constexpr Types kTypesOfSums{false, false};

enum Stream : uint64_t { kRows = 5000, kExperts = 6000, kResidual = 7000 };

// What all ranks' operands are, of which each rank knows those of the others.
struct Operand {
  uint64_t stream;
  int64_t columns;
  int at(int64_t row, int64_t column) const { return drawn(stream, row * columns + column); }
  std::vector<Bf16> rows(int64_t count) const {
    return to_bf16(drawn_rows(stream, count, columns));
  }
};

class Sums {
 public:
  Sums(const tilepost_program_t& program, Rank& me, double deadline_seconds = 60)
      : plan_(program.plans[0]),
        name_(program.name),
        rank_(me.rank),
        share_(share_of(plan_, plan_.map.m)),
        shape_{plan_.ranks, plan_.experts * plan_.ranks, plan_.top, static_cast<int>(share_)},
        comm_(me.make_comm()) {
    CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    routing_.emplace(comm_, rank_, shape_, kTypesOfSums, stream_);
    tilepost_options_t options = tilepost_default_options();
    options.routing = routing_->get();
    options.deadline_seconds = deadline_seconds;
    OK(tilepost_op_create(comm_, &program, &options, &op_));
    a_ = upload(rows_of(rank_).rows(plan_.most_rows));
    b_ = upload(experts_of(rank_).rows(plan_.experts * plan_.map.n));
    residual_ = upload(residual_of(rank_).rows(share_));
    out_ = upload(std::vector<Bf16>(static_cast<size_t>(share_ * plan_.map.n)));
  }
  Sums(const Sums&) = delete;
  ~Sums() {
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

  std::vector<Tokens> random_all(const std::vector<int>& counts, Load load, Random& random) const {
    std::vector<Tokens> all;
    for (const int count : counts) {
      all.push_back(random_tokens(shape_, count, load, random));
      all.back().encode(kTypesOfSums);
    }
    return all;
  }
  // Puts ids and weights where runs read them, and poison into the output.
  void put(Tokens tokens) const {
    routing_->put(tokens);
    CUDA(cudaMemsetAsync(out_, kUntouched & 0xff, share_ * plan_.map.n * sizeof(Bf16), stream_));
    CUDA(cudaStreamSynchronize(stream_));  // the copies read memory of the caller's
  }
  // Routes `tokens` tokens of this rank, and starts a run for m tokens of all ranks.
  void run(int tokens, int64_t m) const {
    route(tokens);
    start(m);
  }
  void route(int tokens) const { routing_->set(tokens); }
  void start(int64_t m) const {
    tilepost_run_operands_t operands{};
    operands.struct_size = sizeof operands;
    operands.a = a_;
    operands.b = b_;
    operands.out = out_;
    operands.residual = residual_;
    operands.m = m;
    OK(tilepost_op_run_with(op_, &operands, stream_));
  }
  tilepost_result_t synchronize() const {
    CUDA(cudaStreamSynchronize(stream_));
    return tilepost_op_synchronize(op_);
  }

  std::vector<Bf16> read_out() const {
    std::vector<Bf16> out(static_cast<size_t>(share_ * plan_.map.n));
    CUDA(cudaMemcpy(out.data(), out_, out.size() * sizeof(Bf16), cudaMemcpyDeviceToHost));
    return out;
  }

  // Ends the test if sampled tokens of this rank are not what they must be.
  void check(const std::vector<Tokens>& all, int64_t m, const std::string& what,
             Random& random) const {
    const std::vector<Bf16> out = read_out();
    const std::vector<int> rows = rows_of_routes(all);
    const int64_t share = share_of(plan_, m);
    const int64_t own = std::clamp<int64_t>(m - rank_ * share, 0, share);
    for (int i = 0; i < kSampled && own > 0; ++i) {
      const int token = below(random, static_cast<int>(own));
      for (int64_t column = 0; column < plan_.map.n; ++column) {
        const Bf16 found = out[static_cast<size_t>(token * plan_.map.n + column)];
        if (found.bits != expected(all, rows, token, column).bits)
          end("rank " + std::to_string(rank_) + ", " + name_ + ", " + what + ": token " +
              std::to_string(token) + ", column " + std::to_string(column));
      }
    }
    for (size_t i = static_cast<size_t>(own * plan_.map.n); i < out.size(); ++i)
      if (out[i].bits != kUntouched)
        end(name_ + ", " + what + ": a row behind the last one was written");
  }

 private:
  Operand rows_of(int rank) const { return {kRows + static_cast<uint64_t>(rank), plan_.k}; }
  Operand experts_of(int rank) const { return {kExperts + static_cast<uint64_t>(rank), plan_.k}; }
  Operand residual_of(int rank) const {
    return {kResidual + static_cast<uint64_t>(rank), plan_.map.n};
  }

  void* upload(const std::vector<Bf16>& elements) {
    void* memory = nullptr;
    CUDA(cudaMalloc(&memory, elements.size() * sizeof(Bf16)));
    CUDA(cudaMemcpy(memory, elements.data(), elements.size() * sizeof(Bf16),
                    cudaMemcpyHostToDevice));
    memory_.push_back(memory);
    return memory;
  }

  // The row that each route of this rank's tokens has on the rank of its expert, or -1.
  std::vector<int> rows_of_routes(const std::vector<Tokens>& all) const {
    std::vector<int> rows(all[rank_].ids.size(), -1);
    for (int where = 0; where < plan_.ranks; ++where) {
      int row = 0;
      for (int local = 0; local < plan_.experts; ++local)
        for (int distance = 0; distance < plan_.ranks; ++distance) {
          const int source = (where + distance) % plan_.ranks;
          for (size_t route = 0; route < all[source].ids.size(); ++route) {
            if (all[source].ids[route] != where * plan_.experts + local) continue;
            if (source == rank_) rows[route] = row;
            ++row;
          }
        }
    }
    return rows;
  }

  // One rank's sum of a token: in the order of its experts, with fused multiply-adds.
  float sum_on(int where, const std::vector<Tokens>& all, const std::vector<int>& rows, int token,
               int64_t column) const {
    const Tokens& own = all[rank_];
    float sum = 0;
    for (int local = 0; local < plan_.experts; ++local)
      for (int entry = 0; entry < plan_.top; ++entry) {
        const auto route = static_cast<size_t>(token * plan_.top + entry);
        if (token >= own.tokens || own.ids[route] != where * plan_.experts + local) continue;
        int product = 0;
        for (int64_t k = 0; k < plan_.k; ++k)
          product += rows_of(where).at(rows[route], k) *
                     experts_of(where).at(local * plan_.map.n + column, k);
        const auto rounded = tilepost::from_float<Bf16>(static_cast<float>(product));
        sum = std::fmaf(own.weights[route], tilepost::to_float(rounded), sum);
      }
    if (where == rank_ && (plan_.epilogue & TILEPOST_RESIDUAL) != 0)
      sum += static_cast<float>(residual_of(rank_).at(token, column));
    return tilepost::to_float(tilepost::from_float<Bf16>(sum));
  }
  Bf16 expected(const std::vector<Tokens>& all, const std::vector<int>& rows, int token,
                int64_t column) const {
    float sum = sum_on(0, all, rows, token, column);
    for (int rank = 1; rank < plan_.ranks; ++rank) sum += sum_on(rank, all, rows, token, column);
    return tilepost::from_float<Bf16>(sum);
  }

  const tilepost_plan_t& plan_;
  const std::string name_;
  const int rank_;
  const int64_t share_;
  const Shape shape_;
  tilepost_comm_t const comm_;
  cudaStream_t stream_ = nullptr;
  std::optional<Routing> routing_;
  tilepost_op_t op_ = nullptr;
  std::vector<void*> memory_;
  void *a_ = nullptr, *b_ = nullptr, *residual_ = nullptr, *out_ = nullptr;
};

// All ranks draw the same random numbers.
void check_routings(Sums& sums, const Rank& me, int routings) {
  Random random(461), sampled(1 + static_cast<uint64_t>(me.rank));
  for (int number = 0; number < routings; ++number) {
    const auto most = static_cast<int>(sums.plan().map.m);
    const int64_t m = below(random, 4) == 0 ? most : 1 + below(random, most);
    const auto load = static_cast<Load>(below(random, routing::kLoads));
    const auto all = sums.random_all(random_counts(sums.plan(), m, random), load, random);
    sums.put(all[me.rank]);
    sums.run(all[me.rank].tokens, m);
    OK(sums.synchronize());
    sums.check(all, m, "routing " + std::to_string(number), sampled);
  }
}

// One graph, whose replays route other ids.
void check_replays(Sums& sums, const Rank& me, int replays) {
  Random random(462), sampled(11 + static_cast<uint64_t>(me.rank));
  const int64_t m = sums.plan().map.m;
  const std::vector<int> counts = random_counts(sums.plan(), m, random);
  const Graph graph(sums.stream(), [&] { sums.run(counts[me.rank], m); });
  for (int number = 0; number < replays; ++number) {
    const auto load = static_cast<Load>(number % routing::kLoads);
    const auto all = sums.random_all(counts, load, random);
    sums.put(all[me.rank]);
    graph.replay(sums.stream());
    CUDA(cudaStreamSynchronize(sums.stream()));
    OK(tilepost_op_status(sums.op()));
    sums.check(all, m, "replay " + std::to_string(number), sampled);
  }
}

void check_results(const tilepost_program_t& program, Rank& me, int routings, int replays) {
  Sums sums(program, me);
  check_routings(sums, me, routings);
  check_replays(sums, me, replays);
}

void check_sums_bound(const tilepost_program_t& program, Rank& me, bool replays) {
  const Sums sums(program, me);
  Random sampled(21);
  check_bound(
      sums, me, replays, kTypesOfSums,
      [&](const std::vector<Tokens>& all) { sums.put(all[me.rank]); },
      [&](const std::vector<Tokens>& all) {
        sums.check(all, sums.plan().map.m, "the bounded run", sampled);
      });
}

// A rank that does not come to a run. The others end with its name.
void check_late(const tilepost_program_t& program, Rank& me) {
  constexpr double kDeadline = 2;
  Sums sums(program, me, kDeadline);
  const tilepost_plan_t& plan = sums.plan();
  const int tokens = static_cast<int>(share_of(plan, plan.map.m));
  const auto all = tokens_to_first(plan, 100, kTypesOfSums);
  sums.put(all[me.rank]);
  sums.run(tokens, plan.map.m);
  OK(sums.synchronize());
  const int late = me.ranks - 1;
  sums.route(tokens);
  if (me.rank != late) {
    sums.start(plan.map.m);
    const tilepost_result_t result = sums.synchronize();
    const std::string text = tilepost_last_error(), expected = "rank " + std::to_string(late);
    if (result != TILEPOST_TIMEOUT || text.find(expected) == std::string::npos)
      end("rank " + std::to_string(me.rank) + ", " + sums.name() +
          ": a late rank is reported as: " + text);
    if (me.rank == 0) std::printf("%s: %s\n", program.name, text.c_str());
  }
  me.meet_all();
}

int run(Rank me, int routings, int replays) {
  alarm(kDeadlineSeconds);
  if (!me.set_device()) return kSkipped;
  int programs = 0;
  for (int i = 0; i < kNumPrograms; ++i) {
    const tilepost_program_t& program = *kPrograms[i];
    const tilepost_plan_t& plan = program.plans[0];
    const bool layer = std::string(program.name).starts_with("layer_");  // for expert_layers
    if (plan.pattern != TILEPOST_GROUPED_GEMM_COMBINE || plan.ranks != me.ranks || layer) continue;
    ++programs;
    if (plan.most_rows < plan.map.m * plan.top) {
      for (const bool replayed : {false, true}) check_sums_bound(program, me, replayed);
    } else {
      check_results(program, me, routings, replays);
      check_late(program, me);
    }
    if (me.rank == 0) std::printf("%s: right\n", program.name), std::fflush(stdout);
  }
  return programs == 0 ? kSkipped : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  const int routings = argc > 2 ? std::atoi(argv[2]) : 200;
  const int replays = argc > 3 ? std::atoi(argv[3]) : 500;
  if (ranks < 2 || ranks > kMostRanks || routings < 1 || replays < 1) {
    std::fprintf(stderr, "usage: expert_sums 2..%d [routings] [replays]\n", kMostRanks);
    return 2;
  }
  const int worst = fork_ranks(ranks, [&](const Rank& me) { return run(me, routings, replays); });
  if (worst == 0)
    std::printf("PASS: %d routings, %d replays of each program, %d ranks\n", routings, replays,
                ranks);
  return worst;
}
