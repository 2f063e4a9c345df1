#include "runtime/core/registration.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/core/error.h"
#include "runtime/core/operands.h"
#include "runtime/core/run_terms.h"
#include "runtime/map/slots.h"
#include "runtime/schedule/run_map.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

int64_t row_bytes(const tilepost_plan_t& plan) {
  return plan.map.n * element_bytes(plan.output);
}

const char* call_name(int64_t call) {
  return call == static_cast<int64_t>(Registration::adds) ? "tilepost_op_register"
                                                          : "tilepost_op_unregister";
}

// Checks that the buffers of two ranks have the same number and size.
tilepost_result_t compare(int rank, const RegistrationTerms& terms, int other,
                          const RegistrationTerms& theirs) {
  if (theirs.number != terms.number)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: the buffer is number %" PRId64
                " of those registered on rank %d and number %" PRId64
                " on rank %d; pass the same one on every rank",
                call_name(terms.call), theirs.number, other, terms.number, rank);
  if (theirs.bytes != terms.bytes)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: the buffer has %" PRId64 " bytes on rank %d and %" PRId64
                " on rank %d; register as many on every rank",
                call_name(terms.call), theirs.bytes, other, terms.bytes, rank);
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t check_registers(const char* program, const tilepost_plan_t& plan) {
  if (paths_of(plan).planned.lends_out) return TILEPOST_OK;
  return fail(TILEPOST_UNSUPPORTED,
              "'%s': ranks store nothing in each other's outputs in runs of this plan: only those "
              "of a gemm_all_reduce or gemm_all_to_all with transport peer do, without a consumer, "
              "whose kernel does all that crosses ranks; pass the buffer as out without "
              "registering it",
              program);
}

tilepost_result_t check_buffer(const tilepost_plan_t& plan, const void* buffer, int64_t bytes,
                               std::span<const RegisteredRange> registered) {
  if (buffer == nullptr) return fail(TILEPOST_INVALID_ARGUMENT, "buffer is null");
  TILEPOST_TRY(check_alignment("buffer", buffer, kVectorAlignment));
  const int64_t rows = plan.any_m != 0 ? 1 : most_rows_of_out(plan, plan.map);
  if (const int64_t least = rows * row_bytes(plan); bytes < least)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "bytes is %" PRId64 ", and the output of the operation's smallest run has %" PRId64
                "; register as many bytes as the largest output that goes there",
                bytes, least);
  if (registered.size() >= kMostRegistered)
    return fail(TILEPOST_UNSUPPORTED,
                "%zu buffers are registered with the operation, the most; unregister one first",
                registered.size());
  const auto* begin = static_cast<const char*>(buffer);
  for (const RegisteredRange& other : registered)
    if (begin < other.begin + other.bytes && other.begin < begin + bytes)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "the %" PRId64 " bytes at %p overlap the %" PRId64
                  " at %p that are registered already; unregister these first",
                  bytes, buffer, other.bytes, static_cast<const void*>(other.begin));
  return TILEPOST_OK;
}

tilepost_result_t find_registered(std::span<const RegisteredRange> registered, const void* buffer,
                                  const RegisteredRange*& found) {
  const auto at = std::ranges::find(registered, buffer, &RegisteredRange::begin);
  found = at == registered.end() ? nullptr : &*at;
  if (found != nullptr) return TILEPOST_OK;
  return fail(
      TILEPOST_INVALID_ARGUMENT,
      "no buffer that begins at %p is registered with this operation; pass the pointer that "
      "tilepost_op_register was given",
      buffer);
}

tilepost_result_t agree_on_registration(int rank, std::span<const RegistrationTerms> all,
                                        const char* own_text) {
  const RegistrationTerms& own = all[static_cast<size_t>(rank)];
  const auto first = [&](auto is) { return std::ranges::find_if(all, is) - all.begin(); };
  const auto end = static_cast<ptrdiff_t>(all.size());
  if (const auto other = first([&](const auto& terms) { return terms.operation != own.operation; });
      other != end)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "rank %td has called %s with its operation %" PRId64
                " and rank %d %s with its operation %" PRId64 "%s",
                other, call_name(all[other].call), all[other].operation, rank, call_name(own.call),
                own.operation, kSameOrder);
  if (const auto other = first([&](const auto& terms) { return terms.call != own.call; });
      other != end)
    return fail(TILEPOST_INVALID_ARGUMENT, "rank %td has called %s and rank %d %s%s", other,
                call_name(all[other].call), rank, call_name(own.call), kSameOrder);
  if (const auto refused = first([](const auto& terms) { return terms.status != TILEPOST_OK; });
      refused != end) {
    const auto result = static_cast<tilepost_result_t>(all[refused].status);
    if (own.status != TILEPOST_OK) return fail(result, "%s", own_text);
    return fail(result, "%s: rank %td's buffer was refused; its own error says why",
                call_name(own.call), refused);
  }
  for (ptrdiff_t other = 0; other < end; ++other)
    TILEPOST_TRY(compare(rank, own, static_cast<int>(other), all[other]));
  return TILEPOST_OK;
}

tilepost_result_t find_output(std::span<const RegisteredRange> registered, const void* out,
                              int64_t bytes, const RegisteredRange*& found) {
  found = nullptr;
  const auto* at = static_cast<const char*>(out);
  for (const RegisteredRange& range : registered) {
    if (at < range.begin || at >= range.begin + range.bytes) continue;
    if (at != range.begin)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "out lies %td bytes into the buffer that is registered at %p, and other ranks "
                  "store at the begin of theirs; pass that, or register what begins at out alone",
                  at - range.begin, static_cast<const void*>(range.begin));
    if (bytes > range.bytes)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "the output has %" PRId64 " bytes, and %" PRId64
                  " are registered at %p; register as many as the largest output has",
                  bytes, range.bytes, out);
    found = &range;
    return TILEPOST_OK;
  }
  return TILEPOST_OK;
}

}  // namespace tilepost
