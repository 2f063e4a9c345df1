#include "generator/spec/names.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace tilepost {
namespace {

template <class E>
constexpr Spelling spell(std::string_view text, E value) {
  return {text, static_cast<int>(value)};
}

constexpr auto kPatternNames = [] {
  std::array<Spelling, kNumPatterns> names{};
  for (size_t i = 0; i < names.size(); ++i)
    names[i] = spell(kPatterns[i].name, kPatterns[i].pattern);
  return names;
}();
constexpr Spelling kRoutings[] = {spell("even", TILEPOST_ROUTING_EVEN),
                                  spell("splits", TILEPOST_ROUTING_SPLITS),
                                  spell("rows", TILEPOST_ROUTING_ROWS)};
constexpr Spelling kElementTypes[] = {spell("bf16", TILEPOST_BF16), spell("f16", TILEPOST_F16),
                                      spell("e4m3", TILEPOST_E4M3), spell("f32", TILEPOST_F32)};
constexpr Spelling kGemmLayouts[] = {spell("tn", TILEPOST_TN), spell("nn", TILEPOST_NN)};
constexpr Spelling kAccumulates[] = {spell("precise", TILEPOST_PRECISE),
                                     spell("fast", TILEPOST_FAST)};
constexpr Spelling kEpilogueOps[] = {spell("scale", TILEPOST_SCALE),
                                     spell("scale_rows", TILEPOST_SCALE_ROWS),
                                     spell("scale_columns", TILEPOST_SCALE_COLUMNS),
                                     spell("bias", TILEPOST_BIAS),
                                     spell("gelu", TILEPOST_GELU),
                                     spell("silu", TILEPOST_SILU),
                                     spell("residual", TILEPOST_RESIDUAL)};
constexpr Spelling kArchs[] = {spell("sm_80", Arch::sm_80), spell("sm_86", Arch::sm_86),
                               spell("sm_89", Arch::sm_89), spell("sm_90a", Arch::sm_90a),
                               spell("host", Arch::host)};
constexpr Spelling kOutputLayouts[] = {
    {"auto", kAuto}, spell("panel", TILEPOST_PANEL), spell("tile", TILEPOST_TILE)};
constexpr Spelling kTransports[] = {{"auto", kAuto},
                                    spell("nccl", TILEPOST_TRANSPORT_NCCL),
                                    spell("nccl_symmetric", TILEPOST_TRANSPORT_NCCL_SYMMETRIC),
                                    spell("copy_engine", TILEPOST_TRANSPORT_COPY_ENGINE),
                                    spell("peer", TILEPOST_TRANSPORT_PEER),
                                    spell("peer_tiles", TILEPOST_TRANSPORT_PEER_TILES),
                                    spell("none", TILEPOST_TRANSPORT_NONE)};
constexpr Spelling kSums[] = {
    {"auto", kAuto}, spell("staged", TILEPOST_SUM_STAGED), spell("added", TILEPOST_SUM_ADDED)};
constexpr Spelling kShots[] = {{"auto", kAuto},
                               spell("one", TILEPOST_ONE_SHOT),
                               spell("two", TILEPOST_TWO_SHOT),
                               spell("lines", TILEPOST_ONE_SHOT_LINES)};
constexpr Spelling kWaits[] = {
    {"auto", kAuto}, spell("poll", TILEPOST_WAIT_POLL), spell("stream", TILEPOST_WAIT_STREAM)};
constexpr Spelling kConsumers[] = {spell("none", TILEPOST_CONSUMER_NONE),
                                   spell("unpermute", TILEPOST_CONSUMER_UNPERMUTE),
                                   spell("rms_norm", TILEPOST_CONSUMER_RMS_NORM),
                                   spell("residual_rms_norm", TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)};

constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"bfloat16", "bf16"},    {"float16", "f16"},      {"fp16", "f16"},
    {"half", "f16"},         {"float32", "f32"},      {"fp32", "f32"},
    {"float", "f32"},        {"fp8", "e4m3"},         {"float8", "e4m3"},
    {"f8", "e4m3"},          {"float8_e4m3", "e4m3"}, {"float8_e4m3fn", "e4m3"},
    {"e4m3fn", "e4m3"},      {"a100", "sm_80"},       {"ampere", "sm_80"},
    {"80", "sm_80"},         {"a40", "sm_86"},        {"a6000", "sm_86"},
    {"86", "sm_86"},         {"l40", "sm_89"},        {"l40s", "sm_89"},
    {"ada", "sm_89"},        {"89", "sm_89"},         {"h100", "sm_90a"},
    {"h200", "sm_90a"},      {"h800", "sm_90a"},      {"gh200", "sm_90a"},
    {"hopper", "sm_90a"},    {"90", "sm_90a"},        {"90a", "sm_90a"},
    {"b100", "sm_100"},      {"b200", "sm_100"},      {"gb200", "sm_100"},
    {"blackwell", "sm_100"}, {"100", "sm_100"},       {"cpu", "host"},
    {"sm_70", "sm_70"},      {"sm_75", "sm_75"},      {"sm_87", "sm_87"},
    {"sm_100", "sm_100"},    {"sm_100a", "sm_100a"},  {"sm_103", "sm_103"},
    {"f64", "f64"},          {"float64", "f64"},      {"double", "f64"},
    {"sm_103a", "sm_103a"},  {"sm_120", "sm_120"},    {"sm_120a", "sm_120a"}};

// Types that other libraries have. A user who writes one has not misspelled a type of the spec.
constexpr std::string_view kTypesOfOthers[] = {
    "tf32", "e5m2", "float8_e5m2", "e2m1", "fp4",   "nvfp4", "mxfp4", "int4", "i4",
    "s4",   "u4",   "uint4",       "int8", "uint8", "i8",    "s8",    "u8",   "int16",
    "i16",  "s16",  "int32",       "i32",  "s32",   "int64", "bool"};

template <class E>
const char* find_name(E value) {
  for (const Spelling& spelling : spellings<E>())
    if (spelling.value == static_cast<int>(value)) return spelling.text.data();
  std::abort();  // an enumerator without a spelling
}

}  // namespace

// clang-format off
template <> std::span<const Spelling> spellings<tilepost_pattern_t>() { return kPatternNames; }
template <> std::span<const Spelling> spellings<tilepost_routing_t>() { return kRoutings; }
template <> std::span<const Spelling> spellings<tilepost_dtype_t>() { return kElementTypes; }
template <> std::span<const Spelling> spellings<tilepost_operands_t>() { return kGemmLayouts; }
template <> std::span<const Spelling> spellings<tilepost_accumulate_t>() { return kAccumulates; }
template <> std::span<const Spelling> spellings<tilepost_epilogue_op_t>() { return kEpilogueOps; }
template <> std::span<const Spelling> spellings<Arch>() { return kArchs; }
template <> std::span<const Spelling> spellings<tilepost_layout_t>() { return kOutputLayouts; }
template <> std::span<const Spelling> spellings<tilepost_transport_t>() { return kTransports; }
template <> std::span<const Spelling> spellings<tilepost_sum_t>() { return kSums; }
template <> std::span<const Spelling> spellings<tilepost_shots_t>() { return kShots; }
template <> std::span<const Spelling> spellings<tilepost_wait_t>() { return kWaits; }
template <> std::span<const Spelling> spellings<tilepost_consumer_t>() { return kConsumers; }
// clang-format on

std::string_view spelling_of(std::string_view name) {
  for (const auto& [other, spelling] : kOtherNames)
    if (other == name) return spelling;
  for (const std::string_view type : kTypesOfOthers)
    if (type == name) return type;
  return "";
}

const char* name_of(tilepost_pattern_t value) {
  return find_name(value);
}
const char* name_of(tilepost_routing_t value) {
  return find_name(value);
}
const char* name_of(tilepost_dtype_t value) {
  return find_name(value);
}
const char* name_of(tilepost_operands_t value) {
  return find_name(value);
}
const char* name_of(tilepost_accumulate_t value) {
  return find_name(value);
}
const char* name_of(tilepost_epilogue_op_t value) {
  return find_name(value);
}
const char* name_of(Arch value) {
  return find_name(value);
}
const char* name_of(tilepost_layout_t value) {
  return find_name(value);
}
const char* name_of(tilepost_transport_t value) {
  return find_name(value);
}
const char* name_of(tilepost_sum_t value) {
  return find_name(value);
}
const char* name_of(tilepost_wait_t value) {
  return find_name(value);
}
const char* name_of(tilepost_consumer_t value) {
  return find_name(value);
}

}  // namespace tilepost
