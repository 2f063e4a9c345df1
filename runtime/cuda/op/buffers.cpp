#include "runtime/cuda/op/buffers.h"

#include "runtime/cuda/consumers/token_list.h"
#include "runtime/map/moved_scales.h"

namespace tilepost::cuda {

namespace {

// The sizes for which buffers are made. Windows have room for whole shares.
RunSizes sizes_of(const tilepost_plan_t& plan, const RunMap* planned) {
  const bool windows = plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
  const bool one_size = plan.any_m == 0 && planned != nullptr && !windows;
  return one_size ? planned->sizes : most_sizes(plan);
}

// The bytes of each buffer; 0 where there is none.
struct BufferBytes {
  int64_t send = 0, received = 0, scratch = 0, packed = 0, gathered = 0, token_list = 0,
          products = 0, sum_words = 0;
};
BufferBytes bytes_of(const tilepost_plan_t& plan, const RunSizes& sizes, int lanes) {
  const RunPaths paths = paths_of(plan);
  const bool own = paths.planned.exchanged == Memory::own;
  const int64_t width = element_bytes(plan.output);
  BufferBytes bytes;
  if (own && paths.any(&RunPath::stores_apart)) bytes.send = sizes.send * width;
  if (paths.planned.receives_in == Memory::own) bytes.received = sizes.receive * width;
  bytes.scratch = lanes * sizes.scratch * width;
  if (paths.planned.sorts_a) bytes.packed = place_of_rows(plan, plan.rows_sent).bytes;
  if (own && row_of(plan).moves_input()) bytes.gathered = place_of_rows(plan, plan.map.m).bytes;
  if (paths.planned.lists_tiles)
    bytes.token_list =
        token_list_bytes(most_tile_rows(plan.most_rows, plan.experts, plan.map.tile_m));
  if (paths.planned.combines) bytes.products = plan.most_rows * plan.map.n * width;
  if (paths.planned.sums_at_home) bytes.sum_words = sizeof(HomeSumWords);
  return bytes;
}

}  // namespace

void OpBuffers::add_needs(const tilepost_plan_t& plan, const RunMap* planned, int lanes,
                          tilepost_memory_t& memory) {
  const BufferBytes bytes = bytes_of(plan, sizes_of(plan, planned), lanes);
  memory.device_bytes += bytes.send + bytes.received + bytes.scratch + bytes.packed +
                         bytes.gathered + bytes.token_list + bytes.products + bytes.sum_words;
}

void OpBuffers::add_memory(tilepost_memory_t& memory) const {
  for (const DeviceMemory* own :
       {&send_, &received_, &gathered_, &packed_, &scratch_, &token_list_, &products_, &sum_words_})
    memory.device_bytes += own->bytes();
}

tilepost_result_t OpBuffers::create(const RunMap* planned, int lanes, cudaStream_t stream) {
  sizes_ = sizes_of(plan_, planned);
  const BufferBytes bytes = bytes_of(plan_, sizes_, lanes);
  TILEPOST_TRY(make(send_, bytes.send, stream));
  TILEPOST_TRY(make(received_, bytes.received, stream));
  TILEPOST_TRY(make(scratch_, bytes.scratch, stream));
  TILEPOST_TRY(make(packed_, bytes.packed, stream));
  TILEPOST_TRY(make(token_list_, bytes.token_list, stream));
  TILEPOST_TRY(make(products_, bytes.products, stream));
  TILEPOST_TRY(make(sum_words_, bytes.sum_words, stream));
  return make(gathered_, bytes.gathered, stream);
}

tilepost_result_t OpBuffers::make(DeviceMemory& memory, int64_t bytes, cudaStream_t stream) {
  if (bytes == 0) return TILEPOST_OK;
  TILEPOST_TRY(make_device_memory(memory, static_cast<size_t>(bytes)));
  TILEPOST_CUDA(cudaMemsetAsync(memory.get(), 0, static_cast<size_t>(bytes), stream));
  return TILEPOST_OK;
}

tilepost_result_t OpBuffers::grow_received(int64_t elements, cudaStream_t stream, bool& grown) {
  grown = elements > sizes_.receive;
  if (!grown) return TILEPOST_OK;
  received_ = {};
  sizes_.receive = 0;
  TILEPOST_TRY(make(received_, elements * output_bytes(), stream));
  sizes_.receive = elements;
  return TILEPOST_OK;
}

Buffers OpBuffers::of(const tilepost_run_operands_t& operands, const RunPath& path) const {
  Buffers buffers{};
  buffers.send = kernel_output(operands, path);
  buffers.out = received_of(operands, path);
  buffers.a = path.sorts_a ? packed_.get() : operands.a;
  if (row_of(plan_).moves_input()) buffers.gathered = gathered_of(operands, path);
  if (moved_scales(plan_).exist()) find_scales(operands, path, buffers);
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
  return place_of_gathered(path);
}

void* OpBuffers::place_of_gathered(const RunPath& path) const {
  if (path.exchanged == Memory::window) return transports_.windows->gathered();
  return path.exchanged == Memory::shared ? shared_at(&SharedLayout::gathered) : gathered_.get();
}

float* OpBuffers::packed_scales() const {
  return scales_behind(packed_.get(), plan_.rows_sent);
}

// Where scales move with rows of A, they come together in the caller's memory or behind the
// operation's rows.
void OpBuffers::find_scales(const tilepost_run_operands_t& operands, const RunPath& path,
                            Buffers& buffers) const {
  buffers.scales = path.sorts_a ? packed_scales() : operands.scale_a;
  const bool for_caller = path.gathers_for_caller && operands.gathered_scales != nullptr;
  buffers.gathered_scales =
      for_caller ? operands.gathered_scales : scales_behind(place_of_gathered(path), plan_.map.m);
}

// The scales behind `rows` rows of A in memory of this operation.
float* OpBuffers::scales_behind(void* place, int64_t rows) const {
  return reinterpret_cast<float*>(static_cast<char*>(place) + place_of_rows(plan_, rows).scales);
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
  for (DeviceMemory* memory :
       {&send_, &received_, &gathered_, &packed_, &scratch_, &token_list_, &products_, &sum_words_})
    memory->leak();
}

}  // namespace tilepost::cuda
