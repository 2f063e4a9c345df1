#include "runtime/cuda/op/buffers.h"

namespace tilepost::cuda {

tilepost_result_t OpBuffers::create(const RunMap* planned, int lanes, cudaStream_t stream) {
  const bool one_size = plan_.any_m == 0 && planned != nullptr && !transports_.windows;
  sizes_ = one_size ? planned->sizes : most_sizes(plan_);
  if (transports_.shared) device_bytes_ += transports_.shared->bytes();
  if (transports_.windows) device_bytes_ += transports_.windows->layout().bytes;
  const bool own = paths_.planned.exchanged == Memory::own;
  if (own && paths_.any(&RunPath::stores_apart))
    TILEPOST_TRY(add(send_, sizes_.send * output_bytes(), stream));
  if (paths_.planned.receives_in == Memory::own)
    TILEPOST_TRY(add(received_, sizes_.receive * output_bytes(), stream));
  TILEPOST_TRY(add(scratch_, lanes * sizes_.scratch * output_bytes(), stream));
  const int64_t row_bytes = plan_.k * element_bytes(plan_.input);
  if (paths_.planned.sorts_a) TILEPOST_TRY(add(packed_, plan_.rows_sent * row_bytes, stream));
  if (!own || !row_of(plan_).moves_input()) return TILEPOST_OK;
  return add(gathered_, plan_.map.m * row_bytes, stream);
}

tilepost_result_t OpBuffers::add(DeviceMemory& memory, int64_t bytes, cudaStream_t stream) {
  if (bytes == 0) return TILEPOST_OK;
  TILEPOST_TRY(make_device_memory(memory, static_cast<size_t>(bytes)));
  TILEPOST_CUDA(cudaMemsetAsync(memory.get(), 0, static_cast<size_t>(bytes), stream));
  device_bytes_ += bytes;
  return TILEPOST_OK;
}

tilepost_result_t OpBuffers::grow_received(int64_t elements, cudaStream_t stream, bool& grown) {
  grown = elements > sizes_.receive;
  if (!grown) return TILEPOST_OK;
  received_ = {};
  device_bytes_ -= sizes_.receive * output_bytes();
  sizes_.receive = 0;
  TILEPOST_TRY(add(received_, elements * output_bytes(), stream));
  sizes_.receive = elements;
  return TILEPOST_OK;
}

Buffers OpBuffers::of(const tilepost_run_operands_t& operands, const RunPath& path) const {
  Buffers buffers{};
  buffers.send = kernel_output(operands, path);
  buffers.out = received_of(operands, path);
  buffers.a = path.sorts_a ? packed_.get() : operands.a;
  if (row_of(plan_).moves_input()) buffers.gathered = gathered_of(operands, path);
  if (path.receives_in == Memory::own) buffers.scratch = scratch_.get();
  buffers.reduced = path.stores_apart() ? buffers.send : operands.out;
  if (path.copies_out()) buffers.result = operands.out;
  return buffers;
}

void* OpBuffers::scratch_of(int lane) const {
  return static_cast<char*>(scratch_.get()) + lane * sizes_.scratch * output_bytes();
}

void* OpBuffers::received_of(const tilepost_run_operands_t& operands, const RunPath& path) const {
  if (!path.receives_apart()) return operands.out;
  if (path.results == Buffer::landed) return shared_at(&SharedLayout::landed);
  return paths_.planned.receives_in == Memory::window ? transports_.windows->received()
                                                      : received_.get();
}

// Where the kernel stores tiles. A kernel that stores by owner finds its places in tables, which
// point only into memory of this operation. A kernel that stores into owners' memory gets this
// rank's own slots here, only so that its own tensor map has an address.
void* OpBuffers::kernel_output(const tilepost_run_operands_t& operands, const RunPath& path) const {
  if (path.stores == Buffer::owners) return shared_at(&SharedLayout::slots);
  if (path.stores_by_owner) return send_.get();
  if (!path.stores_apart()) return operands.out;
  if (path.exchanged == Memory::window) return transports_.windows->send();
  return path.exchanged == Memory::shared ? shared_at(&SharedLayout::send) : send_.get();
}

void* OpBuffers::gathered_of(const tilepost_run_operands_t& operands, const RunPath& path) const {
  if (path.gathers_for_caller && operands.gathered != nullptr) return operands.gathered;
  if (path.exchanged == Memory::window) return transports_.windows->gathered();
  return path.exchanged == Memory::shared ? shared_at(&SharedLayout::gathered) : gathered_.get();
}

void* OpBuffers::shared_at(int64_t SharedLayout::*region) const {
  const SharedRegions& regions = transports_.shared->regions();
  return regions.own(regions.layout().*region);
}

void* OpBuffers::lent_out() const {
  return paths_.planned.lends_out ? shared_at(&SharedLayout::landed) : nullptr;
}

// A run in sequence uses the shared memory too, if its kernel stores into that memory or reads it.
bool OpBuffers::uses_shared(const RunPath& path) const {
  return path.shares_memory() ||
         (path.exchanged == Memory::shared && (path.reads != InputFrom::a || path.stores_apart()));
}

void OpBuffers::leak() {
  for (DeviceMemory* memory : {&send_, &received_, &gathered_, &packed_, &scratch_}) memory->leak();
}

}  // namespace tilepost::cuda
