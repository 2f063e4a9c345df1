// Kernels of every kind that inference can prove.
#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/infer/case.h"

namespace tilepost {
namespace {

std::string name_of(BlockOrder order) {
  switch (order) {
    case BlockOrder::columns_then_rows:
      return "columns_then_rows";
    case BlockOrder::rows_then_columns:
      return "rows_then_columns";
    case BlockOrder::columns_and_depth:
      return "columns_and_depth";
    case BlockOrder::rows_and_depth:
      return "rows_and_depth";
    case BlockOrder::linear_by_rows:
      return "linear_by_rows";
    case BlockOrder::linear_by_columns:
      return "linear_by_columns";
    default:
      return "table";
  }
}

}  // namespace

TEST_CASE("kernels of every kind are accepted") {
  const std::vector<std::string> files = case_files("accepted");
  CHECK(files.size() >= 20);
  for (const std::string& file : files) {
    const InferCase kernel = read_case(file);
    const InferResult result = infer_case(kernel);
    INFO(file << "\n" << result.messages);
    CHECK(result.messages.empty());
    if (!result.inferred) {
      CHECK(result.inferred);
      continue;
    }
    CHECK(name_of(result.inferred->order) == kernel.order);
    CHECK(result.inferred->reads_output == kernel.reads);
    CHECK(result.inferred->runs_once.has_value() == kernel.once);
    CHECK(result.inferred->leaves.has_value() == kernel.leaves);
    REQUIRE(result.inferred->blocks.size() == kernel.shapes.size());
    for (const std::vector<int64_t>& blocks : result.inferred->blocks) {
      CHECK(std::set<int64_t>(blocks.begin(), blocks.end()).size() == blocks.size());
    }
  }
}

}  // namespace tilepost
