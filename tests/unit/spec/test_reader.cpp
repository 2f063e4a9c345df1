#include "generator/spec/fields.h"
#include "generator/spec/identifier.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::kMinimal;
using test::Outcome;
using test::read;
using test::with_line;

// The only error of `text`, without the source lines below it.
std::string error_of(const std::string& text) {
  const Outcome outcome = read(text);
  INFO(outcome.log);
  CHECK(outcome.errors == 1);
  CHECK_FALSE(outcome.spec.has_value());
  return llvm::StringRef(outcome.log).split('\n').first.str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a spec with everything in it is read") {
  const Outcome outcome = read(test::read_file("tests/specs/ar_tiles.yaml"));
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  const Spec& spec = *outcome.spec;
  CHECK(spec.path == "spec.yaml");
  CHECK(spec.name.value == "ar_tiles");
  CHECK(spec.pattern.value == TILEPOST_GEMM_ALL_REDUCE);
  CHECK(spec.ranks.value == 8);
  CHECK(spec.gemm.where.known());
  CHECK(spec.gemm.m.value == 1000);
  CHECK(spec.gemm.n.value == 1000);
  CHECK(spec.gemm.k.value == 129);
  CHECK(spec.gemm.a.value == TILEPOST_F16);
  CHECK(spec.gemm.b.value == TILEPOST_F16);
  CHECK(spec.gemm.out.value == TILEPOST_F16);
  CHECK(spec.gemm.layout.value == TILEPOST_TN);
  CHECK(spec.archs.value == std::vector{Arch::host});
  CHECK(spec.schedule.where.known());
  CHECK(spec.schedule.tile->value == std::vector<int64_t>{64, 64});
  CHECK(spec.schedule.groups->value == std::vector<int64_t>{1, 3, 5});
  CHECK(spec.schedule.layout.value == TILEPOST_TILE);
  CHECK(spec.schedule.sms->value == 33);
  CHECK(spec.schedule.comm_sms->value == 2);
  CHECK(spec.schedule.wait.value == TILEPOST_WAIT_POLL);
  CHECK_FALSE(spec.schedule.stages.has_value());
  CHECK_FALSE(spec.schedule.cluster.has_value());
  CHECK(spec.transport.value == TILEPOST_TRANSPORT_NCCL);
  CHECK(spec.consumer.value == TILEPOST_CONSUMER_UNPERMUTE);
}

TEST_CASE("defaults stand where nothing is given, without a place") {
  const Outcome outcome = read(kMinimal);
  REQUIRE(outcome.spec.has_value());
  const Spec& spec = *outcome.spec;
  CHECK(spec.gemm.b.value == spec.gemm.a.value);
  CHECK(spec.gemm.out.value == spec.gemm.a.value);
  CHECK_FALSE(spec.gemm.b.given());
  CHECK(spec.gemm.a.given());
  CHECK(spec.schedule.layout.value == std::nullopt);
  CHECK(spec.schedule.wait.value == std::nullopt);
  CHECK_FALSE(spec.schedule.tile.has_value());
  CHECK(spec.transport.value == std::nullopt);
  CHECK(spec.consumer.value == TILEPOST_CONSUMER_NONE);
  CHECK_FALSE(spec.consumer.given());
}

TEST_CASE("all specs of the tests and examples in JSON form are read") {
  for (const char* name : {"ar_sm90", "ar_sm80", "ar_host", "ar_tiles"}) {
    const Outcome outcome = read(test::read_file("tests/specs/" + std::string(name) + ".yaml"));
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(outcome.spec->name.value == name);
  }
  const Outcome json =
      read(R"({"tilepost": 1, "name": "j", "pattern": "gemm_all_reduce", "ranks": 2,
 "gemm": {"m": 1, "n": 2, "k": 3, "a": "bf16"}, "arch": ["sm_80", "sm_90a"]})");
  INFO(json.log);
  CHECK(json.spec.has_value());
}

TEST_CASE("every choice is read and named alike") {
  for (const Field& field : fields()) {
    if (field.kind != FieldKind::word && field.kind != FieldKind::words) continue;
    for (const Spelling& choice : field.choices) {
      std::vector<Override> overrides = {{std::string(field.path), std::string(choice.text)}};
      const bool user = choice.text == "user";
      if ((field.path == "gemm.b" && !user) || field.path == "gemm.out")
        overrides.push_back({"gemm.a", std::string(choice.text)});
      if (field.path == "gemm.accumulate") overrides.push_back({"gemm.a", "e4m3"});
      if (field.path == "gemm.scales") overrides.push_back({"gemm.a", "e4m3"});
      if (field.path == "gemm.scales_a")
        overrides.insert(overrides.end(), {{"gemm.a", "e4m3"}, {"gemm.scales", "blocks"}});
      if (field.path == "gemm.scales_out") overrides.push_back({"gemm.out", "e4m3"});
      if (field.path == "gemm.gate")
        overrides.insert(overrides.end(),
                         {{"pattern", "grouped_gemm"}, {"gemm.epilogue", "[swiglu]"}});
      if (field.path == "gemm.gate" || choice.text == "grouped_gemm")
        overrides.insert(overrides.end(), {{"ranks", "1"}, {"gemm.experts", "8"}});
      if (choice.text == "dispatch_grouped_gemm" || choice.text == "grouped_gemm_combine" ||
          choice.text == "moe")
        overrides.insert(overrides.end(), {{"gemm.experts", "8"}, {"gemm.top", "2"}});
      if (field.path == "routing") overrides.push_back({"pattern", "gemm_all_to_all"});
      if (field.path == "schedule.sum") overrides.push_back({"transport", "peer"});
      if (field.path == "schedule.shots") overrides.push_back({"transport", "peer_tiles"});
      const Outcome outcome = read(kMinimal, overrides);
      INFO(outcome.log);
      const bool of_own_kernels = choice.text == "f32" || user || field.path.starts_with("kernel.");
      CHECK(outcome.spec.has_value() == !of_own_kernels);
    }
  }
  for (const Spelling& choice : spellings<Arch>())
    CHECK(choice.text == name_of(static_cast<Arch>(choice.value)));
  CHECK(name_of(TILEPOST_GEMM_ALL_REDUCE) == std::string("gemm_all_reduce"));
  CHECK(name_of(TILEPOST_GEMM) == std::string("gemm"));
  CHECK(name_of(TILEPOST_GEMM_REDUCE_SCATTER) == std::string("gemm_reduce_scatter"));
  CHECK(name_of(TILEPOST_GEMM_ALL_TO_ALL) == std::string("gemm_all_to_all"));
  CHECK(name_of(TILEPOST_ALL_GATHER_GEMM) == std::string("all_gather_gemm"));
  CHECK(name_of(TILEPOST_ROUTING_SPLITS) == std::string("splits"));
  CHECK(name_of(TILEPOST_F16) == std::string("f16"));
  CHECK(name_of(TILEPOST_E4M3) == std::string("e4m3"));
  CHECK(name_of(TILEPOST_NN) == std::string("nn"));
  CHECK(name_of(TILEPOST_FAST) == std::string("fast"));
  CHECK(name_of(TILEPOST_SCALE_COLUMNS) == std::string("scale_columns"));
  CHECK(spellings<tilepost_layout_t>().front().text == "auto");
  CHECK(name_of(TILEPOST_TRANSPORT_NONE) == std::string("none"));
  CHECK(name_of(TILEPOST_TRANSPORT_COPY_ENGINE) == std::string("copy_engine"));
  CHECK(name_of(TILEPOST_TRANSPORT_PEER_TILES) == std::string("peer_tiles"));
  CHECK(name_of(TILEPOST_SUM_ADDED) == std::string("added"));
  CHECK(name_of(TILEPOST_WAIT_STREAM) == std::string("stream"));
  CHECK(name_of(TILEPOST_CONSUMER_UNPERMUTE) == std::string("unpermute"));
  CHECK(name_of(TILEPOST_CONSUMER_RESIDUAL_RMS_NORM) == std::string("residual_rms_norm"));
}

TEST_CASE("numbers are decimal and whole") {
  const char* word = GENERATE("0x10", "010", "1e3", "1.0", "+4", "4k", "four", "'4'", "\"4\"",
                              "--4", "99999999999999999999", "-1", "0", "[4]", "{a: 4}", "~", "");
  const std::string error = error_of(with_line("ranks", "ranks: " + std::string(word)));
  CHECK(has(error, "ranks must be a whole number from 1 to 64; got "));
}

TEST_CASE("every bound holds at its edge") {
  for (const Field& field : fields()) {
    const bool is_number = field.kind == FieldKind::integer || field.kind == FieldKind::size;
    if (!is_number || field.path == "tilepost") continue;
    CAPTURE(field.path);
    const auto accepted = [&](int64_t number) {
      std::vector<Override> given = {{std::string(field.path), std::to_string(number)}};
      if (field.path == "max_received")
        given.insert(given.end(), {{"pattern", "all_to_all_gemm"},
                                   {"routing", "rows"},
                                   {"gemm.m.max", std::to_string(field.max)}});
      if (field.path == "gemm.top" || field.path == "max_rows")
        given.insert(given.end(), {{"pattern", "dispatch_grouped_gemm"}, {"gemm.experts", "8"}});
      if (field.path == "max_rows")
        given.insert(given.end(), {{"gemm.top", "1"}, {"gemm.m.max", std::to_string(field.max)}});
      if (field.path == "gemm.experts")
        given.insert(given.end(), {{"pattern", "grouped_gemm"}, {"ranks", "1"}});
      if (field.section() == "kernel") given.insert(given.begin(), {"kernel", test::kOwnKernel});
      return read(kMinimal, given).spec.has_value();
    };
    CHECK(accepted(field.min));
    CHECK(accepted(field.max));
    CHECK_FALSE(accepted(field.min - 1));
    CHECK_FALSE(accepted(field.max + 1));
  }
  CHECK_FALSE(read(kMinimal, {{"schedule.cluster", "3"}}).spec.has_value());
  CHECK(read(kMinimal, {{"schedule.tile", "[16, 512]"}}).spec.has_value());
  CHECK_FALSE(read(kMinimal, {{"schedule.tile", "[15, 64]"}}).spec.has_value());
  CHECK_FALSE(read(kMinimal, {{"schedule.tile", "[64, 513]"}}).spec.has_value());
  CHECK_FALSE(read(kMinimal, {{"schedule.tile", "[64]"}}).spec.has_value());
  CHECK_FALSE(read(kMinimal, {{"schedule.tile", "[64, 64, 64]"}}).spec.has_value());
  std::string many = "[1";
  for (int i = 1; i < 1024; ++i) many += ",1";
  CHECK(read(kMinimal, {{"schedule.groups", many + "]"}}).spec.has_value());
  CHECK_FALSE(read(kMinimal, {{"schedule.groups", many + ",1]"}}).spec.has_value());
}

TEST_CASE("products of sizes are bounded") {
  const auto sizes = [](const char* m, const char* n, const char* k) {
    return with_line("gemm",
                     std::string("gemm: {m: ") + m + ", n: " + n + ", k: " + k + ", a: bf16}");
  };
  CHECK(read(sizes("8388607", "8388608", "1")).spec.has_value());
  CHECK(has(error_of(sizes("8388608", "8388608", "1")),
            "the output, gemm.m * gemm.n, must have fewer than 2^46 elements; got 8388608 * "));
  CHECK(has(error_of(sizes("2147482624", "1", "2147482624")), "A, gemm.m * gemm.k,"));
  CHECK(has(error_of(sizes("1", "2147482624", "2147482624")), "B, gemm.n * gemm.k,"));
}

TEST_CASE("element types must agree") {
  const std::string gemm = "gemm: {m: 1, n: 1, k: 1, a: bf16, ";
  CHECK(
      has(error_of(with_line("gemm", gemm + "b: f16}")), "gemm.b must equal gemm.a, 'bf16'; got"));
  CHECK(has(error_of(with_line("gemm", gemm + "out: f16}")), "gemm.out must equal gemm.a"));
}

TEST_CASE("f32 is for kernels of one's own") {
  const std::string gemm = "gemm: {m: 1, n: 1, k: 1, a: ";
  CHECK(has(
      error_of(with_line("gemm", gemm + "f32}")),
      "gemm.a 'f32' is for a kernel of your own; the bundled ones multiply bf16, f16 and e4m3"));
  CHECK(has(error_of(with_line("gemm", gemm + "bf16, out: f32}")), "gemm.out must equal gemm.a"));
}

TEST_CASE("names that others use are understood, and what is not supported says so") {
  const auto of_arch = [](const std::string& word) {
    return error_of(with_line("arch", "arch: " + word));
  };
  for (const char* word : {"h100", "H100", "hopper", "90a", "90", "sm_90"})
    CHECK(has(of_arch(word), "did you mean 'sm_90a'?"));
  CHECK(has(of_arch("a100"), "did you mean 'sm_80'?"));
  for (const char* word : {"sm_100", "sm_120a", "b200", "blackwell"})
    CHECK(has(of_arch(word), "is not supported by this version; supported: one of sm_80"));
  const auto of_a = [](const std::string& word) {
    return error_of(with_line("gemm", "gemm: {m: 1, n: 1, k: 1, a: " + word + "}"));
  };
  CHECK(has(of_a("bfloat16"), "did you mean 'bf16'?"));
  CHECK(has(of_a("float16"), "did you mean 'f16'?"));
  CHECK(has(of_a("float8_e4m3fn"), "did you mean 'e4m3'?"));
  for (const char* word : {"float32", "fp32"}) CHECK(has(of_a(word), "did you mean 'f32'?"));
  CHECK(has(of_a("double"), "is not supported by this version; supported: one of bf16, f16, e4m3"));
}

TEST_CASE("abbreviations of the field are known, and none is taken for a part of it") {
  const std::string gemm = "m: 64, n: 64, k: 64, a: bf16";
  const auto pattern = [](const std::string& word) { return "pattern: " + word; };
  const auto epilogue = [&](const std::string& word) {
    return "gemm: {" + gemm + ", epilogue: [" + word + "]}";
  };
  const auto dtype = [](const std::string& word) {
    return "gemm: {m: 64, n: 64, k: 64, a: " + word + "}";
  };
  const auto arch = [](const std::string& word) { return "arch: " + word; };
  const auto check = [](const std::string& line, const std::string& said) {
    const std::string log = error_of(with_line(line.substr(0, line.find(':')), line));
    INFO(line << "\n" << log);
    CHECK(has(log, said));
  };
  const auto mean = [&](const auto& of, std::initializer_list<const char*> words,
                        const std::string& meant) {
    for (const char* word : words) check(of(word), ", did you mean " + meant + "?");
  };
  mean(pattern, {"gemm_rs", "rs", "reduce_scatter", "reduce-scatter", "ReduceScatter"},
       "'gemm_reduce_scatter'");
  mean(pattern, {"gemm_ar", "ar", "allreduce", "all_reduce", "gemm-allreduce"},
       "'gemm_all_reduce'");
  mean(pattern, {"ag_gemm", "ag", "all_gather", "AllGather", "allgather_gemm"},
       "'all_gather_gemm'");
  mean(pattern, {"gemm_a2a", "gemm_alltoall"}, "'gemm_all_to_all'");
  mean(pattern, {"a2a_gemm", "alltoall_gemm"}, "'all_to_all_gemm'");
  mean(pattern, {"a2a", "all_to_all"}, "'gemm_all_to_all' or 'all_to_all_gemm'");
  mean(pattern, {"matmul", "GEMM"}, "'gemm'");
  mean(epilogue, {"scale_col", "scale_cols", "scale_column", "scale-columns"}, "'scale_columns'");
  mean(epilogue, {"scale_row", "scale-rows"}, "'scale_rows'");
  mean(epilogue, {"swish", "SiLU"}, "'silu'");
  mean(dtype, {"fp8", "fp8_e4m3", "fp8-e4m3", "float8_e4m3fn", "E4M3"}, "'e4m3'");
  mean(dtype, {"bfloat16", "BF16"}, "'bf16'");
  mean(dtype, {"fp16", "half", "float16"}, "'f16'");
  mean(arch,
       {"9.0a", "9.0", "90a", "sm90", "sm90a", "sm_90", "compute_90a", "compute_90", "SM_90A"},
       "'sm_90a'");
  mean(arch, {"8.0", "compute_80"}, "'sm_80'");
  for (const char* word : {"reglu", "relu"})
    check(epilogue(word), "gemm.epilogue: '" + std::string(word) +
                              "' is not supported by this version; supported: a list of some of "
                              "scale, ");
  for (const char* word : {"mxfp8", "bf8", "e5m2", "fp8_e5m2"})
    check(dtype(word), "gemm.a: '" + std::string(word) + "' is not supported by this version");
  check(arch("sm_75"), "arch: 'sm_75' is not supported by this version");
  check("gemm: {" + gemm + ", layout: row-major}",
        "got 'row-major'; all matrices are row-major, b [n, k] with tn and [k, n] with nn");
  // Words of other fields get no suggestion, like unknown words.
  for (const std::string& line : {arch("bf8"), pattern("relu"), dtype("rs")}) {
    const std::string log = error_of(with_line(line.substr(0, line.find(':')), line));
    CHECK_FALSE(has(log, "did you mean"));
    CHECK_FALSE(has(log, "not supported by this version"));
  }
}

TEST_CASE("architectures are one or a set, the host alone") {
  CHECK(has(error_of(with_line("arch", "arch: [sm_80, host]")), "arch cannot mix 'host'"));
  CHECK(has(error_of(with_line("arch", "arch: [sm_80, sm_80]")), "arch lists 'sm_80' twice"));
  CHECK(has(error_of(with_line("arch", "arch: []")), "got an empty list"));
  CHECK(has(error_of(with_line("arch", "arch: sm_90")), "did you mean 'sm_90a'?"));
}

TEST_CASE("m is a number or a bound") {
  const auto gemm = [](const std::string& m) {
    return with_line("gemm", "gemm: {m: " + m + ", n: 64, k: 7, a: bf16}");
  };
  CHECK_FALSE(read(gemm("16384")).spec->gemm.any_m);
  const Outcome outcome = read(gemm("{max: 16384}"));
  INFO(outcome.log);
  REQUIRE(outcome.spec.has_value());
  CHECK(outcome.spec->gemm.any_m);
  CHECK(outcome.spec->gemm.m.value == 16384);
  CHECK(outcome.spec->gemm.m.given());
  CHECK(read(gemm("{max: 2147482624}")).spec.has_value());
  CHECK(has(error_of(gemm("{max: 2147482625}")),
            "gemm.m.max must be a whole number from 1 to 2147482624; got '2147482625'"));
  CHECK(has(error_of(gemm("{max: {max: 3}}")), "got a mapping"));
  CHECK(has(error_of(gemm("{max: 0x10}")), "gemm.m.max must be a whole number"));
  CHECK(has(error_of(gemm("{}")),
            "gemm.m must be a whole number from 1 to 2147482624, or {max: "
            "such a number}; got a mapping without 'max'"));
  CHECK(has(error_of(gemm("{mx: 3}")), "unknown key 'mx', did you mean 'max'?"));
  CHECK(has(error_of(gemm("{max: 3, step: 4}")), "unknown key 'step'; gemm.m has max"));
  CHECK(has(error_of(gemm("[3]")), "gemm.m must be a whole number from"));
  CHECK(has(error_of(with_line("gemm", "gemm: {m: 8, n: {max: 3}, k: 7, a: bf16}")),
            "gemm.n must be a whole number from 1 to 2147482624; got a mapping"));
  CHECK(
      has(error_of(with_line("gemm", "gemm: {m: {max: 2147482624}, n: 2147482624, k: 1, a: bf16}")),
          "fewer than 2^46 elements"));
}

TEST_CASE("unpermute needs the tile layout") {
  const std::string spec = kMinimal.str() + "consumer: unpermute\nschedule: {layout: ";
  CHECK(read(spec + "tile}\n").spec.has_value());
  CHECK(read(spec + "auto}\n").spec.has_value());
  CHECK(has(error_of(spec + "panel}\n"), "consumer 'unpermute' needs schedule.layout 'tile'"));
}

TEST_CASE("a name is a C identifier that nothing else claims") {
  const std::string good =
      GENERATE(as<std::string>(), "a", "Z9", "ffn_down", "a1_b2", "yes", "int", "class", "co_await",
               "std", "main", "linux", "y1", "uint", "x_program", std::string(64, 'a'));
  CHECK(why_not_a_name(good) == "");
  CHECK(read(with_line("name", "name: " + good)).spec.has_value());
}

TEST_CASE("a bad name is refused") {
  const std::string bad = GENERATE(as<std::string>(), "_a", "a__b", "__a", "9a", "a-b", "a.b",
                                   "a/b", "../a", "/etc/passwd", "a b", "\u00e4", "x_", "tilepost",
                                   "tilepost_x", "string", "math", "cuda_runtime", "nccl", "true",
                                   "false", std::string(65, 'a'), "a;b", "a\\b", "C:a", "~a");
  CAPTURE(bad);
  CHECK(why_not_a_name(bad) != "");
  CHECK(has(error_of(with_line("name", "name: \"" + (bad == "a\\b" ? "a\\\\b" : bad) + "\"")),
            "name must be a C identifier of at most 64 characters; "));
}

TEST_CASE("taken names are sorted and have the form of names") {
  const auto names = taken_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const llvm::StringRef name : names) CHECK(why_not_a_name(name) != "");
}

TEST_CASE("every unknown key is reported, with what is near or what there is") {
  const Outcome outcome =
      read(kMinimal.str() + "nmae: x\ntile: 1\nschedule: {grops: [1], consumer: none, xyz: 1}\n");
  CHECK(outcome.errors == 5);
  CHECK(has(outcome.log, "7:1: error: unknown key 'nmae', did you mean 'name'?"));
  CHECK(has(outcome.log,
            "8:1: error: unknown key 'tile', did you mean 'schedule.tile' or "
            "'kernel.tile'?"));
  CHECK(has(outcome.log, "9:12: error: unknown key 'grops', did you mean 'groups'?"));
  CHECK(has(outcome.log, "unknown key 'consumer'; it stands at the top of the spec"));
  CHECK(has(outcome.log, "unknown key 'xyz'; schedule has tile, stages, cluster, layout, "));
  CHECK(has(read(kMinimal.str() + "gemm.m: 3\n").log, "unknown key 'gemm.m'"));
}

TEST_CASE("every missing field is reported") {
  for (const Field& field : fields()) {
    if (!field.required || field.section() == "kernel") continue;
    std::string text = R"({"tilepost": 1, "name": "x", "pattern": "gemm_all_reduce", "ranks": 1,
"gemm": {"m": 1, "n": 1, "k": 1, "a": "f16"}, "arch": "host"})";
    const size_t at = text.find("\"" + std::string(field.leaf()) + "\"");
    REQUIRE(at != std::string::npos);
    text.replace(at + 1, field.leaf().size(), "other");
    const Outcome outcome = read(text);
    CHECK_FALSE(outcome.spec.has_value());
    CHECK(has(outcome.log, "missing '" + std::string(field.path) + "'; it must be "));
  }
  CHECK(read("gemm: {}\n").errors == 9);
}

TEST_CASE("a spec of another format is not judged by this one") {
  const std::string text = with_line("tilepost", "tilepost: 2") + "future: 1\n";
  CHECK(has(error_of(text), "spec.yaml:1:11: error: tilepost must be 1; got '2'"));
}

TEST_CASE("a section that is no mapping is one error") {
  CHECK(has(error_of(with_line("gemm", "gemm: 3")), "gemm must be a mapping; got '3'"));
  CHECK(has(error_of(kMinimal.str() + "schedule: fast\n"),
            "schedule must be a mapping, or auto; got 'fast'"));
  CHECK(has(error_of(kMinimal.str() + "schedule:\n"), "schedule must be a mapping, or auto; got"));
}
