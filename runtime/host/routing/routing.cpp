#include "runtime/host/routing/routing.h"

#include <memory>
#include <new>
#include <string>

#include "runtime/core/error.h"
#include "runtime/core/operands.h"

namespace tilepost {
namespace {

// How many sets may wait for their turn. Posting another one waits for a free place.
constexpr size_t kMostSets = 256;

// Counts a routing among the rank's operations. All ranks make them in the same order.
uint64_t next_operation(HostStream& stream) {
  const std::lock_guard lock(stream.mutex);
  return ++stream.operations;
}

std::string text_of(const RoutingShape& shape) {
  return std::to_string(shape.experts) + " experts, top " + std::to_string(shape.top) + ", " +
         std::to_string(shape.most_tokens) + " tokens at most";
}

class RowsOnHost final : public LentRows {
 public:
  explicit RowsOnHost(int64_t bytes)
      : bytes_(bytes), memory_(std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes))) {
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= kVectorAlignment);
  }

  void* memory() const override { return memory_.get(); }
  int64_t bytes() const override { return bytes_; }

 private:
  const int64_t bytes_;
  const std::unique_ptr<char[]> memory_;
};

bool are_alike(const RoutingShape& one, const RoutingShape& other) {
  return one.experts == other.experts && one.top == other.top &&
         one.most_tokens == other.most_tokens;
}

}  // namespace

HostRouting::HostRouting(std::shared_ptr<HostGroup> group, const RoutingTerms& terms,
                         const RoutingShape& shape)
    : group_(std::move(group)),
      terms_(terms),
      shape_(shape),
      layout_(shape),
      operation_(next_operation(group_->stream(shape.rank))),
      memory_(layout_.bytes / sizeof(uint64_t), 0),
      tables_(layout_.at(memory_.data())),
      stream_(group_->stream(shape.rank)) {}

HostRouting::~HostRouting() {
  {
    std::unique_lock lock(stream_.mutex);
    stream_.changed.wait(lock,
                         [&] { return group_->aborted() ? group_->ended() : queue_.empty(); });
    stop_ = true;
    stream_.changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void HostRouting::start() {
  thread_ = std::thread(&HostRouting::work, this);
}

tilepost_result_t HostRouting::set(const void* ids, const void* weights, int64_t m,
                                   CUstream_st* stream) {
  if (stream != nullptr)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "tilepost_routing_set: stream must be null on the host target");
  TILEPOST_TRY(check_tokens(terms_, ids, weights, m));
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] { return queue_.size() < kMostSets || group_->aborted(); });
  if (group_->aborted()) return refuse();
  TILEPOST_TRY(report_fault(fault_, shape_.rank, terms_.options.deadline_seconds));
  queue_.push_back({stream_.issued++,
                    {ids, weights, terms_.wide_ids(), terms_.half_weights(), static_cast<int>(m)}});
  stream_.changed.notify_all();
  return TILEPOST_OK;
}

// Waits for the turn of the next set. Returns false if the routing ends first.
bool HostRouting::next_request(Request& request) {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] {
    return stop_ || group_->aborted() ||
           (!queue_.empty() && queue_.front().ticket == stream_.completed);
  });
  if (stop_ || group_->aborted()) return false;
  request = queue_.front();
  return true;
}

// No exception may leave a thread, so an exception ends the communicator instead.
void HostRouting::work() {
  try {
    Request request;
    for (uint64_t number = 1; next_request(request) && route(number, request.tokens); ++number) {
      const std::lock_guard lock(stream_.mutex);
      queue_.pop_front();
      ++stream_.completed;
      stream_.changed.notify_all();
    }
  } catch (const std::bad_alloc&) {
    group_->abort(TILEPOST_OUT_OF_MEMORY, "out of memory");
  }
}

// Makes the tables of one set. Returns false if the communicator was aborted.
bool HostRouting::route(uint64_t number, const RoutedTokens& tokens) {
  HostStep step{{}, HostStep::kExchange};
  step.terms.program = "routing";
  step.terms.operation = operation_;
  step.terms.call = Meeting::routing;
  step.terms.number = number;
  if (group_->aborted()) return false;  // others may still read what this rank brought before
  own_ = {shape_, tokens};
  if (!group_->begin_collective(shape_.rank, step, &own_, terms_.options.deadline_seconds))
    return false;
  HostGroup::Visit visit(*group_);
  std::vector<RoutedTokens> all;
  if (!read_all(step, all)) return false;
  RoutingFault fault = fault_;  // only this thread writes it
  route_tokens(shape_, all, tables_, fault);
  {
    const std::lock_guard lock(stream_.mutex);
    fault_ = fault;
  }
  return visit.end_collective(shape_.rank, step, terms_.options.deadline_seconds);
}

// Sets `all` to the tokens of all ranks. Aborts the communicator and returns false if another rank
// has made its routing of other terms.
bool HostRouting::read_all(const HostStep& step, std::vector<RoutedTokens>& all) {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const auto& theirs = group_->brought<Brought>(rank);
    if (!are_alike(theirs.shape, shape_)) {
      group_->abort(TILEPOST_INVALID_ARGUMENT,
                    name_step(shape_.rank, step) + ": it has " + text_of(shape_) + ", and rank " +
                        std::to_string(rank) + " has " + text_of(theirs.shape) +
                        "; make the routing alike on all ranks");
      return false;
    }
    all.push_back(theirs.tokens);
  }
  return true;
}

tilepost_result_t HostRouting::refuse() const {
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one: %s",
              group_->failure_text());
}

// Requires that no set is left, or that the group has ended. A routing that still had sets returns
// the failure that ended them. Any other returns that the communicator was aborted.
tilepost_result_t HostRouting::result() const {
  if (!group_->aborted()) return report_fault(fault_, shape_.rank, terms_.options.deadline_seconds);
  if (!queue_.empty()) return fail(group_->failure(), "%s", group_->failure_text());
  return refuse();
}

tilepost_result_t HostRouting::status() {
  const std::lock_guard lock(stream_.mutex);
  return queue_.empty() || group_->ended() ? result() : TILEPOST_IN_PROGRESS;
}

tilepost_result_t HostRouting::synchronize() {
  std::unique_lock lock(stream_.mutex);
  stream_.changed.wait(lock, [&] { return queue_.empty() || group_->ended(); });
  return result();
}

tilepost_result_t HostRouting::make_rows(int64_t bytes, std::shared_ptr<LentRows>& rows) const {
  rows = std::make_shared<RowsOnHost>(bytes);
  return TILEPOST_OK;
}

void HostRouting::get_info(tilepost_routing_info_t& info) {
  info = info_of(shape_, tables_);
  info.device_bytes = static_cast<int64_t>(layout_.bytes);
}

}  // namespace tilepost
