#include "generator/spec/kernel/kernel_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/text.h"

namespace tilepost {
namespace {

using std::string_view;

enum class Value { none, truth, number };

// A flag that is taken.
struct Taken {
  string_view name;
  string_view others[3];  // other spellings of nvcc's
  Value value = Value::none;
  string_view macro = {};  // that nvcc defines under it
};

constexpr Taken kTaken[] = {
    {.name = "--expt-relaxed-constexpr",
     .others = {"-expt-relaxed-constexpr"},
     .macro = "__CUDACC_RELAXED_CONSTEXPR__"},
    {.name = "--extended-lambda",
     .others = {"-extended-lambda", "--expt-extended-lambda", "-expt-extended-lambda"},
     .macro = "__CUDACC_EXTENDED_LAMBDA__"},
    {.name = "--use_fast_math", .others = {"-use_fast_math"}},
    {.name = "--ftz", .others = {"-ftz"}, .value = Value::truth},
    {.name = "--prec-div", .others = {"-prec-div"}, .value = Value::truth},
    {.name = "--prec-sqrt", .others = {"-prec-sqrt"}, .value = Value::truth},
    {.name = "--fmad", .others = {"-fmad"}, .value = Value::truth},
    {.name = "--generate-line-info", .others = {"-lineinfo", "--lineinfo"}},
    {.name = "--diag-suppress", .others = {"-diag-suppress"}, .value = Value::number},
    {.name = "--disable-warnings", .others = {"-w"}},
};

// A flag that is not taken, by how it begins, and what to do in place of it.
struct Refused {
  string_view begin, instead;
};

constexpr string_view kFolders = "folders of headers are kernel.include_dirs";
constexpr string_view kMacros = "macros are kernel.defines";
constexpr string_view kArchs = "'arch' says what code is made for";
constexpr string_view kRegisters =
    "it would limit every kernel of the generated file; say __launch_bounds__ in the kernel, or "
    "kernel.blocks_per_sm";
constexpr string_view kSlow = "it makes generated kernels slow";
constexpr string_view kLinked = "libraries are given where the program is linked";
constexpr string_view kForced = "include the file in kernel.file";

// The first entry that fits is taken, so of entries that begin alike the longer one stands first.
constexpr Refused kRefused[] = {
    {"--include-path", kFolders},
    {"-isystem", kFolders},
    {"--system-include", kFolders},
    {"-include", kForced},
    {"--pre-include", kForced},
    {"-I", kFolders},
    {"--define-macro", kMacros},
    {"-D", kMacros},
    {"--undefine-macro", kMacros},
    {"-U", kMacros},
    {"--std", "generated code is C++20"},
    {"-std", "generated code is C++20"},
    {"--gpu-", kArchs},
    {"-gencode", kArchs},
    {"--generate-code", kArchs},
    {"-arch", kArchs},
    {"-code", kArchs},
    {"--maxrregcount", kRegisters},
    {"-maxrregcount", kRegisters},
    {"--relocatable-device-code", kSlow},
    {"-rdc", kSlow},
    {"--device-c", kSlow},
    {"-dc", kSlow},
    {"--device-debug", kSlow},
    {"-G", kSlow},
    {"--library", kLinked},
    {"-l", kLinked},
    {"-L", kLinked},
};

bool is_value(Value kind, string_view text) {
  if (kind == Value::truth) return text == "true" || text == "false";
  return !text.empty() && text.size() < 10 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

const Taken* find_taken(string_view name) {
  for (const Taken& each : kTaken)
    if (name == each.name || std::ranges::find(each.others, name) != std::end(each.others))
      return &each;
  return nullptr;
}

struct Split {
  string_view name, value;
  bool has_value;
};

Split split(string_view flag) {
  const size_t equals = flag.find('=');
  if (equals == string_view::npos) return {flag, {}, false};
  return {flag.substr(0, equals), flag.substr(equals + 1), true};
}

std::string taken_text() {
  std::string text;
  for (const Taken& each : kTaken)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", each.name,
                        each.value == Value::truth    ? "=true|false"
                        : each.value == Value::number ? "=NUMBER"
                                                      : "");
  return text;
}

}  // namespace

std::string obstacle_of_flag(string_view flag) {
  const auto [name, value, has_value] = split(flag);
  if (const Taken* taken = name.empty() ? nullptr : find_taken(name)) {
    if (taken->value == Value::none)
      return has_value ? fmt::format("{} has no value, got {}", name, quote(flag)) : "";
    if (has_value && is_value(taken->value, value)) return "";
    return fmt::format("{} is written {}={}, got {}", name, name,
                       taken->value == Value::truth ? "true|false" : "NUMBER", quote(flag));
  }
  for (const Refused& each : kRefused)
    if (flag.starts_with(each.begin))
      return fmt::format("kernel.flags does not take {}: {}", quote(flag), each.instead);
  return fmt::format("kernel.flags does not take {}; it takes {}", quote(flag), taken_text());
}

std::vector<std::string> flags_of(const KernelSpec& kernel) {
  std::vector<std::string> flags;
  for (const Located<std::string>& each : kernel.flags.value) {
    const auto [name, value, has_value] = split(each.value);
    const Taken* const taken = find_taken(name);
    if (taken == nullptr) continue;
    std::string flag(taken->name);
    if (has_value) flag += "=" + std::string(value);
    if (std::ranges::find(flags, flag) == flags.end()) flags.push_back(flag);
  }
  return flags;
}

string_view macro_of_flag(string_view flag) {
  const Taken* const taken = find_taken(flag);
  return taken != nullptr ? taken->macro : string_view{};
}

}  // namespace tilepost
