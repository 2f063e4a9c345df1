#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::kMinimal;
using test::Outcome;
using test::read;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an override takes the place of the file's value") {
  const Outcome outcome = read(kMinimal, {{"gemm.m", "4096"},
                                          {"name", "big"},
                                          {"arch", "[sm_80, sm_90a]"},
                                          {"schedule.groups", "[1,3,4]"},
                                          {"schedule.tile", "[ 64, 128 ]"},
                                          {"consumer", "unpermute"}});
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  const Spec& spec = *outcome.spec;
  CHECK(spec.gemm.m.value == 4096);
  CHECK(spec.gemm.m.given());
  CHECK(spec.gemm.n.value == 64);
  CHECK(spec.name.value == "big");
  CHECK(spec.archs.value == std::vector{Arch::sm_80, Arch::sm_90a});
  CHECK(spec.schedule.groups->value == std::vector<int64_t>{1, 3, 4});
  CHECK(spec.schedule.tile->value == std::vector<int64_t>{64, 128});
  CHECK(spec.consumer.value == TILEPOST_CONSUMER_UNPERMUTE);
}

TEST_CASE("an override mends a wrong value, the last one wins") {
  const std::string wrong = test::with_line("ranks", "ranks: 1000");
  CHECK(read(wrong).errors == 1);
  const Outcome outcome = read(wrong, {{"ranks", "0"}, {"ranks", "2"}});
  REQUIRE(outcome.spec.has_value());
  CHECK(outcome.spec->ranks.value == 2);
}

TEST_CASE("an override reaches into a schedule that is auto, and can make it auto") {
  const std::string automatic = kMinimal.str() + "schedule: auto\n";
  const Outcome one = read(automatic, {{"schedule.stages", "3"}, {"schedule.layout", "tile"}});
  REQUIRE(one.spec.has_value());
  CHECK(one.spec->schedule.stages->value == 3);
  CHECK(one.spec->schedule.layout.value == TILEPOST_TILE);
  const std::string given = kMinimal.str() + "schedule: {stages: 3, cluster: 2}\n";
  const Outcome two = read(given, {{"schedule.stages", "auto"}});
  REQUIRE(two.spec.has_value());
  CHECK_FALSE(two.spec->schedule.stages.has_value());
  CHECK(two.spec->schedule.cluster->value == 2);
  const Outcome three = read(given, {{"schedule", "auto"}});
  REQUIRE(three.spec.has_value());
  CHECK_FALSE(three.spec->schedule.cluster.has_value());
  const Outcome four = read(given, {{"gemm", "{m: 1, n: 2, k: 3, a: f16}"}});
  REQUIRE(four.spec.has_value());
  CHECK(four.spec->gemm.out.value == TILEPOST_F16);
}

TEST_CASE("an override turns a size into a bound and back") {
  const Outcome any = read(kMinimal, {{"gemm.m.max", "4096"}});
  REQUIRE(any.spec.has_value());
  CHECK(any.spec->gemm.any_m);
  CHECK(any.spec->gemm.m.value == 4096);
  CHECK(read(kMinimal, {{"gemm.m", "{max: 8}"}, {"gemm.m.max", "16"}}).spec->gemm.m.value == 16);
  const Outcome one = read(kMinimal, {{"gemm.m.max", "4096"}, {"gemm.m", "7"}});
  REQUIRE(one.spec.has_value());
  CHECK_FALSE(one.spec->gemm.any_m);
  CHECK(one.spec->gemm.m.value == 7);
  CHECK(read(kMinimal, {{"gemm.m.max", "0"}}).log ==
        "<command line>:1:15: error: gemm.m.max must be a whole number from 1 to 2147482624; got "
        "'0'\n"
        "-D gemm.m.max=0\n"
        "              ^\n");
}

TEST_CASE("an error in an override shows the override") {
  const Outcome outcome = read(kMinimal, {{"gemm.m", "0"}});
  CHECK(outcome.log ==
        "<command line>:1:11: error: gemm.m must be a whole number from 1 to 2147482624, or {max: "
        "such a number}; got '0'\n"
        "-D gemm.m=0\n"
        "          ^\n");
}

TEST_CASE("an override of no field is refused with what is near") {
  const auto message = [](const char* path) { return read(kMinimal, {{path, "1"}}).log; };
  CHECK(has(message("gemm.mm"), "unknown field 'gemm.mm', did you mean 'gemm.m'?"));
  CHECK(has(message("m"), "unknown field 'm', did you mean 'gemm.m'?"));
  CHECK(has(message("layout"), "did you mean 'gemm.layout' or 'schedule.layout'?"));
  CHECK(has(message("shedule.groups"), "did you mean 'schedule.groups'?"));
  CHECK(has(message("gemm.n.max"), "unknown field 'gemm.n.max'"));
  CHECK(has(message("gemm.m.max.max"), "unknown field 'gemm.m.max.max'"));
  CHECK(has(message("gemm.m.mx"), "unknown field 'gemm.m.mx'"));
  CHECK(has(message(".max"), "unknown field '.max'"));
  CHECK(has(message(""), "unknown field ''"));
  CHECK(has(message("."), "unknown field '.'"));
}

TEST_CASE("the value of an override is guarded as the file is") {
  const auto message = [](const std::string& value) {
    const Outcome outcome = read(kMinimal, {{"name", value}});
    CHECK_FALSE(outcome.spec.has_value());
    CHECK(outcome.log.size() < 1000);
    return outcome.log;
  };
  CHECK(has(message(""), "got nothing"));
  CHECK(has(message("# x"), "got nothing"));
  CHECK(has(message("["), "not valid YAML"));
  CHECK(has(message("a\nb"), "an override is one line"));
  CHECK(has(message("a\xff"), "byte 0xFF is not valid UTF-8"));
  CHECK(has(message(std::string("a\0b", 3)), "control character 0x00"));
  CHECK(has(message("--- a"), "YAML markers"));
  CHECK(has(message("..."), "YAML markers"));
  CHECK(has(message("&x a"), "anchors are not supported"));
  CHECK(has(message(std::string(4000, '[')), "nested more than 32 levels"));
  CHECK(has(message(std::string(100'000, '[')), "100000 bytes, at most 4096"));
  CHECK(has(message("../../etc/passwd"), "is not a C identifier"));
}

TEST_CASE("wrong overrides are all reported") {
  const Outcome outcome = read(kMinimal, {{"ranks", "0"}, {"foo", "1"}, {"gemm.a", "f64"}});
  CHECK(outcome.errors == 3);
}
