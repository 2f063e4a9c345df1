// Prints a C++ program that has the plans of random specs twice: as generated code states them, and
// as stated_plan() gives them to a program that plans at run time. The program compares the two and
// prints how many there were. Usage: write_stated <seed> <count>
#include <fmt/format.h>

#include <cstring>
#include <iostream>

#include "generator/emit/parts.h"
#include "generator/plan/stated_plan.h"
#include "tests/unit/emit/random_plans.h"

namespace {

using namespace tilepost;

// The bytes of a structure, without its pointers.
std::string bytes_of(tilepost_plan_t plan) {
  plan.map.cuts = nullptr;
  plan.machine = plan.gpu = nullptr;
  plan.groups = nullptr;
  plan.kernel.name = nullptr;
  std::string text;
  unsigned char bytes[sizeof plan];
  std::memcpy(bytes, &plan, sizeof plan);
  for (const unsigned char byte : bytes) text += fmt::format("{},", byte);
  return text;
}

constexpr const char* kStart = R"(#include <cstdio>
#include <cstring>
#include "tilepost/plan.h"

struct Stated {
  tilepost_plan_t plan;
  unsigned char bytes[sizeof(tilepost_plan_t)];
  const char *machine, *gpu, *name;
  int32_t cut;
  int64_t count;
};
bool same_text(const char* x, const char* y) {
  return x == nullptr || y == nullptr ? x == y : std::strcmp(x, y) == 0;
}
bool same(Stated stated) {
  tilepost_plan_t plan = stated.plan;
  const int last = plan.map.num_groups - 1;
  const bool texts = same_text(plan.machine, stated.machine) && same_text(plan.gpu, stated.gpu) &&
                     same_text(plan.kernel.name, stated.name);
  const bool groups = plan.map.cuts[last] == stated.cut && plan.groups[last].count == stated.count;
  plan.map.cuts = nullptr;
  plan.machine = plan.gpu = nullptr;
  plan.groups = nullptr;
  plan.kernel.name = nullptr;
  plan.kernel.function = nullptr;
  plan.kernel.host_function = nullptr;
  return texts && groups && std::memcmp(&plan, stated.bytes, sizeof plan) == 0;
}
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::vector<Plan> plans = test::random_plans(std::stoull(argv[1]), std::stoull(argv[2]));
  std::cout << kStart;
  std::string table;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    const tilepost_plan_t stated = stated_plan(plan);
    const auto text = [](const char* word) {
      return word != nullptr ? fmt::format("\"{}\"", word) : std::string("nullptr");
    };
    const bool host = plan.kernel.launch == TILEPOST_LAUNCH_HOST;
    std::cout << "namespace plan_" << i << " {\n"
              << (host ? "struct View : tilepost_view_t {};\nvoid " : "void ") << plan.kernel.name
              << (host ? "(const void*, const void*, void*, tilepost_shape_t, tilepost_epilogue_t, "
                         "int, int, View) {}\n"
                       : "() {}\n")
              << emit_plan(plan) << "}\n";
    table += fmt::format("    {{plan_{}::make_plan(), {{{}}}, {}, {}, {}, {}, {}}},\n", i,
                         bytes_of(stated), text(stated.machine), text(stated.gpu),
                         text(stated.kernel.name), plan.cuts().back(),
                         plan.tile_map().groups.back().count);
  }
  std::cout
      << "int main() {\n  int wrong = 0;\n  const Stated all[] = {\n"
      << table << "  };\n"
      << "  for (const Stated& stated : all)\n    if (!same(stated)) {\n      ++wrong;\n      "
         "std::printf(\"plan_%d differs\\n\", static_cast<int>(&stated - all));\n    }\n"
         "  std::printf(\"%d plans, %d differ\\n\", static_cast<int>(sizeof all / sizeof "
         "*all), wrong);\n  return wrong != 0;\n}\n";
}
