// Stand-ins for CUDA, NCCL and the runtime's kernels. Tests link them instead of the real ones, so
// that the CUDA target's host code runs where there is no GPU.
//
// Time does not pass: work that is put on a stream is done at once, unless something on the stream
// hangs. Device memory is host memory. A launched GEMM raises the counters that its tiles name. A
// wait looks at its counter. Every call is logged and counted, and any call can be made to fail.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cuda/shared/peer_info.h"
#include "tilepost/tilepost.h"

namespace tilepost::cuda {
struct RunWords;
}

namespace fakes {

// Work that hangs: a collective until release_all(), a wait until `over` returns true.
struct Hang {
  bool stuck = false;
  std::function<bool()> over;

  bool holds() const { return stuck && !(over && over()); }
};

// A stream whose work is either done, or behind something that hangs.
struct Stream {
  std::string name;
  int device = 0;
  Hang hang{};
  bool capturing = false;
  unsigned long long capture = 0;  // the number of the capture, while `capturing`
  // What the last kernel does while other ranks go on. It is done before the next call on the
  // stream.
  std::function<void()> late{};
};
struct Event {
  Hang hang{};
  bool captured = false;
  unsigned long long capture = 0;  // the number of the capture, where `captured`
};

// One NCCL call that moves data.
struct NcclCall {
  std::string name;  // "send"
  const void* from;
  void* to;
  size_t count;
  int type;  // ncclDataType_t
  int peer;
  int group;  // the number of the group, counted from 1; 0 outside of a group
  const void* comm;
  std::string stream;
};

// One copy from device to device.
struct Copy {
  const void* from;
  void* to;
  size_t bytes;
};

// Memory that is or was registered with a communicator as a window.
struct Window {
  const void* comm;
  char* memory;
  size_t bytes;
  bool live;

  bool holds(const void* pointer) const { return pointer >= memory && pointer < memory + bytes; }
};

// An event that a call recorded or waited for. `line` is the index of the call in the log.
struct Link {
  size_t line;
  const void* event;
};

// One sum of parts of several ranks.
struct Sum {
  std::vector<const void*> parts;
  void* out;
  void* sums;
  void* clear;
  int64_t count;
};

// An allocation of the caller's.
struct CallerMemory {
  size_t bytes;
  int device;
  unsigned long long id;
  std::string kind = "cudaMalloc";  // or "pool", "virtual", "graph", "managed", "host"
};

// The machine that the fakes imitate.
struct Machine {
  int num_devices = 2;
  int compute_major = 9, compute_minor = 0;
  int sms = 132;
  // SMs of the green context that the caller's streams belong to; 0: no green context
  unsigned stream_sms = 0;
  int max_shared_bytes = 232448;
  int blocks_per_sm = 1;
  std::array<unsigned, 3> block{};  // of the last GEMM's launch
  int max_threads = 1024;
  bool has_driver = true;
  bool tensor_maps_fail = false;
  bool peer_access = true;     // between any two devices
  bool memory_handles = true;  // CUDA shares memory between processes
  std::set<int> cannot_pin;    // devices for which no host memory can be registered
  std::set<int> cannot_open;   // devices of processes that cannot open memory of other processes
  // Whether additions to, or stores in, other ranks' memory get lost.
  bool additions_lost = false, stores_lost = false;
  bool others_visible = true;  // whether this process sees the devices of other processes
  uint32_t signals_per_tile = 2;
  std::map<const void*, int> host_pointers;           // pointers that are not device memory
  std::map<const void*, CallerMemory> caller_memory;  // keyed by the first address

  // What the adopted communicator reports.
  int comm_ranks = 2, comm_rank = 1, comm_device = 0;
  int async_error = 0;  // ncclResult_t
  // The result of registering window number n, counted from 0, instead of success. The call also
  // gives a window only if `gives_windows` is set.
  std::function<int(int n)> window_answer;  // ncclResult_t
  bool gives_windows = true;
};

// What goes wrong, and what the kernels and the other ranks do.
struct Behaviour {
  int fail_at = 0;  // the call to fail, counted from 1 since reset_calls(); 0: none
  // Only calls of this thread are counted for fail_at; default: all threads.
  std::thread::id fails_on;
  // Collectives hang as when a rank does not arrive. Where ranks share memory, the other ranks then
  // announce and end nothing any more.
  bool collectives_hang = false;
  uint32_t gemm_posts_percent = 100;  // how much of each group's signals the GEMM posts
  bool waits_give_up = false;         // polling waits report a timeout at once
  bool gemm_raises = true;            // the GEMM raises its tiles' groups' counters
  bool gemm_stamps = false;           // … and notes when it has computed them
  bool gemm_waits = false;            // … or it waits for them
  bool gemm_stops = false;            // … and then does not end until something is aborted
  bool pushes_stop = false;           // tasks push nothing (ranks.h)
  bool counts_before_rows = false;    // tokens that are pushed are counted before they are stored
  bool begins_early = false;          // a run begins before all ranks have ended the one before
  std::optional<uint32_t> replay;     // the number of the next replay, if not the one that is due
  bool unloaded = false;              // the process ends: CUDA answers cudaErrorCudartUnloading
  bool no_memory = false;             // asking for an event finds no host memory
  std::string nccl_hangs;         // the call of NCCL that does not return as long as it stands here
  int aborts_meet = 0;            // aborting a communicator waits until so many are being aborted
  std::function<void()> on_gemm;  // what happens elsewhere while a GEMM is being launched
  std::function<void()> on_write;  // … before memory of the host is copied to a device
  // Ranks are threads (ranks.h): what waits for another rank makes its thread wait, sums are
  // summed, and the kernel is the test's own.
  bool threads = false;
  // How long a stream's wait for a value makes its thread wait, before the stream hangs.
  std::chrono::milliseconds patience{5000};
  std::function<Hang(void** arguments)> kernel;  // returns what keeps the kernel from ending
  std::function<void()> on_post;                 // called after a group's arrival was posted
  // Called while devices or processes get or lose access to memory.
  std::function<void()> on_mapping;
  std::function<void(const void* x, int rows, int n)> on_norm;
  // Where ranks share memory: changes what another rank reports of its run. Without this function
  // every rank reports the same as this one.
  std::function<void(int rank, tilepost::cuda::RunWords&)> edit_run;
  // The result of an exchange of numbers (from, to, count). If empty, every rank sends the same
  // numbers as this one.
  std::function<void(const int64_t*, int64_t*, size_t)> exchange;
};

// The calls since reset_calls().
struct Calls {
  int calls = 0;  // only those that can fail
  std::vector<std::string> log;
  std::vector<NcclCall> nccl;
  std::vector<Copy> copies;
  std::vector<Link> links;
  std::vector<Sum> sums;
  std::vector<const void*> waits;  // the words for which streams were made to wait for a value
  int early_launches = 0;          // launches that need not wait for the kernel before them
};

// What else has happened since reset().
struct Seen {
  std::string failed_call;
  uint64_t time = 0;              // ns, as stamps note it: it passes with every stamp
  std::vector<std::string> maps;  // tensor maps: "<columns>x<rows> box <columns>x<rows> …"
  std::vector<std::unique_ptr<Window>> windows;
  std::set<const void*> allocated;                           // by cudaMalloc and not yet freed
  std::map<const void*, size_t> device_sizes, pinned_sizes;  // bytes of what is not yet freed
  // How many times other processes have mapped each allocation.
  std::map<const void*, int> mappings;
  int freed_while_mapped = 0;  // allocations freed while mapped, which CUDA leaves undefined
  std::set<int> accessible;    // devices whose access has been enabled
  int memory_calls = 0;        // calls that allocate or free device memory or pinned memory
  int groups_begun = 0, groups_ended = 0;
  tilepost_shape_t shape{};  // of the last launch
  tilepost_view_t view{};    // of the last launch
  // These are the operands of the last launch, or where their tensor maps begin.
  const void *a = nullptr, *b = nullptr, *out = nullptr;
  tilepost_epilogue_t epilogue{};  // of the last launch
  int aborted_comms = 0;
  int aborts_begun = 0, aborts_alone = 0;  // aborts_alone: how many gave up waiting for the others
  int max_ctas = 0, cluster_size = 0;      // of the last split
};

// How many resources of each kind have not been released.
struct Live {
  std::atomic<int> live_allocations = 0, live_pinned = 0, live_streams = 0, live_events = 0,
                   live_comms = 0;
  std::atomic<int> live_mappings = 0;  // of other processes' memory
  std::atomic<int> live_pools = 0;
  std::atomic<int> live_handles = 0;   // of memory made by cuMemCreate
  std::atomic<int> live_windows = 0;   // NCCL's windows
  std::atomic<int> live_pins = 0;      // host memory that is registered with CUDA
  std::atomic<int> hanging_calls = 0;  // calls that have not returned (Behaviour::nccl_hangs)

  int live() const {
    return live_allocations + live_pinned + live_streams + live_events + live_comms +
           live_mappings + live_pools + live_windows + live_handles + live_pins;
  }
  // Forgets what a test has left on purpose, so that the next test does not count it.
  void forget() {
    live_allocations = live_pinned = live_streams = live_events = live_comms = 0;
    live_mappings = live_pools = live_windows = live_handles = live_pins = 0;
  }
};

struct World : Machine, Behaviour, Calls, Seen, Live {
  std::recursive_mutex mutex;  // the watchdog calls too
  std::set<Event*> events;
  std::set<Stream*> streams;

  void reset_calls() {
    const std::lock_guard lock(mutex);
    static_cast<Calls&>(*this) = {};
  }
};

// What the fake encoder writes at the beginning of a tensor map.
struct MapOf {
  void* base;
  uint64_t columns, rows;
  uint64_t row_bytes;  // from one row to the next
};

// The one world. reset() starts it afresh.
World& world();
void reset();

// A us later than at the last call.
uint64_t tick();

// The calling thread's device.
int& current_device();

// Logs `line` and counts a call that can fail. Returns true when this call is to fail.
bool call(const std::string& line);

// A stream of the caller's, which is not counted as live.
CUstream_st* user_stream(const std::string& name, int device = 0);
// Which calls this thread may make while streams are captured
// (cudaThreadExchangeStreamCaptureMode).
cudaStreamCaptureMode& capture_mode();
Stream& stream_of(CUstream_st* handle);
// Executes the stream's `late` work.
void settle(Stream& stream);

// Moves bytes as a copy or a kernel does. It does nothing where tests have made up the addresses.
void move_bytes(void* to, const void* from, size_t bytes);

// Begins or ends the capture of a stream. At the end, the streams of its device that joined the
// capture leave it.
void capture(Stream& stream, bool on);

// Captures a stream as long as this object lives.
class Capture {
 public:
  explicit Capture(CUstream_st* stream, bool captured = true);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Stream& stream_;
};

// Writes the numbers of this rank to `to` as `rank` would send them: the same, except for the GPU.
void say_as(int rank, const int64_t* own, int64_t* to, size_t count);
// How many numbers a rank says when it makes a routing; the last ones are its PeerInfo.
constexpr size_t kRoutingNumbers = 5 + tilepost::cuda::kPeerInfoNumbers;

// Ends collectives that hang, as aborting them does.
void release_all();

// Lets hanging NCCL calls return, and waits until they have returned.
void return_all();

}  // namespace fakes
