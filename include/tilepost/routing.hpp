// Owner of a routing of experts, over tilepost/routing.h.
#ifndef TILEPOST_ROUTING_HPP
#define TILEPOST_ROUTING_HPP

#include <utility>

#include "tilepost/routing.h"
#include "tilepost/tilepost.hpp"

namespace tilepost {

// A routing. It is empty until create() has filled it. Calls of an empty one return
// TILEPOST_INVALID_ARGUMENT. Operations that are bound to it (tilepost_options_t::routing) are
// destroyed before it, and it before its communicator.
class Routing {
 public:
  Routing() = default;
  Routing(Routing&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Routing& operator=(Routing&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  // Waits for the routing's sets, within the deadline.
  ~Routing() { tilepost_routing_destroy(handle_); }

  // tilepost_routing_create: collective.
  static Status create(
      const Comm& comm, int experts, int top, int64_t most_tokens, Routing& routing,
      const tilepost_routing_options_t& options = tilepost_default_routing_options()) {
    Routing made;
    const Status status(
        tilepost_routing_create(comm.get(), experts, top, most_tokens, &options, &made.handle_));
    if (status) routing = std::move(made);
    return status;
  }

  // tilepost_routing_set: routes m tokens of this rank, asynchronously in `stream`; collective.
  Status set(const void* ids, const void* weights, int64_t m, CUstream_st* stream) {
    return Status(tilepost_routing_set(handle_, ids, weights, m, stream));
  }
  // tilepost_routing_status and tilepost_routing_synchronize.
  Status status() { return Status(tilepost_routing_status(handle_)); }
  Status synchronize() { return Status(tilepost_routing_synchronize(handle_)); }
  // tilepost_routing_get_info.
  Status get_info(tilepost_routing_info_t& info) const {
    return Status(tilepost_routing_get_info(handle_, &info));
  }

  tilepost_expert_routing_t get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  tilepost_expert_routing_t handle_ = nullptr;
};

}  // namespace tilepost

#endif  // TILEPOST_ROUTING_HPP
