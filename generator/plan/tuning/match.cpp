#include "generator/plan/tuning/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generator/plan/tuning/fields.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

// The fields of a key as texts, in their order.
class KeyTexts final : public TuningVisitor {
 public:
  using Texts = std::vector<std::pair<std::string, std::string>>;

  static Texts of(const TuningKey& key) {
    TuningEntry entry;
    entry.key = key;
    KeyTexts visitor;
    visit_entry(visitor, entry);
    return std::move(visitor.texts_);
  }

  void begin(const char* name) override { in_key_ = std::string_view(name) == "spec"; }
  void end() override { in_key_ = false; }
  void text(const char* name, std::string& value) override { add(name, value); }
  void truth(const char* name, bool& value) override { add(name, value ? "true" : "false"); }
  void number(const char* name, int64_t& value, int64_t, int64_t) override {
    add(name, std::to_string(value));
  }
  void time(const char*, double&) override {}
  void word(const char* name, int& value, std::span<const Spelling> spellings) override {
    const auto found = std::ranges::find(spellings, value, &Spelling::value);
    if (found != spellings.end()) add(name, std::string(found->text));
  }
  void words(const char* name, int& value, std::span<const Spelling> spellings) override {
    std::string text;
    for (const Spelling& spelling : spellings)
      if ((value & spelling.value) != 0)
        text += (text.empty() ? "" : ", ") + std::string(spelling.text);
    add(name, "[" + text + "]");
  }
  void list(const char*, std::vector<int32_t>&) override {}
  void measured(const char*, std::vector<MeasuredChoice>&) override {}

 private:
  void add(const char* name, std::string text) {
    if (in_key_) texts_.emplace_back(name, std::move(text));
  }

  bool in_key_ = false;
  Texts texts_;
};

// "m is 4096 there, and 8192 here", for each field that differs, and how many these are.
std::pair<size_t, std::string> differences(const TuningKey& there, const TuningKey& here) {
  const KeyTexts::Texts theirs = KeyTexts::of(there), ours = KeyTexts::of(here);
  std::pair<size_t, std::string> found;
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (theirs[i].second == ours[i].second) continue;
    ++found.first;
    found.second +=
        fmt::format("{}{} is '{}' there, and '{}' here", found.second.empty() ? "" : "; ",
                    theirs[i].first, theirs[i].second, ours[i].second);
  }
  return found;
}

// Why an entry of the right key is not used; "" if it is.
std::string why_not(const TuningEntry& entry, const MachineProfile& profile) {
  if (entry.machine.profile != profile.name)
    return fmt::format(
        "it was measured with machine profile '{}', and plans are made for '{}'; "
        "tune on that machine, or name the one that was measured with --machine",
        entry.machine.profile, profile.name);
  if (!is_gpu_of(entry.machine.gpu, profile))
    return fmt::format(
        "it was measured on '{}', and plans are made for '{}', whose GPUs are '{}'; "
        "tune on that machine",
        entry.machine.gpu, profile.name, profile.gpu);
  if (!entry.is_of_this_version())
    return fmt::format(
        "it was measured with tilepost {} (ABI {}), and this is {} (ABI {}), whose "
        "kernels and plans may differ; tune again",
        entry.version, entry.abi, TILEPOST_VERSION_STRING, TILEPOST_ABI_VERSION);
  return "";
}

// The name without its folder, because what is generated does not depend on where files lie.
std::string file_name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Says that no entry has the key, and how the nearest one differs.
void warn_of_absence(const TuningFile& file, const Spec& spec, const TuningKey& key,
                     Diagnostics& diagnostics) {
  std::pair<size_t, std::string> nearest;
  for (const TuningEntry& entry : file.entries) {
    std::pair<size_t, std::string> other = differences(entry.key, key);
    if (nearest.first == 0 || other.first < nearest.first) nearest = std::move(other);
  }
  diagnostics.warning(
      spec.gemm.where,
      fmt::format("tuning file '{}' has no entry for '{}' with {} on {}{}; run 'tilepost tune' for "
                  "it",
                  file.path, spec.name.value, shape_text(key), name_of(key.arch),
                  nearest.first == 0 ? std::string(": it is empty")
                                     : ": in the nearest entry " + nearest.second));
}

}  // namespace

bool is_gpu_of(const std::string& gpu, const MachineProfile& profile) {
  return gpu.find(profile.gpu) != std::string::npos;
}

std::vector<TunedPick> picks_for(const TuningFile& file, const Spec& spec,
                                 const MachineProfile& profile, Diagnostics& diagnostics) {
  std::vector<TunedPick> picks;
  for (const Arch arch : spec.archs.value) {
    if (arch == Arch::host) continue;
    const TuningKey key = key_of(spec, arch);
    const TuningEntry* chosen = nullptr;
    const TuningEntry* refused = nullptr;
    for (const TuningEntry& entry : file.entries)
      if (entry.key == key) (why_not(entry, profile).empty() ? chosen : refused) = &entry;
    if (chosen != nullptr)
      picks.push_back(
          {arch,
           chosen->choice,
           {file_name_of(file.path), chosen->measured_on(), chosen->measured.front().us},
           chosen->where});
    else if (refused != nullptr)
      diagnostics.warning(
          refused->where,
          fmt::format("the entry of '{}' with {} on {} is not used: {}", spec.name.value,
                      shape_text(key), name_of(arch), why_not(*refused, profile)));
    else
      warn_of_absence(file, spec, key, diagnostics);
  }
  return picks;
}

}  // namespace tilepost
