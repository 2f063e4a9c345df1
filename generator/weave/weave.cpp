#include "generator/weave/weave.h"

#include <pthread.h>

#include <exception>
#include <new>
#include <tuple>

#include "generator/weave/passes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

namespace {

// The source with lines that end in \n alone, as the passes count on.
Text with_plain_lines(const std::string& source) {
  Edits edits;
  for (size_t at = 0; (at = source.find("\r\n", at)) != std::string::npos; ++at) {
    edits.erase(at, at + 1);
  }
  return edits.apply(Text(source));
}

// Three parses: the source as written, with tunables folded, and pruned. Each sees through what the
// one before made constant.
std::optional<WovenKernel> weave_text(const WeaveRequest& request, Text text, Report& report) {
  Edits folded;
  const bool read = parse(text, request.cuda, report, [&](Parsed& parsed) {
    check_source(parsed, request);
    folded = specialise(parsed, request);
  });
  if (!read) return std::nullopt;
  text = folded.apply(text);

  Edits pruned;
  if (!parse(text, request.cuda, report, [&](Parsed& parsed) { pruned = prune(parsed); })) {
    return std::nullopt;
  }
  text = pruned.apply(text);

  WovenKernel woven;
  const bool done = parse(text, request.cuda, report, [&](Parsed& parsed) {
    Pieces pieces = cut_into_pieces(parsed);
    mark_reachable(parsed, request, pieces);
    check_kept(parsed, request, pieces);
    if (!report.ok()) return;
    Edits edits;
    thread_view(parsed, request, pieces, edits);
    wrap_kernel(parsed, request, pieces, edits);
    quiet_unused(parsed, request, pieces, edits);
    woven = assemble(parsed, request, pieces, edits);
  });
  if (!done) return std::nullopt;
  return woven;
}

struct Work {
  llvm::function_ref<void()> body;
  std::exception_ptr failure;
};

void* do_work(void* given) {
  auto& work = *static_cast<Work*>(given);
  try {
    work.body();
  } catch (...) {
    work.failure = std::current_exception();
  }
  return nullptr;
}

// On a thread of its own. Not llvm::thread, which ends the process where there is no memory for the
// stack, or for what is done on it.
void do_on_large_stack(llvm::function_ref<void()> body) {
  Work work{body, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, do_work, &work);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::bad_alloc();
  pthread_join(thread, nullptr);
  if (work.failure) std::rethrow_exception(work.failure);
}

}  // namespace

std::optional<WovenKernel> weave(const WeaveRequest& request, Diagnostics& diagnostics) {
  Report report(diagnostics, request.file, request.source);
  const Text text = with_plain_lines(request.source);
  check_limits(text, report);
  if (!report.ok()) return std::nullopt;

  std::optional<WovenKernel> woven;
  do_on_large_stack([&] { woven = weave_text(request, text, report); });
  return woven;
}

std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics) {
  using Key = std::tuple<std::string, std::string, std::string, std::map<std::string, std::string>,
                         std::vector<std::string>, std::string, bool, bool, bool, bool, bool, bool,
                         std::string>;
  static std::map<Key, WovenKernel> cache;
  const Key key{request.file,      request.source,    request.function,  request.tunables,
                request.keep,      request.view_type, request.cuda,      request.waits,
                request.stores,    request.tasks,     request.exchanges, request.gathers,
                request.arch_guard};
  if (const auto found = cache.find(key); found != cache.end()) return found->second;
  std::optional<WovenKernel> woven = weave(request, diagnostics);
  if (woven) cache.emplace(key, *woven);
  return woven;
}

}  // namespace tilepost
