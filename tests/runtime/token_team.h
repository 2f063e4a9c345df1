// Ranks as threads whose operation is bound to a routing, with data: random tokens of all ranks,
// for which the host's twin makes the tables. Cases give the program, the GEMM, the operands of a
// run, and what is right.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/routing/routing.h"
#include "tests/catch.h"
#include "tests/host/routing_reference.h"
#include "tests/runtime/rank_kernel.h"
#include "tests/runtime/routed.h"
#include "tilepost/host/routing.h"
#include "tilepost/numeric.h"

namespace token_team {

using ranks::Rank;
using ranks::Ranks;
using ranks::self;
using routing::below;
using routing::Load;
using routing::Random;
using routing::Tokens;
using tilepost::Bf16;

constexpr int kExperts = 3, kTop = 4;  // experts of a rank, and of a token
constexpr int64_t kMost = 61;          // tokens of all ranks
constexpr uint16_t kUntouched = 0x7f7f;

// One run of all ranks.
struct OneRun {
  std::vector<Tokens> tokens;  // [ranks]
  int64_t m;
  bool captured = false;
};

class TokenTeam : public OnFakes {
 public:
  virtual ~TokenTeam() noexcept(false) { destroy(); }

  void create(int count, int64_t most_rows = kMost * kTop, double deadline_seconds = 5) {
    use(count, most_rows);
    program_.plan.experts = kExperts;
    program_.plan.top = kTop;
    program_.plan.most_rows = most_rows;
    program_.plan.any_m = 1;
    program_.finish();
    all_ = std::make_unique<Ranks>(program_, count, deadline_seconds);
    fakes::world().kernel = [this](void** arguments) { return multiply(arguments); };
    seats_.resize(static_cast<size_t>(count));
    all_->on_all([&](int rank, Rank& mine) {
      mine.result = make_rank(rank, mine, deadline_seconds);
      if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    });
    INFO(all_->text());
    REQUIRE(all_->all_ok());
  }
  void destroy() {
    if (all_ == nullptr) return;
    all_->on_all([&](int rank, Rank& mine) {
      tilepost_op_destroy(std::exchange(mine.setup.op, nullptr));
      tilepost_routing_destroy(std::exchange(seats_[rank].routing, nullptr));
      mine.setup.release();
    });
    all_.reset();
  }

  Ranks& all() { return *all_; }
  int count() const { return static_cast<int>(seats_.size()); }
  int64_t share(int64_t m) const { return (m + count() - 1) / count(); }
  // The rows of a rank's share of m rows.
  int64_t rows_of(int rank, int64_t m) const {
    return std::clamp<int64_t>(m - rank * share(m), 0, share(m));
  }
  routing::Shape shape() const {
    return {count(), kExperts * count(), kTop, static_cast<int>(share(kMost))};
  }

  OneRun random_run(Random& random) const {
    OneRun run{{}, 1 + below(random, kMost), below(random, 3) == 0};
    for (int rank = 0; rank < count(); ++rank) {
      const auto most = static_cast<int>(rows_of(rank, run.m));
      const auto load = static_cast<Load>(below(random, routing::kLoads));
      const int tokens = below(random, 3) == 0 ? most : below(random, most + 1);
      run.tokens.push_back(random_tokens(shape(), tokens, load, random));
      run.tokens.back().encode({false, false});
    }
    return run;
  }
  // Tokens of all ranks for which rank 0 has `rows` rows.
  OneRun run_for_first(int rows) const {
    OneRun run{{}, kMost};
    for (int rank = 0; rank < count(); ++rank) {
      Tokens& tokens = run.tokens.emplace_back();
      tokens.tokens = static_cast<int>(rows_of(rank, kMost));
      for (int route = 0; route < tokens.tokens * kTop; ++route)
        tokens.ids.push_back(rows-- > 0 ? route % kExperts : -1);
      tokens.weights.assign(tokens.ids.size(), 1);
      tokens.encode({false, false});
    }
    return run;
  }

  // Makes the runs on all ranks but `absent`, one after the other, and looks at their outputs. A
  // rank may be ahead of another.
  void run(const std::vector<OneRun>& runs, int absent = -1) {
    const uint32_t first = runs_ + 1;
    runs_ += static_cast<uint32_t>(runs.size());
    all_->on_all([&](int rank, Rank& mine) {
      for (size_t i = 0; i < runs.size() && rank != absent; ++i) {
        self().run = first + static_cast<uint32_t>(i);
        ranks::linger();
        seats_[rank].wrong += start(rank, mine, runs[i]) != TILEPOST_OK;
        if (seats_[rank].checks) seats_[rank].wrong += count_wrong(rank, runs[i]);
      }
    });
  }
  // Makes random runs, first each by itself, then one behind the other. The m of a captured run has
  // had an eager run.
  void run_random(int times, Random& random) {
    std::vector<OneRun> runs;
    for (int i = 0; i < times; ++i) runs.push_back(random_run(random));
    for (OneRun& one : runs) {
      const OneRun captured = std::exchange(one, OneRun{one.tokens, one.m});
      run({one});
      if (captured.captured) run({captured});
    }
    run(runs);
  }
  int64_t wrong() const {
    int64_t sum = 0;
    for (const Seat& seat : seats_) sum += seat.wrong;
    return sum;
  }
  // The outputs of runs from here on are not looked at.
  void leave_unchecked() {
    for (Seat& seat : seats_) seat.checks = false;
  }
  bool untouched(int rank) const {
    return std::ranges::all_of(seats_[rank].out, [](Bf16 v) { return v.bits == kUntouched; });
  }

 protected:
  struct Seat {
    tilepost_expert_routing_t routing = nullptr;
    std::vector<Bf16> a, out, residual, gathered;
    int64_t wrong = 0;
    bool checks = true;
  };

  // Edits `program_` for so many ranks.
  virtual void use(int count, int64_t most_rows) = 0;
  // Stands for the GEMM on the calling rank.
  virtual fakes::Hang multiply(void** arguments) = 0;
  // Gives a rank its memory for a run, and its operands.
  virtual void give(int rank, const OneRun& run, tilepost_run_operands_t& operands) = 0;
  // How many elements of a rank's outputs are wrong after a run.
  virtual int64_t count_wrong(int rank, const OneRun& run) const = 0;

  tilepost_routing_info_t tables_of(int rank) const {
    tilepost_routing_info_t info{};
    tilepost_routing_get_info(seats_[rank].routing, &info);
    return info;
  }

  sample::Program program_;
  std::vector<Seat> seats_;

 private:
  tilepost_result_t make_rank(int rank, Rank& mine, double deadline_seconds) {
    const tilepost_unique_id_t id{};
    TILEPOST_TRY(tilepost_comm_init(&id, rank, count(), &mine.setup.comm));
    tilepost_expert_routing_t& routing = seats_[rank].routing;
    TILEPOST_TRY(tilepost_routing_create(mine.setup.comm, shape().experts, kTop,
                                         shape().most_tokens, nullptr, &routing));
    tilepost_options_t options = tilepost_default_options();
    options.deadline_seconds = deadline_seconds;
    options.routing = routing;
    return tilepost_op_create(mine.setup.comm, &program_.program, &options, &mine.setup.op);
  }

  void make_tables(int rank, const std::vector<Tokens>& all) const {
    std::vector<tilepost::RoutedTokens> of_ranks;
    for (const Tokens& tokens : all)
      of_ranks.push_back(
          {tokens.id_bytes.data(), tokens.weight_bytes.data(), false, false, tokens.tokens});
    const tilepost_routing_info_t info = tables_of(rank);
    const auto writable = [](const auto* table) {
      return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(table)>>*>(table);
    };
    tilepost::RoutingFault fault{};
    tilepost::route_tokens(
        seats_[rank].routing->shape(), of_ranks,
        {writable(info.expert_ends), writable(info.row_tokens), writable(info.token_rows),
         writable(info.token_weights), writable(info.token_ranks), writable(info.tokens),
         writable(info.rank_rows)},
        fault);
  }

  tilepost_result_t start(int rank, Rank& mine, const OneRun& run) {
    make_tables(rank, run.tokens);
    tilepost_run_operands_t operands = sample::operands();
    operands.m = run.m;
    give(rank, run, operands);
    const fakes::Capture capture(mine.user, run.captured);
    mine.result = tilepost_op_run_with(mine.setup.op, &operands, mine.user);
    if (mine.result != TILEPOST_OK) mine.text = tilepost_last_error();
    return mine.result;
  }

  std::unique_ptr<Ranks> all_;
  uint32_t runs_ = 0;
};

}  // namespace token_team
