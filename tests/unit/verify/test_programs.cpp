// Names of programs, their registry, and the commands that build them.
#include "generator/harness/programs.h"

#include <set>

#include "generator/verify/harness.h"
#include "tests/catch.h"

using namespace tilepost;

namespace {

HarnessProgram make_program(const std::string& name, const std::string& varied = "") {
  HarnessProgram program{name, name + ".yaml", varied, {Plan()}};
  program.plans[0].name = name;
  return program;
}

}  // namespace

TEST_CASE("names that occur once stay, others get a number, none collides") {
  std::vector<HarnessProgram> programs = {make_program("a"), make_program("b"), make_program("a"),
                                          make_program("a_1"), make_program("a")};
  make_names_unique(programs);
  CHECK(programs[0].name == "a_2");
  CHECK(programs[1].name == "b");
  CHECK(programs[2].name == "a_3");
  CHECK(programs[3].name == "a_1");
  CHECK(programs[4].name == "a_4");
  for (const HarnessProgram& program : programs) CHECK(program.plans[0].name == program.name);
}

TEST_CASE("the registry declares and lists every program") {
  const std::string text =
      emit_registry({make_program("left"), make_program("right", "schedule.stages=2")}, true);
  CHECK_THAT(text, Catch::Contains("const tilepost_program_t* left_program(void);"));
  CHECK_THAT(text, Catch::Contains("{\"right\", \"schedule.stages=2\", right_program},"));
  CHECK_THAT(text, Catch::Contains("return {kEntries, 2};"));
}

TEST_CASE("which GPU runs which code") {
  CHECK(serves_gpu(Arch::sm_90a, 90));
  CHECK_FALSE(serves_gpu(Arch::sm_90a, 100));
  CHECK(serves_gpu(Arch::sm_80, 80));
  CHECK(serves_gpu(Arch::sm_80, 89));
  CHECK_FALSE(serves_gpu(Arch::sm_89, 86));
  CHECK(serves_gpu(Arch::sm_80, 90));
  CHECK_FALSE(serves_gpu(Arch::host, 90));
}

TEST_CASE("object names are flat and distinct") {
  CHECK(object_name("runtime/core/api.cpp") == "obj/runtime_core_api.cpp.o");
  std::set<std::string> names;
  const std::vector<std::string> sources = sources_under({"runtime"});
  for (const std::string& source : sources) names.insert(object_name(source));
  CHECK(names.size() == sources.size());
  CHECK(names.count("obj/runtime_verify_main.cpp.o") == 1);
  CHECK(names.count("obj/runtime_map_tile_map.cpp.o") == 1);
}

TEST_CASE("a harness has the sources of one target, in whatever folder they are") {
  for (const bool cuda : {false, true}) {
    INFO((cuda ? "cuda" : "host"));
    const std::string text = verify_unit(cuda).text;
    CHECK_THAT(text, Catch::Contains("\"runtime/verify/main.cpp\""));
    CHECK_THAT(text, Catch::Contains("\"runtime/verify/reference/compare.cpp\""));
    CHECK_THAT(text, Catch::Contains("\"runtime/harness/watchdog.cpp\""));
    CHECK((text.find("runtime/verify/cuda/cuda_world.cpp") != std::string::npos) == cuda);
    CHECK((text.find("runtime/verify/host/host_world.cpp") != std::string::npos) == !cuda);
    CHECK(text.find(".cu\"") == std::string::npos);
  }
}
