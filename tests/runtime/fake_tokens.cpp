// Stand-ins for the kernels that list tile rows of tokens and that sum tokens. Where ranks are
// threads, sums at home are made with data.
#include <cmath>
#include <string>

#include "runtime/cuda/consumers/home_sums.h"
#include "runtime/cuda/consumers/token_list.h"
#include "runtime/cuda/consumers/token_sums.h"
#include "tests/runtime/fake_ranks.h"
#include "tests/runtime/fakes.h"
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
  const cudaError_t error =
      launched("token_list " + stream_of(stream).name + " " + std::to_string(arguments.m));
  find_fault(arguments.bound);
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
