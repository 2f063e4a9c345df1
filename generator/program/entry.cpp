// The C interface of tilepost/program.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "generator/plan/machine/text.h"
#include "generator/plan/make_plan.h"
#include "generator/program/made_program.h"
#include "generator/program/messages.h"
#include "generator/spec/read_fields.h"
#include "generator/spec/tree/read_lines.h"
#include "runtime/core/error.h"
#include "runtime/core/guarded.h"
#include "tilepost/program.h"

// The object behind a tilepost_catalogue_t. Kernels of a catalogue do not need it any more once
// they are loaded.
struct tilepost_catalogue {
  tilepost_catalogue(const char* folder, const tilepost_kernel_loader_t* loader)
      : catalogue(folder, loader) {}

  tilepost::Catalogue catalogue;
};

namespace {

using std::string_view;
using tilepost::fail;
using tilepost::guarded;
using tilepost::MadeProgram;
using tilepost::null_argument;

// A spec has some 60 fields. More texts than this are no spec.
constexpr size_t kMostFields = 4096;

// The programs that were made and not destroyed. A program of generated code is not among them.
class MadePrograms {
 public:
  void add(std::unique_ptr<MadeProgram> program) {
    const std::lock_guard lock(mutex_);
    const tilepost_program_t* const key = &program->program();
    programs_.emplace(key, std::move(program));
  }
  MadeProgram* find(const tilepost_program_t* program) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(program);
    return found != programs_.end() ? found->second.get() : nullptr;
  }
  // The program, which is no longer kept; null if there is none.
  std::unique_ptr<MadeProgram> take(const tilepost_program_t* program) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(program);
    if (found == programs_.end()) return nullptr;
    std::unique_ptr<MadeProgram> taken = std::move(found->second);
    programs_.erase(found);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::map<const tilepost_program_t*, std::unique_ptr<MadeProgram>> programs_;
};

// Never destroyed: threads of other libraries may still use it while the process ends.
MadePrograms& made_programs() {
  static auto* const programs = new MadePrograms;
  return *programs;
}

// Runs `body` for a program of tilepost_program_make.
template <class Body>
tilepost_result_t call_on(const char* call, const tilepost_program_t* program, Body body) {
  if (program == nullptr) return null_argument(call, "program");
  return guarded(call, [&]() -> tilepost_result_t {
    MadeProgram* const made = made_programs().find(program);
    if (made != nullptr) return body(*made);
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: the program was not made by tilepost_program_make, or is destroyed", call);
  });
}

// Runs `body`, which sets `text`, for a program of tilepost_program_make.
template <class Body>
tilepost_result_t text_of(const char* call, const tilepost_program_t* program, const char** text,
                          Body body) {
  if (text == nullptr) return null_argument(call, "the place for the text");
  *text = nullptr;
  return call_on(call, program, [&](MadeProgram& made) {
    *text = body(made).c_str();
    return TILEPOST_OK;
  });
}

// Splits "path=value" at the first '='.
bool split_field(const char* text, tilepost::FieldText& field, tilepost::Messages& messages) {
  const string_view whole = text;
  const size_t equals = whole.find('=');
  if (equals == 0 || equals == string_view::npos) {
    messages.error(fmt::format("a field is 'path=value', got '{}'", whole));
    return false;
  }
  field = {std::string(whole.substr(0, equals)), std::string(whole.substr(equals + 1))};
  return true;
}

// The fields, and those that a program need not give.
std::vector<tilepost::FieldText> read_texts(const char* const* fields, size_t count,
                                            tilepost::Messages& messages) {
  std::vector<tilepost::FieldText> texts;
  for (size_t i = 0; i < count; ++i) {
    if (fields[i] == nullptr)
      messages.error(fmt::format("fields[{}] is null", i));
    else if (tilepost::FieldText field; split_field(fields[i], field, messages))
      texts.push_back(std::move(field));
  }
  const auto add_default = [&](const char* path, const char* value) {
    if (std::ranges::none_of(texts, [&](const auto& text) { return text.path == path; }))
      texts.push_back({path, value});
  };
  add_default("tilepost", "1");
  add_default("name", "program");
  return texts;
}

// The machine of that name, or that the text describes.
std::optional<tilepost::MachineProfile> find_machine(const char* machine,
                                                     tilepost::Messages& messages) {
  if (machine == nullptr) return tilepost::default_machine();
  const string_view text = machine;
  std::vector<string_view> names;
  for (const tilepost::KnownMachine& known : tilepost::known_machines()) {
    if (text == known.key) return known.profile;
    names.push_back(known.key);
  }
  if (text.find('\n') == string_view::npos) {  // a profile has many lines
    messages.error(fmt::format(
        "no machine is called '{}'{}; give one of {}, or the text of a "
        "profile",
        text, tilepost::did_you_mean(text, names), fmt::format("'{}'", fmt::join(names, "', '"))));
    return std::nullopt;
  }
  const string_view source = messages.add_source("machine", text);
  const std::optional<tilepost::Value> root = tilepost::read_lines(source, messages);
  return root ? tilepost::read_machine(*root, messages) : std::nullopt;
}

// A spec and the machine that it is planned for, as a caller gives them.
struct Request {
  const char* call;
  const char* const* fields;
  size_t count;
  const char* machine;
};

// Plans among the kernels that `has_kernel` has.
tilepost_result_t plan(const Request& request, const tilepost::HasKernel& has_kernel,
                       std::unique_ptr<MadeProgram>& made) {
  tilepost::Messages messages;
  const auto texts = read_texts(request.fields, request.count, messages);
  const auto profile = find_machine(request.machine, messages);
  std::vector<tilepost::Plan> plans;
  if (const auto spec = tilepost::read_fields(texts, messages); spec && profile && messages.ok())
    plans = tilepost::make_plans(*spec, *profile, messages, has_kernel);
  if (!messages.ok())
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: %s", request.call, messages.error_text().c_str());
  made = std::make_unique<MadeProgram>(std::move(plans), messages.warnings());
  return TILEPOST_OK;
}

// Plans among all kernels and, where `catalogue` lacks one of the plan's, among those it has.
tilepost_result_t plan_from(const Request& request, tilepost::Catalogue& catalogue,
                            std::unique_ptr<MadeProgram>& made) {
  TILEPOST_TRY(plan(request, {}, made));
  const auto has = [&](const std::string& key) { return catalogue.has(key); };
  if (!std::ranges::all_of(made->variants(), has)) {
    std::unique_ptr<MadeProgram> other;
    if (plan(request, has, other) == TILEPOST_OK) made = std::move(other);
  }
  return made->load(catalogue);
}

// Checks the arguments that are common to the calls that make a program.
tilepost_result_t check_request(const Request& request, const tilepost_program_t** program) {
  if (program == nullptr) return null_argument(request.call, "program");
  *program = nullptr;
  if (request.fields == nullptr) return null_argument(request.call, "fields");
  if (request.count > kMostFields)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s: count is %zu, at most %zu fields are read",
                request.call, request.count, kMostFields);
  return TILEPOST_OK;
}

tilepost_result_t keep(std::unique_ptr<MadeProgram> made, const tilepost_program_t** program) {
  *program = &made->program();
  made_programs().add(std::move(made));
  return TILEPOST_OK;
}

}  // namespace

extern "C" {

tilepost_result_t tilepost_program_make(const char* const* fields, size_t count,
                                        const char* machine, const tilepost_program_t** program) {
  const Request request = {__func__, fields, count, machine};
  TILEPOST_TRY(check_request(request, program));
  return guarded(request.call, [&]() -> tilepost_result_t {
    std::unique_ptr<MadeProgram> made;
    TILEPOST_TRY(plan(request, {}, made));
    return keep(std::move(made), program);
  });
}

tilepost_result_t tilepost_program_make_from(const char* const* fields, size_t count,
                                             const char* machine, tilepost_catalogue_t catalogue,
                                             const tilepost_program_t** program) {
  const Request request = {__func__, fields, count, machine};
  TILEPOST_TRY(check_request(request, program));
  if (catalogue == nullptr) return null_argument(request.call, "catalogue");
  return guarded(request.call, [&]() -> tilepost_result_t {
    std::unique_ptr<MadeProgram> made;
    TILEPOST_TRY(plan_from(request, catalogue->catalogue, made));
    return keep(std::move(made), program);
  });
}

tilepost_result_t tilepost_program_destroy(const tilepost_program_t* program) {
  if (program == nullptr) return TILEPOST_OK;
  const char* const call = __func__;
  return guarded(call, [&]() -> tilepost_result_t {
    if (made_programs().take(program) != nullptr) return TILEPOST_OK;
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: the program was not made by tilepost_program_make, or is destroyed", call);
  });
}

tilepost_result_t tilepost_program_explain(const tilepost_program_t* program, const char** text) {
  return text_of(__func__, program, text,
                 [](MadeProgram& made) -> const std::string& { return made.explanation(); });
}

tilepost_result_t tilepost_program_picture(const tilepost_program_t* program, const char** svg) {
  return text_of(__func__, program, svg,
                 [](MadeProgram& made) -> const std::string& { return made.picture(); });
}

tilepost_result_t tilepost_program_warnings(const tilepost_program_t* program, const char** text) {
  return text_of(__func__, program, text,
                 [](MadeProgram& made) -> const std::string& { return made.warnings(); });
}

tilepost_result_t tilepost_program_variant(const tilepost_program_t* program, int32_t plan,
                                           const char** key) {
  const char* const call = __func__;
  if (key == nullptr) return null_argument(call, "key");
  *key = nullptr;
  return call_on(call, program, [&](MadeProgram& made) -> tilepost_result_t {
    const auto count = static_cast<int32_t>(made.variants().size());
    if (plan < 0 || plan >= count)
      return fail(TILEPOST_INVALID_ARGUMENT, "%s: plan is %d, the program has plans 0 to %d", call,
                  plan, count - 1);
    *key = made.variants()[static_cast<size_t>(plan)].c_str();
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_catalogue_open(const char* folder,
                                          const tilepost_kernel_loader_t* loader,
                                          tilepost_catalogue_t* catalogue) {
  const char* const call = __func__;
  if (catalogue == nullptr) return null_argument(call, "catalogue");
  *catalogue = nullptr;
  if (folder == nullptr) return null_argument(call, "folder");
  if (loader != nullptr && loader->struct_size != sizeof *loader)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s: loader.struct_size is %zu, expected %zu; pass tilepost_cuda_kernel_loader()",
                call, loader->struct_size, sizeof *loader);
  return guarded(call, [&]() -> tilepost_result_t {
    auto opened = std::make_unique<tilepost_catalogue>(folder, loader);
    TILEPOST_TRY(opened->catalogue.open());
    *catalogue = opened.release();
    return TILEPOST_OK;
  });
}

tilepost_result_t tilepost_catalogue_close(tilepost_catalogue_t catalogue) {
  delete catalogue;
  return TILEPOST_OK;
}

tilepost_result_t tilepost_program_load(const tilepost_program_t* program,
                                        tilepost_catalogue_t catalogue) {
  if (catalogue == nullptr) return null_argument(__func__, "catalogue");
  return call_on(__func__, program,
                 [&](MadeProgram& made) { return made.load(catalogue->catalogue); });
}

}  // extern "C"
