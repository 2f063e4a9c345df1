// Checks the schema against the reader: both must accept the same documents.
#include <random>

#include "generator/spec/fields.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"
#include "tests/unit/spec/json_schema.h"

namespace {

using namespace tilepost;
namespace json = llvm::json;
using json::Array;
using json::Object;

json::Value schema() {
  llvm::Expected<json::Value> parsed = json::parse(spec_json_schema());
  REQUIRE(static_cast<bool>(parsed));
  return std::move(*parsed);
}

Object minimal() {
  return Object{{"tilepost", 1},
                {"name", "small"},
                {"pattern", "gemm_all_reduce"},
                {"ranks", 4},
                {"gemm", Object{{"m", 129}, {"n", 64}, {"k", 7}, {"a", "bf16"}}},
                {"arch", "sm_90a"}};
}

// A kernel of the user's own with only the required fields.
Object own_kernel() {
  return Object{{"file", "a.cu"}, {"function", "f"},       {"tile", Array{64, 64}},
                {"threads", 128}, {"grid", Array{1, "m"}}, {"arguments", Object{{"C", "out"}}}};
}

// Reads JSON, which is YAML. It is printed on several lines because the length of a line is
// bounded.
test::Outcome read_json(const Object& document) {
  return test::read(llvm::formatv("{0:1}", json::Value(Object(document))).str());
}

void put(Object& document, const Field& field, json::Value value) {
  Object* mapping = &document;
  const llvm::StringRef section = field.section();
  if (!section.empty()) {
    if (document.getObject(section) == nullptr) document[section] = Object{};
    mapping = document.getObject(section);
  }
  (*mapping)[llvm::StringRef(field.leaf())] = std::move(value);
}

// Values of all types, at and around every edge of the field, right and wrong.
std::vector<json::Value> candidates(const Field& field) {
  std::vector<json::Value> values = {nullptr,
                                     true,
                                     1.5,
                                     -1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     1LL << 40,
                                     "",
                                     "auto",
                                     "x",
                                     "1",
                                     "none",
                                     Array{},
                                     Array{"x"},
                                     Array{nullptr},
                                     Object{},
                                     Object{{"max", 4}},
                                     Object{{"max", 0}},
                                     Object{{"max", "4"}},
                                     Object{{"max", 4}, {"min", 1}},
                                     Object{{"mx", 4}},
                                     Object{{"file", "a.cu"}},
                                     Object{{"C", "out"}},
                                     Object{{"C", "out"}, {"M", "m"}, {"x", 0.5}},
                                     Object{{"C", Array{}}},
                                     Object{{"C", "out"}, {"bias", nullptr}},
                                     Object{{"m", 2}, {"k", 4}},
                                     Object{{"q", 2}},
                                     Object{{"q", "n * k"}, {"r", Array{}}},
                                     0.25,
                                     "Auto",
                                     "AUTO"};
  for (const int64_t number :
       {field.min - 1, field.min, field.min + 1, field.max - 1, field.max, field.max + 1}) {
    values.push_back(number);
    values.push_back(std::to_string(number));
    for (const size_t count : {field.min_items, field.max_items, field.max_items + 1}) {
      values.push_back(Array(std::vector<int64_t>(count, number)));
      if (count > 0) values.push_back(Array(std::vector<int64_t>(count - 1, number)));
    }
  }
  std::vector<std::string> words = {
      "gelu", "name", "class", "a__b", "_a", "a_", std::string(65, 'a')};
  for (const Spelling& choice : field.choices) {
    const llvm::StringRef word = choice.text;
    words.push_back(word.str());
    words.push_back(word.upper());
    words.push_back(word.str() + "x");
    for (const Spelling& other : field.choices)
      values.push_back(Array{word, llvm::StringRef(other.text)});
  }
  for (const std::string& word : words) {
    values.push_back(word);
    values.push_back(Array{word});
  }
  return values;
}

// Whether the reader has refused by a rule between fields, which the schema does not have.
bool refused_by_rule(const std::string& log) {
  for (const char* words : {"must equal gemm.a",
                            "is for a kernel of your own",
                            "fewer than 2^46 elements",
                            "needs schedule.layout",
                            "is not possible with e4m3",
                            "is for e4m3",
                            "before a sum over ranks",
                            "can be one",
                            "in the kernels; write",
                            "has nothing to send",
                            "is for patterns 'dispatch_grouped_gemm', 'grouped_gemm', ",
                            "'grouped_gemm_combine' and 'moe', whose tokens",
                            "needs gemm.top",
                            "ranks do not divide",
                            "max_rows must be at most",
                            "with pattern 'dispatch_grouped_gemm'",
                            "with pattern 'grouped_gemm_combine'",
                            "needs gemm.experts",
                            "with pattern 'grouped_gemm'",
                            "is not possible with scales of blocks",
                            "says how scales of blocks lie",
                            "gemm.scales 'blocks' is not available",
                            "says how scales of an output of 8 bits lie",
                            "is not possible with gemm.out 'e4m3'",
                            "gemm.out 'e4m3' is",
                            "sends nothing",
                            "rows to chosen ranks",
                            "max_received is for",
                            "to ranks * gemm.m",
                            "set max_received",
                            "schedule.groups is for one m",
                            "is not possible with pattern",
                            "is for transport 'peer'",
                            "is for transport 'peer_tiles'",
                            "transport 'peer_tiles' is for",
                            "moves whole rows",
                            "is not possible with transport",
                            "stores with TMA",
                            "has nothing to add up",
                            "expression of m, n and k",
                            "the kernel is given here",
                            "is row-major already",
                            "has to normalise"})
    if (log.find(words) != std::string::npos) return true;
  return false;
}

// Whether the reader accepts the document. Checks that the schema agrees.
bool agree(const Object& document) {
  static const json::Value kSchema = schema();
  const test::Outcome outcome = read_json(document);
  const std::string reason = test::mismatch(Object(document), *kSchema.getAsObject());
  if (!refused_by_rule(outcome.log) && outcome.spec.has_value() != reason.empty()) {
    CAPTURE(llvm::formatv("{0}", json::Value(Object(document))).str(), outcome.log, reason);
    CHECK(outcome.spec.has_value() == reason.empty());
  }
  return outcome.spec.has_value();
}

}  // namespace

TEST_CASE("the schema and the reader agree on every value of every field") {
  CHECK(agree(minimal()));
  for (const Field& field : fields()) {
    int accepted = 0;
    int refused = 0;
    for (const json::Value& value : candidates(field)) {
      Object document = minimal();
      if (field.path == "routing") document["pattern"] = "gemm_all_to_all";
      if (field.path == "max_received") {
        document["pattern"] = "all_to_all_gemm";
        document["routing"] = "rows";
      }
      Object& gemm = *document.getObject("gemm");
      if (field.path == "gemm.scales" || field.path == "gemm.scales_a") gemm["a"] = "e4m3";
      if (field.path == "gemm.scales_a") gemm["scales"] = "blocks";
      if (field.path == "gemm.scales_out") gemm["out"] = "e4m3";
      if (field.path == "gemm.experts" || field.path == "gemm.gate") {
        document["pattern"] = "grouped_gemm";
        document["ranks"] = 1;
        gemm["experts"] = 8;
        if (field.path == "gemm.gate") gemm["epilogue"] = Array{"swiglu"};
      }
      if (field.path == "gemm.top" || field.path == "max_rows") {
        document["pattern"] = "dispatch_grouped_gemm";
        gemm["experts"] = 8;
        gemm["top"] = 2;
      }
      if (field.path == "schedule.sum") document["transport"] = "peer";
      if (field.path == "schedule.shots") document["transport"] = "peer_tiles";
      if (field.section() == "kernel") document["kernel"] = own_kernel();
      if (field.path == "kernel.launcher") document.getObject("kernel")->erase("arguments");
      if (field.path == "kernel.b_bytes") (*document.getObject("gemm"))["b"] = "user";
      put(document, field, value);
      (agree(document) ? accepted : refused) += 1;
    }
    CAPTURE(field.path);
    CHECK((accepted > 0 || field.kind == FieldKind::section));
    CHECK(refused > 0);
  }
}

TEST_CASE("the schema and the reader agree on random documents") {
  std::mt19937 random(1);
  const auto below = [&](size_t bound) { return random() % bound; };
  int accepted = 0;
  constexpr int kDocuments = 5000;
  for (int i = 0; i < kDocuments; ++i) {
    Object document = minimal();
    for (size_t changes = below(4) + 1; changes > 0; --changes) {
      const Field& field = fields()[below(fields().size())];
      const std::vector<json::Value> values = candidates(field);
      const json::Value& value = values[below(values.size())];
      if (below(8) == 0) {
        document.erase(field.path);
      } else if (document.getObject(field.section()) != nullptr || !document.get(field.section())) {
        put(document, field, value);
      }
    }
    accepted += agree(document) ? 1 : 0;
  }
  CHECK(accepted > kDocuments / 50);
  CHECK(accepted < kDocuments / 2);
}

TEST_CASE("the schema and the reader know the same keys") {
  const json::Value root = schema();
  const Object* properties = root.getAsObject()->getObject("properties");
  size_t count = 0;
  for (const Field& field : fields()) {
    const Object* level = properties;
    if (field.section() == "gemm")
      level = properties->getObject("gemm")->getObject("properties");
    else if (!field.section().empty())
      level = (*properties->getObject(llvm::StringRef(field.section()))->getArray("anyOf"))[1]
                  .getAsObject()
                  ->getObject("properties");
    CAPTURE(field.path);
    const Object* property = level->getObject(field.leaf());
    REQUIRE(property != nullptr);
    CHECK(property->getString("description")->contains(field.description));
    ++count;
  }
  const auto size_of = [](const json::Value& level) {
    return level.getAsObject()->getObject("properties")->size();
  };
  const auto choices = [&](llvm::StringRef section) {
    return size_of((*properties->getObject(section)->getArray("anyOf"))[1]);
  };
  CHECK(size_of(root) + size_of(Object(*properties->getObject("gemm"))) + choices("schedule") +
            choices("kernel") ==
        count);
  Object unknown = minimal();
  unknown["other"] = 1;
  CHECK_FALSE(agree(unknown));
  Object inside = minimal();
  (*inside.getObject("gemm"))["other"] = 1;
  CHECK_FALSE(agree(inside));
}

TEST_CASE("the schema is the same on every call") {
  CHECK(spec_json_schema() == spec_json_schema());
  CHECK(llvm::StringRef(spec_json_schema()).ends_with("}\n"));
}
