// What inference says of public kernels: a line for each row of a table.
//
// Usage: infer_corpus <table> <folder of the sources>. See kernels.txt and run.sh.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "generator/weave/parse/toolkit.h"
#include "tests/infer/case.h"

namespace tilepost {
namespace {

struct Row {
  std::string id, repository, file, verdict, launch;
};

std::vector<Row> read_table(const std::string& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      rows.push_back({line.substr(1, line.find(']') - 1), "", "", "", ""});
      continue;
    }
    Row& row = rows.back();
    const std::string value = line.substr(line.find(": ") + 2);
    if (line.rfind("from: ", 0) == 0) {
      row.repository = value.substr(value.find('/') + 1, value.find('@') - value.find('/') - 1);
    } else if (line.rfind("file: ", 0) == 0) {
      row.file = value;
    } else if (line.rfind("verdict: ", 0) == 0) {
      row.verdict = value;
    } else {
      row.launch += "// " + line + "\n";
    }
  }
  return rows;
}

int run(const std::string& table, const std::string& folder) {
  std::string looked;
  const std::optional<std::string> toolkit = find_toolkit(looked);
  if (!toolkit) {
    std::fprintf(stderr, "no CUDA Toolkit: %s\n", looked.c_str());
    return 2;
  }
  int wrong = 0;
  for (const Row& row : read_table(table)) {
    const std::string path = folder + "/" + row.repository + "/" + row.file;
    std::ifstream file(path);
    const std::string source((std::istreambuf_iterator<char>(file)), {});
    InferCase kernel = make_case(row.id, row.launch);
    kernel.source = source;
    FullMode full;
    full.toolkit = *toolkit;
    full.path = path;
    full.include_dirs = {std::filesystem::path(path).parent_path().string(),
                         folder + "/" + row.repository + "/include"};
    kernel.full = full;
    const InferResult result = infer_case(kernel);
    const std::string verdict = result.inferred ? "accepted" : "refused";
    const bool as_said = verdict == row.verdict;
    wrong += !as_said;
    std::printf("%-7s %-9s%s %.2f s%s%s\n", row.id.c_str(), verdict.c_str(),
                as_said ? "" : " NOT AS SAID", result.seconds,
                result.inferred && result.inferred->reads_output ? ", reads its output" : "",
                result.inferred && result.inferred->runs_once ? ", runs once" : "");
    if (!as_said || std::getenv("TILEPOST_VERBOSE")) std::printf("%s\n", result.messages.c_str());
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilepost

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "usage: infer_corpus <table> <folder of the sources>\n");
    return 2;
  }
  return tilepost::run(words[1], words[2]);
}
