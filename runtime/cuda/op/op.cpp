// Makes operations. A rank must not wait for ranks that have already failed. So failures that all
// ranks share are checked first: those that depend on the program alone, then those of the
// communicator. Failures of one rank alone come after that, and a bounded wait comes last.
#include "runtime/cuda/op/op.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <thread>

#include "runtime/core/composed/ranged_op.h"
#include "runtime/core/plan_check.h"
#include "runtime/core/routing/routing.h"
#include "runtime/cuda/device/environment.h"
#include "runtime/cuda/op/select.h"
#include "runtime/cuda/op/warm_up.h"
#include "runtime/cuda/watch/waiter.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr std::chrono::microseconds kSynchronizePoll{20};

// Whether the program's operations need other ranks. The answer is the same for all of the
// program's plans. The patterns have not been checked yet.
bool communicates(const tilepost_program_t& program) {
  if (program.num_plans < 1 || program.plans == nullptr) return false;
  const int pattern = stored_value(program.plans[0].pattern);
  return pattern >= 0 && pattern < kNumPatterns && row_of(program.plans[0]).communicates();
}

}  // namespace

tilepost_result_t make_op(Communicator& comm, const tilepost_program_t& program,
                          const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op) {
  if (comm.is_aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted earlier; make a new one");
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(comm.device()));
  DeviceInfo device;
  TILEPOST_TRY(read_device(comm.device(), device));
  PlanRanges plans;
  const tilepost_result_t chosen = choose_plans(program, device, comm.world(), plans);
  NvtxNames nvtx;
  NvtxRange creating;
  if (chosen == TILEPOST_OK) {
    nvtx.create(program.name, *plans.front(), comm.rank());
    creating = nvtx.open(NvtxPart::create, rows_of_runs(*plans.front()));
  }
  std::unique_ptr<Agreement> agreement;
  if (communicates(program)) {
    TILEPOST_TRY(comm.order()->wait_for_exclusive(*comm.aborted()));
    agreement = std::make_unique<Agreement>();
    TILEPOST_TRY(agree(comm, {program, plans, options, device, chosen}, *agreement));
    comm.count_operation();
  } else {
    TILEPOST_TRY(chosen);
  }
  const auto family = std::make_shared<OpFamily>(std::move(plans));
  family->agreement = std::move(agreement);
  family->operation = comm.operations();
  family->nvtx = std::move(nvtx);
  // The first operation needs the most memory, and the others find a place in it.
  std::vector<RangedOp::Part> parts;
  for (size_t range = 0; range < family->plans.size(); ++range) {
    auto made = std::make_unique<CudaOp>(program, family, range, options, device, comm);
    TILEPOST_TRY(made->create(comm));
    parts.push_back({rows_of_runs(*family->plans[range]), std::move(made)});
  }
  if (parts.size() == 1)
    op = std::move(parts.front().op);
  else
    op = std::make_unique<RangedOp>(std::move(parts));
  return TILEPOST_OK;
}

CudaOp::CudaOp(const tilepost_program_t& program, std::shared_ptr<OpFamily> family, size_t range,
               const tilepost_options_t& options, const DeviceInfo& device,
               const Communicator& comm)
    : program_(program),
      family_(std::move(family)),
      plan_(*family_->plans[range]),
      paths_(paths_of(plan_)),
      options_(options),
      device_(device),
      order_(comm.order()),
      state_(transports_),
      buffers_(plan_, paths_, transports_),
      timeline_(plan_, program.name, state_, lanes_),
      base_{plan_,  paths_,   driver_,       transports_, state_,
            lanes_, buffers_, family_->nvtx, timeline_,   options_.routing},
      orders_(row_of(plan_).communicates() ? comm.order() : nullptr,
              family_->takes_turns() ? &family_->order : nullptr, transports_),
      check_(device_, driver_),
      gemm_(base_),
      consumption_(base_, device_, comm.rank()),
      communication_(base_, consumption_),
      routes_(base_, program.name, maps_),
      registered_(plan_, driver_, family_->operation),
      issuer_(base_, watchdog_, gemm_, communication_, orders_) {
  RunTraits& traits = state_.traits;
  traits.program = program.name;
  traits.device = device.ordinal;
  traits.rank = comm.rank();
  state_.comm_aborted = comm.aborted();
  traits.deadline_seconds = options.deadline_seconds;
  traits.board = board();
  traits.range = range;
  traits.own_words = family_->words();
}

// The board on which ranks see each other's calls, or null if this rank does not see it.
RunBoard* CudaOp::board() const {
  Agreement* const agreement = family_->agreement.get();
  return agreement != nullptr && agreement->board.is_joined() ? &agreement->board : nullptr;
}

CudaOp::~CudaOp() {
  destroying_ = family_->nvtx.open(NvtxPart::destroy, 0);
  DeviceGuard guard;
  guard.enter(device_.ordinal);
  if (state_.tracker.last_end() != nullptr || state_.captured) state_.finish();
  watchdog_.stop();
  orders_.leave();
  const bool stuck = state_.failure.is_set() && !state_.is_at_rest(lanes_.stream());
  if (!stuck) registered_.close();
  transports_.close(!made_ || state_.failure.is_set(), stuck);
  if (!stuck) return;
  // Freeing memory, pinned memory too, waits for the device, and this device is still stuck.
  state_.counters.leak();
  buffers_.leak();
  routes_.leak();
  registered_.leak();
  maps_.leak();
}

tilepost_result_t CudaOp::create(Communicator& comm) {
  const bool shares = options_.share_memory != 0;
  const bool had_rings = family_->host_rings != nullptr;
  TILEPOST_TRY(make_transports(
      {comm, plan_, options_.deadline_seconds, shares ? comm.arenas() : family_->arenas,
       shares || family_->takes_turns(), family_->plans, family_->host_rings},
      transports_));
  made_rings_ = !had_rings && transports_.rings != nullptr;
  warnings_ = plan_warnings(plan_, device_) + environment_warnings(plan_);
  if (family_->agreement) warnings_ += family_->agreement->warnings;
  if (transports_.windows) warnings_ += transports_.windows->warnings();
  TILEPOST_TRY(load_driver(driver_));
  TILEPOST_TRY(lanes_.create(Lanes::num_of(plan_)));
  TILEPOST_TRY(state_.tracker.create());
  TILEPOST_TRY(create_state());
  const SharedRegions* regions = transports_.shared ? &transports_.shared->regions() : nullptr;
  places_ = {&driver_, regions, state_.bank(kEager), nullptr};
  TILEPOST_TRY(maps_.create(plan_, state_.traits.rank, places_,
                            family_->part_of(options_.schedule_bytes),
                            [this](uint64_t run) { return state_.wait_for_run(run); }));
  TILEPOST_TRY(buffers_.create(maps_.planned()->run.get(), lanes_.num(), lanes_.stream()));
  places_.send = buffers_.send();
  TILEPOST_TRY(routes_.create());
  TILEPOST_TRY(create_registered());
  if (state_.traits.range == 0) TILEPOST_TRY(family_->captures.create());
  TILEPOST_TRY(load_kernels());
  const WarmUp warm_up(base_, communication_.waits(), routes_);
  TILEPOST_TRY(warm_up.run(program_.name, *maps_.planned()));
  watchdog_.start(state_.traits.device, state_.traits.deadline_seconds,
                  [this] { return state_.watch(); });
  name_streams();
  made_ = true;
  return TILEPOST_OK;
}

void CudaOp::name_streams() const {
  const NvtxNames& nvtx = family_->nvtx;
  nvtx.name_stream(lanes_.stream(), "communication");
  for (int lane = 1; lane < lanes_.num(); ++lane)
    nvtx.name_stream(lanes_.stream_of(lane), "communication", lane);
  if (transports_.overlapping) transports_.overlapping->name_streams(nvtx);
}

// Makes the counters, and what watchers look at.
tilepost_result_t CudaOp::create_state() {
  set_up_state();
  TILEPOST_TRY(state_.counters.create(state_.traits.most_groups, lanes_.stream()));
  if (transports_.shared) transports_.shared->report_to(state_.page(), options_.deadline_seconds);
  return TILEPOST_OK;
}

void CudaOp::set_up_state() {
  const RunPath& path = paths_.overlapping;
  const PatternRow& row = row_of(plan_);
  RunTraits& traits = state_.traits;
  traits.gathers = row.moves_input();
  traits.stream_waits = plan_.wait == TILEPOST_WAIT_STREAM && !traits.gathers;
  traits.tiles_from_all = path.exchanges_parts || path.access == TILEPOST_ACCESS_WRITE;
  traits.kernel_waits = path.kernel_does_all;
  traits.holds_sms = path.waits_on_sms();
  traits.collective = row.collective;
  traits.plan = &plan_;
  traits.most_groups = plan_.map.num_groups;
  if (transports_.shared) state_.others_aborted = transports_.shared->others_aborted();
  const bool arrivals = plan_.map.division == TILEPOST_DIVISION_ARRIVALS && !path.kernel_does_all;
  state_.ledger.create(plan_, arrivals, family_->runs);
}

tilepost_result_t CudaOp::load_kernels() {
  TILEPOST_TRY(prepare_kernel(plan_, device_));
  TILEPOST_CUDA(preload_wait_kernels());
  TILEPOST_TRY(gemm_.load());
  return consumption_.load();
}

tilepost_result_t CudaOp::check(const tilepost_run_operands_t& given, CUstream_st* stream) {
  TILEPOST_TRY(state_.check_usable());
  int64_t rows = 0;
  TILEPOST_TRY(rows_of_run(plan_, given.m, routes_.rows(), rows));
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(stream, &capture));
  return check_.check({plan_, state_.traits.rank, rows_of_rank(rows), given}, stream, capture);
}

tilepost_result_t CudaOp::run(const tilepost_run_operands_t& given, CUstream_st* stream) {
  TILEPOST_TRY(state_.check_usable());
  int64_t rows = 0;
  TILEPOST_TRY(rows_of_run(plan_, given.m, routes_.rows(), rows));
  const NvtxRange running = family_->nvtx.open(NvtxPart::run, rows);
  const RowsOfRank of_rank = rows_of_rank(rows);
  const RunOperands read(plan_, state_.traits.rank, of_rank, given);
  if (options_.routing != nullptr)
    TILEPOST_TRY(check_bound_tokens(*options_.routing, of_rank.tokens));
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(stream, &capture));
  TILEPOST_TRY(check_.check(read, stream, capture));
  const bool capturing = capture == cudaStreamCaptureStatusActive;
  captures_ |= capturing;
  if (captures_) TILEPOST_TRY(lanes_.check_free(stream));
  if (rows == 0 && !is_routed(plan_)) return capturing ? TILEPOST_OK : issuer_.run_nothing(stream);
  DeviceMap* map = nullptr;
  TILEPOST_TRY(maps_.find(rows, capturing, map));
  const tilepost_run_operands_t operands = read.with_place(state_.bank(kEager));
  TILEPOST_TRY(check_gathered(plan_, operands, *map->run));
  Run run{};
  run.map = map;
  run.user = stream;
  const bool beside = run.path().overlaps && !run.path().kernel_does_all;
  run.comm = beside ? lanes_.stream() : stream;
  run.operands = &operands;
  TILEPOST_TRY(find_output(given, run));
  run.buffers = buffers_.of(operands, run.path());
  run.epilogue = read.for_kernel();
  run.epilogue.out = run.buffers.send;
  if (!capturing) return issuer_.run_eager(run, *map);
  TILEPOST_TRY(family_->captures.join(stream));
  return issuer_.run_captured(run);
}

RowsOfRank CudaOp::rows_of_rank(int64_t rows) const {
  const int rank = state_.traits.rank;
  return is_routed(plan_) ? rows_of_rank_in(plan_, rank, *maps_.planned()->run)
                          : rows_of_rank_in(plan_, rank, rows);
}

// Finds out whether a run that pushes has a registered buffer as its out. Other runs write such a
// buffer like any other memory. `bytes` is the same on all ranks, so that all ranks find the
// buffer.
tilepost_result_t CudaOp::find_output(const tilepost_run_operands_t& operands, Run& run) const {
  if (!run.path().lends_out) return TILEPOST_OK;
  const tilepost_map_t& map = run.run_map().map();
  const int64_t bytes = most_rows_of_out(plan_, map) * map.n * element_bytes(plan_.output);
  return registered_.find(operands.out, bytes, run.output);
}

// Calls body() when no run is in flight. It is for exchanges of ranks while the host waits, and for
// changes that no run in flight may see.
template <class Body>
tilepost_result_t CudaOp::at_rest(const char* what, Body body) {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  const CaptureModeGuard relaxed;
  bool capturing = false;
  TILEPOST_TRY(family_->captures.find_open(capturing));
  if (capturing)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "a run of this operation is being captured; end the capture before %s", what);
  TILEPOST_TRY(synchronize());
  TILEPOST_TRY(order_->wait_for_exclusive(*state_.comm_aborted));
  return body();
}

tilepost_result_t CudaOp::route(const tilepost_route_t& route, tilepost_arrivals_t* arrivals) {
  TILEPOST_TRY(state_.check_usable());
  RouteInputs inputs{};
  TILEPOST_TRY(check_route(plan_, route, inputs));
  const NvtxRange routing = family_->nvtx.open(NvtxPart::route, inputs.rows);
  TILEPOST_TRY(at_rest("a new route", [&] { return routes_.set(inputs); }));
  if (arrivals != nullptr) *arrivals = routes_.arrivals();
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::create_registered() {
  if (!paths_.planned.lends_out) return TILEPOST_OK;
  return registered_.create({state_.traits.rank, plan_.ranks, device_.ordinal,
                             *transports_.channels.front(), options_.deadline_seconds});
}

tilepost_result_t CudaOp::register_output(void* buffer, int64_t bytes) {
  TILEPOST_TRY(check_registers(program_.name, plan_));
  TILEPOST_TRY(state_.check_usable());
  return at_rest("a buffer is registered", [&] { return registered_.add(buffer, bytes); });
}

tilepost_result_t CudaOp::unregister_output(const void* buffer) {
  TILEPOST_TRY(check_registers(program_.name, plan_));
  TILEPOST_TRY(state_.check_usable());
  return at_rest("a buffer is unregistered", [&] { return registered_.remove(buffer); });
}

tilepost_result_t CudaOp::status() {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  return state_.observe();
}

tilepost_result_t CudaOp::synchronize() {
  const NvtxRange waiting = family_->nvtx.open(NvtxPart::synchronize, 0);
  for (;;) {
    const tilepost_result_t result = status();
    if (result != TILEPOST_IN_PROGRESS) return result;
    std::this_thread::sleep_for(kSynchronizePoll);
  }
}

tilepost_result_t CudaOp::record_timeline() {
  TILEPOST_TRY(state_.check_usable());
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  return timeline_.record();
}

tilepost_result_t CudaOp::write_timeline(const char* path) {
  TILEPOST_TRY(state_.check_usable());
  return at_rest("its timeline is written", [&] { return timeline_.write(path); });
}

void CudaOp::add_memory(tilepost_memory_t& memory) {
  state_.counters.add_memory(memory);
  maps_.add_memory(memory);
  buffers_.add_memory(memory);
  transports_.add_memory(memory);
  routes_.add_memory(memory);
  registered_.add_memory(memory);
  if (made_rings_) memory.pinned_bytes += transports_.rings->bytes();
}

tilepost_result_t CudaOp::find_overlap(int64_t m, bool& overlaps) {
  const DeviceMap* const routed = is_routed(plan_) ? maps_.planned() : nullptr;
  return tilepost::find_overlap(plan_, m, routed != nullptr ? routed->run.get() : nullptr,
                                overlaps);
}

tilepost_result_t CudaOp::get_info(tilepost_op_info_t& info) {
  const DeviceMap& map = *maps_.planned();
  info.plan = &plan_;
  info.rank = state_.traits.rank;
  info.out_elements = map.run != nullptr ? map.run->sizes.out : 0;
  tilepost_memory_t memory{};
  add_memory(memory);
  info.device_bytes = memory.device_bytes;
  info.rows = keeps_slots(plan_) ? map.rows : nullptr;
  info.out = buffers_.lent_out();
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
