// Specs made of path=value fields. They read as their YAML does, and get the same errors.
#include "generator/spec/fields.h"
#include "generator/spec/read_fields.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::Outcome;

Outcome read_given(const std::vector<FieldText>& given) {
  Outcome outcome;
  llvm::raw_string_ostream stream(outcome.log);
  DiagnosticPrinter diagnostics(stream);
  outcome.spec = read_fields(given, diagnostics);
  outcome.errors = diagnostics.errors();
  return outcome;
}

// The fields of test::kMinimal. Each of `changes` replaces the field with its path, or is appended.
std::vector<FieldText> minimal_with(const std::vector<FieldText>& changes) {
  std::vector<FieldText> given = {
      {"tilepost", "1"}, {"name", "small"},  {"pattern", "gemm_all_reduce"},
      {"ranks", "4"},    {"gemm.m", "129"},  {"gemm.n", "64"},
      {"gemm.k", "7"},   {"gemm.a", "bf16"}, {"arch", "sm_90a"}};
  for (const FieldText& change : changes) {
    const auto same = [&](const FieldText& field) {
      return field.path == change.path || (field.path == "gemm.m" && change.path == "gemm.m.max");
    };
    const auto old = std::find_if(given.begin(), given.end(), same);
    if (old != given.end())
      *old = change;
    else
      given.push_back(change);
  }
  return given;
}

template <class T>
bool same(const Located<T>& x, const Located<T>& y) {
  return x.value == y.value && x.given() == y.given();
}
template <class T>
bool same(const std::optional<Located<T>>& x, const std::optional<Located<T>>& y) {
  return x.has_value() == y.has_value() && (!x || same(*x, *y));
}

// Whether every value is equal in both, and given in both or in neither.
bool same(const Spec& x, const Spec& y) {
  const GemmSpec &gx = x.gemm, &gy = y.gemm;
  const ScheduleSpec &sx = x.schedule, &sy = y.schedule;
  const bool gemm =
      same(gx.m, gy.m) && same(gx.n, gy.n) && same(gx.k, gy.k) && gx.any_m == gy.any_m &&
      same(gx.a, gy.a) && same(gx.b, gy.b) && same(gx.out, gy.out) && same(gx.layout, gy.layout) &&
      same(gx.accumulate, gy.accumulate) &&
      std::equal(gx.epilogue.begin(), gx.epilogue.end(), gy.epilogue.begin(), gy.epilogue.end(),
                 [](const auto& p, const auto& q) { return same(p, q); });
  const bool schedule =
      same(sx.tile, sy.tile) && same(sx.stages, sy.stages) && same(sx.cluster, sy.cluster) &&
      same(sx.groups, sy.groups) && same(sx.comm_sms, sy.comm_sms) && same(sx.lanes, sy.lanes) &&
      same(sx.sms, sy.sms) && same(sx.layout, sy.layout) && same(sx.wait, sy.wait) &&
      same(sx.sum, sy.sum) && same(sx.kernels, sy.kernels) && sx.where.known() == sy.where.known();
  return gemm && schedule && same(x.name, y.name) && same(x.pattern, y.pattern) &&
         same(x.routing, y.routing) && same(x.ranks, y.ranks) && same(x.archs, y.archs) &&
         same(x.transport, y.transport) && same(x.consumer, y.consumer);
}

// The messages without places and without the source lines.
std::vector<std::string> messages_of(const std::string& log) {
  std::vector<std::string> messages;
  for (llvm::StringRef rest = log; !rest.empty();) {
    const auto [line, tail] = rest.split('\n');
    for (const char* severity : {": error: ", ": note: "})
      if (line.contains(severity)) messages.push_back(line.drop_front(line.find(severity)).str());
    rest = tail;
  }
  return messages;
}

}  // namespace

TEST_CASE("fields read as their YAML does") {
  const std::pair<const char*, std::vector<FieldText>> cases[] = {
      {"", {}},
      {"schedule: auto\n", {{"schedule", "auto"}}},
      {"schedule: {tile: [128, 256], stages: 4, cluster: 2, groups: [1, 2,3], layout: tile}\n",
       {{"schedule.tile", "[128, 256]"},
        {"schedule.stages", "4"},
        {"schedule.cluster", " 2 "},
        {"schedule.groups", "[1, 2,3,]"},
        {"schedule.layout", "tile"}}},
      {"schedule: {comm_sms: 8, lanes: 2, sms: 114, wait: poll, sum: added}\ntransport: peer\n",
       {{"schedule.comm_sms", "8"},
        {"schedule.lanes", "2"},
        {"schedule.sms", "114"},
        {"schedule.wait", "poll"},
        {"schedule.sum", "added"},
        {"transport", "'peer'"}}},
      {"consumer: \"rms_norm\"\nkernel: builtin\n",
       {{"consumer", "\"rms_norm\""}, {"kernel", "builtin"}}},
      {"schedule: {kernels: 1}\n", {{"schedule.kernels", "1"}}},
      {"transport: auto\nconsumer: none\n", {{"transport", "auto"}, {"consumer", "none"}}}};
  for (const auto& [yaml, given] : cases) {
    CAPTURE(yaml);
    const Outcome from_yaml = test::read(test::kMinimal.str() + yaml);
    const Outcome from_fields = read_given(minimal_with(given));
    CAPTURE(from_yaml.log, from_fields.log);
    REQUIRE(from_yaml.spec);
    REQUIRE(from_fields.spec);
    CHECK(same(*from_yaml.spec, *from_fields.spec));
  }
  CHECK_FALSE(same(*test::read(test::kMinimal).spec,
                   *read_given(minimal_with({{"schedule.stages", "3"}})).spec));
}

TEST_CASE("sizes, lists of words and whole sections are fields too") {
  const Outcome any = test::read(test::kMinimal, {{"gemm.m", "{max: 4096}"}});
  for (const FieldText& m : {FieldText{"gemm.m.max", "4096"}, FieldText{"gemm.m", "{max: 4096}"}}) {
    const Outcome outcome = read_given(minimal_with({m}));
    REQUIRE(outcome.spec);
    CHECK(outcome.spec->gemm.any_m);
    CHECK(same(*any.spec, *outcome.spec));
  }
  const Outcome archs = read_given(minimal_with({{"arch", "[sm_80, sm_90a]"}}));
  REQUIRE(archs.spec);
  CHECK(archs.spec->archs.value == std::vector{Arch::sm_80, Arch::sm_90a});
  const Outcome whole =
      read_given({{"tilepost", "1"},
                  {"name", "small"},
                  {"pattern", "gemm"},
                  {"ranks", "4"},
                  {"gemm", "{m: 1, n: 2, k: 3, a: f16, epilogue: [scale, 'bias']}"},
                  {"arch", "sm_80"}});
  REQUIRE(whole.spec);
  CHECK(whole.spec->gemm.out.value == TILEPOST_F16);
  CHECK(whole.spec->gemm.epilogue.size() == 2);
}

TEST_CASE("what is refused is refused in the words that YAML gets") {
  // Every field gets every wrong value, once as an override of YAML and once as a field.
  const std::vector<std::string> wrong = {
      "",         "0",       "-1",         "1.5",
      "007",      "x",       "'4'",        "[]",
      "[x]",      "[1, 1]",  "[gelu]",     "{}",
      "{max: 0}", "{mx: 4}", "{max: '4'}", "{file: a.cu}",
      "Auto",     "null",    "~",          "99999999999999999999",
      "class",    "a__b",    "f32",        "[host, sm_80]"};
  int refused = 0;
  for (const Field& field : fields())
    for (const std::string& value : wrong) {
      CAPTURE(field.path, value);
      const FieldText change{std::string(field.path), value};
      if (field.kind == FieldKind::section) continue;
      const Outcome from_yaml = test::read(test::kMinimal, {change});
      const Outcome from_fields = read_given(minimal_with({change}));
      CHECK(messages_of(from_yaml.log) == messages_of(from_fields.log));
      CHECK(from_yaml.spec.has_value() == from_fields.spec.has_value());
      refused += from_fields.spec ? 0 : 1;
    }
  CHECK(refused > 400);
}

TEST_CASE("rules between fields hold for fields") {
  const std::vector<std::vector<FieldText>> wrong = {
      {{"gemm.b", "f16"}},
      {{"pattern", "gemm"}, {"transport", "peer"}},
      {{"gemm.epilogue", "[gelu]"}},
      {{"routing", "even"}},
      {{"consumer", "unpermute"}, {"schedule.layout", "panel"}},
      {{"schedule.sum", "added"}},
      {{"gemm.m", "2147482624"}, {"gemm.n", "2147482624"}}};
  for (const std::vector<FieldText>& changes : wrong) {
    const Outcome from_yaml = test::read(test::kMinimal, changes);
    const Outcome from_fields = read_given(minimal_with(changes));
    CHECK_FALSE(from_fields.spec);
    CHECK(messages_of(from_yaml.log) == messages_of(from_fields.log));
  }
}

TEST_CASE("an unknown path gets the suggestion that -D gets") {
  for (const char* path : {"gemm.mm", "m", "layout", "shedule.groups", "gemm.n.max", "gemm.m.mx",
                           ".max", "", ".", "gemm.m.max.max"}) {
    const std::vector<std::string> from_yaml =
        messages_of(test::read(test::kMinimal, {{path, "1"}}).log);
    const Outcome outcome = read_given(minimal_with({{path, "1"}}));
    CHECK(outcome.errors == 1);
    CHECK(messages_of(outcome.log) == from_yaml);
  }
}

TEST_CASE("what is missing and what is given twice is said") {
  const Outcome empty = read_given({});
  CHECK(messages_of(empty.log) == messages_of(test::read("{}").log));
  const auto log = [](const std::vector<FieldText>& given) { return read_given(given).log; };
  std::vector<FieldText> twice = minimal_with({});
  twice.push_back({"gemm.m.max", "7"});
  CHECK(log(twice) ==
        "<field>:1:1: error: 'gemm.m.max' is given twice\ngemm.m.max=7\n^~~~~~~~~~\n"
        "<field>:1:1: note: first given here\ngemm.m=129\n^~~~~~\n");
  CHECK(
      log(minimal_with({{"ranks", "0"}})) ==
      "<field>:1:7: error: ranks must be a whole number from 1 to 64; got '0'\nranks=0\n      ^\n");
}

TEST_CASE("a value that is none is one error at its place") {
  const auto log = [](const std::string& value) {
    const Outcome outcome = read_given(minimal_with({{"schedule.groups", value}}));
    CHECK(outcome.errors == 1);
    CHECK_FALSE(outcome.spec);
    return outcome.log;
  };
  CHECK_THAT(log("[1, 2"), Catch::Contains("1:22: error: ']' is missing"));
  CHECK_THAT(log("[1,, 2]"), Catch::Contains("a value is missing before ','"));
  CHECK_THAT(log("[1] 2"), Catch::Contains("unexpected text after the value"));
  CHECK_THAT(log("[1}"), Catch::Contains("']' is missing"));
  CHECK_THAT(log("'1"), Catch::Contains("' is missing"));
  CHECK_THAT(log("{a: 1, a: 2}"), Catch::Contains("'a' is given twice"));
  CHECK_THAT(log("{1}"), Catch::Contains("a key must be a word followed by ': '"));
  CHECK_THAT(log("{[1]: 2}"), Catch::Contains("a key must be a word followed by ': '"));
  CHECK_THAT(log(std::string(100'000, '[')), Catch::Contains("nested more than 32 levels deep"));
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i) many += "1,";
  CHECK_THAT(log(many + "1]"), Catch::Contains("more than 2048 entries in one list or mapping"));
}
