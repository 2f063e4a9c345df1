#include "generator/clang/parser.h"

#include <exception>
#include <memory>
#include <set>

#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/DiagnosticLex.h"
#include "clang/Basic/DiagnosticSema.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "generator/clang/asked/candidates.h"
#include "generator/clang/clang_errors.h"
#include "generator/clang/instantiate.h"
#include "generator/clang/invocation.h"
#include "generator/clang/preprocess/header_macros.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using clang::SourceLocation;
using llvm::StringRef;

// The source, and behind it the code that asks for a function's instantiation. There are two line
// ends between them, because the last line of the source may end in a backslash.
std::string with_asked(const Text& text, const Reading& reading) {
  if (reading.asked.empty()) return text.text;
  return text.text + "\n\nauto* const " + kAskedName + " = &" + reading.asked + ";\n";
}

// Collects the inclusions, the branches not taken and the foreign macros of the main file.
class Preprocessing : public clang::PPCallbacks {
 public:
  struct Found {
    std::vector<Inclusion> inclusions, missing;
    std::vector<Range> skipped;
    std::vector<ForeignMacro> macros;
    HeaderMacros header_macros;
  };

  Preprocessing(clang::Preprocessor& preprocessor, const Tokens& tokens, Found& found)
      : preprocessor_(preprocessor),
        sm_(preprocessor.getSourceManager()),
        tokens_(tokens),
        found_(found) {}

  void InclusionDirective(SourceLocation hash, const clang::Token&, StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, StringRef,
                          StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (!sm_.isWrittenInMainFile(hash)) return;
    const std::string spelled = angled ? "<" + name.str() + ">" : "\"" + name.str() + "\"";
    (file ? found_.inclusions : found_.missing).push_back({sm_.getFileOffset(hash), spelled});
    if (file) found_.header_macros.include(sm_.getFileOffset(hash), spelled);
  }

  void MacroDefined(const clang::Token& name, const clang::MacroDirective*) override {
    if (sm_.isWrittenInMainFile(name.getLocation()))
      found_.header_macros.define(sm_.getFileOffset(name.getLocation()), name.getIdentifierInfo());
  }
  // An #undef counts like a definition. If the macro is not the file's own, it also counts as one
  // that headers ask for, because it is unknown what they do without it.
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition& was,
                      const clang::MacroDirective*) override {
    const clang::MacroInfo* macro = was.getMacroInfo();
    if (!macro || !sm_.isWrittenInMainFile(name.getLocation())) return;
    found_.header_macros.define(sm_.getFileOffset(name.getLocation()), name.getIdentifierInfo());
    if (!is_own(macro)) found_.header_macros.ask(name.getIdentifierInfo());
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition& definition,
               clang::SourceRange) override {
    ask(name, definition);
  }

  // The range goes from the # that opens the branch to the # of the directive that ends it.
  void SourceRangeSkipped(clang::SourceRange range, SourceLocation end_hash) override {
    if (!sm_.isWrittenInMainFile(range.getBegin())) return;
    found_.skipped.push_back({sm_.getFileOffset(range.getBegin()), sm_.getFileOffset(end_hash)});
  }

  void If(SourceLocation word, clang::SourceRange, ConditionValueKind) override {
    add_condition(word, Use::value);
  }
  void Elif(SourceLocation word, clang::SourceRange, ConditionValueKind value,
            SourceLocation) override {
    if (value != CVK_NotEvaluated) add_condition(word, Use::value);
  }
  void Ifdef(SourceLocation word, const clang::Token& name,
             const clang::MacroDefinition& definition) override {
    add_condition(word, Use::definition);
    ask(name, definition);
  }
  void Ifndef(SourceLocation word, const clang::Token& name,
              const clang::MacroDefinition& definition) override {
    add_condition(word, Use::definition);
    ask(name, definition);
  }
  void Elifdef(SourceLocation word, const clang::Token&, const clang::MacroDefinition&) override {
    add_condition(word, Use::definition);
  }
  void Elifndef(SourceLocation word, const clang::Token&, const clang::MacroDefinition&) override {
    add_condition(word, Use::definition);
  }

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition,
                    clang::SourceRange, const clang::MacroArgs*) override {
    ask(name, definition);
    if (preprocessor_.isParsingIfOrElifDirective()) return;  // add_condition sees its names
    const auto [file, offset] = sm_.getDecomposedExpansionLoc(name.getLocation());
    if (file != sm_.getMainFileID()) return;
    const clang::MacroInfo* macro = definition.getMacroInfo();
    if (macro && is_own(macro)) return;
    const bool written = sm_.isWrittenInMainFile(sm_.getSpellingLoc(name.getLocation()));
    found_.macros.push_back(
        {offset, name.getIdentifierInfo()->getName(), origin(macro), Use::expansion, written});
  }

 private:
  using Use = ForeignMacro::Use;
  using From = ForeignMacro::From;

  // Notes that a header asks for a macro of the file's own.
  void ask(const clang::Token& name, const clang::MacroDefinition& definition) {
    const clang::MacroInfo* macro = definition.getMacroInfo();
    const SourceLocation where = sm_.getExpansionLoc(name.getLocation());
    if (macro && is_own(macro) && !sm_.isInMainFile(where))
      found_.header_macros.ask(name.getIdentifierInfo());
  }

  bool is_own(const clang::MacroInfo* macro) const {
    return !macro->isBuiltinMacro() && sm_.isWrittenInMainFile(macro->getDefinitionLoc());
  }

  From origin(const clang::MacroInfo* macro) const {
    if (!macro) return From::nobody;
    const SourceLocation where = macro->getDefinitionLoc();
    const bool compiler = macro->isBuiltinMacro() || sm_.isWrittenInBuiltinFile(where) ||
                          sm_.isWrittenInCommandLineFile(where);
    return compiler ? From::compiler : From::header;
  }

  // Adds every name in the directive whose first word is at `word`.
  void add_condition(SourceLocation word, Use use) {
    if (!sm_.isWrittenInMainFile(word)) return;
    const size_t begin = sm_.getFileOffset(word);
    const size_t end = tokens_.end_of_directive(begin);
    std::set<const clang::IdentifierInfo*> seen;
    for (size_t i = tokens_.index_at(begin) + 1;
         i < tokens_.all().size() && tokens_.all()[i].begin < end; ++i) {
      const Token& token = tokens_.all()[i];
      if (token.kind != clang::tok::raw_identifier || tokens_.text(token) == "defined") continue;
      add_name(preprocessor_.getIdentifierInfo(tokens_.text(token)), token.begin, use, seen);
    }
  }

  // Adds a name that a condition uses. For a macro of the file's own, adds the names in its
  // definition instead.
  void add_name(const clang::IdentifierInfo* name, size_t at, Use use,
                std::set<const clang::IdentifierInfo*>& seen) {
    if (!name || name->getTokenID() != clang::tok::identifier || !seen.insert(name).second) return;
    const clang::MacroInfo* macro = preprocessor_.getMacroInfo(name);
    if (!macro || !is_own(macro)) {
      found_.macros.push_back({at, name->getName(), origin(macro), use, true});
      return;
    }
    if (use == Use::definition) return;
    for (const clang::Token& token : macro->tokens()) {
      const clang::IdentifierInfo* inner = token.getIdentifierInfo();
      if (inner && macro->getParameterNum(inner) < 0) add_name(inner, at, use, seen);
    }
  }

  const clang::Preprocessor& preprocessor_;
  const clang::SourceManager& sm_;
  const Tokens& tokens_;
  Found& found_;
};

class Action : public clang::ASTFrontendAction {
 public:
  Action(const Tokens& tokens, const Reading& reading) : tokens_(tokens), reading_(reading) {}

  Preprocessing::Found found;
  bool finished = false;  // Clang has a tree

  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<Preprocessing>(compiler.getPreprocessor(), tokens_, found));
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        StringRef) override {
    struct Finished : clang::ASTConsumer {
      Action& action;
      explicit Finished(Action& mine) : action(mine) {}
      void HandleTranslationUnit(clang::ASTContext&) override { action.finished = true; }
      // The body of main is skipped. Nothing may call main (ISO C++ [basic.start.main]), and in a
      // kernel's file it often takes the longest to parse, because it uses every kernel with every
      // type. Clang does not ask for bodies that the rest may depend on: those of constexpr
      // functions, and of functions whose return type is deduced.
      bool shouldSkipFunctionBody(clang::Decl* decl) override {
        const clang::FunctionDecl* function = decl->getAsFunction();
        if (!function) return false;
        return function->isMain() || (action.reading_.bodiless_headers && is_of_own_header(*decl));
      }

     private:
      static bool is_of_own_header(const clang::Decl& decl) {
        const clang::SourceManager& sm = decl.getASTContext().getSourceManager();
        return sm.getFilename(sm.getExpansionLoc(decl.getLocation())).starts_with(kOwnFolder);
      }
    };
    return std::make_unique<Finished>(*this);
  }

 private:
  const Tokens& tokens_;
  const Reading& reading_;
};

// A skipped range starts at the directive of the branch. The result has only the lines between the
// directives.
std::vector<Range> without_directives(std::vector<Range> ranges, const Tokens& tokens,
                                      StringRef text) {
  for (Range& range : ranges) {
    range.begin = std::min(tokens.end_of_directive(range.begin) + 1, range.end);
    // Without the indentation of the directive that ends the range.
    range.end = std::max(range.begin, text.rfind('\n', range.end) + 1);
  }
  return ranges;
}

// The files on disk that were included, by their real paths.
std::vector<std::string> headers_read(const clang::SourceManager& sm) {
  std::set<std::string> paths;
  const clang::OptionalFileEntryRef main = sm.getFileEntryRefForID(sm.getMainFileID());
  for (auto file = sm.fileinfo_begin(); file != sm.fileinfo_end(); ++file) {
    const clang::FileEntryRef entry = file->first;
    if (main && entry.isSameRef(*main)) continue;
    const StringRef path = entry.getFileEntry().tryGetRealPathName();
    if (!path.empty() && !path.starts_with(kAddedFolder)) paths.insert(path.str());
  }
  return {paths.begin(), paths.end()};
}

}  // namespace

std::optional<size_t> Parsed::spelled(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getSpellingLoc(where));
  if (file != sm.getMainFileID() || offset > text.size()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getExpansionLoc(where));
  if (file != sm.getMainFileID() || offset > text.size()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded_end(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const SourceLocation last = sm.getExpansionRange(where).getEnd();
  const std::optional<size_t> offset = expanded(last);
  if (!offset) return std::nullopt;
  return *offset + clang::Lexer::MeasureTokenLength(last, sm, ast.getLangOpts());
}

void Parsed::say_in_header(Report::Kind kind, SourceLocation where,
                           const llvm::Twine& message) const {
  const SourceLocation there = where.isValid() ? sm.getFileLoc(where) : where;
  const StringRef name = where.isValid() ? sm.getFilename(there) : "";
  if (!name.empty()) {
    const auto [file, offset] = sm.getDecomposedLoc(there);
    report.say_in(kind, known_name(name), sm.getBufferData(file), offset, message);
  } else if (kind == Report::Kind::error) {
    report.error(message);
  }
}

void Parsed::say(Report::Kind kind, SourceLocation where, const llvm::Twine& message) const {
  std::optional<size_t> at = spelled(where);
  if (!at) at = expanded(where);
  if (!at) {
    say_in_header(kind, where, message);
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

namespace {

// Clang is not built for exceptions. After std::bad_alloc has passed through one of its objects,
// the object is not fit to be destroyed. Such an object is leaked, and the process ends soon.
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

// In full mode, reports the errors that matter to the function asked for.
void settle(Parsed& parsed, const Reading& reading, ClangErrors& errors) {
  if (!reading.full) return;
  const clang::FunctionDecl* function =
      reading.asked.empty() ? nullptr : function_asked_for(parsed);
  if (!function) {
    errors.settle(parsed.sm, nullptr);
    return;
  }
  if (!parsed.ast.getDiagnostics().hasErrorOccurred()) return;
  const Reached reached(function, parsed.sm, asking_variable(parsed));
  errors.settle(parsed.sm, &reached);
  parsed.left_out = errors.left_out();
}

}  // namespace

// The data of a parse and Clang's objects. They are destroyed in the opposite order of their
// declaration.
struct Parse::State {
  const Text text;
  const Reading reading;
  const Tokens tokens{text.text};
  const std::string source = with_asked(text, reading);
  ClangErrors errors;  // reports errors while parsing, and none afterwards
  const Fragile<clang::CompilerInstance> compiler;
  const Fragile<Action> action{tokens, reading};
  const int exceptions = std::uncaught_exceptions();
  bool begun = false;
  // The members of these names in Parsed.
  std::vector<Range> skipped;
  std::vector<std::string> headers;
  std::vector<size_t> left_out;

  State(const Text& as_written, const Reading& how, Report& report)
      : text(as_written), reading(how), errors(text, reading, report) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (begun && std::uncaught_exceptions() <= exceptions) action->EndSourceFile();
  }

  bool prepare(Report& report);
  bool run(Report& report);
  void settle_errors(Report& report);
  Parsed parsed(Report& report) const;
};

bool Parse::State::prepare(Report& report) {
  const Files files = make_files(source, reading);
  compiler->createFileManager(files);
#if CLANG_VERSION_MAJOR >= 20
  compiler->createDiagnostics(compiler->getVirtualFileSystem(), &errors,
                              /*ShouldOwnClient=*/false);
#else
  compiler->createDiagnostics(&errors, /*ShouldOwnClient=*/false);
#endif
  auto invocation = make_invocation(reading, files, &compiler->getDiagnostics());
  if (!invocation) {
    report.error("Clang could not read it: " + errors.unplaced());
    return false;
  }
  invocation->getFrontendOpts().SkipFunctionBodies = true;  // see shouldSkipFunctionBody()
  compiler->setInvocation(std::move(invocation));
  // nvcc takes `register`, which C++17 has removed.
  compiler->getDiagnostics().setSeverity(clang::diag::ext_register_storage_class,
                                         clang::diag::Severity::Ignored, SourceLocation());
  // A missing header must not end the parse. Whether it matters depends on what the function
  // reaches.
  if (reading.full) {
    compiler->getDiagnostics().setSeverity(clang::diag::err_pp_file_not_found,
                                           clang::diag::Severity::Error, SourceLocation());
  }
  return true;
}

Parsed Parse::State::parsed(Report& report) const {
  Parsed parsed(text, tokens, compiler->getASTContext(), report);
  parsed.inclusions = action->found.inclusions;
  parsed.missing = action->found.missing;
  parsed.foreign_macros = action->found.macros;
  parsed.first = action->found.header_macros.lines(tokens, text.text, reading);
  parsed.skipped = skipped;
  parsed.headers = headers;
  parsed.left_out = left_out;
  return parsed;
}

// Does the same as CompilerInstance::ExecuteAction, except that the source ends only with this
// object, so that its tree can be looked at until then. Returns whether there is a tree to look at.
bool Parse::State::run(Report& report) {
  if (!action->PrepareToExecute(*compiler) || !compiler->createTarget()) return false;
  begun = action->BeginSourceFile(*compiler, compiler->getFrontendOpts().Inputs.front());
  if (!begun) return false;
  if (llvm::Error error = action->Execute()) llvm::consumeError(std::move(error));
  if (!action->finished) return false;
  Parsed found = parsed(report);
  settle(found, reading, errors);
  left_out = found.left_out;
  const clang::DiagnosticsEngine& all = compiler->getDiagnostics();
  const bool stopped = reading.full ? all.hasFatalErrorOccurred() || !errors.unplaced().empty()
                                    : all.hasErrorOccurred();
  if (!report.ok() || stopped || !errors.about_asked().empty()) return false;
  skipped = without_directives(action->found.skipped, tokens, text.text);
  if (reading.full) headers = headers_read(found.sm);
  return true;
}

// Reports the errors of a parse that gave no tree.
void Parse::State::settle_errors(Report& report) {
  if (compiler->hasSourceManager()) errors.settle(compiler->getSourceManager(), nullptr);
  if (!errors.about_asked().empty() && report.ok()) {
    // If a bracket of the source is not closed, the error is not in the code behind the source. So
    // the source is parsed alone, which reports errors of its own.
    Reading source_alone = reading;
    source_alone.asked.clear();
    if (parse(text, source_alone, report, [](Parsed&) {}))
      report.error("function '" + reading.asked + "': " +
                   (errors.asked_is_unclear() && compiler->hasASTContext()
                        ? why_unclear(compiler->getASTContext(), reading.asked)
                        : errors.about_asked()));
    return;
  }
  if (report.ok()) report.error("Clang could not read it: " + errors.unplaced());
}

Parse::Parse(std::unique_ptr<State> state) : state_(std::move(state)) {}
Parse::~Parse() = default;

std::unique_ptr<Parse> Parse::of(const Text& text, const Reading& reading, Report& report) {
  auto state = std::make_unique<State>(text, reading, report);
  if (!state->prepare(report)) return nullptr;
  if (!state->run(report)) {
    state->settle_errors(report);
    return nullptr;
  }
  return std::unique_ptr<Parse>(new Parse(std::move(state)));
}

bool Parse::is_of(const Text& text, const Reading& reading) const {
  return state_->reading == reading && state_->text.text == text.text;
}

bool Parse::look(Report& report, llvm::function_ref<void(Parsed&)> use) const {
  Parsed parsed = state_->parsed(report);
  use(parsed);
  return report.ok();
}

bool parse(const Text& text, const Reading& reading, Report& report,
           llvm::function_ref<void(Parsed&)> use) {
  const std::unique_ptr<Parse> made = Parse::of(text, reading, report);
  return made && made->look(report, use);
}

}  // namespace tilepost
