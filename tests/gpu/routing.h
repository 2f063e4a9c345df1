// A routing on a GPU for the tests of routing, and what the host's twin makes of the same tokens.
#ifndef TILEPOST_TESTS_GPU_ROUTING_H
#define TILEPOST_TESTS_GPU_ROUTING_H

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/host/routing_reference.h"
#include "tilepost/host/routing.h"

namespace gpu_routing {

using routing::below;
using routing::Load;
using routing::Random;
using routing::Shape;
using routing::Tables;
using routing::Tokens;
using routing::Types;

[[noreturn]] inline void end(const std::string& text) {
  std::printf("FAIL: %s\n", text.c_str());
  std::exit(1);
}

#define CUDA(call)                                                 \
  do {                                                             \
    if (const cudaError_t error_ = (call); error_ != cudaSuccess)  \
      end(std::string(#call) + ": " + cudaGetErrorString(error_)); \
  } while (false)
#define OK(call)                                                                       \
  do {                                                                                 \
    if ((call) != TILEPOST_OK) end(std::string(#call) + ": " + tilepost_last_error()); \
  } while (false)

// Device memory for ids and weights, which the tokens of several sets use in turn.
class Operands {
 public:
  explicit Operands(size_t routes) {
    CUDA(cudaMalloc(&ids_, std::max<size_t>(routes, 1) * 8));
    CUDA(cudaMalloc(&weights_, std::max<size_t>(routes, 1) * 4));
  }
  Operands(const Operands&) = delete;
  ~Operands() {
    cudaFree(ids_);
    cudaFree(weights_);
  }

  void put(const Tokens& tokens, cudaStream_t stream) const {
    CUDA(cudaMemcpyAsync(ids_, tokens.id_bytes.data(), tokens.id_bytes.size(),
                         cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(weights_, tokens.weight_bytes.data(), tokens.weight_bytes.size(),
                         cudaMemcpyHostToDevice, stream));
  }
  const void* ids() const { return ids_; }
  const void* weights() const { return weights_; }

 private:
  void* ids_ = nullptr;
  void* weights_ = nullptr;
};

class Graph {
 public:
  // Captures what `body` puts on the stream.
  template <class Body>
  Graph(cudaStream_t stream, const Body& body) {
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    body();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable_, graph, 0));
    CUDA(cudaGraphDestroy(graph));
  }
  Graph(const Graph&) = delete;
  ~Graph() { cudaGraphExecDestroy(executable_); }
  void replay(cudaStream_t stream) const { CUDA(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

// A routing, and what its twin on the host makes of the same tokens.
class Routing {
 public:
  // `rank`: the rank of `comm`, whose device is current. Sets go on `stream`.
  Routing(tilepost_comm_t comm, int rank, const Shape& shape, Types types, cudaStream_t stream,
          double deadline_seconds = 60)
      : rank_(rank),
        shape_(shape),
        types_(types),
        stream_(stream),
        operands_(size_t{1} * shape.most_tokens * shape.top) {
    const tilepost_routing_options_t options = types.options(deadline_seconds);
    OK(tilepost_routing_create(comm, shape.experts, shape.top, shape.most_tokens, &options,
                               &handle_));
    OK(tilepost_routing_get_info(handle_, &info_));
  }
  Routing(const Routing&) = delete;
  ~Routing() { OK(tilepost_routing_destroy(handle_)); }

  void put(Tokens& tokens) const {
    tokens.encode(types_);
    operands_.put(tokens, stream_);
  }
  void set(int tokens) const {
    OK(tilepost_routing_set(handle_, operands_.ids(), operands_.weights(), tokens, stream_));
  }
  tilepost_result_t synchronize() const {
    CUDA(cudaStreamSynchronize(stream_));
    return tilepost_routing_synchronize(handle_);
  }

  // Returns in which table the device differs from the twin, or "". `all` has the tokens of all
  // ranks, encoded by `types`.
  std::string difference(const std::vector<Tokens>& all, const std::vector<Types>& types) const {
    const Tables found = read();
    Tables twin = found;
    const auto fill = [](auto& table) {
      std::memset(table.data(), 0xA5, table.size() * sizeof table[0]);
    };
    fill(twin.expert_ends), fill(twin.row_tokens), fill(twin.token_rows), fill(twin.tokens);
    fill(twin.token_weights), fill(twin.token_ranks), fill(twin.rank_rows);
    std::vector<tilepost::RoutedTokens> brought;
    for (size_t rank = 0; rank < all.size(); ++rank)
      brought.push_back({all[rank].id_bytes.data(), all[rank].weight_bytes.data(),
                         types[rank].wide_ids, types[rank].half_weights, all[rank].tokens});
    tilepost::RoutingFault fault{};
    tilepost::route_tokens({shape_.experts, shape_.top, shape_.ranks, rank_, shape_.most_tokens},
                           brought,
                           {twin.expert_ends.data(), twin.row_tokens.data(), twin.token_rows.data(),
                            twin.token_weights.data(), twin.token_ranks.data(), twin.tokens.data(),
                            twin.rank_rows.data()},
                           fault);
    const auto differs = [](const auto& one, const auto& other, size_t first, size_t count) {
      return std::memcmp(one.data() + first, other.data() + first, count * sizeof one[0]) != 0;
    };
    const size_t each = size_t{1} * shape_.most_tokens * shape_.top, rows = twin.expert_ends.back();
    if (differs(found.tokens, twin.tokens, 0, all.size())) return "tokens";
    if (differs(found.rank_rows, twin.rank_rows, 0, all.size())) return "rank_rows";
    if (differs(found.expert_ends, twin.expert_ends, 0, twin.expert_ends.size()))
      return "expert_ends";
    if (differs(found.row_tokens, twin.row_tokens, 0, rows)) return "row_tokens";
    for (size_t rank = 0; rank < all.size(); ++rank) {
      const size_t routes = size_t{1} * all[rank].tokens * shape_.top;
      if (differs(found.token_rows, twin.token_rows, rank * each, routes)) return "token_rows";
      if (differs(found.token_weights, twin.token_weights, rank * each, routes))
        return "token_weights";
    }
    if (differs(found.token_ranks, twin.token_ranks, 0, all[rank_].tokens)) return "token_ranks";
    return "";
  }
  // The same with one rank.
  std::string difference(const Tokens& tokens) const { return difference({tokens}, {types_}); }

  tilepost_expert_routing_t get() const { return handle_; }
  // What set() routes.
  const Operands& operands() const { return operands_; }

  // The tables.
  Tables read() const {
    return read_tables(shape_, info_, [](void* to, const void* from, size_t bytes) {
      CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    });
  }

 private:
  const int rank_;
  const Shape shape_;
  const Types types_;
  const cudaStream_t stream_;
  const Operands operands_;
  tilepost_expert_routing_t handle_ = nullptr;
  tilepost_routing_info_t info_{};
};

}  // namespace gpu_routing

#endif  // TILEPOST_TESTS_GPU_ROUTING_H
