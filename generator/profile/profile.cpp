#include "generator/profile/profile.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "generator/bench/revision.h"
#include "generator/harness/cache/key.h"
#include "generator/harness/gpus.h"
#include "generator/harness/output_reader.h"
#include "generator/harness/process.h"
#include "generator/profile/program.h"
#include "generator/profile/records.h"
#include "generator/profile/report.h"
#include "generator/spec/names.h"
#include "generator/whole_files.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace tilepost {
namespace {

constexpr int kProfiled = 0, kFailed = 1, kNotWritten = 3;
// How long the program may be silent, in seconds; longer than its own deadline
// (runtime/profile/measure.cpp).
constexpr double kIdleSeconds = 90;
constexpr double kMostSeconds = 300;  // the time that a whole profile should take at most

// The GPUs and tools of the measurement.
struct Target {
  int sm = 0, sms = 0, gpus = 0;
  CudaTools tools;
  std::string cublas_lt;
};

std::optional<Target> find_target(const ProfileOptions& options, Diagnostics& diagnostics) {
  Target target;
  const Arch elsewhere = options.base_machine ? options.base_machine->profile.arch : Arch::sm_90a;
  const Gpus gpus = options.no_run ? Gpus{1, compute_capability(elsewhere), "", ""} : find_gpus();
  if (gpus.count == 0) {
    diagnostics.error("cannot measure: this machine has no GPU (" + gpus.reason + ")");
    return std::nullopt;
  }
  target.sm = gpus.sm, target.gpus = gpus.count;
  const std::string users = options.no_run || options.beside_others ? "" : other_users_of_gpus();
  if (!users.empty()) {
    diagnostics.error(fmt::format(
        "cannot measure: the GPUs are not free ({}), and times would be those processes' too; end "
        "them, choose other GPUs with CUDA_VISIBLE_DEVICES, or give --beside-others",
        users));
    return std::nullopt;
  }
  std::string missing;
  const std::optional<CudaTools> tools = find_cuda_tools(missing);
  if (tools) target.cublas_lt = find_toolkit_library(*tools, "libcublasLt.so");
  if (!tools || target.cublas_lt.empty()) {
    diagnostics.error(
        "cannot measure: there is no " +
        (tools ? "libcublasLt.so beside the toolkit of '" + tools->nvcc + "'" : missing));
    return std::nullopt;
  }
  target.tools = *tools;
  return target;
}

// The architecture whose kernels a GPU of compute capability `sm` runs.
std::optional<Arch> arch_for(int sm, Diagnostics& diagnostics) {
  std::optional<Arch> best;
  for (const Arch arch : gpu_archs())
    if (serves_gpu(arch, sm) && (!best || compute_capability(arch) > compute_capability(*best)))
      best = arch;
  if (!best)
    diagnostics.error(
        fmt::format("cannot measure: the GPUs are sm_{}, and kernels are for sm_80 "
                    "and later",
                    sm));
  return best;
}

struct Base {
  std::string name;
  const MachineProfile* profile;
};

// The profile that what is not measured is taken from: the one asked for, or the known machine with
// such GPUs, or one with GPUs of the same architecture, or the usual one. Of two that fit it is the
// one whose GPUs reach each other, or do not, as was asked for.
Base choose_base(const ProfileOptions& options, const std::string& gpu, Arch arch,
                 bool without_peer_access) {
  if (options.base_machine != nullptr) return {options.base, &options.base_machine->profile};
  const KnownMachine* best = nullptr;
  int most = -1;
  for (const KnownMachine& known : known_machines()) {
    const bool same_gpu = gpu.find(known.profile.gpu) != std::string::npos;
    const bool same_reach = known.profile.peers.peer_access != without_peer_access;
    const int fits = 8 * same_gpu + 4 * (known.profile.arch == arch) + 2 * same_reach +
                     (known.key == kDefaultMachine);
    if (fits > most) best = &known, most = fits;
  }
  return {std::string(best->key), &best->profile};
}

// ---- What has been measured already

// The first line of a file of measurements. Measurements go on only where all of it is the same.
std::string head_of(const ProfileOptions& options, const GemmCases& cases,
                    const std::string& base) {
  std::string kernels;
  for (const std::vector<GemmCase>* list : {&cases.cool, &cases.sustained})
    for (const GemmCase& gemm : *list)
      kernels += fmt::format("{} {} {} {} {};", cases.variants[gemm.variant].name, gemm.m, gemm.n,
                             gemm.k, gemm.ctas);
  return fmt::format(
      "{{\"record\": \"measurements\", \"gpus\": \"{}\", \"peer_access\": {}, \"base\": \"{}\", "
      "\"cases\": \"{}\"}}",
      gpu_identity(), options.without_peer_access ? 0 : 1, base, hash_of(kernels).substr(0, 16));
}

// Whether the measurements that begin with this line were asked for without peer access.
bool is_without_peer_access(llvm::StringRef head) {
  llvm::Expected<llvm::json::Value> record = llvm::json::parse(head);
  if (!record) {
    llvm::consumeError(record.takeError());
    return false;
  }
  const llvm::json::Object* const fields = record->getAsObject();
  return fields != nullptr && fields->getInteger("peer_access") == 0;
}

// Only the lines of steps that have ended, and the machine's.
std::string ended_lines(llvm::StringRef text) {
  ProfileLog log;
  std::string kept, open;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef line : lines) {
    const size_t before = log.ended().size();
    const std::string step = log.step();
    log.take(line);
    if (!log.step().empty() && log.step() != step) open.clear();
    open += line.str() + "\n";
    const bool machine = line.starts_with("{\"record\": \"machine\"");
    if (machine || log.ended().size() > before) {
      kept += open;
      open.clear();
    }
  }
  return kept;
}

// The file beside the output in which measurements are kept while they are made.
class PartFile {
 public:
  PartFile(std::string path, const std::string& head) : path_(std::move(path)) {
    const std::string text = text_of_file(path_).value_or("");
    const auto [first, rest] = llvm::StringRef(text).split('\n');
    if (first == head) kept_ = ended_lines(rest);
    stream_.open(path_, std::ios::trunc);
    stream_ << head << "\n" << kept_;
    stream_.flush();
  }
  bool ok() const { return stream_.good(); }
  const std::string& path() const { return path_; }
  const std::string& kept() const { return kept_; }
  void add(llvm::StringRef line) {
    stream_ << line.str() << "\n";
    stream_.flush();
  }
  std::string text() {
    stream_.flush();
    return text_of_file(path_).value_or("");
  }

 private:
  const std::string path_;
  std::string kept_;
  std::ofstream stream_;
};

void take_all(ProfileLog& log, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (const llvm::StringRef line : lines) log.take(line);
}

// Runs the measuring program for the steps that are missing.
HarnessEnd measure(const std::string& program, const ProfileOptions& options, PartFile& part,
                   ProfileLog& log, Progress& progress) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::string> argv = {program};
  if (options.without_peer_access) argv.emplace_back("--without-peer-access");
  for (const std::string& step : log.ended()) {
    argv.emplace_back("--skip");
    argv.push_back(step);
  }
  const Clock::time_point begin = Clock::now();
  return run_lines(argv, kIdleSeconds, [&](llvm::StringRef line) {
    part.add(line);
    log.take(line);
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    progress.update(fmt::format("measuring {} (of at most {:.0f} s)",
                                log.step().empty() ? "…" : log.step(), kMostSeconds),
                    static_cast<size_t>(elapsed.count()), static_cast<size_t>(kMostSeconds));
  });
}

// ---- The profile

int finish(const Base& base, const ProfileLog& log, llvm::raw_ostream& out, ProfileResult& result,
           Diagnostics& diagnostics) {
  const Measurements& measurements = log.measurements();
  if (measurements.machine.texts.empty() || measurements.select("gemm").empty()) {
    diagnostics.error("cannot make a profile: there are no measurements of GEMMs");
    return kFailed;
  }
  FitReport report;
  const MachineProfile profile = fit_machine(*base.profile, measurements, report);
  for (const std::string& line : profile_table(profile, measurements, report, base.name))
    out << line << "\n";
  result.profile = write_machine(
      profile, profile_notes(profile, measurements, report, base.name, tool_revision()));
  return kProfiled;
}

int fit_kept(const ProfileOptions& options, llvm::raw_ostream& out, ProfileResult& result,
             Diagnostics& diagnostics) {
  const std::optional<std::string> text = text_of_file(options.from);
  if (!text) {
    diagnostics.error(fmt::format("cannot read '{}'", options.from));
    return kNotWritten;
  }
  ProfileLog log;
  take_all(log, *text);
  const Measurement& machine = log.measurements().machine;
  const std::optional<Arch> arch = arch_for(static_cast<int>(machine["sm"]), diagnostics);
  if (machine.texts.empty() || !arch) {
    diagnostics.error(fmt::format("'{}' has no measurements of tilepost profile", options.from));
    return kFailed;
  }
  result.measurements = *text;
  const bool apart = is_without_peer_access(llvm::StringRef(*text).split('\n').first);
  return finish(choose_base(options, machine.text("gpu"), *arch, apart), log, out, result,
                diagnostics);
}

void say_where(const PartFile& part, Diagnostics& diagnostics) {
  diagnostics.note({},
                   fmt::format("what was measured is in '{}'; the same command goes on from there",
                               part.path()));
}

}  // namespace

int profile(const ProfileOptions& options, llvm::raw_ostream& out, ProfileResult& result,
            Diagnostics& diagnostics) {
  if (!options.from.empty()) return fit_kept(options, out, result, diagnostics);
  const InterruptGuard guard;
  Progress progress;
  std::optional<Target> target = find_target(options, diagnostics);
  if (!target) return kFailed;
  const std::optional<Arch> arch = arch_for(target->sm, diagnostics);
  if (!arch) return kFailed;
  const Base base = choose_base(options, gpu_identity(), *arch, options.without_peer_access);
  MachineProfile guess = *base.profile;
  guess.arch = *arch;
  target->sms = options.no_run ? arch_info(*arch).default_sms : gpu_sms();
  const GemmCases cases = cases_for(*arch, target->sms, guess);

  WorkDir dir(options.keep_dir, diagnostics);
  if (!dir.ok()) return kNotWritten;
  if (write_measuring_sources(cases, dir, diagnostics) != SourcesResult::written)
    return kNotWritten;
  const BuildPlan plan =
      plan_measuring_build(cases, target->tools, target->cublas_lt, target->sm, dir);
  const BuildResult built =
      build_harness(plan, options.jobs, options.cache_dir, dir, progress, diagnostics);
  if (built != BuildResult::built) return built == BuildResult::not_written ? kNotWritten : kFailed;
  progress.clear();
  if (options.no_run) {
    out << "not run: " << plan.harness << "\n";
    return kProfiled;
  }

  PartFile part(options.output + ".part", head_of(options, cases, base.name));
  if (!part.ok()) {
    diagnostics.error(fmt::format("cannot write '{}'", part.path()));
    return kNotWritten;
  }
  ProfileLog log;
  take_all(log, part.kept());
  if (!log.ended().empty())
    out << fmt::format("going on after {} steps that '{}' has\n", log.ended().size(), part.path());
  const HarnessEnd end = measure(plan.harness, options, part, log, progress);
  progress.clear();
  if (!end.ended || !log.failure().empty()) {
    if (!interrupted())
      diagnostics.error(fmt::format("the measuring program ended early: {}",
                                    log.failure().empty() ? end.end : log.failure()));
    say_where(part, diagnostics);
    return kFailed;
  }
  const int exit_code = finish(base, log, out, result, diagnostics);
  result.measurements = part.text();
  if (exit_code != kProfiled) say_where(part, diagnostics);
  return exit_code;
}

}  // namespace tilepost
