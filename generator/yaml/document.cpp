#include "generator/yaml/document.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

namespace tilepost {
namespace {

using llvm::StringRef;
namespace yaml = llvm::yaml;

// A complaint of LLVM's scanner or parser. Only the first counts, the rest follow from it.
struct SyntaxError {
  bool found = false;
  llvm::SMLoc where;
  std::string message;
};

void keep_first(const llvm::SMDiagnostic& diagnostic, void* context) {
  auto& error = *static_cast<SyntaxError*>(context);
  if (error.found) return;
  StringRef message = diagnostic.getMessage();
  message = message.rtrim("!.");
  error = {true, diagnostic.getLoc(), message.str()};
  if (message.size() > 1 && llvm::isUpper(message[0]) && llvm::isLower(message[1]))
    error.message[0] = llvm::toLower(message[0]);
}

Place to_place(llvm::SMRange range) {
  return {range.Start.getPointer(), range.End.getPointer()};
}

// Refuses commas in `gap`, a stretch between two words, that have nothing before them, because the
// parser ignores such commas. A gap has only punctuation, blanks and comments. `after_word`: the
// gap follows a word.
bool check_gap(StringRef gap, bool after_word, Diagnostics& diagnostics) {
  char before = after_word ? 'w' : ' ';
  for (size_t i = 0; i < gap.size(); ++i) {
    if (gap[i] == '#') i = gap.find('\n', i);
    if (i >= gap.size()) break;
    if (llvm::isSpace(gap[i])) continue;
    if (gap[i] == ',' && (before == ',' || before == '[' || before == '{')) {
      diagnostics.error(place_of(gap.substr(i, 1)), "a comma with no value before it; remove it");
      return false;
    }
    before = gap[i];
  }
  return true;
}

class TreeBuilder {
 public:
  TreeBuilder(StringRef text, yaml::Stream& stream, Diagnostics& diagnostics)
      : text_(text), stream_(stream), diagnostics_(diagnostics) {}

  // Converts `node` and what is below it.
  Value build(yaml::Node* node, int depth) {
    Value value;
    if (node == nullptr || stopped()) return value;
    value.where = place_of_node(*node);
    check_decoration(*node);
    if (auto* scalar = llvm::dyn_cast<yaml::ScalarNode>(node)) {
      fill_scalar(*scalar, value);
    } else if (auto* sequence = llvm::dyn_cast<yaml::SequenceNode>(node)) {
      value.kind = Value::Kind::sequence;
      if (enter(*node, depth)) fill_sequence(*sequence, value, depth);
    } else if (auto* mapping = llvm::dyn_cast<yaml::MappingNode>(node)) {
      value.kind = Value::Kind::mapping;
      if (enter(*node, depth)) fill_mapping(*mapping, value, depth);
    } else if (llvm::isa<yaml::AliasNode>(node)) {
      diagnostics_.error(value.where, "aliases are not supported; write the value out");
    } else if (llvm::isa<yaml::BlockScalarNode>(node)) {
      diagnostics_.error(value.where,
                         "block scalars ('|', '>') are not supported; write the value on one line");
    }
    return value;
  }

  // Whether all commas are between values. Called after the tree is complete.
  bool check_commas() {
    const char* end = text_.begin();
    for (const StringRef word : words_) {
      if (word.begin() < end) continue;  // an empty word has no place of its own
      if (!check_gap(StringRef(end, word.begin() - end), end != text_.begin(), diagnostics_))
        return false;
      end = word.end();
    }
    return check_gap(StringRef(end, text_.end() - end), !words_.empty(), diagnostics_);
  }

  // Whether nothing more can be read. The parser must not advance past an abandoned node, because
  // it would descend into that node without a limit.
  bool stopped() const { return abandoned_ || stream_.failed(); }

 private:
  // Where a node stands. The parser gives an alias and a flow collection the place of the token
  // after the one that opens them.
  Place place_of_node(const yaml::Node& node) const {
    if (const auto* alias = llvm::dyn_cast<yaml::AliasNode>(&node))
      return place_of(alias->getName());
    const Place place = to_place(node.getSourceRange());
    if (!place.known() || !llvm::isa<yaml::MappingNode, yaml::SequenceNode>(node)) return place;
    const StringRef before =
        text_.take_front(static_cast<size_t>(place.begin - text_.begin())).rtrim(' ');
    const bool is_flow = before.ends_with("[") || before.ends_with("{");
    return is_flow ? place_of(before.take_back(1)) : place;
  }

  bool enter(const yaml::Node& node, int depth) {
    if (depth < kMaxDepth) return true;
    refuse_depth(place_of_node(node), diagnostics_);
    abandoned_ = true;
    return false;
  }

  // Looking for a key among many costs quadratic time; no spec has many.
  bool has_room(size_t entries, Place where) {
    if (entries < kMaxEntries) return true;
    refuse_entries(where, diagnostics_);
    abandoned_ = true;
    return false;
  }

  void check_decoration(const yaml::Node& node) {
    if (!node.getAnchor().empty()) {
      diagnostics_.error(place_of(node.getAnchor()),
                         "anchors are not supported; write the value out where it is needed");
    }
    if (!node.getRawTag().empty())
      diagnostics_.error(place_of(node.getRawTag()), "tags are not supported; remove the tag");
  }

  void fill_scalar(const yaml::ScalarNode& scalar, Value& value) {
    llvm::SmallString<64> storage;
    const StringRef raw = scalar.getRawValue();
    words_.push_back(raw);
    value.set_scalar(scalar.getValue(storage).str(), raw.starts_with("\"") || raw.starts_with("'"));
  }

  void fill_sequence(yaml::SequenceNode& sequence, Value& value, int depth) {
    for (auto item = sequence.begin(); item != sequence.end(); ++item) {
      if (!has_room(value.items.size(), place_of_node(*item))) return;
      value.items.push_back(build(&*item, depth + 1));
      if (stopped()) return;
    }
  }

  void fill_mapping(yaml::MappingNode& mapping, Value& value, int depth) {
    for (auto pair = mapping.begin(); pair != mapping.end(); ++pair) {
      yaml::Node* key = pair->getKey();
      if (stopped()) return;
      auto* word = llvm::dyn_cast_or_null<yaml::ScalarNode>(key);
      if (word == nullptr) {
        const bool placed = key != nullptr && key->getSourceRange().isValid();
        diagnostics_.error(placed ? place_of_node(*key) : value.where,
                           "a key must be a word followed by ': '");
        abandoned_ = true;
        return;
      }
      Entry entry;
      entry.where = to_place(word->getSourceRange());
      words_.push_back(word->getRawValue());
      check_decoration(*word);
      llvm::SmallString<32> storage;
      entry.key = word->getValue(storage).str();
      entry.value = build(pair->getValue(), depth + 1);
      if (!entry.value.where.known()) entry.value.where = entry.where;
      if (stopped() || !has_room(value.entries.size(), entry.where)) return;
      add(std::move(entry), value);
    }
  }

  void add(Entry entry, Value& mapping) {
    if (const Entry* first = mapping.find(entry.key)) {
      return refuse_twice(entry.key, entry.where, first->where, diagnostics_);
    }
    mapping.entries.push_back(std::move(entry));
  }

  StringRef text_;
  yaml::Stream& stream_;
  Diagnostics& diagnostics_;
  std::vector<StringRef> words_;  // scalars as they are written, in the order of the text
  bool abandoned_ = false;
};

}  // namespace

std::optional<Value> parse_document(StringRef text, Diagnostics& diagnostics) {
  Value value;
  value.where = place_of(text);
  if (text.trim().empty()) return value;
  // A private source manager catches the parser's messages; locations point into the same text.
  llvm::SourceMgr sources;
  SyntaxError syntax;
  sources.setDiagHandler(keep_first, &syntax);
  yaml::Stream stream(text, sources, /*ShowColors=*/false);
  TreeBuilder builder(text, stream, diagnostics);
  const int errors = diagnostics.errors();

  auto document = stream.begin();
  if (document != stream.end()) {
    value = builder.build(document->getRoot(), 0);
    if (!value.where.known()) value.where = place_of(text);
    if (!builder.stopped() && ++document != stream.end() && !stream.failed()) {
      const yaml::Node* rest = document->getRoot();
      const bool placed = rest != nullptr && rest->getSourceRange().isValid();
      if (!stream.failed())
        diagnostics.error(placed ? to_place(rest->getSourceRange()) : value.where,
                          "unexpected text after the end of the spec");
    }
  }
  if (stream.failed()) {
    const char* at = syntax.where.getPointer();
    const Place where = at != nullptr ? Place{at, at} : place_of(text);
    diagnostics.error(where, "not valid YAML" + (syntax.found ? ": " + syntax.message : ""));
  }
  if (diagnostics.errors() != errors || !builder.check_commas()) return std::nullopt;
  return value;
}

}  // namespace tilepost
