#include "runtime/cuda/transport/transport.h"

#include <algorithm>
#include <array>

#include "runtime/cuda/device/at_once.h"
#include "runtime/map/patterns.h"

namespace tilepost::cuda {
namespace {

struct Row {
  tilepost_transport_t transport;
  tilepost_result_t (*make)(const TransportSetup&, Transports&);
};

constexpr std::array<Row, 7> kTransports = {{
    {TILEPOST_TRANSPORT_NONE, make_none},
    {TILEPOST_TRANSPORT_NCCL, make_nccl},
    {TILEPOST_TRANSPORT_NCCL_SYMMETRIC, make_nccl_symmetric},
    {TILEPOST_TRANSPORT_HOST_COPIES, make_host_copies},
    {TILEPOST_TRANSPORT_COPY_ENGINE, make_copy_engine},
    {TILEPOST_TRANSPORT_PEER, make_peer},
    {TILEPOST_TRANSPORT_PEER_TILES, make_peer},
}};

}  // namespace

tilepost_result_t make_transports(const TransportSetup& setup, Transports& transports) {
  if (!row_of(setup.plan).communicates()) return make_local(setup, transports);
  std::shared_ptr<ControlChannel> control;
  TILEPOST_TRY(setup.comm.control(setup.deadline_seconds, control));
  transports.channels.push_back(std::move(control));
  const auto* row = std::ranges::find(kTransports, setup.plan.transport, &Row::transport);
  if (row != kTransports.end()) return row->make(setup, transports);
  return fail(
      TILEPOST_UNSUPPORTED,
      "transport %d is not one of the CUDA target's (none, nccl, nccl_symmetric, "
      "host_copies, copy_engine, peer, peer_tiles); regenerate the program with one of these",
      static_cast<int>(setup.plan.transport));
}

tilepost_result_t Transports::exchange(const int64_t* from, int64_t* to, size_t count,
                                       cudaStream_t stream) {
  return channels.front()->exchange(from, to, count, stream);
}

tilepost_result_t Transports::check_async() {
  for (const auto& channel : channels) TILEPOST_TRY(channel->check_async());
  return rings ? rings->check() : TILEPOST_OK;
}

void Transports::add_memory(tilepost_memory_t& memory) const {
  if (shared) shared->add_memory(memory);
  if (windows) windows->add_memory(memory);
  if (overlapping) overlapping->add_memory(memory);
}

// Aborting a communicator waits for the device, where the collective of another communicator may
// hang until that one is aborted too. So all are aborted at once.
void Transports::abort() {
  if (shared) shared->abort();
  if (rings) rings->abort();
  for_all_at_once(channels, [](const auto& channel) { channel->abort(); });
}

void Transports::close(bool failed, bool stuck) {
  if (!overlapping) return;
  overlapping->close(failed, stuck);
  if (stuck && windows) windows->leak();
  if (stuck && shared) shared->leak();
  overlapping.reset();
  // The memory of other processes that the service has mapped belongs to this device.
  shared.reset();
  windows.reset();
  rings.reset();
}

}  // namespace tilepost::cuda
