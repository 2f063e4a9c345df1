// Changed kernels. None may be accepted unless each block stores one tile.
//
// TILEPOST_MUTANTS is how many mutants are made of each kernel. Mutants that are refused are not
// run.
#include <cstdlib>

#include "tests/catch.h"
#include "tests/infer/mutate.h"
#include "tests/infer/oracle.h"

namespace tilepost {
namespace {

// Whether a kernel runs on the CPU. Kernels with inline assembly do not. Nor do kernels that
// compute with numbers of other lanes, because threads run one after the other there.
bool runs_on_cpu(const InferCase& kernel) {
  return kernel.source.find("asm") == std::string::npos &&
         kernel.source.find("__shfl_sync") == std::string::npos;
}

std::vector<InferCase> kernels() {
  std::vector<InferCase> list;
  for (const std::string& file : case_files("accepted")) {
    InferCase kernel = read_case(file);
    if (runs_on_cpu(kernel)) list.push_back(std::move(kernel));
  }
  return list;
}

std::string folder() {
  return std::string(TILEPOST_INFER_BUILD) + "/mutants";
}

}  // namespace

TEST_CASE("the kernels that are accepted do so on the CPU, some that are refused do not") {
  std::vector<InferCase> list = kernels();
  for (InferCase& kernel : list) kernel.parameters = infer_case(kernel).parameters;
  const size_t good = list.size();
  for (const char* name :
       {"transposed", "guard_off_by_one", "missing_element", "neighbours_tile", "split_k_store"}) {
    list.push_back(read_case(std::string(TILEPOST_INFER_FOLDER) + "/refused/" + name + ".cu"));
    list.back().parameters = infer_case(list.back()).parameters;
  }
  const std::vector<Verdict> verdicts = run_on_cpu(list, folder() + "/kernels");
  REQUIRE(verdicts.size() == list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    INFO(list[i].name);
    CHECK(verdicts[i] == (i < good ? Verdict::holds : Verdict::fails));
  }
}

TEST_CASE("no mutant is accepted that stores anything but one tile in each block") {
  const char* asked = std::getenv("TILEPOST_MUTANTS");
  const int each = asked ? std::atoi(asked) : 1;
  std::mt19937 random(2024);
  std::vector<InferCase> accepted;
  std::vector<std::string> changes;
  int made = 0;
  for (const InferCase& kernel : kernels()) {
    if (kernel.reads) continue;  // it may store the value that was there, which cannot be seen
    for (int i = 0; i < each; ++i) {
      const Mutant mutant = mutate(kernel.source, random);
      InferCase changed = kernel;
      changed.source = mutant.source;
      const InferResult result = infer_case(changed);
      changed.parameters = result.parameters;
      ++made;
      CHECK(result.inferred.has_value() == result.messages.empty());
      if (!result.inferred) continue;
      accepted.push_back(changed);
      changes.push_back(kernel.name + ".cu, " + mutant.change);
    }
  }
  const std::vector<Verdict> verdicts = run_on_cpu(accepted, folder() + "/mutants");
  REQUIRE(verdicts.size() == accepted.size());
  int undefined = 0;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    INFO(changes[i] << "\n" << accepted[i].source);
    CHECK(verdicts[i] != Verdict::fails);
    undefined += verdicts[i] == Verdict::undefined;
  }
  UNSCOPED_INFO(
      made << " mutants, " << accepted.size() << " accepted, of which " << undefined
           << " are undefined: they read or store where they have nothing, or do not end");
  CHECK(made - static_cast<int>(accepted.size()) > made / 3);
}

}  // namespace tilepost
