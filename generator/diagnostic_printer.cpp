#include "generator/diagnostic_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generator/printable.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// A source line wider than this is cut around the caret: a generated or hostile file must not
// flood the terminal.
constexpr size_t kMaxColumns = 160;

// One column of output: a code point, or what stands for a byte that must not reach a terminal.
struct Cell {
  StringRef text;
  size_t offset;  // of its first byte in the line
};

// Splits line[begin, end) into columns. Tabs become one space, so that the caret line needs none.
std::vector<Cell> split_into_cells(StringRef line, size_t begin, size_t end) {
  std::vector<Cell> cells;
  for (size_t i = begin; i < end;) {
    const Character character = first_character(std::string_view(line).substr(i));
    const StringRef text = line[i] == '\t'   ? " "
                           : character.plain ? line.substr(i, character.bytes)
                                             : "?";
    cells.push_back({text, i});
    i += character.bytes;
  }
  return cells;
}

// Moves back to the first byte of the sequence that `offset` is inside of.
size_t sequence_start(StringRef line, size_t offset) {
  while (offset > 0 && offset < line.size() && (line[offset] & 0xc0) == 0x80) --offset;
  return offset;
}

// The part of the line shown, and below it the caret under byte `caret` and an underline to `end`.
struct Snippet {
  std::string line;
  std::string marks;
};

Snippet make_snippet(StringRef line, size_t caret, size_t end) {
  constexpr size_t kReach = kMaxColumns / 2;
  constexpr size_t kMaxSequence = 4;  // bytes
  // A long line is only looked at near the caret, so that its length costs nothing.
  const size_t reach = kReach * kMaxSequence;
  const size_t begin = sequence_start(line, caret > reach ? caret - reach : 0);
  const size_t stop = sequence_start(line, std::min(line.size(), caret + reach));
  std::vector<Cell> cells = split_into_cells(line, begin, stop);
  const auto at = std::find_if(cells.begin(), cells.end(),
                               [&](const Cell& cell) { return cell.offset >= caret; });
  size_t column = static_cast<size_t>(at - cells.begin());

  Snippet snippet;
  size_t first = 0;
  size_t last = cells.size();
  if (begin > 0 || stop < line.size() || cells.size() > kMaxColumns) {
    first = column > kReach ? column - kReach : 0;
    last = std::min(cells.size(), first + kMaxColumns);
  }
  const bool cut_left = begin > 0 || first > 0;
  const bool cut_right = stop < line.size() || last < cells.size();
  snippet.line = cut_left ? "…" : "";
  for (size_t i = first; i < last; ++i) snippet.line += cells[i].text;
  if (cut_right) snippet.line += "…";

  snippet.marks.assign(column - first + (cut_left ? 1 : 0), ' ');
  snippet.marks += '^';
  for (size_t i = column + 1; i < last && cells[i].offset < end; ++i) snippet.marks += '~';
  return snippet;
}

struct Style {
  StringRef word;
  llvm::raw_ostream::Colors color;
};

}  // namespace

std::string_view SourceTexts::add(std::string_view name, std::string_view text) {
  const unsigned id =
      sources_.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), llvm::SMLoc());
  return sources_.getMemoryBuffer(id)->getBuffer();
}

std::optional<SourceTexts::Spot> SourceTexts::find(Place where) const {
  const llvm::SMLoc start = llvm::SMLoc::getFromPointer(where.begin);
  const unsigned id = where.known() ? sources_.FindBufferContainingLoc(start) : 0;
  if (id == 0) return std::nullopt;
  const llvm::MemoryBuffer* buffer = sources_.getMemoryBuffer(id);
  const StringRef text = buffer->getBuffer();
  const auto offset = static_cast<size_t>(where.begin - text.data());
  const size_t begin = text.take_front(offset).rfind('\n') + 1;  // npos + 1 is 0
  const StringRef line = text.slice(begin, text.find('\n', offset)).rtrim('\r');
  return Spot{buffer->getBufferIdentifier(), sources_.FindLineNumber(start, id),
              std::min(offset - begin, line.size()) + 1, line};
}

DiagnosticPrinter::DiagnosticPrinter(llvm::raw_ostream& stream, bool color)
    : stream_(stream), color_(color) {
  if (color_) stream_.enable_colors(true);
}

DiagnosticPrinter::~DiagnosticPrinter() {
  const auto say_rest = [&](size_t all, const char* what) {
    if (all <= kMaxErrors) return;
    const size_t rest = all - kMaxErrors;
    stream_ << "tilepost: note: " << rest << " more " << what << (rest == 1 ? "" : "s")
            << " not shown\n";
  };
  say_rest(static_cast<size_t>(errors()), "error");
  say_rest(warnings_.size(), "warning");
}

bool DiagnosticPrinter::is_hidden(Severity severity, const std::string& text) {
  switch (severity) {
    case Severity::error:
      return errors() > kMaxErrors;
    case Severity::warning:
      return !warnings_.insert(text).second || warnings_.size() > kMaxErrors;
    case Severity::note:  // belongs to the message before it
      break;
  }
  return hidden_;
}

void DiagnosticPrinter::show(Severity severity, Place where, std::string_view message) {
  const std::optional<SourceTexts::Spot> spot = sources_.find(where);
  const std::string place =
      spot ? fmt::format("{}:{}:{}", printable(spot->file), spot->line, spot->column) : "tilepost";
  const std::string text = printable(message);
  hidden_ = is_hidden(severity, place + text);
  if (hidden_) return;
  print(severity, place, text);
  if (spot && !spot->text.trim().empty()) print_snippet(where, *spot);
}

void DiagnosticPrinter::print(Severity severity, const std::string& place,
                              const std::string& message) {
  constexpr Style kStyles[] = {{"error", llvm::raw_ostream::RED},
                               {"warning", llvm::raw_ostream::MAGENTA},
                               {"note", llvm::raw_ostream::BLUE}};
  const Style& style = kStyles[static_cast<size_t>(severity)];
  if (color_) stream_.changeColor(llvm::raw_ostream::SAVEDCOLOR, /*Bold=*/true);
  stream_ << place << ": ";
  if (color_) stream_.changeColor(style.color, /*Bold=*/true);
  stream_ << style.word << ": ";
  if (color_) stream_.resetColor();
  stream_ << message << '\n';
}

void DiagnosticPrinter::print_snippet(Place where, const SourceTexts::Spot& spot) {
  const size_t caret = spot.column - 1;
  const auto length = static_cast<size_t>(where.end - where.begin);
  const Snippet snippet = make_snippet(spot.text, caret, caret + length);
  stream_ << snippet.line << '\n';
  if (color_) stream_.changeColor(llvm::raw_ostream::GREEN, /*Bold=*/true);
  stream_ << snippet.marks;
  if (color_) stream_.resetColor();
  stream_ << '\n';
}

}  // namespace tilepost
