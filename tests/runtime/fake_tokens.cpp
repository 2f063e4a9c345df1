// Stand-ins for the kernels that list tile rows of tokens, push tokens and sum tokens. Where ranks
// are threads, lists, tokens that are pushed and sums at home are made with data.
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>

#include "runtime/cuda/consumers/home_sums.h"
#include "runtime/cuda/consumers/token_list.h"
#include "runtime/cuda/consumers/token_sums.h"
#include "tests/runtime/fake_ranks.h"
#include "tests/runtime/fakes.h"
#include "tilepost/host/token_list.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/numeric.h"

using namespace fakes;

namespace tilepost::cuda {
namespace {

cudaError_t launched(const std::string& line) {
  return call(line) ? cudaErrorLaunchFailure : cudaSuccess;
}

// As kernels that look at the bound. Returns whether a rank has too many rows.
bool find_fault(const RowsBound& bound) {
  for (int rank = 0; bound.rank_rows != nullptr && rank < bound.ranks; ++rank) {
    if (bound.rank_rows[rank] <= bound.most) continue;
    if (bound.fault->found == 0) *bound.fault = {1, rank, bound.rank_rows[rank]};
    return true;
  }
  return false;
}

// As the kernel: the same list in the memory of lists.
void make_list(const TokenListArguments& args, bool over) {
  Experts experts{args.expert_ends, args.experts};
  experts.tokens = args.row_tokens;
  std::vector<tilepost_token_tile_t> list(1);
  if (!over) list = list_token_tiles(experts, args.m, args.tile_m, args.groups);
  std::memcpy(args.memory, list.data(), list.size() * sizeof list.front());
}

// Stores the rows of a group on every other rank.
void store_rows(const RowPushes& pushes, int group) {
  const PushedRows& rows = pushes.rows[group];
  for (int rank = 0; rank < pushes.ranks; ++rank)
    if (rank != pushes.rank)
      std::memcpy(static_cast<char*>(pushes.there[rank]) + rows.to,
                  static_cast<const char*>(pushes.a) + rows.from, static_cast<size_t>(rows.bytes));
}

void count_rows(const RowPushes& pushes, int group) {
  const auto chunks = static_cast<uint32_t>(pushed_chunks(pushes.rows[group].bytes));
  for (int rank = 0; rank < pushes.ranks; ++rank)
    if (rank != pushes.rank)
      __atomic_fetch_add(pushes.raise[rank] + group * TILEPOST_COUNTER_STRIDE, chunks,
                         __ATOMIC_RELEASE);
}

// Pushes with data.
void push(const RowPushes& pushes) {
  constexpr std::chrono::milliseconds kLate{1};
  if (pushes.groups == 0 || load(*pushes.given_up) != 0) return;
  for (int group = 0; group < pushes.groups; ++group) {
    if (world().counts_before_rows) {
      count_rows(pushes, group);
      std::this_thread::sleep_for(kLate);
    }
    store_rows(pushes, group);
    if (!world().counts_before_rows) count_rows(pushes, group);
  }
}

// The other ranks do what this one does, so that their rows are counted here. All shares are equal.
void count_others(const RowPushes& pushes) {
  for (int group = 0; group < pushes.groups && !world().collectives_hang; ++group)
    pushes.raise[pushes.rank][group * TILEPOST_COUNTER_STRIDE] +=
        static_cast<uint32_t>((pushes.ranks - 1) * pushed_chunks(pushes.rows[group].bytes));
}

float element(const void* base, int64_t at) {
  return to_float(static_cast<const Bf16*>(base)[at]);
}

// A run of home_sums on one rank. It stores all parts of other ranks' tokens before it waits for
// those of its own.
class HomeSums {
 public:
  explicit HomeSums(const HomeSumArguments& args)
      : args_(args), flags_(args.flags), run_(*args.flags.run) {}

  void send() const {
    for (int owner = 0; owner < flags_.ranks; ++owner)
      for (int part = 0; owner != flags_.rank && part < args_.parts.count(); ++part) {
        if (!exists(owner, part)) continue;
        auto* const to = static_cast<Bf16*>(args_.peer_out[owner]);
        each_column(part, [&](int token, int column) {
          to[place(token, column)] = from_float<Bf16>(own_sum(owner, token, column));
        });
        store(*flag_of(owner, part, flags_.rank), run_);
      }
  }
  void add() const {
    for (int part = 0; part < args_.parts.count(); ++part) {
      if (!exists(flags_.rank, part)) continue;
      for (int rank = 0; rank < flags_.ranks; ++rank)
        if (rank != flags_.rank &&
            !fakes::ranks::wait_for_run(flags_, flag_of(flags_.rank, part, rank), run_))
          return;
      each_column(part, [&](int token, int column) {
        static_cast<Bf16*>(args_.out)[place(token, column)] =
            from_float<Bf16>(sum_of_ranks(token, column));
      });
    }
  }

 private:
  bool exists(int owner, int part) const {
    return part / args_.parts.across < args_.sums.rows_of_share(owner);
  }
  int64_t place(int token, int column) const { return int64_t{token} * args_.n + column; }

  template <class Body>
  void each_column(int part, const Body& body) const {
    const int first = part % args_.parts.across * args_.parts.columns;
    for (int i = 0; i < args_.parts.columns && first + i < args_.n; ++i)
      body(part / args_.parts.across, first + i);
  }
  uint32_t* flag_of(int where, int part, int source) const {
    uint32_t* const first = flags_.of[where] + (flags_.arrived - flags_.of[flags_.rank]);
    return first + exchange_flag_word(flags_.parts, run_, 0, part) + source;
  }

  float own_sum(int owner, int token, int column) const {
    float sum = 0;
    const long long first = args_.sums.entries_of({owner, token});
    for (int i = 0; first >= 0 && i < args_.sums.top; ++i)
      if (const int row = args_.sums.token_rows[first + i]; row >= 0)
        sum = std::fma(args_.sums.token_weights[first + i],
                       element(args_.products, place(row, column)), sum);
    if (owner == flags_.rank && args_.residual != nullptr)
      sum += element(args_.residual, place(token, column));
    return sum;
  }
  float sum_of_ranks(int token, int column) const {
    float sum = 0;
    for (int rank = 0; rank < flags_.ranks; ++rank) {
      const auto* const slot = static_cast<const char*>(args_.slots) + rank * args_.slot_bytes;
      sum += rank == flags_.rank ? to_float(from_float<Bf16>(own_sum(rank, token, column)))
                                 : element(slot, place(token, column));
    }
    return sum;
  }

  const HomeSumArguments& args_;
  const SharedFlags& flags_;
  const uint32_t run_;
};

}  // namespace

cudaError_t preload_token_list() {
  return launched("preload_token_list");
}
cudaError_t launch_token_list(const TokenListArguments& arguments, int, cudaStream_t stream) {
  const RowPushes& pushes = arguments.pushes;
  const cudaError_t error =
      launched("token_list " + stream_of(stream).name + " " + std::to_string(arguments.m) +
               (pushes.groups > 0 ? " pushes " + std::to_string(all_pushed_chunks(pushes)) : ""));
  const bool over = find_fault(arguments.bound);
  if (error != cudaSuccess) return error;
  if (!world().threads) {
    count_others(pushes);
    return error;
  }
  make_list(arguments, over);
  push(pushes);
  return error;
}

cudaError_t preload_token_sums(tilepost_dtype_t) {
  return launched("preload_token_sums");
}
// Every tile raises the counter of its group.
cudaError_t launch_token_sums(const TokenSumArguments& arguments, tilepost_dtype_t, int /*sms*/,
                              cudaStream_t stream) {
  const std::lock_guard lock(world().mutex);
  const cudaError_t error =
      launched("token_sums " + stream_of(stream).name + " " + std::to_string(arguments.num_tiles));
  if (error != cudaSuccess || stream_of(stream).hang.holds()) return error;
  for (int i = 0; i < arguments.num_tiles; ++i)
    ++arguments.counters[arguments.tiles[i].group * TILEPOST_COUNTER_STRIDE];
  return cudaSuccess;
}

cudaError_t preload_home_sums(tilepost_dtype_t) {
  return launched("preload_home_sums");
}
int home_sum_warps(int sms) {
  return sms;
}
cudaError_t launch_home_sums(const HomeSumArguments& arguments, tilepost_dtype_t, int /*sms*/,
                             cudaStream_t stream) {
  const cudaError_t error = launched("home_sums " + stream_of(stream).name + " " +
                                     std::to_string(arguments.parts.count()));
  if (error != cudaSuccess) return error;
  // Behind a run with too many rows nothing is stored any more.
  if (find_fault(arguments.bound)) arguments.words->over = 1;
  if (arguments.words->over != 0 || !world().threads || load(*arguments.flags.given_up) != 0)
    return error;
  const HomeSums sums(arguments);
  sums.send();
  sums.add();
  return error;
}

}  // namespace tilepost::cuda
