// The C entry points that make operations, and that tell what one would take. They are the same for
// every target.
#include <cinttypes>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "runtime/core/composed/layer_op.h"
#include "runtime/core/error.h"
#include "runtime/core/guarded.h"
#include "runtime/core/routing/routing.h"
#include "runtime/core/structures.h"
#include "runtime/schedule/schedule_cache.h"

namespace {

using tilepost::check_handle;
using tilepost::fail;
using tilepost::guarded;
using tilepost::hand_out;
using tilepost::null_argument;

constexpr int64_t kMostScheduleBytes = int64_t{1} << 40;
constexpr int kMostAtOnce = 64;  // operations that one call makes

// The sizes that the structure had in earlier versions, and the size that it has now. The first one
// had four unused bytes in place of share_memory, so its size is that of the second.
constexpr std::initializer_list<size_t> kOptionsSizes = {
    offsetof(tilepost_options_t, schedule_bytes), offsetof(tilepost_options_t, routing),
    sizeof(tilepost_options_t)};

// Sets `chosen` to the caller's options, or to the defaults where the caller gives none.
tilepost_result_t complete_options(const char* call, const tilepost_options_t* options,
                                   tilepost_options_t& chosen) {
  chosen = tilepost_default_options();
  if (options == nullptr) return TILEPOST_OK;
  const size_t size = options->struct_size;
  if (!tilepost::is_known_size(size, kOptionsSizes))
    return fail(
        TILEPOST_INVALID_ARGUMENT,
        "%s: options.struct_size is %zu, expected %zu; start from tilepost_default_options()", call,
        size, sizeof(tilepost_options_t));
  chosen = tilepost::completed(options, size, chosen);
  return TILEPOST_OK;
}

tilepost_result_t check_options(const char* call, const tilepost_options_t& options) {
  TILEPOST_TRY(tilepost::check_deadline(call, options.deadline_seconds));
  if (options.host_workers < 0 || options.host_workers > 256)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: options.host_workers must be from 0 to 256, got %d",
                call, options.host_workers);
  if (options.share_memory != 0 && options.share_memory != 1)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: options.share_memory must be 0 or 1, got %d", call,
                options.share_memory);
  if (options.schedule_bytes < 0 || options.schedule_bytes > kMostScheduleBytes)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: options.schedule_bytes must be from 0 to %" PRId64 ", got %" PRId64, call,
                kMostScheduleBytes, options.schedule_bytes);
  return TILEPOST_OK;
}

// Checks what an operation is to be made of, and sets `chosen` to the options that a target gets.
tilepost_result_t check_creation(const char* call, tilepost_comm_t comm,
                                 const tilepost_program_t* program,
                                 const tilepost_options_t* options, tilepost_options_t& chosen) {
  TILEPOST_TRY(check_handle(call, "comm", comm));
  if (program == nullptr) return null_argument(call, "program");
  if (program->abi_version != TILEPOST_ABI_VERSION)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: program '%s' was generated for ABI %u, this runtime has ABI %u; regenerate it",
                call, program->name, program->abi_version, TILEPOST_ABI_VERSION);
  TILEPOST_TRY(complete_options(call, options, chosen));
  TILEPOST_TRY(check_options(call, chosen));
  TILEPOST_TRY(tilepost::check_binding(call, *comm, *program, chosen.routing));
  if (chosen.schedule_bytes == 0) chosen.schedule_bytes = tilepost::kScheduleBytes;
  return TILEPOST_OK;
}

// Makes an operation of any program. Collective.
tilepost_result_t make_op(tilepost_comm& comm, const tilepost_program_t& program,
                          const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op) {
  return tilepost::is_layer(program) ? tilepost::make_layer(comm, program, options, op)
                                     : comm.create_op(program, options, op);
}

// An operation that a thread makes, and what became of it.
struct Creation {
  std::unique_ptr<tilepost_op> op;
  tilepost_result_t result = TILEPOST_OK;
  std::string text;
};

// Makes an operation on every communicator. Each has a thread, because making one waits for the
// others. A thread that cannot be started leaves its rank out, and the others then wait for it
// until their deadline.
std::vector<Creation> create_at_once(const char* call, std::span<const tilepost_comm_t> comms,
                                     const tilepost_program_t& program,
                                     const tilepost_options_t& options) {
  std::vector<Creation> all(comms.size());
  const auto create = [&](size_t i) {
    Creation& own = all[i];
    own.result = guarded(call, [&] { return make_op(*comms[i], program, options, own.op); });
    if (own.result != TILEPOST_OK) own.text = tilepost_last_error();
  };
  std::vector<std::thread> threads;
  threads.reserve(comms.size());
  for (size_t i = 0; i < comms.size(); ++i) {
    try {
      threads.emplace_back(create, i);
    } catch (const std::exception& error) {
      all[i].result = TILEPOST_OUT_OF_MEMORY;
      all[i].text = std::string("cannot start a thread: ") + error.what();
    }
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

}  // namespace

extern "C" {

tilepost_options_t tilepost_default_options(void) {
  return {sizeof(tilepost_options_t), tilepost::kDefaultDeadlineSeconds, 0, 0, 0, nullptr};
}

tilepost_result_t tilepost_op_create(tilepost_comm_t comm, const tilepost_program_t* program,
                                     const tilepost_options_t* options, tilepost_op_t* op) {
  const char* call = __func__;
  if (op == nullptr) return null_argument(call, "op");
  *op = nullptr;
  tilepost_options_t chosen{};
  TILEPOST_TRY(check_creation(call, comm, program, options, chosen));
  return guarded(call, [&] {
    std::unique_ptr<tilepost_op> made;
    TILEPOST_TRY(make_op(*comm, *program, chosen, made));
    *op = hand_out(*comm, std::move(made));
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_ops_create(const tilepost_comm_t* comms, int count,
                                      const tilepost_program_t* program,
                                      const tilepost_options_t* options, tilepost_op_t* ops) {
  const char* call = __func__;
  if (count < 1 || count > kMostAtOnce)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: count must be from 1 to %d, got %d", call,
                kMostAtOnce, count);
  if (ops == nullptr) return null_argument(call, "ops");
  const std::span all_ops(ops, static_cast<size_t>(count));
  for (tilepost_op_t& op : all_ops) op = nullptr;
  if (comms == nullptr) return null_argument(call, "comms");
  const std::span all_comms(comms, static_cast<size_t>(count));
  tilepost_options_t chosen{};
  for (size_t i = 0; i < all_comms.size(); ++i) {
    for (size_t before = 0; before < i; ++before)
      if (all_comms[before] == all_comms[i] && all_comms[i] != nullptr)
        return fail(TILEPOST_INVALID_ARGUMENT, "%s: comms[%zu] is comms[%zu]; give each rank's own",
                    call, i, before);
    TILEPOST_TRY(check_creation(call, all_comms[i], program, options, chosen));
  }
  return guarded(call, [&] {
    std::vector<Creation> made = create_at_once(call, all_comms, *program, chosen);
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].result != TILEPOST_OK) {
        const tilepost_result_t result = made[i].result;
        const std::string text = made[i].text;
        made.clear();
        return fail(result, "comms[%zu]: %s", i, text.c_str());
      }
    for (size_t i = 0; i < made.size(); ++i)
      all_ops[i] = hand_out(*all_comms[i], std::move(made[i].op));
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_program_memory(tilepost_comm_t comm, const tilepost_program_t* program,
                                          const tilepost_options_t* options,
                                          tilepost_memory_t* memory) {
  const char* call = __func__;
  if (memory == nullptr) return null_argument(call, "memory");
  TILEPOST_TRY(tilepost::check_size(call, "memory", *memory, "tilepost_memory_t"));
  tilepost_options_t chosen{};
  TILEPOST_TRY(check_creation(call, comm, program, options, chosen));
  return guarded(call, [&] {
    tilepost_memory_t taken{sizeof taken, 0, 0, 0};
    TILEPOST_TRY(tilepost::is_layer(*program)
                     ? tilepost::add_needs_of_layer(*comm, *program, chosen, taken)
                     : comm->memory_of({program, 1}, chosen, taken));
    *memory = taken;
    return TILEPOST_OK;
  });
}

}  // extern "C"
