// Stand-ins for CUDA, NCCL and the runtime's kernels, linked instead of the real ones, so that the
// CUDA target's host code runs where there is no GPU.
//
// Time does not pass: what is put on a stream is done at once, unless something on it hangs. Device
// memory is host memory. A launched GEMM raises the counters that its tiles name; a wait looks at
// its counter. Every call is logged, counted and can be made to fail.
#pragma once

#include <array>
#include <atomic>
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

#include "tilepost/tilepost.h"

namespace tilepost::cuda {
struct RunWords;
}

namespace fakes {

// Work that hangs: a collective until release_all(), a wait until `over` says so.
struct Hang {
  bool stuck = false;
  std::function<bool()> over;

  bool holds() const { return stuck && !(over && over()); }
};

// The work on a fake stream is done, or behind something that hangs.
struct Stream {
  std::string name;
  int device = 0;
  Hang hang{};
  bool capturing = false;
  unsigned long long capture = 0;  // which one, while that is so
  // What its last kernel does while others go on, done before what comes next on the stream.
  std::function<void()> late{};
};
struct Event {
  Hang hang{};
  bool captured = false;
  unsigned long long capture = 0;  // likewise
};

// One NCCL call that moves data.
struct NcclCall {
  std::string name;  // "send"
  const void* from;
  void* to;
  size_t count;
  int type;  // ncclDataType_t
  int peer;
  int group;  // which group, counted from 1; 0 outside of one
  const void* comm;
  std::string stream;
};

// One copy from device to device.
struct Copy {
  const void* from;
  void* to;
  size_t bytes;
};

// Memory that was registered with a communicator as a window, now or before.
struct Window {
  const void* comm;
  char* memory;
  size_t bytes;
  bool live;

  bool holds(const void* pointer) const { return pointer >= memory && pointer < memory + bytes; }
};

// An event that was recorded or waited for, by the line of the log that says so.
struct Link {
  size_t line;
  const void* event;
};

// One sum of ranks' parts.
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

// What the machine is.
struct Machine {
  int num_devices = 2;
  int compute_major = 9, compute_minor = 0;
  int sms = 132;
  unsigned stream_sms = 0;  // of a green context, which the caller's streams then are of; 0: none
  int max_shared_bytes = 232448;
  int blocks_per_sm = 1;
  std::array<unsigned, 3> block{};  // of the last GEMM's launch
  int max_threads = 1024;
  bool has_driver = true;
  bool tensor_maps_fail = false;
  bool peer_access = true;     // between any two devices
  bool memory_handles = true;  // CUDA shares memory between processes
  std::set<int> cannot_open;   // devices of processes that can open no memory of others
  bool additions_lost = false, stores_lost = false;  // in other ranks' memory
  bool others_visible = true;                        // devices of other processes
  uint32_t signals_per_tile = 2;
  std::map<const void*, int> host_pointers;           // pointers that are not device memory
  std::map<const void*, CallerMemory> caller_memory;  // by its beginning

  // What the adopted communicator says of itself.
  int comm_ranks = 2, comm_rank = 1, comm_device = 0;
  int async_error = 0;  // ncclResult_t
  // What registering window number n, counted from 0, answers instead of success, and with a window
  // only if it `gives_windows`.
  std::function<int(int n)> window_answer;  // ncclResult_t
  bool gives_windows = true;
};

// What goes wrong, and what stands for the kernels and the other ranks.
struct Behaviour {
  int fail_at = 0;                // the call to fail, counted from 1 since reset_calls(); 0 = none
  std::thread::id fails_on;       // only calls of this thread count towards it; none: of all
  bool collectives_hang = false;  // as when a rank does not arrive; where ranks share memory the
                                  // others announce and end nothing any more
  uint32_t gemm_posts_percent = 100;  // how much of each group's signals the GEMM posts
  bool waits_give_up = false;         // polling waits report a timeout at once
  bool gemm_raises = true;            // the GEMM raises its tiles' groups' counters
  bool gemm_waits = false;            // … or it waits for them
  bool gemm_stops = false;            // … and then does not end until something is aborted
  bool pushes_stop = false;           // tasks push nothing (ranks.h)
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
  std::function<Hang(void** arguments)> kernel;  // what keeps it from ending, if anything
  std::function<void()> on_post;                 // after a group's arrival was posted
  std::function<void()> on_mapping;  // while devices or processes get access to memory, or lose it
  std::function<void(const void* x, int rows, int n)> on_norm;
  // Where ranks share memory: what another rank says of its run, where that is not what this one
  // says.
  std::function<void(int rank, tilepost::cuda::RunWords&)> edit_run;
  // What an exchange of numbers brings: from, to, count. If empty, every rank says what this one
  // says.
  std::function<void(const int64_t*, int64_t*, size_t)> exchange;
};

// The calls since reset_calls().
struct Calls {
  int calls = 0;  // of those that can fail
  std::vector<std::string> log;
  std::vector<NcclCall> nccl;
  std::vector<Copy> copies;
  std::vector<Link> links;
  std::vector<Sum> sums;
  int early_launches = 0;  // of kernels that need not wait for the one before
};

// What else has happened since reset().
struct Seen {
  std::string failed_call;
  std::vector<std::string> maps;  // tensor maps: "<columns>x<rows> box <columns>x<rows> …"
  std::vector<std::unique_ptr<Window>> windows;
  std::set<const void*> allocated;      // by cudaMalloc, and not freed
  std::map<const void*, int> mappings;  // of memory, by other processes
  int freed_while_mapped = 0;           // which CUDA leaves undefined
  std::set<int> accessible;             // devices whose access has been enabled
  int memory_calls = 0;                 // that allocate or free memory of devices, or pinned
  int groups_begun = 0, groups_ended = 0;
  tilepost_shape_t shape{};        // of the last launch
  tilepost_view_t view{};          // of the last launch
  const void* a = nullptr;         // of the last launch of a kernel that takes pointers
  tilepost_epilogue_t epilogue{};  // of the last launch
  int aborted_comms = 0;
  int aborts_begun = 0, aborts_alone = 0;  // alone: the others did not come in time
  int max_ctas = 0, cluster_size = 0;      // of the last split
};

// What there is and has not been released.
struct Live {
  std::atomic<int> live_allocations = 0, live_pinned = 0, live_streams = 0, live_events = 0,
                   live_comms = 0;
  std::atomic<int> live_mappings = 0;  // of other processes' memory
  std::atomic<int> live_pools = 0;
  std::atomic<int> live_handles = 0;   // of memory of cuMemCreate
  std::atomic<int> live_windows = 0;   // NCCL's
  std::atomic<int> hanging_calls = 0;  // that have not returned: Behaviour::nccl_hangs

  int live() const {
    return live_allocations + live_pinned + live_streams + live_events + live_comms +
           live_mappings + live_pools + live_windows + live_handles;
  }
  // What a test has left on purpose is not the next one's.
  void forget() {
    live_allocations = live_pinned = live_streams = live_events = live_comms = 0;
    live_mappings = live_pools = live_windows = live_handles = 0;
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

// What the fake encoder keeps of a tensor map, at its beginning.
struct MapOf {
  void* base;
  uint64_t columns, rows;
  uint64_t row_bytes;  // from one row to the next
};

// The one world; reset() makes it new.
World& world();
void reset();

// The calling thread's device.
int& current_device();

// Logs `line` and counts a fallible call; true when this one is to fail.
bool call(const std::string& line);

// A stream of the caller's, not counted as live.
CUstream_st* user_stream(const std::string& name, int device = 0);
Stream& stream_of(CUstream_st* handle);
// Does what is late.
void settle(Stream& stream);

// As a copy or a kernel moves them; nothing where tests have made up the addresses.
void move_bytes(void* to, const void* from, size_t bytes);

// From here on the stream is being captured, or not any more. Streams of its device that joined the
// capture leave it then.
void capture(Stream& stream, bool on);

// The stream is being captured as long as this lives.
class Capture {
 public:
  explicit Capture(CUstream_st* stream, bool captured = true);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Stream& stream_;
};

// Puts what this rank says to `to` as `rank` would say it: the same, but for the GPU that it is on.
void say_as(int rank, const int64_t* own, int64_t* to, size_t count);

// Lets collectives that hang end, as aborting them does.
void release_all();

// Lets calls of NCCL return that hang, and waits until they have.
void return_all();

}  // namespace fakes
