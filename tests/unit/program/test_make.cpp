// Programs made at run time: what they say, what is refused in which words, and who may use them.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "generator/plan/machine/profile.h"
#include "generator/plan/machine/text.h"
#include "runtime/core/plan_hash.h"
#include "tests/catch.h"
#include "tilepost/program.h"

using Catch::Contains;

namespace {

using Fields = std::vector<std::string>;

const Fields kFields = {"pattern=gemm_all_reduce",
                        "ranks=4",
                        "gemm.m=8192",
                        "gemm.n=8192",
                        "gemm.k=2048",
                        "gemm.a=bf16",
                        "arch=sm_90a"};

// The fields, and others in the place of those with the same path or behind them.
Fields with(const Fields& changes) {
  Fields fields = kFields;
  for (const std::string& change : changes) {
    const std::string path = change.substr(0, change.find('=') + 1);
    std::erase_if(fields, [&](const std::string& field) { return field.starts_with(path); });
    fields.push_back(change);
  }
  return fields;
}

tilepost_result_t make(const Fields& fields, const tilepost_program_t** program,
                       const char* machine = nullptr) {
  std::vector<const char*> texts;
  for (const std::string& field : fields) texts.push_back(field.c_str());
  return tilepost_program_make(texts.data(), texts.size(), machine, program);
}

// A program until the end of the test.
struct Made {
  explicit Made(const Fields& fields, const char* machine = nullptr) {
    const tilepost_result_t result = make(fields, &program, machine);
    INFO(tilepost_last_error());
    REQUIRE(result == TILEPOST_OK);
  }
  ~Made() { tilepost_program_destroy(program); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  const tilepost_program_t* program = nullptr;
};

std::string refusal(const Fields& fields, const char* machine = nullptr) {
  const tilepost_program_t* program = nullptr;
  CHECK(make(fields, &program, machine) == TILEPOST_INVALID_ARGUMENT);
  CHECK(program == nullptr);
  return tilepost_last_error();
}

std::string explained(const tilepost_program_t* program) {
  const char* text = nullptr;
  REQUIRE(tilepost_program_explain(program, &text) == TILEPOST_OK);
  return text;
}

}  // namespace

TEST_CASE("a program says what was planned") {
  const Made made(kFields);
  const tilepost_program_t& program = *made.program;
  CHECK(program.abi_version == TILEPOST_ABI_VERSION);
  CHECK(std::string(program.name) == "program");
  REQUIRE(program.num_plans == 1);
  const tilepost_plan_t& plan = program.plans[0];
  CHECK(plan.map.m == 8192);
  CHECK(plan.k == 2048);
  CHECK(plan.ranks == 4);
  CHECK(std::string(plan.gpu) == "H200");
  CHECK(plan.kernel.function == nullptr);
  CHECK_THAT(explained(&program), Contains("program: gemm_all_reduce on sm_90a"));
  const char* svg = nullptr;
  REQUIRE(tilepost_program_picture(&program, &svg) == TILEPOST_OK);
  CHECK_THAT(std::string(svg), Contains("<svg") && Contains("</svg>"));
  const char* key = nullptr;
  REQUIRE(tilepost_program_variant(&program, 0, &key) == TILEPOST_OK);
  CHECK_THAT(std::string(key), Catch::StartsWith("sm_90a gemm_sm90"));
  CHECK(tilepost_program_variant(&program, 1, &key) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("plan is 1, the program has plans 0 to 0"));
}

TEST_CASE("a program for any m has a plan for each range") {
  const Made made(with({"gemm.m={max: 8192}", "name=any"}));
  CHECK(std::string(made.program->name) == "any");
  CHECK(made.program->num_plans > 1);
  for (int i = 0; i < made.program->num_plans; ++i) CHECK(made.program->plans[i].any_m == 1);
  CHECK_THAT(explained(made.program), Contains("any: gemm_all_reduce on sm_90a"));
}

TEST_CASE("everything that is wrong is said, each at its field") {
  const std::string text = refusal(with({"gemm.k=0", "ranks=many", "colour=red"}));
  CHECK_THAT(text, Contains("tilepost_program_make: 3 errors"));
  CHECK_THAT(text, Contains("\n  gemm.k=0: "));
  CHECK_THAT(text, Contains("\n  ranks=many: "));
  CHECK_THAT(text, Contains("\n  colour=red: "));
  CHECK_THAT(refusal(with({"gemm.k=0"})), Catch::StartsWith("tilepost_program_make: gemm.k=0: "));
}

TEST_CASE("texts that are no fields are refused") {
  CHECK_THAT(refusal(with({"gemm.m"})), Contains("a field is 'path=value', got 'gemm.m'"));
  CHECK_THAT(refusal({"=3"}), Contains("got '=3'"));
  const char* const none[] = {nullptr};
  const tilepost_program_t* program = nullptr;
  CHECK(tilepost_program_make(none, 1, nullptr, &program) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("fields[0] is null"));
  CHECK(tilepost_program_make(nullptr, 1, nullptr, &program) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_program_make(none, 1, nullptr, nullptr) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_program_make(none, 100000, nullptr, &program) == TILEPOST_INVALID_ARGUMENT);
  CHECK_THAT(tilepost_last_error(), Contains("at most 4096 fields"));
}

TEST_CASE("a kernel of the user's is left to the tool") {
  CHECK_THAT(refusal(with({"kernel={file: a.cu, function: f, tile: [64, 64], threads: 128, "
                           "grid: [1], arguments: {A: a, B: b, C: out}}"})),
             Contains("read by the tilepost tool"));
}

TEST_CASE("machines are named, or described by a text") {
  const Made usual(kFields), named(kFields, "h200");
  std::string text = tilepost::write_machine(tilepost::default_machine());
  const Made described(kFields, text.c_str());
  const uint64_t hash = tilepost::hash_plan(usual.program->plans[0]);
  CHECK(tilepost::hash_plan(named.program->plans[0]) == hash);
  CHECK(tilepost::hash_plan(described.program->plans[0]) == hash);
  CHECK_THAT(refusal(kFields, "h20"), Contains("no machine is called 'h20', did you mean 'h200'?"));

  const size_t at = text.find("max_ghz: ");
  text.replace(at, std::strlen("max_ghz: "), "max_ghz: -");
  const std::string before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  CHECK_THAT(refusal(kFields, text.c_str()),
             Contains("machine:" + std::to_string(line) + ": ") && Contains("max_ghz"));
}

TEST_CASE("only programs that were made are taken") {
  static const tilepost_program_t foreign = {TILEPOST_ABI_VERSION, "foreign", 0, nullptr};
  const char* text = "";
  CHECK(tilepost_program_explain(&foreign, &text) == TILEPOST_INVALID_ARGUMENT);
  CHECK(text == nullptr);
  CHECK(tilepost_program_explain(nullptr, &text) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_program_destroy(&foreign) == TILEPOST_INVALID_ARGUMENT);
  CHECK(tilepost_program_destroy(nullptr) == TILEPOST_OK);
  const tilepost_program_t* program = nullptr;
  REQUIRE(make(kFields, &program) == TILEPOST_OK);
  CHECK(tilepost_program_destroy(program) == TILEPOST_OK);
  CHECK(tilepost_program_destroy(program) == TILEPOST_INVALID_ARGUMENT);
}

TEST_CASE("warnings are kept with the program") {
  const Made quiet(kFields);
  const char* text = nullptr;
  REQUIRE(tilepost_program_warnings(quiet.program, &text) == TILEPOST_OK);
  CHECK(std::string(text).empty());
  const Made slow(with({"gemm.k=2047"}));  // its rows are no multiples of 16 bytes
  REQUIRE(tilepost_program_warnings(slow.program, &text) == TILEPOST_OK);
  CHECK_THAT(std::string(text), Contains("gemm.k=2047: "));
}

TEST_CASE("threads plan at the same time and get the same") {
  constexpr int kThreads = 4;
  std::vector<const tilepost_program_t*> programs(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { make(with({"gemm.n=4096"}), &programs[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> hashes;
  for (const tilepost_program_t* program : programs) {
    REQUIRE(program != nullptr);
    hashes.push_back(tilepost::hash_plan(program->plans[0]));
    tilepost_program_destroy(program);
  }
  CHECK(hashes == std::vector<uint64_t>(kThreads, hashes.front()));
}
