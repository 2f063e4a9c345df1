// Registers outputs. The ranks exchange which buffers they pass, and where these are. Ranks that
// push in a step also get the pointer anew in every run (HostMemory::landed).
#include <bit>

#include "runtime/core/error.h"
#include "runtime/host/op.h"

namespace tilepost {

// Lets ranks agree on a call. `own` is the result of this rank's check of its buffer. If it is an
// error, its text is the thread's last error. Sets `there` to where each rank's buffer begins.
tilepost_result_t HostOp::agree_on_output(Registration call, tilepost_result_t own,
                                          const RegisteredRange& range, std::vector<void*>& there) {
  const std::string text = own != TILEPOST_OK ? tilepost_last_error() : "";
  if (!wait_for_stream()) return refuse();
  const HostStep place = exchange_place(Meeting::registration, ++registration_calls_);
  const auto number = own == TILEPOST_OK ? int64_t{range.number} : 0;
  std::vector<int64_t> all;
  const auto operation = static_cast<int64_t>(family_->operation);
  const auto begin = static_cast<int64_t>(reinterpret_cast<intptr_t>(range.begin));
  if (!exchange(place, {operation, static_cast<int64_t>(call), own, number, range.bytes, begin},
                all))
    return fail(group_->failure(), "%s", group_->failure_text());
  std::vector<RegistrationTerms> terms;
  there.clear();
  for (size_t at = 0; at < all.size(); at += kRegistrationNumbers + 1) {
    terms.push_back({all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4]});
    there.push_back(std::bit_cast<void*>(static_cast<intptr_t>(all[at + 5])));
  }
  return agree_on_registration(rank_, terms, text.c_str());
}

tilepost_result_t HostOp::register_output(void* buffer, int64_t bytes) {
  TILEPOST_TRY(check_registers(name_, plan_));
  const RegisteredRange range{registrations_ + 1, static_cast<const char*>(buffer), bytes};
  const tilepost_result_t own = check_buffer(plan_, buffer, bytes, registered_);
  std::vector<void*> there;
  TILEPOST_TRY(agree_on_output(Registration::adds, own, range, there));
  ++registrations_;
  registered_.push_back(range);
  registered_on_.push_back(std::move(there));
  return TILEPOST_OK;
}

tilepost_result_t HostOp::unregister_output(const void* buffer) {
  TILEPOST_TRY(check_registers(name_, plan_));
  const RegisteredRange* found = nullptr;
  const tilepost_result_t own = find_registered(registered_, buffer, found);
  const RegisteredRange range = found != nullptr ? *found : RegisteredRange{};
  std::vector<void*> there;
  TILEPOST_TRY(agree_on_output(Registration::removes, own, range, there));
  const ptrdiff_t at = found - registered_.data();
  registered_.erase(registered_.begin() + at);
  registered_on_.erase(registered_on_.begin() + at);
  return TILEPOST_OK;
}

}  // namespace tilepost
