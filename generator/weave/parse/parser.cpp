#include "generator/weave/parse/parser.h"

#include <exception>
#include <functional>
#include <memory>

#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/DiagnosticLex.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "generator/resources.h"
#include "generator/weave/parse/prelude.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace tilepost {
namespace {

using clang::SourceLocation;
using llvm::StringRef;

constexpr char kPreludePath[] = "/prelude/tilepost_prelude.h";
constexpr char kStubFolder[] = "/stub/";
constexpr char kOwnFolder[] = "/include/";

// What both languages share. Diagnostics shows fewer errors than Clang may find.
constexpr char kCommon[] =
    " -fsyntax-only -std=c++20 -fgnuc-version=4.2.1 -nostdsysteminc -w -fno-caret-diagnostics"
    " -ferror-limit 50 -internal-isystem /stub/ -internal-isystem /include/ ";
// The triples are fixed: the tree must not depend on the machine the generator runs on.
constexpr char kCuda[] =
    "-x cuda -triple nvptx64-nvidia-cuda -aux-triple x86_64-unknown-linux-gnu -target-cpu sm_90a"
    " -fcuda-is-device -include /prelude/tilepost_prelude.h";
constexpr char kHost[] = "-x c++ -triple x86_64-unknown-linux-gnu";

StringRef source_path(bool cuda) {
  return cuda ? "/kernel.cu" : "/kernel.cpp";
}

std::vector<std::string> arguments(bool cuda) {
  const std::string line = std::string(cuda ? kCuda : kHost) + kCommon + source_path(cuda).str();
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(line, words);
  std::vector<std::string> list;
  for (const StringRef word : words) list.push_back(word.str());
  return list;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> make_files(StringRef source, bool cuda) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const auto add = [&](const llvm::Twine& path, StringRef text) {
    files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(text));
  };
  add(source_path(cuda), source);
  if (cuda) add(kPreludePath, cuda_prelude());
  for (const VirtualFile& header : stub_headers()) {
    if (is_known(header, cuda)) add(kStubFolder + header.name, header.text);
  }
  for (const Resource& resource : resources()) {
    if (resource.path.starts_with("include/")) add("/" + resource.path, resource.text);
  }
  return files;
}

// Clang's errors in our form, at the user's place.
class Consumer : public clang::DiagnosticConsumer {
 public:
  Consumer(const Text& text, bool cuda, Report& report)
      : text_(text), cuda_(cuda), report_(report) {}

  // What could not be placed, because Clang failed before it had a source.
  std::string unplaced;

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    const bool error = level >= clang::DiagnosticsEngine::Error;
    if (!error && (level != clang::DiagnosticsEngine::Note || !after_error_)) {
      if (level != clang::DiagnosticsEngine::Note) after_error_ = false;
      return;
    }
    after_error_ = true;
    llvm::SmallString<256> message;
    info.FormatDiagnostic(message);
    if (info.getID() == clang::diag::err_pp_file_not_found) {
      message = ("header '" + info.getArgStdStr(0) +
                 "' is not known here: kernels are read without an installed toolchain, and may "
                 "include " +
                 known_headers(cuda_));
    }
    place(error ? Report::Kind::error : Report::Kind::note, info, message);
  }

 private:
  void place(Report::Kind kind, const clang::Diagnostic& info, StringRef message) {
    if (!info.hasSourceManager() || info.getLocation().isInvalid()) {
      if (kind == Report::Kind::error) unplaced = message.str();
      return;
    }
    const clang::SourceManager& sm = info.getSourceManager();
    const auto [file, offset] = sm.getDecomposedLoc(sm.getFileLoc(info.getLocation()));
    if (file == sm.getMainFileID()) {
      report_.say(kind, text_, offset, offset, message);
      return;
    }
    StringRef name = sm.getFilename(sm.getFileLoc(info.getLocation()));
    name.consume_front(kOwnFolder);
    name.consume_front(kStubFolder);
    report_.say_in(kind, name, sm.getBufferData(file), offset, message);
  }

  const Text& text_;
  bool cuda_;
  Report& report_;
  bool after_error_ = false;
};

// Collects the inclusions and the branches not taken of the main file.
class Preprocessing : public clang::PPCallbacks {
 public:
  Preprocessing(clang::SourceManager& sm, std::vector<Inclusion>& inclusions,
                std::vector<Range>& skipped)
      : sm_(sm), inclusions_(inclusions), skipped_(skipped) {}

  void InclusionDirective(SourceLocation hash, const clang::Token&, StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, StringRef, StringRef,
                          const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    if (!sm_.isWrittenInMainFile(hash)) return;
    const std::string spelled = angled ? "<" + name.str() + ">" : "\"" + name.str() + "\"";
    inclusions_.push_back({sm_.getFileOffset(hash), spelled});
  }

  // From the # that opens the branch to the # of the directive that ends it.
  void SourceRangeSkipped(clang::SourceRange range, SourceLocation end_hash) override {
    if (!sm_.isWrittenInMainFile(range.getBegin())) return;
    skipped_.push_back({sm_.getFileOffset(range.getBegin()), sm_.getFileOffset(end_hash)});
  }

 private:
  clang::SourceManager& sm_;
  std::vector<Inclusion>& inclusions_;
  std::vector<Range>& skipped_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(std::function<void(const Action&, clang::ASTContext&)> use)
      : use_(std::move(use)) {}

  std::vector<Inclusion> inclusions;
  std::vector<Range> skipped;

  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<Preprocessing>(compiler.getSourceManager(), inclusions, skipped));
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        StringRef) override {
    struct Finished : clang::ASTConsumer {
      const Action& action;
      explicit Finished(const Action& mine) : action(mine) {}
      void HandleTranslationUnit(clang::ASTContext& ast) override {
        if (!ast.getDiagnostics().hasErrorOccurred()) action.use_(action, ast);
      }
    };
    return std::make_unique<Finished>(*this);
  }

 private:
  std::function<void(const Action&, clang::ASTContext&)> use_;
};

// A skipped range starts at the directive that was not taken; what is skipped are the lines after.
std::vector<Range> without_directives(std::vector<Range> ranges, const Tokens& tokens,
                                      StringRef text) {
  for (Range& range : ranges) {
    range.begin = std::min(tokens.end_of_directive(range.begin) + 1, range.end);
    // Back over the indentation of the directive that ends it.
    range.end = std::max(range.begin, text.rfind('\n', range.end) + 1);
  }
  return ranges;
}

using clang::tok::TokenKind;

// The largest source, bytes.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;
// The deepest nesting of (, [ and {: Clang's own default (-fbracket-depth).
constexpr int kMaxNesting = 256;
// The most tokens of one expression or declarator, and the most else of one file.
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

}  // namespace

std::optional<size_t> Parsed::spelled(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getSpellingLoc(where));
  if (file != sm.getMainFileID()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getExpansionLoc(where));
  if (file != sm.getMainFileID()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded_end(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const SourceLocation last = sm.getExpansionRange(where).getEnd();
  const std::optional<size_t> offset = expanded(last);
  if (!offset) return std::nullopt;
  return *offset + clang::Lexer::MeasureTokenLength(last, sm, ast.getLangOpts());
}

void Parsed::say(Report::Kind kind, SourceLocation where, const llvm::Twine& message) const {
  std::optional<size_t> at = spelled(where);
  if (!at) at = expanded(where);
  if (!at) {
    report.error(message);
    return;
  }
  const Token* token = tokens.at(*at);
  report.say(kind, text, *at, token ? token->end : *at, message);
  const std::optional<size_t> use = expanded(where);
  if (where.isMacroID() && use && *use != *at) {
    report.say(Report::Kind::note, text, *use, *use, "in the expansion of this macro");
  }
}

void Parsed::error(SourceLocation where, const llvm::Twine& message) const {
  say(Report::Kind::error, where, message);
}

void Parsed::note(SourceLocation where, const llvm::Twine& message) const {
  say(Report::Kind::note, where, message);
}

void Parsed::error_at(Range where, const llvm::Twine& message) const {
  report.say(Report::Kind::error, text, where.begin, where.end, message);
}

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

namespace {

// Clang knows no exceptions, so what one of std::bad_alloc has come through is in no state to be
// destroyed: it is left to the process, which ends.
template <class T>
class Fragile {
 public:
  template <class... Arguments>
  explicit Fragile(Arguments&&... arguments)
      : object_(std::make_unique<T>(std::forward<Arguments>(arguments)...)) {}
  Fragile(const Fragile&) = delete;
  Fragile& operator=(const Fragile&) = delete;
  ~Fragile() {
    if (std::uncaught_exceptions() > exceptions_) static_cast<void>(object_.release());
  }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<T> object_;
};

}  // namespace

bool parse(const Text& text, bool cuda, Report& report, llvm::function_ref<void(Parsed&)> use) {
  const Tokens tokens(text.text);
  Consumer consumer(text, cuda, report);
  const Fragile<clang::CompilerInstance> compiler;
  compiler->createFileManager(make_files(text.text, cuda));
#if CLANG_VERSION_MAJOR >= 20
  compiler->createDiagnostics(compiler->getVirtualFileSystem(), &consumer,
                              /*ShouldOwnClient=*/false);
#else
  compiler->createDiagnostics(&consumer, /*ShouldOwnClient=*/false);
#endif
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  std::vector<const char*> words;
  const std::vector<std::string> line = arguments(cuda);
  for (const std::string& word : line) words.push_back(word.c_str());
  clang::CompilerInvocation::CreateFromArgs(*invocation, words, compiler->getDiagnostics());
  compiler->setInvocation(std::move(invocation));

  bool used = false;
  const Fragile<Action> action([&](const Action& mine, clang::ASTContext& ast) {
    Parsed parsed(text, tokens, ast, report);
    parsed.inclusions = mine.inclusions;
    parsed.skipped = without_directives(mine.skipped, tokens, text.text);
    used = true;
    use(parsed);
  });
  compiler->ExecuteAction(*action);
  if (!used && report.ok()) report.error("Clang could not read it: " + consumer.unplaced);
  return used && report.ok();
}

}  // namespace tilepost
