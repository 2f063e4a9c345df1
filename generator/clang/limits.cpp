#include "generator/clang/limits.h"

#include <pthread.h>

#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "generator/clang/guard/faults.h"
#include "generator/clang/tokens.h"

namespace tilepost {
namespace {

using clang::tok::TokenKind;

// The deepest nesting of (, [ and {: Clang's own default (-fbracket-depth).
constexpr int kMaxNesting = 256;
// The most tokens of one expression or declarator, and the most `else` of one file.
constexpr int kMaxRun = 10000;

// -1 where a bracket closes, 1 where one opens.
int nesting_step(TokenKind kind) {
  switch (kind) {
    case TokenKind::l_paren:
    case TokenKind::l_square:
    case TokenKind::l_brace:
      return 1;
    case TokenKind::r_paren:
    case TokenKind::r_square:
    case TokenKind::r_brace:
      return -1;
    default:
      return 0;
  }
}

bool ends_run(TokenKind kind) {
  return kind == TokenKind::semi || kind == TokenKind::comma || kind == TokenKind::l_brace ||
         kind == TokenKind::r_brace;
}

// The stack that parsing needs for any source that check_limits() lets through.
constexpr unsigned kStackBytes = 128u << 20;

struct Work {
  llvm::function_ref<void()> body;
  std::exception_ptr failure;
  int signal = 0;
  std::optional<size_t> place;  // what the thread noted last
};

void* do_work(void* given) {
  auto& work = *static_cast<Work*>(given);
  try {
    work.signal = call_guarded(work.body);
  } catch (...) {
    work.failure = std::current_exception();
  }
  work.place = noted_place();
  return nullptr;
}

}  // namespace

void check_limits(const Text& text, Report& report) {
  if (text.size() > kMaxSourceBytes) {
    report.error("the file has " + llvm::Twine(text.size()) +
                 " bytes; a kernel's file has at most " + llvm::Twine(kMaxSourceBytes));
    return;
  }
  if (const size_t at = text.text.find('\0'); at != std::string::npos) {
    report.say(Report::Kind::error, text, at, at,
               "there is a zero byte here; a kernel's file is plain text");
    return;
  }
  const Tokens tokens(text.text);
  int nesting = 0;
  int run = 0;
  int alternatives = 0;
  for (const Token& token : tokens.all()) {
    nesting = std::max(nesting + nesting_step(token.kind), 0);
    const bool directive = token.kind == TokenKind::hash && token.starts_line;
    run = directive || ends_run(token.kind) ? 0 : run + 1;
    alternatives += tokens.text(token) == "else";
    const char* what = nesting > kMaxNesting    ? "brackets are nested"
                       : run > kMaxRun          ? "tokens follow each other without ; or ,"
                       : alternatives > kMaxRun ? "else are in the file"
                                                : nullptr;
    if (!what) continue;
    const int bound = nesting > kMaxNesting ? kMaxNesting : kMaxRun;
    report.say(Report::Kind::error, text, token.begin, token.end,
               "more than " + llvm::Twine(bound) + " " + what +
                   "; the weaver reads kernels, not "
                   "generated tables");
    return;
  }
}

// llvm::thread does not serve here: it ends the process if there is no memory for the stack or for
// the work on it.
void do_on_large_stack(llvm::function_ref<void()> body) {
  Work work{body, nullptr, 0, std::nullopt};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, do_work, &work);
  pthread_attr_destroy(&attributes);
  if (error != 0) throw std::bad_alloc();
  pthread_join(thread, nullptr);
  if (work.signal != 0)
    throw Fault("signal " + std::to_string(work.signal) + " (" + strsignal(work.signal) + ")",
                work.place);
  if (!work.failure) return;
  try {
    std::rethrow_exception(work.failure);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    throw Fault(failure.what(), work.place);
  }
}

}  // namespace tilepost
