#include "runtime/cuda/shared/host/host_rings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/cuda/shared/host/host_memory.h"

namespace tilepost::cuda {
namespace {

constexpr int64_t kLine = 64;  // bytes: each word has a line of its own, so that no two ranks'
                               // words are in one
constexpr int64_t kPage = 4096;
constexpr std::chrono::microseconds kReleasePeriod{50};
constexpr const char* kWayOut = ", or use transport 'nccl'";

// The lines of a segment: its front, the end word, for each channel what the rank has received from
// each rank and what it has sent, and the words of its chunks.
constexpr int64_t kEndWord = HostSegment::kFront;

// An end word has the number of the rank that has failed, from 1, and behind it the number of the
// rank that it waited for, from 1, or 0 if it failed for another reason.
constexpr int kAwaitedAt = 16;
constexpr uint32_t kRankBits = (1 << kAwaitedAt) - 1;

// What a rank tells the others of its own steps.
struct Report {
  int64_t result, segment, token;
};
constexpr size_t kReportNumbers = sizeof(Report) / sizeof(int64_t);

uint32_t read(const uint32_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void write(uint32_t* word, uint32_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

std::string mib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// The words in front of a segment's rings: the end word, counts by row and peer, and a line for
// each chunk.
int64_t count_word_of(int ranks, int row, int peer) {
  return kEndWord + kLine * (1 + int64_t{row} * ranks + peer);
}
int64_t words_bytes_of(int ranks, const RingShape& shape) {
  const int64_t chunks = int64_t{ranks - 1} * shape.channels * shape.chunks;
  const int64_t bytes = count_word_of(ranks, 2 * shape.channels, 0) + kLine * chunks;
  return (bytes + kPage - 1) / kPage * kPage;
}

// Unpins memory, if it is pinned.
void unpin(void* memory) {
  if (memory != nullptr && cudaHostUnregister(memory) != cudaSuccess) cudaGetLastError();
}

}  // namespace

RingShape& HostRings::usual_shape() {
  static RingShape shape;
  return shape;
}

HostRings::~HostRings() {
  if (releaser_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    releaser_.join();
  }
  for (const auto& peer : peers_) {
    if (leaked_) {
      peer->segment.leak();
      continue;
    }
    unpin(peer->rings);
    unpin(peer->words);
  }
}

tilepost_result_t HostRings::create(const SharedRanks& ranks, const RingShape& shape) {
  rank_ = ranks.rank;
  ranks_ = ranks.ranks;
  device_ = ranks.device;
  shape_ = shape;
  for (int peer = 0; peer < ranks_; ++peer) peers_.push_back(std::make_unique<Peer>());
  TILEPOST_TRY(share(ranks));
  releaser_ = std::thread([this] { keep_releasing(); });
  return TILEPOST_OK;
}

// All ranks come to both exchanges, whatever has failed on them, and then agree on the result.
tilepost_result_t HostRings::share(const SharedRanks& ranks) {
  NumberExchange exchange(ranks.channel, ranks_, ranks.seconds);
  TILEPOST_TRY(exchange.create(kReportNumbers));
  std::string text;
  std::vector<int64_t> all;
  const auto meet = [&](tilepost_result_t own, const HostSegment::Address& address,
                        const char* what) -> tilepost_result_t {
    if (own != TILEPOST_OK) text = tilepost_last_error();
    const int64_t report[kReportNumbers] = {own, address.segment, address.token};
    TILEPOST_TRY(explain_absence(exchange.run(report, all), rank_, "rings of pinned host memory",
                                 ranks.seconds));
    if (own != TILEPOST_OK) return fail(own, "%s", text.c_str());
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto result = static_cast<tilepost_result_t>(all[rank * kReportNumbers]);
      if (result != TILEPOST_OK)
        return fail(result, "rank %d could not %s; its own error says why", rank, what);
    }
    return TILEPOST_OK;
  };
  HostSegment::Address own{};
  const tilepost_result_t made = make_own(own);
  TILEPOST_TRY(meet(made, own, "make pinned host memory for transport host_copies"));
  tilepost_result_t attached = TILEPOST_OK;
  for (int peer = 0; peer < ranks_ && attached == TILEPOST_OK; ++peer) {
    const auto* report = &all[peer * kReportNumbers];
    if (peer != rank_) attached = attach(peer, {report[1], report[2]});
  }
  return meet(attached, own, "attach the other ranks' host memory for transport host_copies");
}

int64_t HostRings::bytes_of(int ranks, const RingShape& shape) {
  return words_bytes_of(ranks, shape) +
         (ranks - 1) * shape.channels * shape.chunks * shape.chunk_bytes;
}

int64_t HostRings::words_bytes() const {
  return words_bytes_of(ranks_, shape_);
}

// The pages are touched by the rank that places them. A control group without room would end the
// process then, so it is asked before.
tilepost_result_t HostRings::make_own(HostSegment::Address& address) {
  Peer& own = *peers_[rank_];
  const int64_t bytes = this->bytes();
  if (const std::string why = why_no_room(bytes); !why.empty())
    return fail(TILEPOST_OUT_OF_MEMORY,
                "rank %d: transport host_copies needs %s of pinned host memory, and %s has no room "
                "for them; raise its limit, or use transport 'nccl'",
                rank_, mib(bytes).c_str(), why.c_str());
  address = own.segment.make(static_cast<size_t>(bytes));
  if (!own.segment.is_attached())
    return fail(TILEPOST_OUT_OF_MEMORY,
                "rank %d: the system gives no %s of shared host memory for transport host_copies "
                "(shmget: %s); raise the limits kernel.shmmax and kernel.shmall%s",
                rank_, mib(bytes).c_str(), std::strerror(errno), kWayOut);
  place_near(device_, own.segment.memory() + words_bytes(), bytes - words_bytes());
  std::memset(own.segment.memory() + HostSegment::kFront, 0,
              static_cast<size_t>(bytes) - HostSegment::kFront);
  for (int to = 0; to < ranks_; ++to)
    for (int channel = 0; to != rank_ && channel < shape_.channels; ++channel)
      for (int index = 0; index < shape_.chunks; ++index)
        write(word_at(rank_, chunk_word(rank_, to, channel, index)), kEmpty);
  return pin(own, words_bytes(), bytes - words_bytes());
}

tilepost_result_t HostRings::attach(int peer, const HostSegment::Address& address) {
  Peer& other = *peers_[peer];
  if (!other.segment.join(address, static_cast<size_t>(bytes())))
    return fail(TILEPOST_UNSUPPORTED,
                "rank %d: transport host_copies passes data through the memory of one host, and "
                "rank %d shares none with rank %d: it is on another host, or in a container with "
                "an IPC namespace of its own; start such containers with --ipc=host%s",
                rank_, peer, rank_, kWayOut);
  return pin(other, words_bytes() + place_of(peer, rank_) * pair_bytes(), pair_bytes());
}

// Pins the words of a segment, and `bytes` bytes from `first` on.
tilepost_result_t HostRings::pin(Peer& peer, int64_t first, int64_t bytes) {
  const auto pin_one = [&](char* memory, int64_t size, void*& pinned) -> tilepost_result_t {
    const cudaError_t error = cudaHostRegister(memory, static_cast<size_t>(size),
                                               cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess) {
      fail_cuda(TILEPOST_PLACE(cudaHostRegister), error);
      const std::string why = tilepost_last_error();
      return fail(TILEPOST_OUT_OF_MEMORY,
                  "rank %d: could not pin %s of host memory for transport host_copies: %s; the "
                  "limit on locked memory (ulimit -l) is %s: raise it%s",
                  rank_, mib(size).c_str(), why.c_str(), locked_memory_limit().c_str(), kWayOut);
    }
    pinned = memory;
    return TILEPOST_OK;
  };
  char* const memory = peer.segment.memory();
  TILEPOST_TRY(pin_one(memory, words_bytes(), peer.words));
  void* device = nullptr;
  TILEPOST_CUDA(cudaHostGetDevicePointer(&device, peer.words, 0));
  peer.device_words = static_cast<char*>(device);
  return pin_one(memory + first, bytes, peer.rings);
}

int64_t HostRings::count_word(int row, int peer) const {
  return count_word_of(ranks_, row, peer);
}

uint32_t* HostRings::count_at(int row, int peer) const {
  return reinterpret_cast<uint32_t*>(peers_[rank_]->device_words + count_word(row, peer));
}

int64_t HostRings::chunk_word(int from, int to, int channel, int index) const {
  const int64_t ring = int64_t{place_of(from, to)} * shape_.channels + channel;
  return count_word(2 * shape_.channels, 0) + kLine * (ring * shape_.chunks + index);
}

// For the host, at the addresses of this process.
uint32_t* HostRings::word_at(int owner, int64_t offset) const {
  return reinterpret_cast<uint32_t*>(peers_[owner]->segment.memory() + offset);
}

HostRings::Chunk HostRings::chunk(int from, int to, int channel, int64_t index) const {
  const Peer& owner = *peers_[from];
  const auto slot = static_cast<int>(index % shape_.chunks);
  const int64_t pair = from == rank_ ? place_of(from, to) * pair_bytes() : 0;
  return {
      static_cast<char*>(owner.rings) + pair + channel * ring_bytes() + slot * shape_.chunk_bytes,
      reinterpret_cast<uint32_t*>(owner.device_words + chunk_word(from, to, channel, slot))};
}

uint32_t* HostRings::end_word() const {
  return reinterpret_cast<uint32_t*>(peers_[rank_]->device_words + kEndWord);
}

// A stream serves all ranks, so a rank that does not come also holds up the messages of others. A
// rank is not waited for if it has sent a chunk that lies here, or if it could get another one.
bool HostRings::is_awaited(Awaited what, int channel, int peer) const {
  const bool receives = what == Awaited::received;
  const int from = receives ? peer : rank_, to = receives ? rank_ : peer;
  int full = 0;
  for (int index = 0; index < shape_.chunks; ++index)
    if (read(word_at(from, chunk_word(from, to, channel, index))) == kFull) ++full;
  return full == (receives ? 0 : shape_.chunks);
}

std::optional<OpenWait> HostRings::find_open_wait(int groups) const {
  std::optional<OpenWait> found;
  int first_row = 0;
  for (int row = 0; row < 2 * shape_.channels; ++row) {
    const Awaited what = row % 2 == 0 ? Awaited::received : Awaited::taken;
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      const auto group = static_cast<int>(read(word_at(rank_, count_word(row, peer))));
      if (group >= groups || !is_awaited(what, row / 2, peer)) continue;
      if (!found || group < found->group) {
        found = OpenWait{what, false, group, {}, 0};
        first_row = row;
      }
      if (row == first_row && group == found->group) found->ranks.push_back(peer);
    }
  }
  if (found) awaited_ = found->ranks.front();
  return found;
}

tilepost_result_t HostRings::check() const {
  if (is_aborted())
    return fail(TILEPOST_ABORTED, "another operation that uses the same rings has failed");
  const uint32_t failed = read(word_at(rank_, kEndWord));
  if (failed == 0) return TILEPOST_OK;
  const uint32_t rank = (failed & kRankBits) - 1, awaited = failed >> kAwaitedAt;
  if (awaited == 0)
    return fail(TILEPOST_ABORTED,
                "rank %u has failed, so what it sends did not all arrive; its own error says why",
                rank);
  return fail(
      TILEPOST_ABORTED,
      "rank %u has failed, because rank %u did not arrive or has stopped; its own error says "
      "in which group",
      rank, awaited - 1);
}

// The other ranks are told before any of their data can be spoilt. The order of these stores is
// that of the host's memory (x86 keeps the order of stores; elsewhere the fence does).
void HostRings::abort() {
  if (aborted_.exchange(true) || peers_.empty()) return;
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_ || !peers_[peer]->segment.is_attached()) continue;
    const auto told = static_cast<uint32_t>(rank_ + 1 + ((awaited_ + 1) << kAwaitedAt));
    uint32_t none = 0;
    __atomic_compare_exchange_n(word_at(peer, kEndWord), &none, told, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::lock_guard lock(mutex_);
  releases_ = true;
  changed_.notify_all();
}

// Writes to every word that this rank's streams may wait for.
void HostRings::release() const {
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank_) continue;
    for (int channel = 0; channel < shape_.channels; ++channel)
      for (int index = 0; index < shape_.chunks; ++index) {
        write(word_at(rank_, chunk_word(rank_, peer, channel, index)), kReleased);
        write(word_at(peer, chunk_word(peer, rank_, channel, index)), kReleased);
      }
  }
  write(word_at(rank_, kEndWord), 0);
}

// Streams that have been released write words themselves, and wait for the next ones. So the words
// are written until no stream can wait any more.
void HostRings::keep_releasing() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || releases_; });
  while (!stopping_) {
    release();
    changed_.wait_for(lock, kReleasePeriod, [this] { return stopping_; });
  }
}

void HostRings::leak() {
  leaked_ = true;
}

}  // namespace tilepost::cuda
