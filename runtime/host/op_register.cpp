// Registering outputs: the ranks tell each other what they pass. Within a process there is nothing
// else to do: who pushes is told the pointer in every run (HostMemory::landed).
#include "runtime/core/error.h"
#include "runtime/host/op.h"

namespace tilepost {

// `own`: what this rank says of its buffer, whose text is the thread's last error.
tilepost_result_t HostOp::agree_on_output(Registration call, tilepost_result_t own,
                                          const RegisteredRange& range) {
  const std::string text = own != TILEPOST_OK ? tilepost_last_error() : "";
  if (!wait_for_stream()) return refuse();
  const HostStep place = exchange_place(Meeting::registration, ++registration_calls_);
  const auto number = own == TILEPOST_OK ? int64_t{range.number} : 0;
  std::vector<int64_t> all;
  const auto operation = static_cast<int64_t>(operation_);
  if (!exchange(place, {operation, static_cast<int64_t>(call), own, number, range.bytes}, all))
    return fail(group_->failure(), "%s", group_->failure_text());
  std::vector<RegistrationTerms> terms;
  for (size_t at = 0; at < all.size(); at += kRegistrationNumbers)
    terms.push_back({all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4]});
  return agree_on_registration(rank_, terms, text.c_str());
}

tilepost_result_t HostOp::register_output(void* buffer, int64_t bytes) {
  if (const auto result = check_registers(name_, plan_); result != TILEPOST_OK) return result;
  const RegisteredRange range{registrations_ + 1, static_cast<const char*>(buffer), bytes};
  const tilepost_result_t own = check_buffer(plan_, buffer, bytes, registered_);
  const tilepost_result_t agreed = agree_on_output(Registration::adds, own, range);
  if (agreed != TILEPOST_OK) return agreed;
  ++registrations_;
  registered_.push_back(range);
  return TILEPOST_OK;
}

tilepost_result_t HostOp::unregister_output(const void* buffer) {
  if (const auto result = check_registers(name_, plan_); result != TILEPOST_OK) return result;
  const RegisteredRange* found = nullptr;
  const tilepost_result_t own = find_registered(registered_, buffer, found);
  const RegisteredRange range = found != nullptr ? *found : RegisteredRange{};
  const tilepost_result_t agreed = agree_on_output(Registration::removes, own, range);
  if (agreed != TILEPOST_OK) return agreed;
  registered_.erase(registered_.begin() + (found - registered_.data()));
  return TILEPOST_OK;
}

}  // namespace tilepost
