#include "generator/spec/names.h"

#include <array>

namespace tilepost {
namespace {

struct ArchName {
  Arch value;
  const char* name;
};
constexpr ArchName kArchs[] = {{Arch::sm_80, "sm_80"},
                               {Arch::sm_86, "sm_86"},
                               {Arch::sm_89, "sm_89"},
                               {Arch::sm_90a, "sm_90a"},
                               {Arch::host, "host"}};
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
TILEPOST_CHECK_TABLE(Arch, kArchs, value, 5)
#pragma GCC diagnostic pop
static_assert(has_row(Arch::host) && is_in_order(kArchs, &ArchName::value));

constexpr Spelling kAutoSpelling = {"auto", kAuto};

template <class Row>
constexpr Spelling spell(const Row& row) {
  return {row.name, static_cast<int>(row.value)};
}

// The rows of a table, behind the first `kBefore` spellings, which the caller fills in.
template <size_t kBefore = 0, class Row, size_t kRows>
constexpr std::array<Spelling, kBefore + kRows> spell_all(const Row (&table)[kRows]) {
  std::array<Spelling, kBefore + kRows> spellings{};
  for (size_t i = 0; i < kRows; ++i) spellings[kBefore + i] = spell(table[i]);
  return spellings;
}

template <class Row, size_t kRows>
constexpr std::array<Spelling, 1 + kRows> spell_with_auto(const Row (&table)[kRows]) {
  std::array<Spelling, 1 + kRows> spellings = spell_all<1>(table);
  spellings[0] = kAutoSpelling;
  return spellings;
}

constexpr auto kPatternNames = [] {
  std::array<Spelling, kNumPatterns + 1> names{};
  for (size_t i = 0; i < kNumPatterns; ++i)
    names[i] = {kPatterns[i].name, static_cast<int>(kPatterns[i].pattern)};
  names.back() = kLayerPattern;
  return names;
}();
constexpr auto kRoutings = spell_all(enumerators::kRoutings);
constexpr auto kElementTypes = spell_all(kDtypes);
constexpr auto kGemmLayouts = spell_all(enumerators::kOperands);
constexpr auto kAccumulates = spell_all(enumerators::kAccumulates);
constexpr auto kEpilogueOps = spell_all(enumerators::kEpilogueOps);
constexpr auto kGates = spell_all(enumerators::kGates);
constexpr auto kArchNames = spell_all(kArchs);
constexpr auto kOutputLayouts = spell_with_auto(enumerators::kLayouts);
constexpr auto kSums = spell_with_auto(enumerators::kSums);
constexpr auto kWaits = spell_with_auto(enumerators::kWaits);
constexpr auto kConsumers = spell_all(enumerators::kConsumers);
// A spec asks for the last one by the type of the output.
static_assert(TILEPOST_CONSUMER_QUANTISE + 1 == kConsumers.size());
constexpr auto kAskedConsumers = std::span(kConsumers).first<TILEPOST_CONSUMER_QUANTISE>();
constexpr auto kScales = spell_all(enumerators::kScales);
constexpr auto kScalesOrders = spell_all(enumerators::kScalesOrders);

// The transports that a spec may ask for: 'auto', those that overlap, 'none'. The host's transport
// is not among them, because the target host implies it.
constexpr auto kTransports = [] {
  std::array<Spelling, std::size(enumerators::kTransports)> names{kAutoSpelling};
  size_t count = 1;
  for (const Enumerator<tilepost_transport_t>& row : enumerators::kTransports)
    if (row.value != TILEPOST_TRANSPORT_NONE && row.value != TILEPOST_TRANSPORT_HOST)
      names[count++] = spell(row);
  names[count] = spell(enumerators::kTransports[TILEPOST_TRANSPORT_NONE]);
  return names;
}();

// A spec cannot ask for TILEPOST_SHOTS_NONE: it asks for another transport instead.
constexpr auto kShots = [] {
  auto names = spell_all(enumerators::kShots);
  names[TILEPOST_SHOTS_NONE] = kAutoSpelling;
  return names;
}();

}  // namespace

// clang-format off
template <> std::span<const Spelling> spellings<tilepost_pattern_t>() { return patterns_of_specs().first<kNumPatterns>(); }
template <> std::span<const Spelling> spellings<tilepost_routing_t>() { return kRoutings; }
template <> std::span<const Spelling> spellings<tilepost_dtype_t>() { return kElementTypes; }
template <> std::span<const Spelling> spellings<tilepost_operands_t>() { return kGemmLayouts; }
template <> std::span<const Spelling> spellings<tilepost_accumulate_t>() { return kAccumulates; }
template <> std::span<const Spelling> spellings<tilepost_scales_t>() { return kScales; }
template <> std::span<const Spelling> spellings<tilepost_scales_order_t>() { return kScalesOrders; }
template <> std::span<const Spelling> spellings<tilepost_epilogue_op_t>() { return kEpilogueOps; }
template <> std::span<const Spelling> spellings<tilepost_gate_t>() { return kGates; }
template <> std::span<const Spelling> spellings<Arch>() { return kArchNames; }
template <> std::span<const Spelling> spellings<tilepost_layout_t>() { return kOutputLayouts; }
template <> std::span<const Spelling> spellings<tilepost_transport_t>() { return kTransports; }
template <> std::span<const Spelling> spellings<tilepost_sum_t>() { return kSums; }
template <> std::span<const Spelling> spellings<tilepost_shots_t>() { return kShots; }
template <> std::span<const Spelling> spellings<tilepost_wait_t>() { return kWaits; }
template <> std::span<const Spelling> spellings<tilepost_consumer_t>() { return kAskedConsumers; }
// clang-format on

std::span<const Spelling> patterns_of_specs() {
  return kPatternNames;
}

std::vector<Arch> gpu_archs() {
  std::vector<Arch> archs;
  for (const ArchName& arch : kArchs)
    if (arch.value != Arch::host) archs.push_back(arch.value);
  return archs;
}

std::string join_with(const std::vector<std::string_view>& words, std::string_view last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " " + std::string(last) + " ";
    text += words[i];
  }
  return text;
}

const char* name_of(Arch value) {
  return kArchs[static_cast<size_t>(value)].name;
}

}  // namespace tilepost
