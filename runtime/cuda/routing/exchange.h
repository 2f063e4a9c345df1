// The kernel that makes a routing's tables where several ranks have tokens. Every rank stores the
// experts and weights of its tokens into the windows of all ranks, and waits until all ranks have
// stored theirs into its own. docs/internals/memory-model.md says why that is right.
#pragma once

#include "runtime/cuda/routing/route.h"

namespace tilepost::cuda {

// A rank with at most so many routes stores them in lines.
constexpr int kLineRoutes = kRouteThreads;

// The memory of a rank into which all ranks store, in bytes from its beginning. Sets of even and of
// odd number have halves of their own: a rank that stores for set n + 2 has ended set n + 1, for
// which it waited until all ranks had begun set n + 1, and so ended set n.
//
// A *line* is sixteen bytes that are stored in one access: two words, and behind them the number of
// the set. A thread that finds this number has the words too.
struct RouteWindow {
  // `blocks`: how many blocks store, at most.
  TILEPOST_INLINE RouteWindow(const RoutingShape& shape, int most_blocks)
      : ranks(shape.ranks),
        blocks(most_blocks),
        routes(static_cast<int64_t>(shape.most_tokens) * shape.top) {}

  // The lines of `source`. The first one says how many tokens that rank has. If the rank stores
  // routes in lines, they follow: a weight and an expert or kNoExpertWord, or the two halves of a
  // wrong id, of which the second has its highest bit set.
  TILEPOST_INLINE int64_t line(int half, int source, int number) const {
    return ((static_cast<int64_t>(half) * ranks + source) * (1 + kLineRoutes) + number) *
           kLineBytes;
  }
  // Otherwise each block of the source that stores has a flag, which gets the number of the set
  // when the block has stored its routes.
  TILEPOST_INLINE int64_t flag(int half, int source, int block) const {
    return line(2, 0, 0) + ((static_cast<int64_t>(half) * ranks + source) * blocks + block) * 8;
  }
  // The first wrong id of the block's tokens, where the experts have one.
  TILEPOST_INLINE int64_t wrong_id(int half, int source, int block) const {
    return flag(2, 0, 0) + flag(half, source, block) - flag(0, 0, 0);
  }
  // The experts of the source's routes, in 16 bits each: an expert, kNoExpert or kWrongId.
  TILEPOST_INLINE int64_t experts(int half, int source) const {
    return whole_lines(wrong_id(2, 0, 0)) + (half * ranks + source) * part_bytes();
  }
  // The weights of the source's routes, in fp32.
  TILEPOST_INLINE int64_t weights(int half, int source) const {
    return experts(half, source) + whole_lines(routes * 2);
  }
  TILEPOST_INLINE int64_t bytes() const { return experts(2, 0); }

  static constexpr int kLineBytes = 16;
  static constexpr uint32_t kNoExpertWord = 0x40000000;
  int ranks, blocks;
  int64_t routes;

 private:
  TILEPOST_INLINE static int64_t whole_lines(int64_t bytes) { return (bytes + 127) / 128 * 128; }
  TILEPOST_INLINE int64_t part_bytes() const {
    return whole_lines(routes * 2) + whole_lines(routes * 4);
  }
};

// Words of this rank's own, all 0 at first. Numbers of sets have 64 bits, so that no number comes
// again.
struct RouteNumbers {
  uint64_t sets;     // how many sets there have been
  uint32_t readers;  // how many blocks have read that number in this set
  uint32_t
      given_up;  // not 0: another rank did not come in time, and nothing is waited for any more
};

struct ExchangeArguments : RouteArguments {
  int32_t blocks;  // of the grid, the same on all ranks
  RouteNumbers* numbers;
  uint64_t deadline_ns;             // 0: none
  char* windows[kMostRoutedRanks];  // by rank, as this rank reaches them
};

// Loads the kernel for these types.
cudaError_t preload_exchange(RouteTypes types);

// Makes the tables of one rank, together with the kernels of the other ranks. All of
// arguments.blocks blocks are resident at the same time.
cudaError_t launch_exchange(const ExchangeArguments& arguments, RouteTypes types,
                            cudaStream_t stream);

}  // namespace tilepost::cuda
