// The C entry points of tilepost/routing.h. They check arguments, dispatch to the target and let no
// exception out.
#include "runtime/core/guarded.h"
#include "runtime/core/routing/routing.h"
#include "runtime/core/structures.h"

namespace {

using tilepost::check_handle;
using tilepost::check_size;
using tilepost::fail;
using tilepost::guarded;
using tilepost::null_argument;

tilepost_result_t check_options(const char* call, const tilepost_routing_options_t& options) {
  TILEPOST_TRY(check_size(call, "options", options, "tilepost_routing_options_t"));
  if (options.ids != TILEPOST_IDS_I32 && options.ids != TILEPOST_IDS_I64)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.ids must be TILEPOST_IDS_I32 or TILEPOST_IDS_I64, got %d", call,
                static_cast<int>(options.ids));
  if (options.weights != TILEPOST_F32 && options.weights != TILEPOST_BF16)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.weights must be TILEPOST_F32 or TILEPOST_BF16, got %d", call,
                static_cast<int>(options.weights));
  return tilepost::check_deadline(call, options.deadline_seconds);
}

// Runs `body` for a routing of the caller's that this process may use.
template <class Body>
tilepost_result_t call_on(const char* call, tilepost_expert_routing_t routing, Body body) {
  return tilepost::call_on(call, "routing", routing, body);
}

}  // namespace

extern "C" {

tilepost_routing_options_t tilepost_default_routing_options(void) {
  return {sizeof(tilepost_routing_options_t), TILEPOST_IDS_I32, TILEPOST_F32,
          tilepost::kDefaultDeadlineSeconds};
}

tilepost_result_t tilepost_routing_create(tilepost_comm_t comm, int32_t experts, int32_t top,
                                          int64_t most_tokens,
                                          const tilepost_routing_options_t* options,
                                          tilepost_expert_routing_t* routing) {
  const char* call = __func__;
  if (routing == nullptr) return null_argument(call, "routing");
  *routing = nullptr;
  TILEPOST_TRY(check_handle(call, "comm", comm));
  const tilepost_routing_options_t chosen =
      options == nullptr ? tilepost_default_routing_options() : *options;
  TILEPOST_TRY(check_options(call, chosen));
  return guarded(call, [&] {
    std::unique_ptr<tilepost_expert_routing> made;
    TILEPOST_TRY(comm->create_routing({experts, top, most_tokens, chosen}, made));
    *routing = tilepost::hand_out(*comm, std::move(made));
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_routing_set(tilepost_expert_routing_t routing, const void* ids,
                                       const void* weights, int64_t m, CUstream_st* stream) {
  return call_on(__func__, routing, [&] {
    TILEPOST_TRY(routing->set(ids, weights, m, stream));
    routing->routed_tokens = m;
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_routing_status(tilepost_expert_routing_t routing) {
  return call_on(__func__, routing, [&] { return routing->status(); });
}

tilepost_result_t tilepost_routing_synchronize(tilepost_expert_routing_t routing) {
  return call_on(__func__, routing, [&] { return routing->synchronize(); });
}

tilepost_result_t tilepost_routing_get_info(tilepost_expert_routing_t routing,
                                            tilepost_routing_info_t* info) {
  if (routing != nullptr && info == nullptr) return null_argument(__func__, "info");
  return call_on(__func__, routing, [&] {
    routing->get_info(*info);
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_routing_destroy(tilepost_expert_routing_t routing) {
  return tilepost::destroy(__func__, routing);
}

}  // extern "C"
