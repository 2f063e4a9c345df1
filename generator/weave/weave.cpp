#include "generator/weave/weave.h"

#include <tuple>

#include "generator/clang/guard/faults.h"
#include "generator/clang/limits.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

namespace {

// Parses the text three times: as written, with tunables folded, and pruned. Each parse profits
// from what the one before made constant.
std::optional<WovenKernel> weave_text(const WeaveRequest& request, Text text, Report& report) {
  Reading reading;
  reading.cuda = request.cuda;
  reading.bodiless_headers = true;
  Edits folded;
  const bool read = parse(text, reading, report, [&](Parsed& parsed) {
    check_source(parsed, request);
    folded = specialise(parsed, request);
  });
  if (!read) return std::nullopt;
  text = folded.apply(text);

  Edits pruned;
  if (!parse(text, reading, report, [&](Parsed& parsed) { pruned = prune(parsed); })) {
    return std::nullopt;
  }
  text = pruned.apply(text);

  WovenKernel woven;
  const bool done = parse(text, reading, report, [&](Parsed& parsed) {
    Pieces pieces = cut_into_pieces(parsed);
    mark_reachable(parsed, request, pieces);
    check_kept(parsed, request, pieces);
    if (!report.ok()) return;
    Edits edits;
    thread_view(parsed, request, find_kernels(parsed, request.function).back(), pieces, edits);
    wrap_kernel(parsed, request, pieces, edits);
    quiet_unused(parsed, request, pieces, edits);
    woven = assemble(parsed, request, pieces, edits);
  });
  if (!done) return std::nullopt;
  return woven;
}

}  // namespace

std::optional<WovenKernel> weave(const WeaveRequest& request, Diagnostics& diagnostics) {
  Report report(diagnostics, OneFile(request.file, request.source));
  const Text text = with_plain_lines(request.source);
  check_limits(text, report);
  if (!report.ok()) return std::nullopt;

  std::optional<WovenKernel> woven;
  try {
    do_on_large_stack([&] { woven = weave_text(request, text, report); });
  } catch (const Fault& fault) {
    throw std::runtime_error(request.file + ", where '" + request.function +
                             "' is woven: " + fault.what());
  }
  return woven;
}

std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics) {
  using Key = std::tuple<std::string, std::string, std::string, std::map<std::string, std::string>,
                         std::vector<std::string>, std::string, bool, bool, bool, bool, bool, bool,
                         bool, bool, bool, bool, std::string>;
  static std::map<Key, WovenKernel> cache;
  const Key key{request.file,     request.source,    request.function,
                request.tunables, request.keep,      request.view_type,
                request.cuda,     request.waits,     request.stores,
                request.tasks,    request.fused,     request.sources,
                request.spreads,  request.reads_own, request.exchanges_parts,
                request.gathers,  request.arch_guard};
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  std::optional<WovenKernel> woven = weave(request, diagnostics);
  if (woven) cache.emplace(key, *woven);
  return woven;
}

}  // namespace tilepost
