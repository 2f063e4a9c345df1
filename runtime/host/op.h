// One operation on one rank of the host target.
//
// `workers` threads compute tiles, and one more thread for each operation communicates. The
// communicating thread waits for each group's counter and carries out the group's steps, while the
// workers go on with later groups. Where A is gathered, the thread carries out the steps and then
// raises the counters for which the workers wait. Where ranks share memory (op_shared.cpp), the
// kernels of all ranks may store into this rank's memory. Runs queue up, and a run starts when this
// rank's run before it is complete.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "runtime/core/object.h"
#include "runtime/core/operands.h"
#include "runtime/core/registration.h"
#include "runtime/core/route.h"
#include "runtime/host/arena.h"
#include "runtime/host/collective.h"
#include "runtime/host/family.h"
#include "runtime/host/group.h"
#include "runtime/host/shared.h"
#include "runtime/map/slots.h"
#include "runtime/schedule/run_map.h"
#include "runtime/schedule/schedule_cache.h"
#include "tilepost/host/box.h"

namespace tilepost {

// The memory of one rank into which the kernels of other ranks store, where kernels exchange tiles.
struct HostExchangeMemory {
  std::shared_ptr<HostArena> arena;
  void* landed;  // where sums land that come in a second shot
};

// How many bytes of memory an operation has for data.
struct HostBytes {
  size_t staging = 0, received = 0, products = 0, packed = 0, packed_scales = 0;
  size_t slots = 0, sums = 0, landed = 0;
};
HostBytes host_bytes_of(const tilepost_plan_t& plan);

// Adds what making an operation of `plan` allocates on `rank`, but for its arena.
void add_host_needs(const tilepost_plan_t& plan, int rank, tilepost_memory_t& memory);

// What a family's operations allocate for arenas, one after the other.
class HostArenaNeeds {
 public:
  // `shares`: whether the operations share memory, with each other or with those of `arenas`.
  HostArenaNeeds(bool shares, std::vector<std::shared_ptr<HostArena>> arenas)
      : shares_(shares), arenas_(std::move(arenas)) {}
  void add(const tilepost_plan_t& plan, tilepost_memory_t& memory);

 private:
  const bool shares_;
  const std::vector<std::shared_ptr<HostArena>> arenas_;
  std::vector<ArenaNeed> made_;
};

class HostOp final : public tilepost_op {
 public:
  // `plan` is one of the family's plans.
  HostOp(std::shared_ptr<HostFamily> family, const tilepost_plan_t& plan,
         const tilepost_options_t& options, int workers);
  ~HostOp() override;

  // Starts the threads. Throws std::system_error if the system cannot start one.
  void start();

  tilepost_result_t check(const tilepost_run_operands_t& given, CUstream_st* stream) override;
  tilepost_result_t run(const tilepost_run_operands_t& given, CUstream_st* stream) override;
  tilepost_result_t route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) override;
  tilepost_result_t register_output(void* buffer, int64_t bytes) override;
  tilepost_result_t unregister_output(const void* buffer) override;
  tilepost_result_t status() override;
  tilepost_result_t synchronize() override;
  tilepost_result_t get_info(tilepost_op_info_t& info) override;
  void add_memory(tilepost_memory_t& memory) override;
  tilepost_result_t find_overlap(int64_t m, bool& overlaps) override;
  tilepost_result_t record_timeline() override;
  tilepost_result_t write_timeline(const char* path) override;

 private:
  // A posted run. Runs are numbered from 1, and run r is queue_[r % kQueueLength].
  struct Request {
    uint64_t ticket = 0;
    uint64_t number = 0;  // RunTerms::number
    tilepost_run_operands_t operands{};
    tilepost_epilogue_t epilogue{};
    std::shared_ptr<const RunMap> run;
    uint32_t ready = 0;        // tilepost_view_t::ready
    InputRows gathered{};      // where all ranks' rows of A arrive and are read
    uint32_t output = 0;       // RunTerms::output
    std::vector<void*> there;  // [ranks] the registered output on every rank; empty if out is not
                               // registered
    std::vector<void*> user;   // the run's user data
  };

  // The work of the operation's threads (op_threads.cpp).
  template <class Body>
  void end_by_abort(Body body);
  void work(int worker);
  void compute(uint64_t run, const Request& request, int worker);
  void communicate();
  bool communicate_run(uint64_t run, const Request& request);
  bool says_the_same(const Request& request);
  bool exchange_messages(uint64_t run, const Request& request);
  bool carry_out(const HostStep& place);
  void compute_alone(uint64_t number, const Request& request, int worker);
  void launch(const Request& request, int worker, const tilepost_view_t& view) const;
  const void* rows_of_a(const Request& request) const;
  const float* scales_of_a(const Request& request) const;
  void wait_arrival(int group, uint32_t ready) const;
  bool next_request(uint64_t run, Request& request);
  bool wait_open(uint64_t run);
  bool wait_group(const HostStep& place, uint32_t target);
  bool wait_workers(uint64_t run, const Request& request);

  // Runs whose tokens go to experts (op_tokens.cpp).
  bool list_tiles(const Request& request);
  bool check_rows(const Request& request);
  void set_tokens(const Request& request, tilepost_view_t& view) const;
  // Runs that sum the rows of tokens (tokens/op_combine.cpp).
  bool wait_products(uint64_t run);
  void combine(const Request& request, int worker, const tilepost_view_t& view) const;
  void open(uint64_t run);
  void raise(int group, uint32_t value);
  void raise_arrived(int group, const Request& request);
  void release_workers();
  HostStep place_of(const Request& request, int group) const;
  HostBuffers buffers_of(const Request& request, int group);
  void finish_run(const Request& request);
  void pack(const Request& request);
  // The rows of A from which steps read.
  InputRows input_of(const Request& request);
  InputRows gathered_of(const tilepost_run_operands_t& operands, const RunPath& path);

  // Runs whose ranks share memory (op_shared.cpp).
  bool share_memory(uint64_t run, const Request& request);
  bool shared_group(const HostStep& place, const Request& request, const HostSharedRun& shared);
  bool shared_step(const HostStep& place, const HostSharedRun& shared, const Step& step);
  void set_places(const RunMap& map, const std::vector<const HostMemory*>& memory);
  void set_own_place(void* send);

  // Runs whose kernels exchange tiles (op_exchange.cpp).
  void take_arena(bool share);
  bool exchange_tiles(uint64_t run, const Request& request);
  bool meet_arenas(const HostStep& place);
  void set_exchange(const Request& request);
  const float* arrived_scales(uint32_t number) const;
  void tell_begun(const RunTerms& terms);
  bool await_ranks(const HostStep& place, int64_t lines, uint32_t number, const char* what);
  bool compare_ranks(const HostStep& place);
  std::string what_is_awaited();

  RunOperands operands_of(const tilepost_run_operands_t& given, int64_t rows) const;
  std::shared_ptr<const RunMap> run_map(int64_t rows);
  bool wait_for_stream();
  bool exchange(const HostStep& place, std::vector<int64_t> mine, std::vector<int64_t>& all);
  HostStep exchange_place(Meeting call, uint64_t number) const;
  tilepost_result_t agree_on_route(RouteInputs& inputs, std::unique_ptr<RunMap>& run);
  tilepost_result_t agree_on_output(Registration call, tilepost_result_t own,
                                    const RegisteredRange& range, std::vector<void*>& there);
  tilepost_result_t refuse() const;

  bool idle() const { return finished_ == posted_; }
  // Whether no rank accesses this operation's memory any more.
  bool is_let_go() const { return group_->aborted() ? group_->ended() : idle(); }
  tilepost_result_t result() const;
  // Whether the kernel of a run must not start before the communicating thread calls open().
  static bool waits_to_start(const RunPath& path) {
    return path.stores_by_owner || path.whole_run || path.lists_tiles || path.combines ||
           path.waits == Waits::kernel;
  }
  // This rank's memory for `place` in a run.
  void* at(Buffer place, const Request& request);

  const std::shared_ptr<HostFamily> family_;
  const std::shared_ptr<HostGroup> group_;
  const int rank_;
  const char* const name_;
  const tilepost_plan_t& plan_;
  const RunPaths paths_;
  const double deadline_seconds_;
  tilepost_expert_routing* const routing_;  // whose tables runs read; null if none do
  const int num_workers_;
  const InputFormat input_;
  const int output_bytes_;  // bytes of an element of the output
  std::vector<uint32_t> counters_;
  std::vector<uint32_t> reached_;     // [groups] the counter's value after the runs so far
  std::vector<uint8_t> staging_;      // Buffer::send
  std::vector<uint8_t> received_;     // Buffer::received
  std::vector<uint8_t> products_;     // rows of experts: RunPath::combines
  std::vector<uint8_t> packed_;       // rows of A by destination: RunPath::sorts_a
  std::vector<float> packed_scales_;  // and the scales that move with them
  std::vector<uint8_t> gathered_;  // all ranks' rows of A, if the caller passes no memory for them,
                                   // or if other ranks read or write them
  std::vector<float> gathered_scales_;  // likewise, the scales that move with them
  // The host keeps a block for every rank, even with TILEPOST_SUM_ADDED, so that the order of
  // additions does not depend on which rank stores first.
  const Slots blocks_;
  std::vector<uint8_t> slots_, sums_, landed_;  // memory that ranks share (steps.h)
  HostMemory memory_{};                         // the addresses of this memory, for the other ranks
  // What this rank has brought to a collective (HostGroup::begin_collective): its buffers for a
  // group of messages, and the numbers that it sends to the others about a route or an output.
  // These are members because other ranks may still read them when the call that brought them has
  // returned.
  HostBuffers own_{};
  std::vector<int64_t> told_;
  // TILEPOST_ACCESS_WRITE: by owner, the places where this rank's kernel stores in this run, and
  // the counters that it raises.
  std::vector<void*> peer_out_;
  std::vector<uint32_t*> peer_counters_;
  // TILEPOST_ACCESS_TILES: this rank's memory, the memory of all ranks, and the arguments of the
  // kernel of a run.
  std::shared_ptr<HostArena> arena_;
  bool made_arena_ = false;  // whether the arena was made for this operation
  HostExchangeMemory own_arena_{};
  std::vector<HostExchangeMemory> others_arenas_;
  tilepost_exchange_t exchange_{};
  std::vector<HostRows> slot_rows_;  // tilepost_exchange_t::slot_maps
  std::vector<void*> landed_of_;     // tilepost_exchange_t::there
  uint32_t over_ = 0;                // not 0 if kernels must stop waiting
  uint32_t awaited_ = 0;             // 1 + the rank for which a worker has been waiting
  std::vector<int32_t> rows_;        // tilepost_op_info_t::rows
  std::vector<tilepost_token_tile_t> token_tiles_;  // the run's list: RunPath::lists_tiles
  // The run without rows.
  const std::shared_ptr<const RunMap> nothing_ = std::make_shared<RunMap>();
  std::shared_ptr<const RunMap> planned_;  // the run of the plan's m; null for routed plans
  // The runs of other m; a run that is posted keeps its own map alive.
  ScheduleCache<std::shared_ptr<const RunMap>> others_;
  std::shared_ptr<const RunMap> routed_;  // the run of the last route
  Arrivals arrivals_;
  uint64_t routes_ = 0;
  std::vector<RegisteredRange> registered_;        // outputs into which other ranks push instead of
                                                   // landed_
  std::vector<std::vector<void*>> registered_on_;  // for each of registered_, [ranks] where it
                                                   // begins on each rank
  uint32_t registrations_ = 0;                     // how many registrations were made;
                                                   // registration_calls_ also counts calls that
                                                   // failed or removed one
  uint64_t registration_calls_ = 0;
  uint32_t overlapped_ = 0;  // how many runs were posted whose A arrives while they compute

  HostStream& stream_;  // its mutex guards all members below
  std::vector<Request> queue_;
  uint64_t posted_ = 0;
  uint64_t finished_ = 0;
  uint64_t returned_ = 0;    // how many kernel calls have returned, over all runs
  uint64_t multiplied_ = 0;  // likewise, of kernels whose products are summed (RunPath::combines)
  uint64_t opened_ = 0;      // how many runs' kernels may start
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tilepost
