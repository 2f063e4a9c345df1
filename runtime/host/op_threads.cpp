// The work of the threads of an operation.
#include <bit>
#include <limits>
#include <new>

#include "runtime/host/consumer.h"
#include "runtime/host/op.h"

namespace tilepost {
namespace {

// When a run is given up, the counters for which workers wait are raised by this much. That is
// beyond every value that workers may wait for, and still ahead by signed distance.
constexpr uint32_t kFarAhead = 1u << 30;

}  // namespace

// Waits for the turn of run `run`. Returns false if the operation ends first.
bool HostOp::next_request(uint64_t run, Request& request) {
  std::unique_lock lock(stream_.mutex);
  const auto its_turn = [&] {
    return posted_ >= run && queue_[run % queue_.size()].ticket == stream_.completed;
  };
  stream_.changed.wait(lock, [&] { return stop_ || group_->aborted() || its_turn(); });
  if (stop_ || group_->aborted()) return false;
  request = queue_[run % queue_.size()];
  return true;
}

// Calls `body`. No exception may leave a thread, so an exception of `body` ends the communicator
// instead. The texts are short enough for a std::string that allocates nothing.
template <class Body>
void HostOp::end_by_abort(Body body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    group_->abort(TILEPOST_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    group_->abort(TILEPOST_INTERNAL_ERROR, "kernel threw");
  }
}

void HostOp::work(int worker) {
  end_by_abort([&] {
    Request request;
    for (uint64_t run = 1; next_request(run, request); ++run) {
      if (waits_to_start(request.run->path) && !wait_open(run)) return;
      compute(run, request, worker);
      const std::lock_guard lock(stream_.mutex);
      if (++returned_ % num_workers_ == 0) stream_.changed.notify_all();
    }
  });
}

// A kernel that stores into other ranks' memory enters the group, as a thread does in a collective,
// so that no rank frees that memory meanwhile.
void HostOp::compute(uint64_t run, const Request& request, int worker) {
  if (request.run->does_nothing()) {
    const std::lock_guard lock(stream_.mutex);
    ++multiplied_;
    return;
  }
  if (!request.run->path.stores_by_owner && !request.run->path.whole_run) {
    compute_alone(run, request, worker);
    return;
  }
  if (!group_->enter()) return;
  const HostGroup::Visit visit(*group_);
  compute_alone(run, request, worker);
}

void HostOp::compute_alone(uint64_t number, const Request& request, int worker) {
  const RunMap& run = *request.run;
  tilepost_view_t view{};
  view.tiles = run.tiles.tiles.data();
  view.positions = run.tiles.positions.data();
  view.counters = counters_.data();
  view.row_map = run.row_map.data();
  view.num_tiles = static_cast<int32_t>(run.tiles.tiles.size());
  view.tiles_n = tiles_n(run.map());
  if (run.map().division == TILEPOST_DIVISION_SHARES) {
    view.share_rows = static_cast<int32_t>(share_rows(run.map()));
    view.share_tiles = share_tiles(run.map());
  } else if (run.path.stores_by_owner) {
    // All tiles belong to owner 0, which is this rank.
    view.share_rows = std::numeric_limits<int32_t>::max();
  }
  view.peer_out = peer_out_.data();
  view.peer_counters = peer_counters_.data();
  view.ready = request.ready;
  view.user = request.user.data();
  view.experts = plan_.experts;
  view.expert_ends = request.operands.expert_ends;
  if (run.path.lists_tiles || run.path.combines) set_tokens(request, view);
  if (run.path.whole_run) {
    view.exchange = exchange_;
    view.in_scales = arrived_scales(0);
  }
  if (run.path.waits != Waits::launches) {
    launch(request, worker, view);
    if (run.path.combines && wait_products(number)) combine(request, worker, view);
    return;
  }
  for (const tilepost_group_t& group : run.tiles.groups) {
    view.tiles = run.tiles.tiles.data() + group.first_tile;
    view.num_tiles = group.num_tiles;
    wait_arrival(static_cast<int>(&group - run.tiles.groups.data()), request.ready);
    launch(request, worker, view);
  }
}

// The kernel's argument A. Where rows of A are exchanged, it is a pointer from which this rank's
// own rows are at their places among all rows.
const void* HostOp::rows_of_a(const Request& request) const {
  const RunMap& run = *request.run;
  if (run.path.reads == InputFrom::a) return request.operands.a;
  if (!run.path.whole_run) return request.gathered.rows;
  const auto before = static_cast<uintptr_t>(run.own.first * plan_.k) * input_.bytes;
  return std::bit_cast<const void*>(std::bit_cast<uintptr_t>(request.operands.a) - before);
}

// The kernel's scales of A, likewise.
const float* HostOp::scales_of_a(const Request& request) const {
  const RunMap& run = *request.run;
  if (!run.path.whole_run || !input_.scales.exist()) return request.epilogue.scale_a;
  const auto before = static_cast<uintptr_t>(input_.scales.bytes_of(run.own.first * plan_.k));
  return std::bit_cast<const float*>(std::bit_cast<uintptr_t>(request.operands.scale_a) - before);
}

void HostOp::launch(const Request& request, int worker, const tilepost_view_t& view) const {
  const RunMap& run = *request.run;
  tilepost_epilogue_t epilogue = request.epilogue;
  epilogue.scale_a = scales_of_a(request);
  if (run.path.combines) {
    epilogue.out = const_cast<uint8_t*>(products_.data());  // written by the workers alone
    epilogue.residual = nullptr;
  }
  plan_.kernel.host_function(rows_of_a(request), request.operands.b, epilogue.out, run.shape,
                             epilogue, worker, num_workers_, view);
}

// This wait also ends when the run is given up, like a kernel's own wait (input_ready).
void HostOp::wait_arrival(int group, uint32_t ready) const {
  const uint32_t* counter = counters_.data() + size_t{TILEPOST_COUNTER_STRIDE} * group;
  while (static_cast<int32_t>(__atomic_load_n(counter, __ATOMIC_ACQUIRE) - ready) < 0)
    std::this_thread::yield();
}

// Waits until the kernel of the run may start: its input is there, or it may store into other
// ranks' memory. Returns false if the communicator was aborted. The communicating thread enforces
// the deadline.
bool HostOp::wait_open(uint64_t run) {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] { return opened_ >= run || group_->aborted(); });
  return opened_ >= run;
}

void HostOp::open(uint64_t run) {
  const std::lock_guard lock(stream_.mutex);
  opened_ = run;
  stream_.changed.notify_all();
}

void HostOp::communicate() {
  end_by_abort([&] {
    Request request;
    for (uint64_t run = 1; next_request(run, request) && communicate_run(run, request); ++run) {
      const std::lock_guard lock(stream_.mutex);
      finished_ = run;
      queue_[run % queue_.size()].run.reset();  // the cache may have dropped the map since
      ++stream_.completed;
      stream_.changed.notify_all();
    }
  });
  release_workers();
}

// Does everything of a run but computing. Returns false if the communicator was aborted.
bool HostOp::communicate_run(uint64_t run, const Request& request) {
  if (plan_.any_m != 0 && !says_the_same(request)) return false;
  if (request.run->does_nothing()) return wait_workers(run, request);
  if (request.run->path.sorts_a) pack(request);
  const RunPath& path = request.run->path;
  if (path.lists_tiles) {
    if (!list_tiles(request)) return false;
    if (path.waits != Waits::kernel) open(run);
  }
  if (path.combines) {
    if (!check_rows(request)) return false;
    if (!path.stores_by_owner) open(run);
  }
  if (!(path.whole_run         ? exchange_tiles(run, request)
        : path.shares_memory() ? share_memory(run, request)
                               : exchange_messages(run, request)))
    return false;
  if (!wait_workers(run, request)) return false;
  finish_run(request);
  return true;
}

// Compares this rank's run with the other ranks' runs. Ranks that run different plans of a family
// would never meet, and neither would a rank with rows and one without. So runs are compared first.
bool HostOp::says_the_same(const Request& request) {
  return !row_of(plan_).communicates() ||
         group_->compare(rank_, place_of(request, HostStep::kExchange).terms);
}

bool HostOp::exchange_messages(uint64_t run, const Request& request) {
  const RunMap& map = *request.run;
  const Waits waits = map.path.waits;
  if (map.path.stores_by_owner) {
    set_own_place(request.epilogue.out);
    open(run);
  }
  for (int g = 0; g < map.num_groups(); ++g) {
    const HostStep place = place_of(request, g);
    // How many tiles experts have is not known here. The run ends when its workers return.
    const bool counted =
        waits == Waits::steps && (!row_of(plan_).has_experts() || map.path.combines);
    if (counted && !wait_group(place, map.targets[g])) return false;
    own_ = buffers_of(request, g);
    if (row_of(plan_).communicates() && !carry_out(place)) return false;
    if (map.path.input_arrives()) raise_arrived(g, request);
  }
  if (waits == Waits::kernel) open(run);
  return true;
}

// Sorts rows of A by destination. Earlier runs have ended on all ranks that read the rows which
// those runs sorted.
void HostOp::pack(const Request& request) {
  const tilepost_run_operands_t& given = request.operands;
  const InputRows from{const_cast<void*>(given.a), const_cast<float*>(given.scale_a)};
  const InputRows to{packed_.data(), packed_scales_.data()};
  int64_t packed = 0;
  for (const int32_t row : request.run->order)
    copy_input(input_, from, row * plan_.k, to, packed++ * plan_.k, plan_.k);
}

// Does the work after the kernel and the steps. This includes a norm, which on GPUs the kernel
// computes (RunPath::normalises).
void HostOp::finish_run(const Request& request) {
  const RunMap& map = *request.run;
  const tilepost_run_operands_t& operands = request.operands;
  if (plan_.consumer == TILEPOST_CONSUMER_NONE) return;
  const bool residual = plan_.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  consume({plan_, map, rank_, at(map.path.results, request), operands.norm_weight,
           residual ? operands.norm_residual : nullptr, operands.norm_epsilon, operands.out,
           operands.out_scales});
}

HostStep HostOp::place_of(const Request& request, int group) const {
  HostStep place{
      terms_of_run(name_, family_->operation, plan_, family_->hash, request.number, *request.run),
      group};
  place.terms.output = request.output;
  return place;
}

HostBuffers HostOp::buffers_of(const Request& request, int group) {
  return {request.epilogue.out, at(request.run->path.results, request), input_of(request),
          request.gathered, request.run->steps[group]};
}

// Carries out a group's steps. All ranks meet, even if this rank neither sends nor receives.
bool HostOp::carry_out(const HostStep& place) {
  copy_own_rows(own_, input_);
  if (!group_->begin_collective(rank_, place, &own_, deadline_seconds_)) return false;
  HostGroup::Visit visit(*group_);
  std::vector<const HostBuffers*> buffers;
  buffers.reserve(plan_.ranks);
  for (int rank = 0; rank < plan_.ranks; ++rank)
    buffers.push_back(&group_->brought<HostBuffers>(rank));
  const std::string wrong =
      receive_steps({plan_.output, input_, plan_.ranks, buffers.data()}, rank_);
  if (!wrong.empty())
    group_->abort(TILEPOST_INTERNAL_ERROR, name_step(rank_, place) + ": " + wrong);
  return visit.end_collective(rank_, place, deadline_seconds_);
}

// Waits for the group's tiles. Counters are never reset. A run starts from the sum of the targets
// of all runs before it, modulo 2^32.
bool HostOp::wait_group(const HostStep& place, uint32_t target) {
  const int group = place.group;
  const HostSignal signal{counters_.data() + size_t{TILEPOST_COUNTER_STRIDE} * group,
                          reached_[group], target, group};
  if (!group_->wait_signal(rank_, place, signal, deadline_seconds_)) return false;
  reached_[group] += target;
  return true;
}

// Sets a group's counter. The store is a release operation, so a kernel whose acquire load reads
// the value sees the group's rows.
void HostOp::raise(int group, uint32_t value) {
  __atomic_store_n(counters_.data() + size_t{TILEPOST_COUNTER_STRIDE} * group, value,
                   __ATOMIC_RELEASE);
}

// Raises the group's counter. The run's last group also raises the counters of groups that the run
// does not have. Numbers of runs are compared by signed distance, so no counter may fall behind.
void HostOp::raise_arrived(int group, const Request& request) {
  const int groups = request.run->num_groups();
  const int end = group + 1 == groups ? plan_.map.num_groups : group + 1;
  for (; group < end; ++group) raise(group, request.ready);
}

// Releases workers that wait inside the kernel for input, when no input will arrive any more.
void HostOp::release_workers() {
  __atomic_store_n(&over_, 1u, __ATOMIC_RELAXED);
  if (!row_of(plan_).moves_input()) return;
  const std::lock_guard lock(stream_.mutex);
  for (size_t group = 0; group < reached_.size(); ++group)
    raise(static_cast<int>(group), overlapped_ + kFarAhead);
}

// Waits until the run's workers have returned. Only then is the run complete, and the caller may
// free A and B.
bool HostOp::wait_workers(uint64_t run, const Request& request) {
  const Deadline deadline(deadline_seconds_);
  {
    std::unique_lock lock(stream_.mutex);
    const auto returned = [&] { return returned_ == run * num_workers_; };
    const bool in_time =
        deadline.wait(stream_.changed, lock, [&] { return returned() || group_->aborted(); });
    if (in_time) return returned();
  }
  const std::string awaited = what_is_awaited();
  group_->abort(TILEPOST_TIMEOUT, "rank " + std::to_string(rank_) + ", run " +
                                      std::to_string(request.number) + " of '" + name_ +
                                      "': a worker did not return from the kernel within " +
                                      deadline.text() + (awaited.empty() ? "" : ": " + awaited));
  return false;
}

}  // namespace tilepost
