#include "runtime/host/op.h"

#include "runtime/core/error.h"
#include "runtime/core/operands.h"
#include "runtime/core/routing/routing.h"
#include "runtime/schedule/token_sums.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

// How many runs may wait for their turn. Posting another run waits for a free place.
constexpr size_t kQueueLength = 256;

// Replaces a, b and out on a rank that reads and writes none of their rows.
alignas(kVectorAlignment) char no_rows[kVectorAlignment];

size_t counter_words(const tilepost_plan_t& plan) {
  return static_cast<size_t>(plan.map.num_groups) * TILEPOST_COUNTER_STRIDE;
}

// A block of slots for every rank (HostOp::blocks_).
Slots host_slots_of(const tilepost_plan_t& plan) {
  return {slots_of(plan, plan.map).block, plan.ranks};
}

}  // namespace

HostBytes host_bytes_of(const tilepost_plan_t& plan) {
  const RunSizes most = most_sizes(plan);
  const RunPaths paths = paths_of(plan);
  const auto width = static_cast<size_t>(element_bytes(plan.output));
  const auto row_bytes = static_cast<size_t>(plan.k * element_bytes(plan.input));
  HostBytes bytes;
  if (paths.any(&RunPath::stores_apart)) bytes.staging = most.send * width;
  bytes.received = most.receive * width;
  if (paths.planned.combines) bytes.products = plan.most_rows * plan.map.n * width;
  if (paths.planned.sorts_a) {
    bytes.packed = plan.rows_sent * row_bytes;
    bytes.packed_scales = moved_scales(plan).bytes_of(plan.rows_sent * plan.k);
  }
  if (most.slots > 0 && plan.access != TILEPOST_ACCESS_TILES)
    bytes.slots = host_slots_of(plan).elements() * width;
  bytes.sums = most.sums * width;
  bytes.landed = most.landed * width;
  return bytes;
}

void add_host_needs(const tilepost_plan_t& plan, int rank, tilepost_memory_t& memory) {
  const HostBytes bytes = host_bytes_of(plan);
  size_t shared = bytes.slots + bytes.sums + bytes.landed;
  if (paths_of(plan).planned.exchanged == Memory::shared) shared += bytes.staging;
  const size_t all = bytes.staging + bytes.received + bytes.products + bytes.packed +
                     bytes.packed_scales + bytes.slots + bytes.sums + bytes.landed +
                     counter_words(plan) * sizeof(uint32_t);
  memory.shared_bytes += static_cast<int64_t>(shared);
  memory.device_bytes += static_cast<int64_t>(all);
  if (is_routed(plan)) return;
  const auto planned = make_run_map(plan, rank, rows_of_runs(plan));
  memory.device_bytes += bytes_of(*planned);
  if (keeps_slots(plan))
    memory.device_bytes +=
        static_cast<int64_t>(destination_rows(planned->tiles).size() * sizeof(int32_t));
}

HostOp::HostOp(std::shared_ptr<HostFamily> family, const tilepost_plan_t& plan,
               const tilepost_options_t& options, int workers)
    : family_(std::move(family)),
      group_(family_->group),
      rank_(family_->rank),
      name_(family_->name),
      plan_(plan),
      paths_(paths_of(plan)),
      deadline_seconds_(options.deadline_seconds),
      routing_(options.routing),
      num_workers_(workers),
      input_(plan),
      output_bytes_(static_cast<int>(element_bytes(plan.output))),
      counters_(counter_words(plan), 0),
      reached_(static_cast<size_t>(plan.map.num_groups), 0),
      blocks_(host_slots_of(plan)),
      others_(family_->part_of(options.schedule_bytes)),
      stream_(group_->stream(rank_)),
      queue_(kQueueLength) {
  const HostBytes bytes = host_bytes_of(plan_);
  staging_.assign(bytes.staging, 0);
  received_.assign(bytes.received, 0);
  products_.assign(bytes.products, 0);
  packed_.assign(bytes.packed, 0);
  packed_scales_.assign(bytes.packed_scales / sizeof(float), 0);
  slots_.assign(bytes.slots, 0);
  sums_.assign(bytes.sums, 0);
  landed_.assign(bytes.landed, 0);
  take_arena(options.share_memory != 0);
  if (!is_routed(plan_)) {
    planned_ = make_run_map(plan_, rank_, rows_of_runs(plan_));
    if (keeps_slots(plan_)) rows_ = destination_rows(planned_->tiles);
  }
}

HostOp::~HostOp() {
  {
    std::unique_lock lock(stream_.mutex);
    stream_.changed.wait(lock, [&] { return is_let_go(); });
    stop_ = true;
    stream_.changed.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void HostOp::start() {
  threads_.reserve(num_workers_ + 1);
  for (int worker = 0; worker < num_workers_; ++worker)
    threads_.emplace_back(&HostOp::work, this, worker);
  threads_.emplace_back(&HostOp::communicate, this);
}

void* HostOp::at(Buffer place, const Request& request) {
  switch (place) {
    case Buffer::out:
      break;
    case Buffer::send:
    case Buffer::owners:  // the kernel looks up in a table where to store
      return staging_.data();
    case Buffer::received:
      return received_.data();
    case Buffer::landed:
      return landed_.data();
  }
  return request.operands.out;
}

InputRows HostOp::input_of(const Request& request) {
  if (request.run->path.sorts_a) return {packed_.data(), packed_scales_.data()};
  return {const_cast<void*>(request.operands.a), const_cast<float*>(request.operands.scale_a)};
}

// Where rows of A come together: the caller's memory, or the operation's, which is made for the
// first run that needs it.
InputRows HostOp::gathered_of(const tilepost_run_operands_t& operands, const RunPath& path) {
  const int64_t elements = plan_.map.m * plan_.k;
  InputRows rows{};
  if (path.gathers_for_caller) rows = {operands.gathered, operands.gathered_scales};
  if (rows.rows == nullptr) {
    if (gathered_.empty()) gathered_.assign(static_cast<size_t>(elements) * input_.bytes, 0);
    rows.rows = gathered_.data();
  }
  if (rows.scales == nullptr && input_.scales.exist()) {
    if (gathered_scales_.empty())
      gathered_scales_.assign(static_cast<size_t>(input_.scales.of(elements)), 0);
    rows.scales = gathered_scales_.data();
  }
  return rows;
}

// The map of a run. It is made for the first run with this number of rows, and made again if the
// cache has dropped it since.
std::shared_ptr<const RunMap> HostOp::run_map(int64_t rows) {
  if (is_routed(plan_)) return routed_;
  if (rows == 0) return nothing_;
  if (rows == planned_->m) return planned_;
  if (const auto* found = others_.find(rows); found != nullptr) return *found;
  std::shared_ptr<const RunMap> run = make_run_map(plan_, rank_, rows);
  return others_.add(rows, run, bytes_of(*run));
}

tilepost_result_t HostOp::check(const tilepost_run_operands_t& given, CUstream_st* stream) {
  if (stream != nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_op_run: stream must be null on the host target");
  int64_t rows = 0;
  TILEPOST_TRY(rows_of_run(plan_, given.m, routed_ ? routed_->m : -1, rows));
  return operands_of(given, rows).check();
}

// The operands of a run of `rows` rows.
RunOperands HostOp::operands_of(const tilepost_run_operands_t& given, int64_t rows) const {
  return {plan_, rank_,
          routed_ ? rows_of_rank_in(plan_, rank_, *routed_) : rows_of_rank_in(plan_, rank_, rows),
          given};
}

tilepost_result_t HostOp::run(const tilepost_run_operands_t& given, CUstream_st* stream) {
  TILEPOST_TRY(check(given, stream));
  int64_t rows = 0;
  TILEPOST_TRY(rows_of_run(plan_, given.m, routed_ ? routed_->m : -1, rows));
  const RunOperands read = operands_of(given, rows);
  if (routing_ != nullptr)
    TILEPOST_TRY(check_bound_tokens(*routing_, rows_of_rank_in(plan_, rank_, rows).tokens));
  const tilepost_run_operands_t operands = read.with_place(no_rows);
  Request request{};
  request.operands = operands;
  request.run = run_map(rows);
  TILEPOST_TRY(check_gathered(plan_, operands, *request.run));
  request.epilogue = read.for_kernel();
  if (plan_.kernel.num_user > 0 && operands.user != nullptr) {
    void* const* const user = static_cast<void* const*>(operands.user);
    request.user.assign(user, user + plan_.kernel.num_user);
  }
  const RunPath& path = request.run->path;
  request.epilogue.out = at(path.stores, request);
  if (path.reads != InputFrom::a && !path.whole_run) {
    request.gathered = gathered_of(operands, path);
    if (input_.scales.exist()) request.epilogue.scale_a = request.gathered.scales;
  }
  if (path.lends_out) {
    const RegisteredRange* output = nullptr;
    const int64_t bytes = request.run->sizes.out * element_bytes(plan_.output);
    TILEPOST_TRY(find_output(registered_, given.out, bytes, output));
    if (output != nullptr) {
      request.output = output->number;
      request.there = registered_on_[output - registered_.data()];
    }
  }
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock,
                       [&] { return posted_ - finished_ < kQueueLength || group_->aborted(); });
  if (group_->aborted()) return refuse();
  if (path.input_arrives()) ++overlapped_;
  request.ready = overlapped_;
  ++posted_;
  request.ticket = stream_.issued++;
  request.number = ++family_->runs;
  queue_[posted_ % kQueueLength] = std::move(request);
  stream_.changed.notify_all();
  return TILEPOST_OK;
}

tilepost_result_t HostOp::refuse() const {
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
              group_->failure_text());
}

// The result of the operation's runs. Requires idle() or an ended group. An operation that still
// had runs returns the failure that ended them. Any other operation returns that the communicator
// was aborted.
tilepost_result_t HostOp::result() const {
  if (!group_->aborted()) return TILEPOST_OK;
  if (!idle()) return fail(group_->failure(), "%s", group_->failure_text());
  return refuse();
}

tilepost_result_t HostOp::status() {
  const std::lock_guard lock(stream_.mutex);
  return idle() || group_->ended() ? result() : TILEPOST_IN_PROGRESS;
}

tilepost_result_t HostOp::synchronize() {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] { return idle() || group_->ended(); });
  return result();
}

// Memory that other ranks read or write is counted as shared.
void HostOp::add_memory(tilepost_memory_t& memory) {
  size_t shared = slots_.size() + sums_.size() + landed_.size();
  const size_t gathered = gathered_.size() + gathered_scales_.size() * sizeof(float);
  if (paths_.planned.exchanged == Memory::shared) shared += staging_.size() + gathered;
  const size_t all = (counters_.size() + rows_.size()) * sizeof(uint32_t) + staging_.size() +
                     received_.size() + products_.size() + slots_.size() + sums_.size() +
                     landed_.size() + gathered + packed_.size() +
                     packed_scales_.size() * sizeof(float);
  memory.shared_bytes += static_cast<int64_t>(shared);
  memory.device_bytes += static_cast<int64_t>(all) + others_.bytes();
  for (const auto& run : {planned_, routed_})
    if (run != nullptr) memory.device_bytes += bytes_of(*run);
  if (arena_ == nullptr || !made_arena_) return;
  memory.shared_bytes += arena_->bytes();
  memory.device_bytes += arena_->bytes();
}

tilepost_result_t HostOp::find_overlap(int64_t m, bool& overlaps) {
  return tilepost::find_overlap(plan_, m, routed_.get(), overlaps);
}

tilepost_result_t HostOp::get_info(tilepost_op_info_t& info) {
  info.plan = &plan_;
  info.rank = rank_;
  info.out_elements = 0;
  if (const auto& run = is_routed(plan_) ? routed_ : planned_; run != nullptr)
    info.out_elements = run->sizes.out;
  tilepost_memory_t memory{};
  add_memory(memory);
  info.device_bytes = memory.device_bytes;
  info.rows = rows_.empty() ? nullptr : rows_.data();
  info.out = paths_.planned.lends_out ? landed_.data() : nullptr;
  return TILEPOST_OK;
}

tilepost_result_t HostOp::record_timeline() {
  return fail(
      TILEPOST_UNSUPPORTED,
      "an operation of the host target has no timeline: its threads have no device's clock; "
      "generate it for a GPU");
}

// Nothing was recorded, for the same reason.
tilepost_result_t HostOp::write_timeline(const char* /*path*/) {
  return record_timeline();
}

}  // namespace tilepost
