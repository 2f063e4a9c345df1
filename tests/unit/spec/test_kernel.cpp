// The spec's kernel of the user's own: its fields, and what does not go with it.
#include "generator/spec/kernel/kernel_flags.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::kMinimal;
using test::kOwnKernel;
using test::Outcome;

Outcome own(std::vector<Override> more = {}) {
  more.insert(more.begin(), {"kernel", kOwnKernel});
  return test::read(kMinimal, more);
}

std::string refusal(const std::vector<Override>& more) {
  const Outcome outcome = own(more);
  CHECK_FALSE(outcome.spec.has_value());
  return outcome.log;
}

bool has(const std::string& text, const char* part) {
  CAPTURE(text, part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a kernel of the user's own is read") {
  CHECK_FALSE(test::read(kMinimal).spec->kernel.has_value());
  CHECK_FALSE(test::read(kMinimal, {{"kernel", "builtin"}}).spec->kernel.has_value());
  const Outcome outcome = own({{"kernel.shared_bytes", "k * 256"},
                               {"kernel.requires", "{n: 64}"},
                               {"kernel.efficiency", "0.7"},
                               {"kernel.blocks_per_sm", "2"}});
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  const KernelSpec& kernel = *outcome.spec->kernel;
  CHECK(kernel.file.value == "a.cu");
  CHECK(kernel.function.value == "lib::f<64>");
  CHECK(kernel.tile.value == std::vector<int64_t>{64, 64});
  CHECK(kernel.threads.value.front().text() == "128");
  CHECK(kernel.grid.value.at(1).text() == "ceil_div(m, 64)");
  CHECK(kernel.shared_bytes.value.text() == "k * 256");
  CHECK(kernel.requires_.value == std::array<int64_t, 3>{1, 64, 1});
  CHECK(kernel.efficiency.value == 0.7);
  CHECK(kernel.blocks_per_sm.value == 2);
  using Kind = KernelArgument::Kind;
  const auto& arguments = kernel.arguments.value;
  REQUIRE(arguments.size() == 5);
  CHECK((arguments[0].parameter == "C" && arguments[0].kind == Kind::out));
  CHECK((arguments[1].kind == Kind::a && arguments[2].kind == Kind::b));
  CHECK((arguments[3].kind == Kind::whole && arguments[3].whole.text() == "m"));
  CHECK((arguments[4].kind == Kind::real && arguments[4].real == 0.5));
}

TEST_CASE("flags of nvcc are taken that leave generated code right and fast") {
  const Outcome outcome =
      own({{"kernel.flags",
            "[-expt-relaxed-constexpr, --fmad=false, --diag-suppress=177, -w, --fmad=false]"}});
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  CHECK(flags_of(*outcome.spec->kernel) ==
        std::vector<std::string>{"--expt-relaxed-constexpr", "--fmad=false", "--diag-suppress=177",
                                 "--disable-warnings"});
  const auto refused = [](const std::string& flag) {
    return refusal({{"kernel.flags", "['" + flag + "']"}});
  };
  CHECK(has(refused("-Iinclude"),
            "does not take '-Iinclude': folders of headers are kernel.include_dirs"));
  CHECK(has(refused("-DTILE=1"), "macros are kernel.defines"));
  CHECK(has(refused("-std=c++17"), "generated code is C++20"));
  CHECK(has(refused("-gencode=arch=compute_80,code=sm_80"), "'arch' says what code is made for"));
  CHECK(has(refused("--maxrregcount=64"), "kernel.blocks_per_sm"));
  CHECK(has(refused("-rdc=true"), "makes generated kernels slow"));
  CHECK(has(refused("-G"), "makes generated kernels slow"));
  CHECK(has(refused("-lcublas"), "where the program is linked"));
  CHECK(has(refused("-O0"), "it takes --expt-relaxed-constexpr, "));
  CHECK(has(refused("relaxed"), "kernel.flags does not take 'relaxed'"));
  CHECK(has(refused("-w -G"), "kernel.flags does not take '-w -G'"));
  CHECK(has(refused("--fmad"), "--fmad is written --fmad=true|false, got '--fmad'"));
  CHECK(has(refused("--ftz=1"), "got '--ftz=1'"));
  CHECK(has(refused("--diag-suppress=1,2"), "--diag-suppress=NUMBER, got"));
  CHECK(has(refused("--use_fast_math=true"), "--use_fast_math has no value"));
}

TEST_CASE("a kernel needs to be described") {
  for (const char* field : {"file", "function", "tile"}) {
    CAPTURE(field);
    const std::string log = test::read(kMinimal, {{"kernel", "{}"}}).log;
    CHECK(has(log, ("missing 'kernel." + std::string(field) + "'; it must be ").c_str()));
  }
  CHECK(has(test::read(kMinimal, {{"kernel", "mine.cu"}}).log,
            "kernel must be a mapping, or builtin; got 'mine.cu'"));
  CHECK(has(refusal({{"kernel.grid", "[m, 1, 1, 1]"}}), "got a list of 4"));
  CHECK(has(refusal({{"kernel.grid", "[q]"}}), "'q' is not known"));
  CHECK(has(refusal({{"kernel.efficiency", "1.5"}}), "a number above 0 and at most 1; got '1.5'"));
  CHECK(has(refusal({{"kernel.requires", "{x: 2}"}}), "unknown key 'x'"));
  CHECK(has(refusal({{"kernel.arguments", "{C: out, 2x: m}"}}), "'2x' is none"));
  CHECK(has(refusal({{"kernel.arguments", "{C: out, M: rows}"}}), "'rows' is not known"));
  CHECK(has(refusal({{"kernel.arguments", "{C: out, M: }"}}), "got nothing"));
}

TEST_CASE("what a parameter may have been meant to be given") {
  CHECK(has(refusal({{"kernel.arguments", "{C: out, X: A}"}}), "got 'A', did you mean 'a'?"));
  CHECK(has(refusal({{"kernel.arguments", "{C: out, X: nullptr}"}}), "did you mean 'null'?"));
  CHECK(has(refusal({{"kernel.arguments", "{C: out, X: bias}"}}),
            "'bias' is not known; data of your own is user.bias, and kernel.user says its bytes"));
}

TEST_CASE("an input that no parameter is given is warned of") {
  const Outcome outcome = own({{"kernel.arguments", "{C: out, X: a, W: a}"}});
  CHECK(outcome.spec.has_value());
  CHECK(has(outcome.log, "warning: kernel.arguments gives b to no parameter"));
  CHECK_FALSE(has(outcome.log, "gives a to no"));
}

TEST_CASE("what is refused is not missing too") {
  const std::pair<const char*, const char*> given[] = {{"kernel.arguments", "{C: oht, M: m}"},
                                                       {"kernel.arguments", "[m]"},
                                                       {"kernel.threads", "[q]"}};
  for (const auto& [field, value] : given) {
    const std::string log = refusal({{field, value}});
    CHECK(has(log, (std::string(field) + " must be ").c_str()));
    CHECK_FALSE(has(log, "is missing"));
    CHECK_FALSE(has(log, "to no parameter"));
  }
  const std::string log = refusal({{"gemm.b", "user"}, {"kernel.b_bytes", "n *"}});
  CHECK(has(log, "kernel.b_bytes must be "));
  CHECK_FALSE(has(log, "kernel.b_bytes is missing"));
}

TEST_CASE("types that are known and not taken are not taken for others") {
  for (const char* type : {"e5m2", "int8", "u4", "tf32"}) {
    const std::string log = test::read(kMinimal, {{"gemm.a", type}}).log;
    CHECK(has(log, "is not supported by this version; supported: one of bf16, f16, e4m3, f32"));
    CHECK_FALSE(has(log, "did you mean"));
  }
}

TEST_CASE("a kernel's arguments are given, or it has a launcher") {
  const char* kernel = "{file: a.cu, function: f, tile: [64, 64], threads: 64";
  CHECK(has(test::read(kMinimal, {{"kernel", std::string(kernel) + "}"}}).log,
            "kernel.arguments is missing"));
  CHECK(has(test::read(kMinimal, {{"kernel", std::string(kernel) + ", launcher: lib::start}"}}).log,
            "kernel.arguments") == false);
  CHECK(has(refusal({{"kernel.launcher", "start"}}),
            "kernel.launcher gives the kernel its inputs by itself"));
  const char* proven = ", grid: 1, launcher: start, arguments: {C: out, M: m}}";
  CHECK(test::read(kMinimal, {{"kernel", std::string(kernel) + proven}}).spec.has_value());
  CHECK(has(
      test::read(kMinimal, {{"kernel", std::string(kernel) + proven}, {"gemm.m", "{max: 64}"}}).log,
      "is woven for one m"));
  CHECK(has(refusal({{"kernel.cluster", "3"}}), "kernel.cluster is 1, 2, 4 or 8; got '3'"));
  CHECK(has(refusal({{"kernel.signals", "0"}}), "kernel.signals must be a whole number from 1"));
}

TEST_CASE("a kernel's number may be below 0") {
  const Outcome outcome = own({{"kernel.arguments", "{C: out, offset: -1, scale: -1.5}"}});
  REQUIRE(outcome.spec.has_value());
  const std::vector<KernelArgument>& arguments = outcome.spec->kernel->arguments.value;
  CHECK(arguments.at(1).kind == KernelArgument::Kind::whole);
  CHECK(arguments.at(1).whole.in_cpp("s") == "-1LL");
  CHECK(arguments.at(2).real == -1.5);
}

TEST_CASE("a kernel's pointer may be null") {
  const Outcome outcome = own({{"kernel.arguments", "{C: out, bias: null}"}});
  REQUIRE(outcome.spec.has_value());
  CHECK(outcome.spec->kernel->arguments.value.at(1).kind == KernelArgument::Kind::null);
}

TEST_CASE("a kernel may read what it alone knows the form of") {
  const char* arguments = "{C: out, A: a, B: b, s: user.scales, z: user.zeros}";
  const Override given[] = {{"gemm.b", "user"},
                            {"kernel.b_bytes", "n * k / 2"},
                            {"kernel.user", "{scales: n * 2, zeros: 64}"},
                            {"kernel.arguments", arguments}};
  const auto all_but = [&](size_t left_out, const std::vector<Override>& more = {}) {
    std::vector<Override> list;
    for (size_t i = 0; i < std::size(given); ++i)
      if (i != left_out) list.push_back(given[i]);
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  const Outcome outcome = own(all_but(4));
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  CHECK(outcome.spec->gemm.b_is_user);
  CHECK(outcome.spec->gemm.b.value == outcome.spec->gemm.a.value);
  const KernelSpec& kernel = *outcome.spec->kernel;
  CHECK(kernel.b_bytes.value.text() == "n * k / 2");
  REQUIRE(kernel.user.value.size() == 2);
  CHECK((kernel.user.value[1].name == "zeros" && kernel.user.value[1].bytes.text() == "64"));
  CHECK(kernel.arguments.value.at(3).kind == KernelArgument::Kind::user);
  CHECK(kernel.arguments.value.at(3).data == "scales");
  CHECK(has(refusal(all_but(0)), "kernel.b_bytes is for gemm.b: user"));
  CHECK(has(refusal(all_but(1)), "gemm.b is 'user', and kernel.b_bytes is missing"));
  CHECK(has(refusal(all_but(2)), "kernel.arguments gives user.scales to 's', and kernel.user has"));
  CHECK(has(refusal(all_but(3)), "kernel.arguments gives user.scales to no parameter"));
  CHECK(has(refusal(all_but(2, {{"kernel.user", "{scale: 8, zeros: 64}"}})),
            "none of that name, did you mean 'scale'?"));
  CHECK(has(refusal(all_but(2, {{"kernel.user", "{scales: n - n, zeros: 64}"}})),
            "kernel.user.scales must be from 1 to 1099511627776; 'n - n' is 0"));
  CHECK(has(refusal(all_but(2, {{"kernel.user", "{2x: 8}"}})), "'2x' is none"));
  CHECK(has(test::read(kMinimal, {{"gemm.b", "user"}}).log, "gemm.b 'user' is for a kernel"));
}

TEST_CASE("an output is one parameter") {
  CHECK(has(refusal({{"kernel.arguments", "{A: a}"}}), "gives out to no parameter"));
  CHECK(has(
      refusal({{"kernel.arguments", "{C: out, D: out}"}}),
      "gives out to 'C' and to 'D'; one parameter is the output, and a matrix that is added to it "
      "may be user.NAME"));
}

TEST_CASE("a kernel's numbers are some of a GPU's at the spec's shape") {
  CHECK(has(refusal({{"kernel.threads", "[32, 33]"}}),
            "at most 1024 threads; kernel.threads says 1056"));
  CHECK(has(refusal({{"kernel.threads", "m - m"}}),
            "kernel.threads must be from 1 to 1024; 'm - m' is 0 at m=129, n=64, k=7"));
  CHECK(has(refusal({{"kernel.grid", "[1, m * 1024]"}}), "must be from 1 to 65535"));
  CHECK(has(refusal({{"kernel.grid", "m / (n - 64)"}}), "is no number: at m=129"));
  CHECK(has(refusal({{"kernel.shared_bytes", "300000"}}), "must be from 0 to 232448"));
  CHECK(has(refusal({{"kernel.requires", "{m: 2}"}}),
            "gemm.m must be a multiple of 2, as kernel.requires says; got '129'"));
  CHECK(own({{"kernel.requires", "{m: {equals: 129}, n: 32}"}}).spec.has_value());
  CHECK(has(refusal({{"kernel.requires", "{m: {equals: 128}}"}}),
            "gemm.m must be 128, as kernel.requires says; got '129'"));
  CHECK(has(refusal({{"kernel.requires", "{m: {equals: 0}}"}}), "from 1 to 65536"));
  CHECK(has(refusal({{"kernel.requires", "{m: {multiple: 2}}"}}), "{equals: …}"));
  CHECK(has(refusal({{"gemm.m.max", "129"}, {"kernel.requires", "{m: {equals: 129}}"}}),
            "every run has its own"));
}

TEST_CASE("any m needs a kernel that is the same for all") {
  CHECK(own({{"gemm.m.max", "129"}}).spec.has_value());
  CHECK(has(refusal({{"gemm.m.max", "128"}, {"kernel.requires", "{m: 64}"}}),
            "every run has its own"));
  CHECK(has(refusal({{"gemm.m.max", "128"}, {"kernel.threads", "m"}}), "the same for every m"));
  CHECK(
      has(refusal({{"gemm.m.max", "128"}, {"kernel.shared_bytes", "m"}}), "the same for every m"));
}

TEST_CASE("what the bundled kernels alone do is refused beside one of the user's") {
  CHECK(
      has(refusal({{"pattern", "all_to_all_gemm"}}), "is not possible with a kernel of your own"));
  CHECK(has(refusal({{"pattern", "all_gather_gemm"}, {"neighbours", "true"}}),
            "neighbours is not possible with pattern 'all_gather_gemm' and a kernel of your own"));
  CHECK(has(refusal({{"pattern", "all_gather_gemm"}, {"transport", "peer"}}),
            "and this pattern, whose rows of A warps of the kernel would send"));
  const std::vector<Override> others[] = {{{"pattern", "gemm_all_to_all"}, {"routing", "rows"}},
                                          {{"schedule.layout", "tile"}},
                                          {{"schedule.tile", "[128, 128]"}},
                                          {{"schedule.stages", "3"}},
                                          {{"schedule.cluster", "2"}},
                                          {{"gemm.epilogue", "[bias]"}},
                                          {{"transport", "peer"}},
                                          {{"transport", "peer_tiles"}},
                                          {{"arch", "host"}},
                                          {{"gemm.a", "e4m3"}, {"gemm.accumulate", "fast"}}};
  for (const std::vector<Override>& more : others)
    CHECK(has(refusal(more), "note: the kernel is given here"));
}
