// To register a buffer, ranks exchange what they pass and where it is. Then each rank maps the
// others' buffers, and ranks exchange whether that succeeded. So all ranks go on, or all fail.
// Unregistering ends when all ranks have closed the memory that they had open.
//
// Mapping memory of other ranks, closing it and enabling peer access may wait for all work on the
// devices of the process. So before a rank does any of these, all ranks have come to the call,
// after their runs. The ranks of one process also meet on the host before one of them puts the next
// exchange on its device. Without the meeting a rank that still maps memory could wait for that
// exchange, which waits for this rank.
#include "runtime/cuda/registered/registered_outputs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "runtime/cuda/registered/process_meeting.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/peer_info.h"

namespace tilepost::cuda {

// What a rank sends about its buffer: a struct of numbers. `peer.bytes` and `peer.status` are not
// read. `peer.address` is the buffer's address. `peer.handle` is that of the allocation, in which
// the buffer begins at `offset`.
struct RegisteredOutputs::Info {
  RegistrationTerms terms;
  int64_t offset;
  int64_t seat;  // for the ProcessMeeting
  PeerInfo peer;
};

std::vector<RegistrationTerms> RegisteredOutputs::terms_of(const std::vector<Info>& infos) {
  std::vector<RegistrationTerms> terms(infos.size());
  std::ranges::transform(infos, terms.begin(), &Info::terms);
  return terms;
}

// The exchanges of ranks in one call.
class RegisteredOutputs::Exchange {
 public:
  static constexpr size_t kNumbers = sizeof(Info) / sizeof(int64_t);
  static_assert(sizeof(Info) % sizeof(int64_t) == 0);

  explicit Exchange(const SharedRanks& ranks)
      : ranks_(ranks), numbers_(ranks.channel, ranks.ranks, ranks.seconds) {}

  tilepost_result_t create() {
    TILEPOST_TRY(make_peer_info(ranks_.device, place_));
    return numbers_.create(kNumbers);
  }

  const SharedRanks& ranks() const { return ranks_; }
  // This rank's place, without memory.
  const PeerInfo& place() const { return place_; }
  void add_memory(tilepost_memory_t& memory) const { numbers_.add_memory(memory); }
  // Sets the name of the call that the ranks are in, for errors.
  void begin(const char* call) { call_ = call; }

  tilepost_result_t tell(Info& own, std::vector<Info>& all) {
    own.seat = ProcessMeeting::new_seat();
    std::array<int64_t, kNumbers> told{};
    std::memcpy(told.data(), &own, sizeof own);
    std::vector<int64_t> numbers;
    TILEPOST_TRY(run(told, numbers));
    all.resize(static_cast<size_t>(ranks_.ranks));
    std::memcpy(all.data(), numbers.data(), all.size() * sizeof(Info));
    std::vector<int64_t> seats;
    for (const Info& info : all)
      if (same_process(all[static_cast<size_t>(ranks_.rank)].peer, info.peer))
        seats.push_back(info.seat);
    meeting_.emplace(std::move(seats));
    return TILEPOST_OK;
  }

  // Sends the result of this rank's last step to the other ranks. Returns the first rank's result
  // that is not TILEPOST_OK.
  tilepost_result_t tell(tilepost_result_t own) {
    const std::string text = own != TILEPOST_OK ? tilepost_last_error() : "";
    TILEPOST_TRY(meet());
    std::vector<int64_t> results;
    TILEPOST_TRY(run(std::array<int64_t, 1>{own}, results));
    if (own != TILEPOST_OK) return fail(own, "%s", text.c_str());
    for (size_t rank = 0; rank < results.size(); ++rank)
      if (results[rank] != TILEPOST_OK)
        return fail(static_cast<tilepost_result_t>(results[rank]),
                    "%s: rank %zu could not map the others' buffers; its own error says why", call_,
                    rank);
    return TILEPOST_OK;
  }

  cudaStream_t stream() const { return numbers_.stream(); }
  // Whether the work that was issued last has ended.
  bool is_idle() const { return numbers_.is_idle(); }
  void leak() { numbers_.leak(); }

 private:
  // Meets the ranks of this process. All of them have come to the call.
  tilepost_result_t meet() {
    const tilepost_result_t result =
        meeting_->meet(ranks_.seconds, [this] { return ranks_.channel.check_async(); });
    if (result != TILEPOST_OK) ranks_.channel.abort();
    return explain(result);
  }

  tilepost_result_t run(std::span<const int64_t> own, std::vector<int64_t>& all) {
    return explain(numbers_.run(own, all));
  }

  tilepost_result_t explain(tilepost_result_t result) const {
    if (result != TILEPOST_TIMEOUT) return result;
    return fail(result,
                "rank %d: %s: the other ranks did not come within %g s: a rank did not arrive, or "
                "failed in this call",
                ranks_.rank, call_, ranks_.seconds);
  }

  const SharedRanks ranks_;
  const char* call_ = "";
  PeerInfo place_{};
  NumberExchange numbers_;
  std::optional<ProcessMeeting> meeting_;  // the meeting of the call
};

RegisteredOutputs::RegisteredOutputs(const tilepost_plan_t& plan, const Driver& driver,
                                     int64_t operation)
    : plan_(plan), driver_(driver), operation_(operation) {}

// The last exchange of the ranks may occupy the device, and freeing memory would wait for it.
RegisteredOutputs::~RegisteredOutputs() {
  close();
  if (exchange_ && !exchange_->is_idle()) tables_.leak();
}

tilepost_result_t RegisteredOutputs::create(const SharedRanks& ranks) {
  exchange_ = std::make_unique<Exchange>(ranks);
  TILEPOST_TRY(exchange_->create());
  return make_device_memory(tables_, kMostRegistered * table_bytes());
}

void RegisteredOutputs::add_needs(int ranks, tilepost_memory_t& memory) {
  memory.device_bytes += static_cast<int64_t>(kMostRegistered * table_bytes_of(ranks));
  NumberExchange::add_needs(Exchange::kNumbers, ranks, memory);
}

void RegisteredOutputs::add_memory(tilepost_memory_t& memory) const {
  memory.device_bytes += tables_.bytes();
  if (exchange_) exchange_->add_memory(memory);
}

void** RegisteredOutputs::table(int which) const {
  return static_cast<void**>(tables_.get()) + static_cast<ptrdiff_t>(which) * plan_.ranks;
}

// The first table that no buffer has. There is always one, because there are as many tables as
// there may be buffers.
int RegisteredOutputs::free_table() const {
  const auto is_taken = [&](int table) {
    return std::ranges::any_of(buffers_, [&](const auto& other) { return other->table == table; });
  };
  int table = 0;
  while (is_taken(table)) ++table;
  return table;
}

void RegisteredOutputs::close() {
  for (const auto& buffer : buffers_) close(*buffer);
  buffers_.clear();
  ranges_.clear();
}

void RegisteredOutputs::close(Buffer& buffer) {
  for (void* memory : buffer.opened)
    if (cudaIpcCloseMemHandle(memory) != cudaSuccess) cudaGetLastError();
  buffer.opened.clear();
}

void RegisteredOutputs::leak() {
  for (const auto& buffer : buffers_) buffer->opened.clear();
  tables_.leak();
  if (exchange_) exchange_->leak();
}

tilepost_result_t RegisteredOutputs::add(void* buffer, int64_t bytes) {
  exchange_->begin("tilepost_op_register");
  auto fresh = std::make_unique<Buffer>();
  Info own{};
  own.peer = exchange_->place();
  const tilepost_result_t described = describe(buffer, bytes, own, *fresh);
  const std::string text = described != TILEPOST_OK ? tilepost_last_error() : "";
  own.terms = {operation_, static_cast<int64_t>(Registration::adds), described, count_ + 1, bytes};
  if (described != TILEPOST_OK) own.terms.number = 0;
  std::vector<Info> infos;
  TILEPOST_TRY(exchange_->tell(own, infos));
  TILEPOST_TRY(agree_on_registration(exchange_->ranks().rank, terms_of(infos), text.c_str()));
  ++count_;  // if ranks do not agree, perhaps not all of them have come here
  const tilepost_result_t mapped = exchange_->tell(map(infos, *fresh));
  if (mapped != TILEPOST_OK) return give_up(mapped, *fresh);
  ranges_.push_back({count_, static_cast<const char*>(buffer), bytes});
  buffers_.push_back(std::move(fresh));
  return TILEPOST_OK;
}

// When this returns no rank has the buffer open, so the caller may free it. But if the last
// exchange has not ended it may occupy the device, and closing memory would wait for it, so nothing
// is closed.
tilepost_result_t RegisteredOutputs::give_up(tilepost_result_t result, Buffer& fresh) {
  const std::string text = tilepost_last_error();
  if (exchange_->is_idle()) {
    close(fresh);
    static_cast<void>(exchange_->tell(TILEPOST_OK));
  }
  return fail(result, "%s", text.c_str());
}

tilepost_result_t RegisteredOutputs::describe(void* buffer, int64_t bytes, Info& info,
                                              Buffer& fresh) const {
  const int device = exchange_->ranks().device;
  TILEPOST_TRY(check_buffer(plan_, buffer, bytes, ranges_));
  TILEPOST_TRY(find_caller_memory(driver_, device, tables_.get(), buffer, bytes, fresh.memory));
  info.peer.address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(buffer));
  info.offset = static_cast<char*>(buffer) - fresh.memory.base;
  const cudaError_t error = cudaIpcGetMemHandle(&info.peer.handle, fresh.memory.base);
  info.peer.has_handle = error == cudaSuccess ? 1 : 0;
  if (error != cudaSuccess) cudaGetLastError();
  return TILEPOST_OK;
}

// Each rank's table is in place before the rank reports success.
tilepost_result_t RegisteredOutputs::map(const std::vector<Info>& infos, Buffer& fresh) const {
  const Info& own = infos[static_cast<size_t>(exchange_->ranks().rank)];
  fresh.places.resize(infos.size());
  for (size_t peer = 0; peer < infos.size(); ++peer)
    TILEPOST_TRY(reach(static_cast<int>(peer), own, infos[peer], fresh, fresh.places[peer]));
  fresh.table = free_table();
  TILEPOST_CUDA(cudaMemcpyAsync(static_cast<void*>(table(fresh.table)),
                                static_cast<const void*>(fresh.places.data()), table_bytes(),
                                cudaMemcpyHostToDevice, exchange_->stream()));
  TILEPOST_CUDA(cudaStreamSynchronize(exchange_->stream()));
  return TILEPOST_OK;
}

// Finds where the peer's buffer is. Peer access stays enabled even if this fails. The operation was
// made only because the devices reach each other.
tilepost_result_t RegisteredOutputs::reach(int peer, const Info& own, const Info& info,
                                           Buffer& fresh, void*& place) {
  place = reinterpret_cast<void*>(static_cast<uintptr_t>(info.peer.address));
  if (same_process(own.peer, info.peer)) {
    if (own.peer.ordinal == info.peer.ordinal) return TILEPOST_OK;
    TILEPOST_CUDA(enable_peer_access(static_cast<int>(info.peer.ordinal)));
    return TILEPOST_OK;
  }
  const std::string name = name_of(peer, info.peer);
  if (info.peer.has_handle == 0)
    return fail(TILEPOST_UNSUPPORTED,
                "CUDA gave %s no handle of its buffer for other processes (cudaIpcGetMemHandle); "
                "pass it as out without registering it",
                name.c_str());
  void* base = nullptr;
  const cudaError_t error =
      cudaIpcOpenMemHandle(&base, info.peer.handle, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return fail(TILEPOST_UNSUPPORTED,
                "the buffer of %s could not be mapped: cudaIpcOpenMemHandle → %s: %s; pass it as "
                "out without registering it",
                name.c_str(), cudaGetErrorName(error), cudaGetErrorString(error));
  }
  fresh.opened.push_back(base);
  place = static_cast<char*>(base) + info.offset;
  return TILEPOST_OK;
}

tilepost_result_t RegisteredOutputs::remove(const void* buffer) {
  exchange_->begin("tilepost_op_unregister");
  const RegisteredRange* range = nullptr;
  const tilepost_result_t found = find_registered(ranges_, buffer, range);
  const std::string text = found != TILEPOST_OK ? tilepost_last_error() : "";
  Info own{};
  own.peer = exchange_->place();
  own.terms = {operation_, static_cast<int64_t>(Registration::removes), found,
               range != nullptr ? range->number : 0, range != nullptr ? range->bytes : 0};
  std::vector<Info> infos;
  TILEPOST_TRY(exchange_->tell(own, infos));
  TILEPOST_TRY(agree_on_registration(exchange_->ranks().rank, terms_of(infos), text.c_str()));
  const auto at = range - ranges_.data();
  close(*buffers_[static_cast<size_t>(at)]);
  ranges_.erase(ranges_.begin() + at);
  buffers_.erase(buffers_.begin() + at);
  return exchange_->tell(TILEPOST_OK);  // announces that the buffer is closed
}

// Memory that was freed without having been unregistered is found here only if it is this rank's
// own. The other ranks do not store there before this rank's kernel has begun.
tilepost_result_t RegisteredOutputs::find(const void* out, int64_t bytes,
                                          RegisteredOutput& output) const {
  output = {};
  const RegisteredRange* range = nullptr;
  TILEPOST_TRY(find_output(ranges_, out, bytes, range));
  if (range == nullptr) return TILEPOST_OK;
  const Buffer& buffer = *buffers_[static_cast<size_t>(range - ranges_.data())];
  if (!is_still_there(driver_, out, buffer.memory.id))
    return fail(TILEPOST_INVALID_ARGUMENT,
                "out, %p, lies in memory that was freed after it had been registered; call "
                "tilepost_op_unregister on all ranks before any of them frees its buffer",
                out);
  output = {range->number, table(buffer.table), buffer.places.data()};
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
